"""The leaderboard of pairs of lists: rankings by win rate, Q or Bradley-Terry, the matrix of pairs, and a judge's ranking
beside offline metrics and absolute scores. Lists and texts judged alone are ranked in `means`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby, takewhile
from math import comb
from typing import Literal, NamedTuple

import numpy as np

from recjudge_tui.domain.protocols import OVERALL, compares_lists, protocol_facts
from recjudge_tui.domain.selection import Selection
from recjudge_tui.domain.text import quantity, short
from recjudge_tui.errors import UsageError, check_known
from recjudge_tui.project import Project
from recjudge_tui.reports import means, words
from recjudge_tui.reports.common.rows import cells_of, real, seen_first, whole
from recjudge_tui.reports.common.table import Note, Row, Table, columns, definition, definitions
from recjudge_tui.reports.controls import controlled
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.early_stopping import decided_notes
from recjudge_tui.reports.metrics import JudgedLists
from recjudge_tui.reports.sanity import Sanity, sanity
from recjudge_tui.reports.slices import slices
from recjudge_tui.shapes import Base, Battles, base, battles, generation_notes
from recjudge_tui.stats import ranking as fits
from recjudge_tui.stats.agreement import FEWEST, association, min_max, orders_agree
from recjudge_tui.stats.arrays import FloatArray, none_if_nan
from recjudge_tui.stats.defaults import ALPHA, EVEN, POWER, TOP_K
from recjudge_tui.stats.estimate import Interval, join_notes
from recjudge_tui.stats.hypotheses import holm
from recjudge_tui.store import ratings as rated
from recjudge_tui.store.runs import newest_judges

_WHO = columns("system opponent rater aspect")
_COUNTED = columns(
    "wins|Wins|int", "ties|Ties|int", "losses|Losses|int", "position_ties|Pos. ties|int", "failed? n?", "q|(Q)|float",
    "win_rate|Win rate|share", "users?",
)  # fmt: skip
_SCORED = columns("score|Score|float", "ci_*")
COLUMNS = columns(
    *_WHO, "rank|Rank|int", "rank_low|(Rank from)|int", "rank_high|(Rank to)|int", *_COUNTED, *_SCORED,
    "ndcg|(nDCG)|float", "note",
)  # fmt: skip
_MOST_NAMED = 3


class Method(NamedTuple):
    """A way to rank: what it computes, what a cell is called and how it is shown (points have no decimals)."""

    about: str
    label: str
    kind: str


METHODS = {
    "winrate": Method("win rate = (wins + ties / 2) / n, unless ties are counted otherwise", "win %", "share"),
    "q": Method("Q = (wins + ties) / (losses + ties); above 1: more wins than losses", "Q", "float"),
    "bt": Method(
        "Bradley and Terry's rating: 400 points are odds of 10:1, the mean is 1000; ties by Davidson's model (1970), or as"
        " half a win of each", "rating", "points",
    ),
}  # fmt: skip
_ALONE = ("share", "mean")
_USUAL = {"wins": "winrate", "means": "mean", "shares": "share"}


def methods_of(protocol: str) -> tuple[str, ...]:
    """The methods that rank by a protocol, the usual one first."""
    if compares_lists(protocol):
        return tuple(METHODS)
    usual = _USUAL[protocol_facts(protocol).leaderboard]
    return (usual, *(method for method in _ALONE if method != usual))


def leaderboard(project: Project, choose: Options) -> Table:
    """One of the tables of a leaderboard. Raises UsageError for a method or table that does not fit the protocol."""
    if choose.slices and choose.control:
        raise UsageError("slices are counted without controls", next_step="Leave out one of them.")
    if choose.slices or choose.control:
        return slices(project, choose) if choose.slices else controlled(project, choose)
    of_pairs, fitting = compares_lists(choose.protocol), methods_of(choose.protocol)
    method, table = choose.method or fitting[0], f"table “{choose.table}”"
    check_known("method", [method], (*METHODS, *_ALONE))
    if method not in fitting:
        there = f"Available: {', '.join(fitting)}."
        raise UsageError(f"method “{method}” does not fit {choose.protocol}", there)
    if choose.k is not None and choose.table != "metrics":
        reason = f"k is the cutoff of offline metrics, which {table} does not have"
        raise UsageError(reason, "Leave k out, or choose the table “metrics”.")
    if choose.table in ("matrix", "metrics", "side-by-side") and not of_pairs:
        raise UsageError(f"{table} needs verdicts on two lists, which {choose.protocol} does not give")
    if choose.crowd and choose.table in ("metrics", "side-by-side"):
        raise UsageError(f"{table} is not available for a crowd", "Use the ranking or the matrix.")
    if not of_pairs:
        alone = means.pairs if choose.table == "pairs" else means.board
        return alone(project, choose.but(method=method))
    tables = {"matrix": matrix, "pairs": matrix, "metrics": q_metrics, "side-by-side": side_by_side}
    return tables.get(choose.table, ranking)(project, choose.but(method=method))


# ---- scores ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scores:
    """One method's figures: `value` (systems,), None if undefined with the reason in `notes`; the ranking `places`, an
    interval each, and one note on all."""

    value: Sequence[float | None]
    notes: Sequence[str]
    places: Sequence[int | None]
    intervals: Sequence[Interval]
    about: str = ""


def scores(
    contests: Battles, method: str, *, ties: fits.Ties = "davidson", count_ties: fits.CountTies = "half"
) -> Scores:
    """The systems of one question by a method of METHODS."""
    tallies = contests.counts.total.tallies()
    if method == "bt":
        fit = fits.bradley_terry(contests.counts.total, ties)
        intervals = fits.rating_intervals(contests.counts, fit)
        tie = f"Davidson's tie parameter {fit.tie:.3f}" if fit.tie else ""
        value = [none_if_nan(rating) for rating in fit.ratings]
        return Scores(value, fit.connectivity.notes, fit.places(), intervals, tie)
    figure: Literal["q", "win_rate"] = "q" if method == "q" else "win_rate"
    of_systems = fits.q_of(tallies) if figure == "q" else fits.win_rate_of(tallies, count_ties)
    value = [none_if_nan(x) for x in of_systems]
    # a system that never lost is first by Q, although its Q is not finite
    unbeaten = [figure == "q" and bool(counts.any()) for counts in tallies]
    known = [
        (np.inf if first else None) if x is None else x if figure == "q" else round(x, 9)
        for x, first in zip(value, unbeaten, strict=True)
    ]
    both = zip(value, tallies, strict=True)
    notes = [_undefined(counts, method) if x is None else "" for x, counts in both]
    intervals = fits.system_intervals(contests.counts, figure, count_ties=count_ties)
    return Scores(value, notes, fits.ranks(known), intervals, unmet(contests))


def _undefined(counts: FloatArray, method: str) -> str:
    """Why a Q or win rate of these counts is undefined."""
    return fits.NO_CASES if not counts.any() else fits.NEVER_LOST if method == "q" else fits.ALL_TIES


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
    tested: list[fits.Neighbours]
    ranges: Mapping[int, tuple[int, int]]
    sanity: Sanity


def boards(
    chosen: Base, method: str, *, ties: fits.Ties = "davidson", count_ties: fits.CountTies = "half"
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
        asked = order, tests, contests.groups, scored.places
        yield Board(contests, scored, placed, fits.neighbours(*asked), fits.rank_ranges(*asked), sane)


def _by_place(contests: Battles, places: Sequence[int | None]) -> list[int]:
    """The systems, best first, those without a place last."""
    every = range(len(contests.systems))
    return sorted(every, key=lambda at: (places[at] is None, places[at] or 0, contests.systems[at]))


# ---- the ranking -----------------------------------------------------------------------------------------------------


def ranking(project: Project, choose: Options) -> Table:
    """One row per system (opponent None, ranked); by winrate and q, with more than two systems, also one per system and
    opponent. `facts["neighbours"]`: the tests behind the order."""
    chosen = base(project, choose.selection())
    method = METHODS[choose.method]
    ranked = list(boards(chosen, choose.method, ties=choose.ties, count_ties=choose.count_ties))
    # nDCG@10 of the lists that each rater judged, by system; empty where nothing is held out
    judged, verdicts = JudgedLists.where_held_out(chosen), chosen.ratings.verdicts
    about = [verdicts[board.contests.question].row for board in ranked]
    beside: list[_Values] = [{} if judged is None else judged.values(row, "ndcg") for row in about]
    rows: list[Row] = []
    for board, ndcg in zip(ranked, beside, strict=True):
        contests, scored = board.contests, board.scores
        for at in board.order:
            value, (low, high) = scored.value[at], board.ranges.get(at, (None, None))
            interval = Interval(None, None) if value is None else scored.intervals[at]
            reason = board.sanity.reason or (scored.notes[at] if value is None else interval.note)
            place = scored.places[at]
            if place is not None and low is not None and high is not None and not low <= place <= high:
                reason = join_notes(reason, f"the tests over all battles give it rank {_span(low, high)}")
                low, high = min(low, place), max(high, place)
            rows.append(_cells(contests, at, None, value, interval, reason, choose.count_ties) | {
                "rank": place, "rank_low": low, "rank_high": high, "ndcg": ndcg.get(contests.systems[at]),
                "users": int(contests.counts.users_of_systems[at]),
            })  # fmt: skip
        if choose.method != "bt" and len(contests.systems) > 2:
            rows += pair_rows(contests, choose.method, board.order, choose.count_ties)
    lines: list[str] = [Note(line, "warning") for board in ranked for line in board.sanity.lines]
    even = EVEN.get(choose.method)
    told = [(b.contests.question, b.scores.about) for b in ranked if b.scores.about]
    lines += [f"{question.rater}, {question.aspect}: {about}" for question, about in told]
    disputed = [board.contests.question.rater for board in ranked if _disputed(board, even)]
    lines += [f"{rater}: {_TWO_METHODS}" for rater in disputed]
    lines += [] if rows else [words.no_pairs(chosen)]
    lines += [*decided_notes(chosen), *words.about_base(chosen, origins=True)]
    lines += [definition(f"score: {method.about}"), *_DEFINITIONS] if rows else []
    facts = {"neighbours": [fact for board in ranked for fact in neighbour_facts(board)]}
    shown = [replace(c, decimals=1) if choose.method == "bt" and c in _SCORED else c for c in COLUMNS]
    title, settings = f"Leaderboard: {choose.protocol}", {"method": choose.method}
    table = Table(title, tuple(shown), tuple(rows), tuple(lines), settings, facts, answer(ranked, beside))
    brief = [
        row | {
            "place": _place_text(row), "ties": f"{row['ties']} ({row['position_ties']})",
            "note": "" if row["note"] == fits.NEVER_LOST and choose.method != "q" else row["note"],
            "ndcg": None if row["ndcg"] is None else short(real(row, "ndcg"), 3),
            # a share in percent
            "score": 100 * s if isinstance(s := row["score"], float) and method.kind == "share" else s,
        }
        for row in rows
        if row["opponent"] is None
    ]  # fmt: skip
    one, decimals = len(ranked) == 1, {"share": 1, "points": 0}.get(method.kind, 3)
    heads = columns(
        "place|rank", "system|system", *(() if one else ("rater|rater", "aspect|aspect")),
        f"score|{method.label}|float|{decimals}", "interval|95 % CI", "wins|W|int", "ties|T (⇄)", "losses|L|int",
        "ndcg|(nDCG)", "note",
    )  # fmt: skip
    if one:
        # `rules · not a language model · pairwise overall · 20 users`
        asked, users = ranked[0].contests.question, quantity(ranked[0].contests.counts.count, "user")
        about_rater = (asked.rater, ranked[0].sanity.kind_words, f"{asked.protocol} {asked.aspect}", users)
        title = " · ".join(filter(None, about_rater))
    return words.briefly(table, heads, brief, method.kind, title)


_TWO_METHODS = "interval and test disagree on whether the two are even; what is claimed rests on the test"


def _disputed(board: Board, even: float | None) -> bool:
    """Whether the interval of one of two systems and their test say different things about an even result."""
    tested, ends = board.tested, [(each.low, each.high) for each in board.scores.intervals]
    if even is None or len(tested) != 1 or len(ends) != 2:
        return False
    holds = [low <= even <= high for low, high in ends if low is not None and high is not None]
    return tested[0].separable in holds


_DEFINITIONS = definitions(f"""\
ties include position ties ⇄ (the two orders disagreed); failed verdicts are not in n; intervals are over users
separable: two systems by sign flips of the users' means; more by a Wald test of neighbours in the Bradley-Terry fit with\
 a sandwich variance over users; p < {ALPHA:g} after Holm's correction over neighbours
