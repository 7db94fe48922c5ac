"""Every agreement figure of two raters with its interval over users.

`agreement_estimates` takes the rows of one comparison and returns the named statistics over all rows,
or, with `groups`, the mean of each over the groups (users, or user-item pairs).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.agreement import correlation, weighted_cells
from recjudge_tui.stats.agreement.coefficients import label_array
from recjudge_tui.stats.agreement.left_out import (
    OPPOSITE,
    PERFECT,
    fewer_groups,
    left_out_weights,
    reachable,
    user_groups,
)
from recjudge_tui.stats.agreement.registry import CORRELATIONS, NO_ROWS, NO_SIDE, STATISTICS
from recjudge_tui.stats.agreement.weighted_cells import CellFunction, Cells, make_cells
from recjudge_tui.stats.arrays import FloatArray, Ids, IntArray, complete, encode, rows_of
from recjudge_tui.stats.defaults import LEVEL, RESAMPLES
from recjudge_tui.stats.estimate import Estimate, Interval, join_notes, undefined
from recjudge_tui.stats.intervals import SHARE, Bounds, mean_estimate
from recjudge_tui.stats.resampling.design_effect import row_squares
from recjudge_tui.stats.resampling.intervals import (
    FEW_USERS,
    FEWEST_APART,
    FEWEST_USERS,
    NOT_REQUESTED,
    ONE_USER,
    interval_of,
)
from recjudge_tui.stats.resampling.jackknife import Spread, mean_spread, spread_of
from recjudge_tui.stats.resampling.unseen import unseen_share

TOO_FEW = "fewer than two items rated by both"

# above these sizes a figure is compared by another algorithm
KENDALL_CELLS = 3000
_KENDALL_ROWS = 30_000
_KENDALL_GROUPS = 200
FEWEST_FOR_AC2 = 20
KENDALL_SLOW = f"no interval: over {KENDALL_CELLS:,} distinct pairs of values"
FEW_VARIED = f"no interval: fewer than {FEWEST_APART} users have a value other than the most common one"
# if one of the two hardly varies, chance agreement is not known: 79 % of the intervals for rare flags contained kappa
FEWEST_OF_ONE = 2
ONE_ALIKE = (
    f"no interval: one rater gave fewer than {FEWEST_OF_ONE} users a value other than its most common one"
)
_GROUP_CELLS = 4_000_000
# with more different pairs of values the similarity of a user's rows is not estimated
_DESIGN_CELLS = 200
_MEANS = ("percent", "bias", "concurrence")


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
    """The named statistics of rater a against rater b, with intervals by the jackknife over users.

    `a`, `b`: one value per row, NaN if missing (such rows are left out and counted in the note).
    `labels`: the label set as sorted values, or None for values without one; kappas, AC2 and
    concurrence are then undefined, as they are if a value lies outside it. `concurrence` takes b
    as the consensus. `groups`: the figure is the mean over groups that have one; all rows of a group must
    belong to one user. `mirrored`: values are signed preferences without a common first side, so each row counts
    half as it is and half negated, on both sides; a mean difference is then undefined. `resamples=0` gives no
    intervals. With more than `resamples` users, or if each figure takes long (very many distinct values), users are
    left out in groups and the note says so.
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
        fractions = strange[strange != np.rint(strange)]
        if fractions.size:
            return f"values between the labels, such as {fractions[0]:.3g}: use a correlation"
        return f"{strange[0]:g} is none of the labels ({labels[0]:g} to {labels[-1]:g})"
    if STATISTICS[stat].directed and not labels[0] < 0 < labels[-1]:
        return "the labels have no direction"
    return ""


def _overall(rows: _Rows, labels: FloatArray | None, stats: Sequence[str]) -> dict[str, Estimate]:
    if not stats:
        return {}
    cells, of_row = make_cells(rows.a, rows.b, labels)
    counts = np.bincount(of_row, minlength=cells.a.size).astype(np.float64)[None, :]
    slow = {"kendall"} if cells.a.size > KENDALL_CELLS else set()
    values: dict[str, float] = {}
    for stat in stats:
        if stat in _MEANS:
            continue
        if stat in slow:
            tau = correlation.kendall(rows.a, rows.b)
            values[stat] = np.nan if tau is None else tau
        else:
            values[stat] = float(cell_function(stat, mirrored=rows.mirrored)(counts, cells)[0])
    known = [stat for stat in values if not np.isnan(values[stat])]
    ends = _intervals(rows, cells, of_row, [stat for stat in known if stat not in slow])
    ends |= {stat: _slow_kendall(rows) for stat in known if stat in slow}
    n = rows.a.size
    estimates = {stat: _of_rows(rows, labels, stat) for stat in stats if stat in _MEANS}
    return estimates | {
        stat: Estimate(values[stat], ends[stat].low, ends[stat].high, n, note=ends[stat].note)
        if stat in ends
        else undefined(STATISTICS[stat].undefined, n)
        for stat in values
    }


