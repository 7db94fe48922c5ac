"""The rows of a leaderboard: a system over all its opponents, and against each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from recjudge_tui.reports.common.estimate_cells import interval_columns
from recjudge_tui.reports.common.table import Column, Row
from recjudge_tui.reports.leaderboard.battles import Battles
from recjudge_tui.reports.leaderboard.scores import Scores, q_of, win_rate_of
from recjudge_tui.stats.arrays import FloatArray, IntArray, none_if_nan
from recjudge_tui.stats.estimate import Interval
from recjudge_tui.stats.ranking import NEVER_LOST, NO_CASES, pair_intervals

COLUMNS = (
    Column("system", "System"),
    Column("opponent", "Against"),
    Column("rater", "Rater"),
    Column("aspect", "Aspect"),
    Column("rank", "Rank", "int"),
    Column("wins", "Wins", "int"),
    Column("ties", "Ties", "int"),
    Column("losses", "Losses", "int"),
    Column("position_ties", "Pos. ties", "int"),
    Column("failed", "Failed", "int", minor=True),
    Column("n", "n", "int", minor=True),
    Column("q", "Q", "float"),
    Column("win_rate", "Win rate", "share", minor=True),
    Column("users", "Users", "int", minor=True),
    Column("score", "Score", "float"),
    *interval_columns(),
    Column("note", "Note"),
)
# ratings are hundreds of points: one decimal; the columns they replace may be hidden on a narrow screen
_IN_POINTS = ("score", "ci_low", "ci_high")
WIN_RATE_COLUMNS = tuple(replace(column, minor=column.minor or column.name == "q") for column in COLUMNS)
RATING_COLUMNS = tuple(
    replace(column, decimals=1) if column.name in _IN_POINTS else column for column in WIN_RATE_COLUMNS
)
TIES_NOTE = "ties include position ties (the two orders disagreed); failed verdicts are not in n"
_FIGURES = {"q": q_of, "winrate": win_rate_of}


def board_rows(battles: Battles, scores: Scores, of_pairs: str | None) -> list[Row]:
    """The ranking, best first; then, if `of_pairs` names a figure and there are more than two systems, each system
    against each of its opponents."""
    order = sorted(range(len(battles.systems)), key=lambda at: _place(battles, scores, at))
    users = battles.counts.users_of_systems()
    rows = [_overall(battles, scores, at, users) for at in order]
    if of_pairs is not None and len(battles.systems) > 2:
        rows += pair_rows(battles, of_pairs, order)
    return rows


def _place(battles: Battles, scores: Scores, at: int) -> tuple[bool, int, str]:
    place = scores.places[at]
    return place is None, place or 0, battles.systems[at]


def _overall(battles: Battles, scores: Scores, at: int, users: IntArray) -> Row:
    counts = battles.counts.total.tallies()[at]
    value = none_if_nan(float(scores.value[at]))
    interval = Interval(None, None) if value is None else scores.intervals[at]
    reason = scores.notes[at] if value is None else interval.note
    others = [other for other in range(len(battles.systems)) if other != at]
    return (
        _who(battles, at, None, scores.places[at])
        | _counts(counts, battles.position_ties[at, others].sum(), battles.failed[at, others].sum())
        | _score(counts, value, interval, reason)
        | {"users": int(users[at])}
    )


def pair_rows(battles: Battles, figure: str, order: list[int]) -> Iterator[Row]:
    """Each system in `order` against each of its opponents, scored by `figure` (q or winrate)."""
    measure, total, users = _FIGURES[figure], battles.counts.total, battles.counts.users_of_pairs()
    intervals = pair_intervals(battles.counts, "q" if figure == "q" else "win_rate")
    column = {(int(a), int(b)): at for at, (a, b) in enumerate(zip(total.first, total.second, strict=True))}
    for system in order:
        for other in range(len(battles.systems)):
            if other == system or not battles.met(system, other):
                continue
            counts = battles.grid[system, other]
            value = none_if_nan(float(measure(counts)))
            interval = Interval(None, None)
            at = column.get((min(system, other), max(system, other)))
            if value is not None and at is not None:
                interval = intervals[at][int(system > other)]
            reason = interval.note if value is not None else NEVER_LOST if counts.any() else NO_CASES
            yield (
                _who(battles, system, other, None)
                | _counts(counts, battles.position_ties[system, other], battles.failed[system, other])
                | _score(counts, value, interval, reason)
                | {"users": 0 if at is None else int(users[at])}
            )


def _who(battles: Battles, system: int, opponent: int | None, rank: int | None) -> Row:
    return {
        "system": battles.systems[system],
        "opponent": None if opponent is None else battles.systems[opponent],
        "rater": battles.question.rater,
        "aspect": battles.question.aspect,
        "rank": rank,
    }


def _counts(counts: FloatArray, position_ties: np.int64, failed: np.int64) -> Row:
    wins, ties, losses = (int(count) for count in counts)
    return {
        "wins": wins,
        "ties": ties,
        "losses": losses,
        "position_ties": int(position_ties),
        "failed": int(failed),
        "n": wins + ties + losses,
    }


def _score(counts: FloatArray, value: float | None, interval: Interval, reason: str) -> Row:
    q = none_if_nan(float(q_of(counts)))
    missing = NO_CASES if not counts.any() else NEVER_LOST if q is None else ""
    return {
        "q": q,
        "win_rate": none_if_nan(float(win_rate_of(counts))),
        "score": value,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "note": reason or missing,
    }
