"""Does a judge find faults that were planted into real lists, and does it flag items without faults?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.made_lists import ABOUT, FAULT_KINDS, PLANTED, FaultKind, planted_list
from recjudge_tui.domain.text import quantity
from recjudge_tui.judges.rules.faults import ISSUE_OF, free_places, shopper_of
from recjudge_tui.project import Project
from recjudge_tui.reports.common.estimate_cells import interval_columns
from recjudge_tui.reports.common.table import Note, Row, Table, columns, definition
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.robustness import NOTE, RATER, verdicts_on_made
from recjudge_tui.reports.words import briefly, count_text, first_few, rater_notes, share_cells, share_text
from recjudge_tui.shapes import Base, Items
from recjudge_tui.stats.arrays import BoolArray, IntArray
from recjudge_tui.steps import Step
from recjudge_tui.store.cases import PlantedCase, judged_faults, load_material
from recjudge_tui.store.raters import rater_row
from recjudge_tui.store.ratings import (
    Question,
    folded,
    in_generation,
    list_lifetimes,
    load_flags,
    newest_judged,
)

ALL = "all"
DETECTED, OTHER_ISSUE, MISSED, FALSE_ALARM = OUTCOMES = ("detected", "other issue", "missed", "false alarm")
_INJECTED = columns(
    RATER, "fault|Fault", "system", "outcome|Outcome", "count share", *interval_columns("share"), "n users? failed?",
    NOTE,
)  # fmt: skip
_INJECTED_BRIEF = columns(
    "rater|rater", "fault|fault", "system|system", "found|detected", "share|%|share", "interval|95 % CI",
    "other|other issue|int", "missed|missed|int", "alarms|false alarms", "failed|failed|int", NOTE,
)  # fmt: skip
_ABOUT_FAULTS = """\
detected: the planted item is flagged for its issue; other issue: flagged for another one; missed: not flagged
false alarm: an item that certainly has no such fault is flagged for it, among all such items of the lists""".splitlines()


class _Lists(NamedTuple):
    """The made lists by row of `cases`: the kind of fault, the system of the original, the planted item (a row of the lists'
    items), and for each kind the items that certainly lack its fault."""

    row: IntArray
    kind: IntArray
    system: tuple[str, ...]
    planted: IntArray
    free: dict[FaultKind, BoolArray]


def injected(project: Project, choose: Options) -> Table:
    """Detected, flagged for another issue and missed by kind of fault and rater, and false alarms; one row each. Failed
    verdicts are not in n. `rater`: that rater, and the others on its lists."""
    if choose.rater is not None:
        rater_row(project.db, project.id, choose.rater)
    chosen = verdicts_on_made(project, PLANTED)
    raters = {question: chosen.rater(question) for question in chosen.questions}
    faults, left_out = _faults_counted(chosen, choose.rater)
    title = "Planted faults"
    if not faults:
        nothing = Note("no list with a planted fault has been judged yet", "data", Step("planted"))
        return Table(title, _INJECTED, (), (nothing,))
    flags = load_flags(project.db, project.id, chosen.ratings.cases, raters)
    items = Items(project, chosen.selection, chosen.ratings, chosen.questions, flags)
    lists = _made_lists(items, faults)
    systems = sorted({*lists.system}) if choose.by_system and len({*lists.system}) > 1 else []
    rows = [
        {"rater": question.rater} | row
        for question in chosen.questions
        for row in _fault_rows(items, question, lists, (None, *systems))
    ]
    notes = [*left_out]
    if len({np.isin(lists.row, chosen.ratings.verdicts[question].row).tobytes() for question in raters}) > 1:
        notes.append(Note("the raters judged different lists", "data", Step("choose", {"option": "rater"})))
    notes += rater_notes(chosen)
    if any(rater.kind == "rules" for rater in raters.values()):
        same = "the faults are chosen by the same titles, categories and word lists that rules uses"
        notes.append(Note(f"{same}: its figures show what these alone can detect"))
    kinds = [
        f"{kind} ({ISSUE_OF[kind]}): {ABOUT[kind]}" for at, kind in enumerate(FAULT_KINDS) if at in lists.kind
    ]
    brief: list[Row] = []
    said: dict[str, str] = {}
    for at in range(0, len(rows), len(OUTCOMES)):
        found, other, missed, alarm = rows[at : at + len(OUTCOMES)]
        counts = {"found": count_text(found), "other": other["count"], "missed": missed["count"]}
        alarms = {"alarms": count_text(alarm) if alarm["n"] else "–", "failed": found["failed"] or None}
        brief.append(found | counts | alarms)
        told = (
            f"{found['rater']} flags {count_text(found)} planted faults for their issue ({share_text(found)})"
        )
        clean = f", {alarm['count']:,} false alarms in {alarm['n']:,} faultless items" if alarm["n"] else ""
        said.setdefault(str(found["rater"]), f"{told}{clean}")
    about = (*map(definition, _ABOUT_FAULTS), definition("; ".join(kinds)))
    answer = first_few([said[name] for name in sorted(said, key=lambda name: name != choose.rater)])
    table = Table(title, _INJECTED, tuple(rows), (*notes, *about), answer=answer)
    return briefly(table, _INJECTED_BRIEF, brief)


def _faults_counted(chosen: Base, rater: str | None) -> tuple[list[PlantedCase], list[Note]]:
    """The made lists that are counted: of the newest imports into whose lists faults were planted."""
    project, ratings = chosen.project, chosen.ratings
    faults = judged_faults(project.db, project.id)
    if rater is not None:
        own = [verdicts.row for question, verdicts in ratings.verdicts.items() if question.rater == rater]
        judged = set(ratings.cases.ids[np.concatenate([np.zeros(0, dtype=np.int64), *own])].tolist())
        faults = [case for case in faults if case.case_id in judged]
    sources = np.array([case.fault.source_slate_id for case in faults], dtype=np.int64)
    lifetimes = list_lifetimes(project.db, project.id, sources) if faults else None
    if lifetimes is None:
        return faults, []
    every = np.arange(sources.size)
    here = in_generation(lifetimes, every, newest_judged(lifetimes, every))
    left_out = int((~here).sum())
    kept = [case for case, stood in zip(faults, here.tolist(), strict=True) if stood]
    return kept, [Note(f"{quantity(left_out, 'list')} made from earlier lists left out")] if left_out else []


def _made_lists(items: Items, faults: Sequence[PlantedCase]) -> _Lists:
    """The made lists as they were shown."""
    cases = items.ratings.cases
    row = np.searchsorted(cases.ids, [case.case_id for case in faults])
    free = {kind: np.zeros(items.case.size, dtype=np.bool_) for kind in FAULT_KINDS}
    planted = []
    for case, start in zip(faults, np.searchsorted(items.case, row).tolist(), strict=True):
        # a made list contains only the shown part of the original list
        material = load_material(items.project.db, case.run_id, case.case_id, int(items.rank.max()))
        shown = material.slates[0].items
        places = {item: start + at for at, item in enumerate(dict.fromkeys(item.item_id for item in shown))}
        planted.append(places[case.fault.item_id])
        shopper = shopper_of(material.user)
        for kind in FAULT_KINDS:
            for place in free_places(kind, shopper, shown):
                at = places[shown[place].item_id]
                free[kind][at] = at != planted[-1]
    names = [planted_list(cases.systems[place]) for place in cases.system_a[row].tolist()]
    kinds = np.array([FAULT_KINDS.index(case.fault.kind) for case in faults])
    return _Lists(row, kinds, tuple(name.system if name else "" for name in names), np.array(planted), free)


def _fault_rows(
    items: Items, question: Question, lists: _Lists, systems: tuple[str | None, ...]
) -> Iterator[Row]:
    """A row for each of OUTCOMES, of all faults and of each kind, by system (None: all)."""
    user = items.ratings.cases.user
    issues = {folded(issue): at for at, issue in enumerate(items.lists.issues)}
    # an issue that nobody flags has no index
    marked = [items.flagged(question, issues.get(folded(ISSUE_OF[kind]), -1)) for kind in FAULT_KINDS]
    right = np.choose(lists.kind, [mask[lists.planted] for mask in marked])
    any_issue = items.flagged(question)[lists.planted]
    outcome = np.where(right, DETECTED, np.where(any_issue, OTHER_ISSUE, MISSED))
    # by made list: 1 if the rater's verdict is valid, NaN if it failed, 0 if there is none
    verdicts = items.ratings.verdicts[question]
    value = np.zeros(user.size)
    value[verdicts.row] = np.where(np.isnan(verdicts.value), np.nan, 1.0)
    value = value[lists.row]
    shown = items.shown(question)
    met = np.unique(lists.kind).tolist()
    for system in systems:
        of_system = np.array([system in (None, name) for name in lists.system])
        valid = shown & np.isin(items.case, lists.row[of_system & (value == 1)])
        for kinds in (met, *([kind] for kind in met if len(met) > 1)):
            asked = of_system & (value != 0) & np.isin(lists.kind, kinds)
            if not asked.any():
                continue
            head: Row = {"fault": FAULT_KINDS[kinds[0]] if len(kinds) == 1 else ALL, "system": system}
            failed, users = np.isnan(value[asked]), user[lists.row[asked]]
            for name in OUTCOMES[:3]:
                counted = share_cells(np.where(failed, np.nan, outcome[asked] == name), users)
                ended = {"users": np.unique(users).size, "failed": int(failed.sum())}
                yield head | {"outcome": name} | counted | ended
            free = [lists.free[FAULT_KINDS[kind]] & valid for kind in kinds]
            hits = np.concatenate([marked[kind][here] for kind, here in zip(kinds, free, strict=True)])
            users = np.concatenate([user[items.case[here]] for here in free])
            counted = share_cells(hits.astype(np.float64), users)
            yield head | {"outcome": FALSE_ALARM} | counted | {"users": np.unique(users).size, "failed": None}
