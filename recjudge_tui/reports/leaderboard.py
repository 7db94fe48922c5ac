"""The leaderboard of pairs of lists: rankings by win rate, Q or Bradley-Terry, and the matrix of pairs.

Lists and texts judged alone are ranked in `means`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, takewhile
from math import comb
from typing import Literal

import numpy as np

from recjudge_tui.domain.protocols import compares_lists, protocol_facts
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports import means
from recjudge_tui.reports.common.estimate_cells import interval_columns
from recjudge_tui.reports.common.table import (
    Column,
    Note,
    Row,
    Table,
    cells_of,
    columns,
    definition,
    real,
    seen_first,
)
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.early_stopping import decided_notes
from recjudge_tui.reports.sanity import Sanity, sanity
from recjudge_tui.reports.side_by_side import q_metrics, side_by_side
from recjudge_tui.reports.words import about_base, interval_text, no_pairs, origin_notes, rater_notes, short
from recjudge_tui.shapes import Base, Battles, base, battles
from recjudge_tui.stats.arrays import FloatArray, none_if_nan
from recjudge_tui.stats.defaults import ALPHA, POWER
from recjudge_tui.stats.estimate import Interval
from recjudge_tui.stats.ranking import (
    NEVER_LOST,
    NO_CASES,
    CountTies,
    Neighbours,
    Ties,
    bradley_terry,
    neighbours,
    pair_intervals,
    q_of,
    rank_ranges,
    ranks,
    rating_intervals,
    system_intervals,
    win_rate_of,
)

_COUNTED = columns(
    "system opponent rater aspect",
    Column("rank", "Rank", "int"), Column("rank_low", "Rank from", "int", minor=True),
    Column("rank_high", "Rank to", "int", minor=True), Column("wins", "Wins", "int"), Column("ties", "Ties", "int"),
    Column("losses", "Losses", "int"), Column("position_ties", "Pos. ties", "int"), "failed? n?",
    Column("q", "Q", "float", minor=True), Column("win_rate", "Win rate", "share"), "users?",
)  # fmt: skip
_SCORED = (Column("score", "Score", "float"), *interval_columns())
COLUMNS = (*_COUNTED, *_SCORED, *columns(Column("ndcg", "nDCG", "float", minor=True), "note"))
_MOST_NAMED = 3


@dataclass(frozen=True)
class Method:
    """A way to rank: what it computes, what a cell is called and how it is shown (points have no decimals)."""

    about: str
    label: str
    kind: str


METHODS: dict[str, Method] = {
    "winrate": Method("win rate = (wins + ties / 2) / n, unless ties are counted otherwise", "win %", "share"),
    "q": Method("Q = (wins + ties) / (losses + ties); above 1: more wins than losses", "Q", "float"),
    "bt": Method(
        "Bradley and Terry's rating: 400 points are odds of 10:1, the mean is 1000; ties by Davidson's model (1970), or as"
        " half a win of each",
        "rating", "points",
    ),
}  # fmt: skip
_ALONE = ("share", "mean")


def methods_of(protocol: str) -> tuple[str, ...]:
    """The methods that rank by a protocol, the usual one first."""
    if compares_lists(protocol):
        return tuple(METHODS)
    usual = _USUAL[protocol_facts(protocol).leaderboard]
    return (usual, *(method for method in _ALONE if method != usual))


_USUAL = {"wins": "winrate", "means": "mean", "shares": "share"}


def leaderboard(project: Project, choose: Options) -> Table:
    """One of the tables of a leaderboard. Raises UsageError for a method or table that does not fit the protocol."""
    of_pairs = compares_lists(choose.protocol)
    method = choose.method or _USUAL[protocol_facts(choose.protocol).leaderboard]
    _check(choose, method, of_pairs)
    if not of_pairs and choose.table == "pairs":
        return means.pairs(project, choose)
    if not of_pairs:
        return means.board(project, choose, method)
    tables: dict[str, Callable[[Project, Options], Table]] = {
        "matrix": matrix, "pairs": matrix, "metrics": q_metrics, "side-by-side": side_by_side,
    }  # fmt: skip
    return tables.get(choose.table, ranking)(project, choose.but(method=method))


def _check(choose: Options, method: str, of_pairs: bool) -> None:
    known = (*METHODS, *_ALONE)
    if method not in known:
        raise UsageError(f"no method “{method}”", f"Available: {', '.join(known)}.")
    if (method in METHODS) != of_pairs:
        fitting = ", ".join(METHODS if of_pairs else _ALONE)
        raise UsageError(f"method “{method}” does not fit {choose.protocol}", f"Available: {fitting}.")
    if choose.k is not None and choose.table != "metrics":
        raise UsageError(
            f"k is the cutoff of offline metrics, which table “{choose.table}” does not have",
            "Leave k out, or choose the table “metrics”.",
        )
    table = f"table “{choose.table}”"
    if choose.table in ("matrix", "metrics", "side-by-side") and not of_pairs:
        raise UsageError(f"{table} needs verdicts on two lists, which {choose.protocol} does not give")
    if choose.crowd and choose.table in ("metrics", "side-by-side"):
        raise UsageError(f"{table} is not available for a crowd", "Use the ranking or the matrix.")


# ---- scores ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scores:
    """One method's figures: `value` (systems,), NaN if undefined with the reason in `notes`; the ranking `places`, an
    interval each, and one note on all."""

    value: FloatArray
    notes: Sequence[str]
    places: Sequence[int | None]
    intervals: Sequence[Interval]
    about: str = ""


def scores(
    contests: Battles, method: str, *, ties: Ties = "davidson", count_ties: CountTies = "half"
) -> Scores:
    """The systems of one question by a method of METHODS."""
    tallies = contests.counts.total.tallies()
    met = np.asarray(tallies.any(axis=1))
    if method == "bt":
        fit = bradley_terry(contests.counts.total, ties)
        intervals = rating_intervals(contests.counts, fit)
        tie = f"Davidson's tie parameter {fit.tie:.3f}" if fit.tie else ""
        return Scores(fit.ratings, fit.connectivity.notes, fit.places(), intervals, tie)
    figure: Literal["q", "win_rate"] = "q" if method == "q" else "win_rate"
    value = q_of(tallies) if figure == "q" else win_rate_of(tallies, count_ties)
    # a system that never lost is first by Q, although its Q is not finite
    unbeaten = met & (figure == "q")
    known = [
        (np.inf if first else None) if np.isnan(number) else float(number) if figure == "q" else round(float(number), 9)
        for number, first in zip(value, unbeaten, strict=True)
    ]  # fmt: skip
    reasons = [NEVER_LOST if first else NO_CASES for first in unbeaten]
    notes = [why if np.isnan(number) else "" for number, why in zip(value, reasons, strict=True)]
    intervals = system_intervals(contests.counts, figure, count_ties=count_ties)
    return Scores(value, notes, ranks(known), intervals, unmet(contests))


def unmet(contests: Battles) -> str:
    """A note on systems that were judged but never against each other: their ranks depend on different opponents."""
    total = contests.counts.total
    judged = np.flatnonzero(total.tallies().any(axis=1)).tolist()
    met = set(zip(total.first.tolist(), total.second.tolist(), strict=True))
    never = [pair for pair in combinations(judged, 2) if pair not in met]
    if not never:
        return ""
    named = [" and ".join(contests.systems[at] for at in pair) for pair in never[:_MOST_NAMED]]
    named += ["..."] if len(never) > len(named) else []
    return (
        f"{len(never)} of {quantity(comb(len(judged), 2), 'pair')} of systems never met ({', '.join(named)}): their ranks"
        " depend on different opponents"
    )


@dataclass(frozen=True)
class Board:
    """One question ranked: its systems best first, with the tests of neighbours and what its judge's verdicts are worth."""

    contests: Battles
    scores: Scores
    order: list[int]
    tested: list[Neighbours]
    ranges: Mapping[int, tuple[int, int]]
    sanity: Sanity

    @property
    def question(self) -> str:
        return f"{self.contests.question.rater}, {self.contests.question.aspect}"


