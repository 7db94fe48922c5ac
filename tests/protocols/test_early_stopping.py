"""What a verdict says between two systems, and how a standing is told."""

from __future__ import annotations

import numpy as np

from recjudge_tui.domain.run import RunSettings
from recjudge_tui.protocols.early_stopping import (
    StoppingCriterion,
    UserVerdicts,
    deciding_aspect,
    status_text,
    stopping_criterion,
    stopping_status,
    user_outcomes,
)
from recjudge_tui.protocols.registry import protocol
from recjudge_tui.stats.planning import initial_state, update_state
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


def test_lists_count_the_best_label_and_need_both_systems() -> None:
    cases = [("a", ""), ("b", ""), ("c", "")]
    what = decide("pointwise-media", "pointwise", cases, margin=0.2)
    assert what is not None
    assert what.best is not None
    assert (what.best.name, what.rule.margin) == ("Good", 0.1)
    assert what.pairs == (("a", "b"), ("a", "c"), ("b", "c"))
    rows = user_outcomes(
        what, [{("a", ""): 2.0, ("b", ""): 1.0, ("c", ""): None}, {("a", ""): 0.0, ("b", ""): 2.0}]
    )
    np.testing.assert_array_equal(rows, [[1, np.nan, np.nan], [0, np.nan, np.nan]])
    only = decide("pointwise-media", "pointwise", cases, baseline="b")
    assert only is not None
    assert only.pairs == (("a", "b"), ("b", "c"))


def test_one_system_decides_nothing_and_arena_decides_overall() -> None:
    assert decide("pointwise-media", "pointwise", [("a", "")]) is None
    assert deciding_aspect(shipped("arena-media")) == "overall"


def test_a_difference_of_shares_is_described_as_such() -> None:
    what = decide("pointwise-media", "pointwise", [("als", ""), ("pop", "")])
    assert what is not None
    verdicts = [{("als", ""): 0.0, ("pop", ""): 2.0}] * 30
    ended = update_state(what.rule, initial_state(what.rule), user_outcomes(what, verdicts))
    sentence = status_text(stopping_status(what, ended, 30))
    assert sentence.startswith(
        "decided after 10 of 30 users: pop above als, share of Good higher by 1.000 [0."
    )
    assert sentence.endswith(", 1.000]")
    undecided = status_text(stopping_status(what, initial_state(what.rule), 30))
    assert undecided == (
        "not decided after 0 of 30 users: als against pop, share of Good unknown: no user has verdicts for both"
    )
