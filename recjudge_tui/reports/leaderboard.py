"""Which system is judged better: wins, ties and losses with Q or win rate, or the shares of labels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from recjudge_tui.errors import UsageError
from recjudge_tui.reports.label_shares import share_table
from recjudge_tui.reports.scales import PAIR_PROTOCOLS, asked, protocols_meeting, rater_rank
from recjudge_tui.reports.table import Column, Row, Table
from recjudge_tui.stats.estimate import Estimate, undefined
from recjudge_tui.stats.intervals import RESAMPLES
from recjudge_tui.stats.ranking import Tally, outcome_estimates, ranks, tally
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters import rater_row
from recjudge_tui.store.ratings import BoolArray, FloatArray, IntArray, Question, Ratings, load_ratings

_COLUMNS = (
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
    Column("score", "Score", "float"),
    Column("ci_low", "CI low", "ci"),
    Column("ci_high", "CI high", "ci"),
    Column("note", "Note"),
)
TIES_NOTE = "ties include position ties (the two orders disagreed); failed stand outside n"


@dataclass(frozen=True)
class LeaderboardOptions:
    """`method` empty: q for pairs of lists, share for the rest. `rater` and `aspect` None: every one."""

    protocol: str
    rater: str | None = None
    aspect: str | None = None
    method: str = ""
    resamples: int = RESAMPLES
    seed: int = 0


class Method(NamedTuple):
    """One way to rank: for pairs of lists or for single judgements, and the function that makes the table."""

    about: str
    of_pairs: bool
    build: Callable[[Database, int, Ratings, LeaderboardOptions], Table]


@dataclass(frozen=True)
class Outcomes:
    """One rater's verdicts on pairs, seen from system a: 1, 0, -1, NaN where it failed."""

    a: IntArray
    b: IntArray
    value: FloatArray
    flipped: BoolArray
    user: IntArray

    def of(self, system: int, opponent: int | None) -> tuple[FloatArray, IntArray, BoolArray]:
        """(outcome, user, position tie) of every case of a system, seen from it."""
        first = (self.a == system) & ((self.b == opponent) if opponent is not None else True)
        second = (self.b == system) & ((self.a == opponent) if opponent is not None else True)
        here = first | second
        value = np.where(first, self.value, -self.value)[here]
        return value, self.user[here], (self.flipped & (self.value == 0))[here]


def leaderboard_table(db: Database, project_id: int, options: LeaderboardOptions) -> Table:
    """One row a system (opponent None, ranked) and, with more than two systems, one a system and opponent.

    For `share`: one row a system, rater and label. Raises UsageError for an unknown protocol or method,
    or a method that does not fit the protocol; NotFoundError for an unknown rater.
    """
    protocols = protocols_meeting(options.protocol)
    of_pairs = options.protocol in PAIR_PROTOCOLS
    name = options.method or ("q" if of_pairs else "share")
    if name not in METHODS:
        raise UsageError(f"no method “{name}”", f"There are: {', '.join(METHODS)}.")
    if METHODS[name].of_pairs != of_pairs:
        fitting = [key for key, method in METHODS.items() if method.of_pairs == of_pairs]
        raise UsageError(
            f"method “{name}” does not fit {options.protocol}", next_step=f"Use {' or '.join(fitting)}."
        )
    if options.rater is not None:
        rater_row(db, project_id, options.rater)
    ratings = load_ratings(
        db,
        project_id,
        raters=None if options.rater is None else [options.rater],
        protocols=protocols,
        aspect=options.aspect,
    )
    return METHODS[name].build(db, project_id, ratings, options)


def ranked_questions(ratings: Ratings, protocol: str) -> list[Question]:
    """The questions of a protocol by aspect (overall first), judges before people."""
    found = asked(ratings, protocol)
    return sorted(
        found,
        key=lambda q: (q.aspect != "overall", q.aspect, rater_rank(ratings.raters[q.rater]), q.protocol),
    )


