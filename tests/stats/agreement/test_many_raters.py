"""Agreement of many raters against published examples, the krippendorff package and the figures of two raters."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest

from recjudge_tui.stats.agreement.coefficients import ac2
from recjudge_tui.stats.agreement.many_raters import FEW_AT_END, SQUARED, many_raters_estimates
from recjudge_tui.stats.agreement.registry import MANY_RATERS

NAN = np.nan
ALPHAS = ("alpha_nominal", "alpha_ordinal", "alpha_interval")
# Krippendorff 2011, four observers and twelve units
OBSERVERS = np.array([
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
])  # fmt: skip
# the usual worked example of Fleiss' kappa: 10 subjects, 14 raters, 5 categories, kappa .210
SUBJECTS = np.array([
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
])  # fmt: skip


def _values(
    table: np.ndarray, labels: tuple[float, ...], stats: tuple[str, ...] = tuple(MANY_RATERS), **words: bool
) -> dict[str, float | None]:
    """The figures of ratings (raters, items)."""
    items = np.broadcast_to(np.arange(table.shape[1]), table.shape).ravel()
    estimates = many_raters_estimates(table.ravel(), items, items // 2, labels, stats, **words)
    return {stat: estimate.value for stat, estimate in estimates.items()}


def test_krippendorffs_four_observers() -> None:
    values = _values(OBSERVERS, (1, 2, 3, 4, 5))
    assert [round(values[stat] or 0, 3) for stat in ALPHAS] == [0.743, 0.815, 0.849]
    # irrCAC on the same data (Gwet)
    assert values["ac1"] == pytest.approx(0.77544, abs=5e-6)
    assert values["fleiss"] == pytest.approx(0.76117, abs=5e-6)


def test_fleiss_example_of_fourteen_raters() -> None:
    table = np.array([np.repeat(np.arange(5), row) for row in SUBJECTS], dtype=np.float64).T
    assert round(_values(table, (0, 1, 2, 3, 4))["fleiss"] or 0, 3) == 0.210


@pytest.mark.parametrize("seed", range(6))
def test_ragged_ratings_equal_the_krippendorff_package(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = np.clip(np.round(rng.normal(2, 1, 30) + rng.normal(0, 0.7, (5, 30))), 0, 4)
    table[rng.random(table.shape) < 0.5] = NAN
    values = _values(table, (0, 1, 2, 3, 4), ALPHAS)
    for stat in ALPHAS:
        theirs = krippendorff.alpha(
            reliability_data=table,
            level_of_measurement=stat.removeprefix("alpha_"),
            value_domain=[0, 1, 2, 3, 4],
        )
        assert values[stat] == pytest.approx(theirs)


@pytest.mark.parametrize("stat", ["fleiss", "fleiss_linear", "fleiss_quadratic", "ac1", "ac2_linear", "ac2"])
def test_weighted_figures_follow_from_pairs_of_ratings(stat: str) -> None:
    rng = np.random.default_rng(8)
    table = rng.integers(0, 4, (4, 25)).astype(np.float64)
    table[rng.random(table.shape) < 0.3] = NAN
    power = {"": 0, "linear": 1, "quadratic": 2}[
        stat.partition("_")[2] or ("quadratic" if stat == "ac2" else "")
    ]

    def credit(a: float, b: float) -> float:
        return float(a == b) if power == 0 else 1 - (abs(a - b) / 3) ** power

    agreed, shares = [], []
    for column in table.T:
        given = column[~np.isnan(column)]
        if given.size:
            shares.append([(given == label).mean() for label in range(4)])
        pairs = [(a, b) for i, a in enumerate(given) for j, b in enumerate(given) if i != j]
        if pairs:
            agreed.append(np.mean([credit(a, b) for a, b in pairs]))
    seen, share = float(np.mean(agreed)), np.mean(shares, axis=0)
    weights = np.array([[credit(a, b) for b in range(4)] for a in range(4)])
    chance = (
        share @ weights @ share
        if stat.startswith("fleiss")
        else weights.sum() / 12 * (share * (1 - share)).sum()
    )
    assert _values(table, (0, 1, 2, 3), (stat,))[stat] == pytest.approx((seen - chance) / (1 - chance))


def test_two_raters_have_the_figures_of_two_raters() -> None:
    rng = np.random.default_rng(2)
    table = rng.integers(0, 3, (2, 40)).astype(np.float64)
    assert _values(table, (0, 1, 2))["ac2"] == pytest.approx(ac2(table[0], table[1], (0, 1, 2)))


def test_pairs_without_a_first_side_do_not_depend_on_which_is_called_a() -> None:
    rng = np.random.default_rng(4)
    table = rng.choice([-1.0, 0.0, 1.0], (3, 30), p=[0.1, 0.2, 0.7])
    table[rng.random(table.shape) < 0.2] = NAN
    turned = table * np.where(np.arange(30) % 3, 1, -1)
    labels = (-1, 0, 1)
    assert _values(table, labels, mirrored=True) == pytest.approx(_values(turned, labels, mirrored=True))


def test_undefined_has_a_reason_and_no_interval_has_width_zero() -> None:
    equal = many_raters_estimates([2] * 60, np.arange(60) // 3, np.arange(60) // 3, (0, 1, 2))
    for stat, estimate in equal.items():
        if stat.startswith("ac"):
            assert (estimate.value, estimate.ci_high) == (1, 1)
            assert estimate.ci_low is not None
            assert estimate.ci_low < 1
        else:
            assert estimate.value is None
            assert estimate.note == "all ratings are equal, so no disagreement is expected by chance"
    alone = many_raters_estimates([0, 1], ["a", "b"], ["a", "b"], (0, 1))
    assert {estimate.note for estimate in alone.values()} == {"no item rated by two raters"}
    assert {estimate.note for estimate in many_raters_estimates([], [], [], (0, 1)).values()} == {
        "no item rated by two raters"
    }
    few = many_raters_estimates([0, 1, 1, 1], ["a", "a", "b", "b"], ["a", "a", "b", "b"], (0, 1))
    assert few["alpha_nominal"].value == pytest.approx(0)
    assert few["alpha_nominal"].ci_low is None
    one_label = many_raters_estimates([1, 1], ["a", "a"], ["a", "a"], (1,), ("ac1",))["ac1"]
    assert (one_label.value, one_label.note) == (None, "the label set has fewer than two labels")


def test_intervals_are_about_the_figure() -> None:
    rng = np.random.default_rng(6)
    truth = rng.integers(0, 3, 60)
    table = np.where(rng.random((4, 60)) < 0.7, truth, rng.integers(0, 3, (4, 60))).astype(np.float64)
    table[rng.random(table.shape) < 0.3] = NAN
    items = np.broadcast_to(np.arange(60), table.shape).ravel()
    for estimate in many_raters_estimates(table.ravel(), items, items // 2, (0, 1, 2)).values():
        assert estimate.ci_low is not None
        assert estimate.value is not None
        assert estimate.ci_high is not None
        assert estimate.ci_low < estimate.value < estimate.ci_high


def test_wrong_ratings_are_refused() -> None:
    with pytest.raises(ValueError, match="7 is not in the label set"):
        many_raters_estimates([7], ["a"], ["a"], (0, 1))
    with pytest.raises(ValueError, match="one user"):
        many_raters_estimates([0, 1], ["a", "a"], ["u", "v"], (0, 1))
    with pytest.raises(KeyError, match="qwk"):
        many_raters_estimates([0], ["a"], ["a"], (0, 1), ("qwk",))


@pytest.mark.parametrize(
    ("users", "at_end", "shown"), [(40, 7, False), (40, 8, True), (20, 4, False), (20, 5, True)]
)
@pytest.mark.parametrize("lowest", [True, False])
def test_figures_of_squared_differences_need_users_at_both_ends(
    users: int, at_end: int, shown: bool, lowest: bool
) -> None:
    own = np.full(users, 1)
    own[:at_end] = 0
    own[at_end : at_end + 10] = 2
    ratings = np.tile(own if lowest else 2 - own, (2, 1))
    ratings[1, ::3] = 1
    ratings[1, :at_end] = ratings[0, :at_end]
    items = np.tile(np.arange(users), 2)
    estimates = many_raters_estimates(ratings.ravel(), items, items, (0, 1, 2))
    for stat, estimate in estimates.items():
        squared = stat in SQUARED
        assert (estimate.ci_low is not None) == (shown or not squared), stat
        assert (FEW_AT_END in estimate.note) == (squared and not shown), stat
