"""Labels from raters of unequal skill: each rater's confusion matrix and each item's label are estimated jointly.

Source: Dawid and Skene, Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm, Applied
Statistics 28, 1979.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import BoolArray, FloatArray

SMOOTHING = 0.1
# prior count: correct answers credited to each rater on each label in advance
_RIGHT = 1.0
FEWEST_RATERS = 3
MOST_LABELS = 20
_MOST_STEPS = 500
_SETTLED = 1e-8
# posteriors closer than this count as equal: rounding must not decide a vote
_EVEN = 1e-6
# standard errors below chance from which a rater counts as reversed
_SURE_ERRORS = 2.0
# exponents of the shares of votes, for softer and harder starts
_POWERS = (0.5, 2.0)
# with more raters, single raters are not used as starts
_MOST_STARTS = 12


@dataclass(frozen=True)
class DawidSkene:
    """The fitted model, with K labels, R raters, n items.

    `posterior` (n, K): probability of each label, NaN for an item without ratings. `prior` (K,): frequency of each
    label. `confusion` (R, K, K): probability that a rater gives the column's label when the row's label is true.
    `objective`: the penalised log-likelihood before each step and after the last; it never falls.
    """

    labels: FloatArray
    posterior: FloatArray
    prior: FloatArray
    confusion: FloatArray
    objective: tuple[float, ...]
    converged: bool

    def values(self) -> FloatArray:
        """The most likely label of each item (n,); NaN if two are equally likely or the item has no ratings."""
        out = np.full(self.posterior.shape[0], np.nan)
        if self.labels.size == 0:
            return out
        best = self.labels[np.argmax(np.nan_to_num(self.posterior), axis=1)]
        ordered = np.sort(self.posterior, axis=1)
        lead = ordered[:, -1] - (ordered[:, -2] if self.labels.size > 1 else 0.0)
        return np.where(lead > _EVEN, best, out)

    def confidence(self) -> FloatArray:
        """The probability of the most likely label (n,), NaN if the item has no ratings."""
        if self.labels.size == 0:
            return np.full(self.posterior.shape[0], np.nan)
        top: FloatArray = self.posterior.max(axis=1)
        return top

    def accuracy(self) -> FloatArray:
        """Estimated share of right answers of each rater (R,): sum over labels of prior · confusion's diagonal."""
        accuracy: FloatArray = np.einsum("rkk,k->r", self.confusion, self.prior)
        return accuracy

    def chance(self) -> FloatArray:
        """The share of right answers of each rater (R,) if the same answers were given independently of the true
        labels.
        """
        answers = np.einsum("rkl,k->rl", self.confusion, self.prior)
        chance: FloatArray = answers @ self.prior
        return chance


@dataclass(frozen=True)
class Contradictions:
    """Where a fitted model contradicts the ratings it was fitted to. `unanimous` (n,): items that two or more raters
    labelled, all in the same way. `overturned` (n,): unanimous items for which another label is most likely.
    `reversed_raters` (R,): raters who are right less often than by chance, by more than two standard errors, so the
    model counts their votes for a label against it.
    """

    unanimous: BoolArray
    overturned: BoolArray
    reversed_raters: BoolArray


def contradictions(fitted: DawidSkene, ratings: npt.ArrayLike) -> Contradictions:
    """The contradictions of `fitted` with the `ratings` (R, n) that it was fitted to."""
    table = np.asarray(ratings, dtype=np.float64)
    there = ~np.isnan(table)
    lowest = np.where(there, table, np.inf).min(axis=0, initial=np.inf)
    highest = np.where(there, table, -np.inf).max(axis=0, initial=-np.inf)
    unanimous: BoolArray = (there.sum(axis=0) > 1) & (lowest == highest)
    chance = fitted.chance()
    error = np.sqrt(chance * (1 - chance) / np.maximum(there.sum(axis=1), 1))
    return Contradictions(
        unanimous,
        unanimous & (fitted.values() != lowest),
        fitted.accuracy() < chance - _SURE_ERRORS * error,
    )


