"""Ratings with what else differs held equal: checked by another optimiser, by leaving users out, and on planted effects."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from recjudge_tui.errors import UsageError
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.ranking import (
    ENTANGLED,
    SCALE,
    SEPARATED,
    ControlledRatings,
    controlled_ratings,
)
from tests.builder import project as build
from tests.support.verdicts import Project, judge_pairs, opened, pair_case, table

USERS = 40


def drawn(seed: int, effect: float = 1.0) -> tuple[IntArray, IntArray, FloatArray, IntArray, FloatArray]:
    """Battles of three systems, three a user, in which one more of x adds `effect` to the log odds of the first."""
    rng = np.random.default_rng(seed)
    first, second = (np.tile(side, USERS) for side in (np.array([0, 0, 1]), np.array([1, 2, 2])))
    user = np.repeat(np.arange(USERS), 3)
    x = rng.normal(size=(user.size, 2))
    strength = np.array([0.5, 0.0, -0.5])
    odds = strength[first] - strength[second] + effect * x[:, 0] + 0.5 * rng.normal(size=USERS)[user]
    outcome = np.where(
        rng.random(user.size) < 0.2, 0.0, np.where(rng.random(user.size) < 1 / (1 + np.exp(-odds)), 1.0, -1.0)
    )
    return first, second, outcome, user, x


def test_the_ratings_and_effects_maximise_the_likelihood() -> None:
    first, second, outcome, user, x = drawn(1)
    found = controlled_ratings(first, second, outcome, user, x, 3)

    def loss(at: FloatArray) -> float:
        odds = at[first] - at[second] + x @ at[3:]
        y = (1 + outcome) / 2
        return float((np.log1p(np.exp(odds)) - y * odds).sum() + at[:3].sum() ** 2)

    best = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-9}).x
    assert found.ratings == pytest.approx(1000 + SCALE * best[:3], abs=1e-2)
    assert found.effects == pytest.approx(SCALE * best[3:], abs=1e-2)


def test_intervals_are_those_of_leaving_users_out() -> None:
    first, second, outcome, user, x = drawn(2)
    found = controlled_ratings(first, second, outcome, user, x, 3)
    without: list[ControlledRatings] = []
    for one in range(USERS):
        on = user != one
        without.append(controlled_ratings(first[on], second[on], outcome[on], user[on], x[on], 3))
    for of, ends in (
        (lambda c: c.effects[0], found.effect_intervals[0]),
        (lambda c: c.ratings[2], found.intervals[2]),
    ):
        left = np.array([of(each) for each in without])
        error = np.sqrt((USERS - 1) / USERS * ((left - left.mean()) ** 2).sum())
        assert (of(found) - ends.low) / 2.0226909 == pytest.approx(error, rel=0.03)


def test_sides_and_rows_do_not_matter() -> None:
    first, second, outcome, user, x = drawn(4)
    found = controlled_ratings(first, second, outcome, user, x, 3)
    order = np.random.default_rng(0).permutation(user.size)
    turned = controlled_ratings(second[order], first[order], -outcome[order], user[order], -x[order], 3)
    assert turned.ratings == pytest.approx(found.ratings)
    assert turned.effects == pytest.approx(found.effects)
    assert turned.p == pytest.approx(found.p)


def test_controls_that_decide_all_or_are_the_same_are_said() -> None:
    first, second, outcome, user, x = drawn(5)
    same = controlled_ratings(first, second, outcome, user, np.stack([x[:, 0], 2 * x[:, 0]], axis=1), 3)
    assert {end.note for end in same.intervals} == {ENTANGLED}
    decided = controlled_ratings(first, second, np.sign(x[:, 0]), user, x, 3)
    assert {end.note for end in decided.intervals} == {SEPARATED}
    assert np.isnan(decided.ratings).all()
    flat = controlled_ratings(first, second, outcome, user, np.stack([x[:, 0], 0 * x[:, 0]], axis=1), 3)
    assert np.isnan(flat.effects[1])
    assert (flat.p[1], flat.effect_intervals[1].note) == (None, "it never differs")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A judge that only counts how long the lists are, and prefers what is shown first where they are equal."""
    rng = np.random.default_rng(7)
    lists = {
        (f"u{user}", system): [f"i{(rank * 5 + user) % 12}" for rank in range(rng.integers(3, longest))]
        for user in range(60)
        for system, longest in (("a", 9), ("b", 7))
    }
    items = {f"i{at}": "x" * (3 + at * 5 % 7) for at in range(12)}
    made = opened(build(tmp_path / "r.db", items=items, lists=lists))
    cases = {}
    for user in range(60):
        odds = len(lists[f"u{user}", "a"]) - len(lists[f"u{user}", "b"])
        chance = 1 / (1 + np.exp(-odds))
        first, second = (1.0 if rng.random() < chance else -1.0 for _ in range(2))
        cases[pair_case(made, f"u{user}")] = (first, second) if odds else (1.0, -1.0)
    judge_pairs(made, "llm", cases)
    return made


def test_a_lead_that_comes_from_longer_lists_is_not_left(project: Project) -> None:
    before = table(project, "leaderboard", protocol="pairwise", method="bt")
    assert before.rows[0]["system"] == "a"
    found = table(project, "leaderboard", protocol="pairwise", control=("length", "position"))
    rows = {row["what"]: row for row in found.rows}
    assert float(str(rows["a"]["without"])) > 1040
    low, high = rows["a"]["ci_low"], rows["a"]["ci_high"]
    assert low < 1000 < high
    assert float(str(rows["number of items"]["p_holm"])) < 0.01
    # where lists are equally long it prefers the first, in both orders
    assert float(str(rows["shown first"]["value"])) > 0
    assert "number of items +" in found.answer
    assert "not separable" in found.answer


def test_what_does_not_fit_is_refused(project: Project) -> None:
    for wrong, said in (
        ({"control": ("size",)}, "no control “size”"),
        ({"control": ("length",), "method": "q"}, "method “q” has no controls"),
        ({"control": ("length",), "slices": True}, "without controls"),
        ({"control": ("length",), "protocol": "pointwise"}, "verdicts on two lists"),
    ):
        with pytest.raises(UsageError, match=said):
            table(project, "leaderboard", **({"protocol": "pairwise"} | wrong))
