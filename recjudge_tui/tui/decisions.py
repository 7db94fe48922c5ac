"""What triage does with a verdict: decide, override, tag, note and keep, alone or in bulk; copy; read what was sent."""

from __future__ import annotations

import os
import shlex
import shutil
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, NamedTuple

from textual.app import SuspendNotSupported

from recjudge_tui.config_file import reader_name
from recjudge_tui.domain.filters import VerdictFilter
from recjudge_tui.domain.options import Option
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import NotFoundError, RecjudgeError
from recjudge_tui.store.database import Database
from recjudge_tui.store.triage import DECISIONS, Action, Choices, choices, record, triage_states, undo_last
from recjudge_tui.store.verdicts import (
    LABELLED,
    VerdictRow,
    example_source,
    keep_as_label,
    lacks_reason,
    verdict_rows,
    verdict_to_keep,
)
from recjudge_tui.tui.dialogs import AskLine, Confirm, PickDialog
from recjudge_tui.tui.form import Form
from recjudge_tui.tui.screens import BaseScreen, Host, WrittenFile
from recjudge_tui.tui.verdict_list import VerdictList, list_verdicts
from recjudge_tui.tui.widgets import (
    case_number,
    keyed,
    number,
    short_label,
)

if TYPE_CHECKING:
    from recjudge_tui.store.case_detail import CaseDetail


# ---- triage ------------------------------------------------------------------------------------------------------


_DECIDED: dict[Action, str] = {
    "accept": "accepted",
    "dismiss": "dismissed",
    "override": "overridden",
    "tag": "tagged",
}
_UNDONE = {
    "accept": "accepting",
    "dismiss": "dismissing",
    "override": "overriding",
    "note": "the note on",
    "tag": "the tag on",
}
_TEXTS: dict[Action, tuple[str, str]] = {
    "note": ("Note", "A note on this verdict. The filter can search for it."),
    "tag": ("Tag", "One word. tag:WORD in the filter finds it again."),
}


class LogWrite(NamedTuple):
    """Rows added to the triage log (`rows`), or the error that prevented it. `show` is a verdict to go to.

    `verdicts`: a verdict of the reader was removed, or a label added. `decision` is the place in the list and what was
    decided there.
    """

    toast: str
    show: int | None = None
    error: RecjudgeError | None = None
    verdicts: bool = False
    decision: str = ""
    rows: int = 0


