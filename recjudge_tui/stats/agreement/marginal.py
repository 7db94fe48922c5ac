"""Tests on square tables of cases judged twice: is each label equally frequent, and are changes symmetric?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import BoolArray, FloatArray

NOTHING_CHANGED = "no case changed, so there is nothing to test"


@dataclass(frozen=True)
class ChiSquared:
    """A statistic, its degrees of freedom and its p value; all None, with the reason in `note`, if undefined.

    `changed` counts the cases off the diagonal, on which the test rests.
    """

    statistic: float | None
    df: int | None
    p: float | None
    changed: int
    note: str = ""


def stuart_maxwell(table: npt.ArrayLike) -> ChiSquared:
    """Stuart and Maxwell's test of marginal homogeneity.

    `table` (k, k) counts the cases with label i from one rater and label j from the other. With d the differences
    of the margins, d_i = n_i. - n_.i, and S their covariance if the margins are equal, S_ii = n_i. + n_.i - 2 n_ii and
    S_ij = -(n_ij + n_ji), the statistic is d' S^-1 d with one label left out, compared with chi-squared.

    S is singular if some labels never change into each other, not even through other labels. The labels then form
    several connected groups; each group is tested by itself with one label left out, and the statistics are added. So
    df is the number of labels that occur in a change, minus the number of groups: k - 1 if all labels are connected; a
    label with n_i. = n_.i = n_ii drops out. With two labels it is McNemar's test without continuity
    correction, (b - c)² / (b + c).
    Asymptotic. Undefined if nothing changed. Raises ValueError for a table that is not square or holds no counts.
    Source: Stuart 1955, Biometrika 42:412; Maxwell 1970, British Journal of Psychiatry 116:651.
    """
    counts = _square(table)
    changed = counts - np.diag(np.diag(counts))
    total = round(float(changed.sum()))
    if total == 0:
        return ChiSquared(None, None, None, 0, NOTHING_CHANGED)
    either = changed + changed.T
    covariance = np.diag(either.sum(axis=1)) - either
    difference = changed.sum(axis=1) - changed.sum(axis=0)
    statistic, df = 0.0, 0
    for group in _groups(either > 0):
        kept = group[1:]
        if kept:
            d = difference[kept]
            statistic += float(d @ np.linalg.solve(covariance[np.ix_(kept, kept)], d))
            df += len(kept)
    return _tested(statistic, df, total)


def bowker(table: npt.ArrayLike) -> ChiSquared:
    """Bowker's test of symmetry: is every change as frequent as the change back?

    Sum over i < j of (n_ij - n_ji)² / (n_ij + n_ji), df the number of pairs of labels between which any case changed.
    Margins may be equal although the table is not symmetric; with two labels it is McNemar's test without continuity
    correction. Asymptotic. Undefined if nothing changed. Raises ValueError as `stuart_maxwell` does.
    Source: Bowker 1948, Journal of the American Statistical Association 43:572.
    """
    counts = _square(table)
    above = np.triu_indices(counts.shape[0], 1)
    there, back = counts[above], counts.T[above]
    met = there + back > 0
    if not met.any():
        return ChiSquared(None, None, None, 0, NOTHING_CHANGED)
    there, back = there[met], back[met]
    statistic = float(((there - back) ** 2 / (there + back)).sum())
    return _tested(statistic, int(met.sum()), round(float((there + back).sum())))


def _tested(statistic: float, df: int, changed: int) -> ChiSquared:
    from scipy.special import chdtrc

    # with equal margins, rounding may make the quadratic form slightly negative
    positive = max(statistic, 0.0)
    return ChiSquared(positive, df, float(chdtrc(df, positive)), changed)


def _square(table: npt.ArrayLike) -> FloatArray:
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
        raise ValueError(f"a table of shape {counts.shape} is not square")
    if not np.isfinite(counts).all() or (counts < 0).any() or (counts != np.rint(counts)).any():
        raise ValueError("a table of changes holds counts")
    return counts


def _groups(linked: BoolArray) -> list[list[int]]:
    """The connected groups of labels, each in ascending order."""
    unseen = set(range(linked.shape[0]))
    groups: list[list[int]] = []
    while unseen:
        waiting, group = [min(unseen)], []
        unseen.discard(waiting[0])
        while waiting:
            at = waiting.pop()
            group.append(at)
            near = [int(other) for other in np.flatnonzero(linked[at]) if int(other) in unseen]
            unseen.difference_update(near)
            waiting += near
        groups.append(sorted(group))
    return groups
