"""The exact sign-flip test: could users' differences between two systems be due to chance?"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import FloatArray, IntArray, as_floats, encode

# up to this many users that differ, all 2^n assignments of signs are counted
_ENUMERATED = 14
# above it, differences are rounded, so that the standard deviation of their sum is about this many steps
STEPS = 400
_COARSEST = 1 / 2
# largest deviation of the sum, in standard deviations, that is distinguished (Hoeffding: beyond 9, at most 5e-18)
_REACH = 9.0
# below this, a part of the characteristic function is 0; looked at after every few sizes
_NOTHING = 1e-18
_SIZES_BETWEEN = 4
_ROUNDING = 1e-12
# below this, sums of 64-bit floats are not exact
SMALLEST_P = 1e-12


def sign_flip_test(differences: npt.ArrayLike, steps: int = STEPS) -> float | None:
    """Two-sided p of a mean difference of 0: the share of all 2^n assignments of signs to the differences (n,) whose sum
    is at least as far from 0 (Fisher 1935). NaN and 0 are left out. None if no user differs.

    If the two systems are interchangeable for every user, either sign of a difference is as likely, so p < .05 in at
    most 5 % of samples, whatever the distribution of the figure and however few the users. Up to 14 users are
    enumerated. For more, the differences are rounded, so that the standard deviation of their sum is about `steps`
    steps; this changes p by a few per cent and the level not at all, because no sign changes the rounding. The
    distribution of the rounded sum is exact, by its characteristic function, with p at least 1e-12.
    """
    array = as_floats(differences)
    known = array[~np.isnan(array) & (array != 0)]
    if not known.size:
        return None
    return _enumerated(known) if known.size <= _ENUMERATED else _rounded(known, steps)


def user_means(differences: FloatArray, users: IntArray) -> FloatArray:
    """The mean difference of each user; `differences` and `users` (n,) are known."""
    codes, count = encode(users)
    total = np.bincount(codes, weights=differences, minlength=count)
    mean = total / np.maximum(np.bincount(codes, minlength=count), 1)
    # the same two sums in another order differ in their last digits
    return np.where(np.abs(mean) < _ROUNDING, 0.0, mean)


def _enumerated(differences: FloatArray) -> float:
    sums = _signs(differences.size) @ np.abs(differences)
    # the same sum in another order may differ in its last digit
    least = abs(float(differences.sum())) - 1e-9 * float(np.abs(differences).sum())
    return float((np.abs(sums) >= least).mean())


@lru_cache(maxsize=_ENUMERATED)
def _signs(n: int) -> FloatArray:
    """Half of the assignments of signs to n differences (2^(n-1), n); the others mirror them."""
    bits = (np.arange(2 ** (n - 1))[:, None] >> np.arange(n)) & 1
    return np.where(bits == 1, -1.0, 1.0)


def _rounded(differences: FloatArray, steps: int) -> float:
    part = min(_COARSEST, np.sqrt(differences.size) / steps)
    # sorted, so that the result does not depend on the order of users
    step = part * float(np.sqrt(np.square(np.sort(np.abs(differences))).mean()))
    rounded = np.rint(differences / step).astype(np.int64)
    observed = abs(int(rounded.sum()))
    if observed == 0:
        return 1.0
    sizes, counts = np.unique(np.abs(rounded[rounded != 0]), return_counts=True)
    total = int((sizes * counts).sum())
    spread = float(np.sqrt((sizes**2 * counts).sum()))
    farthest = min(total, int(_REACH * spread) + 1)
    if observed > farthest:
        return SMALLEST_P
    period = 2 * farthest + 2
    characteristic = _characteristic(sizes, counts, period)
    chances = np.fft.irfft(characteristic, period)
    beyond = float(chances[observed : period - observed + 1].sum())
    return min(1.0, max(SMALLEST_P, beyond))


def _characteristic(sizes: IntArray, counts: IntArray, period: int) -> FloatArray:
    """The real characteristic function (period // 2 + 1,) of the sum of `counts` steps of each of the `sizes`, with random
    signs. Most of it is 0 after a few sizes and is not followed further."""
    cosine = np.cos(2 * np.pi * np.arange(period) / period)
    frequency = np.arange(period // 2 + 1)
    value = np.ones(frequency.size)
    for done, (size, count) in enumerate(zip(sizes[::-1].tolist(), counts[::-1].tolist(), strict=True)):
        value *= cosine[size * frequency % period] ** count
        if done % _SIZES_BETWEEN == 0:
            alive = np.abs(value) > _NOTHING
            frequency, value = frequency[alive], value[alive]
    out = np.zeros(period // 2 + 1)
    out[frequency] = value
    return out
