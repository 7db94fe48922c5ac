"""Does a rater find faults that were planted into real lists, and does it flag items without faults?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.planted import ABOUT, FAULT_KINDS, PLANTED, FaultKind, planted_list
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.selection import Selection
from recjudge_tui.domain.text import quantity
from recjudge_tui.judges.rules.faults import ISSUE_OF, free_places, shopper_of
from recjudge_tui.project import Project
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.scales import rater_notes
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.shapes import Items, rank_of
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.stats.defaults import RESAMPLES
from recjudge_tui.stats.intervals import share_estimate
from recjudge_tui.store.cases.planted import PlantedCase, fault_raters, judged_faults
from recjudge_tui.store.cases.snapshots import load_material
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters.raters import rater_row
from recjudge_tui.store.verdicts.flags import folded, load_flags
from recjudge_tui.store.verdicts.generations import in_generation, list_lifetimes, newest_judged
from recjudge_tui.store.verdicts.ratings import Question, load_questions

ALL = "all"
DETECTED, OTHER_ISSUE, MISSED, FALSE_ALARM = "detected", "other issue", "missed", "false alarm"
NOTHING = (
    "no list with a planted fault has been judged yet: “recjudge robustness injected -p PROJECT --judge SPEC”"
)
_OUTCOMES = (DETECTED, OTHER_ISSUE, MISSED)
_COLUMNS = (
    Column("rater", "Rater"),
    Column("fault", "Fault"),
    Column("system", "System"),
    Column("outcome", "Outcome"),
    Column("count", "Count", "int"),
    Column("share", "Share", "share"),
    *interval_columns("share"),
    Column("n", "n", "int"),
    Column("users", "Users", "int", minor=True),
    Column("failed", "Failed", "int", minor=True),
    Column("note", "Note"),
)
_ABOUT = (
    "detected: the planted item is flagged for its issue; other issue: flagged for another one; missed: not flagged;"
    " false alarm: an item that certainly has no such fault is flagged for it, among all such items of the lists"
)
_CAUTION = (
    "the faults are chosen by the same titles, categories and word lists that rules uses: its figures show "
    "what these alone can detect"
)


@dataclass(frozen=True)
class InjectedOptions:
    """`rater` None: everybody, each on the lists they judged; else that rater, and the others on its lists.
    `by_system`: also rows for each system into whose lists faults were planted."""

    rater: str | None = None
    by_system: bool = False
    resamples: int = RESAMPLES
    seed: int = 0


class _Lists(NamedTuple):
    """The made lists by row of `cases`; `free` holds for each kind the list items that certainly lack its fault."""

    row: IntArray
    user: IntArray
    kind: tuple[FaultKind, ...]
    system: tuple[str, ...]
    planted: IntArray
    free: dict[FaultKind, BoolArray]


def injected_table(db: Database, project_id: int, options: InjectedOptions | None = None) -> Table:
    """Detected, flagged for another issue and missed by kind of fault and rater, and false alarms; one row each.

    Failed verdicts are not in n. Intervals are over users. Raises NotFoundError for an unknown rater.
    """
    options = options or InjectedOptions()
    if options.rater is not None:
        rater_row(db, project_id, options.rater)
    flagged = _load(db, project_id)
    settings: dict[str, object] = {"rater": options.rater, "by_system": options.by_system}
    settings |= {"resamples": options.resamples, "seed": options.seed}
    faults = judged_faults(db, project_id)
    chosen, left_out = _chosen(db, project_id, flagged, faults, options.rater)
    if not chosen:
        return Table("Planted faults", _COLUMNS, (), (NOTHING,), settings)
    lists = _lists(db, flagged, chosen)
    rows: list[Row] = []
    for flagger in flagged.questions:
        rows += _rows(flagged, flagger, lists, options)
    kinds = [kind for kind in FAULT_KINDS if kind in lists.kind]
    notes = [_ABOUT, "; ".join(f"{kind} ({ISSUE_OF[kind]}): {ABOUT[kind]}" for kind in kinds), *left_out]
    if len({(_values(flagged, flagger, lists) != 0).tobytes() for flagger in flagged.questions}) > 1:
        notes.append("the raters judged different lists; --rater R restricts all raters to the lists of R")
    rules = rater_notes(flagged.ratings.raters[question.rater] for question in flagged.questions)
    notes += [*rules, _CAUTION] if rules else []
    return Table("Planted faults", _COLUMNS, tuple(rows), tuple(notes), settings)


def _load(db: Database, project_id: int) -> Items:
    questions = [Question(name, PLANTED, OVERALL) for name in fault_raters(db, project_id)]
    ratings = load_questions(db, project_id, questions)
    questions.sort(key=lambda question: rank_of(ratings.raters[question.rater]))
    lists = load_flags(db, project_id, ratings.cases, {q: ratings.raters[q.rater] for q in questions})
    return Items(Project.numbered(db, project_id), Selection(PLANTED), ratings, tuple(questions), lists)


def _judged(flagged: Items, rater: str) -> IntArray:
    """The cases on which a rater has a verdict, including failed ones."""
    question = Question(rater, PLANTED, OVERALL)
    none = np.zeros(0, dtype=np.int64)
    return flagged.ratings.verdicts[question].row if question in flagged.ratings.verdicts else none


def _chosen(
    db: Database, project_id: int, flagged: Items, faults: Sequence[PlantedCase], rater: str | None
) -> tuple[list[PlantedCase], list[str]]:
    """The made lists that are counted: of the newest imports into whose lists faults were planted."""
    ids = flagged.ratings.cases.ids
    if rater is not None:
        judged = set(ids[_judged(flagged, rater)].tolist())
        faults = [case for case in faults if case.case_id in judged]
    sources = np.array([case.fault.source_slate_id for case in faults], dtype=np.int64)
    lifetimes = list_lifetimes(db, project_id, sources) if faults else None
    if lifetimes is None:
        return list(faults), []
    every = np.arange(sources.size)
    here = in_generation(lifetimes, every, newest_judged(lifetimes, every))
    left_out = int((~here).sum())
    kept = [case for case, stood in zip(faults, here.tolist(), strict=True) if stood]
    return kept, [f"{quantity(left_out, 'list')} made from earlier lists left out"] if left_out else []


def _lists(db: Database, flagged: Items, chosen: Sequence[PlantedCase]) -> _Lists:
    """The generated lists as they were shown."""
    cases, items = flagged.ratings.cases, flagged.lists.items
    row = np.searchsorted(cases.ids, [case.case_id for case in chosen])
    starts = np.searchsorted(items.row, row)
    free = {kind: np.zeros(items.row.size, dtype=np.bool_) for kind in FAULT_KINDS}
    planted = []
    for case, start in zip(chosen, starts.tolist(), strict=True):
        # a generated list contains only the shown part of the original list
        material = load_material(db, case.run_id, case.case_id, int(flagged.rank.max()))
        shown = material.slates[0].items
        ids = list(dict.fromkeys(item.item_id for item in shown))
        here = {item: start + at for at, item in enumerate(ids)}
        planted.append(here[case.fault.item_id])
        shopper = shopper_of(material.user)
        for kind in FAULT_KINDS:
            for place in free_places(kind, shopper, shown):
                at = here[shown[place].item_id]
                free[kind][at] = at != planted[-1]
    names = [planted_list(cases.systems[place]) for place in cases.system_a[row].tolist()]
    systems = tuple(name.system if name else "" for name in names)
    kinds = tuple(case.fault.kind for case in chosen)
    return _Lists(row, cases.user[row], kinds, systems, np.array(planted, dtype=np.int64), free)


def _rows(flagged: Items, flagger: Question, lists: _Lists, options: InjectedOptions) -> Iterator[Row]:
    value = _values(flagged, flagger, lists)
    issues = {folded(issue): place for place, issue in enumerate(flagged.lists.issues)}
    place_of = {kind: issues.get(folded(ISSUE_OF[kind])) for kind in FAULT_KINDS}
    right = np.zeros(value.size, dtype=np.bool_)
    for kind, place in place_of.items():
        if place is not None:
            marked = flagged.flagged(flagger, place)[lists.planted]
            right |= marked & np.array([own == kind for own in lists.kind])
    any_issue = flagged.flagged(flagger, None)[lists.planted]
    outcome = np.where(right, DETECTED, np.where(any_issue, OTHER_ISSUE, MISSED))
    met = tuple(kind for kind in FAULT_KINDS if kind in lists.kind)
    systems = sorted(set(lists.system)) if options.by_system and len(set(lists.system)) > 1 else []
    for system in (None, *systems):
        of_system = np.array([system in (None, own) for own in lists.system])
        valid = of_system & (value == 1)
        for kinds in (met, *((kind,) for kind in met if len(met) > 1)):
            asked = of_system & (value != 0) & np.array([own in kinds for own in lists.kind])
            if not asked.any():
                continue
            fault = kinds[0] if len(kinds) == 1 else ALL
            head: Row = {"rater": flagger.rater, "fault": fault, "system": system}
            failed = np.isnan(value[asked])
            for name in _OUTCOMES:
                hits = np.where(failed, np.nan, outcome[asked] == name)
                yield {
                    **head,
                    "outcome": name,
                    **_share(hits, lists.user[asked], options),
                    "failed": int(failed.sum()),
                }
            alarms = [_alarms(flagged, flagger, lists, valid, kind, place_of[kind]) for kind in kinds]
            hits, users = (np.concatenate(parts) for parts in zip(*alarms, strict=True))
            yield {**head, "outcome": FALSE_ALARM, **_share(hits, users, options), "failed": None}


def _values(flagged: Items, flagger: Question, lists: _Lists) -> FloatArray:
    """By generated list: 1 if the rater's verdict is valid, NaN if it failed, 0 if there is none."""
    verdicts = flagged.ratings.verdicts[Question(flagger.rater, PLANTED, OVERALL)]
    value = np.zeros(flagged.ratings.cases.ids.size)
    value[verdicts.row] = np.where(np.isnan(verdicts.value), np.nan, 1.0)
    of_lists: FloatArray = value[lists.row]
    return of_lists


def _alarms(
    flagged: Items,
    flagger: Question,
    lists: _Lists,
    valid: BoolArray,
    kind: FaultKind,
    issue: int | None,
) -> tuple[FloatArray, IntArray]:
    """For each item of these lists that certainly lacks a fault, whether it is flagged for it, and its user."""
    items = flagged.lists.items
    here = lists.free[kind] & flagged.shown(flagger) & np.isin(items.row, lists.row[valid])
    marked = flagged.flagged(flagger, issue)[here] & (issue is not None)
    return marked.astype(np.float64), flagged.ratings.cases.user[items.row[here]]


def _share(hits: FloatArray, users: IntArray, options: InjectedOptions) -> Row:
    share = share_estimate(hits, users)
    return {
        "count": int((hits == 1).sum()),
        "share": share.value,
        **interval_cells(share),
        "n": share.n,
        "users": int(np.unique(users).size),
        "note": "" if share.ci_low is not None else share.note,
    }
