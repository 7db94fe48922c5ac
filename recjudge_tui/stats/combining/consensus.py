"""Joint values of several raters, by a rule. Arrays are (raters, n), NaN where a rater gave no value.

`quorum` is how many must have rated an item; below it the item has no consensus (NaN).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import BoolArray, FloatArray
from recjudge_tui.stats.combining.dawid_skene import dawid_skene

Rule = Literal["strict", "conservative", "majority", "mean", "median", "dawid-skene"]
RULES: tuple[Rule, ...] = get_args(Rule)


class Joint(NamedTuple):
    """Values (n,), NaN where the rule gives none; the rule's confidence in each (n,) and its estimate of each rater's
    accuracy (raters,), if it has them."""

    values: FloatArray
    confidence: FloatArray | None = None
    accuracy: FloatArray | None = None


def joint(
    rule: Rule, ratings: npt.ArrayLike, quorum: int = 2, *, of_pairs: bool = False, between: bool = True
) -> Joint:
    """The joint values by a rule. `of_pairs`: the values are signed preferences between two systems, of which neither is
    the first. `between`: values between the labels are allowed."""
    table, enough = _table(ratings, quorum)
    if rule == "dawid-skene":
        fitted = dawid_skene(np.where(enough, table, np.nan), mirrored=of_pairs)
        return Joint(fitted.values(), fitted.confidence(), fitted.accuracy())
    if rule == "median":
        return Joint(median(table, quorum, between=between, of_pairs=of_pairs))
    return Joint(_SIMPLE[rule](table, quorum))


def strict(ratings: npt.ArrayLike, quorum: int = 2) -> FloatArray:
    """The harsher label: the minimum over the raters (SAER, pointwise)."""
    table, enough = _table(ratings, quorum)
    lowest: FloatArray = np.where(np.isnan(table), np.inf, table).min(axis=0, initial=np.inf)
    return np.where(enough, lowest, np.nan)


def conservative(ratings: npt.ArrayLike, quorum: int = 2) -> FloatArray:
    """The common value of signed preferences, 0 (a tie) on any disagreement (SAER, pairwise)."""
    table, enough = _table(ratings, quorum)
    lowest = np.where(np.isnan(table), np.inf, table).min(axis=0, initial=np.inf)
    highest = np.where(np.isnan(table), -np.inf, table).max(axis=0, initial=-np.inf)
    return np.where(enough, np.where(lowest == highest, lowest, 0.0), np.nan)


def majority(ratings: npt.ArrayLike, quorum: int = 2) -> FloatArray:
    """The value given by more than half of the raters who rated the item; NaN on a split vote."""
    table, enough = _table(ratings, quorum)
    votes = (~np.isnan(table)).sum(axis=0)
    out = np.full(table.shape[1], np.nan)
    for row in table:
        won = enough & ((table == row).sum(axis=0) * 2 > votes)
        out[won] = row[won]
    return out


def median(
    ratings: npt.ArrayLike, quorum: int = 2, *, between: bool = True, of_pairs: bool = False
) -> FloatArray:
    """The median over the raters who rated the item; of an even number, the mean of the two in the middle.

    Unless `between`, a mean that is no whole number, which lies between two labels, gives way to the harsher of the two; of
    signed preferences to the one nearer to a tie.
    """
    table, enough = _table(ratings, quorum)
    ordered = np.sort(table, axis=0)
    votes = (~np.isnan(table)).sum(axis=0)
    columns = np.arange(table.shape[1])
    middle = [np.maximum(half, 0) for half in ((votes - 1) // 2, votes // 2)]
    # NaN sorts last; an item that all raters rated has its upper middle inside the table
    low, high = (ordered[np.minimum(at, max(0, table.shape[0] - 1)), columns] for at in middle)
    values: FloatArray = (low + high) / 2
    if not between:
        harsher = np.where(np.abs(low) <= np.abs(high), low, high) if of_pairs else low
        values = np.where(values == np.rint(values), values, harsher)
    return np.where(enough, values, np.nan)


def mean(ratings: npt.ArrayLike, quorum: int = 2) -> FloatArray:
    """The mean over the raters who rated the item."""
    table, enough = _table(ratings, quorum)
    votes = (~np.isnan(table)).sum(axis=0)
    means: FloatArray = np.nansum(table, axis=0) / np.maximum(votes, 1)
    return np.where(enough, means, np.nan)


def _table(ratings: npt.ArrayLike, quorum: int) -> tuple[FloatArray, BoolArray]:
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError("ratings must be an array of (raters, items)")
    if quorum < 1:
        raise ValueError("a quorum is at least one rater")
    enough: BoolArray = (~np.isnan(table)).sum(axis=0) >= quorum
    return table, enough


_SIMPLE: Mapping[Rule, Callable[[FloatArray, int], FloatArray]] = {
    "strict": strict, "conservative": conservative, "majority": majority, "mean": mean,
}  # fmt: skip
