"""The list of verdicts: those that match a filter, in order, with the reasons to read each."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from recjudge_tui.domain.filters import VerdictFilter, parse_filter
from recjudge_tui.domain.protocols import with_unit
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import NotFoundError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.rows import seen_first
from recjudge_tui.reports.common.table import Note, Row, Table, columns
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.hostile_texts import suspect_cases
from recjudge_tui.store import verdicts as stored
from recjudge_tui.store.database import Database
from recjudge_tui.store.filters import check_filter_names
from recjudge_tui.store.triage import DECISIONS

_COLUMNS = columns(
    "verdict_id|(Verdict)", "case_id|Case", "user_id|User", "context|Context", "served_at|Served|time",
    "systems|Systems", "rater", "rater_kind|(Kind)", "protocol aspect label value?", "confidence|Confidence|float|2",
    "why|Why", "decision|Decision", "tags|(Tags)",
)  # fmt: skip


def verdicts(project: Project, choose: Options) -> Table:
    """One row per verdict, the first `limit` in the order `sort`; the order by attention has only those that deserve
    a look. Raises UsageError for an invalid filter, NotFoundError if it names what the project does not have."""
    # what brings NumPy, which the app's list of verdicts does without
    from recjudge_tui.reports.words import combined_notes
    from recjudge_tui.store.ratings import project_raters

    chosen = project_filter(project.db, project.id, choose.filter or "")
    listing = listed_verdicts(project.db, project.id, chosen, choose.sort)
    ids = listing.ids
    shown = ids[: choose.limit]
    place = {key: at for at, key in enumerate(shown)}
    found = stored.verdict_rows(project.db, shown)
    rows = tuple(_row(row, listing.reason(place[row.verdict_id])) for row in found)
    notes = [Note(f"the first {len(rows):,} are listed")] if len(rows) < len(ids) else []
    raters, named = project_raters(project.db, project.id), dict.fromkeys(str(row["rater"]) for row in rows)
    notes += map(Note, combined_notes(raters[name] for name in named))
    settings = {"filter": chosen.text(), "verdicts": len(ids)}
    table = Table("Verdicts", _COLUMNS, rows, tuple(notes), settings, {}, _answer(listing, chosen, rows))
    return seen_first(table, "case_id systems rater aspect label why decision")


def _answer(listing: stored.Queue, chosen: VerdictFilter, rows: tuple[Row, ...]) -> str:
    """How many there are, and of a queue why."""
    through = f" match “{chosen.text()}”" if chosen else ""
    said = f"{quantity(len(listing.ids), 'verdict')}{through}"
    if listing.starts:
        sizes = {reason: n for reason, n in listing.sizes().items() if n}
        why = ", ".join(f"{reason} {n:,}" for reason, n in sizes.items())
        return f"{said}, to be read: {why}." if sizes else "No verdict in the queue is left to read."
    failed = Counter(row["label"] == "failed" for row in rows)[True]
    return f"{said}; {failed:,} of those listed failed." if failed else f"{said}."


def project_filter(db: Database, project_id: int, text: str) -> VerdictFilter:
    """Parse a filter. Raises UsageError if it is invalid, NotFoundError if it names what the project does not have."""
    chosen = parse_filter(text)
    check_filter_names(db, project_id, chosen)
    return chosen


def listed_verdicts(db: Database, project_id: int, chosen: VerdictFilter, sort: str = "id") -> stored.Queue:
    """The verdicts that match, in the order `sort` (one of ORDERS), with their reasons where they stand as in the
    queue. With `queue:` in the filter these are verdicts of the queue, in its order unless another one than `id` is
    asked for."""
    if sort != stored.ATTENTION and not chosen.queue():
        return stored.Queue(stored.filtered_ids(db, project_id, chosen, sort), ())
    queued = stored.queue(db, project_id, chosen, suspect_cases(db, project_id))
    if sort in (stored.ATTENTION, "id"):
        return queued
    kept = set(queued.ids)
    ordered = stored.filtered_ids(db, project_id, chosen.without("queue"), sort)
    return stored.Queue(array("q", (key for key in ordered if key in kept)), ())


class Listing(NamedTuple):
    """Verdict ids in order. `total` counts all verdicts without the filter; `unknown`: what the filter
    names and the project does not have. `texts`: explanation -> its verdicts, empty if others are listed, too."""

    ids: array[int]
    total: int
    unknown: str = ""
    texts: Mapping[int, list[int]] = MappingProxyType({})


def list_verdicts(
    db: Database, project_id: int, chosen: VerdictFilter, sort: str, only: tuple[int, ...] | None,
    given: tuple[int, ...] = (),
) -> Listing:  # fmt: skip
    """With `only`, nothing but the verdicts on these cases is listed and counted; of `given` verdicts, nothing but these."""
    ids = listed_verdicts(db, project_id, chosen, sort).ids
    if only is not None:
        kept = stored.verdicts_on(db, only)
        if given:
            matching, kept = {*ids}, kept & {*given}
            ids = array("q", (key for key in given if key in matching)) if sort == "id" else ids
        return Listing(array("q", (identity for identity in ids if identity in kept)), len(kept))
    total = stored.count_verdicts(db, project_id) if chosen else len(ids)
    unknown = ""
    if not ids:
        try:
            check_filter_names(db, project_id, chosen)
        except NotFoundError as error:
            # what the filter names and the project does not have, and what it has instead
            unknown = f"{error.title}. {error.cause}"
    return Listing(ids, total, unknown)


def _row(row: stored.VerdictRow, reason: str) -> Row:
    decision = DECISIONS.get(row.triage.decision, row.triage.decision)
    names = ("user_id", "rater", "rater_kind", "protocol", "aspect", "value", "confidence")
    return {name: getattr(row, name) for name in names} | {
        "verdict_id": str(row.verdict_id), "case_id": str(row.case_id), **row.occasion._asdict(),
        "systems": " vs ".join(row.systems), "label": "failed" if row.failed else row.label,
        "why": ", ".join([*([reason] if reason else []), *_reasons(row)]),
        "decision": f"{decision} to {row.triage.label}" if row.triage.label else decision,
        "tags": ", ".join(row.triage.tags),
    }  # fmt: skip


def _reasons(row: stored.VerdictRow) -> Iterator[str]:
    """The reasons why the verdict is worth reading, most important first."""
    if row.failed:
        yield row.error_kind.replace("_", " ") or "failed"
    if row.reviewed and not row.triage.decision:
        yield "reviewed"
    if row.flipped:
        yield "flips when swapped"
    if row.flag_count:
        yield f"{quantity(row.flag_count, 'item')} flagged{f' ({row.issue})' if row.issue else ''}"
    if row.disagrees and row.protocol in with_unit("explanation") and row.spread is not None:
        yield f"scores {row.spread:.3g} apart"
    elif row.disagrees:
        yield f"disagreement, {' to '.join(map(str, row.votes))}"