def _intervals(rows: _Rows, cells: Cells, of_row: IntArray, stats: Sequence[str]) -> dict[str, Interval]:
    """The jackknife's interval of each statistic, on the scale between the values that it can reach."""
    if not stats:
        return {}
    if not rows.resamples:
        return dict.fromkeys(stats, Interval(None, None, NOT_REQUESTED))
    if rows.user_count < FEWEST_USERS:
        return dict.fromkeys(stats, Interval(None, None, FEW_USERS))
    if reason := too_alike(rows.a, rows.b, rows.users):
        alike = [stat for stat in stats if stat != "ac2"]
        ends = dict.fromkeys(alike, Interval(None, None, reason))
        return ends | _left_out_intervals(rows, cells, of_row, [stat for stat in stats if stat == "ac2"])
    return _left_out_intervals(rows, cells, of_row, stats)


def too_alike(a: FloatArray, b: FloatArray, users: IntArray) -> str:
    """Why there is no interval for two raters (n,), if too few users have a value other than the most common one; else
    empty."""
    either = np.concatenate([a, b])
    if varied_users(either, np.concatenate([users, users])) < FEWEST_APART:
        return FEW_VARIED
    fewest = min(varied_users(side, users) for side in (a, b))
    return ONE_ALIKE if fewest < FEWEST_OF_ONE else ""


def varied_users(values: FloatArray, users: IntArray) -> int:
    """How many users have a value other than the most common one."""
    known, counts = np.unique(values, return_counts=True)
    return int(np.unique(users[values != known[np.argmax(counts)]]).size)


def _left_out_intervals(
    rows: _Rows, cells: Cells, of_row: IntArray, stats: Sequence[str]
) -> dict[str, Interval]:
    if not stats:
        return {}
    groups, count = user_groups(rows.users, rows.user_count, cells.a.size, rows.resamples, rows.seed)
    parts: dict[str, list[FloatArray]] = {stat: [] for stat in stats}
    for weights in left_out_weights(cells.a.size, of_row, groups, count):
        for stat in stats:
            parts[stat].append(cell_function(stat, mirrored=rows.mirrored)(weights, cells))
    whole = np.bincount(of_row, minlength=cells.a.size).astype(np.float64)[None, :]
    seen = cases_seen(rows.users, cell_kinds(cells, mirrored=rows.mirrored)[of_row])
    one_fewer = whole - np.eye(cells.a.size) if cells.a.size <= _DESIGN_CELLS else None
    ends: dict[str, Interval] = {}
    for stat in stats:
        values = np.concatenate(parts[stat])
        value, bounds = float(values[0]), reachable(stat, whole, cells, mirrored=rows.mirrored)
        squares = None
        if one_fewer is not None and groups is rows.users:
            without = cell_function(stat, mirrored=rows.mirrored)(one_fewer, cells)
            squares = row_squares(value, without, of_row, rows.users, rows.user_count)
        spread = spread_of(value, values[1:], np.bincount(rows.users), squares)
        end = figure_interval(stat, value, spread, bounds, rows.level, seen)
        ends[stat] = replace(end, note=join_notes(end.note, fewer_groups(rows.user_count, count)))
    return ends


def figure_interval(
    stat: str, value: float, spread: Spread, bounds: Bounds | None, level: float, cases: int
) -> Interval:
    """The interval of a statistic between `bounds` from its spread over users, who have `cases` different cases.

    The variance is multiplied by G / (G - 1), because the chance agreement is estimated too. AC1 and AC2 need more users
    than the others, because with few ratings their chance agreement is far from the true one. The ends allow for cases
    of the largest disagreement, or of none, that the sample happens to miss: the spread does not show them. Without this,
    only 90 % of the 95 % intervals contained the true AC2 of three raters with rare errors.
    """
    if stat in CORRELATIONS and abs(value) > 1 - 1e-9:
        return Interval(None, None, PERFECT)
    if spread.users > 1:
        spread = replace(spread, variance=spread.variance * spread.users / (spread.users - 1), split=0)
    fewest = FEWEST_FOR_AC2 if stat.startswith("ac") else FEWEST_USERS
    ends = interval_of(value, spread, bounds, level, fewest)
    if bounds is None or ends.low is None or ends.high is None:
        return ends
    unseen = unseen_share(cases, level)
    low, high = value - unseen * (value - bounds[0]), value + unseen * (bounds[1] - value)
    # with the chance agreement of the sample a kappa could be lower than any sample's: its scale ends at -1
    lowest = limits[0] if (limits := STATISTICS[stat].limits if stat in STATISTICS else None) else bounds[0]
    return Interval(max(lowest, min(ends.low, low)), max(ends.high, high), ends.note)


