"""How similar the rows of a user are, and the variance that follows where users have unequal numbers of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recjudge_tui.stats.arrays import FloatArray, IntArray


def row_squares(
    whole: float, without: FloatArray, of_row: IntArray, codes: IntArray, users: int
) -> FloatArray:
    """Each user's sum of the squared influences of their rows (users,).

    `without` (kinds,): the figure without one row of each kind; `of_row` (n,) are the rows' kinds, `codes` (n,) their
    users. The influence of a row is (n - 1) (whole - without), of which the figure is about the mean. NaN for a user with a
    row without which the figure is undefined.
    """
    influence = (of_row.size - 1) * (whole - without)
    return _sums((influence**2)[of_row], codes, users)


def mean_squares(rows: FloatArray, codes: IntArray, users: int) -> FloatArray:
    """`row_squares` of the mean: each user's sum of squared distances of their rows from it (users,)."""
    return _sums((rows - rows.mean()) ** 2, codes, users) if rows.size else np.zeros(users)


def _sums(values: FloatArray, codes: IntArray, count: int) -> FloatArray:
    return np.bincount(codes, weights=values, minlength=count).astype(np.float64)


class Design(NamedTuple):
    """The variance of each figure by the design effect, and the number of independent rows that its rows are worth. NaN
    where undefined or where all users have equally many rows."""

    variance: FloatArray
    worth: FloatArray


def design(
    totals: FloatArray, rows: FloatArray | IntArray, squares: FloatArray, groups: IntArray, count: int
) -> Design:
    """How uncertain several figures are by the similarity of their users' rows, from the users' sums of the influences of
    their rows (`totals`), their numbers of rows and their sums of squared influences (n,) on the figures `groups` (n,).

    With M rows, m of a user and ρ the intraclass correlation by analysis of variance (Donner 1986, Int. Stat. Rev. 54:67),
    the design effect is D = 1 + (Σ m² / M - 1) ρ (Kish 1987, Statistical Design for Research) and the rows are worth (M
    - D) / D independent ones. The mean square s² of a row's influence weights a user by e = m / (1 + (m - 1) ρ), so
    that many rows that are alike count as one. Since the influences are distances from a mean of M rows, s² is too
    small by 1 - 2 / Σ e + D / M, and the variance is s² D / M divided by that.

    With equal numbers of rows this would be the jackknife's. Where few users have most rows and these happen to be alike,
    the jackknife's is too small: it knows how these few differ, while ρ also knows that the rows of a user are alike.
    """

    def total(values: FloatArray) -> FloatArray:
        return _sums(values, groups, count)

    here, rows = rows > 0, rows.astype(np.float64)
    users, size = total(here.astype(np.float64)), total(rows)
    most = np.zeros(count)
    np.maximum.at(most, groups, rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = totals - rows * (total(totals) / size)[groups]
        between = total(np.divide(apart**2, rows, out=np.zeros(rows.size), where=here))
        inside = np.maximum(total(squares) - between, 0)
        typical = total(rows * rows) / size
        among = between / (users - 1)
        within = np.where(size > users, inside / (size - users), 0)
        usual = (size - typical) / (users - 1)
        alike = (among - within) / (among + (usual - 1) * within)
        effect = 1 + (typical - 1) * alike
        each = 1 / (1 + (rows - 1) * np.clip(alike, 0, 1)[groups])
        enough = total(each * rows)
        square = total(each * squares) / enough
        variance = square * effect / (size * (1 - 2 / enough) + effect)
        even = most * users == size
        return Design(np.where(even, np.nan, variance), (size - effect) / effect)