def _by_outcome(
    method: str, score: str, about: str
) -> Callable[[Database, int, Ratings, LeaderboardOptions], Table]:
    def build(_: Database, __: int, ratings: Ratings, options: LeaderboardOptions) -> Table:
        rows: list[Row] = []
        for question in ranked_questions(ratings, options.protocol):
            rows += _rows(ratings, question, score, options)
        notes = [TIES_NOTE, about] if rows else ["no pair of lists was judged yet"]
        settings = {"protocol": options.protocol, "method": method, "resamples": options.resamples}
        return Table(f"Leaderboard: {options.protocol}", _COLUMNS, tuple(rows), tuple(notes), settings)

    return build


def outcomes(ratings: Ratings, question: Question) -> Outcomes:
    """One question's verdicts on pairs as wins and losses."""
    verdicts, cases = ratings.verdicts[question], ratings.cases
    row = verdicts.row
    return Outcomes(
        cases.system_a[row], cases.system_b[row], np.sign(verdicts.value), verdicts.flipped, cases.user[row]
    )


def _rows(ratings: Ratings, question: Question, score: str, options: LeaderboardOptions) -> list[Row]:
    found = outcomes(ratings, question)
    names = ratings.cases.systems
    systems = [int(code) for code in np.unique(np.concatenate([found.a, found.b]))]
    overall = [_row(found, code, None, score, options) for code in systems]
    places = ranks([_score(row) for row in overall])
    for row, code, place in zip(overall, systems, places, strict=True):
        row |= {"system": names[code], "opponent": None, "rank": place}
    overall.sort(key=lambda row: (row["rank"] is None, row["rank"] or 0, str(row["system"])))
    between: list[Row] = []
    if len(systems) > 2:
        for row in overall:
            code = names.index(str(row["system"]))
            between += [
                _row(found, code, other, score, options)
                | {"system": names[code], "opponent": names[other], "rank": None}
                for other in systems
                if other != code and found.of(code, other)[0].size
            ]
    return [row | {"rater": question.rater, "aspect": question.aspect} for row in overall + between]


def _score(row: Row) -> float | None:
    """What a system is ranked by: one that never lost or tied stands above every finite Q."""
    score = row["score"]
    if score is None and row["n"]:
        return math.inf
    return score if isinstance(score, float) else None


def _row(found: Outcomes, system: int, opponent: int | None, score: str, options: LeaderboardOptions) -> Row:
    values, users, position = found.of(system, opponent)
    counts = tally(values)
    estimates = outcome_estimates(values, users, resamples=options.resamples, seed=options.seed)
    return _counts(counts, int(position.sum())) | _figures(estimates, score)


def _counts(counts: Tally, position_ties: int) -> Row:
    return {
        "wins": counts.wins,
        "ties": counts.ties,
        "losses": counts.losses,
        "position_ties": position_ties,
        "failed": counts.failed,
        "n": counts.n,
    }


def _figures(estimates: dict[str, Estimate], score: str) -> Row:
    chosen = estimates.get(score, undefined("no cases"))
    return {
        "q": estimates["q"].value,
        "win_rate": estimates["win_rate"].value,
        "score": chosen.value,
        "ci_low": chosen.ci_low,
        "ci_high": chosen.ci_high,
        "note": chosen.note or estimates["q"].note,
    }


def _shares(db: Database, project_id: int, ratings: Ratings, options: LeaderboardOptions) -> Table:
    questions = ranked_questions(ratings, options.protocol)
    return share_table(
        db,
        project_id,
        ratings,
        questions,
        options.protocol,
        resamples=options.resamples,
        seed=options.seed,
    )


_Q = "score = Q = (wins + ties) / (losses + ties), users resampled; above 1: more wins than losses"
_WIN_RATE = "score = win rate = (wins + ties / 2) / n, users resampled"

# a further method (Bradley-Terry, Elo) is one more line
METHODS: dict[str, Method] = {
    "q": Method(_Q, True, _by_outcome("q", "q", _Q)),
    "winrate": Method(_WIN_RATE, True, _by_outcome("winrate", "win_rate", _WIN_RATE)),
    "share": Method("shares of the labels of each system", False, _shares),
}
