"""Verdicts as a file, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.scales import combined_notes
from recjudge_tui.reports.common.stream import (
    EXPORT_FORMATS,
    ExportCounts,
    ExportFormat,
    format_of,
    write_rows,
)
from recjudge_tui.reports.verdicts.listing import listed_verdicts, project_filter
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.listing import EXPORTED, exported_rows
from recjudge_tui.store.verdicts.ratings import project_raters

__all__ = ["EXPORT_FORMATS", "ExportCounts", "ExportFormat", "format_of", "save_verdicts", "write_verdicts"]

# endings of tables for people, which are built in memory
_TABLES = {".md": "md", ".tex": "latex", ".html": "html", ".txt": "plain"}
MOST_ROWS = 10_000
# columns that a page of a paper keeps if there is no room for all
_ALWAYS = ("case_id", "user_id", "system_a", "system_b", "rater", "aspect", "label", "reasoning")
SAVED_AS = (".csv", ".jsonl", ".json", *_TABLES, ".parquet")


def write_verdicts(
    db: Database,
    project_id: int,
    filter_text: str,
    fmt: ExportFormat,
    target: Path | TextIO,
    occasions: OccasionFilter = EVERY_OCCASION,
) -> ExportCounts:
    """Write the verdicts that match `filter_text`, by id, with the columns of `export verdicts`.

    Raises what `project_filter` raises, and RecjudgeError when the file cannot be written.
    """
    ids = listed_verdicts(db, project_id, project_filter(db, project_id, filter_text).at(occasions)).ids
    return _written(db, project_id, ids, fmt, target)


def _written(
    db: Database, project_id: int, ids: Sequence[int], fmt: ExportFormat, target: Path | TextIO
) -> ExportCounts:
    """Write these verdicts; the notes say which of their raters are made from others."""
    seen: set[str] = set()
    written = write_rows(EXPORTED, _seen(exported_rows(db, ids), seen), fmt, target)
    return written._replace(notes=_about(db, project_id, seen))


def _seen(rows: Iterable[tuple[Any, ...]], raters: set[str]) -> Iterator[tuple[Any, ...]]:
    """The same rows, whose raters are added to `raters`."""
    at = EXPORTED.index("rater")
    for row in rows:
        raters.add(row[at])
        yield row


def _about(db: Database, project_id: int, names: Iterable[str]) -> tuple[str, ...]:
    raters = project_raters(db, project_id)
    return tuple(combined_notes(raters[name] for name in names))


def save_verdicts(
    db: Database, project_id: int, filter_text: str, path: Path, *, ids: Sequence[int] | None = None
) -> ExportCounts:
    """`write_verdicts` in the format of the file's ending, one of SAVED_AS; with `ids`, these verdicts in their order.

    Tables for people (.md .tex .html .txt) have the same columns and at most MOST_ROWS verdicts; their last note
    counts the rest. Raises UsageError for another ending, and whatever `write_verdicts` raises.
    """
    fmt = _TABLES.get(path.suffix.lower())
    if path.suffix.lower() not in SAVED_AS:
        raise UsageError(
            f"no export format for “{path.name}”",
            "The format follows the ending of the file name.",
            f"Use {' '.join(SAVED_AS)}.",
        )
    if ids is None:
        ids = listed_verdicts(db, project_id, project_filter(db, project_id, filter_text)).ids
    if fmt is None:
        return _written(db, project_id, ids, format_of(path), path)
    from recjudge_tui.reports.common.table import Column, Screen, Table, render, save_text

    exported = islice(exported_rows(db, ids), MOST_ROWS)
    rows = tuple(dict(zip(EXPORTED, row, strict=True)) for row in exported)
    left_out = len(ids) - len(rows)
    about = _about(db, project_id, {str(row["rater"]) for row in rows})
    more = (f"{left_out:,} more are left out; .csv and .jsonl hold all of them",) if left_out else ()
    columns = tuple(
        Column(name, name.replace("_", " ").capitalize(), minor=name not in _ALWAYS) for name in EXPORTED
    )
    save_text(render(Table("Verdicts", columns, rows, about + more), fmt, Screen(width=100)).text, path)
    return ExportCounts(len(rows), 0, about)
