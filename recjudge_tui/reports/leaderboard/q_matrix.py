"""The matrix of Q: each system against each of its opponents, and whether wins and losses differ."""

from __future__ import annotations

from recjudge_tui.reports.common.estimate_cells import interval_columns
from recjudge_tui.reports.common.missing_notes import earlier_notes, no_pairs
from recjudge_tui.reports.common.scales import origin_notes, rater_notes
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.leaderboard.battles import Battles, battles
from recjudge_tui.reports.leaderboard.crowd import crowd_notes
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions, board_ratings, ranked_questions
from recjudge_tui.reports.leaderboard.rows import TIES_NOTE, pair_rows
from recjudge_tui.reports.leaderboard.scores import q_scores
from recjudge_tui.store.database import Database

_COLUMNS = (
    Column("system", "System"),
    Column("opponent", "Against"),
    Column("rater", "Rater"),
    Column("aspect", "Aspect"),
    Column("wins", "Wins", "int"),
    Column("ties", "Ties", "int"),
    Column("losses", "Losses", "int"),
    Column("position_ties", "Pos. ties", "int", minor=True),
    Column("failed", "Failed", "int", minor=True),
    Column("n", "n", "int", minor=True),
    Column("q", "Q", "float"),
    *interval_columns(),
    Column("win_rate", "Win rate", "share", minor=True),
    Column("users_for", "Users for", "int", minor=True),
    Column("users_against", "Users against", "int", minor=True),
    Column("p_holm", "p (Holm)", "float", decimals=4),
    Column("p", "p", "float", minor=True, decimals=4),
    Column("note", "Note"),
)
_Q_NOTE = "Q = (wins + ties) / (losses + ties) of the first system against the second, intervals over users"
_P_NOTE = (
    "p: two systems by sign flips of the users' means; more by the contrast of their Bradley-Terry ratings over its standard"
    " error over users; Holm-adjusted over all pairs of systems compared by one rater on one aspect"
)


def q_matrix_table(db: Database, project_id: int, options: LeaderboardOptions, _: int = 0) -> Table:
    """One row per rater, aspect, system and opponent, systems in the order of their rank by Q.

    Raises whatever `board_ratings` raises.
    """
    ratings = board_ratings(db, project_id, options)
    questions = ranked_questions(ratings, options.protocol)
    rows: list[Row] = []
    for question in questions:
        contests = battles(ratings, question, options.selection.groups)
        rows += _rows(contests)
    notes = [_Q_NOTE, TIES_NOTE, _P_NOTE] if rows else [no_pairs(ratings)]
    notes += earlier_notes(ratings, questions)
    notes += rater_notes(ratings.raters[q.rater] for q in questions)
    notes += [*crowd_notes(ratings), *origin_notes(db, project_id, ratings.single_questions)]
    settings = {"protocol": options.protocol}
    return Table(f"Q matrix: {options.protocol}", _COLUMNS, tuple(rows), tuple(notes), settings)


def _rows(battles: Battles) -> list[Row]:
    places = q_scores(battles).places
    order = sorted(
        range(len(battles.systems)),
        key=lambda at: (places[at] is None, places[at] or 0, battles.systems[at]),
    )
    tested = _tests(battles)
    names = {column.name for column in _COLUMNS}
    rows: list[Row] = []
    for row in pair_rows(battles, "q", order):
        pair = str(row["system"]), str(row["opponent"])
        rows.append(
            {name: value for name, value in row.items() if name in names} | tested.get(pair, _UNTESTED)
        )
    return rows


_UNTESTED: Row = {"users_for": 0, "users_against": 0, "p": None, "p_holm": None}


def _tests(battles: Battles) -> dict[tuple[str, str], Row]:
    """The test of each pair of systems that met, from both sides."""
    out: dict[tuple[str, str], Row] = {}
    total = battles.counts.total
    users = battles.counts.users_for_and_against().tolist()
    for first, second, sides in zip(total.first.tolist(), total.second.tolist(), users, strict=True):
        test = battles.tests[first, second]
        for pair, (users_for, users_against) in (((first, second), sides), ((second, first), sides[::-1])):
            out[battles.systems[pair[0]], battles.systems[pair[1]]] = {
                "users_for": users_for,
                "users_against": users_against,
                "p": test.p,
                "p_holm": test.p_holm,
            }
    return out
