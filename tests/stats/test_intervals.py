"""Intervals over users: against SciPy and closed forms, and by what must hold of any; arrays and estimates."""

from __future__ import annotations

import subprocess
import sys

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

from recjudge_tui.stats import intervals as iv
from recjudge_tui.stats.arrays import FloatArray, as_floats, encode, ratio
from recjudge_tui.stats.estimate import Estimate


def mean(sums: FloatArray) -> FloatArray:
    return sums[:, 0] / sums[:, 1]


def one_row_each(values: FloatArray) -> FloatArray:
    """The sums of users with one row each (users, 2)."""
    return np.stack([values, np.ones(values.size)], axis=1)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 500), st.data())
def test_clopper_and_pearson_as_scipy_has_it(n: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, n))
    theirs = stats.binomtest(hits, n).proportion_ci(0.9, method="exact")
    found = iv.clopper_pearson(hits, n, 0.9)
    assert (found.ci_low, found.ci_high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert found.value == hits / n


def test_no_cases_and_wrong_input() -> None:
    assert iv.clopper_pearson(0, 0).value is None
    for wrong in ((3, 2, 0.95), (1, 2, 95)):
        with pytest.raises(ValueError, match="not possible"):
            iv.clopper_pearson(*wrong)
    with pytest.raises(ValueError, match="outside its bounds"):
        iv.mean_estimate([0.5, 1.5], [1, 2], iv.SHARE)
    with pytest.raises(ValueError, match="level"):
        iv.mean_estimate([0.5, 1.5], [1, 2], level=95)
    with pytest.raises(ValueError, match="0 and 1"):
        iv.share_estimate([0.5], [1])


def test_a_mean_of_users_with_one_row_has_students_interval() -> None:
    values = np.random.default_rng(1).exponential(size=40)
    theirs = stats.t.interval(0.95, 39, values.mean(), values.std(ddof=1) / np.sqrt(40))
    found = iv.mean_estimate(values, np.arange(40))
    assert (found.ci_low, found.ci_high) == pytest.approx(theirs)
    found = iv.jackknife(one_row_each(values), mean)
    assert (found.low, found.high) == pytest.approx(theirs)


def test_the_logit_jackknife_by_hand() -> None:
    rng = np.random.default_rng(2)
    users, rows = np.repeat(np.arange(30), 6), (rng.random(180) < 0.4).astype(float)
    z = [stats.logistic.ppf(rows[users != at].mean()) for at in range(30)]
    error = np.sqrt(29 / 30 * ((z - np.mean(z)) ** 2).sum())
    ends = stats.logistic.cdf(
        stats.logistic.ppf(rows.mean()) + stats.t.ppf(0.975, 29) * error * np.array([-1, 1])
    )
    found = iv.share_estimate(rows, users)
    assert (found.ci_low, found.ci_high) == pytest.approx(tuple(ends))
    ratings = 1 + 4 * rows
    scaled = iv.mean_estimate(ratings, users, (1, 5))
    assert (scaled.ci_low, scaled.ci_high) == pytest.approx(tuple(1 + 4 * ends))


def test_a_rare_share_has_korn_and_graubards_interval_by_hand() -> None:
    """Four users of five rows: p = .6; n over the design effect, times the squared ratio of t quantiles."""
    rows = np.array([1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0], dtype=float)
    found = iv.mean_estimate(rows, np.repeat(np.arange(4), 5), iv.SHARE)
    variance = np.array([1.0, 0.6, 0.6, 0.2]).var(ddof=1) / 4
    effect = variance / (0.24 / 19)
    n = 20 / effect * (stats.t.ppf(0.975, 19) / stats.t.ppf(0.975, 3)) ** 2
    ends = stats.beta.ppf(0.025, 0.6 * n, 0.4 * n + 1), stats.beta.ppf(0.975, 0.6 * n + 1, 0.4 * n)
    assert (found.ci_low, found.ci_high) == pytest.approx(ends)


def test_a_rare_share_of_single_rows_and_one_at_the_end_are_exact() -> None:
    assert iv.share_estimate([1, 0, 1, 1], [1, 2, 3, 4]) == iv.clopper_pearson(3, 4)
    same = iv.share_estimate([1, 1, 1, 1], [1, 1, 2, 2])
    exact = iv.clopper_pearson(2, 2)
    assert (same.value, same.ci_low, same.ci_high) == (1, pytest.approx(exact.ci_low), 1)


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4)), min_size=2, max_size=60),
    st.integers(0, 2**32),
)
def test_ends_stay_in_range_and_names_and_order_say_nothing(rows: list[tuple[int, int]], seed: int) -> None:
    users, values = np.array(rows).T
    found = iv.mean_estimate(values, users, (0, 4))
    if found.ci_low is not None and found.ci_high is not None and found.value is not None:
        assert 0 <= found.ci_low <= found.value <= found.ci_high <= 4
    rng = np.random.default_rng(seed)
    order, names = rng.permutation(users.size), rng.permutation(13)
    again = iv.mean_estimate(values[order], names[users[order]], (0, 4))
    assert (again.note, again.n) == (found.note, found.n)
    pairs = zip(
        (again.value, again.ci_low, again.ci_high), (found.value, found.ci_low, found.ci_high), strict=True
    )
    assert all(a == (None if b is None else pytest.approx(b, abs=1e-9)) for a, b in pairs)


