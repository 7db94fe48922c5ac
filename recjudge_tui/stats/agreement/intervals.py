"""Every agreement figure of two raters with its interval over resampled users.

`agreement_estimates` takes the rows of one comparison and returns the named statistics over all rows,
or, with `groups`, the mean of each over the groups (users, or user-item pairs).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.agreement import correlation, weighted_cells
from recjudge_tui.stats.agreement.coefficients import label_array
from recjudge_tui.stats.agreement.registry import NO_ROWS, NO_SIDE, STATISTICS
from recjudge_tui.stats.agreement.weighted_cells import CellFunction, Cells, make_cells
from recjudge_tui.stats.arrays import FloatArray, Ids, IntArray, complete, encode, ratio, rows_of
from recjudge_tui.stats.estimate import Estimate, Interval, join_notes, undefined
from recjudge_tui.stats.resampling.intervals import (
    LEVEL,
    ONE_USER,
    RESAMPLES,
    bootstrap_sums,
    cluster_bootstrap,
    percentile_interval,
    resampled_sums,
    sums_by_user,
    user_weights,
)

TOO_FEW = "fewer than two items rated by both"

# above these sizes a figure is resampled less often, or compared by another algorithm
_DENSE = 20_000_000
_SPARSE = 30
_WORK = 150_000_000
_FEWEST = 200
_KENDALL_CELLS = 3000
_KENDALL_ROWS = 30_000
_GROUP_CELLS = 4_000_000


@dataclass(frozen=True)
class _Rows:
    """Complete rows with coded users, and what the resampling needs."""

    a: FloatArray
    b: FloatArray
    users: IntArray
    user_count: int
    resamples: int
    seed: int
    level: float
    mirrored: bool


def agreement_estimates(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    users: Ids,
    labels: npt.ArrayLike | None,
    stats: Sequence[str] = tuple(STATISTICS),
    *,
    groups: Ids | None = None,
    mirrored: bool = False,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> dict[str, Estimate]:
    """The named statistics of rater a against rater b, with percentile intervals over resampled users.

    `a`, `b`: one value per row, NaN if missing (such rows are left out and counted in the note).
    `labels`: the label set as sorted values, or None for values without one; kappas, AC2 and
    concurrence are then undefined, as they are if a value lies outside it. `concurrence` takes b
    as the consensus. `groups`: the figure is the mean over groups that have one; all rows of a group must
    belong to one user. `mirrored`: values are signed preferences without a common first side, so each row counts
    half as it is and half negated, on both sides; a mean difference is then undefined. `resamples=0` gives no
    intervals. If 2,000 resamples would take too long (very many distinct values), fewer are drawn and the note says so.
    The result depends neither on the order of the rows nor on the other statistics requested.
    Raises KeyError for an unknown statistic, ValueError for unpaired or unordered input.
    """
    for stat in stats:
        if stat not in STATISTICS:
            raise KeyError(f"unknown statistic {stat!r}; there are {', '.join(STATISTICS)}")
    left, right, kept = complete(a, b)
    label_set = None if labels is None else label_array(labels)
    codes, count = encode(rows_of(users, kept))
    rows = _Rows(left, right, codes, count, resamples, seed, level, mirrored)
    left_out = int((~kept).sum())
    missing = f"{left_out} of {kept.size} rows left out: a rating is missing" if left_out else ""
    blocked = {stat: _blocked(stat, rows, label_set) for stat in stats}
    able = [stat for stat in stats if not blocked[stat]]
    of_rows = None if groups is None else encode(rows_of(groups, kept))
    estimates = _overall(rows, label_set, able) if of_rows is None else {}
    if of_rows is not None:
        estimates = {stat: _grouped(rows, label_set, stat, *of_rows) for stat in able}
    out: dict[str, Estimate] = {}
    for stat in stats:
        estimate = estimates[stat] if stat in estimates else undefined(blocked[stat], left.size)
        out[stat] = replace(estimate, note=join_notes(estimate.note, missing))
    return out


def cell_function(stat: str, *, mirrored: bool = False) -> CellFunction:
    """The function of `weighted_cells` that computes a statistic; it has the statistic's name."""
    function: CellFunction = getattr(weighted_cells, stat)
    return weighted_cells.mirrored(function) if mirrored else function


def _blocked(stat: str, rows: _Rows, labels: FloatArray | None) -> str:
    """Why a statistic cannot be computed on these rows at all; empty if it can."""
    if rows.a.size == 0:
        return NO_ROWS
    if rows.a.size < 2 and STATISTICS[stat].correlation:
        return TOO_FEW
    if rows.mirrored and stat == "bias":
        return NO_SIDE
    if not STATISTICS[stat].labels:
        return ""
    if labels is None:
        return "needs a label set"
    strange = np.setdiff1d(np.concatenate([rows.a, rows.b]), labels)
    if strange.size:
        return f"a value outside the label set ({strange[0]:g})"
    if STATISTICS[stat].directed and not labels[0] < 0 < labels[-1]:
        return "the labels have no direction"
    return ""


def _overall(rows: _Rows, labels: FloatArray | None, stats: Sequence[str]) -> dict[str, Estimate]:
    if not stats:
        return {}
    cells, of_row = make_cells(rows.a, rows.b, labels)
    counts = np.bincount(of_row, minlength=cells.a.size).astype(np.float64)[None, :]
    slow = {"kendall"} if cells.a.size > _KENDALL_CELLS else set()
    values: dict[str, float] = {}
    for stat in stats:
        if stat in slow:
            tau = correlation.kendall(rows.a, rows.b)
            values[stat] = np.nan if tau is None else tau
        else:
            values[stat] = float(cell_function(stat, mirrored=rows.mirrored)(counts, cells)[0])
    known = [stat for stat in stats if not np.isnan(values[stat])]
    ends = _intervals(rows, cells, of_row, [stat for stat in known if stat not in slow])
    ends |= {stat: _slow_kendall(rows) for stat in known if stat in slow}
    n = rows.a.size
    return {
        stat: Estimate(values[stat], ends[stat].low, ends[stat].high, n, note=ends[stat].note)
        if stat in ends
        else undefined(STATISTICS[stat].undefined, n)
        for stat in stats
    }


