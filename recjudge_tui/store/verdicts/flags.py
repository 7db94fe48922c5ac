"""The items that raters flagged in single lists, and the items of these lists that they were shown, as NumPy
columns.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.roles import RUN_RATERS
from recjudge_tui.stats.arrays import IntArray
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import run_prompts
from recjudge_tui.store.verdicts.generations import judged_content
from recjudge_tui.store.verdicts.ratings import CaseColumns, Question, Rater

# deeper than any list
_WHOLE = 1 << 40


class ListItems(NamedTuple):
    """The items of judged lists, one row each, by case and rank. An item that occurs twice counts at its first rank.
    `row` is the case's index in CaseColumns, `rank` the position in the list, from 1.
    """

    row: IntArray
    rank: IntArray


@dataclass(frozen=True)
class RaterFlags:
    """The flags of one rater: each pair of item and issue once a case.

    `depth`: by case, how many items of its list were shown; 0 if the rater did not judge it. `row` is the flag's
    case, `item` the row of ListItems (-1 if the item is not in the list), `issue` the index into
    `FlaggedLists.issues`. `asked`: whether the rater was asked for flags, or gave one.
    """

    depth: IntArray
    row: IntArray
    item: IntArray
    issue: IntArray
    asked: bool


@dataclass(frozen=True)
class FlaggedLists:
    """The flags of several raters, and the lists that they judged.

    `issues` are the names of the kinds of issues: first those of the prompts, in their order, then others. Spellings
    that differ only in case or spaces are one kind.
    """

    items: ListItems
    issues: tuple[str, ...]
    of: dict[Question, RaterFlags]


class _Flag(NamedTuple):
    row: int
    item_id: str
    issue: str


def load_flags(
    db: Database, project_id: int, cases: CaseColumns, raters: Mapping[Question, Rater]
) -> FlaggedLists:
    """The flags of the rater of each question, under its protocol, on all lists that it judged, failed verdicts too.

    A judge was shown the top K of its run, an annotator that of their task; a label from elsewhere is about the whole
    list. With repeats, an item is flagged where any of the answers flags it.
    """
    asked: dict[str, dict[str, str]] = {}
    for protocol in dict.fromkeys(question.protocol for question in raters):
        prompts = run_prompts(db, project_id, protocol)
        asked[protocol] = {folded(i.name): i.name for prompt in prompts for i in prompt.issues}
    names = {kind: name for by_kind in asked.values() for kind, name in by_kind.items()}
    depths, tasks, given = {}, {}, {}
    for question, rater in raters.items():
        depths[question], tasks[question] = _depths(db, cases, rater, question.protocol)
        given[question] = _flags(db, cases, rater, question.protocol)
        for flag in given[question]:
            names.setdefault(folded(flag.issue), " ".join(flag.issue.split()))
    items, places = _items(
        db,
        project_id,
        cases,
        np.max([np.zeros(cases.ids.size, dtype=np.int64), *depths.values()], axis=0),
        {(flag.row, flag.item_id) for flags in given.values() for flag in flags},
    )
    kinds = {kind: at for at, kind in enumerate(names)}
    of = {}
    for question, flags in given.items():
        coded = dict.fromkeys(
            (flag.row, places.get((flag.row, flag.item_id), -1), kinds[folded(flag.issue)]) for flag in flags
        )
        row, item, issue = np.array(list(coded), dtype=np.int64).reshape(-1, 3).T
        prompted = raters[question].kind in RUN_RATERS and bool(asked[question.protocol])
        is_asked = bool(flags) or prompted or tasks[question]
        of[question] = RaterFlags(depths[question], row, item, issue, is_asked)
    return FlaggedLists(items, tuple(names.values()), of)


def folded(issue: str) -> str:
    """A normal form that is equal for all spellings of a kind."""
    return " ".join(issue.casefold().split())


def _depths(db: Database, cases: CaseColumns, rater: Rater, protocol: str) -> tuple[IntArray, bool]:
    """By case, how many items of its list the rater was shown; and whether a task asked for the judgement."""
    depth = np.zeros(cases.ids.size, dtype=np.int64)
    has_task = False
    usual = protocol_facts(protocol).top_k
    for case_id, run_depth, task, task_depth in db.execute(
        """SELECT v.case_id, max(json_extract(ru.settings, '$.top_k')), max(t.id),
             max(json_extract(tr.settings, '$.top_k'))
           FROM verdicts v LEFT JOIN runs ru ON ru.id = v.run_id
           LEFT JOIN annotation_tasks t
             ON t.rater_id = v.rater_id AND t.case_id = v.case_id AND t.protocol = v.protocol
           LEFT JOIN runs tr ON tr.id = t.run_id
           WHERE v.rater_id = ? AND v.protocol = ? GROUP BY v.case_id""",
        (rater.id, protocol),
    ):
        has_task = has_task or task is not None
        row = _row(cases, case_id)
        if row >= 0:
            depth[row] = run_depth or task_depth or (_WHOLE if task is None else usual)
    return depth, has_task


def _flags(db: Database, cases: CaseColumns, rater: Rater, protocol: str) -> list[_Flag]:
    """Flags of answers belong to the calls of a verdict's run, those of people to the verdict."""
    rows = db.rows(
        """SELECT v.case_id, f.item_id, f.issue FROM verdicts v JOIN flags f ON f.verdict_id = v.id
           WHERE v.rater_id = ?1 AND v.protocol = ?2 AND v.flag_count > 0
           UNION
           SELECT v.case_id, f.item_id, f.issue FROM verdicts v
             JOIN calls k ON k.run_id = v.run_id AND k.case_id = v.case_id JOIN flags f ON f.call_id = k.id
           WHERE v.rater_id = ?1 AND v.protocol = ?2 AND v.flag_count > 0""",
        (rater.id, protocol),
    )
    flags = (_Flag(_row(cases, case_id), item, issue) for case_id, item, issue in rows)
    return [flag for flag in flags if flag.row >= 0]


def _items(
    db: Database, project_id: int, cases: CaseColumns, depth: IntArray, wanted: set[tuple[int, str]]
) -> tuple[ListItems, dict[tuple[int, str], int]]:
    """The items of each case's list down to its depth, and the rows of the wanted ones by case and item."""
    slates = judged_content(db, project_id, cases.ids).slate_a
    by_slate: defaultdict[int, list[int]] = defaultdict(list)
    for row in np.flatnonzero((depth > 0) & (slates > 0)).tolist():
        by_slate[int(slates[row])].append(row)
    by_row: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for slate, rank, item in db.execute(
        """SELECT slate_id, rank, item_id FROM slate_items
           WHERE slate_id IN (SELECT value FROM json_each(?)) ORDER BY slate_id, rank""",
        (json.dumps(list(by_slate)),),
    ):
        for row in by_slate[slate]:
            if rank <= depth[row]:
                by_row[row].setdefault(item, rank)
    rows: list[int] = []
    ranks: list[int] = []
    places: dict[tuple[int, str], int] = {}
    for row in sorted(by_row):
        for item, rank in by_row[row].items():
            if (row, item) in wanted:
                places[row, item] = len(rows)
            rows.append(row)
            ranks.append(rank)
    return ListItems(np.array(rows, dtype=np.int64), np.array(ranks, dtype=np.int64)), places


def _row(cases: CaseColumns, case_id: int) -> int:
    """The index of a case; -1 for one that was added since the cases were read."""
    row = int(np.searchsorted(cases.ids, case_id))
    return row if row < cases.ids.size and cases.ids[row] == case_id else -1