class Triage:
    """The reader's decisions on the verdicts of `rows`, asked for in dialogs over `screen`.

    Rows of the log are written one after the other, in the order of the keys; `changed` is called after each.
    """

    def __init__(
        self, screen: BaseScreen, project_id: int, rows: VerdictList, changed: Callable[[LogWrite], None]
    ) -> None:
        self.project_id = project_id
        self._screen, self._rows, self._changed = screen, rows, changed
        self._waiting: deque[Callable[[Database], LogWrite]] = deque()
        self._writing = False
        # how many rows each action of this screen added: an undo takes all of them back
        self._sizes: list[int] = []

    def _under_cursor(self) -> int | None:
        verdict_id = self._rows.verdict_id
        if verdict_id is None:
            self._screen.notify("There is no verdict here.", severity="warning", markup=False)
        return verdict_id

    def _write(self, job: Callable[[Database], LogWrite]) -> None:
        self._waiting.append(job)
        if not self._writing:
            self._write_next()

    def _write_next(self) -> None:
        self._writing = bool(self._waiting)
        if self._waiting:
            job = partial(_written, job=self._waiting.popleft())
            self._screen.background.start("triage", job, self._show_write)

    def _show_write(self, write: LogWrite) -> None:
        if write.rows > 0:
            self._sizes.append(write.rows)
        self._write_next()
        if write.error is not None:
            self._screen.host.show_error(write.error)
        if write.toast:
            self._screen.notify(one_line(keyed(self._screen.app, write.toast), 300), markup=False)
        if write.show is not None:
            self._rows.go_to(write.show)
        self._changed(write)

    def decide(self, action: Action) -> None:
        verdict_id = self._under_cursor()
        if verdict_id is not None:
            decision = f"{number(self._rows.cursor + 1)} {_DECIDED[action]}"
            self._write(partial(_record, ids=[verdict_id], action=action, decision=decision))
            self._rows.step(1)

    def in_bulk(self, action: Action) -> None:
        """Decide on all listed verdicts that have no decision, or tag all of them, after one question."""
        ids = self._rows.whole_list
        if not ids:
            self._screen.notify(
                "The list is being read." if ids is None else "Nothing is listed.", markup=False
            )
            return
        listed = quantity(len(ids), "verdict")

        def write(text: str | bool | None) -> None:
            if text:
                given = text if isinstance(text, str) else ""
                self._write(partial(_record, ids=ids, action=action, text=given, in_bulk=True))

        if action == "tag":
            self._screen.app.push_screen(AskLine(f"Tag all {listed} listed", _TEXTS["tag"][1]), write)
        else:
            text = f"All {listed} listed are {_DECIDED[action]}. Those that have a decision keep it. One undo takes it back."
            self._screen.app.push_screen(Confirm(f"{action.capitalize()} all?", text, action, "no"), write)

    def override(self) -> None:
        """Ask for another answer: by its key, or by a number of the scale."""
        if (verdict_id := self._under_cursor()) is None:
            return
        db = self._screen.host.db
        try:
            offered = choices(db, verdict_id)
        except RecjudgeError as error:
            self._screen.host.show_error(error)
            return
        (row,) = verdict_rows(db, [verdict_id])
        aspect = "" if row.aspect == OVERALL else f" on {one_line(row.aspect, 26).replace('_', ' ')}"
        whose = f"Case {case_number(row.case_id)}, {one_line(row.rater, 24)}{aspect}"
        about = f"{whose}. Your verdict is stored beside the judge's, as the rater “{reader_name()}”."
        title, given = "Override the verdict", partial(self._override, row)
        if keys := _keys(offered):
            answers = {
                key: ((label, value), answer_text(row.systems, label, value) if label != key else "")
                for key, (label, value) in keys.items()
            }
            self._screen.app.push_screen(PickDialog(title, about, answers), given)
        else:
            bounds = {"ge": offered.low, "le": offered.high}
            option = Option("value", float, about, bounds=bounds, label="value", required=True)
            form = Form(
                title, [option], {}, {}, "override", lambda form: (f"{form['value']:g}", form["value"])
            )
            self._screen.app.push_screen(form, given)

    def _override(self, row: VerdictRow, given: tuple[str, float] | None) -> None:
        if given is not None:
            label, value = given
            chosen = answer_text(row.systems, short_label(label), value)
            message = f"Overridden to {chosen}. {{triage.keep}} keeps it as an example or label; {{triage.undo}} undoes it."
            decision = f"{number(self._rows.cursor + 1)} {_DECIDED['override']}"
            job = partial(
                _record, ids=[row.verdict_id], action="override", label=label, value=value, message=message,
                decision=decision,
            )  # fmt: skip
            self._write(job)
            self._rows.step(1)

    def ask(self, action: Action) -> None:
        """Ask for the text of a note or a tag."""
        title, hint = _TEXTS[action]
        verdict_id = self._under_cursor()
        if verdict_id is not None:
            self._screen.app.push_screen(AskLine(title, hint), partial(self._entered, verdict_id, action))

    def _entered(self, verdict_id: int, action: Action, text: str | None) -> None:
        if text is not None:
            self._write(partial(_record, ids=[verdict_id], action=action, text=text))

    def undo(self) -> None:
        self._write(lambda db: _undo(db, self.project_id, self._sizes.pop() if self._sizes else 1))

    def keep(self) -> None:
        seen = self._under_cursor()
        if seen is not None:
            verdict_id = verdict_to_keep(self._screen.host.db, seen, reader_name())
            rows = verdict_rows(self._screen.host.db, [verdict_id])
            about = f"case {case_number(rows[0].case_id)}" if rows else ""
            title = " ".join(["Keep your verdict", *(["on", about] if about else [])])
            places = {
                "1": ("labels", f"in the labelled set, as the annotator “{LABELLED}”"),
                "2": ("example", "as an example in its prompt, in a new version"),
            }
            dialog = PickDialog(title, "", places)
            self._screen.app.push_screen(dialog, partial(self._keep, verdict_id))

    def _keep(self, verdict_id: int, where: str | None) -> None:
        """An example shows the judge how to reason, so ask for a reason if none was written yet."""
        if where == "labels":
            self._write(partial(_keep_label, verdict_id=verdict_id))
        if where != "example":
            return
        keep = partial(_keep_example, verdict_id=verdict_id)
        try:
            wanted = lacks_reason(example_source(self._screen.host.db, verdict_id, reader_name()))
        except NotFoundError as error:
            self._screen.host.show_error(error)
            return
        if not wanted:
            self._write(keep)
            return

        def reason(text: str | None) -> None:
            if text is not None:
                self._entered(verdict_id, "note", text)
                self._write(keep)

        hint = "The example shows the judge how to reason. Your text is kept as a note."
        self._screen.app.push_screen(AskLine("Why?", hint), reason)


def _written(db: Database, job: Callable[[Database], LogWrite]) -> LogWrite:
    """Run one job; its error is part of the result, so that the jobs after it run, too."""
    try:
        return job(db)
    except RecjudgeError as error:
        return LogWrite("", error=error)


def _record(
    db: Database, ids: Sequence[int], action: Action, text: str = "", label: str = "", value: float | None = None,
    message: str = "", decision: str = "", in_bulk: bool = False,
) -> LogWrite:  # fmt: skip
    """Write the action on these verdicts, all or nothing; `in_bulk` leaves out those with a decision, if it is one."""
    with db.transaction():
        if in_bulk and action in DECISIONS:
            decided = {key for key, state in triage_states(db, ids).items() if state.decision}
            ids = [key for key in ids if key not in decided]
        for key in ids:
            record(db, key, reader_name(), action, text=text, label=label, value=value)
    if in_bulk:
        message = f"{quantity(len(ids), 'verdict')} {_DECIDED[action]}. {{triage.undo}} undoes it."
    return LogWrite(message, decision=decision, rows=len(ids))


