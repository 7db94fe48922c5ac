"""Verdicts as a file, row by row."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from recjudge_tui.model.filters import parse_filter
from recjudge_tui.reports.stream import EXPORT_FORMATS, ExportFormat, Written, format_of, write_rows
from recjudge_tui.store.database import Database
from recjudge_tui.store.triage import EXPORTED, exported_rows, filtered_ids

__all__ = ["EXPORT_FORMATS", "ExportFormat", "Written", "format_of", "write_verdicts"]


def write_verdicts(
    db: Database, project_id: int, filter_text: str, fmt: ExportFormat, target: Path | TextIO
) -> Written:
    """Write the verdicts that `filter_text` lets through, by id, with the columns of `export verdicts`.

    Raises UsageError for a filter that cannot be read, RecjudgeError when the file cannot be written.
    """
    ids = filtered_ids(db, project_id, parse_filter(filter_text))
    return write_rows(EXPORTED, exported_rows(db, ids), fmt, target)
