"""Calibration: whether a stated confidence equals the share of correct verdicts, and how to correct it if not."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import FloatArray, Ids, IntArray, as_floats, encode
from recjudge_tui.stats.defaults import BINS, FOLDS, LEVEL
from recjudge_tui.stats.estimate import Estimate, undefined
from recjudge_tui.stats.intervals import SHARE, mean_estimate, share_estimate, sums_by_user, t_quantile

FEWEST_USERS = 10
NO_CONFIDENCE = "no labelled verdict has a confidence"
FEW_LABELLED = f"no interval: labels of fewer than {FEWEST_USERS} users"
FEW_USERS = f"not calibrated: labels of fewer than {FEWEST_USERS} users"
ALL_RIGHT = "not calibrated: no labelled verdict is wrong"
ALL_WRONG = "not calibrated: no labelled verdict is right"
_DRAWS = 2000

Map = Callable[[FloatArray], FloatArray]


class Bin(NamedTuple):
    """Verdicts with confidence low <= c < high (<= for the last bin): mean confidence and share of correct verdicts."""

    low: float
    high: float
    n: int
    confidence: float | None
    accuracy: Estimate


def reliability(confidence: npt.ArrayLike, correct: npt.ArrayLike, users: Ids, bins: int = BINS) -> list[Bin]:
    """Bins of equal width over 0..1 with the mean confidence and the share of correct verdicts in each. `confidence`
    (n,) in 0..1, `correct` (n,) 0 or 1. An empty bin has n = 0 and undefined figures. Source: DeGroot and Fienberg
    1983. Raises ValueError for values out of range or arrays that do not match."""
    sure, right, place = _binned(confidence, correct, bins)
    of_users: IntArray = encode(users)[0]
    curve = []
    for at in range(bins):
        here = place == at
        n = int(here.sum())
        share = share_estimate(right[here], of_users[here]) if n else undefined("no verdicts in this bin")
        curve.append(Bin(at / bins, (at + 1) / bins, n, float(sure[here].mean()) if n else None, share))
    return curve


def calibration_error(
    confidence: npt.ArrayLike, correct: npt.ArrayLike, users: Ids, bins: int = BINS
) -> Estimate:
    """Expected calibration error: sum over bins of n_b / n * |share correct in b - mean confidence in b|, 0..1 (Naeini,
    Cooper and Hauskrecht 2015; Guo et al. 2017). Noise in a bin counts whatever its sign, so the figure is biased upwards
    and its interval lopsided: the noise of the gaps is drawn, with a fixed seed, from the normal distribution with the
    jackknife's covariance over users, widened by Student's t. Upper end: the 97.5th percentile of the figure with noise;
    lower end: the figure minus that of the noise alone. No interval with fewer than FEWEST_USERS users. Errors as in
    `reliability`."""
    sure, right, place = _binned(confidence, correct, bins)
    if sure.size == 0:
        return undefined(NO_CONFIDENCE)
    codes, count = encode(users)
    columns = [np.where(place == at, right - sure, 0.0) for at in np.unique(place)]
    per_user = sums_by_user(np.stack([*columns, np.ones(sure.size)]), codes, count)
    total = per_user.sum(axis=0)
    gaps = total[:-1] / total[-1]
    value = float(np.abs(gaps).sum())
    if count < FEWEST_USERS:
        return Estimate(value, None, None, sure.size, note=FEW_LABELLED)
    without = (total[:-1] - per_user[:, :-1]) / (total[-1] - per_user[:, -1:])
    apart = without - without.mean(axis=0)
    values, vectors = np.linalg.eigh((count - 1) / count * apart.T @ apart)
    wider = float(t_quantile(count - 1)) / NormalDist().inv_cdf(0.5 + LEVEL / 2)
    normal = np.random.default_rng(0).standard_normal((_DRAWS, values.size))
    noise = wider * (normal * np.sqrt(np.maximum(values, 0))) @ vectors.T
    below, above = (
        float(np.quantile(np.abs(part).sum(axis=1), (1 + LEVEL) / 2)) for part in (noise, gaps + noise)
    )
    return Estimate(value, max(0.0, value - below), min(1.0, max(value, above)), sure.size)


def brier_score(confidence: npt.ArrayLike, correct: npt.ArrayLike, users: Ids) -> Estimate:
    """Mean of (confidence - correct)^2, 0..1: calibration and discrimination in one figure (Brier 1950)."""
    sure, right, _ = _binned(confidence, correct, 1)
    return mean_estimate((sure - right) ** 2, users, SHARE)


def overconfidence(confidence: npt.ArrayLike, correct: npt.ArrayLike, users: Ids) -> Estimate:
    """Mean confidence - share correct, -1..1: above 0 the judge is surer than it should be. Unlike the ECE, it is not
    biased."""
    sure, right, _ = _binned(confidence, correct, 1)
    return mean_estimate(sure - right, users, (-1.0, 1.0))


def _binned(
    confidence: npt.ArrayLike, correct: npt.ArrayLike, bins: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    sure, right = as_floats(confidence), as_floats(correct)
    if sure.size != right.size:
        raise ValueError(f"{sure.size} confidences for {right.size} verdicts")
    if bins < 1:
        raise ValueError("there is at least one bin")
    if np.isnan(sure).any() or (sure < 0).any() or (sure > 1).any():
        raise ValueError("a confidence lies between 0 and 1")
    if not np.isin(right, (0.0, 1.0)).all():
        raise ValueError("a verdict is right (1) or wrong (0)")
    place = np.minimum((sure * bins).astype(np.int64), bins - 1)
    return sure, right, place


def calibrated(confidence: npt.ArrayLike, correct: npt.ArrayLike, users: Ids) -> tuple[FloatArray, str]:
    """Each verdict's confidence calibrated by isotonic regression (n,), NaN where there is none, and the reason if there is
    no map at all. `correct` is NaN for a verdict without a label. Users with labels are dealt at random into FOLDS parts,
    each calibrated by a map learned on the others; users without get the map of all labels."""
    sure, right = as_floats(confidence), as_floats(correct)
    ids = encode(users)[0]
    known = ~np.isnan(right)
    few = np.unique(ids[known]).size < FEWEST_USERS
    whole = None if few else isotonic(sure[known], right[known])
    if whole is None:
        why = FEW_USERS if few else ALL_RIGHT if right[known].all() else ALL_WRONG
        return np.full(sure.size, np.nan), why
    out = whole(sure)
    labelled = np.isin(ids, ids[known])
    part = np.full(sure.size, -1, dtype=np.int64)
    owner, count = encode(ids[labelled])
    part[labelled] = (np.arange(count) % FOLDS)[np.argsort(np.random.default_rng(0).permutation(count))][
        owner
    ]
    for at in range(FOLDS):
        others = known & (part != at)
        learned = isotonic(sure[others], right[others])
        out[part == at] = np.nan if learned is None else learned(sure[part == at])
    return out, ""


def isotonic(confidence: FloatArray, correct: FloatArray) -> Map | None:
    """The nondecreasing function of the confidence that fits right (1) and wrong (0) best in least squares, by pooling
    adjacent violators (Ayer et al. 1955; Zadrozny and Elkan 2002); linear between points, constant outside. None if all are
    right or all wrong."""
    if correct.all() or not correct.any():
        return None
    from scipy.optimize import isotonic_regression

    points, place = np.unique(confidence, return_inverse=True)
    weight = np.bincount(place.reshape(-1))
    means = np.bincount(place.reshape(-1), weights=correct) / weight
    heights = isotonic_regression(means, weights=weight).x
    return lambda values: np.interp(values, points, heights)
