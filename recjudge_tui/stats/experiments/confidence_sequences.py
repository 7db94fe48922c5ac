"""Confidence sequences: intervals for the mean of bounded values that hold at every look, by betting."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.defaults import LEVEL

CELLS = 1000
_GRID: FloatArray = np.arange(1, CELLS) / CELLS
# a bet risks at most this share of the wealth, so no bettor goes bankrupt
_MAX_STAKE = 0.5
_CHUNK = 1024


def _no_winnings() -> FloatArray:
    return np.zeros(_GRID.size)


@dataclass(frozen=True)
class ConfidenceSequence:
    """The state after `n` values with sum `total`: the interval low < mean < high, and the bets behind it.

    `up` and `down` are the log winnings of betting that the mean lies above, and below, each candidate on the
    grid; candidates outside the interval are no longer updated. `spread` is the sum of squared distances from the
    running means. `closed`: every candidate has been rejected, because the values have no common mean or by chance
    (probability 1 - level); the interval then stays at the last non-empty one. An end other than 0 or 1
    is itself rejected. Raises ValueError for a level outside 0..1.
    """

    level: float = LEVEL
    n: int = 0
    total: float = 0.0
    spread: float = 0.0
    low: float = 0.0
    high: float = 1.0
    closed: bool = False
    up: FloatArray = field(default_factory=_no_winnings)
    down: FloatArray = field(default_factory=_no_winnings)

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ValueError(f"a confidence level lies between 0 and 1, not at {self.level}")

    @property
    def mean(self) -> float | None:
        """The mean so far; None before the first value."""
        return self.total / self.n if self.n else None


def advance(
    sequence: ConfidenceSequence, values: npt.ArrayLike
) -> tuple[ConfidenceSequence, FloatArray, FloatArray]:
    """The sequence after further `values` (n,), each in 0..1, and the lower and upper end after each value (n,).

    With probability `level` the mean lies inside ALL of the intervals, no matter how many values follow and when one
    stops looking. This is the hedged betting confidence sequence of Waudby-Smith and Ramdas (Estimating means of
    bounded random variables by betting, JRSS B 2024), with their predictable plug-in stakes, half of the capital on
    each side, and the running intersection. For a candidate mean m two bettors start with 1/2 each and

        K+_t(m) = 1/2 prod (1 + min(s_i, c/m) (x_i - m))        K-_t(m) = 1/2 prod (1 - min(s_i, c/(1-m)) (x_i - m))
        s_i^2 = 2 log(2/alpha) / (v_{i-1} i log(i + 1))          alpha = 1 - level, c = 1/2

    where v is the variance so far, starting at 1/4. If m is the mean, either bettor grows by luck only: the
    probability that one of them ever reaches 1/alpha is at most alpha (Ville's inequality). K+ falls and K- rises
    in m, so the candidates that remain form an interval; its ends are rounded outwards to thousandths.

    Assumes that each value has the same mean given those before it: independent draws from one population, or units
    in random order from a much larger one (for a finite population the interval is wider than necessary). Several
    rows of one user are not such draws: give one value per user. Calls with consecutive pieces of the values give
    the same result as one call. Without values there are no ends. Raises ValueError for values that are missing or
    outside 0..1, and for an array that is not one-dimensional.
    """
    array = _checked(values)
    parts = [array[start : start + _CHUNK] for start in range(0, array.size, _CHUNK)]
    lows, highs = [np.zeros(0)], [np.zeros(0)]
    for part in parts:
        sequence, low, high = _advance_chunk(sequence, part)
        lows.append(low)
        highs.append(high)
    return sequence, np.concatenate(lows), np.concatenate(highs)


def _advance_chunk(
    before: ConfidenceSequence, x: FloatArray
) -> tuple[ConfidenceSequence, FloatArray, FloatArray]:
    stakes, total, spread = _stakes(x, before)
    after = replace(before, n=before.n + x.size, total=total, spread=spread)
    live = slice(np.searchsorted(_GRID, before.low, "right"), np.searchsorted(_GRID, before.high, "left"))
    grid = _GRID[live]
    if before.closed or not grid.size:
        return after, np.full(x.size, before.low), np.full(x.size, before.high)
    stake, distance = stakes[:, None], x[:, None] - grid
    up_stake, down_stake = np.minimum(stake, _MAX_STAKE / grid), np.minimum(stake, _MAX_STAKE / (1 - grid))
    up = before.up[live] + np.log1p(up_stake * distance).cumsum(axis=0)
    down = before.down[live] + np.log1p(-down_stake * distance).cumsum(axis=0)
    rejection = math.log(2 / (1 - before.level))
    below, above = (up >= rejection).sum(axis=1), (down >= rejection).sum(axis=1)
    ends = np.concatenate(([before.low], grid, [before.high]))
    low = np.maximum.accumulate(ends[below])
    high = np.minimum.accumulate(ends[grid.size + 1 - above])
    closed = _hold_last_interval(low, high, before)
    all_up, all_down = before.up.copy(), before.down.copy()
    all_up[live], all_down[live] = up[-1], down[-1]
    after = replace(after, low=float(low[-1]), high=float(high[-1]), closed=closed, up=all_up, down=all_down)
    return after, low, high


def _hold_last_interval(low: FloatArray, high: FloatArray, before: ConfidenceSequence) -> bool:
    """Once the ends meet, overwrite them with the last non-empty interval. Returns whether they met."""
    met = np.flatnonzero(low >= high)
    if not met.size:
        return False
    at = int(met[0])
    low[at:], high[at:] = (low[at - 1], high[at - 1]) if at else (before.low, before.high)
    return True


def _stakes(x: FloatArray, before: ConfidenceSequence) -> tuple[FloatArray, float, float]:
    """The stake on each value (n,), which depends on the values before it; sum and spread after the last value."""
    time = before.n + np.arange(1, x.size + 1)
    total = before.total + x.cumsum()
    means = (0.5 + total) / (time + 1)
    spread = before.spread + ((x - means) ** 2).cumsum()
    variance = np.concatenate([[(0.25 + before.spread) / (before.n + 1)], (0.25 + spread[:-1]) / time[1:]])
    stakes = np.sqrt(2 * math.log(2 / (1 - before.level)) / (variance * time * np.log(time + 1.0)))
    return stakes, float(total[-1]), float(spread[-1])


def _checked(values: npt.ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"expected one value a unit, got an array of {array.ndim} dimensions")
    if not ((array >= 0) & (array <= 1)).all():
        raise ValueError("the values must lie between 0 and 1, and none may be missing")
    return array