def boards(
    chosen: Base, method: str, *, ties: Ties = "davidson", count_ties: CountTies = "half"
) -> Iterator[Board]:
    """Every question of the base, ranked; a judge whose verdicts say nothing ranks nobody."""
    for question in chosen.questions:
        contests = battles(chosen.ratings, question, chosen.selection.groups)
        scored = scores(contests, method, ties=ties, count_ties=count_ties)
        sane = sanity(chosen, question)
        if sane.worthless:
            scored = replace(scored, places=[None] * len(contests.systems))
        placed = _by_place(contests, scored.places)
        order = [at for at in placed if scored.places[at] is not None]
        tests = {} if sane.worthless else contests.tests
        tested = neighbours(order, tests, contests.groups)
        yield Board(contests, scored, placed, tested, rank_ranges(order, tests, contests.groups), sane)


def _by_place(contests: Battles, places: Sequence[int | None]) -> list[int]:
    """The systems, best first, those without a place last."""
    return sorted(
        range(len(contests.systems)),
        key=lambda at: (places[at] is None, places[at] or 0, contests.systems[at]),
    )


# ---- the ranking -----------------------------------------------------------------------------------------------------


def ranking(project: Project, choose: Options) -> Table:
    """One row per system (opponent None, ranked); by winrate and q, with more than two systems, also one per system and
    opponent. `facts["neighbours"]`: the tests behind the order."""
    chosen = base(project, choose.selection())
    method = METHODS[choose.method]
    ranked = list(boards(chosen, choose.method, ties=choose.ties, count_ties=choose.count_ties))
    beside = _ndcg(chosen, ranked)
    rows: list[Row] = []
    for board, ndcg in zip(ranked, beside, strict=True):
        rows += [_row(board, at, ndcg) for at in board.order]
        if choose.method != "bt" and len(board.contests.systems) > 2:
            rows += pair_rows(board.contests, choose.method, board.order, choose.count_ties)
    lines = [Note(line, "warning") for board in ranked for line in board.sanity.lines]
    lines += [Note(f"{b.question}: {b.scores.about}") for b in ranked if b.scores.about]
    lines += [] if rows else [Note(no_pairs(chosen))]
    lines += [*about_base(chosen), *decided_notes(chosen), *origin_notes(chosen), *rater_notes(chosen)]
    lines += [definition(f"score: {method.about}"), *_DEFINITIONS] if rows else []
    facts = {"neighbours": [fact for board in ranked for fact in neighbour_facts(board)]}
    shown = [replace(c, decimals=1) if choose.method == "bt" and c in _SCORED else c for c in COLUMNS]
    title, settings = f"Leaderboard: {choose.protocol}", {"method": choose.method}
    table = Table(title, tuple(shown), tuple(rows), tuple(lines), settings, facts, answer(ranked, beside))
    return replace(table, brief=_brief(table, ranked, method))


