"""Changes between two runs: the figures themselves, false alarms and detection by simulation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from recjudge_tui.stats.agreement.change import Change, RatedCases, agreement_change, mean_change
from recjudge_tui.stats.intervals import difference_of_means
from recjudge_tui.stats.agreement.coefficients import percent, qwk
from recjudge_tui.stats.arrays import FloatArray, IntArray

Values = Sequence[float] | FloatArray | IntArray
LABELS = (0.0, 1.0, 2.0)


def judged(rng: np.random.Generator, truth: FloatArray, right: float) -> FloatArray:
    """A judge that gives the truth with probability `right`, else any label."""
    return np.where(rng.random(truth.size) < right, truth, rng.choice(LABELS, truth.size))


def material(rng: np.random.Generator, users: int = 60, each: int = 4) -> tuple[FloatArray, IntArray]:
    return rng.choice(LABELS, users * each), np.repeat(np.arange(users), each)


def paired_change(
    new: Values,
    old: Values,
    truth: Values,
    users: Values,
    labels: Sequence[float] | None,
    stat: str,
    **more: int,
) -> Change:
    """The change on the rows that both runs and the truth have."""
    known = [*zip(*(np.asarray(side, dtype=float) for side in (new, old, truth, users)), strict=True)]
    rows = np.array([row for row in known if not np.isnan(row).any()]).reshape(-1, 4)
    later, earlier = (RatedCases(rows[:, at], rows[:, 2], rows[:, 3]) for at in (0, 1))
    return agreement_change(later, earlier, labels, stat, **more)


def test_two_runs_on_other_rows_of_the_same_users() -> None:
    rng = np.random.default_rng(5)
    truth, users = material(rng)
    other, _ = material(rng)
    good, poor = judged(rng, truth, 0.9), judged(rng, other, 0.3)
    found = agreement_change(
        RatedCases(good, truth, users), RatedCases(poor, other, users), LABELS, "qwk"
    )
    assert found.later == qwk(good, truth, LABELS)
    assert found.earlier == qwk(poor, other, LABELS)
    assert found.change.ci_low is not None
    assert found.change.ci_low > 0
    # the order of the rows of one run says nothing about the other
    turned = np.roll(np.arange(users.size), 7)
    moved = RatedCases(poor[turned], other[turned], users[turned])
    assert agreement_change(RatedCases(good, truth, users), moved, LABELS, "qwk") == found


def test_both_figures_on_the_cases_that_all_three_have() -> None:
    new, old, truth = [2.0, 1, 0, 2, np.nan], [2.0, 1, 1, np.nan, 0], [2.0, 0, 0, 1, 0]
    found = paired_change(new, old, truth, [0, 1, 2, 3, 4], LABELS, "qwk")
    assert found.later == qwk(new[:3], truth[:3], LABELS)
    assert found.earlier == qwk(old[:3], truth[:3], LABELS)
    assert found.later is not None
    assert found.earlier is not None
    assert found.change.value == pytest.approx(found.later - found.earlier)
    assert found.change.n == 3


def test_equal_runs_differ_by_no_more_than_could_go_unseen() -> None:
    rng = np.random.default_rng(1)
    truth, users = material(rng)
    new = judged(rng, truth, 0.6)
    change = paired_change(new, new, truth, users, LABELS, "qwk").change
    assert change.value == 0.0
    assert change.ci_low is not None
    assert change.ci_high is not None
    assert -0.5 < change.ci_low < 0 < change.ci_high < 0.5


def test_what_is_undefined_says_why() -> None:
    nothing = paired_change([np.nan], [1], [1], [0], LABELS, "qwk")
    assert "no case" in nothing.change.note
    constant = paired_change([1, 1, 1.0], [0, 1, 2.0], [0, 1, 2.0], [0, 1, 2], LABELS, "pearson")
    assert (constant.later, constant.earlier) == (None, 1.0)
    assert "undefined for the later run" in constant.change.note
    alone = paired_change([0, 1.0], [0, 1.0], [0, 1.0], [5, 5], LABELS, "percent").change
    assert (alone.value, alone.ci_low) == (0.0, None)
    assert alone.note
    assert "label set" in paired_change([0, 1.0], [0, 1.0], [0, 1.0], [5, 6], None, "qwk").change.note
    assert "no case" in mean_change([np.nan], [1], [0]).change.note
    assert "no verdicts" in difference_of_means([1.0, 2.0], [True, True], [0, 1]).note
    with pytest.raises(ValueError, match="paired"):
        agreement_change(RatedCases([1.0], [1.0, 2.0], [0]), RatedCases([1.0], [1.0], [0]), LABELS, "qwk")
    with pytest.raises(KeyError):
        paired_change([1.0], [1.0], [1.0], [0], LABELS, "vibes")


def test_false_alarms_are_as_rare_as_stated_and_a_real_fall_is_seen() -> None:
    rng = np.random.default_rng(17)
    rounds, alarms, seen = 400, 0, 0
    for at in range(rounds):
        truth, users = material(rng)
        old, new, worse = (judged(rng, truth, right) for right in (0.6, 0.6, 0.25))
        high = paired_change(new, old, truth, users, LABELS, "qwk", resamples=300, seed=at).change.ci_high
        alarms += high is not None and high < 0
        high = paired_change(worse, old, truth, users, LABELS, "qwk", resamples=300, seed=at).change.ci_high
        seen += high is not None and high < 0
    # 2.5 % in the bad direction; three standard errors and the bootstrap's own slack
    assert alarms / rounds <= 0.055
    assert seen / rounds >= 0.95


def test_pairing_makes_the_interval_narrower() -> None:
    rng = np.random.default_rng(19)
    truth, users = material(rng)
    old = judged(rng, truth, 0.5)
    new = np.where(rng.random(truth.size) < 0.05, 1.0, old)
    paired = paired_change(new, old, truth, users, LABELS, "percent").change
    assert paired.value == pytest.approx((percent(new, truth) or 0) - (percent(old, truth) or 0))
    assert paired.ci_low is not None
    assert paired.ci_high is not None
    assert paired.ci_high - paired.ci_low < 0.08  # two intervals of independent runs would be 0.13 apart each


def test_means() -> None:
    found = difference_of_means([2, 1, 0, 1, np.nan], [True, True, False, False, True], [0, 1, 0, 1, 2])
    assert (found.value, found.n) == (1.0, 4)
    change = mean_change([1, 0, 1, np.nan], [0, 0, 1, 1], [0, 1, 2, 3])
    assert change.later == pytest.approx(2 / 3)
    assert change.earlier == pytest.approx(1 / 3)
    assert change.change.value == pytest.approx(1 / 3)


def test_difference_of_means_covers_what_it_estimates() -> None:
    rng = np.random.default_rng(23)
    rounds, covered = 400, 0
    for at in range(rounds):
        users = np.tile(np.arange(50), 4)
        first = np.repeat([True, True, False, False], 50)
        values = rng.normal(size=50)[users] + 0.3 * first + rng.normal(size=200)
        found = difference_of_means(values, first, users)
        covered += (
            found.ci_low is not None and found.ci_high is not None and found.ci_low <= 0.3 <= found.ci_high
        )
    assert 0.9 <= covered / rounds <= 0.98