def cases_seen(users: IntArray, *columns: IntArray) -> int:
    """How many rows (n,) differ: a user's rows that are equal in all columns are one case."""
    codes = users
    for column in columns:
        codes, _ = encode(codes * (int(column.max()) + 1) + column)
    return int(np.unique(codes).size)


def cell_kinds(cells: Cells, *, mirrored: bool) -> IntArray:
    """A number for each cell (cells,), the same for (a, b) and (-a, -b) if preferences have no first side."""
    if not mirrored:
        return np.arange(cells.a.size)
    sides = np.stack([np.abs(cells.a), np.abs(cells.b), cells.a * cells.b])
    return np.unique(sides, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _of_rows(rows: _Rows, labels: FloatArray | None, stat: str) -> Estimate:
    """A statistic that is a mean over rows: shares and the mean difference."""
    if stat == "bias":
        width = 0.0 if labels is None else float(labels[-1] - labels[0])
        values, kept = rows.a - rows.b, np.ones(rows.a.size, dtype=np.bool_)
        bounds = (-width, width) if width else None
    else:
        kept = rows.b != 0 if STATISTICS[stat].directed else np.ones(rows.a.size, dtype=np.bool_)
        same = np.sign(rows.a) == np.sign(rows.b) if STATISTICS[stat].directed else rows.a == rows.b
        values, bounds = same.astype(np.float64), SHARE
    if not kept.any():
        return undefined(STATISTICS[stat].undefined, rows.a.size)
    estimate = mean_estimate(values[kept], rows.users[kept], bounds, level=rows.level)
    return replace(estimate, n=rows.a.size)


def _slow_kendall(rows: _Rows) -> Interval:
    """Kendall's tau-b when there are too many distinct pairs of values to compare each cell with every other."""
    if rows.a.size > _KENDALL_ROWS:
        return Interval(None, None, f"no interval: over {_KENDALL_ROWS:,} rows of mostly distinct values")
    if not rows.resamples:
        return Interval(None, None, NOT_REQUESTED)
    if rows.user_count < FEWEST_USERS:
        return Interval(None, None, FEW_USERS)
    groups, count = user_groups(rows.users, rows.user_count, rows.a.size**2, _KENDALL_GROUPS, rows.seed)
    taus = [correlation.kendall(rows.a, rows.b)]
    taus += [correlation.kendall(rows.a[groups != at], rows.b[groups != at]) for at in range(count)]
    values = np.array([np.nan if tau is None else tau for tau in taus])
    value = float(values[0])
    spread = spread_of(value, values[1:], np.bincount(rows.users))
    end = figure_interval("kendall", value, spread, OPPOSITE, rows.level, rows.user_count)
    return replace(end, note=join_notes(end.note, fewer_groups(rows.user_count, count)))


def _grouped(rows: _Rows, labels: FloatArray | None, stat: str, codes: IntArray, count: int) -> Estimate:
    """Mean over groups, with its interval over users."""
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
    ends = _group_interval(defined, owner[has_value], stat, rows)
    return Estimate(float(defined.mean()), ends.low, ends.high, n, count, left_out, ends.note)


def _group_interval(figures: FloatArray, owner: IntArray, stat: str, rows: _Rows) -> Interval:
    """The interval of the mean of the groups' figures (groups,), of the users `owner` (groups,). Correlations and figures
    corrected for chance of few cases are skewed, so they get half of the degrees of freedom; those without a lowest
    value have two fifths of them anyway."""
    if not rows.resamples:
        return Interval(None, None, NOT_REQUESTED)
    if rows.user_count < 2:
        return Interval(None, None, ONE_USER)
    spread = mean_spread(figures, owner, rows.user_count, rows.resamples, rows.seed)
    limits = STATISTICS[stat].limits
    if limits is not None and (stat in CORRELATIONS or STATISTICS[stat].by_chance):
        spread = replace(spread, freedom=max(1.0, spread.freedom / 2))
    return interval_of(float(figures.mean()), spread, limits, rows.level)


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
