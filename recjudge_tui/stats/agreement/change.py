"""Change of a figure between two sets of verdicts on the same users, with an interval by the jackknife over users of
both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.agreement.coefficients import label_array
from recjudge_tui.stats.agreement.intervals import (
    KENDALL_CELLS,
    KENDALL_SLOW,
    agreement_estimates,
    cell_function,
)
from recjudge_tui.stats.agreement.left_out import fewer_groups, left_out_weights, user_groups
from recjudge_tui.stats.agreement.registry import STATISTICS
from recjudge_tui.stats.agreement.weighted_cells import Cells, make_cells
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
from recjudge_tui.stats.defaults import LEVEL, RESAMPLES
from recjudge_tui.stats.estimate import Estimate, Interval, join_notes, undefined
from recjudge_tui.stats.intervals import Bounds, Scale, jackknife_interval, mean_estimate, sums_by_user
from recjudge_tui.stats.resampling.intervals import (
    FEW_USERS,
    FEWEST_USERS,
    sums_interval,
)


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
    bounds: Bounds | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> Estimate:
    """Mean of the rows marked `first` minus the mean of the others; NaN rows are left out.

    A user's rows on both sides are left out together, so effects of the user that are common to both cancel. `bounds`:
    the lowest and the highest value of a row. Undefined if one side has no rows.
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
    ends = sums_interval(
        per_user,
        finish,
        _between(bounds, bounds),
        row_counts=np.bincount(codes),
        resamples=resamples,
        seed=seed,
        level=level,
    )
    return Estimate(value, ends.low, ends.high, rows.size, note=ends.note)


class RatedCases(NamedTuple):
    """One run's values with the truth and the user of each row."""

    value: npt.ArrayLike
    truth: npt.ArrayLike
    users: Ids


def agreement_change(
    later: RatedCases,
    earlier: RatedCases,
    labels: npt.ArrayLike | None,
    stat: str,
    *,
    mirrored: bool = False,
    level: float = LEVEL,
) -> Change:
    """stat(later, truth) - stat(earlier, truth), on rows where value and truth are known; the two runs may have
    different rows. Each user is left out of both figures at once, so that sampling variation common to both runs
    cancels. `labels`: the label set, None for values without one. `mirrored`: as in `agreement_estimates`. Undefined,
    with the reason, if either figure is. Raises KeyError for an unknown statistic, ValueError for unpaired input.
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
    ends = _interval(both, users, count, stat, mirrored, level)
    return Change(now, before, Estimate(now - before, ends.low, ends.high, n, note=ends.note))


def mean_change(
    new: npt.ArrayLike,
    old: npt.ArrayLike,
    users: Ids,
    bounds: Bounds | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> Change:
    """mean(new) - mean(old) on rows where both have a value: the mean of the differences.

    `bounds`: the lowest and the highest value of a row. Undefined without such rows. Raises ValueError for unpaired input.
    """
    a, b, kept = complete(new, old)
    if a.size == 0:
        return Change(None, None, undefined("no case that both runs were asked about"))
    change = mean_estimate(a - b, rows_of(users, kept), _between(bounds, bounds), level=level)
    return Change(float(a.mean()), float(b.mean()), change)


def _interval(
    both: list[tuple[Cells, IntArray]],
    users: tuple[IntArray, IntArray],
    count: int,
    stat: str,
    mirrored: bool,
    level: float,
) -> Interval:
    """By the jackknife over users on the logit scale between the ends of the figure's own range."""
    if count < FEWEST_USERS:
        return Interval(None, None, FEW_USERS)
    if stat == "kendall" and max(cells.a.size for cells, _ in both) > KENDALL_CELLS:
        return Interval(None, None, KENDALL_SLOW)
    width = max(cells.a.size for cells, _ in both)
    groups, left_out = user_groups(np.concatenate(users), count, width, RESAMPLES, 0)
    sides = groups[: users[0].size], groups[users[0].size :]
    statistic = cell_function(stat, mirrored=mirrored)
    figures = [
        np.concatenate([statistic(weights, cells) for weights in left_out_weights(cells.a.size, of_row, of_side, left_out)])
        for (cells, of_row), of_side in zip(both, sides, strict=True)
    ]
    change = figures[0] - figures[1]
    limits = STATISTICS[stat].limits
    ends = jackknife_interval(float(change[0]), change[1:], Scale.between(_between(limits, limits)), level)
    return replace(ends, note=join_notes(ends.note, fewer_groups(count, left_out)))


def _between(later: Bounds | None, earlier: Bounds | None) -> Bounds | None:
    """The lowest and the highest difference of two figures."""
    if later is None or earlier is None:
        return None
    return later[0] - earlier[1], later[1] - earlier[0]