def _undo(db: Database, project_id: int, rows: int) -> LogWrite:
    with db.transaction():
        entries = [undo_last(db, project_id, reader_name()) for _ in range(rows)]
    entry = entries[-1]
    if entry is None:
        return LogWrite(f"“{reader_name()}” has nothing left to undo.")
    about = f"case {case_number(entry.case_id)}" if rows == 1 else quantity(rows, "verdict")
    message = f"Undone: {_UNDONE[entry.action]} {about}."
    return LogWrite(message, entry.verdict_id, verdicts=entry.action == "override")


def _keep_label(db: Database, verdict_id: int) -> LogWrite:
    count = keep_as_label(db, verdict_id, reader_name())
    message = f"“{LABELLED}” has {quantity(count, 'verdict')} now; you can measure judges against it."
    return LogWrite(message, verdicts=True)


def _keep_example(db: Database, verdict_id: int) -> LogWrite:
    from recjudge_tui.prompting.drafts import example_of_verdict

    name, version = example_of_verdict(db, verdict_id, reader_name())
    return LogWrite(f"The case is now an example in {name}@{version}.")


# ---- answers -----------------------------------------------------------------------------------------------------


_MOST_STEPS = 9


def answer_text(systems: tuple[str, ...], label: str, value: float) -> str:
    """The system that an answer about two lists chooses; else the label."""
    if len(systems) == 2 and value:
        return one_line(systems[0 if value > 0 else 1], 60)
    return one_line(label, 40)


def _keys(choices: Choices) -> dict[str, tuple[str, float]]:
    """Key -> its answer: 1, 2, 3 in the order of the labels, or the steps of a scale of whole numbers.

    Labels that are digits are their own keys, so 5 never gives 1.
    """
    if choices.labels and all(len(label) == 1 and label in "0123456789" for label, _ in choices.labels):
        return {label: (label, value) for label, value in choices.labels}
    if choices.labels:
        return {str(place): labelled for place, labelled in enumerate(choices.labels[:_MOST_STEPS], 1)}
    low, high = choices.low, choices.high
    has_steps = 0 <= low < high - 1 <= _MOST_STEPS - 1 and low == int(low) and high == int(high)
    return {str(n): (str(n), float(n)) for n in range(int(low), int(high) + 1)} if has_steps else {}


# ---- output ------------------------------------------------------------------------------------------------------


_WIDTH = 100
_LONGEST = 10_000_000

EXPORT_HINT = (
    "The listed verdicts are written to this file. Its ending sets the format: .csv .jsonl .json .parquet"
)


def copy_text(screen: BaseScreen, text: str) -> None:
    """Copy through the terminal. Some terminals ignore this silently, and tmux may not pass it on, so the message names the
    method and the alternative: a file, which is written in tmux.
    """
    screen.app.copy_to_clipboard(text)
    also = "Y saves it to a file."
    if os.environ.get("TMUX"):
        with NamedTemporaryFile(
            "w", encoding="utf-8", prefix="recjudge-", suffix=".txt", delete=False
        ) as file:
            file.write(text)
        also = f"tmux may not pass it on: it is in {file.name}, too."
    screen.notify(f"Copied through the terminal (OSC 52). {also}", markup=False)


def case_text(case: CaseDetail) -> str:
    """The whole case."""
    from recjudge_tui.tui.case import case_content, case_title

    content = case_content(case, _WIDTH, longest=_LONGEST)
    return f"{case_title(case)}\n{content.plain}\n"


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
    from recjudge_tui.reports.common.writers.data import format_of
    from recjudge_tui.reports.exports import write_verdicts

    ids = list_verdicts(db, project_id, chosen, sort, only).ids if listed is None else listed
    written = write_verdicts(Project.numbered(db, project_id), "", format_of(path), path, ids=ids)
    note = written.message()
    return WrittenFile(path, quantity(written.rows, "verdict"), (note,) if note else ())


def page(host: Host, text: str) -> None:
    """Leave the screen to `$PAGER` (else less or more) until it ends. Raises RecjudgeError when there is none."""
    wanted = os.environ.get("PAGER", "").strip()
    command = shlex.split(wanted) if wanted else [name for name in ("less", "more") if shutil.which(name)][:1]
    if not command or shutil.which(command[0]) is None:
        what = f"the pager “{command[0]}” is not installed" if command else "no pager is installed"
        raise RecjudgeError(what, next_step="Set the variable PAGER, or save the case to a file.")
    try:
        host.lend(command, text)
    except SuspendNotSupported as error:
        raise RecjudgeError(
            "this terminal cannot show a pager", next_step="Save the case to a file."
        ) from error