def dawid_skene(
    ratings: npt.ArrayLike,
    labels: npt.ArrayLike | None = None,
    *,
    mirrored: bool = False,
    smoothing: float = SMOOTHING,
    most_steps: int = _MOST_STEPS,
) -> DawidSkene:
    """Expectation-maximisation on `ratings` (R, n), NaN where a rater gave no value.

    Model: an item has label k with probability prior[k]; given k, rater r answers l with probability
    confusion[r, k, l], independently of the other raters. E-step: posterior[i, k] is proportional to
    prior[k] · product over the raters r of item i of confusion[r, k, answer of r]. M-step: relative frequencies of
    counts. `smoothing` is added to every count, and 1 more to the diagonal of each confusion matrix: a few items
    make no rater certain, and raters are presumed right. Each step increases the objective, the log-likelihood + sum
    of the added counts · log of their probabilities. Ends when a step gains less than 1e-8 per item, or after
    `most_steps` (`converged` False). Of several starts the highest objective counts: each item's distribution of
    votes (as in the paper), softer and harder ones, its most frequent label, and each rater's votes weighted more; so the
    result depends on no seed, and on no order of items or raters.

    `mirrored`: labels are signed preferences between two things whose order means nothing, as system A and B of a pair: a
    label and its negative are equally frequent and are mistaken alike (prior[k] = prior[-k],
    confusion[r, k, l] = confusion[r, -k, -l]), so exchanging the two in some items turns their answers and changes
    nothing else.

    `labels`: the label set, by default the values that occur. The labels of a single rater are taken as given, because
    no other rater can test them. With two raters the model has more unknowns than the votes can determine.
    Raises ValueError for another shape, smoothing not above 0, a value outside `labels` or more than 20 labels.
    """
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError("ratings must be an array of (raters, items)")
    if not smoothing > 0:
        raise ValueError("smoothing is above 0")
    there: BoolArray = ~np.isnan(table)
    given = table[there]
    names = np.unique(given) if labels is None else np.unique(np.asarray(labels, dtype=np.float64))
    if np.setdiff1d(given, names).size:
        raise ValueError(f"{np.setdiff1d(given, names)[0]:g} is not in the label set")
    if mirrored:
        names = np.unique(np.concatenate([names, -names]))
    if names.size > MOST_LABELS:
        raise ValueError(f"{names.size} different values are scores, not labels")
    codes = np.where(there, np.searchsorted(names, np.nan_to_num(table)), -1)
    patterns, of_item, counts = np.unique(codes, axis=1, return_inverse=True, return_counts=True)
    votes = (patterns[:, :, None] == np.arange(names.size)).astype(np.float64)
    weight = np.where(votes.any(axis=(0, 2)), counts, 0.0)
    model = _Model(names, votes, _side_by_side(votes), weight, smoothing, mirrored, most_steps)
    fitted = _likeliest(model)
    rated: BoolArray = np.any(there, axis=0)
    posterior = np.where(rated[:, None], fitted.posterior[of_item.reshape(-1)], np.nan)
    return DawidSkene(names, posterior, fitted.prior, fitted.confusion, fitted.objective, fitted.converged)


def _side_by_side(votes: FloatArray) -> FloatArray:
    raters, patterns, labels = votes.shape
    return votes.transpose(1, 0, 2).reshape(patterns, raters * labels)


class _Model(NamedTuple):
    """`votes` (R, m, K): the m distinct columns of ratings, all 0 for no rating; `side_by_side` (m, R·K): the same in one
    matrix, so that a step is a product of matrices; `weight` (m,): how many items have each."""

    labels: FloatArray
    votes: FloatArray
    side_by_side: FloatArray
    weight: FloatArray
    smoothing: float
    mirrored: bool
    most_steps: int

    @property
    def added(self) -> FloatArray:
        """The counts (K, K) added to each confusion matrix."""
        return self.smoothing + _RIGHT * np.eye(self.labels.size)


