"""Exports the content of a project to a file: verdicts, calls, flags, cases, labels, images, lists, qrels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter
from recjudge_tui.domain.selection import CaseSelection
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.stream import EXPORT_FORMATS, PARQUET, ExportCounts, ExportFormat, write_rows
from recjudge_tui.reports.projects.ranking_files import (
    RankingFormat,
    write_qrels,
    write_run,
)
from recjudge_tui.reports.verdicts.export import write_verdicts
from recjudge_tui.store.data.catalogue import check_judgeable
from recjudge_tui.store.data.catalogue import systems as systems_with_lists
from recjudge_tui.store.database import Database
from recjudge_tui.store.occasions import Countable, check_contexts, untimed_count, untimed_note
from recjudge_tui.store.projects.exported_labels import LABEL_COLUMNS, label_rows
from recjudge_tui.store.projects.exports import (
    CALL_COLUMNS,
    CASE_COLUMNS,
    FLAG_COLUMNS,
    IMAGE_COLUMNS,
    LIST_COLUMNS,
    QREL_COLUMNS,
    call_rows,
    case_rows,
    flag_rows,
    image_rows,
    list_rows,
    qrel_rows,
)

_TABLES = {
    "calls": (CALL_COLUMNS, call_rows),
    "flags": (FLAG_COLUMNS, flag_rows),
    "cases": (CASE_COLUMNS, case_rows),
    "labels": (LABEL_COLUMNS, label_rows),
}
LISTS = "lists"
# exports that can be written as files of retrieval tools
RANKINGS = (LISTS, "qrels")
# exports that do not belong to occasions
WITHOUT_OCCASION = ("images",)


def export(
    db: Database,
    project_id: int,
    what: str,
    fmt: ExportFormat | RankingFormat,
    target: Path | TextIO,
    filter_text: str = "",
    systems: Sequence[str] = (),
    occasions: OccasionFilter = EVERY_OCCASION,
) -> ExportCounts:
    """Write one kind of data. Only verdicts can be filtered, as on the screen; `systems` is for lists only, `occasions` for
    everything but images.

    `replay:FILE` reads calls as JSON lines, and `import` reads labels, images (as items), lists and qrels. Raises
    UsageError for options that cannot be combined, NotFoundError for an unknown context, RecjudgeError when the file
    cannot be written.
    """
    if filter_text and what != "verdicts":
        raise UsageError("--filter can only be used with “export verdicts”")
    if systems and what != LISTS:
        raise UsageError("--systems can only be used with “export lists”")
    check_contexts(db, project_id, occasions)
    if what in WITHOUT_OCCASION and occasions != EVERY_OCCASION:
        raise UsageError(f"--context, --from and --to do not go with “export {what}”")
    if fmt == "trec" or fmt == "ranx":
        return _rankings(db, project_id, what, fmt, target, systems, occasions)
    if what == "verdicts":
        return write_verdicts(db, project_id, filter_text, fmt, target, occasions)
    if what == LISTS:
        chosen = _chosen(db, project_id, systems)
        return write_rows(LIST_COLUMNS, list_rows(db, project_id, chosen, occasions), fmt, target)
    if what == "images":
        return write_rows(IMAGE_COLUMNS, image_rows(db, project_id), fmt, target)
    if what == "qrels":
        return write_rows(QREL_COLUMNS, qrel_rows(db, project_id, occasions), fmt, target)
    columns, rows_of = _TABLES[what]
    return write_rows(columns, rows_of(db, project_id, occasions), fmt, target)


def left_out(
    db: Database, project_id: int, what: str, fmt: ExportFormat | RankingFormat, occasions: OccasionFilter
) -> str:
    """A sentence on the cases that an export leaves out because a time was chosen; empty if there are none."""
    counted: Countable = "cases"
    if what in RANKINGS:
        # a file of a retrieval tool has one query per list
        counted = "lists" if what == LISTS or fmt in ("trec", "ranx") else "held-out events"
    return untimed_note(untimed_count(db, project_id, counted, CaseSelection(occasions)), counted)


def _rankings(
    db: Database,
    project_id: int,
    what: str,
    fmt: RankingFormat,
    target: Path | TextIO,
    systems: Sequence[str],
    occasions: OccasionFilter,
) -> ExportCounts:
    if what not in RANKINGS:
        formats = ", ".join((*EXPORT_FORMATS, PARQUET))
        raise UsageError(
            f"--format {fmt} can only be used with {' and '.join(RANKINGS)}",
            next_step=f"Use one of {formats}.",
        )
    if what != LISTS:
        return write_qrels(db, project_id, fmt, target, occasions)
    chosen = _chosen(db, project_id, systems)
    if len(chosen) != 1:
        raise UsageError(
            f"--format {fmt} writes the lists of one system",
            f"Available: {', '.join(chosen) or 'none'}.",
            "Name one with --systems.",
        )
    return write_run(db, project_id, chosen[0], fmt, target, occasions)


def _chosen(db: Database, project_id: int, systems: Sequence[str]) -> Sequence[str]:
    """The named systems, or all with lists. Raises NotFoundError for a name without lists."""
    known = systems_with_lists(db, project_id)
    check_judgeable(db, project_id, systems, known)
    return systems or known
