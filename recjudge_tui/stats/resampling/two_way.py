"""Intervals for verdicts that share users and raters, with both as clusters."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import Ids, as_floats, encode, rows_of
from recjudge_tui.stats.defaults import LEVEL, RESAMPLES
from recjudge_tui.stats.estimate import Estimate, Interval, undefined
from recjudge_tui.stats.resampling.intervals import NOT_REQUESTED, Bounds, check_bounds, interval_of
from recjudge_tui.stats.resampling.jackknife import Spread, mean_spread

FEWEST_RATERS = 5
UNEVEN_RATERS = "no interval: a few raters gave far more verdicts than the others"
FEW_RATERS = f"no interval: a crowd needs at least {FEWEST_RATERS} raters"


def two_way(users: Spread, raters: Spread, cells: Spread) -> Spread:
    """The spread of a figure over users and over raters at once.

    The variance is the one over users plus the one over raters minus the one over cells (one rater on one user),
    which the first two both include (Cameron, Gelbach and Miller 2011, J. Bus. Econ. Stat. 29:238). It is at least
    the larger of the first two, because the difference may be smaller. Its degrees of freedom are Satterthwaite's of
    the two. The number of units is that of the scarcer kind. Raters with very different numbers of verdicts are treated as
    users with very different numbers of rows are (`jackknife.spreads`). benchmarks/coverage.py measures how often the
    interval contains the true value.
    """
    few = min(users.users, raters.users)
    missing = max(users.undefined, raters.undefined)
    if missing or math.isnan(users.variance + raters.variance):
        return Spread(few, math.nan, math.nan, math.nan, undefined=missing)
    variance = max(users.variance, raters.variance, users.variance + raters.variance - cells.variance)
    larger = users if users.variance >= raters.variance else raters
    summed = users.variance**2 / users.freedom + raters.variance**2 / raters.freedom
    freedom = (users.variance + raters.variance) ** 2 / summed if summed else larger.freedom
    freedom = min(freedom, max(users.freedom, raters.freedom))
    uneven = users.uneven or (UNEVEN_RATERS if raters.uneven else "")
    return Spread(few, variance, freedom, larger.skewness, min(users.apart, raters.apart), uneven=uneven)


def enough_raters(raters: int, interval: Interval) -> Interval:
    """The interval; none, with the reason, for too few raters."""
    return interval if raters >= FEWEST_RATERS else Interval(None, None, FEW_RATERS)


def crowd_mean_estimate(
    values: npt.ArrayLike,
    users: Ids,
    raters: Ids,
    bounds: Bounds | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> Estimate:
    """Mean over rows with its interval, users and raters taken as clusters; arguments as `mean_estimate`. NaN rows are left
    out. Raises ValueError for a value outside the bounds."""
    array = as_floats(values)
    kept = ~np.isnan(array)
    rows = array[kept]
    if rows.size == 0:
        return undefined("no values")
    check_bounds(rows, bounds)
    (of_users, n_users), (of_raters, n_raters) = (encode(rows_of(ids, kept)) for ids in (users, raters))
    of_cells, n_cells = encode(of_users * n_raters + of_raters)
    value = float(rows.mean())
    if not resamples:
        return Estimate(value, None, None, rows.size, note=NOT_REQUESTED)
    over = [
        mean_spread(rows, codes, count, resamples, seed)
        if count > 1
        else Spread(count, math.nan, math.nan, math.nan)
        for codes, count in ((of_users, n_users), (of_raters, n_raters), (of_cells, n_cells))
    ]
    interval = enough_raters(n_raters, interval_of(value, two_way(*over), bounds, level))
    return Estimate(value, interval.low, interval.high, rows.size, note=interval.note)
