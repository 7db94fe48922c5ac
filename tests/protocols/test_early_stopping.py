"""What a verdict says between two systems, and how a standing is told."""

from __future__ import annotations

import numpy as np

from recjudge_tui.domain.run import RunSettings
from recjudge_tui.protocols.early_stopping import (
    StoppingCriterion,
    UserVerdicts,
    deciding_aspect,
    stopping_criterion,
    user_outcomes,
)
from recjudge_tui.protocols.registry import protocol
from tests.support.cases import shipped


def decide(
    name: str, chosen: str, cases: list[tuple[str, str]], **settings: object
) -> StoppingCriterion | None:
    wish = RunSettings.model_validate({"protocol": chosen, "until": "decided", **settings})
    return stopping_criterion(protocol(chosen), shipped(name), wish, cases)


def test_pairs_count_wins_and_half_of_ties() -> None:
    what = decide("pairwise-media", "pairwise", [("a", "b"), ("a", "c"), ("a", "b")], margin=0.2)
    assert what is not None
    assert (what.pairs, what.rule.margin, what.best) == ((("a", "b"), ("a", "c")), 0.2, None)
    told_of: list[UserVerdicts] = [
        {("a", "b"): 1.0, ("a", "c"): 0.0},
        {("a", "b"): -1.0},
        {("a", "b"): None, ("a", "c"): 1.0},
    ]
    nan = np.nan
    np.testing.assert_array_equal(user_outcomes(what, told_of), [[1, 0.5], [0, nan], [nan, 1]])


def test_one_system_decides_nothing_and_arena_decides_overall() -> None:
    assert decide("pointwise-media", "pointwise", [("a", "")]) is None
    assert deciding_aspect(shipped("arena-media")) == "overall"
