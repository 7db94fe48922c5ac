"""Outcomes of pairs of systems, counted by pair and by user.

An outcome is from the view of the first system of its row: 1 win, 0 tie, -1 loss, NaN failed (left out).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray, as_floats, encode, rows_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class PairCounts:
    """The outcomes of each pair of systems that met: `counts` (pairs, 3) are wins, ties and losses
    of the system `first`, which has the lower number; `systems` is the number of systems.

    Several sets of counts have a leading axis: (r, pairs, 3).
    """

    systems: int
    first: IntArray
    second: IntArray
    counts: FloatArray

    def tallies(self) -> FloatArray:
        """Wins, ties and losses (..., systems, 3) of each system against all others."""
        lead = self.counts.shape[:-2]
        out = np.zeros((*lead, self.systems, 3))
        own = incidence(self.systems, self.first), incidence(self.systems, self.second)
        for at in range(3):
            out[..., at] = self.counts[..., at] @ own[0] + self.counts[..., 2 - at] @ own[1]
        return out


def incidence(systems: int, members: IntArray) -> FloatArray:
    """(rows, systems): 1 in the column of the row's member, else 0."""
    out = np.zeros((members.size, systems))
    out[np.arange(members.size), members] = 1
    return out


def pair_counts(a: npt.ArrayLike, b: npt.ArrayLike, outcome: npt.ArrayLike, systems: int) -> PairCounts:
    """Wins, ties and losses of every pair that met, from one row per battle.

    `a` and `b` are numbers of systems, 0..systems-1. One pass: 1,000,000 rows take tens of milliseconds.
    Raises ValueError for a system against itself, a number out of range, or an outcome other than 1, 0, -1.
    """
    cell, _ = _cells(a, b, outcome, systems)
    grid = np.bincount(cell, minlength=systems * systems * 3).reshape(systems * systems, 3)
    met = np.flatnonzero(grid.any(axis=1))
    return PairCounts(systems, met // systems, met % systems, grid[met].astype(np.float64))


def _cells(
    a: npt.ArrayLike, b: npt.ArrayLike, outcome: npt.ArrayLike, systems: int
) -> tuple[IntArray, BoolArray]:
    """(lower * systems + higher) * 3 + (0 win, 1 tie, 2 loss of the lower) for each kept row, and the mask of kept rows."""
    left, right = np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64)
    value = as_floats(outcome)
    if not left.shape == right.shape == value.shape:
        raise ValueError(f"{left.size} and {right.size} systems for {value.size} outcomes")
    kept = ~np.isnan(value)
    if not kept.all():
        left, right, value = left[kept], right[kept], value[kept]
    if left.size == 0:
        return left, kept
    if (left == right).any():
        raise ValueError("a system cannot be compared with itself")
    if min(left.min(), right.min()) < 0 or max(left.max(), right.max()) >= systems:
        raise ValueError(f"a system's number lies between 0 and {systems - 1}")
    signed = value.astype(np.int64)
    if (signed != value).any() or (np.abs(signed) > 1).any():
        raise ValueError("an outcome is 1 (win), 0 (tie), -1 (loss) or missing")
    turned = np.where(left < right, 1 - signed, 1 + signed)
    return (np.minimum(left, right) * systems + np.maximum(left, right)) * 3 + turned, kept


@dataclass(frozen=True)
class UserCounts:
    """The same counts for each user, with equal rows stored once.

    `rows` (profiles, pairs * 3) is sparse, `users` (profiles,) is the number of users with each row. `crowd`: the same
    battles by rater, where several raters made them.
    """

    total: PairCounts
    rows: csr_matrix
    users: IntArray
    crowd: Crowd | None = None

    @property
    def count(self) -> int:
        """The number of users."""
        return int(self.users.sum())

    def users_of_pairs(self) -> FloatArray:
        """How many users met each pair (pairs,)."""
        met = np.diff(self.rows.indptr)
        owner = np.repeat(np.arange(self.rows.shape[0]), met)
        return self._distinct(owner, self.rows.indices.astype(np.int64) // 3, self.total.first.size)

    def users_of_systems(self) -> FloatArray:
        """How many users met each system (systems,)."""
        owner = np.repeat(np.arange(self.rows.shape[0]), np.diff(self.rows.indptr))
        pair = self.rows.indices.astype(np.int64) // 3
        return self._distinct(
            np.concatenate([owner, owner]),
            np.concatenate([self.total.first[pair], self.total.second[pair]]),
            self.total.systems,
        )

    def users_for_and_against(self) -> IntArray:
        """(pairs, 2): users with more wins than losses of the pair's first system, and with fewer."""
        net = self.rows[:, 0::3] - self.rows[:, 2::3]
        sides = [np.asarray((sign * net > 0).T @ self.users) for sign in (1, -1)]
        return np.stack(sides, axis=1).astype(np.int64)

    def _distinct(self, owner: IntArray, thing: IntArray, things: int) -> FloatArray:
        met = np.unique(owner * max(things, 1) + thing)
        weights = self.users[met // max(things, 1)]
        return np.bincount(met % max(things, 1), weights=weights, minlength=things).astype(np.float64)


@dataclass(frozen=True)
class Crowd:
    """The counts of the same battles for each rater, and for each cell of one rater and one user."""

    raters: UserCounts
    cells: UserCounts


def crowd_counts(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    outcome: npt.ArrayLike,
    users: IntArray,
    raters: IntArray,
    systems: int,
) -> UserCounts:
    """Counts by pair and user of battles that several raters made, from one row per battle; as `user_counts`."""
    cells = users * (int(raters.max(initial=0)) + 1) + raters
    of_raters, of_cells = (user_counts(a, b, outcome, codes, systems) for codes in (raters, cells))
    return replace(user_counts(a, b, outcome, users, systems), crowd=Crowd(of_raters, of_cells))


def user_counts(
    a: npt.ArrayLike, b: npt.ArrayLike, outcome: npt.ArrayLike, users: npt.ArrayLike, systems: int
) -> UserCounts:
    """Counts by pair and user from one row per battle; arguments and errors as for `pair_counts`."""
    from scipy.sparse import csr_matrix

    cell, kept = _cells(a, b, outcome, systems)
    total = pair_counts(a, b, outcome, systems)
    codes, count = encode(rows_of(users, kept))
    place = np.zeros(systems * systems, dtype=np.int64)
    place[total.first * systems + total.second] = np.arange(total.first.size)
    column = place[cell // 3] * 3 + cell % 3
    width = 3 * total.first.size
    table = csr_matrix((np.ones(column.size), (codes, column)), shape=(count, width))
    table.sum_duplicates()
    chosen, number = _equal_rows(table)
    return UserCounts(total, table[chosen], number)


def _equal_rows(table: csr_matrix) -> tuple[IntArray, IntArray]:
    """One row of each set of equal rows, and the size of the set.

    Rows are identified by a random 64-bit sum of their cells: two different rows collide with
    probability 2^-64.
    """
    # odd, so that multiplying a count by it is invertible modulo 2^64
    keys = np.random.default_rng(0).integers(0, 2**63, size=table.shape[1], dtype=np.uint64) * 2 + 1
    parts = table.data.astype(np.uint64) * keys[table.indices]
    totals = np.zeros(table.shape[0], dtype=np.uint64)
    np.add.at(totals, np.repeat(np.arange(table.shape[0]), np.diff(table.indptr)), parts)
    _, chosen, number = np.unique(totals, return_index=True, return_counts=True)
    return chosen.astype(np.int64), number.astype(np.int64)
