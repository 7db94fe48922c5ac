"""Output of cases: one case as text, in a file or in the pager, and the list as a table."""

from __future__ import annotations

import os
import shlex
import shutil
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from recjudge_tui.domain.filters import VerdictFilter
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.settings import user_path
from recjudge_tui.store.database import Database
from recjudge_tui.tui.cases.verdict_pane import list_verdicts
from recjudge_tui.tui.kit.base_screen import BaseScreen
from recjudge_tui.tui.kit.dialogs import AskLine
from recjudge_tui.tui.kit.exporting import WrittenFile
from recjudge_tui.tui.kit.glyphs import case_number, glyphs
from recjudge_tui.tui.kit.host import Host

if TYPE_CHECKING:
    from recjudge_tui.store.case_detail import CaseDetail

_WIDTH = 100
_LONGEST = 10_000_000

EXPORT_HINT = (
    "The listed verdicts are written to this file. Its ending sets the format: "
    ".csv .jsonl .json .md .tex .html .txt .parquet"
)


def copy_case(screen: BaseScreen, case: CaseDetail) -> None:
    copy_text(screen, _text(case))


def copy_text(screen: BaseScreen, text: str) -> None:
    """Copy through the terminal. Some terminals ignore this silently, so the message names the method and the
    alternative.
    """
    screen.app.copy_to_clipboard(text)
    screen.notify("Copied through the terminal (OSC 52). Y saves it to a file.", markup=False)


def page_case(screen: BaseScreen, case: CaseDetail) -> None:
    try:
        page(screen.host, _text(case))
    except RecjudgeError as error:
        screen.host.show_error(error)


def save_case(screen: BaseScreen, case: CaseDetail) -> None:
    hint = "The file for the case; it must not exist yet."
    text = _text(case)
    ask_to_save(screen, "Save the case", hint, f"case-{case_number(case.case_id)}.txt", lambda _: text)


def ask_to_save(
    screen: BaseScreen, title: str, hint: str, proposed: str, text: Callable[[Path], str]
) -> None:
    """Ask for the name of a new file and write `text(path)` to it; an error is shown, and nothing is overwritten."""

    def save(name: str | None) -> None:
        if name is None:
            return
        path = user_path(name)
        try:
            _write_new(path, text(path))
        except RecjudgeError as error:
            screen.host.show_error(error)
        else:
            screen.notify(one_line(f"Saved to {path}.", 200), markup=False)

    screen.app.push_screen(AskLine(title, hint, proposed), save)


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise RecjudgeError(
            f"{path} exists already", next_step="Press Y again and give another name."
        ) from error
    except OSError as error:
        raise RecjudgeError(f"{path} cannot be written", f"{error.strerror}.") from error


def _text(case: CaseDetail) -> str:
    """The whole case; images are named, not drawn."""
    from recjudge_tui.tui.cases.case.text import case_content, case_title

    content = case_content(case, _WIDTH, glyphs(), longest=_LONGEST, draw=False)
    return f"{case_title(case, glyphs())}\n{content.plain}\n"


def export_list(
    db: Database,
    path: Path,
    project_id: int,
    chosen: VerdictFilter,
    sort: str,
    only: tuple[int, ...] | None,
    listed: array[int] | None,
) -> WrittenFile:
    """Write the `listed` verdicts; None while only a part of the list is read: then all of it is read here."""
    from recjudge_tui.project import Project
    from recjudge_tui.reports.exports import save_verdicts

    ids = list_verdicts(db, project_id, chosen, sort, only).ids if listed is None else listed
    written = save_verdicts(Project.numbered(db, project_id), chosen.text(), path, ids=ids)
    return WrittenFile(
        path, quantity(written.rows, "verdict"), (note,) if (note := written.message()) else ()
    )


def page(host: Host, text: str) -> None:
    """Leave the screen to `$PAGER` (else less or more) until it ends. Raises RecjudgeError when there is none."""
    wanted = os.environ.get("PAGER", "").strip()
    command = shlex.split(wanted) if wanted else [name for name in ("less", "more") if shutil.which(name)][:1]
    if not command or shutil.which(command[0]) is None:
        what = f"the pager “{command[0]}” is not installed" if command else "no pager is installed"
        raise RecjudgeError(what, next_step="Set the variable PAGER, or save the case with Y.")
    try:
        host.lend(command, text)
    except SuspendNotSupported as error:
        raise RecjudgeError("this terminal cannot show a pager", next_step="Save the case with Y.") from error
