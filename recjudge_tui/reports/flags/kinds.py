"""Issues in the lists of each system: the share of lists, of items, or of items by rank that raters flag."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.text import quantity
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.missing_notes import earlier_notes
from recjudge_tui.reports.common.scales import is_people, rater_notes
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.flags.project_flags import (
    ANY,
    NOTHING,
    NOTHING_HERE,
    FlagOptions,
    ProjectFlags,
    issue_place,
    load_flagged,
    question_of,
    silent_notes,
)
from recjudge_tui.stats.arrays import BoolArray, IntArray
from recjudge_tui.stats.intervals import share_estimate
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.flags import Flagger
from recjudge_tui.store.verdicts.ratings import Ratings, newest_lists

_COLUMNS = (
    Column("system", "System"),
    Column("rater", "Rater"),
    Column("protocol", "Protocol", minor=True),
    Column("issue", "Issue"),
    Column("count", "Flagged", "int"),
    Column("share", "Share", "share"),
    *interval_columns("share"),
    Column("n", "n", "int"),
    Column("users", "Users", "int", minor=True),
    Column("people", "People", "share", minor=True),
    Column("people_n", "People’s n", "int", minor=True),
    Column("note", "Note"),
)
_BY_RANK = (*_COLUMNS[:4], Column("rank", "Rank", "int"), *_COLUMNS[4:])
_INTERVALS = "intervals over users, exact where every user has one row"
_PEOPLE = (
    "People: the same share in the verdicts of all people together, on the lists that the rater judged too"
)


class _Units(NamedTuple):
    """Lists or items, one row each: the case, the rank (0 for a whole list), and whether it is flagged."""

    case: IntArray
    rank: IntArray
    marked: BoolArray


def kinds_table(db: Database, project_id: int, options: FlagOptions) -> Table:
    """One row per rater, system and kind of issue (and rank, if by rank), with the share of lists or items flagged.
    The issue ANY counts lists or items with any flag. Kinds that nobody flagged are left out; failed verdicts are not
    in n. Raises what `load_flagged` raises, and UsageError for an unknown issue.
    """
    flagged = load_flagged(db, project_id, options)
    current = newest_lists(flagged.ratings)
    judged = {flagger: _judged_rows(current, flagger) for flagger in flagged.flaggers}
    rows: list[Row] = []
    for issue in _issues(flagged, judged, options):
        counted = {
            flagger: _counted(flagged, flagger, issue, cases, options) for flagger, cases in judged.items()
        }
        for flagger in flagged.flaggers:
            rows += _rows(flagged, flagger, issue, judged, counted, options)
    order = {question_of(flagger): at for at, flagger in enumerate(flagged.flaggers)}
    places = {(q.rater, q.protocol): at for q, at in order.items()}
    rows.sort(key=lambda row: (places[str(row["rater"]), str(row["protocol"])], str(row["system"])))
    notes = _notes(flagged, current, judged, rows, options)
    what = "items by rank" if options.by_rank else options.of
    settings: dict[str, object] = {
        "protocol": options.protocol,
        "of": "items" if options.by_rank else options.of,
    }
    settings |= {"issue": options.issue}
    return Table(
        f"Flagged items: share of {what}",
        _BY_RANK if options.by_rank else _COLUMNS,
        tuple(rows),
        notes,
        settings,
    )


def _judged_rows(current: Ratings, flagger: Flagger) -> IntArray:
    verdicts = current.verdicts[question_of(flagger)]
    return verdicts.row[~np.isnan(verdicts.value)]


def _issues(
    flagged: ProjectFlags, judged: dict[Flagger, IntArray], options: FlagOptions
) -> tuple[int | None, ...]:
    """The chosen kind; else ANY and, unless by rank, the kinds that somebody flagged."""
    if options.issue is not None:
        return (issue_place(flagged, options.issue),)
    if options.by_rank or not flagged.flaggers:
        return (None,)
    met = {
        issue
        for flagger, cases in judged.items()
        for flags in (flagged.lists.by_rater[flagger],)
        for issue in np.unique(flags.issue[np.isin(flags.row, cases)]).tolist()
    }
    return (None, *sorted(met))


def _counted(
    flagged: ProjectFlags, flagger: Flagger, issue: int | None, cases: IntArray, options: FlagOptions
) -> _Units:
    if options.of == "lists" and not options.by_rank:
        marked = flagged.lists_with(flagger, issue)[cases]
        return _Units(cases, np.zeros(cases.size, dtype=np.int64), marked)
    items = flagged.lists.items
    here = flagged.shown_to(flagger) & np.isin(items.row, cases)
    rank = items.rank[here] if options.by_rank else np.zeros(int(here.sum()), dtype=np.int64)
    return _Units(items.row[here], rank, flagged.items_with(flagger, issue)[here])


def _rows(
    flagged: ProjectFlags,
    flagger: Flagger,
    issue: int | None,
    judged: dict[Flagger, IntArray],
    counted: dict[Flagger, _Units],
    options: FlagOptions,
) -> Iterator[Row]:
    cases, own = flagged.ratings.cases, counted[flagger]
    beside = [] if is_people(flagger.rater) else _people(flagged, flagger, judged, counted)
    for system in np.unique(cases.system_a[own.case]).tolist():
        of_system = cases.system_a[own.case] == system
        for rank in np.unique(own.rank[of_system]).tolist():
            here = of_system & (own.rank == rank)
            users = cases.user[own.case[here]]
            share = share_estimate(own.marked[here], users)
            people = [
                part.marked[(cases.system_a[part.case] == system) & (part.rank == rank)] for part in beside
            ]
            people_n = sum(part.size for part in people)
            row: Row = {
                "system": cases.systems[system],
                "rater": flagger.rater.name,
                "protocol": flagger.protocol,
                "issue": ANY if issue is None else flagged.lists.issues[issue],
                "count": int(own.marked[here].sum()),
                "share": share.value,
                **interval_cells(share),
                "n": share.n,
                "users": int(np.unique(users).size),
                "people": sum(int(part.sum()) for part in people) / people_n if people_n else None,
                "people_n": people_n or None,
                "note": "" if share.ci_low is not None else share.note,
            }
            yield {**row, "rank": rank} if options.by_rank else row


def _people(
    flagged: ProjectFlags, flagger: Flagger, judged: dict[Flagger, IntArray], counted: dict[Flagger, _Units]
) -> list[_Units]:
    """The shares that people flagged in the lists that the rater judged, too."""
    parts = []
    for person in flagged.flaggers:
        if is_people(person.rater) and person.protocol == flagger.protocol:
            part = counted[person]
            both = np.isin(part.case, judged[flagger])
            parts.append(_Units(part.case[both], part.rank[both], part.marked[both]))
    return parts


def _notes(
    flagged: ProjectFlags,
    current: Ratings,
    judged: dict[Flagger, IntArray],
    rows: list[Row],
    options: FlagOptions,
) -> tuple[str, ...]:
    notes = [_INTERVALS] if rows else [NOTHING if current.cases.selected is None else NOTHING_HERE]
    if any(row["people"] is not None for row in rows):
        notes.append(_PEOPLE)
    questions = [question_of(flagger) for flagger in flagged.flaggers]
    for flagger, cases in judged.items():
        name = flagger.rater.name
        failed = int(np.isnan(current.verdicts[question_of(flagger)].value).sum())
        if failed:
            notes.append(f"{name}: {failed:,} of {cases.size + failed:,} failed and are not in n")
        if options.by_rank or options.of == "items":
            notes += _unknown_items(flagged, flagger, cases)
    notes += silent_notes(flagged) + earlier_notes(current, questions)
    notes += rater_notes(flagger.rater for flagger in flagged.flaggers)
    return tuple(notes)


def _unknown_items(flagged: ProjectFlags, flagger: Flagger, cases: IntArray) -> list[str]:
    """Notes on lists with unknown items, and on flags for items that are not in the list."""
    name, flags = flagger.rater.name, flagged.lists.by_rater[flagger]
    unknown = int((~np.isin(cases, flagged.lists.items.row)).sum())
    notes = (
        [f"{name}: {unknown:,} of {cases.size:,} lists are not here, so their items are not counted"]
        if unknown
        else []
    )
    strange = int(((flags.item < 0) & np.isin(flags.row, cases)).sum())
    if strange:
        notes.append(f"{name}: not counted: {quantity(strange, 'flag')} on items that are not in the list")
    return notes


def flagged_cases(
    db: Database,
    project_id: int,
    options: FlagOptions,
    rater: str,
    system: str,
    issue: str,
    rank: int | None = None,
) -> tuple[int, ...]:
    """The ids of the lists of a system in which a rater flagged an issue (ANY: any), or the item at a rank for it."""
    flagged = load_flagged(db, project_id, options)
    current, place, cases = newest_lists(flagged.ratings), issue_place(flagged, issue), flagged.ratings.cases
    ids: list[int] = []
    for flagger in flagged.flaggers:
        if flagger.rater.name != rater:
            continue
        judged = _judged_rows(current, flagger)
        counted = _counted(flagged, flagger, place, judged, replace(options, by_rank=rank is not None))
        here = counted.marked & ((counted.rank == rank) if rank is not None else True)
        rows = np.unique(counted.case[here])
        ids += cases.ids[[row for row in rows if cases.systems[cases.system_a[row]] == system]].tolist()
    return tuple(ids)
