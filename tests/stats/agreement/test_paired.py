"""Paired shares: against published figures, a definition written out, and by simulation."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from recjudge_tui.stats.agreement.paired import PairedCounts, paired_counts, share_difference, users_for_each
from recjudge_tui.stats.estimate import Estimate
from recjudge_tui.stats.resampling.multiplicity import sign_test


def test_counts_are_of_the_same_cases_and_leave_out_what_failed() -> None:
    table = paired_counts([1, 1, 0, 0, 1, np.nan, 0], [1, 0, 1, 0, np.nan, 1, 0])
    assert table == PairedCounts(both=1, only_first=1, only_second=1, neither=2)
    assert table.n == 5


def test_other_lengths_and_other_values_are_refused() -> None:
    with pytest.raises(ValueError, match="not the same cases"):
        paired_counts([1, 0], [1])
    with pytest.raises(ValueError, match=r"1 \(right\) or 0 \(wrong\)"):
        paired_counts([0.5], [1])


@pytest.mark.parametrize(("first", "second"), [(9, 1), (1, 9), (5, 5), (7, 0), (1, 0), (12, 2)])
def test_with_one_row_a_user_it_is_mcnemars_exact_test(first: int, second: int) -> None:
    rows = np.array([(1, 1)] * 30 + [(1, 0)] * first + [(0, 1)] * second + [(0, 0)] * 4)
    n, less = first + second, min(first, second)
    tail = sum(comb(n, k) for k in range(less + 1)) / 2**n
    assert users_for_each(*rows.T, np.arange(len(rows))) == (first, second)
    assert sign_test(*users_for_each(*rows.T, np.arange(len(rows)))) == pytest.approx(min(1.0, 2 * tail))


def test_each_user_counts_once_and_missing_rows_do_not() -> None:
    users = ["u"] * 5 + ["v"] * 2 + ["w"] * 2 + ["x"]
    first = [1, 1, 1, 0, 1, 0, 0, 1, 0, 1]
    second = [0, 0, 0, 1, np.nan, 1, 0, 0, 1, np.nan]
    assert users_for_each(first, second, users) == (1, 1)
    with pytest.raises(ValueError, match="paired"):
        users_for_each([1, 0], [1], ["u", "u"])


@pytest.mark.parametrize("alike", [0.0, 0.9])
def test_the_test_errs_no_more_often_than_it_says_where_a_users_rows_are_alike(alike: float) -> None:
    """Two conditions equally good on the whole: at most 5 % of 2,000 comparisons of 20 users with 5 rows each."""
    rng = np.random.default_rng(11)
    users = np.repeat(np.arange(20), 5)
    errors = 0
    for _ in range(2000):
        own = np.repeat(rng.choice([-1.0, 1.0], 20), 5)
        sign = np.where(rng.random(100) < alike, own, rng.choice([-1.0, 0.0, 1.0], 100))
        errors += (sign_test(*users_for_each(sign, np.zeros(100), users)) or 1.0) < 0.05
    assert 0.01 < errors / 2000 <= 0.055


def difference(table: PairedCounts) -> Estimate:
    rows = [(1, 1)] * table.both + [(1, 0)] * table.only_first + [(0, 1)] * table.only_second
    rows += [(0, 0)] * table.neither
    first, second = np.array(rows, dtype=float).reshape(-1, 2).T
    return share_difference(first, second, np.arange(len(rows)))


def test_near_newcombes_own_example() -> None:
    """Newcombe 1998, Statistics in Medicine 17:2635: 36, 12, 2 and 0 of 50; method 10 gives 0.0569 to 0.3404."""
    found = difference(PairedCounts(36, 12, 2, 0))
    assert (found.value, found.n) == (pytest.approx(0.2), 50)
    assert (found.ci_low, found.ci_high) == pytest.approx((0.0569, 0.3404), abs=0.02)


def test_turned_round_the_difference_changes_its_sign() -> None:
    one, other = difference(PairedCounts(10, 7, 3, 5)), difference(PairedCounts(10, 3, 7, 5))
    assert one.value is not None
    assert one.ci_low is not None
    assert one.ci_high is not None
    assert (other.value, other.ci_low, other.ci_high) == pytest.approx(
        (-one.value, -one.ci_high, -one.ci_low)
    )


@pytest.mark.parametrize(
    "table",
    [
        PairedCounts(20, 0, 0, 0),
        PairedCounts(0, 30, 0, 0),
        PairedCounts(0, 0, 2, 0),
        PairedCounts(0, 0, 0, 9),
    ],
)
def test_extreme_tables_keep_their_interval_within_bounds(table: PairedCounts) -> None:
    found = difference(table)
    assert found.value is not None
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert -1 <= found.ci_low <= found.value <= found.ci_high <= 1
    assert found.ci_low < found.ci_high


def test_a_user_with_many_cases_counts_as_one() -> None:
    first, second = [1.0] * 60, [0.0] * 30 + [1.0] * 30
    rows = share_difference(first, second, range(60))
    users = share_difference(first, second, np.repeat(np.arange(6), 10))
    assert rows.value == users.value == 0.5
    assert (users.ci_low or 0) < (rows.ci_low or 0) - 0.1


def test_without_common_cases_the_difference_is_undefined() -> None:
    found = share_difference([1.0, np.nan], [np.nan, 1.0], [1, 2])
    assert (found.value, found.note) == (None, "no case in common")


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Shares 0.91 and 0.74 with a dependence between them, 100 cases, 1,000 times: 95 % within two points."""
    rng = np.random.default_rng(3)
    cells = rng.multinomial(100, [0.70, 0.21, 0.04, 0.05], size=1000)
    held = 0
    for both, first, second, neither in cells.tolist():
        found = difference(PairedCounts(both, first, second, neither))
        assert found.ci_low is not None
        assert found.ci_high is not None
        held += found.ci_low <= 0.17 <= found.ci_high
    assert 0.93 <= held / 1000 <= 0.985
