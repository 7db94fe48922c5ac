"""Flagged items: the share of lists, of items, or of items by rank that raters flag, by system and issue; and how far two
raters flag the same items for the same issues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.protocols import question_of
from recjudge_tui.domain.roles import FIRST_HAND
from recjudge_tui.domain.selection import Selection
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.rows import cells_of, real, whole
from recjudge_tui.reports.common.table import Column, Note, Row, Table, columns, definition, definitions
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.words import about_base, figure_text, wide
from recjudge_tui.shapes import ANY_ISSUE, Items, Side, items, pairs
from recjudge_tui.stats.agreement import detection_estimates
from recjudge_tui.stats.arrays import BoolArray, IntArray, encode
from recjudge_tui.stats.estimate import undefined
from recjudge_tui.stats.intervals import SHARE, group_means, share_estimate
from recjudge_tui.steps import Step
from recjudge_tui.store.raters import rater_row
from recjudge_tui.store.ratings import Question

_SHARES = columns(
    "system rater protocol? issue", "rank|Rank|int", "count|Flagged|int", "refuted|Refuted|int", "share",
    "ci_*|CI|share", "n users?", "people|(People)|share", "people_n|(People’s n)|int", "note",
)  # fmt: skip
_AGREEMENT = columns(
    "rater_a rater_b protocol? issue", "stat|Statistic", "value", "ci_*", "n", "flagged_a|(Flagged)|int",
    "flagged_b|(Against flagged)|int", "both|(Both)|int", "items|(Items)|int", "users? note",
)  # fmt: skip
_ABOUT_SHARES = definitions("""\
share: of the lists or items that were judged; interval over users (Korn and Graubard where rare)
Refuted: flags that the data shown to the judge contradict, such as “already owned” of an item that the user does not own
People: the same share in the verdicts of all people, on the lists that the rater judged too""")
_ABOUT_AGREEMENT = (
    "on the items that both were shown, interval over users; precision: of what the rater flagged, the share that the other"
    " flagged too; recall: of what the other flagged; f1: their harmonic mean; kappa: corrected for chance, over all items;"
    " same_issue: of the items that both flagged, the share with an issue in common"
)
SAME_ISSUE = "same_issue"
AGREEMENT_TITLE = "Agreement on flagged items"
# a column for each system, if there are no more
_MOST_COLUMNS = 3
# more than a list has items
_RANKS = 1 << 32


def flags(project: Project, choose: Options) -> Table:
    """One row per rater, system and issue (and rank), the share flagged; with `agreement` one per pair of raters,
    issue and statistic. Issues that nobody flagged are left out; failed verdicts are not in n. Raises what
    `shapes.items` raises, and UsageError for an unknown issue or options that do not fit."""
    if choose.truth and not choose.agreement:
        raise UsageError("a truth is for the agreement on flags", "Ask for the agreement, or leave it out.")
    if choose.agreement and (choose.by == "rank" or choose.of != "lists"):
        cause = "It is neither by rank nor about whole lists."
        raise UsageError("the agreement on flags is about items", cause)
    selection = choose.selection()
    if choose.truth:
        rater_row(project.db, project.id, choose.truth)
        selection = choose.selection(raters=(*selection.raters, choose.truth) if selection.raters else ())
    found = items(project, selection)
    return _agreement(found, choose) if choose.agreement else _shares(found, choose)


def _about(found: Items, rows: Sequence[Row], nothing: str = "") -> list[str]:
    """What stands below both tables: why there are no rows, who was left out, and who the raters are."""
    notes: list[str] = []
    if not rows:
        these = "" if found.ratings.cases.selected is None else " of these"
        nothing = (found.questions and nothing) or f"no rater has flagged an item{these} or was asked to"
        notes.append(Note(nothing, step=Step("judge")))
    if found.silent:
        names = ", ".join(found.silent)
        notes.append(f"left out, because neither their labels nor their prompts have flags: {names}")
    return [*notes, *about_base(found.current)]


# ---- shares ----------------------------------------------------------------------------------------------------------


class _Units(NamedTuple):
    """Lists or items, one row each: a number for the system and rank (0 for a whole list), the case, and whether it is
    flagged."""

    place: IntArray
    case: IntArray
    marked: BoolArray


def _shares(found: Items, choose: Options) -> Table:
    by_rank = choose.by == "rank"
    unit = "items" if by_rank else choose.of
    judged = {question: _judged(found, question) for question in found.questions}
    rows: list[Row] = []
    for issue in _issues(found, judged, choose):
        units = {q: _units(found, q, issue, cases, unit, by_rank) for q, cases in judged.items()}
        for question in found.questions:
            rows += _share_rows(found, question, issue, judged, units, by_rank)
    order = {question[:2]: at for at, question in enumerate(found.questions)}
    rows.sort(key=lambda row: (order[str(row["rater"]), str(row["protocol"])], str(row["system"])))
    notes = [note for q in found.questions for note in _lacking(found, q, unit)]
    notes += [*_about(found, rows), *_ABOUT_SHARES]
    title = f"Flagged items: share of {'items by rank' if by_rank else unit}"
    shown = tuple(column for column in _SHARES if by_rank or column.name != "rank")
    cells = cells_of(shown, rows)
    answer, brief = _answer(cells, unit), _brief(title, cells, by_rank)
    return Table(title, shown, cells, tuple(notes), {"of": unit}, answer=answer, brief=brief)


def _judged(found: Items, question: Question) -> IntArray:
    verdicts = found.current.ratings.verdicts[question]
    return verdicts.row[~np.isnan(verdicts.value)]


def _issues(found: Items, judged: Mapping[Question, IntArray], choose: Options) -> list[int | None]:
    """The chosen issue; else any and, unless by rank, the issues that somebody flagged."""
    if choose.issue:
        return [found.issue(choose.issue)]
    if choose.by == "rank":
        return [None]
    met: set[int] = set()
    for question, cases in judged.items():
        flagged = found.lists.of[question]
        met |= set(flagged.issue[np.isin(flagged.row, cases)].tolist())
    return [None, *sorted(met)]


def _places(found: Items, case: IntArray, rank: IntArray | int) -> IntArray:
    return found.ratings.cases.system_a[case] * _RANKS + rank


def _units(
    found: Items, question: Question, issue: int | None, cases: IntArray, unit: str, by_rank: bool
) -> _Units:
    if unit == "lists":
        return _Units(_places(found, cases, 0), cases, found.cases_flagged(question, issue)[cases])
    here = found.shown(question) & np.isin(found.case, cases)
    rank, case = found.rank[here] if by_rank else 0, found.case[here]
    return _Units(_places(found, case, rank), case, found.flagged(question, issue)[here])


def _share_rows(
    found: Items, question: Question, issue: int | None, judged: Mapping[Question, IntArray],
    units: Mapping[Question, _Units], by_rank: bool,
) -> Iterator[Row]:  # fmt: skip
    cases, own, kinds = found.ratings.cases, units[question], found.ratings.raters
    group, count = encode(own.place)
    shares = group_means(own.marked.astype(np.float64), cases.user[own.case], group, count, SHARE)
    hits = np.bincount(group, weights=own.marked, minlength=count)
    given = found.lists.of[question]
    wrong = given.refuted & np.isin(given.row, judged[question]) & (given.item >= 0)
    wrong &= True if issue is None else given.issue == issue
    rank = found.rank[given.item[wrong]] if by_rank else 0
    refuted = Counter(_places(found, given.row[wrong], rank).tolist())
    of_people = kinds[question.rater].kind in FIRST_HAND
    alike = [] if of_people else [q for q in units if q.protocol == question.protocol]
    parts = [units[q] for q in alike if kinds[q.rater].kind in FIRST_HAND]
    none: IntArray = np.zeros(0, dtype=np.int64)
    where, people, marked = (np.concatenate(x) for x in zip((none, none, none > 0), *parts, strict=True))
    together = np.isin(people, judged[question])
    where, marked = where[together], marked[together]
    for at, place in enumerate(np.unique(own.place).tolist()):
        share, beside = shares[at], marked[where == place]
        yield {
            "system": cases.systems[place // _RANKS], "rater": question.rater, "protocol": question.protocol,
            "issue": ANY_ISSUE if issue is None else found.lists.issues[issue], "rank": place % _RANKS,
            "count": int(hits[at]), "refuted": refuted[place], "share": share.value, **share.ends(), "n": share.n,
            "users": share.groups, "people": float(beside.mean()) if beside.size else None,
            "people_n": beside.size or None, "note": "" if share.ci_low is not None else share.note,
        }  # fmt: skip


def _lacking(found: Items, question: Question, unit: str) -> Iterator[str]:
    """Refuted flags, failed verdicts, lists with unknown items, and flags on items that are not in the list."""
    value, cases = found.current.ratings.verdicts[question].value, _judged(found, question)
    given = found.lists.of[question]
    here = np.isin(given.row, cases)
    lists = unit == "lists"
    counts = (
        (int((given.refuted & here).sum()), f"of {quantity(int(here.sum()), 'flag')} are refuted by the data"),
        (int(np.isnan(value).sum()), f"of {value.size:,} failed and are not in n"),
        (0 if lists else int((~np.isin(cases, found.case)).sum()),
         f"of {cases.size:,} lists are not here, so their items are not counted"),
        (0 if lists else int(((given.item < 0) & here).sum()), "flags on items that are not in the list are not counted"),
    )  # fmt: skip
    yield from (f"{question.rater}: {n:,} {what}" for n, what in counts if n)


def _answer(rows: Sequence[Row], unit: str) -> str:
    """What the first rater flags most, and in whose lists."""
    if not rows:
        return ""
    mine = [row for row in rows if (row["rater"], row["protocol"]) == (rows[0]["rater"], rows[0]["protocol"])]
    named = [row for row in mine if row["issue"] != ANY_ISSUE] or mine
    counts: Counter[tuple[object, object]] = Counter()
    for row in named:
        counts[row["issue"], row.get("rank")] += whole(row, "count")
    if not counts.total():
        issues = list(dict.fromkeys(row["issue"] for row in mine))
        nothing = len(issues) > 1 or issues == [ANY_ISSUE]
        return f"{mine[0]['rater']} {'flags nothing' if nothing else f'never flags {issues[0]}'}."
    ((issue, rank), _) = counts.most_common(1)[0]
    here = [row for row in named if (row["issue"], row.get("rank")) == (issue, rank)]
    here.sort(key=lambda row: (-real(row, "share"), str(row["system"])))
    shown = here if len(here) <= _MOST_COLUMNS else [here[0], here[-1]]
    units = [unit, *[""] * len(shown)]
    parts = [" ".join(filter(None, (f"{row['count']} of {row['n']}", named_unit, f"of {row['system']}")))
             for row, named_unit in zip(shown, units, strict=False)]  # fmt: skip
    place = "" if rank is None else f"rank {rank}"
    what = " at ".join(filter(None, ("" if issue == ANY_ISSUE else str(issue), place)))
    return f"{mine[0]['rater']} flags {f'{what} most: ' if what else ''}{', '.join(parts)}."


def _brief(title: str, rows: Sequence[Row], by_rank: bool) -> Table:
    """One row per rater and issue, or rank, with a column for each system."""
    head = columns("rater rank" if by_rank else "rater issue")
    lines = wide(
        rows, f"rater protocol {head[1].name}", lambda row: f"of {row['system']}",
        lambda row: figure_text(row, "share", 1, percent=True),
    )  # fmt: skip
    sizes: dict[str, set[object]] = {}
    for row in rows:
        sizes.setdefault(str(row["system"]), set()).add(row["n"])
    labels = {name: f"{name} %" + (f" of {n.pop()}" if len(n) == 1 else "") for name, n in sizes.items()}
    of = [Column(f"of {name}", labels[name], minor=at >= _MOST_COLUMNS) for at, name in enumerate(labels)]
    return Table(title, (*head, *of), cells_of((*head, *of), lines))


def flagged_cases(project: Project, selection: Selection, row: Row, unit: str) -> tuple[int, ...]:
    """The ids of the lists behind a row of shares of lists or items: flagged for the issue, with a rank at that rank."""
    found = items(project, selection)
    cases, rank = found.ratings.cases, row.get("rank")
    ids: set[int] = set()
    for question in found.questions:
        if question[:2] == (row["rater"], row["protocol"]):
            issue, judged = found.issue(str(row["issue"])), _judged(found, question)
            units = _units(found, question, issue, judged, "items" if rank else unit, bool(rank))
            here = units.case[units.marked & (units.place % _RANKS == (rank or 0))]
            ids |= {int(cases.ids[at]) for at in here if cases.systems[cases.system_a[at]] == row["system"]}
    return tuple(sorted(ids))


# ---- agreement -------------------------------------------------------------------------------------------------------


def _agreement(found: Items, choose: Options) -> Table:
    """On the items of the lists that both judged; ANY_ISSUE compares which items are flagged at all, SAME_ISSUE whether for
    the same reason."""
    rows: list[Row] = []
    notes: list[str] = []
    chosen = found.issue(choose.issue) if choose.issue else None
    for a, b in _pairs(found, choose.truth):
        met = pairs(found.ratings.cases, [Side(found.ratings.verdicts[question]) for question in (a, b)])
        notes += [f"{a.rater} and {b.rater}: {text}" for text in met.lacking((a.rater, b.rater))]
        here = np.flatnonzero(found.shown(a) & found.shown(b) & np.isin(found.case, met.complete.row))
        for issue in (chosen,) if choose.issue else (None, *range(len(found.lists.issues))):
            by_a, by_b = (found.flagged(question, issue)[here] for question in (a, b))
            if issue is None or choose.issue or (by_a | by_b).any():
                rows += _agreement_rows(found, (a, b), issue, here, by_a, by_b)
    names = ", ".join(dict.fromkeys(question.rater for question in found.questions))
    nothing = f"agreement needs two raters whose flags are about the same kind of list; there is {names}"
    notes += _about(found, rows, nothing)
    notes.append(definition(_ABOUT_AGREEMENT))
    return Table(
        AGREEMENT_TITLE, _AGREEMENT, tuple(rows), tuple(notes),
        answer=_agreement_answer(rows), brief=_agreement_brief(rows),
    )  # fmt: skip


def _pairs(found: Items, truth: str | None) -> Iterator[tuple[Question, Question]]:
    """Raters of one question, the reference second: people after judges."""
    for a, b in combinations(found.questions, 2):
        if question_of(a.protocol) != question_of(b.protocol) or a.rater == b.rater:
            continue
        if truth == a.rater:
            a, b = b, a
        if truth in (None, "", b.rater):
            yield a, b


def _agreement_rows(
    found: Items, pair: tuple[Question, Question], issue: int | None, here: IntArray, by_a: BoolArray, by_b: BoolArray
) -> Iterator[Row]:  # fmt: skip
    users, both = found.user[here], by_a & by_b
    estimates = detection_estimates(by_a, by_b, users)
    if issue is None:
        common = np.zeros(here.size, dtype=np.bool_)
        for kind in range(len(found.lists.issues)):
            common |= found.flagged(pair[0], kind)[here] & found.flagged(pair[1], kind)[here]
        nothing = undefined("no item was flagged by both")
        estimates[SAME_ISSUE] = share_estimate(common[both], users[both]) if both.any() else nothing
    for stat, estimate in estimates.items():
        yield {
            "rater_a": pair[0].rater, "rater_b": pair[1].rater, "protocol": pair[0].protocol,
            "issue": ANY_ISSUE if issue is None else found.lists.issues[issue], "stat": stat, **estimate.cells,
            "flagged_a": int(by_a.sum()), "flagged_b": int(by_b.sum()), "both": int(both.sum()), "items": here.size,
            "users": int(np.unique(users).size),
        }  # fmt: skip


def _agreement_answer(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    f1, kappa = (next(row for row in rows if row["stat"] == stat) for stat in ("f1", "kappa"))
    what = "" if f1["issue"] == ANY_ISSUE else f" for {f1['issue']}"
    return (
        f"{f1['rater_a']} flags {f1['flagged_a']} and {f1['rater_b']} {f1['flagged_b']} of {f1['items']} items{what},"
        f" {f1['both']} of them both: F1 {figure_text(f1, 'value')}, kappa {figure_text(kappa, 'value')}."
    )


def _agreement_brief(rows: Sequence[Row]) -> Table:
    """One row per pair of raters and issue."""
    lines = wide(
        rows, "rater_a rater_b protocol issue both", lambda row: row["stat"],
        lambda row: figure_text(row, "value") if row["stat"] in ("f1", "kappa") else row["value"],
    )  # fmt: skip
    shown = columns(
        "rater_a rater_b issue", "f1|F1", "kappa|Kappa", "both|Both|int", "precision|(Precision)|float|2",
        "recall|(Recall)|float|2", f"{SAME_ISSUE}|(Same issue)|float|2",
    )  # fmt: skip
    return Table(AGREEMENT_TITLE, shown, cells_of(shown, lines))
