"""Subsets of raters against a plain loop over them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from recjudge_tui.stats.combining import SizeFigures, subset_figures, subsets

Floats = npt.NDArray[np.float64]
METHODS = ("pearson", "spearman", "kendall")
SCIPY: dict[str, Any] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def plain(
    stat: str, ratings: Floats, truth: Floats, groups: npt.NDArray[np.int64]
) -> dict[tuple[int, ...], float]:
    """The figure of each subset by SciPy, groups with a constant side left out; NaN where there is none."""
    found = {}
    for size in range(1, len(ratings) + 1):
        for members in combinations(range(len(ratings)), size):
            sums = ratings[list(members)].sum(axis=0)
            figures = []
            for group in np.unique(groups):
                a, b = sums[groups == group], truth[groups == group]
                if a.size > 1 and np.ptp(a) > 0 and np.ptp(b) > 0:
                    figures.append(float(SCIPY[stat](a, b)[0]))
            found[members] = float(np.mean(figures)) if figures else np.nan
    return found


def example(
    raters: int = 5, groups: int = 12, rows: int = 90
) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    rng = np.random.default_rng(3)
    of = rng.integers(0, groups, rows)
    truth = rng.integers(1, 6, rows).astype(float)
    return np.clip(np.rint(0.5 * truth + rng.normal(2, 1.2, (raters, rows))), 1, 5), truth, of


@pytest.mark.parametrize("stat", METHODS)
@pytest.mark.parametrize("grouped", [False, True])
def test_every_size_equals_a_loop_over_its_subsets(stat: str, grouped: bool) -> None:
    ratings, truth, groups = example()
    found = subset_figures(stat, ratings, truth, groups if grouped else None)
    by_loop = plain(stat, ratings, truth, groups if grouped else np.zeros_like(groups))
    assert [size.subsets for size in found] == [5, 10, 10, 5, 1]
    for size in found:
        figures = {members: value for members, value in by_loop.items() if len(members) == size.size}
        values = list(figures.values())
        assert (size.low, size.mean, size.high) == pytest.approx((min(values), np.mean(values), max(values)))
        assert size.quartiles == pytest.approx(np.percentile(values, (25, 50, 75)))
        assert figures[size.best] == pytest.approx(max(values))
        assert figures[size.worst] == pytest.approx(min(values))
        assert (size.n, size.undefined) == (90, 0)


@pytest.mark.parametrize("stat", METHODS)
def test_raters_who_cancel_out_have_no_figure(stat: str) -> None:
    a = np.array([1.1, 2.3, 3.7, 5.2])
    found = subset_figures(stat, [a, 6.3 - a], [1, 2, 3, 4])
    assert found[1] == SizeFigures(2, 1, 1, None, None, None, None, (), (), 4)
    assert (found[0].low, found[0].high) == pytest.approx((-1, 1), abs=0.02)
    assert (found[0].best, found[0].worst) == ((0,), (1,))


def test_constant_groups_are_left_out() -> None:
    ratings = [[1, 2, 3, 3, 1, 1], [2, 1, 4, 4, 1, 2]]
    found = subset_figures("pearson", ratings, [1, 2, 1, 2, 1, 2], [7, 7, 8, 8, 9, 9])
    assert found[0] == SizeFigures(1, 2, 0, 0.0, 0.5, 1.0, (0.25, 0.5, 0.75), (0,), (1,), 6)
    assert (found[1].mean, found[1].n) == (1.0, 6)


def test_a_row_counts_only_where_all_raters_and_the_truth_are_there() -> None:
    nan = np.nan
    ratings = np.array([[1, 2, 3, 5, 4], [1, nan, 3, 4, 5]])
    found = subset_figures("pearson", ratings, [1, 9, 3, nan, 4])
    assert [size.n for size in found] == [3, 3]
    assert found[0].low == pytest.approx(stats.pearsonr([1, 3, 5], [1, 3, 4])[0])


@pytest.mark.parametrize("stat", METHODS)
def test_nothing_to_compare(stat: str) -> None:
    assert [size.mean for size in subset_figures(stat, [[np.nan], [1.0]], [1.0])] == [None, None]
    assert [size.undefined for size in subset_figures(stat, [[2.0], [1.0]], [1.0])] == [2, 1]


def test_a_large_common_offset_does_not_spoil_it() -> None:
    ratings, truth, groups = example()
    plain_figures = subset_figures("pearson", ratings, truth, groups)
    moved = subset_figures("pearson", ratings + 1e6, truth - 1e6, groups)
    assert [size.mean for size in moved] == pytest.approx([size.mean for size in plain_figures], abs=1e-7)


def test_subsets_and_bad_input() -> None:
    assert subsets(2).tolist() == [[True, False], [False, True], [True, True]]
    with pytest.raises(ValueError, match="65,535 subsets"):
        subset_figures("pearson", np.zeros((16, 3)), np.zeros(3))
    with pytest.raises(ValueError, match="raters, rows"):
        subset_figures("pearson", np.zeros((2, 3)), np.zeros(4))
    with pytest.raises(KeyError):
        subset_figures("qwk", np.zeros((2, 3)), np.zeros(3))
