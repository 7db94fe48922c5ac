"""Cross-validation folds of users: a model fitted on some users is applied to others."""

from __future__ import annotations

import numpy as np

from recjudge_tui.stats.arrays import Ids, IntArray, encode
from recjudge_tui.stats.defaults import FOLDS


def user_folds(users: Ids, folds: int = FOLDS, seed: int = 0) -> IntArray:
    """The fold 0..folds-1 of each row (n,). All rows of a user are in one fold; users are assigned at random and evenly.

    With fewer users than `folds` every user is a fold of its own. Raises ValueError for fewer than two folds.
    """
    if folds < 2:
        raise ValueError("cross-validation needs at least two folds")
    codes, count = encode(users)
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    dealt = np.arange(count) % min(folds, count)
    order = np.random.default_rng(seed).permutation(count)
    part = np.empty(count, dtype=np.int64)
    part[order] = dealt
    return part[codes]
