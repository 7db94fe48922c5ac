"""Copies, saves or pages the case; exports the list."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.app import App, SuspendNotSupported
from textual.binding import Binding, BindingType

from recjudge_tui.domain.filters import VerdictFilter
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.store.database import Database
from recjudge_tui.tui.cases.panel import CasePanel
from recjudge_tui.tui.cases.verdict_listing import list_verdicts
from recjudge_tui.tui.kit.dialogs import AskLine
from recjudge_tui.tui.kit.exporting import ExportScreen, WrittenFile
from recjudge_tui.tui.kit.glyphs import case_number, glyphs, plural


class CaseOutput(ExportScreen):
    """What a screen with a `CasePanel` and a filter of verdicts can write."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy", "copy", show=False, id="cases.copy"),
        Binding("Y", "save", "save the case to a file", show=False, id="cases.save"),
        Binding("o", "page", "read the case in the pager", show=False, id="cases.page"),
        Binding("e", "export", "export the list", show=False, id="cases.export"),
    ]
    project_id: int
    chosen: VerdictFilter
    sort: str
    only: tuple[int, ...] | None

    def action_copy(self) -> None:
        text = self._case_text()
        if text is not None:
            self.app.copy_to_clipboard(text)
            self.notify("The case is copied.", markup=False)

    def action_page(self) -> None:
        text = self._case_text()
        if text is not None:
            try:
                page(self.app, text)
            except RecjudgeError as error:
                self.host.show_error(error)

    def action_save(self) -> None:
        text, case = self._case_text(), self.query_one(CasePanel).case
        if text is None or case is None:
            return
        name = f"case-{case_number(case.case_id)}.txt"
        hint = "The file for the case; it must not exist yet."
        self.app.push_screen(AskLine("Save the case", hint, name), partial(self._save, text=text))

    def _case_text(self) -> str | None:
        case = self.query_one(CasePanel).case
        if case is None:
            self.notify("No case is shown.", severity="warning", markup=False)
            return None
        from recjudge_tui.tui.cases.text import case_content, case_title

        title = case_title(case, glyphs())
        return f"{title}\n{case_content(case, 100, glyphs(), longest=10_000_000, draw=False).plain}\n"

    def _save(self, name: str | None, text: str) -> None:
        if name is None:
            return
        path = Path(name).expanduser()
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            self.host.show_error(
                RecjudgeError(f"{path} exists already", next_step="Press Y again and give another name.")
            )
        except OSError as error:
            self.host.show_error(RecjudgeError(f"{path} cannot be written", f"{error.strerror}."))
        else:
            self.notify(one_line(f"Saved to {path}.", 200), markup=False)

    def action_export(self) -> None:
        endings = ".csv .jsonl .json .md .tex .html .txt .parquet"
        hint = f"The listed verdicts are written to this file. Its ending sets the format: {endings}"
        self.ask_file(
            "verdicts.csv",
            hint,
            partial(_export, project_id=self.project_id, chosen=self.chosen, sort=self.sort, only=self.only),
        )


def _export(
    db: Database, path: Path, project_id: int, chosen: VerdictFilter, sort: str, only: tuple[int, ...] | None
) -> WrittenFile:
    from recjudge_tui.reports.verdicts.export import save_verdicts

    ids = list_verdicts(db, project_id, chosen, sort, only).ids
    written = save_verdicts(db, project_id, chosen.text(), path, ids=ids)
    return WrittenFile(path, plural(written.rows, "verdict"), (note,) if (note := written.says()) else ())


def page(app: App[None], text: str) -> None:
    """Leave the screen to `$PAGER` (else less or more) until it ends. Raises RecjudgeError when there is none."""
    wanted = os.environ.get("PAGER", "").strip()
    command = shlex.split(wanted) if wanted else [name for name in ("less", "more") if shutil.which(name)][:1]
    if not command or shutil.which(command[0]) is None:
        what = f"the pager “{command[0]}” is not installed" if command else "no pager is installed"
        raise RecjudgeError(what, next_step="Set the variable PAGER, or save the case with Y.")
    try:
        with app.suspend():
            # the user may leave the pager before it has read everything
            subprocess.run(command, input=text.encode("utf-8", "replace"), check=False)
    except SuspendNotSupported as error:
        raise RecjudgeError("this terminal cannot show a pager", next_step="Save the case with Y.") from error