more users: the normal formula of the same test at power {POWER:.0%}, if the observed difference is the true one
rank range: the rank, and those that the tests of all pairs cannot rule out""")


def pair_rows(
    contests: Battles, method: str, order: Sequence[int], ties: fits.CountTies = "half"
) -> Iterator[Row]:
    """Each system in `order` against each of its opponents, scored by winrate or q."""
    total, users = contests.counts.total, contests.counts.users_of_pairs
    intervals = fits.pair_intervals(contests.counts, "q" if method == "q" else "win_rate", count_ties=ties)
    column = {(int(a), int(b)): at for at, (a, b) in enumerate(zip(total.first, total.second, strict=True))}
    for system in order:
        for other in range(len(contests.systems)):
            if other == system or not contests.met(system, other):
                continue
            counts = contests.grid[system, other]
            value = none_if_nan(float(fits.q_of(counts) if method == "q" else fits.win_rate_of(counts, ties)))
            at = column.get((min(system, other), max(system, other)))
            interval = Interval(None, None)
            if value is not None and at is not None:
                interval = intervals[at][int(system > other)]
            reason = interval.note if value is not None else _undefined(counts, method)
            row = _cells(contests, system, other, value, interval, reason, ties)
            yield row | {"users": 0 if at is None else int(users[at])}


def _cells(
    contests: Battles, system: int, other: int | None, value: float | None, interval: Interval, reason: str,
    count_ties: fits.CountTies,
) -> Row:  # fmt: skip
    """The cells of a system's counts and score against one other, or against all (None)."""
    against = [at for at in range(len(contests.systems)) if at != system] if other is None else [other]
    counts = contests.grid[system, against].sum(axis=0)
    wins, ties, losses = (int(count) for count in counts)
    q = none_if_nan(float(fits.q_of(counts)))
    return {
        "system": contests.systems[system], "opponent": None if other is None else contests.systems[other],
        "rater": contests.question.rater, "aspect": contests.question.aspect, "rank": None, "wins": wins, "ties": ties,
        "losses": losses, "position_ties": int(contests.position_ties[system, against].sum()),
        "failed": int(contests.failed[system, against].sum()), "n": wins + ties + losses, "q": q,
        "win_rate": none_if_nan(float(fits.win_rate_of(counts, count_ties))), "score": value, "ci_low": interval.low,
        "ci_high": interval.high,
        "note": reason or (fits.NO_CASES if not counts.any() else fits.NEVER_LOST if q is None else ""),
    }  # fmt: skip


