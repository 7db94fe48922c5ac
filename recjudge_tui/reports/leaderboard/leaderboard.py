"""Ranks systems: by wins, ties and losses with a score, or by the shares of labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from recjudge_tui.domain.protocols import OVERALL, LeaderboardKind, compares_lists, protocol_facts
from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.missing_notes import earlier_notes, no_pairs
from recjudge_tui.reports.common.scales import (
    origin_notes,
    protocol_questions,
    protocols_meeting,
    rater_notes,
    rater_rank,
)
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.common.usual_raters import UsualQuestions, usual_questions
from recjudge_tui.reports.leaderboard.battles import battles
from recjudge_tui.reports.leaderboard.crowd import as_crowd, crowd_notes, crowd_raters
from recjudge_tui.reports.leaderboard.early_stopping import decided_notes
from recjudge_tui.reports.leaderboard.label_shares import share_table
from recjudge_tui.reports.leaderboard.mean_scores import ABOUT, mean_table
from recjudge_tui.reports.leaderboard.rows import (
    COLUMNS,
    RATING_COLUMNS,
    TIES_NOTE,
    WIN_RATE_COLUMNS,
    board_rows,
)
from recjudge_tui.reports.leaderboard.scores import (
    Scores,
    Scoring,
    bradley_terry_scores,
    q_scores,
    win_rate_scores,
)
from recjudge_tui.reports.leaderboard.separable import (
    MORE_NOTE,
    SEPARABLE_NOTE,
    neighbour_facts,
    separability_notes,
)
from recjudge_tui.stats.ranking import Ties
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters.raters import rater_row
from recjudge_tui.store.verdicts.ratings import (
    Question,
    Ratings,
    load_questions,
    newest_lists,
    project_questions,
    project_raters,
)


@dataclass(frozen=True)
class LeaderboardOptions:
    """`method` empty: q for pairs of lists, mean for scores (absolute, explanation), share for the rest. `raters` empty
    and `aspect` None: all of them, of raters without readers and people with few labels unless `readers`.

    `crowd`: these raters' verdicts make one board, ALL_PEOPLE of all annotators. `ties` is for bt.
    """

    protocol: str
    raters: tuple[str, ...] = ()
    aspect: str | None = None
    method: str = ""
    ties: Ties = "davidson"
    selection: CaseSelection = EVERY_CASE
    crowd: tuple[str, ...] = ()
    readers: bool = False


Builder = Callable[[Database, int, Ratings, LeaderboardOptions], Table]


class Method(NamedTuple):
    """One way to rank, for pairs of lists or for single judgements, and the function that makes the table."""

    about: str
    of_pairs: bool
    build: Builder


def leaderboard_table(db: Database, project_id: int, options: LeaderboardOptions) -> Table:
    """One row per system (opponent None, ranked); by q and winrate, with more than two systems, also one per system
    and opponent.

    For `share`: one row per system, rater and label; for `mean`: one per system and rater. Raises UsageError for an
    unknown protocol or method, a method that does not fit the protocol, or an aspect without verdicts; NotFoundError
    for an unknown rater.
    """
    protocols_meeting(options.protocol)
    of_pairs = compares_lists(options.protocol)
    name = options.method or _USUAL[protocol_facts(options.protocol).leaderboard]
    if name not in METHODS:
        raise UsageError(f"no method “{name}”", f"Available: {', '.join(METHODS)}.")
    if METHODS[name].of_pairs != of_pairs:
        fitting = [key for key, method in METHODS.items() if method.of_pairs == of_pairs]
        raise UsageError(
            f"method “{name}” does not fit {options.protocol}",
            next_step=f"Use {', '.join(fitting[:-1])} or {fitting[-1]}.",
        )
    questions = board_questions(db, project_id, options)
    ratings = _ratings_of(db, project_id, options, questions)
    table = METHODS[name].build(db, project_id, ratings, options)
    about_runs = (
        *crowd_notes(ratings),
        *origin_notes(db, project_id, ratings.single_questions),
        *decided_notes(db, project_id, ratings.single_questions),
    )
    return replace(table, notes=(*table.notes, *about_runs, *questions.notes()))


def board_ratings(db: Database, project_id: int, options: LeaderboardOptions) -> Ratings:
    """The verdicts of a leaderboard; raises as `board_questions`."""
    return _ratings_of(db, project_id, options, board_questions(db, project_id, options))


def _ratings_of(
    db: Database, project_id: int, options: LeaderboardOptions, questions: UsualQuestions
) -> Ratings:
    ratings = newest_lists(load_questions(db, project_id, questions.kept, options.selection))
    return as_crowd(ratings) if options.crowd else ratings


def board_questions(db: Database, project_id: int, options: LeaderboardOptions) -> UsualQuestions:
    """The questions that a leaderboard ranks by, and those that it leaves out unless asked for them.

    Raises UsageError for an unknown protocol or an aspect without verdicts, NotFoundError for an unknown rater.
    """
    if options.raters and options.crowd:
        raise UsageError(
            "a leaderboard shows single raters or a crowd, not both", next_step="Leave out one of them."
        )
    for rater in options.raters:
        rater_row(db, project_id, rater)
    protocols, every = protocols_meeting(options.protocol), project_questions(db, project_id)
    if options.aspect is not None:
        _check_aspect(every, protocols, options.aspect)
    asked = [
        question
        for question in every
        if (protocols is None or question.protocol in protocols) and options.aspect in (None, question.aspect)
    ]
    named = options.raters or crowd_raters(db, project_id, options.crowd)
    if named or options.readers:
        return UsualQuestions(tuple(q for q in asked if not named or q.rater in named))
    return usual_questions(db, project_id, asked, project_raters(db, project_id))


def _check_aspect(questions: Iterable[Question], protocols: Collection[str] | None, aspect: str) -> None:
    known = sorted(
        {question.aspect for question in questions if protocols is None or question.protocol in protocols}
    )
    if known and aspect not in known:
        raise UsageError(f"there are no verdicts on an aspect “{aspect}”", f"Available: {', '.join(known)}.")


def ranked_questions(ratings: Ratings, protocol: str) -> list[Question]:
    """The questions of a protocol by aspect (overall first), judges before people."""
    questions = protocol_questions(ratings.verdicts, ratings.raters, protocol)
    return sorted(
        questions,
        key=lambda q: (q.aspect != OVERALL, q.aspect, rater_rank(ratings.raters[q.rater]), q.protocol),
    )


def _by_score(method: str, scoring: Scoring, about: str, *, pairs: bool) -> Builder:
    """`pairs`: the method also scores a system against each opponent."""

    def build(_: Database, __: int, ratings: Ratings, options: LeaderboardOptions) -> Table:
        rows: list[Row] = []
        lines: list[str] = []
        facts: list[dict[str, object]] = []
        tested = counted = False
        questions = ranked_questions(ratings, options.protocol)
        for question in questions:
            contests = battles(ratings, question, options.selection.groups)
            scores = scoring(contests, options.ties)
            rows += board_rows(contests, scores, method if pairs else None)
            close_calls, some = separability_notes(contests, scores)
            facts += neighbour_facts(contests, scores)
            lines += _about(question, scores) + close_calls
            tested, counted = tested or bool(close_calls), counted or some
        notes = [TIES_NOTE, about, *lines] if rows else [no_pairs(ratings)]
        notes += [SEPARABLE_NOTE] if tested else []
        notes += [MORE_NOTE] if counted else []
        notes += earlier_notes(ratings, questions)
        notes += rater_notes(ratings.raters[q.rater] for q in questions)
        settings = {"protocol": options.protocol, "method": method}
        settings |= {"ties": options.ties} if method == "bt" else {}
        columns = COLUMNS if method == "q" else WIN_RATE_COLUMNS if pairs else RATING_COLUMNS
        title = f"Leaderboard: {options.protocol}"
        return Table(title, columns, tuple(rows), tuple(notes), settings, {"neighbours": facts})

    return build


def _about(question: Question, scores: Scores) -> list[str]:
    return [f"{question.rater}, {question.aspect}: {scores.about}"] if scores.about else []


def _by_aspect(make: Callable[..., Table], *, corrected: bool) -> Builder:
    """Tables of lists judged alone. `corrected`: its tests allow for the number of groups examined."""

    def build(db: Database, project_id: int, ratings: Ratings, options: LeaderboardOptions) -> Table:
        return make(
            db,
            project_id,
            ratings,
            ranked_questions(ratings, options.protocol),
            options.protocol,
            **({"groups": options.selection.groups} if corrected else {}),
        )

    return build


_USUAL: dict[LeaderboardKind, str] = {"wins": "q", "means": "mean", "shares": "share"}
_Q = "score = Q = (wins + ties) / (losses + ties), interval over users; above 1: more wins than losses"
_WIN_RATE = "score = win rate = (wins + ties / 2) / n, interval over users"
_BT = (
    "score = Bradley and Terry's rating, 400 points for odds of 10:1, mean 1000 over the rated systems, interval over users;"
    " ties by Davidson's model (1970) or as half a win of each, as the settings say"
)
# a new method needs one more line
METHODS: dict[str, Method] = {
    "q": Method(_Q, True, _by_score("q", q_scores, _Q, pairs=True)),
    "winrate": Method(_WIN_RATE, True, _by_score("winrate", win_rate_scores, _WIN_RATE, pairs=True)),
    "bt": Method(_BT, True, _by_score("bt", bradley_terry_scores, _BT, pairs=False)),
    "mean": Method(ABOUT, False, _by_aspect(mean_table, corrected=True)),
    "share": Method("shares of the labels of each system", False, _by_aspect(share_table, corrected=False)),
}
