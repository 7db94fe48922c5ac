"""Export from a screen with a table: ask for a file, write it in the format of its ending, report the result."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.settings import user_path
from recjudge_tui.store.database import Database
from recjudge_tui.tui.kit.base_screen import BaseScreen
from recjudge_tui.tui.kit.dialogs import AskLine

if TYPE_CHECKING:
    from recjudge_tui.reports.common.table import Table


def format_hint(what: str) -> str:
    """The text of a dialog about the file; `what` is, for example, “The table is”."""
    from recjudge_tui.reports.common.table import ENDINGS

    return f"{what} written to this file. Its ending sets the format: {' '.join(ENDINGS)}"


class WrittenFile(NamedTuple):
    """The result of an export. `what` is, for example, “12 rows”; `notes` are for the user, for instance about
    defused cells.
    """

    path: Path
    what: str
    notes: tuple[str, ...] = ()

    def message(self) -> str:
        """The result in one line for a toast."""
        return one_line(f"{self.what} written to {self.path}.{note_text(self.notes)}", 400)


def note_text(notes: tuple[str, ...]) -> str:
    """The first note, which counts the defused cells, and the number of further notes; a toast has room for one."""
    if not notes:
        return ""
    more = f" ({quantity(len(notes) - 1, 'more note')}: in .html, .md and .txt)" if notes[1:] else ""
    return f" {one_line(notes[0], 160)}{more}"


class ExportScreen(BaseScreen):
    """A screen that can write something to a file: its binding of `e` calls `ask_export` or `ask_file`."""

    def ask_export(self, name: str, make: Callable[[Database], Table]) -> None:
        """Ask for a file, proposing `name`, and write the table from `make` in the format of the file's ending."""
        self.ask_file(name, format_hint("The table is"), partial(write_table, make=make))

    def ask_file(self, name: str, hint: str, write: Callable[[Database, Path], WrittenFile]) -> None:
        """Ask for a file and run `write` in the background; its RecjudgeError is shown."""
        self.app.push_screen(AskLine("Export", hint, name), partial(self._write_to, write=write))

    def _write_to(self, name: str | None, write: Callable[[Database, Path], WrittenFile]) -> None:
        if name is not None:
            path = user_path(name)
            self.background.start("export", lambda db: write(db, path), self._show_written)

    def _show_written(self, written: WrittenFile) -> None:
        self.notify(written.message(), markup=False)


def write_table(db: Database, path: Path, make: Callable[[Database], Table]) -> WrittenFile:
    """Make the table and write it; raises what `export_table` raises."""
    table = make(db)
    return WrittenFile(path, quantity(len(table.rows), "row"), export_table(table, path))


def export_table(table: Table, path: Path) -> tuple[str, ...]:
    """Write the table to a new file in the format of the file's ending; returns notes for the user.

    Raises UsageError for an unknown ending, RecjudgeError when the file exists or for Parquet without pyarrow, StoreError
    when it cannot be written.
    """
    from recjudge_tui.reports.common.stream import save_table
    from recjudge_tui.reports.common.table import format_of_file

    fmt = format_of_file(path)
    if path.exists():
        raise RecjudgeError(f"{path} exists already", next_step="Press e again and give another name.")
    return save_table(table, fmt, path)
