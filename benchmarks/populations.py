"""Samples from known populations for the measurements of intervals and claims."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from recjudge_tui.stats.arrays import FloatArray, IntArray

Rng = np.random.Generator


def shares_drawn(rng: Rng, users: int, rows: int, share: float, alike: float) -> FloatArray:
    """Rows of 0 and 1 with an intraclass correlation of `alike`."""
    if not alike:
        return (rng.random(users * rows) < share).astype(np.float64)
    own = shares_of_users(rng, users, share, alike)
    return (rng.random(users * rows) < np.repeat(own, rows)).astype(np.float64)


def shares_of_users(rng: Rng, users: int, share: float, alike: float) -> FloatArray:
    """Each user's own share of rows that are 1, with an intraclass correlation of `alike`; 1: a user's rows are equal."""
    if alike == 1:
        return (rng.random(users) < share).astype(np.float64)
    return rng.beta(share * (1 / alike - 1), (1 - share) * (1 / alike - 1), users)


def uneven_rows(users: int, few: int, rows: int) -> IntArray:
    """Numbers of rows of users of whom a few have `rows` and the others one."""
    return np.where(np.arange(users) < few, rows, 1)


def log_normal_rows(rng: Rng, users: int) -> IntArray:
    """Numbers of rows with a median of 4 and a standard deviation of 1 of their logarithms."""
    return np.maximum(1, np.rint(rng.lognormal(math.log(4), 1, users))).astype(np.int64)


def battles_drawn(
    rng: Rng, strength: FloatArray, tie: float, users: int, rows: int, alike: float
) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    """(first, second, outcome, user): every user compares all pairs of systems `rows` times; tastes differ by `alike`."""
    pairs = np.tile(np.array(list(combinations(range(strength.size), 2))), (users * rows, 1))
    owner = np.repeat(np.arange(users), rows * strength.size * (strength.size - 1) // 2)
    taste = rng.normal(0, alike, (users, strength.size)) if alike else np.zeros((users, strength.size))
    a, b = pairs.T
    gap = strength[a] - strength[b] + taste[owner, a] - taste[owner, b]
    odds = np.stack([np.exp(gap / 2), np.full(gap.size, tie), np.exp(-gap / 2)], axis=1)
    reached = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    outcome = 1 - (rng.random(gap.size)[:, None] > reached[:, :2]).sum(axis=1)
    order = rng.permutation(gap.size)
    return a[order], b[order], outcome[order].astype(np.float64), owner[order]


def sparse_hits(rng: Rng, users: int, some: float) -> FloatArray:
    """Like nDCG: zero for most users."""
    return rng.beta(1.5, 2, users) * (rng.random(users) < some)
