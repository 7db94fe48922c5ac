"""The score of every system by each method, over all its opponents, with its interval and its rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from recjudge_tui.domain.text import quantity
from recjudge_tui.reports.leaderboard.battles import Battles
from recjudge_tui.stats.arrays import BoolArray, FloatArray, ratio
from recjudge_tui.stats.estimate import Interval
from recjudge_tui.stats.ranking import (
    NEVER_LOST,
    NO_CASES,
    Ties,
    bradley_terry,
    ranks,
    rating_intervals,
    system_intervals,
)

_NAMED_PAIRS = 3
_NAMED_SYSTEMS = 5


@dataclass(frozen=True)
class Scores:
    """One method's figures: `value` (systems,), NaN if undefined, with an interval each.

    `notes` says why a value is undefined, `places` is the ranking, `about` is one note on all of them.
    """

    value: FloatArray
    notes: tuple[str, ...]
    places: list[int | None]
    intervals: Sequence[Interval]
    about: str = ""


Scoring = Callable[[Battles, Ties], Scores]


def q_of(counts: FloatArray) -> FloatArray:
    """Q = (wins + ties) / (losses + ties) of counts (..., 3), NaN if it is not finite."""
    return ratio(counts[..., 0] + counts[..., 1], counts[..., 2] + counts[..., 1])


def win_rate_of(counts: FloatArray) -> FloatArray:
    """(wins + ties / 2) / n of counts (..., 3), NaN without cases."""
    return ratio(counts[..., 0] + counts[..., 1] / 2, counts.sum(axis=-1))


def q_scores(battles: Battles, _: Ties = "davidson") -> Scores:
    """Q of every system. A system that never lost or tied ranks above every finite Q."""
    tallies = battles.counts.total.tallies()
    value, some = q_of(tallies), np.asarray(tallies.any(axis=1))
    notes = tuple(
        "" if not np.isnan(q) else NEVER_LOST if met else NO_CASES for q, met in zip(value, some, strict=True)
    )
    ranked = [
        float(q) if not np.isnan(q) else float("inf") if met else None
        for q, met in zip(value, some, strict=True)
    ]
    return Scores(value, notes, ranks(ranked), system_intervals(battles.counts, "q"), unmet_pairs(battles))


def win_rate_scores(battles: Battles, _: Ties = "davidson") -> Scores:
    value = win_rate_of(battles.counts.total.tallies())
    notes = tuple(NO_CASES if np.isnan(rate) else "" for rate in value)
    intervals = system_intervals(battles.counts, "win_rate")
    return Scores(value, notes, _by_value(value), intervals, unmet_pairs(battles))


def unmet_pairs(battles: Battles) -> str:
    """A note on systems that were judged but never against each other; "" if there are none. Q and win rates count
    the outcomes against the opponents met, so the ranks of such systems depend on different opponents.
    """
    total = battles.counts.total
    judged = np.flatnonzero(total.tallies().any(axis=1)).tolist()
    met = set(zip(total.first.tolist(), total.second.tolist(), strict=True))
    unmet = [pair for pair in combinations(judged, 2) if pair not in met]
    if not unmet:
        return ""
    named = [" and ".join(battles.systems[at] for at in pair) for pair in unmet[:_NAMED_PAIRS]]
    more = ["..."] if len(unmet) > len(named) else []
    return (
        f"{len(unmet)} of {quantity(comb(len(judged), 2), 'pair')} of systems never met "
        f"({', '.join(named + more)}): their ranks depend on different opponents"
    )


def bradley_terry_scores(battles: Battles, ties: Ties) -> Scores:
    fitted = bradley_terry(battles.counts.total, ties)
    intervals = rating_intervals(battles.counts, fitted)
    places = fitted.places()
    tie = "" if not fitted.tie else f"Davidson's tie parameter {fitted.tie:.3f}"
    about = "; ".join(part for part in (tie, unordered(battles, fitted.connectivity.joined, places)) if part)
    return Scores(fitted.ratings, fitted.connectivity.notes, places, intervals, about)


def unordered(battles: Battles, joined: BoolArray, places: Sequence[int | None]) -> str:
    """A note on connected systems without a place although others have one; "" if there are none."""
    names = [battles.systems[at] for at in np.flatnonzero(joined).tolist() if places[at] is None]
    if not names or not any(places):
        return ""
    named = names[:_NAMED_SYSTEMS]
    more = [f"{len(names) - len(named)} more"] if len(names) > len(named) else []
    return (
        f"no rank for {' and '.join([', '.join(named), *more])}: for each, there is a system that the results put"
        " neither above nor below it, even through others"
    )


def _by_value(value: FloatArray) -> list[int | None]:
    """Places; figures that are equal to nine decimals share one."""
    return ranks([None if np.isnan(number) else round(float(number), 9) for number in value])
