"""How much a judge's answers depend on the order in which the two lists are shown."""

from __future__ import annotations

import numpy.typing as npt

from recjudge_tui.stats.arrays import Ids, complete, rows_of
from recjudge_tui.stats.defaults import LEVEL, RESAMPLES
from recjudge_tui.stats.estimate import Estimate, undefined
from recjudge_tui.stats.intervals import share_estimate


def position_consistency_estimate(
    first: npt.ArrayLike,
    swapped: npt.ArrayLike,
    users: Ids,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> Estimate:
    """Share of pairs with the same answer in both orders, 0..1, with an interval over users.

    Both arrays (n,) contain the answers mapped back to the systems (1, 0, -1), so a judge that always picks Set 1 is
    never consistent. Pairs with a failed answer (NaN) are left out. Undefined without complete pairs. Source: Liu et
    al., SIGIR 2026.
    """
    a, b, kept = complete(first, swapped)
    if a.size == 0:
        return undefined("no pair answered in both orders")
    pair_users = rows_of(users, kept)
    return share_estimate(a == b, pair_users, level=level)
