import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

from recjudge_tui.stats.resampling import intervals as iv
from recjudge_tui.stats.resampling.jackknife import mean_spread, sums_spread


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 500), st.data())
def test_clopper_and_pearson_as_scipy_has_it(n: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, n))
    theirs = stats.binomtest(hits, n).proportion_ci(0.9, method="exact")
    found = iv.clopper_pearson(hits, n, 0.9)
    assert (found.ci_low, found.ci_high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert found.value == hits / n


def test_no_cases_and_wrong_input() -> None:
    assert iv.clopper_pearson(0, 0).value is None
    with pytest.raises(ValueError, match="not possible"):
        iv.clopper_pearson(3, 2)
    with pytest.raises(ValueError, match="level"):
        iv.clopper_pearson(1, 2, 95)
    with pytest.raises(ValueError, match="outside 0 to 1"):
        iv.mean_estimate([0.5, 1.5], [1, 2], iv.SHARE)


def test_a_bounded_mean_is_korn_and_graubards_by_hand() -> None:
    """Four users of five rows: p = .6, the variance of the users' means over 4; t with 3 degrees of freedom."""
    rows = np.array([1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0], dtype=float)
    found = iv.mean_estimate(rows, np.repeat(np.arange(4), 5), iv.SHARE)
    means = np.array([1.0, 0.6, 0.6, 0.2])
    apart = means - 0.6
    kurtosis = (apart**4).mean() / (apart**2).mean() ** 2
    freedom = min(3.0, 8 / (kurtosis - 1))
    n = 0.24 / (means.var(ddof=1) / 4) * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, freedom)) ** 2
    low, high = stats.beta.ppf(0.025, 0.6 * n, 0.4 * n + 1), stats.beta.ppf(0.975, 0.6 * n + 1, 0.4 * n)
    # no four users exclude a share below one half as too high, or above as too low: each end is that of one side
    low = min(stats.beta.ppf(0.05, 0.6 * n, 0.4 * n + 1), max(low, 0.5))
    high = max(stats.beta.ppf(0.95, 0.6 * n + 1, 0.4 * n), min(high, 0.5))
    assert (found.ci_low, found.ci_high) == pytest.approx((low, high))


@settings(deadline=None, max_examples=60)
@given(st.integers(4, 60), st.floats(0.001, 0.999))
def test_a_share_of_an_effective_number_is_outside_its_ends_in_at_most_5_percent(
    n: int, share: float
) -> None:
    hits = np.arange(n + 1)
    chance = stats.binom.pmf(hits, n, share)
    ends = [iv._one_sided(hit / n, n, 0.025) for hit in hits.tolist()]
    held = sum(p for p, (low, high) in zip(chance, ends, strict=True) if low <= share <= high)
    assert held >= 0.95 - 1e-9


def test_rare_events_spend_the_whole_error_on_the_side_that_can_err() -> None:
    # 2 of 20: no sample excludes 1.8 % as too high, so the low end is that of a one-sided test at 5 %
    low, high = iv._one_sided(0.1, 20, 0.025)
    assert low == pytest.approx(stats.beta.ppf(0.05, 2, 19))
    assert high == iv.clopper_pearson(2, 20).ci_high
    mirror_low, mirror_high = iv._one_sided(0.9, 20, 0.025)
    assert (1 - mirror_high, 1 - mirror_low) == pytest.approx((low, high))
    both = iv.clopper_pearson(10, 20)
    assert iv._one_sided(0.5, 20, 0.025) == pytest.approx((both.ci_low, both.ci_high))


def test_a_share_of_two_values_is_known_better_than_its_kurtosis_says() -> None:
    rare = np.repeat([1.0, 0.0], [3, 47])
    spread = sums_spread(np.stack([rare, np.ones(50)], axis=1), lambda s: s[:, 0] / s[:, 1])
    assert spread.freedom < 8
    assert iv._freedom(0.06, spread.variance, spread) == pytest.approx(2 * spread.freedom, rel=0.05)
    dense = np.linspace(0.1, 0.9, 50)
    even = sums_spread(np.stack([dense, np.ones(50)], axis=1), lambda s: s[:, 0] / s[:, 1])
    assert iv._freedom(0.5, even.variance, even) == pytest.approx(even.freedom)


@pytest.mark.parametrize(("lower", "upper"), [(0.4, 0.6), (0.0, 0.5), (0.8, 1.0)])
@pytest.mark.parametrize("users", [10, 20, 30])
def test_a_mean_of_two_values_is_held_at_every_share(lower: float, upper: float, users: int) -> None:
    """Exact coverage over all shares of users with the higher value; at the worst one it was 92.3 %."""
    hits = np.arange(users + 1)
    samples = (np.where(np.arange(users) < k, upper, lower) for k in hits.tolist())
    shown = [iv.mean_estimate(sample, np.arange(users), iv.SHARE) for sample in samples]
    ends = np.array([(estimate.ci_low, estimate.ci_high) for estimate in shown], dtype=np.float64)
    shares = np.linspace(0.005, 0.995, 199)
    true = lower + (upper - lower) * shares
    held = (ends[:, :1] <= true + 1e-9) & (true <= ends[:, 1:] + 1e-9)
    assert (stats.binom.pmf(hits[:, None], users, shares) * held).sum(axis=0).min() > 0.95


def test_a_third_value_is_not_a_share_of_two() -> None:
    two, three = np.repeat([0.4, 0.6], 10), np.repeat([0.4, 0.6, 0.61], [10, 9, 1])
    assert mean_spread(two, np.arange(20), 20).split == 10
    assert mean_spread(three, np.arange(20), 20).split == 0


