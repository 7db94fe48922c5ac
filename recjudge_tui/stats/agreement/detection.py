"""Agreement of two raters on which things to mark: precision, recall and F1 against a reference, and Cohen's kappa."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.agreement.intervals import agreement_estimates
from recjudge_tui.stats.arrays import BoolArray, Ids, rows_of
from recjudge_tui.stats.defaults import LEVEL, RESAMPLES
from recjudge_tui.stats.estimate import Estimate, undefined
from recjudge_tui.stats.intervals import share_estimate


def detection_estimates(
    marked: npt.ArrayLike,
    reference: npt.ArrayLike,
    users: Ids,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> dict[str, Estimate]:
    """`precision`, `recall`, `f1` and `kappa` of the marks of one rater against those of a reference, one row per
    thing (n,).

    precision = both / marked, recall = both / reference, F1 = 2 both / (marked + reference) (van Rijsbergen 1979); the
    n of each counts the rows that it divides by, for F1 those that either of them marked, for kappa all. F1 rises with
    J = both / either, as 2 J / (1 + J), so its interval is that of the share J. Undefined with the reason where a
    denominator is 0. Raises ValueError for values other than 0 and 1, or rows that are not paired.
    """
    a, b = (np.asarray(values, dtype=np.float64) for values in (marked, reference))
    if a.shape != b.shape:
        raise ValueError(f"the two raters have {a.size} and {b.size} rows; they must be paired")
    if not (np.isin(a, (0.0, 1.0)).all() and np.isin(b, (0.0, 1.0)).all()):
        raise ValueError("a mark is 0 or 1")
    by_a, by_b = a == 1, b == 1
    either = by_a | by_b
    kappa = agreement_estimates(
        a, b, users, (0.0, 1.0), ("kappa",), resamples=resamples, seed=seed, level=level
    )["kappa"]
    if a.size and (not either.any() or (by_a & by_b).all()):
        kappa = undefined(
            f"both marked {'everything' if either.any() else 'nothing'}, so no disagreement is expected by chance",
            kappa.n,
        )
    overlap = overlap_estimates(by_a, by_b, users, resamples=resamples, seed=seed, level=level)
    return overlap | {"kappa": kappa}


def overlap_estimates(
    by_a: BoolArray, by_b: BoolArray, users: Ids, *, resamples: int, seed: int, level: float
) -> dict[str, Estimate]:
    """The precision, recall and F1 of `detection_estimates`, from masks (n,) of the rows that each rater marked."""
    either = by_a | by_b
    draws = {"resamples": resamples, "seed": seed}
    precision = share_estimate(by_b[by_a], rows_of(users, by_a), **draws, level=level)
    recall = share_estimate(by_a[by_b], rows_of(users, by_b), **draws, level=level)
    jaccard = share_estimate((by_a & by_b)[either], rows_of(users, either), **draws, level=level)
    return {
        "precision": precision if by_a.any() else undefined("the first rater marked nothing"),
        "recall": recall if by_b.any() else undefined("the reference marked nothing"),
        "f1": _dice(jaccard) if either.any() else undefined("neither rater marked anything"),
    }


def _dice(jaccard: Estimate) -> Estimate:
    value, low, high = (
        None if share is None else 2 * share / (1 + share)
        for share in (jaccard.value, jaccard.ci_low, jaccard.ci_high)
    )
    return replace(jaccard, value=value, ci_low=low, ci_high=high)