def _place_text(row: Row) -> str:
    """`1-2`, the ranks that the tests allow; `–` without a rank."""
    low, high = row.get("rank_low"), row.get("rank_high")
    if row["rank"] is None:
        return "–"
    return str(row["rank"]) if low is None else _span(low, high)


def _span(low: object, high: object) -> str:
    return str(low) if low == high else f"{low}-{high}"


# ---- the answer ------------------------------------------------------------------------------------------------------


def answer(ranked: Sequence[Board], ndcg: Sequence[_Values]) -> str:
    """What the first board says, in one sentence, of several with its rater; nDCG, where it puts another system last or
    first."""
    if not ranked:
        return ""
    board = ranked[0]
    if board.sanity.worthless:
        return f"{board.contests.question.rater} ranks nobody: {board.sanity.reason}."
    raters, text = {board.contests.question.rater for board in ranked}, _standing(board)
    if not text:
        return ""
    text = f"By {board.contests.question.rater}, {text}" if len(raters) > 1 else text
    names, known = board.contests.systems, {name: x for name, x in ndcg[0].items() if x is not None}
    places = board.scores.places
    placed = [at for at in board.order if names[at] in known and places[at] is not None]
    by_place = [{names[at] for at in alike} for alike in fits.sharing(placed, places)]
    values = [known[names[at]] for at in placed]
    for at, place, best in ((0, "first", max), (-1, "last", min)):
        extreme = {names[at] for at in placed if known[names[at]] == best(values)}
        if len(by_place) > 1 and not by_place[at] & extreme:
            return f"{text} nDCG disagrees: {words.listed(sorted(extreme))} {'is' if len(extreme) == 1 else 'are'} {place}."
    return text