def _intervals(rows: _Rows, cells: Cells, of_row: IntArray, stats: Sequence[str]) -> dict[str, Interval]:
    if rows.user_count < 2:
        return {stat: Interval(None, None, ONE_USER) for stat in stats}
    width = rows.a.size if _wide(rows, cells) else cells.a.size
    draws = min(rows.resamples, max(_FEWEST, _WORK // width))
    parts: dict[str, list[FloatArray]] = {stat: [np.zeros(0)] for stat in stats}
    for weights in _resampled_cells(rows, cells, of_row, draws) if stats else ():
        for stat in stats:
            parts[stat].append(cell_function(stat, mirrored=rows.mirrored)(weights, cells))
    ends = {stat: percentile_interval(np.concatenate(parts[stat]), rows.level) for stat in stats}
    if draws == rows.resamples:
        return ends
    fewer = f"interval from {draws} resamples"
    return {stat: replace(end, note=join_notes(end.note, fewer)) for stat, end in ends.items()}


def _wide(rows: _Rows, cells: Cells) -> bool:
    """Whether a table of (users, cells) is too large for memory, or so sparse that adding up rows costs less."""
    size = rows.user_count * cells.a.size
    alike = cells.a.size * 4 <= rows.user_count  # users with equal rows are counted together
    return size > _DENSE or (size > _SPARSE * rows.a.size and not alike)


def _resampled_cells(rows: _Rows, cells: Cells, of_row: IntArray, draws: int) -> Iterator[FloatArray]:
    """Cell weights (r, P) of resampled users."""
    width = cells.a.size
    if not _wide(rows, cells):
        flat = np.bincount(rows.users * width + of_row, minlength=rows.user_count * width)
        table = flat.reshape(rows.user_count, width).astype(np.float64)
        yield from resampled_sums(table, draws, rows.seed)
        return
    order = np.argsort(of_row, kind="stable")
    starts = np.searchsorted(of_row[order], np.arange(width))
    users = rows.users[order]
    for weights in user_weights(rows.user_count, draws, rows.seed, rows.a.size):
        of_rows: FloatArray = weights[:, users]
        yield of_rows if width == order.size else np.add.reduceat(of_rows, starts, axis=1)


def _slow_kendall(rows: _Rows) -> Interval:
    """Kendall's tau-b when there are too many distinct pairs of values to compare each cell with every other."""
    if rows.a.size > _KENDALL_ROWS:
        return Interval(None, None, f"no interval: over {_KENDALL_ROWS:,} rows of mostly distinct values")
    draws = min(rows.resamples, _FEWEST)
    ends = cluster_bootstrap(
        lambda drawn: correlation.kendall(rows.a[drawn], rows.b[drawn]),
        rows.users,
        resamples=draws,
        seed=rows.seed,
        level=rows.level,
    )
    return replace(ends, note=join_notes(ends.note, f"interval from {draws} resamples" if draws else ""))


def _grouped(rows: _Rows, labels: FloatArray | None, stat: str, codes: IntArray, count: int) -> Estimate:
    """Mean over groups, with its interval over resampled users."""
    owner = np.zeros(count, dtype=np.int64)
    owner[codes] = rows.users
    if (owner[codes] != rows.users).any():
        raise ValueError("a group must lie within one user")
    if stat in correlation.GROUPED and not rows.mirrored:
        values = correlation.GROUPED[stat](rows.a, rows.b, codes, count)
    else:
        values = _by_group(rows, labels, cell_function(stat, mirrored=rows.mirrored), codes, count)
    if stat in correlation.GROUPED:
        values[np.bincount(codes, minlength=count) < 2] = np.nan
    has_value = ~np.isnan(values)
    defined, n = values[has_value], rows.a.size
    left_out = count - defined.size
    if defined.size == 0:
        return Estimate(
            None, None, None, n, count, left_out, f"undefined in every group: {STATISTICS[stat].undefined}"
        )
    columns = np.stack([np.where(has_value, values, 0.0), has_value.astype(np.float64)])
    per_user = sums_by_user(columns, owner, rows.user_count)
    ends = bootstrap_sums(
        per_user,
        lambda sums: ratio(sums[:, 0], sums[:, 1]),
        resamples=rows.resamples,
        seed=rows.seed,
        level=rows.level,
    )
    return Estimate(float(defined.mean()), ends.low, ends.high, n, count, left_out, ends.note)


def _by_group(
    rows: _Rows, labels: FloatArray | None, statistic: CellFunction, codes: IntArray, count: int
) -> FloatArray:
    """A statistic of `cells` in each group (groups,), computed a few thousand groups at a time."""
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=count))
    width = make_cells(rows.a, rows.b)[0].a.size
    step = max(1, _GROUP_CELLS // width, min(2000, 2000 * count // rows.a.size))
    out = np.full(count, np.nan)
    for first in range(0, count, step):
        last = min(first + step, count)
        here = order[0 if first == 0 else ends[first - 1] : ends[last - 1]]
        cells, of_row = make_cells(rows.a[here], rows.b[here], labels)
        flat = (codes[here] - first) * cells.a.size + of_row
        counts = np.bincount(flat, minlength=(last - first) * cells.a.size)
        out[first:last] = statistic(counts.reshape(last - first, -1).astype(np.float64), cells)
    return out