_DEFINITIONS = (
    definition(
        "ties include position ties ⇄ (the two orders disagreed); failed verdicts are not in n; intervals are over users"
    ),
    definition(
        f"separable: two systems by sign flips of the users' means; more by a Wald test of neighbours in the Bradley-Terry"
        f" fit with a sandwich variance over users; p < {ALPHA:g} after Holm's correction over neighbours"
    ),
    definition(
        f"more users: the normal formula of the same test at power {POWER:.0%}, if the observed difference is the true one"
    ),
    definition("rank range: the ranks that the tests of all pairs cannot rule out"),
)


def _row(board: Board, at: int, ndcg: dict[str, float | None]) -> Row:
    contests, scored = board.contests, board.scores
    counts = contests.counts.total.tallies()[at]
    value = none_if_nan(float(scored.value[at]))
    others = [other for other in range(len(contests.systems)) if other != at]
    low, high = board.ranges.get(at, (None, None))
    interval = Interval(None, None) if value is None else scored.intervals[at]
    reason = board.sanity.reason or (scored.notes[at] if value is None else interval.note)
    return _cells(
        contests, at, None, counts, contests.position_ties[at, others].sum(), contests.failed[at, others].sum(),
        value, interval, reason,
    ) | {
        "rank": scored.places[at], "rank_low": low, "rank_high": high, "ndcg": ndcg.get(contests.systems[at]),
        "users": int(contests.counts.users_of_systems[at]),
    }  # fmt: skip


def pair_rows(
    contests: Battles, method: str, order: Sequence[int], ties: CountTies = "half"
) -> Iterator[Row]:
    """Each system in `order` against each of its opponents, scored by winrate or q."""
    total, users = contests.counts.total, contests.counts.users_of_pairs
    intervals = pair_intervals(contests.counts, "q" if method == "q" else "win_rate", count_ties=ties)
    column = {(int(a), int(b)): at for at, (a, b) in enumerate(zip(total.first, total.second, strict=True))}
    for system in order:
        for other in range(len(contests.systems)):
            if other == system or not contests.met(system, other):
                continue
            counts = contests.grid[system, other]
            value = none_if_nan(float(q_of(counts) if method == "q" else win_rate_of(counts, ties)))
            at = column.get((min(system, other), max(system, other)))
            interval = (
                Interval(None, None) if value is None or at is None else intervals[at][int(system > other)]
            )
            reason = interval.note if value is not None else NEVER_LOST if counts.any() else NO_CASES
            ties_apart, failed = contests.position_ties[system, other], contests.failed[system, other]
            row = _cells(contests, system, other, counts, ties_apart, failed, value, interval, reason)
            yield row | {"users": 0 if at is None else int(users[at])}