def _likeliest(model: _Model) -> DawidSkene:
    """The fit with the highest objective; the mean of several equally high ones, so that the result does not depend
    on their order.
    """
    shares = _normalised(model.votes.sum(axis=0))
    raters = int(model.votes.any(axis=(1, 2)).sum())
    if not model.labels.size or raters < 2:
        return DawidSkene(model.labels, shares, *_maximise(shares, model), (), True)
    fits = [_fit(start, model) for start in _starts(shares, model.votes, raters)]
    highest = max(fit.objective[-1] for fit in fits)
    close = _EVEN * max(float(model.weight.sum()), 1.0)
    best = [fit for fit in fits if fit.objective[-1] >= highest - close]
    return replace(
        best[0],
        posterior=np.mean([fit.posterior for fit in best], axis=0),
        prior=np.mean([fit.prior for fit in best], axis=0),
        confusion=np.mean([fit.confusion for fit in best], axis=0),
    )


def _starts(shares: FloatArray, votes: FloatArray, raters: int) -> Iterator[FloatArray]:
    """Posteriors (m, K) to start from; all of them take the raters' labels at face value."""
    yield shares
    yield from (_normalised(shares**power) for power in _POWERS)
    yield _normalised((shares == shares.max(axis=1, keepdims=True)) * shares)
    if FEWEST_RATERS <= raters <= _MOST_STARTS:
        total = votes.sum(axis=0)
        yield from (_normalised(total + total.sum(axis=1, keepdims=True) * own) for own in votes)


def _normalised(counts: FloatArray) -> FloatArray:
    total = counts.sum(axis=1, keepdims=True)
    return counts / np.where(total > 0, total, 1.0)


def _fit(posterior: FloatArray, model: _Model) -> DawidSkene:
    objective: list[float] = []
    settled = False
    prior, confusion = _maximise(posterior, model)
    while not settled and len(objective) <= model.most_steps:
        posterior, likelihood = _expect(prior, confusion, model)
        penalty = float(model.smoothing * np.log(prior).sum() + (model.added * np.log(confusion)).sum())
        objective.append(likelihood + penalty)
        if len(objective) > 1:
            settled = objective[-1] - objective[-2] <= _SETTLED * max(float(model.weight.sum()), 1.0)
        if not settled:
            prior, confusion = _maximise(posterior, model)
    return DawidSkene(model.labels, posterior, prior, confusion, tuple(objective), settled)


def _maximise(posterior: FloatArray, model: _Model) -> tuple[FloatArray, FloatArray]:
    """Smoothed relative frequencies: of the labels, and of each rater's answers given the true label."""
    weighted = posterior * model.weight[:, None]
    frequency = weighted.sum(axis=0)
    raters, _, labels = model.votes.shape
    answers = (weighted.T @ model.side_by_side).reshape(labels, raters, labels).transpose(1, 0, 2)
    if model.mirrored:
        frequency = (frequency + frequency[::-1]) / 2
        answers = (answers + answers[:, ::-1, ::-1]) / 2
    prior, counts = frequency + model.smoothing, answers + model.added
    return prior / max(prior.sum(), model.smoothing), counts / counts.sum(axis=2, keepdims=True)


def _expect(prior: FloatArray, confusion: FloatArray, model: _Model) -> tuple[FloatArray, float]:
    """Posteriors (m, K), and the log-likelihood of the votes."""
    joint = np.log(prior) + model.side_by_side @ np.log(np.concatenate(confusion.transpose(0, 2, 1)))
    top = joint.max(axis=1, keepdims=True)
    total = np.exp(joint - top).sum(axis=1)
    # a pattern without any vote has no weight
    likelihood = float(model.weight @ (np.log(total) + top[:, 0]))
    return np.exp(joint - top) / total[:, None], likelihood