def _standing(board: Board) -> str:
    """Who has the first place, and the tests against who has the next; "" with fewer than two ranked systems."""
    names, places = board.contests.systems, board.scores.places
    order = [at for at in board.order if places[at] is not None]
    if len(order) < 2:
        return ""
    on = f"on {quantity(board.contests.counts.count, 'user')}"
    leaders = [names[at] for at in fits.sharing(order, places)[0]]
    said = f"{leaders[0]} leads" if len(leaders) == 1 else f"{words.listed(leaders)} share the first place"
    gaps = [list(pairs) for _, pairs in groupby(board.tested, key=lambda pair: places[pair.upper])]
    if not gaps:
        return f"{said} {on}."
    first = gaps[0]
    p = sorted(pair.p_holm for pair in first if pair.p_holm is not None)
    if all(pair.separable for pair in first):
        behind = words.listed(list(dict.fromkeys(names[pair.lower] for pair in first)))
        return f"{said}, ahead of {behind} {on} ({words.p_text(p[-1])}{' or less' * (p[0] < p[-1])})."
    if any(pair.separable for pair in first):
        every = [
            f"{names[pair.upper]} is {'ahead of' if pair.separable else 'not separable from'} {names[pair.lower]}"
            + (f" ({words.p_text(pair.p_holm)})" if pair.p_holm is not None else "")
            for pair in sorted(first, key=lambda pair: (not pair.separable, pair.p_holm or 0.0))
        ]
        more = "; and others" if len(every) > _MOST_NAMED else ""
        return f"{said} {on}: {'; '.join(every[:_MOST_NAMED])}{more}."
    open_gaps = takewhile(lambda pairs: not any(pair.separable for pair in pairs), gaps)
    close = words.listed(list(dict.fromkeys(names[pair.lower] for pairs in open_gaps for pair in pairs)))
    needed = [more_users(pair) or 0 for pair in first]
    more = f"; about {quantity(max(needed), 'more user')} would tell" if all(needed) else ""
    why = f"{words.p_text(p[0])}{' or more' * (p[0] < p[-1])}{more}" if p else ""
    untested = (pair.note for pair in first if pair.p_holm is None)
    return f"{said}, not separable from {close} {on} ({join_notes(why, *untested)})."