def _cells(
    contests: Battles, system: int, other: int | None, counts: FloatArray, position_ties: np.int64, failed: np.int64,
    value: float | None, interval: Interval, reason: str,
) -> Row:  # fmt: skip
    """The cells of a system's counts and score against one other, or against all (None)."""
    wins, ties, losses = (int(count) for count in counts)
    q = none_if_nan(float(q_of(counts)))
    return {
        "system": contests.systems[system], "opponent": None if other is None else contests.systems[other],
        "rater": contests.question.rater, "aspect": contests.question.aspect, "rank": None,
        "wins": wins, "ties": ties, "losses": losses, "position_ties": int(position_ties), "failed": int(failed),
        "n": wins + ties + losses, "q": q, "win_rate": none_if_nan(float(win_rate_of(counts))), "score": value,
        "ci_low": interval.low, "ci_high": interval.high,
        "note": reason or (NO_CASES if not counts.any() else NEVER_LOST if q is None else ""),
    }  # fmt: skip


def _ndcg(chosen: Base, ranked: Sequence[Board]) -> list[dict[str, float | None]]:
    """For each board nDCG@10 of the lists that its rater judged, by system; empty where nothing is held out."""
    from recjudge_tui.reports.metrics import JudgedLists

    judged = JudgedLists.where_held_out(chosen)
    if judged is None:
        return [{} for _ in ranked]
    return [judged.values(chosen.ratings.verdicts[board.contests.question].row, "ndcg") for board in ranked]


def _brief(table: Table, ranked: Sequence[Board], method: Method) -> Table:
    """The rows that people read first: place, score with its interval, wins, ties (position ties among them), losses."""
    rows = [
        row | {
            "place": place_text(row), "interval": interval_text(row, method.kind),
            "ties": f"{row['ties']} ({row['position_ties']})",
            "ndcg": None if row["ndcg"] is None else short(real(row, "ndcg"), 3),
            # a share in percent
            "score": 100 * s if isinstance(s := row["score"], float) and method.kind == "share" else s,
        }
        for row in table.rows
        if row["opponent"] is None
    ]  # fmt: skip
    one = len(ranked) == 1
    who = () if one else (Column("rater", "rater"), Column("aspect", "aspect"))
    decimals = {"share": 1, "points": 0}.get(method.kind, 3)
    ndcg = (Column("ndcg", "nDCG", minor=True),) if any(row["ndcg"] is not None for row in rows) else ()
    shown = (
        Column("place", "rank"), Column("system", "system"), *who,
        Column("score", method.label, "float", decimals=decimals), Column("interval", "95 % CI"),
        Column("wins", "W", "int"), Column("ties", "T (⇄)"), Column("losses", "L", "int"), *ndcg, Column("note", "Note"),
    )  # fmt: skip
    return Table(about_rater(ranked[0]) if one else table.title, shown, cells_of(shown, rows))


def about_rater(board: Board) -> str:
    """`rules · not a language model · pairwise overall`."""
    question = board.contests.question
    kind = f"{board.sanity.kind_words} · " if board.sanity.kind_words else ""
    users = quantity(board.contests.counts.count, "user")
    return f"{question.rater} · {kind}{question.protocol} {question.aspect} · {users}"


def place_text(row: Row) -> str:
    """`1-2`, the ranks that the tests allow; `–` without a rank."""
    low, high = row.get("rank_low"), row.get("rank_high")
    if row["rank"] is None:
        return "–"
    return str(row["rank"]) if low is None or low == high else f"{low}-{high}"


# ---- the answer ------------------------------------------------------------------------------------------------------


def answer(ranked: Sequence[Board], ndcg: Sequence[dict[str, float | None]]) -> str:
    """What the first board says, in one sentence; nDCG, where it puts another system last or first."""
    if not ranked:
        return ""
    board, beside = ranked[0], ndcg[0]
    if board.sanity.worthless:
        return f"{board.contests.question.rater} ranks nobody: {board.sanity.reason}."
    if not board.tested:
        return ""
    names, users = board.contests.systems, quantity(board.contests.counts.count, "user")
    first = board.tested[0]
    leader = names[first.upper]
    if first.separable:
        text = f"{leader} leads, ahead of {names[first.lower]} on {users} (p {p_text(first.p_holm)})."
    else:
        close = [pair.lower for pair in takewhile(lambda pair: not pair.separable, board.tested)]
        others = ", ".join(names[at] for at in close[:_MOST_NAMED])
        others += " and others" if len(close) > _MOST_NAMED else ""
        needed = more_users(first)
        more = "" if needed is None else f"; about {quantity(needed, 'more user')} would tell"
        p = f" (p {p_text(first.p_holm)}{more})" if first.p_holm is not None else f" ({first.note})"
        text = f"{leader} leads, not separable from {others} on {users}{p}."
    return text + _disagreement(board, beside)


