"""The labels of an ensemble of raters by Dawid and Skene's model, refused where the model contradicts the raters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from recjudge_tui.stats.arrays import BoolArray, FloatArray
from recjudge_tui.stats.combining.dawid_skene import Contradictions, DawidSkene, contradictions, dawid_skene

UNANIMOUS = "dawid-skene contradicts a unanimous vote"
# with a larger share of the unanimous items overturned, the model does not fit
_MOST_OVERTURNED = 0.05
_INSTEAD = "use --rule majority"


class EnsembleLabels(NamedTuple):
    """`values` (n,), NaN where two labels are equally likely and where a unanimous vote is `overturned`; `confidence`
    (n,); `accuracy` (raters,). `refused`: why the model cannot be used at all, empty if it can."""

    values: FloatArray
    confidence: FloatArray
    accuracy: FloatArray
    overturned: BoolArray
    refused: str


def ensemble_labels(votes: FloatArray, names: Sequence[str], *, of_pairs: bool) -> EnsembleLabels:
    """The joint labels of `votes` (raters, n), NaN where a rater has none; `names` are the raters'.

    `of_pairs`: the votes are signed preferences between two systems, neither of which is the first (see
    `dawid_skene`, `mirrored`). A unanimous vote that the model overturns gets no value. All are refused if that happens to
    more than 5 % of them, or if a rater is right less often than by chance: the model would count that rater's
    votes for a label against it.
    """
    fitted = dawid_skene(votes, mirrored=of_pairs)
    against = contradictions(fitted, votes)
    values = np.where(against.overturned, np.nan, fitted.values())
    return EnsembleLabels(
        values, fitted.confidence(), fitted.accuracy(), against.overturned, _refused(fitted, against, names)
    )


def _refused(fitted: DawidSkene, against: Contradictions, names: Sequence[str]) -> str:
    worst = np.flatnonzero(against.reversed_raters).tolist()
    if worst:
        accuracy, chance = fitted.accuracy(), fitted.chance()
        named = ", ".join(
            f"{names[at]} is right in {accuracy[at]:.0%}, by chance in {chance[at]:.0%}" for at in worst
        )
        return (
            f"a rater is right less often than by chance, so the model would reverse its votes: {named}; "
            f"leave the rater out or {_INSTEAD}"
        )
    overturned, unanimous = int(against.overturned.sum()), int(against.unanimous.sum())
    if overturned > _MOST_OVERTURNED * unanimous:
        return f"the model overturns {overturned:,} of {unanimous:,} unanimous votes, so it does not fit; {_INSTEAD}"
    return ""
