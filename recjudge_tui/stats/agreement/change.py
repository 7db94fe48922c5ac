"""Change of a figure between two sets of verdicts on the same users, with users resampled jointly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.agreement.coefficients import label_array
from recjudge_tui.stats.agreement.intervals import agreement_estimates, cell_function
from recjudge_tui.stats.agreement.weighted_cells import CellFunction, Cells, make_cells
from recjudge_tui.stats.arrays import (
    FloatArray,
    Ids,
    IntArray,
    as_floats,
    complete,
    encode,
    ratio,
    rows_of,
)
from recjudge_tui.stats.estimate import Estimate, Interval, undefined
from recjudge_tui.stats.resampling.intervals import (
    LEVEL,
    ONE_USER,
    RESAMPLES,
    bootstrap_sums,
    mean_estimate,
    percentile_interval,
    resampled_sums,
    sums_by_user,
    user_weights,
)

# above these sizes there are fewer resamples, or none
_DENSE = 20_000_000
_WORK = 150_000_000
_FEWEST = 200
_KENDALL_CELLS = 3000


@dataclass(frozen=True)
class Change:
    """A figure of the later and of the earlier run on the same cases, and later - earlier with its interval."""

    later: float | None
    earlier: float | None
    change: Estimate


def difference_of_means(
    values: npt.ArrayLike,
    first: npt.ArrayLike,
    users: Ids,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> Estimate:
    """Mean of the rows marked `first` minus the mean of the others; NaN rows are left out.

    A user's rows on both sides are drawn together, so effects of the user that are common to both cancel. Percentile
    interval over resampled users (Efron and Tibshirani 1993). Undefined if one side has no rows.
    """
    array = as_floats(values)
    kept = ~np.isnan(array)
    rows, left = array[kept], rows_of(first, kept).astype(np.float64)
    if not left.any() or left.all():
        return undefined("one of the two has no verdicts", rows.size)
    codes, count = encode(rows_of(users, kept))
    columns = np.stack([rows * left, left, rows * (1 - left), 1 - left])
    per_user = sums_by_user(columns, codes, count)

    def finish(sums: FloatArray) -> FloatArray:
        return ratio(sums[:, 0], sums[:, 1]) - ratio(sums[:, 2], sums[:, 3])

    value = float(finish(per_user.sum(axis=0)[None, :])[0])
    ends = bootstrap_sums(per_user, finish, resamples=resamples, seed=seed, level=level)
    return Estimate(value, ends.low, ends.high, rows.size, note=ends.note)


class Rated(NamedTuple):
    """One run's values with the truth and the user of each row."""

    value: npt.ArrayLike
    truth: npt.ArrayLike
    users: Ids


def agreement_change(
    later: Rated,
    earlier: Rated,
    labels: npt.ArrayLike | None,
    stat: str,
    *,
    mirrored: bool = False,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> Change:
    """stat(later, truth) - stat(earlier, truth), on rows where value and truth are known; the two may have other rows.

    Each resample draws users with replacement and computes both figures on the same draw, so that sampling
    variation common to both runs cancels; percentile interval (Efron and Tibshirani 1993, An Introduction to the
    Bootstrap, ch. 8 and 13). `labels`: the label set, None for values without one. `mirrored`: as in
    `agreement_estimates`. Undefined, with the reason,
    if either figure is. Raises KeyError for an unknown statistic, ValueError for unpaired input.
    """
    sides = [complete(side.value, side.truth) for side in (later, earlier)]
    n = min(int(kept.sum()) for _, _, kept in sides)
    if n == 0:
        return Change(None, None, undefined("no case on which both runs and the truth have a verdict"))
    owners = [rows_of(side.users, kept) for side, (_, _, kept) in zip((later, earlier), sides, strict=True)]
    codes, count = encode(np.concatenate(owners))
    users = codes[: owners[0].size], codes[owners[0].size :]
    figures = [
        agreement_estimates(value, truth, of_side, labels, [stat], mirrored=mirrored, resamples=0)[stat]
        for (value, truth, _), of_side in zip(sides, users, strict=True)
    ]
    now, before = (figure.value for figure in figures)
    if now is None or before is None:
        run, reason = ("later", figures[0]) if now is None else ("earlier", figures[1])
        return Change(now, before, undefined(f"undefined for the {run} run: {reason.note}", n))
    known = None if labels is None else label_array(labels)
    both = [make_cells(value, truth, known) for value, truth, _ in sides]
    statistic = cell_function(stat, mirrored=mirrored)
    ends = _interval(
        both, users, count, stat, statistic, min(resamples, max(_FEWEST, _WORK // n)), seed, level
    )
    return Change(now, before, Estimate(now - before, ends.low, ends.high, n, note=ends.note))


def mean_change(
    new: npt.ArrayLike,
    old: npt.ArrayLike,
    users: Ids,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> Change:
    """mean(new) - mean(old) on rows where both have a value: the mean of the differences. Users are resampled.

    Undefined without such rows. Raises ValueError for unpaired input.
    """
    a, b, kept = complete(new, old)
    if a.size == 0:
        return Change(None, None, undefined("no case that both runs were asked about"))
    change = mean_estimate(a - b, rows_of(users, kept), resamples=resamples, seed=seed, level=level)
    return Change(float(a.mean()), float(b.mean()), change)


def _interval(
    both: list[tuple[Cells, IntArray]],
    users: tuple[IntArray, IntArray],
    count: int,
    stat: str,
    statistic: CellFunction,
    draws: int,
    seed: int,
    level: float,
) -> Interval:
    if count < 2:
        return Interval(None, None, ONE_USER)
    if stat == "kendall" and max(cells.a.size for cells, _ in both) > _KENDALL_CELLS:
        return Interval(None, None, f"no interval: over {_KENDALL_CELLS:,} distinct pairs of values")
    parts = [
        statistic(later, both[0][0]) - statistic(earlier, both[1][0])
        for later, earlier in _drawn(both, users, count, draws, seed)
    ]
    return percentile_interval(np.concatenate(parts) if parts else np.zeros(0), level)


def _drawn(
    both: list[tuple[Cells, IntArray]], users: tuple[IntArray, IntArray], count: int, draws: int, seed: int
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Cell weights (r, P) of the later and the earlier comparison, from the same resampled users."""
    (later, later_row), (earlier, earlier_row) = both
    width = later.a.size + earlier.a.size
    if count * width <= _DENSE:
        flat = [
            np.bincount(of_side * cells.a.size + of_row, minlength=count * cells.a.size).reshape(count, -1)
            for (cells, of_row), of_side in zip(both, users, strict=True)
        ]
        for sums in resampled_sums(np.concatenate(flat, axis=1).astype(np.float64), draws, seed):
            yield sums[:, : later.a.size], sums[:, later.a.size :]
        return
    for weights in user_weights(count, draws, seed, max(side.size for side in users)):
        yield (
            _by_cell(weights[:, users[0]], later, later_row),
            _by_cell(weights[:, users[1]], earlier, earlier_row),
        )


def _by_cell(weights: FloatArray, cells: Cells, of_row: IntArray) -> FloatArray:
    order = np.argsort(of_row, kind="stable")
    starts = np.searchsorted(of_row[order], np.arange(cells.a.size))
    total: FloatArray = np.add.reduceat(weights[:, order], starts, axis=1)
    return total
