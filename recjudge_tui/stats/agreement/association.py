"""Correlation of two figures over the same few systems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from recjudge_tui.stats.agreement.correlation import pearson
from recjudge_tui.stats.ranking.win_rates import ranks
from recjudge_tui.stats.resampling.intervals import LEVEL

FEWEST = 3
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

    p from Student's t with n - 2 degrees of freedom, interval by Fisher's z (from four systems on, and
    where |r| < 1). Undefined with fewer than three systems, or if one figure is the same for all.
    Raises ValueError unless both sides have one figure per system.
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
    low, high = _fisher(r, n, level)
    return Association(r, p, low, high, n)


def _fisher(r: float, n: int, level: float) -> tuple[float | None, float | None]:
    if n < 4 or abs(r) >= 1:
        return None, None
    half = NormalDist().inv_cdf(0.5 + level / 2) / math.sqrt(n - 3)
    return math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)


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