def test_groups_of_many_users_say_nearly_the_same_in_any_order() -> None:
    values = np.random.default_rng(3).random(6000)
    found = iv.jackknife(one_row_each(values), mean, iv.LOGIT)
    assert ((found.high or 0) - (found.low or 0)) / 2 == pytest.approx(
        1.96 * values.std() / np.sqrt(6000), rel=0.05
    )
    assert "2,000 groups" in found.note
    order = np.random.default_rng(4).permutation(6000)
    turned = iv.jackknife(one_row_each(values[order]), mean, iv.LOGIT)
    assert (turned.low, turned.high) == pytest.approx((found.low, found.high), abs=1e-12)


def test_what_has_no_interval_says_why() -> None:
    assert iv.mean_estimate([1, 2, 3], ["u", "u", "u"]).note == iv.ONE_USER
    assert iv.mean_estimate([2, 2, 2], [1, 2, 3]).note == iv.ALL_EQUAL
    assert iv.jackknife(np.eye(5), lambda w: np.ones(len(w)), iv.FISHER).note == iv.AT_END
    one = iv.ratio_of_sums([1, 0, 0], [0, 1, 0], [1, 2, 3])
    assert (one.value, one.note) == (0.0, iv.ONE_USER)
    alone = iv.jackknife(np.eye(3), lambda w: np.where(w[:, 0] > 0, w.sum(axis=1), np.nan))
    assert alone.note == "no interval: undefined without 1 of 3 users"


def test_a_difference_that_all_users_share_has_no_interval_and_one_end_of_a_range_cuts() -> None:
    users = np.arange(30)
    none = iv.mean_estimate(np.zeros(30), users, (-1.0, 1.0))
    assert (none.value, none.ci_low, none.note) == (0.0, None, iv.ALL_EQUAL)
    assert (iv.mean_estimate(np.ones(30), users, (-1.0, 1.0)).ci_low or 0) == pytest.approx(0.77, abs=0.01)
    assert iv.mean_estimate(np.ones(30), users, (0.0, 2.0)).ci_low is not None
    one = iv.mean_estimate([*np.zeros(29), 9.0], users, (0.0, np.inf))
    assert (one.ci_low, one.ci_high) == (0.0, iv.mean_estimate([*np.zeros(29), 9.0], users).ci_high)


def test_missing_rows_are_left_out_and_counted() -> None:
    found = iv.mean_estimate([1, np.nan, 3], ["a", "b", "c"])
    assert (found.value, found.n, found.note) == (2, 2, "1 missing left out")
    assert iv.mean_estimate([np.nan], ["a"]).value is None
    with pytest.raises(ValueError, match="2 ids for 3 rows"):
        iv.mean_estimate([1, 2, 3], ["a", "b"])


def test_groups_are_what_each_is_alone() -> None:
    rng = np.random.default_rng(5)
    values, users, groups = rng.random(500), rng.integers(0, 30, 500), rng.integers(0, 4, 500)
    values[rng.random(500) < 0.1] = np.nan
    bounds = [(0.0, 1.0), None, (0.0, 2.0), None, None]
    together = iv.group_means(values, users, groups, 5, bounds)
    assert together[4].value is None
    for at in range(4):
        here = groups == at
        alone = iv.mean_estimate(values[here], users[here], bounds[at])
        found = together[at]
        assert (found.value, found.ci_low, found.ci_high) == pytest.approx(
            (alone.value, alone.ci_low, alone.ci_high)
        )
        assert (found.n, found.note) == (alone.n, alone.note)


