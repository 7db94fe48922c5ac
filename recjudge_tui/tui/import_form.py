"""What to import: the files, the project and what they hold."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Label, Select, Static

from recjudge_tui.domain.records import IMPORT_KINDS, ImportKind
from recjudge_tui.domain.text import one_line
from recjudge_tui.settings import user_path

# ---- dialogs -----------------------------------------------------------------------------------------------------
# ---- window table ------------------------------------------------------------------------------------------------
from recjudge_tui.tui.dialogs import Dialog
from recjudge_tui.tui.widgets import DialogHint

# the first choice: import everything that is recognised in the files
_ALL = "all"


class ImportRequest(NamedTuple):
    """`kind` None: everything that is recognised in the file or the folder."""

    paths: tuple[Path, ...]
    kind: ImportKind | None
    project: str
    system: str | None


class ImportForm(Dialog[ImportRequest | None]):
    """Asks for path, kind and project. Missing fields are reported in the form."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "cancel", id="import.cancel")]

    def __init__(self, project: str) -> None:
        super().__init__()
        self._project = project

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog form") as box:
            box.border_title = Content("Import")
            yield Label(Content("file or folder"))
            yield Input(placeholder="lists.csv, or a folder such as ml-1m", compact=True, id="import-path")
            yield Label(Content("contents"))
            yield Select(
                [("everything recognised", _ALL), *((kind, kind) for kind in IMPORT_KINDS)],
                value=_ALL,
                allow_blank=False,
                compact=True,
                id="import-kind",
            )
            yield Label(Content("project (created if new)"))
            # a name with characters that cannot be shown cannot be edited
            known = self._project if self._project == one_line(self._project) else ""
            yield Input(value=known, compact=True, id="import-project", select_on_focus=False)
            yield Label(Content("system (only for lists that do not name one)"))
            yield Input(compact=True, id="import-system")
            yield Static(classes="form-error")
            yield DialogHint("enter import   tab next field   esc cancel")

    @on(Input.Submitted)
    def _accept(self) -> None:
        path = self.query_one("#import-path", Input).value.strip()
        project = self.query_one("#import-project", Input).value.strip()
        system = self.query_one("#import-system", Input).value.strip()
        wrong = _fault(path, project)
        if wrong:
            field, text = wrong
            self.query_one(".form-error", Static).update(Content(text))
            self.query_one(f"#{field}", Input).focus()
            return
        chosen = self.query_one("#import-kind", Select).value
        kind = next((kind for kind in IMPORT_KINDS if kind == chosen), None)
        self.dismiss(ImportRequest((user_path(path),), kind, project, system or None))


def _fault(path: str, project: str) -> tuple[str, str] | None:
    if not path:
        return "import-path", "Name a file or a folder."
    if not os.path.exists(user_path(path)):  # noqa: PTH110 - pathlib raises for a name that is too long
        return "import-path", "There is no such file or folder."
    if not project:
        return "import-project", "Name a project."
    return None
