"""Import from any screen: ask for a file, import it in the background, report what was stored."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from textual.binding import Binding

from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.store.database import Database
from recjudge_tui.tui.kit.base_screen import BaseScreen
from recjudge_tui.tui.kit.dialogs import Notice

if TYPE_CHECKING:
    from recjudge_tui.importers.summary import ImportSummary
    from recjudge_tui.tui.kit.import_form import ImportRequest


class ImportResult(NamedTuple):
    """The result of an import: its project, a toast, and its warnings line by line."""

    project: str
    toast: str
    warnings: str


# for the bindings of screens without a key of their own for it
IMPORT = Binding("i", "import", "import", show=False, id="app.import")


class ImportScreen(BaseScreen):
    """A screen that can import: its binding of `i` calls `ask_import`, and `imported` is called when there is new
    data.
    """

    def ask_import(self, project: str) -> None:
        """Ask for a file or a folder to import, proposing this project."""
        from recjudge_tui.tui.kit.import_form import ImportForm

        self.app.push_screen(ImportForm(project), self._start_import)

    def imported(self, project: str) -> None:
        """An import into this project is done."""

    def _start_import(self, request: ImportRequest | None) -> None:
        if request is not None:
            self.notify(one_line(f"Reading {request.paths[0]} …", 200), markup=False)
            self.background.start("import", partial(_import, request=request), self._show_import)

    def _show_import(self, result: ImportResult) -> None:
        self.imported(result.project)
        if result.warnings:
            self.app.push_screen(Notice(result.toast, result.warnings))
        else:
            self.notify(result.toast, markup=False)


def _import(db: Database, request: ImportRequest) -> ImportResult:
    from recjudge_tui.importers.folders import import_paths

    every = import_paths(db, request.project, request.paths, request.kind, system=request.system)
    says = [_import_words(done, len(every) > 1) for done in every]
    kinds = [f"{kind}: {count:,}" for done in every for kind, count in done.warning_kinds.items()]
    warnings = [warning for done in every for warning in done.warnings]
    notes = [note for done in every for note in done.notes]
    lines = [*every[0].aside, *notes, *kinds, *warnings]
    return ImportResult(request.project, " ".join(says), "\n".join(lines))


def _import_words(done: ImportSummary, several: bool) -> str:
    says = f"{done.kind}: " if several else ""
    says += f"{done.stored:,} of {quantity(done.read, 'row')} stored"
    more = [f"{n:,} {what}" for n, what in ((done.unchanged, "unchanged"), (done.skipped, "skipped")) if n]
    return ", ".join([says, *more]) + "."