def _disagreement(board: Board, ndcg: dict[str, float | None]) -> str:
    known = {name: value for name, value in ndcg.items() if value is not None}
    placed = [board.contests.systems[at] for at in board.order if board.contests.systems[at] in known]
    if len(placed) < 2:
        return ""
    by_metric = sorted(placed, key=lambda name: (-known[name], name))
    if by_metric[0] != placed[0] and known[by_metric[0]] > known[placed[0]]:
        return f" nDCG disagrees: {by_metric[0]} is first."
    if by_metric[-1] != placed[-1] and known[by_metric[-1]] < known[placed[-1]]:
        return f" nDCG disagrees: {by_metric[-1]} is last."
    return ""


def p_text(p: float | None) -> str:
    """`.25`, `< .001`."""
    return "–" if p is None else "< .001" if p < 0.001 else f"{p:.2g}".removeprefix("0")


def more_users(pair: Neighbours) -> int | None:
    """About how many more users would separate the two, rounded up to two digits because it is a rough guide."""
    if pair.more is None:
        return None
    step = int(10 ** max(0, len(str(pair.more)) - 2))
    return -(-pair.more // step) * step


def neighbour_facts(board: Board) -> list[dict[str, object]]:
    """The tests of neighbours as data; the counts are those of the upper system against the lower one. `more` users would
    separate the two, None where they are separable or where no practical number would do."""
    facts: list[dict[str, object]] = []
    for pair in board.tested:
        won, tied, lost = (int(count) for count in board.contests.grid[pair.upper, pair.lower])
        upper, lower = (board.contests.systems[at] for at in (pair.upper, pair.lower))
        facts.append({
            "rater": board.contests.question.rater, "aspect": board.contests.question.aspect, "upper": upper, "lower": lower,
            "separable": pair.separable, "won": won, "tied": tied, "lost": lost, "p": pair.p_holm,
            "more": more_users(pair), "note": pair.note,
        })  # fmt: skip
    return facts


# ---- the matrix ------------------------------------------------------------------------------------------------------

_MATRIX = (
    *(column for column in _COUNTED if not column.name.startswith("rank")), *interval_columns(),
    *columns(Column("lead", "Lead", "float", minor=True), "p_holm p? note"),
)  # fmt: skip


_ABOUT_MATRIX = """\
Q = (wins + ties) / (losses + ties) of the first system against the second, interval over users
lead: of two systems the mean of the users' outcomes (1 win, -1 loss), of more the difference of the ratings;\
 p: its test, Holm's correction over all pairs of one rater and aspect""".splitlines()


def matrix(project: Project, choose: Options) -> Table:
    """One row per rater, aspect, system and opponent, systems in the order of their rank by Q, with the test of each two."""
    chosen = base(project, choose.selection())
    rows: list[Row] = []
    for question in chosen.questions:
        contests = battles(chosen.ratings, question, chosen.selection.groups)
        order = _by_place(contests, scores(contests, "q").places)
        tested = {}
        for test in contests.tests.values():
            for a, b in ((test.first, test.second), (test.second, test.first)):
                cells = {"lead": test.ahead(a), "p": test.p, "p_holm": test.p_holm}
                tested[contests.systems[a], contests.systems[b]] = cells
        of_pairs = pair_rows(contests, "q", order)
        rows += [row | tested.get((str(row["system"]), str(row["opponent"])), {}) for row in of_pairs]
    lines = [] if rows else [Note(no_pairs(chosen))]
    lines += [*about_base(chosen), *origin_notes(chosen), *rater_notes(chosen)]
    lines += map(definition, _ABOUT_MATRIX)
    answer = ""
    if (first := next((row for row in rows if row["q"] is not None), None)) is not None:
        answer = f"{first['rater']} prefers {first['system']} to {first['opponent']} with Q {first['q']:.2f}"
        answer += f" [{interval_text(first, 'float')}]: {first['wins']} won, {first['ties']} tied, {first['losses']} lost."
    table = Table(
        f"Q matrix: {choose.protocol}", _MATRIX, cells_of(_MATRIX, rows), tuple(lines), answer=answer
    )
    return seen_first(table, "system opponent rater aspect wins ties losses q ci_low ci_high p_holm note")
