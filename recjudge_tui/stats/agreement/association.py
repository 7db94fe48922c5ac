"""Correlation of two figures over the same few systems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.agreement.correlation import pearson
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.defaults import LEVEL
from recjudge_tui.stats.ranking import ranks
from recjudge_tui.stats.resampling.intervals import student_interval
from recjudge_tui.stats.resampling.jackknife import spread_of

FEWEST = 3
_PERFECT = 1 - 1e-9
_ROUNDING = 1e-9
# up to this many systems all orders are counted, above it some are drawn
_ENUMERATED = 8
_DRAWN = 9999
Figures = Sequence[float | None]


@dataclass(frozen=True)
class Association:
    """Pearson's r over `n` systems with its two-sided permutation p, or None with the reason in `note`. `p_normal`:
    Student's p, as papers print it."""

    value: float | None
    p: float | None
    p_normal: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    note: str = ""


def association(a: Figures, b: Figures, level: float = LEVEL) -> Association:
    """Pearson's r of two figures over the systems that have both.

    p is that of a permutation test (Pitman 1937): the share of all ways to assign the second figure to the systems in which
    r is at least as far from 0; with more than 8 systems, 9,999 random assignments and the observed one stand for all.
    Student's t with n - 2 degrees of freedom (`p_normal`) assumes normal figures: it finds a relation between unrelated
    skewed figures such as Q in 10 % of samples instead of 5 %. The interval, from four systems on and where |r| < 1, is on
    the scale of Fisher's z: the wider of Fisher's own, which assumes that both figures are normal, and Student's t with the
    jackknife's variance over systems, which does not. Fisher's interval alone contains the true value of skewed figures in
    only 67 to 92 % of samples. Undefined with fewer than three systems, or if one figure is the same for all. Raises
    ValueError unless both sides have one figure per system.
    """
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    n = len(pairs)
    if n < FEWEST:
        have = "1 system has" if n == 1 else f"{n} systems have"
        return Association(None, None, None, None, None, n, f"{have} both figures: three are needed")
    r = pearson(*zip(*pairs, strict=True))
    if r is None:
        return Association(
            None, None, None, None, None, n, "one of the two figures is the same for all systems"
        )
    from scipy.special import stdtr

    freedom = n - 2
    slack = 1 - r * r
    p_normal = 0.0 if slack <= 0 else float(2 * stdtr(freedom, -abs(r) * math.sqrt(freedom / slack)))
    low, high = _ends(np.array(pairs), r, level)
    return Association(r, _permutation_p(np.array(sorted(pairs))), p_normal, low, high, n)


def _permutation_p(pairs: FloatArray) -> float:
    """The p of `association` for rows (systems, 2) in an order that depends on their values alone."""
    first, second = (pairs - pairs.mean(axis=0)).T
    sums = np.abs(second[_assignments(len(pairs))] @ first)
    # the same sum in another order differs in its last digits
    seen = abs(float(first @ second)) - _ROUNDING * float(np.linalg.norm(first) * np.linalg.norm(second))
    return float((sums >= seen).mean())


@lru_cache(maxsize=4)
def _assignments(n: int) -> npt.NDArray[np.int32]:
    """All orders of n systems, or the given one and random ones (orders, n)."""
    if n <= _ENUMERATED:
        return np.array(list(permutations(range(n))), dtype=np.int32)
    given = np.arange(n, dtype=np.int32)
    drawn = np.random.default_rng(0).permuted(np.tile(given, (_DRAWN, 1)), axis=1)
    return np.concatenate([given[None, :], drawn])


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