def test_without_bounds_and_skewness_it_is_students() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    found = iv.mean_estimate(values, np.arange(6))
    # the kurtosis of six even steps is below 2, so all five degrees count, by two fifths
    theirs = stats.t.interval(0.95, 5 * 2 / 5, 3.5, values.std(ddof=1) / np.sqrt(6))
    assert (found.ci_low, found.ci_high) == pytest.approx(theirs)


def test_without_bounds_a_long_tail_moves_the_interval() -> None:
    values = np.r_[np.arange(10.0), 40.0]
    found = iv.mean_estimate(values, np.arange(11))
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert found.ci_high - values.mean() > 1.5 * (values.mean() - found.ci_low)


@pytest.mark.parametrize("users", [2, 10, 40])
@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_no_interval_of_equal_values_has_width_0(value: float, users: int) -> None:
    """What fewer users than u = 1 - .025^(1/n) do can go unseen."""
    found = iv.mean_estimate([value] * 2 * users, np.repeat(np.arange(users), 2), iv.SHARE)
    unseen = 1 - 0.025 ** (1 / users)
    assert (found.ci_low, found.ci_high) == pytest.approx(
        (value - unseen * value, value + unseen * (1 - value))
    )
    none = iv.mean_estimate([value] * users, np.arange(users))
    assert (none.value, none.ci_low) == (value, None)
    assert none.note in (iv.ONE_USER, iv.FEW_USERS, iv.ALL_EQUAL)


def test_one_user_apart_does_not_make_an_interval_without_bounds() -> None:
    assert iv.mean_estimate([0.0] * 19 + [1.0], np.arange(20)).note == iv.ALIKE
    assert iv.mean_estimate([0.0] * 17 + [1.0, 2.0, 3.0], np.arange(20)).ci_low is not None


def test_users_are_the_units_not_rows() -> None:
    rng = np.random.default_rng(8)
    values = np.repeat(rng.normal(size=25), 40) + 0.1 * rng.normal(size=1000)
    users = iv.mean_estimate(values, np.repeat(np.arange(25), 40))
    rows = iv.mean_estimate(values, np.arange(1000))
    assert None not in (users.ci_low, users.ci_high, rows.ci_low, rows.ci_high)
    assert (users.ci_high or 0) - (users.ci_low or 0) > 3 * ((rows.ci_high or 0) - (rows.ci_low or 0))


def test_one_user_has_no_interval() -> None:
    found = iv.mean_estimate([1, 2, 3], ["u", "u", "u"])
    assert (found.value, found.ci_low, found.ci_high) == (2, None, None)
    assert found.note == iv.ONE_USER


def test_mean_leaves_out_missing_and_says_so() -> None:
    found = iv.mean_estimate([1, np.nan, 3], ["a", "b", "c"])
    assert (found.value, found.n) == (2, 2)
    assert "1 missing" in found.note
    assert iv.mean_estimate([np.nan], ["a"]).value is None
    with pytest.raises(ValueError, match="2 ids for 3 rows"):
        iv.mean_estimate([1, 2, 3], ["a", "b"])


def test_a_share_of_single_rows_is_exact() -> None:
    assert iv.share_estimate([1, 0, 1, 1], [1, 2, 3, 4]) == iv.clopper_pearson(3, 4)
    same = iv.share_estimate([1, 1, 1, 1], [1, 1, 2, 2])
    assert (same.value, same.ci_low, same.ci_high) == (
        1, pytest.approx(iv.clopper_pearson(2, 2).ci_low), 1,
    )  # fmt: skip
    with pytest.raises(ValueError, match="0 and 1"):
        iv.share_estimate([0.5], [1])


def test_a_figure_that_depends_on_one_user_has_no_interval() -> None:
    table = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    ends = iv.sums_interval(
        table, lambda sums: np.where(sums[:, 1] > 0, sums[:, 0], np.nan), iv.SHARE, row_counts=table[:, 1]
    )
    assert (ends.low, ends.note) == (None, "no interval: undefined without 1 of 3 users")


@pytest.mark.parametrize(("p", "n"), [(0.5, 25), (0.5, 400), (0.95, 120), (0.1, 60)])
def test_the_interval_covers_as_often_as_it_says(p: float, n: int) -> None:
    rng = np.random.default_rng(11)
    truth = -np.log(1 - p)
    found = [iv.quantile_estimate(rng.exponential(size=n), p) for _ in range(2000)]
    covered = np.mean(
        [e.ci_low <= truth <= e.ci_high for e in found if e.ci_low is not None and e.ci_high is not None]
    )
    # at least 95 % for any distribution, and not much more than the steps of the binomial make it
    assert 0.94 <= covered <= 0.985


def test_hundred_values_give_the_published_ranks_of_the_median() -> None:
    """40 and 61 of 100 enclose the median with 96.5 %, and no narrower pair with both tails under 2.5 %."""
    found = iv.quantile_estimate(np.arange(1.0, 101.0), 0.5)
    assert (found.value, found.ci_low, found.ci_high, found.n) == (50.5, 40.0, 61.0, 100)
    assert stats.binom.cdf(39, 100, 0.5) <= 0.025 < stats.binom.cdf(40, 100, 0.5)


def test_equal_values_around_the_quantile_have_no_interval() -> None:
    assert iv.quantile_estimate([2.0] * 50, 0.5).ci_low is None


def test_few_values_have_a_quantile_but_no_interval() -> None:
    found = iv.quantile_estimate([1.0, 2.0, 3.0, np.nan], 0.95)
    assert found.value == pytest.approx(2.9)
    assert (found.ci_low, found.ci_high, found.n) == (None, None, 3)
    assert "too few" in found.note
    assert iv.quantile_estimate([], 0.5).value is None
    with pytest.raises(ValueError, match="between 0 and 1"):
        iv.quantile_estimate([1.0], 1.0)
