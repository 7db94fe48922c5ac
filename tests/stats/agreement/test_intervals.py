import hypothesis.strategies as st
import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.metrics import cohen_kappa_score

from recjudge_tui.stats.agreement import coefficients as ag
from recjudge_tui.stats.agreement import correlation as co
from recjudge_tui.stats.agreement import intervals as ai
from recjudge_tui.stats.agreement import left_out as lo
from recjudge_tui.stats.agreement import weighted_cells
from recjudge_tui.stats.agreement.left_out import PERFECT
from recjudge_tui.stats.agreement.registry import NO_ROWS, SHARE, STATISTICS, Statistic
from recjudge_tui.stats.agreement.weighted_cells import Cells, make_cells
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.resampling.intervals import FEW_USERS, ONE_USER, interval_of
from recjudge_tui.stats.resampling.jackknife import spread_of

LABELS = (-1, 0, 1)
FIVE = (1, 2, 3, 4, 5)
NAMED = [
    *("percent", "kappa", "kappa_linear", "qwk", "alpha_nominal", "alpha_ordinal", "alpha_interval"),
    *("ac2", "pearson", "spearman", "kendall", "bias", "concurrence"),
]


def preferences(n: int = 300, seed: int = 1) -> tuple[FloatArray, FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    b = rng.integers(-1, 2, n).astype(float)
    a = np.where(rng.random(n) < 0.7, b, rng.integers(-1, 2, n))
    return a, b, rng.integers(0, 40, n)


def test_every_statistic_of_the_command_line_is_there() -> None:
    assert sorted(STATISTICS) == sorted(NAMED)
    assert all(statistic.label and statistic.undefined for statistic in STATISTICS.values())


def test_a_statistic_is_one_function_and_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its line bounds the interval of its mean over users, too."""

    def close(w: FloatArray, cells: Cells) -> FloatArray:
        share: FloatArray = w @ (np.abs(cells.a - cells.b) <= 1) / w.sum(axis=1)
        return share

    monkeypatch.setattr(weighted_cells, "close", close, raising=False)
    monkeypatch.setitem(STATISTICS, "close", Statistic("Close", NO_ROWS, SHARE))
    a, b, users = np.full(60, 3.0), np.full(60, 3.0), np.repeat(np.arange(30), 2)
    b[[0, 10, 20]] = 5
    whole = ai.agreement_estimates(a, b, users, FIVE, ("close",))["close"]
    by_user = ai.agreement_estimates(a, b, users, FIVE, ("close",), groups=users)["close"]
    assert whole.value == by_user.value == pytest.approx(0.95)
    assert by_user.ci_high is not None
    assert by_user.ci_high <= 1


def krippendorff_alpha(a: FloatArray, b: FloatArray, metric: str) -> float:
    return float(krippendorff.alpha(reliability_data=[a, b], level_of_measurement=metric))


def concurrence(a: FloatArray, b: FloatArray) -> float:
    return float(np.mean(np.sign(a[b != 0]) == np.sign(b[b != 0])))


def test_values_equal_the_single_functions() -> None:
    a, b, users = preferences()
    found = ai.agreement_estimates(a, b, users, LABELS)
    single = {
        "percent": ag.percent(a, b),
        "kappa": cohen_kappa_score(a, b, labels=LABELS),
        "kappa_linear": cohen_kappa_score(a, b, labels=LABELS, weights="linear"),
        "qwk": ag.qwk(a, b, LABELS),
        "alpha_nominal": krippendorff_alpha(a, b, "nominal"),
        "alpha_ordinal": krippendorff_alpha(a, b, "ordinal"),
        "alpha_interval": krippendorff_alpha(a, b, "interval"),
        "ac2": ag.ac2(a, b, LABELS),
        "pearson": co.pearson(a, b),
        "spearman": co.spearman(a, b),
        "kendall": co.kendall(a, b),
        "bias": (a - b).mean(),
        "concurrence": concurrence(a, b),
    }
    for stat in NAMED:
        assert found[stat].value == pytest.approx(single[stat]), stat
        assert (found[stat].n, found[stat].ci_low, found[stat].groups) == (300, None, None)
        assert "requested" in found[stat].note


def test_continuous_values_equal_the_single_functions() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=80), rng.integers(1, 6, 80).astype(float)
    found = ai.agreement_estimates(a, b, np.arange(80), None)
    for metric in ("nominal", "ordinal", "interval"):
        assert found[f"alpha_{metric}"].value == pytest.approx(krippendorff_alpha(a, b, metric))
    for method in co.GROUPED:
        assert found[method].value == pytest.approx(co.group_mean(method, a, b, np.zeros(80)).value)
    for stat in ("kappa", "kappa_linear", "qwk", "ac2", "concurrence"):
        assert (found[stat].value, found[stat].note) == (None, "needs a label set")


def test_intervals_come_from_leaving_out_each_users_rows() -> None:
    """The weighted statistics against the plain ones on the rows that remain."""
    a, b, users = preferences(120)
    found = ai.agreement_estimates(a, b, users, LABELS)
    plain = {
        "qwk": lambda r: ag.qwk(a[r], b[r], LABELS),
        "ac2": lambda r: ag.ac2(a[r], b[r], LABELS),
        "alpha_nominal": lambda r: krippendorff_alpha(a[r], b[r], "nominal"),
        "alpha_ordinal": lambda r: krippendorff_alpha(a[r], b[r], "ordinal"),
        "alpha_interval": lambda r: krippendorff_alpha(a[r], b[r], "interval"),
        "pearson": lambda r: co.pearson(a[r], b[r]),
        "spearman": lambda r: co.spearman(a[r], b[r]),
        "kendall": lambda r: co.kendall(a[r], b[r]),
    }
    cells, codes = make_cells(a, b, np.array(LABELS, dtype=float))
    weights = np.bincount(codes, minlength=cells.a.size).astype(float)[None, :]
    seen = len({*zip(users.tolist(), a.tolist(), b.tolist(), strict=True)})
    for stat, statistic in plain.items():
        whole = statistic(np.arange(120))
        assert whole is not None
        without = np.array([statistic(np.flatnonzero(users != user)) for user in np.unique(users)])
        bounds = lo.reachable(stat, weights, cells)
        end = ai.figure_interval(stat, whole, spread_of(whole, without.astype(float)), bounds, 0.95, seen)
        assert (found[stat].ci_low, found[stat].ci_high) == pytest.approx((end.low, end.high)), stat


@pytest.mark.parametrize("copies", [1, 3])
def test_intervals_allow_for_unseen_large_disagreements(copies: int) -> None:
    """Six of forty users differ by one label, none by two: other users might."""
    a = np.repeat([-1.0] * 14 + [0.0] * 14 + [1.0] * 12, copies)
    b = np.repeat([-1.0] * 8 + [0.0] * 20 + [1.0] * 12, copies)
    found = ai.agreement_estimates(a, b, np.repeat(np.arange(40), copies), LABELS, ["qwk", "ac2"])
    for stat in ("qwk", "ac2"):
        cells, codes = make_cells(a, b, np.array(LABELS, dtype=float))
        bounds = lo.reachable(stat, np.bincount(codes).astype(float)[None, :], cells)
        assert bounds is not None
        value, low = found[stat].value, found[stat].ci_low
        assert value is not None
        assert low is not None
        # rows that repeat a user's case are no further evidence
        assert low <= value - (1 - 0.025 ** (1 / 40)) * (value - bounds[0]) + 1e-12


def test_full_agreement_has_a_width_or_no_interval() -> None:
    """Ten equal labels out of three: kappa 1 says little, a correlation of 1 nothing."""
    labels = [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]
    found = ai.agreement_estimates(labels, labels, range(10), (0, 1, 2))
    assert (found["kappa"].value, found["kappa"].ci_high) == (1.0, 1.0)
    assert found["kappa"].ci_low is not None
    assert found["kappa"].ci_low < 0.6
    assert found["pearson"].note == PERFECT
    assert found["percent"].ci_low == pytest.approx(0.025 ** (1 / 10))
    rare = ai.agreement_estimates([1] * 18 + [0, 0], [1] * 18 + [0, 0], range(20), (0, 1, 2))
    assert rare["qwk"].note == ai.FEW_VARIED
    assert rare["ac2"].ci_low is not None
    few = ai.agreement_estimates(labels[:4], labels[:4], range(4), (0, 1, 2))
    assert few["kappa"].note == FEW_USERS


def test_intervals_hold_the_figure() -> None:
    a, b, users = preferences(600)
    for stat, found in ai.agreement_estimates(a, b, users, LABELS).items():
        assert found.ci_low is not None, stat
        assert found.value is not None
        assert found.ci_high is not None
        assert found.ci_low < found.value < found.ci_high


@pytest.mark.parametrize("mirrored", [False, True])
def test_ends_lie_on_the_scale_of_the_figure(mirrored: bool) -> None:
    """A kappa is never below -1, whatever the chance agreement of a small sample."""
    lowest = 0.0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        a, b = rng.choice([-1.0, 0.0, 1.0], (2, 10), p=((0.3, 0.4, 0.3), (0.1, 0.1, 0.8))[seed % 2])
        found = ai.agreement_estimates(a, b, np.arange(10), LABELS, mirrored=mirrored)
        for stat, estimate in found.items():
            limits = STATISTICS[stat].limits
            if limits is not None and estimate.ci_low is not None and estimate.ci_high is not None:
                assert limits[0] <= estimate.ci_low < estimate.ci_high <= limits[1], stat
                lowest = min(lowest, estimate.ci_low)
    assert lowest == -1.0


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000))
def test_row_order_and_other_statistics_do_not_matter(seed: int) -> None:
    a, b, users = preferences(60, seed)
    order = np.random.default_rng(seed).permutation(60)
    whole = ai.agreement_estimates(a, b, users, LABELS)
    turned = ai.agreement_estimates(a[order], b[order], users[order], LABELS)
    alone = ai.agreement_estimates(a, b, users, LABELS, ["qwk"])
    assert alone["qwk"] == whole["qwk"]
    for stat in NAMED:
        assert turned[stat].value == pytest.approx(whole[stat].value)
        assert turned[stat].ci_low == pytest.approx(whole[stat].ci_low)


def test_user_ids_may_be_texts_or_long_numbers() -> None:
    a, b, users = preferences(100)
    numbers = ai.agreement_estimates(a, b, users + 4376251640447208384, LABELS, ["qwk"])
    texts = ai.agreement_estimates(a, b, [f"u{u:03}" for u in users], LABELS, ["qwk"])
    assert numbers == texts


def test_undefined_figures_say_why() -> None:
    a = np.full(6, 4.0)
    found = ai.agreement_estimates(a, a, np.arange(6), FIVE)
    assert found["percent"].value == 1
    assert found["ac2"].value == pytest.approx(1)
    assert "same single label throughout" in found["qwk"].note
    assert found["pearson"].note == STATISTICS["pearson"].undefined
    assert "all ratings are equal" in found["alpha_ordinal"].note
    assert "no direction" in found["concurrence"].note
    strange = ai.agreement_estimates([1, 3.5], [1, 2], [1, 2], FIVE)
    assert strange["qwk"].note == "values between the labels, such as 3.5: use a correlation"
    filled = ai.agreement_estimates([1, 0], [1, 2], [1, 2], FIVE)
    assert filled["qwk"].note == "0 is none of the labels (1 to 5)"
    assert strange["bias"].value == 0.75


def test_nothing_rated_by_both() -> None:
    found = ai.agreement_estimates([1, np.nan], [np.nan, 2], ["u", "v"], FIVE)
    for stat in NAMED:
        assert (found[stat].value, found[stat].n) == (None, 0)
        assert found[stat].note == f"{ai.NO_ROWS}; 2 of 2 rows left out: a rating is missing"
    one = ai.agreement_estimates([1], [2], ["u"], FIVE, ["pearson", "percent"])
    assert one["pearson"].note == ai.TOO_FEW
    assert (one["percent"].value, one["percent"].note) == (0, ONE_USER)


def test_missing_rows_are_left_out_and_counted() -> None:
    a, b, users = preferences(100)
    a[:10] = np.nan
    found = ai.agreement_estimates(a, b, users, LABELS, ["qwk"])["qwk"]
    assert found.n == 90
    assert "10 of 100 rows left out" in found.note
    assert found.value == ag.qwk(a[10:], b[10:], LABELS)


def test_work_in_pieces_and_groups_of_users(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, users = preferences(200)
    usual = ai.agreement_estimates(a, b, users, LABELS)
    monkeypatch.setattr(lo, "_CHUNK", 20)
    for stat, estimate in ai.agreement_estimates(a, b, users, LABELS).items():
        assert (estimate.ci_low, estimate.ci_high) == (usual[stat].ci_low, usual[stat].ci_high)
    fewer = ai.agreement_estimates(a, b, users, LABELS, ["qwk"])["qwk"]
    assert fewer.note == "users left out in 25 groups"
    width = (usual["qwk"].ci_high or 0) - (usual["qwk"].ci_low or 0)
    assert (fewer.ci_high or 0) - (fewer.ci_low or 0) == pytest.approx(width, rel=0.4)


def test_kendall_of_very_many_distinct_values(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    a = rng.normal(size=60)
    b = a + rng.normal(size=60)
    usual = ai.agreement_estimates(a, b, np.arange(60), None, ["kendall"])["kendall"]
    monkeypatch.setattr(ai, "KENDALL_CELLS", 10)
    slow = ai.agreement_estimates(a, b, np.arange(60), None, ["kendall"])["kendall"]
    assert slow.value == pytest.approx(usual.value)
    assert slow.ci_low == pytest.approx(usual.ci_low)
    assert (slow.note, usual.note) == ("", "")
    monkeypatch.setattr(ai, "_KENDALL_ROWS", 10)
    none = ai.agreement_estimates(a, b, np.arange(60), None, ["kendall"])["kendall"]
    assert none.ci_low is None
    assert "mostly distinct" in none.note


@pytest.mark.parametrize("method", sorted(co.GROUPED))
def test_mean_over_users_and_pairs(method: str) -> None:
    rng = np.random.default_rng(4)
    users = rng.integers(0, 25, 400)
    pairs = users * 10 + rng.integers(0, 5, 400)
    a, b = rng.integers(1, 6, 400).astype(float), rng.integers(1, 6, 400).astype(float)
    for groups in (users, pairs):
        mean = co.group_mean(method, a, b, groups)
        found = ai.agreement_estimates(a, b, users, FIVE, [method], groups=groups)[method]
        assert (found.value, found.n) == (mean.value, 400)
        assert (found.groups, found.groups_undefined) == (mean.groups, mean.groups_undefined)
        assert found.ci_low is not None
        assert found.ci_low < (found.value or 0) < (found.ci_high or 0)


def test_other_statistics_by_group(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, users = preferences(200)
    a[users == 3] = b[users == 3] = 1
    each = [ag.qwk(a[users == u], b[users == u], LABELS) for u in np.unique(users)]
    known = [value for value in each if value is not None]
    for chunk in (4_000_000, 30):
        monkeypatch.setattr(ai, "_GROUP_CELLS", chunk)
        found = ai.agreement_estimates(a, b, users, LABELS, ["qwk"], groups=users)["qwk"]
        assert found.value == pytest.approx(np.mean(known))
        assert (found.groups, found.groups_undefined) == (len(each), len(each) - len(known))
        assert found.groups_undefined > 0


def test_groups_without_any_figure_and_groups_across_users() -> None:
    found = ai.agreement_estimates([1, 2], [1, 2], ["u", "v"], FIVE, ["pearson"], groups=["u", "v"])[
        "pearson"
    ]
    assert (found.value, found.groups, found.groups_undefined) == (None, 2, 2)
    assert "every group" in found.note
    with pytest.raises(ValueError, match="within one user"):
        ai.agreement_estimates([1, 2], [1, 2], ["u", "v"], FIVE, ["pearson"], groups=["g", "g"])


def test_unknown_statistic() -> None:
    with pytest.raises(KeyError, match="fleiss"):
        ai.agreement_estimates([1], [1], ["u"], FIVE, ["fleiss"])


def test_interval_of_kappa_covers_the_population_value() -> None:
    rng = np.random.default_rng(6)
    inside, trials = 0, 300
    for _ in range(trials):
        users = np.repeat(np.arange(60), 5)
        b = rng.integers(0, 2, 300)
        skill = np.repeat(rng.choice([0.3, 0.9], 60), 5)
        a = np.where(rng.random(300) < skill, b, rng.integers(0, 2, 300))
        found = ai.agreement_estimates(a, b, users, (0, 1), ["kappa"])["kappa"]
        inside += (found.ci_low or 0) <= 0.6 <= (found.ci_high or 0)
    assert inside / trials >= 0.92


def test_alpha_by_user_has_the_degrees_of_freedom_of_figures_without_a_lowest_value() -> None:
    """Two fifths of them, not half of two fifths: α of few cases can lie below -1."""
    rng = np.random.default_rng(4)
    users = np.repeat(np.arange(15), 4)
    a = rng.integers(1, 6, 60).astype(float)
    b = np.where(rng.random(60) < 0.7, a, rng.integers(1, 6, 60))
    stats = ("alpha_interval", "qwk")
    alpha, kappa = ai.agreement_estimates(a, b, users, FIVE, stats, groups=users).values()
    values = np.array([
        krippendorff.alpha([a[users == user], b[users == user]], level_of_measurement="interval")
        for user in range(15)
    ])  # fmt: skip
    assert alpha.value == pytest.approx(values.mean())
    without = (values.sum() - values) / 14
    expected = interval_of(values.mean(), spread_of(float(values.mean()), without))
    assert (alpha.ci_low, alpha.ci_high) == pytest.approx((expected.low, expected.high))
    assert kappa.ci_low is not None
    assert kappa.ci_low >= -1
