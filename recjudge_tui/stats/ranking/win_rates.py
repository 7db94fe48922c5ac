"""Systems ranked by wins, ties and losses.

Outcomes are from the view of the ranked system: 1 win, 0 tie, -1 loss, NaN failed (not in n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import Ids, as_floats
from recjudge_tui.stats.defaults import LEVEL
from recjudge_tui.stats.estimate import Estimate, undefined
from recjudge_tui.stats.ranking.battles import user_counts
from recjudge_tui.stats.ranking.outcome_intervals import pair_intervals

NEVER_LOST = "never lost or tied: Q is not finite"
NO_CASES = "no cases"


@dataclass(frozen=True)
class Tally:
    """Counts of one system's outcomes; `failed` is not in n."""

    wins: int
    ties: int
    losses: int
    failed: int = 0

    @property
    def n(self) -> int:
        return self.wins + self.ties + self.losses


def tally(outcomes: npt.ArrayLike) -> Tally:
    """Counts of 1, 0, -1 and NaN. Raises ValueError for any other value."""
    array = as_floats(outcomes)
    wins, ties, losses = (int((array == value).sum()) for value in (1, 0, -1))
    failed = int(np.isnan(array).sum())
    if wins + ties + losses + failed != array.size:
        raise ValueError("an outcome is 1 (win), 0 (tie), -1 (loss) or missing")
    return Tally(wins, ties, losses, failed)


def q_score(wins: float, ties: float, losses: float) -> float | None:
    """Q = (wins + ties) / (losses + ties), from counts or shares (RecSys Arena).

    Above 1 if the system wins more than it loses. None if it never lost or tied.
    """
    return None if losses + ties == 0 else (wins + ties) / (losses + ties)


def win_rate(wins: float, ties: float, losses: float) -> float | None:
    """(wins + ties / 2) / n, 0..1: a tie is half a win. None without cases."""
    n = wins + ties + losses
    return None if n == 0 else (wins + ties / 2) / n


def outcome_estimates(outcomes: npt.ArrayLike, users: Ids, *, level: float = LEVEL) -> dict[str, Estimate]:
    """`q` and `win_rate` of one system, with intervals over users."""
    array = as_floats(outcomes)
    counts = tally(array)
    if counts.n == 0:
        return {"q": undefined(NO_CASES), "win_rate": undefined(NO_CASES)}
    opponents = np.ones(array.size, dtype=np.int64)
    met = user_counts(np.zeros_like(opponents), opponents, array, users, 2)
    parts = (counts.wins, counts.ties, counts.losses)
    out: dict[str, Estimate] = {}
    for name, value in (("q", q_score(*parts)), ("win_rate", win_rate(*parts))):
        if value is None:
            out[name] = undefined(NEVER_LOST, counts.n)
            continue
        ((ends, _),) = pair_intervals(met, "q" if name == "q" else "win_rate", level)
        out[name] = Estimate(value, ends.low, ends.high, counts.n, note=ends.note)
    return out


def ranks(scores: Sequence[float | None]) -> list[int | None]:
    """Places from 1 for the highest score; equal scores share a place and the next is skipped (1, 2, 2, 4).

    A score of None has no place.
    """
    known = sorted((score for score in scores if score is not None), reverse=True)
    return [None if score is None else known.index(score) + 1 for score in scores]
