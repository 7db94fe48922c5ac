import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

from recjudge_tui.stats.arrays import FloatArray, ratio
from recjudge_tui.stats.resampling import intervals as iv


def mean_of(sums: FloatArray) -> FloatArray:
    return ratio(sums[:, 0], sums[:, 1])


def per_user(values: FloatArray) -> FloatArray:
    return np.stack([values, np.ones(values.size)], axis=1)


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_as_published_by_newcombe_1998(hits: int, n: int, low: float, high: float) -> None:
    found = iv.wilson(hits, n)
    assert (found.ci_low, found.ci_high) == pytest.approx((low, high), abs=5e-5)
    assert found.value == hits / n


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 500), st.data())
def test_wilson_equals_scipy(n: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, n))
    theirs = stats.binomtest(hits, n).proportion_ci(0.9, method="wilson")
    found = iv.wilson(hits, n, 0.9)
    assert (found.ci_low, found.ci_high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert 0 <= found.ci_low <= hits / n <= found.ci_high <= 1


def test_wilson_without_trials_and_wrong_input() -> None:
    assert iv.wilson(0, 0).value is None
    with pytest.raises(ValueError, match="not possible"):
        iv.wilson(3, 2)
    with pytest.raises(ValueError, match="level"):
        iv.wilson(1, 2, 95)


def test_wilson_covers_at_its_level() -> None:
    """Exactly, from the binomial distribution: 95 % on average, nowhere far below."""
    ends = [iv.wilson(hits, 84) for hits in range(85)]
    low, high = (np.array([getattr(end, name) for end in ends]) for name in ("ci_low", "ci_high"))
    truths = np.linspace(0.05, 0.95, 181)
    coverage = np.array(
        [stats.binom.pmf(np.arange(85), 84, p)[(low <= p) & (p <= high)].sum() for p in truths]
    )
    assert coverage.mean() == pytest.approx(0.95, abs=0.005)
    assert coverage.min() > 0.91


def test_bootstrap_is_deterministic_and_seeded() -> None:
    table = per_user(np.random.default_rng(2).normal(size=50))
    assert iv.bootstrap_sums(table, mean_of, seed=3) == iv.bootstrap_sums(table, mean_of, seed=3)
    assert iv.bootstrap_sums(table, mean_of, seed=3) != iv.bootstrap_sums(table, mean_of, seed=4)


def test_bootstrap_of_a_mean_is_near_the_normal_interval() -> None:
    values = np.random.default_rng(2).normal(size=400)
    half = 1.96 * values.std() / 20
    found = iv.bootstrap_sums(per_user(values), mean_of, resamples=4000, seed=1)
    assert found.low == pytest.approx(values.mean() - half, abs=0.01)
    assert found.high == pytest.approx(values.mean() + half, abs=0.01)


def test_fast_and_general_bootstrap_give_the_same_interval() -> None:
    rng = np.random.default_rng(4)
    users, values = rng.integers(0, 30, 200), rng.normal(size=200)
    sums = iv.sums_by_user(np.stack([values, np.ones(200)]), users, 30)
    fast = iv.bootstrap_sums(sums, mean_of, resamples=300, seed=9)
    slow = iv.cluster_bootstrap(lambda rows: float(values[rows].mean()), users, resamples=300, seed=9)
    assert fast.low == pytest.approx(slow.low)
    assert fast.high == pytest.approx(slow.high)


def test_users_with_equal_rows_are_drawn_together_with_the_same_distribution() -> None:
    votes = np.r_[np.ones(700), np.zeros(800)]
    collapsed = iv.bootstrap_sums(per_user(votes), mean_of, resamples=8000, seed=1)
    half = 1.96 * np.sqrt(7 / 15 * 8 / 15 / 1500)
    assert collapsed.low == pytest.approx(7 / 15 - half, abs=0.002)
    assert collapsed.high == pytest.approx(7 / 15 + half, abs=0.002)
    drawn = np.concatenate(list(iv.resampled_sums(per_user(votes), 50, 1)))
    assert (drawn[:, 1] == 1500).all()


def test_resampling_users_is_wider_than_resampling_rows() -> None:
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
    assert iv.cluster_bootstrap(lambda rows: 1.0, ["u", "u"], resamples=10).note == iv.ONE_USER


def test_too_many_undefined_resamples_leave_no_interval() -> None:
    values = np.r_[np.full(6, np.nan), np.arange(94.0)]
    few = np.r_[np.full(5, np.nan), np.arange(95.0)]
    found = iv.percentile_interval(values)
    assert (found.low, found.high) == (None, None)
    assert "6 of 100" in found.note
    assert iv.percentile_interval(few).low is not None
    assert iv.cluster_bootstrap(lambda rows: None, [1, 2, 3], resamples=20).low is None


def test_the_intervals_of_a_table_are_those_of_its_columns() -> None:
    table = np.random.default_rng(0).normal(size=(100, 4))
    table[:5, 1] = np.nan
    table[:6, 2] = np.nan
    assert iv.percentile_intervals(table) == [iv.percentile_interval(column) for column in table.T]
    assert iv.percentile_intervals(np.zeros((0, 2))) == [iv.percentile_interval(np.zeros(0))] * 2


def test_memory_chunks_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iv, "_CHUNK", 70)
    parts = list(iv.user_weights(10, 25, seed=1))
    assert [part.shape for part in parts] == [(7, 10), (7, 10), (7, 10), (4, 10)]
    assert all((part.sum(axis=1) == 10).all() for part in parts)


def test_mean_leaves_out_missing_and_says_so() -> None:
    found = iv.mean_estimate([1, np.nan, 3], ["a", "b", "c"])
    assert (found.value, found.n) == (2, 2)
    assert "1 missing" in found.note
    assert iv.mean_estimate([np.nan], ["a"]).value is None
    with pytest.raises(ValueError, match="2 ids for 3 rows"):
        iv.mean_estimate([1, 2, 3], ["a", "b"])


def test_share_uses_wilson_for_single_rows_and_for_unanimity() -> None:
    assert iv.share_estimate([1, 0, 1, 1], [1, 2, 3, 4]) == iv.wilson(3, 4)
    same = iv.share_estimate([1, 1, 1, 1], [1, 1, 2, 2])
    assert (same.value, same.ci_low, same.ci_high) == (1, iv.wilson(2, 2).ci_low, 1)
    mixed = iv.share_estimate([1, 1, 1, 0, 0, 0], [1, 1, 2, 2, 3, 3], seed=1)
    assert mixed == iv.mean_estimate([1, 1, 1, 0, 0, 0], [1, 1, 2, 2, 3, 3], seed=1)
    with pytest.raises(ValueError, match="0 and 1"):
        iv.share_estimate([0.5], [1])


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


def test_few_values_have_a_quantile_but_no_interval() -> None:
    found = iv.quantile_estimate([1.0, 2.0, 3.0, np.nan], 0.95)
    assert found.value == pytest.approx(2.9)
    assert (found.ci_low, found.ci_high, found.n) == (None, None, 3)
    assert "too few" in found.note
    assert iv.quantile_estimate([], 0.5).value is None
    with pytest.raises(ValueError, match="between 0 and 1"):
        iv.quantile_estimate([1.0], 1.0)
