"""Correlation of two figures over the same few systems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from recjudge_tui.stats.agreement.correlation import pearson
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.defaults import LEVEL
from recjudge_tui.stats.ranking.win_rates import ranks
from recjudge_tui.stats.resampling.intervals import student_interval
from recjudge_tui.stats.resampling.jackknife import spread_of

FEWEST = 3
_PERFECT = 1 - 1e-9
Figures = Sequence[float | None]


@dataclass(frozen=True)
class Association:
    """Pearson's r over `n` systems with its two-sided p, or None with the reason in `note`."""

    value: float | None
    p: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    note: str = ""


def association(a: Figures, b: Figures, level: float = LEVEL) -> Association:
    """Pearson's r of two figures over the systems that have both.

    p from Student's t with n - 2 degrees of freedom. The interval, from four systems on and where |r| < 1, is on the
    scale of Fisher's z: the wider of Fisher's own, which assumes that both figures are normal, and Student's t with the
    jackknife's variance over systems, which does not. Q and metrics are often skewed; Fisher's interval alone then
    contains the true value in only 67 to 92 % of samples. Undefined with fewer than three systems, or if one figure
    is the same for all. Raises ValueError unless both sides have one figure per system.
    """
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    n = len(pairs)
    if n < FEWEST:
        have = "1 system has" if n == 1 else f"{n} systems have"
        return Association(None, None, None, None, n, f"{have} both figures: three are needed")
    r = pearson(*zip(*pairs, strict=True))
    if r is None:
        return Association(None, None, None, None, n, "one of the two figures is the same for all systems")
    from scipy.special import stdtr

    freedom = n - 2
    slack = 1 - r * r
    p = 0.0 if slack <= 0 else float(2 * stdtr(freedom, -abs(r) * math.sqrt(freedom / slack)))
    low, high = _ends(np.array(pairs), r, level)
    return Association(r, p, low, high, n)


def _ends(pairs: FloatArray, r: float, level: float) -> tuple[float | None, float | None]:
    n = len(pairs)
    left_out = [pearson(*np.delete(pairs, at, axis=0).T) for at in range(n)] if n > 3 else []
    # without one system, the others lie on a line, or a figure is the same for all of them
    if n < 4 or any(part is None or abs(part) >= _PERFECT for part in (r, *left_out)):
        return None, None
    z = math.atanh(r)
    moved = student_interval(z, spread_of(z, np.arctanh(np.array(left_out, dtype=np.float64))), level, 4)
    half = NormalDist().inv_cdf(0.5 + level / 2) / math.sqrt(n - 3)
    low, high = z - half, z + half
    if moved.low is not None and moved.high is not None:
        low, high = min(low, moved.low), max(high, moved.high)
    return math.tanh(low), math.tanh(high)


def orders_agree(a: Figures, b: Figures) -> bool | None:
    """Whether both figures rank the systems that have both in the same order; equal figures share a rank.

    None with fewer than two systems.
    """
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    if len(pairs) < 2:
        return None
    left, right = zip(*pairs, strict=True)
    return ranks(left) == ranks(right)


def min_max(values: Figures) -> list[float | None]:
    """Each figure rescaled so that the lowest is 0 and the highest 1.

    None stays None; all are None if fewer than three are known or all known ones are equal.
    """
    known = np.array([value for value in values if value is not None])
    if known.size < FEWEST or known.min() == known.max():
        return [None] * len(values)
    low, width = float(known.min()), float(known.max() - known.min())
    return [None if value is None else (value - low) / width for value in values]
