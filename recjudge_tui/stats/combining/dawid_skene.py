"""Labels from raters of unequal skill: each rater's confusion matrix and each item's label are estimated jointly.

Source: Dawid and Skene, Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm, Applied
Statistics 28, 1979.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import BoolArray, FloatArray

# pseudo-counts: of each label, and of each answer of a rater to each label
SMOOTHING = 0.01
MOST_LABELS = 20
_MOST_STEPS = 500
# of the log-likelihood of an item: a smaller gain ends the steps
_SETTLED = 1e-8
# posteriors closer than this count as equal: rounding must not decide a vote
_EVEN = 1e-6


@dataclass(frozen=True)
class DawidSkene:
    """The fitted model, with K labels in the order of the scale, R raters, n items.

    `posterior` (n, K): probability of each label, NaN for an item without ratings. `prior` (K,): frequency of each
    label. `confusion` (R, K, K): probability that a rater gives the column's label when the row's label is true.
    `objective`: the penalised log-likelihood of each step; it never falls.
    """

    labels: FloatArray
    posterior: FloatArray
    prior: FloatArray
    confusion: FloatArray
    objective: tuple[float, ...]

    def values(self) -> FloatArray:
        """The most likely label of each item (n,); NaN if two are equally likely or the item has no ratings."""
        if self.labels.size < 2:
            return np.where(np.isnan(self.posterior).all(axis=1), np.nan, self.labels[:1].sum())
        ordered = np.sort(self.posterior, axis=1)
        best = self.labels[np.argmax(np.nan_to_num(self.posterior), axis=1)]
        return np.where(ordered[:, -1] - ordered[:, -2] > _EVEN, best, np.nan)

    def confidence(self) -> FloatArray:
        """The probability of the most likely label (n,), NaN if the item has no ratings."""
        top: FloatArray = self.posterior.max(axis=1, initial=0.0)
        return np.where(np.isnan(self.posterior).all(axis=1), np.nan, top)

    def accuracy(self) -> FloatArray:
        """Estimated share of right answers of each rater (R,): sum over labels of prior · confusion's diagonal."""
        accuracy: FloatArray = np.einsum("rkk,k->r", self.confusion, self.prior)
        return accuracy


def dawid_skene(
    ratings: npt.ArrayLike, *, mirrored: bool = False, most_steps: int = _MOST_STEPS
) -> DawidSkene:
    """Expectation-maximisation on `ratings` (R, n), NaN where a rater gave no value; any number of labels and raters.

    It starts from each item's shares of the votes and ends when a step gains less than 1e-8 for each item. `mirrored`: the
    labels are signed preferences between two things of which neither is the first, so a label and its opposite are
    equally frequent, and a rater treats them alike. Raises ValueError for another shape or more than 20 labels.
    """
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError("ratings must be an array of (raters, items)")
    rater, item = np.nonzero(~np.isnan(table))
    given = table[rater, item]
    labels = np.unique(np.concatenate([given, -given]) + 0.0 if mirrored else given)
    if labels.size > MOST_LABELS:
        raise ValueError(f"{labels.size} different values are scores, not labels")
    said = np.searchsorted(labels, given)
    raters, items, size = *table.shape, labels.size
    if not size:
        nothing = np.full((items, 0), np.nan)
        return DawidSkene(labels, nothing, np.zeros(0), np.zeros((raters, 0, 0)), ())
    at = rater * size + said
    posterior = np.zeros((items, size))
    np.add.at(posterior, (item, said), 1.0)
    votes = posterior.sum(axis=1)
    rated: BoolArray = votes > 0
    posterior /= np.maximum(votes, 1.0)[:, None]
    # one rater's errors cannot be told from rare labels, so the labels are taken as given
    alone = np.unique(rater).size < 2
    objective: list[float] = []
    while True:
        prior = posterior.sum(axis=0) + SMOOTHING
        # (raters, true label, label given)
        counts = np.full((raters, size, size), SMOOTHING)
        for k in range(size):
            counts[:, k] += np.bincount(at, posterior[item, k], raters * size).reshape(raters, size)
        if mirrored:
            prior, counts = (prior + prior[::-1]) / 2, (counts + counts[:, ::-1, ::-1]) / 2
        prior = prior / prior.sum()
        confusion = counts / counts.sum(axis=2, keepdims=True)
        if alone:
            return DawidSkene(labels, np.where(rated[:, None], posterior, np.nan), prior, confusion, ())
        joint = np.tile(np.log(prior), (items, 1))
        for k in range(size):
            joint[:, k] += np.bincount(item, np.log(confusion[rater, k, said]), items)
        top = joint.max(axis=1, keepdims=True)
        chance = np.exp(joint - top)
        total = chance.sum(axis=1)
        posterior = chance / total[:, None] * rated[:, None]
        height = float((np.log(total) + top[:, 0])[rated].sum())
        objective.append(height + SMOOTHING * float(np.log(prior).sum() + np.log(confusion).sum()))
        if len(objective) > most_steps or (
            len(objective) > 1 and objective[-1] - objective[-2] <= _SETTLED * max(int(rated.sum()), 1)
        ):
            return DawidSkene(
                labels, np.where(rated[:, None], posterior, np.nan), prior, confusion, tuple(objective)
            )