def test_a_difference_of_means_cancels_what_users_do_to_both() -> None:
    rng = np.random.default_rng(6)
    users, first = np.repeat(np.arange(40), 2), np.tile([True, False], 40)
    values = np.repeat(rng.normal(0, 5, 40), 2) + first + rng.normal(0, 0.1, 80)
    found = iv.difference_of_means(values, first, users)
    gaps = values[first] - values[~first]
    theirs = stats.t.interval(0.95, 39, gaps.mean(), gaps.std(ddof=1) / np.sqrt(40))
    assert (found.ci_low, found.ci_high) == pytest.approx(theirs)


@pytest.mark.parametrize(("p", "n"), [(0.5, 25), (0.5, 400), (0.95, 120), (0.1, 60)])
def test_the_interval_of_a_quantile_covers_as_often_as_it_says(p: float, n: int) -> None:
    """Exactly: the ends are two ranks, and how many values lie under the true quantile is binomial."""
    found = iv.quantile_estimate(np.arange(1.0, n + 1), p)
    assert found.ci_low is not None
    assert found.ci_high is not None
    below = stats.binom(n, p)
    # at least 95 % for any distribution, and not much more than the steps of the binomial make it
    assert 0.95 <= below.cdf(found.ci_high - 1) - below.cdf(found.ci_low - 1) <= 0.985


def test_quantiles() -> None:
    """40 and 61 of 100 enclose the median with 96.5 %, and no narrower pair with both tails under 2.5 %."""
    found = iv.quantile_estimate(np.arange(1.0, 101.0), 0.5)
    assert (found.value, found.ci_low, found.ci_high, found.n) == (50.5, 40.0, 61.0, 100)
    assert iv.quantile_estimate([2.0] * 50, 0.5).ci_low is None
    few = iv.quantile_estimate([1.0, 2.0, 3.0, np.nan], 0.95)
    assert (few.value, few.ci_low, few.n) == (pytest.approx(2.9), None, 3)
    assert iv.quantile_estimate([], 0.5).value is None
    with pytest.raises(ValueError, match="between 0 and 1"):
        iv.quantile_estimate([1.0], 1.0)


# ---- arrays ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(-5, 10_000), max_size=30))
def test_codes_follow_the_sorted_ids_by_either_way(ids: list[int]) -> None:
    codes, count = encode(np.array(ids, dtype=np.int64))
    assert count == len(set(ids))
    assert codes.tolist() == [sorted(set(ids)).index(i) for i in ids]


def test_long_ids_lose_no_digit() -> None:
    codes, count = encode([4376251640447208384, 4376251640447208385, 17])
    assert (codes.tolist(), count) == ([1, 2, 0], 3)
    assert encode(["b", "a", "b"])[0].tolist() == [1, 0, 1]


def test_a_zero_denominator_is_undefined() -> None:
    found = ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0]))
    assert found[0] == 0.5
    assert np.isnan(found[1])


def test_tables_are_refused_where_a_column_is_meant() -> None:
    with pytest.raises(ValueError, match="2 dimensions"):
        as_floats([[1, 2]])
    with pytest.raises(ValueError, match="2 dimensions"):
        encode([[1, 2]])


def test_importing_the_room_does_not_load_scipy() -> None:
    names = "agreement intervals hypotheses ranking registry retrieval calibration planning text combining"
    code = "import sys\n" + "".join(f"import recjudge_tui.stats.{n}\n" for n in names.split())
    code += "assert not {'scipy', 'pydantic', 'sqlite3'} & set(sys.modules), 'too much loaded'"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- estimates ------------------------------------------------------------------------------------------------------


def test_an_estimate_is_never_nan() -> None:
    with pytest.raises(ValueError, match="finite"):
        Estimate(float("nan"), None, None, 3)
    with pytest.raises(ValueError, match="finite"):
        Estimate(0.5, float("-inf"), 1.0, 3)


def test_a_rounding_error_is_zero() -> None:
    estimate = Estimate(-2e-16, -0.1, 2e-16, 5)
    assert (str(estimate.value), estimate.ci_low, estimate.ci_high) == ("0.0", -0.1, 0.0)
    assert Estimate(1e-9, None, None, 5).value == 1e-9
