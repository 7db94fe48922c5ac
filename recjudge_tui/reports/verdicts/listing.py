"""The verdicts that match a filter as a table, like the app's list of verdicts."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from recjudge_tui.domain.filters import VerdictFilter, parse_filter
from recjudge_tui.domain.protocols import with_unit
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.scales import combined_notes
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.verdicts.hostile_texts import suspect_cases
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.attention import ATTENTION, Queue, queue
from recjudge_tui.store.verdicts.filter_names import check_filter_names
from recjudge_tui.store.verdicts.listing import SORTS, VerdictRow, filtered_ids, verdict_rows
from recjudge_tui.store.verdicts.ratings import project_raters

LIMIT = 1000
ORDERS = (*SORTS, ATTENTION)
_COLUMNS = (
    Column("verdict_id", "Verdict", minor=True),
    Column("case_id", "Case"),
    Column("user_id", "User"),
    Column("context", "Context"),
    Column("served_at", "Served", "time"),
    Column("systems", "Systems"),
    Column("rater", "Rater"),
    Column("rater_kind", "Kind", minor=True),
    Column("protocol", "Protocol"),
    Column("aspect", "Aspect"),
    Column("label", "Label"),
    Column("value", "Value", "float", minor=True),
    Column("confidence", "Confidence", "float", decimals=2),
    Column("why", "Why"),
    Column("decision", "Decision"),
    Column("tags", "Tags", minor=True),
)
_DECIDED = {"accept": "accepted", "dismiss": "dismissed", "override": "overridden"}


def verdicts_table(
    db: Database, project_id: int, filter_text: str = "", sort: str = "id", limit: int = LIMIT
) -> Table:
    """One row per verdict, the first `limit` in the order `sort` (one of ORDERS); a note counts them all.

    The order by attention has only verdicts that deserve a look, with the reason in `why`. Raises UsageError for an
    unknown order, and whatever `project_filter` raises.
    """
    if sort not in ORDERS:
        raise UsageError(f"no order “{sort}”", f"Available: {', '.join(ORDERS)}.")
    chosen = project_filter(db, project_id, filter_text)
    listing = listed_verdicts(db, project_id, chosen, sort)
    ids = listing.ids
    place = {key: at for at, key in enumerate(ids[:limit])}
    rows = tuple(_row(row, listing.reason(place[row.verdict_id])) for row in verdict_rows(db, ids[:limit]))
    through = f" that match “{chosen.text()}”" if chosen else ""
    notes = [f"{len(ids):,} verdicts{through}, by {sort}"]
    if len(rows) < len(ids):
        notes.append(f"the first {len(rows):,} are shown; --limit N shows more")
    if rows:
        notes.append("“recjudge cases show CASE” shows a case with every reasoning")
    raters = project_raters(db, project_id)
    notes += combined_notes(raters[name] for name in dict.fromkeys(str(row["rater"]) for row in rows))
    settings = {"filter": chosen.text(), "sort": sort, "limit": limit, "verdicts": len(ids)}
    return Table("Verdicts", _COLUMNS, rows, tuple(notes), settings)


def project_filter(db: Database, project_id: int, text: str) -> VerdictFilter:
    """Parse a filter. Raises UsageError if it is invalid, NotFoundError if it names what the project does not have."""
    chosen = parse_filter(text)
    check_filter_names(db, project_id, chosen)
    return chosen


def listed_verdicts(db: Database, project_id: int, chosen: VerdictFilter, sort: str = "id") -> Queue:
    """The verdicts that match, in the order `sort` (one of ORDERS), with their reasons where they stand as in the queue.

    With `queue:` in the filter these are verdicts of the queue, in its order unless another one than `id` is asked for.
    """
    if sort != ATTENTION and not chosen.queue():
        return Queue(filtered_ids(db, project_id, chosen, sort), ())
    queued = queue(db, project_id, chosen, suspect_cases(db, project_id))
    if sort in (ATTENTION, "id"):
        return queued
    kept = set(queued.ids)
    ordered = filtered_ids(db, project_id, chosen.without("queue"), sort)
    return Queue(array("q", (key for key in ordered if key in kept)), ())


def _row(row: VerdictRow, reason: str) -> Row:
    decision = _DECIDED.get(row.triage.decision, row.triage.decision)
    return {
        "verdict_id": str(row.verdict_id),
        "case_id": str(row.case_id),
        "user_id": row.user_id,
        "context": row.occasion.context,
        "served_at": row.occasion.served_at,
        "systems": " vs ".join(row.systems),
        "rater": row.rater,
        "rater_kind": row.rater_kind,
        "protocol": row.protocol,
        "aspect": row.aspect,
        "label": "failed" if row.failed else row.label,
        "value": row.value,
        "confidence": row.confidence,
        "why": ", ".join([*([reason] if reason else []), *_reasons(row)]),
        "decision": f"{decision} to {row.triage.label}" if row.triage.label else decision,
        "tags": ", ".join(row.triage.tags),
    }


def _reasons(row: VerdictRow) -> Iterator[str]:
    """The reasons why the verdict is worth reading, most important first."""
    if row.failed:
        yield row.error_kind.replace("_", " ") or "failed"
    if row.reviewed and not row.triage.decision:
        yield "reviewed"
    if row.flipped:
        yield "flips when swapped"
    if row.flag_count:
        items = "1 item flagged" if row.flag_count == 1 else f"{row.flag_count} items flagged"
        yield f"{items} ({row.issue})" if row.issue else items
    if row.disagrees and row.protocol in with_unit("explanation") and row.spread is not None:
        yield f"scores {row.spread:.3g} apart"
    elif row.disagrees:
        yield f"disagreement, {' to '.join(map(str, row.votes))}"