def more_users(pair: fits.Neighbours) -> int | None:
    """About how many more users would separate the two, rounded up to two digits because it is a rough guide."""
    if pair.more is None:
        return None
    step = int(10 ** max(0, len(str(pair.more)) - 2))
    return -(-pair.more // step) * step


def neighbour_facts(board: Board) -> Iterator[dict[str, object]]:
    """The tests of neighbours as data; the counts are those of the upper system against the lower one. `more` users would
    separate the two, None where they are separable or where no practical number would do."""
    question = board.contests.question
    for pair in board.tested:
        won, tied, lost = (int(count) for count in board.contests.grid[pair.upper, pair.lower])
        upper, lower = (board.contests.systems[at] for at in (pair.upper, pair.lower))
        yield {
            "rater": question.rater, "aspect": question.aspect, "upper": upper, "lower": lower,
            "separable": pair.separable, "won": won, "tied": tied, "lost": lost, "p": pair.p_holm,
            "more": more_users(pair), "note": pair.note,
        }  # fmt: skip


# ---- the matrix ------------------------------------------------------------------------------------------------------

_MATRIX = columns(*_WHO, *_COUNTED, "ci_*", "lead|(Lead)|float", "p_holm p? note")
_ABOUT_MATRIX = definitions("""\
Q = (wins + ties) / (losses + ties) of the first system against the second, interval over users
lead: of two systems the mean of the users' outcomes (1 win, -1 loss), of more the difference of the ratings;\
 p: its test, Holm's correction over all pairs of one rater and aspect""")


def matrix(project: Project, choose: Options) -> Table:
    """One row per rater, aspect, system and opponent, systems in the order of their rank by Q, with the test of each two."""
    chosen = base(project, choose.selection())
    rows: list[Row] = []
    sane = {question: sanity(chosen, question) for question in chosen.questions}
    for question in chosen.questions:
        contests = battles(chosen.ratings, question, chosen.selection.groups)
        tested: dict[tuple[str, str], Row] = {}
        for test in () if sane[question].worthless else contests.tests.values():
            for a, b in ((test.first, test.second), (test.second, test.first)):
                names = contests.systems[a], contests.systems[b]
                tested[names] = {"lead": test.ahead(a), "p": test.p, "p_holm": test.p_holm}
        of_pairs = pair_rows(contests, "q", _by_place(contests, scores(contests, "q").places))
        untested: Row = dict.fromkeys(("lead", "p", "p_holm"))
        rows += [row | tested.get((str(row["system"]), str(row["opponent"])), untested) for row in of_pairs]
    lines: list[str] = [Note(line, "warning") for each in sane.values() for line in each.lines]
    lines += [] if rows else [words.no_pairs(chosen)]
    lines += [*words.about_base(chosen, origins=True), *_ABOUT_MATRIX]
    shown = {(row["rater"], row["aspect"]) for row in rows}
    first = next((q for q in chosen.questions if (q.rater, q.aspect) in shown), None)
    answer = "" if first is None else _preferred(first, sane[first].reason, rows)
    title = f"Q matrix: {choose.protocol}"
    table = Table(title, _MATRIX, cells_of(_MATRIX, rows), tuple(lines), answer=answer)
    return seen_first(table, "system opponent rater aspect wins ties losses q ci_low ci_high p_holm note")


def _preferred(of: rated.Question, worthless: str, rows: Sequence[Row]) -> str:
    """Which systems a rater is shown to prefer, the surest first: the test finds them ahead, and they won more often."""
    if worthless:
        return f"{of.rater} ranks nobody: {worthless}."
    rows = [row for row in rows if (row["rater"], row["aspect"]) == (of.rater, of.aspect)]
    tested = [row for row in rows if isinstance(row.get("p_holm"), float) and real(row, "p_holm") < ALPHA]
    shown = [r for r in tested if real(r, "lead") > 0 and whole(r, "wins") > whole(r, "losses")]
    shown.sort(key=lambda row: (real(row, "p"), -real(row, "lead"), -whole(row, "n")))

    def counted(row: Row) -> str:
        q = "" if row["q"] is None else f"Q {row['q']:.2f}, "
        counts = f"{q}{row['wins']} won, {row['ties']} tied, {row['losses']} lost"
        return f"{counts}, {words.p_text(p)}" if isinstance(p := row.get("p_holm"), float) else counts

    pairs, first = len(rows) // 2, max(rows, key=lambda row: whole(row, "wins"))
    named = [f"{row['system']} to {row['opponent']} ({counted(row)})" for row in shown[:_MOST_NAMED]]
    if named:
        several = f"; {len(shown):,} of {pairs:,} pairs in all" if pairs > 1 else ""
        return f"{of.rater} prefers {', '.join(named)}{several}."
    either = f"either of {first['system']} and {first['opponent']}: {counted(first)}"
    return f"{of.rater} is not shown to prefer {either if pairs == 1 else f'a system in any of {pairs:,} pairs'}."


# ---- beside offline metrics ------------------------------------------------------------------------------------------

METRICS = ("auc", "ndcg", "ndcg_explicit", "urd")
# the metric that measures the quality an aspect asks about (RecSys Arena)
NATURAL = {"inspiration": "urd", "satisfaction": "ndcg_explicit"}
_Values = Mapping[str, float | None]

_CORRELATIONS = columns(
    "rater aspect metric", "k|k|int", "pearson|Pearson|float|4", "ci_*", "p", "p_holm|(p (Holm))|float|4",
    "n|Systems|int", "same_order|Same order", "natural|Natural", "note",
)  # fmt: skip
_ABOUT_CORRELATIONS = definitions("""\
the metrics are those of the lists that the rater judged; same order: Q and the metric rank the systems alike; natural:\
 the metric measures what the aspect asks (inspiration: urd, satisfaction: ndcg_explicit)
Pearson's r of Q and the metric over the systems that have both; p: two-sided permutation test over systems, which cannot\
 be below .05 with three, Holm's correction over the metrics of one rater and aspect; interval by Fisher's z from four\
 systems on""")


def q_metrics(project: Project, choose: Options) -> Table:
    """One row per rater, aspect and metric of METRICS; the metrics themselves are facts. Raters that are metrics appear only
    if named."""
    chosen = base(project, choose.selection())
    questions = [q for q in chosen.questions if chosen.selection.raters or not chosen.rater(q).of_metrics]
    judged, k = JudgedLists(project, chosen.ratings.cases), choose.k or TOP_K
    rows: list[Row] = []
    notes: list[str] = []
    values: list[Row] = []
    for question in questions:
        at = chosen.ratings.verdicts[question].row
        measured = {metric: judged.values(at, metric, k) for metric in METRICS}
        about: Row = {"rater": question.rater, "aspect": question.aspect}
        for metric, of_systems in measured.items():
            known = [(system, value) for system, value in of_systems.items() if value is not None]
            values += [
                about | {"metric": metric, "system": system, "value": value} for system, value in known
            ]
        q = {system: value for system, (value, _) in _counted_q(chosen, question).items()}
        rows += correlation_rows(question, q, measured, k, chosen.selection.groups)
        if not any(measured.values()):
            nothing = "no list behind its verdicts is stored, so there is nothing to measure"
            notes.append(f"{question.rater}, {question.aspect}: {nothing}")
        if left_out := judged.not_judged(at):
            lists = f"{left_out:,} current lists that it has not judged are not measured"
            notes.append(f"{question.rater}: {lists}")
    notes = [*dict.fromkeys(notes)] if rows else [words.no_pairs(chosen)]
    notes += [*words.about_base(chosen, origins=True), *_ABOUT_CORRELATIONS]
    title = f"Q against metrics: {choose.protocol}"
    return Table(title, _CORRELATIONS, tuple(rows), tuple(notes), {"k": k}, {"measured": values})


def correlation_rows(
    question: rated.Question, q: _Values, measured: Mapping[str, _Values], k: int, groups: int = 1
) -> list[Row]:
    """The correlation of Q (by system) with each metric of METRICS (metric -> system -> value)."""
    systems = sorted(q)
    figures = [q[system] for system in systems]
    rows: list[Row] = []
    for metric in METRICS:
        values = [measured.get(metric, {}).get(system) for system in systems]
        correlation = association(figures, values)
        no_q = ", ".join(system for system in systems if q[system] is None)
        no_metric = [system for system, value in zip(systems, values, strict=True) if value is None]
        lacking = "" if no_metric == systems else f": {', '.join(no_metric)}"
        rows.append({
            "rater": question.rater, "aspect": question.aspect, "metric": metric, "k": None if metric == "auc" else k,
            **{name: getattr(correlation, name) for name in ("ci_low", "ci_high", "p", "n")}, "pearson": correlation.value,
            "same_order": orders_agree(figures, values), "natural": NATURAL.get(question.aspect) == metric,
            "note": join_notes(correlation.note, f"no finite Q: {no_q}" if no_q else "",
                               f"no metric{lacking}" if no_metric else ""),
        })  # fmt: skip
    return words.adjusted(rows, lambda p: holm(p, groups), "p_holm")


# ---- beside absolute scores and AUC ----------------------------------------------------------------------------------

_SIDES = ("absolute", "q", "auc")
_SIDE_BY_SIDE = columns(
    "system rater aspect", "absolute|Absolute|float", "absolute_rater|(Absolute by)", "q|Q|float", "auc|AUC|float|4",
    "absolute_scaled|Absolute 0-1|float", "q_scaled|Q 0-1|float", "auc_scaled|AUC 0-1|float",
    "n_absolute|(n absolute)|int", "n_q|(n pairs)|int", "n_auc|(n users)|int", "note",
)  # fmt: skip
_ABOUT_SIDES = definitions("""\
absolute: mean score of the system's lists, each judged alone by the same rater or judge, overall; Q over all opponents;\
 AUC over all scored candidates of these lists
0-1: (figure - lowest) / (highest - lowest) over the systems of one rater and aspect, from three systems on; this\
 normalisation is our choice""")


# system -> figure and n
_Figures = Mapping[str, tuple[float | None, int]]


def side_by_side(project: Project, choose: Options) -> Table:
    """One row per rater, aspect and system that the rater judged alone or in pairs."""
    chosen = base(project, choose.selection())
    alone = base(project, Selection("absolute", OVERALL, readers=True, cases=choose.cases), newest=False)
    cases, named = alone.ratings.cases, chosen.selection.raters
    absolute = {q.rater: rated.of_selection(cases, v) for q, v in alone.ratings.verdicts.items()}
    pairs: dict[tuple[str, str], rated.Question] = {}
    for question in chosen.questions:
        # people may have answered under both protocols of pairs: the requested one takes precedence
        if (question.rater, question.aspect) not in pairs or question.protocol == choose.protocol:
            pairs[question.rater, question.aspect] = question
    # the scores of a rater of pairs: its own, else those of the newest rater whose runs used the same judge
    judges = newest_judges(project.db, project.id)
    by_judge = {judges[name]: name for name in judges if name in absolute}
    scored_by = {r: r if r in absolute else by_judge.get(judges.get(r, "")) for r, _ in pairs}
    alone_too = [r for r in absolute if r not in scored_by.values() and (not named or r in named)]
    judged = JudgedLists(project, cases)
    rows: list[Row] = []
    notes: dict[str, None] = {}
    for rater, aspect in [*pairs, *((rater, OVERALL) for rater in alone_too)]:
        if not named and chosen.ratings.raters[rater].of_metrics:
            continue
        scorer, asked = scored_by.get(rater) or rater, pairs.get((rater, aspect))
        in_pairs = None if asked is None else chosen.ratings.verdicts[asked]
        scored = absolute.get(scorer)
        if scored is not None and cases.lifetimes is not None:
            newest = rated.newest_judged(cases.lifetimes, (in_pairs or scored).row)
            here = rated.in_generation(cases.lifetimes, scored.row, newest)
            later = cases.lifetimes.since[scored.row] > newest
            left_out = generation_notes(int((~here & ~later).sum()), int(later.sum()))
            notes |= dict.fromkeys(f"{scorer}, alone: {note}" for note in left_out)
            scored = scored.among(here)
        met = np.concatenate([side.row for side in (scored, in_pairs) if side is not None])
        lists = judged.lists(met, ("auc",))
        auc = {own.system: (own.mean("auc"), int((~np.isnan(own.values["auc"])).sum())) for own in lists}
        means: dict[str, tuple[float | None, int]] = {}
        if scored is not None:
            known = scored.among(~np.isnan(scored.value))
            of = cases.system_a[known.row]
            for place in np.unique(of).tolist():
                means[cases.systems[place]] = float(known.value[of == place].mean()), int((of == place).sum())
        found = _sides(rater, aspect, means, {} if asked is None else _counted_q(chosen, asked), auc)
        rows += [row | {"absolute_rater": scorer if row["n_absolute"] else None} for row in found]
    lines = [*notes] if rows else [f"{words.no_verdicts(chosen)}, in pairs or alone"]
    lines += [*words.about_base(chosen, origins=True), *_ABOUT_SIDES]
    return Table(f"Side by side: absolute, {choose.protocol}, AUC", _SIDE_BY_SIDE, tuple(rows), tuple(lines))


def _counted_q(chosen: Base, question: rated.Question) -> _Figures:
    """Q over all opponents."""
    contests = battles(chosen.ratings, question)
    tallies = contests.counts.total.tallies()
    figures = zip(map(none_if_nan, fits.q_of(tallies).tolist()), map(int, tallies.sum(axis=1)), strict=True)
    return dict(zip(contests.systems, figures, strict=True))


def _sides(rater: str, aspect: str, absolute: _Figures, q: _Figures, auc: _Figures) -> Iterator[Row]:
    systems = sorted({*absolute, *q})
    sides = dict(zip(_SIDES, (absolute, q, auc), strict=True))
    nothing = None, 0
    scaled = {name: min_max([side.get(at, nothing)[0] for at in systems]) for name, side in sides.items()}
    for at, system in enumerate(systems):
        row: Row = {"system": system, "rater": rater, "aspect": aspect}
        for name, side in sides.items():
            row[name], row[f"n_{name}"] = side.get(system, nothing)
            row[f"{name}_scaled"] = scaled[name][at]
        lacks = {
            "absolute": "no absolute scores by this rater", "auc": "no AUC",
            "q": "Q is not finite" if row["n_q"] else "no pairs judged by this rater",
        }  # fmt: skip
        unscaled = any(row[name] is not None and row[f"{name}_scaled"] is None for name in _SIDES)
        few = f"on one scale only if at least {FEWEST} systems have the figure, not all equal"
        said = [lacks[name] for name in _SIDES if row[name] is None]
        yield row | {"note": join_notes(*said, few if unscaled else "")}
