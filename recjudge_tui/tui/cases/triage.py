"""Triage: decisions, notes and tags on the verdict under the cursor.

One key undoes them; verdicts can be kept as labels or examples.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from recjudge_tui.config_file import reader_name
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import NotFoundError, RecjudgeError
from recjudge_tui.store.database import Database
from recjudge_tui.store.triage import Action, LogEntry, record, undo_last
from recjudge_tui.store.verdicts import LABELLED, VerdictRow, keep_as_label, verdict_rows, verdict_to_keep
from recjudge_tui.tui.cases.verdict_list import VerdictList
from recjudge_tui.tui.kit.base_screen import BaseScreen
from recjudge_tui.tui.kit.dialogs import AskLine
from recjudge_tui.tui.kit.glyphs import case_number, number, short_label

if TYPE_CHECKING:
    from recjudge_tui.store.triage import Choices

_DECIDED: dict[Action, str] = {"accept": "accepted", "dismiss": "dismissed", "override": "overridden"}
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
    """A row added to the triage log, or the error that prevented it. `show` is a verdict to go to.

    `verdicts`: a verdict of the reader was added, changed or removed. `decision` is the place in the list and what was
    decided there.
    """

    toast: str
    show: int | None = None
    error: RecjudgeError | None = None
    verdicts: bool = False
    decision: str = ""


class Triage:
    """The reader's decisions on the verdicts of `rows`, asked for in dialogs over `screen`.

    Rows of the log are written one after the other, in the order of the keys; `changed` is called after each.
    """

    def __init__(
        self,
        screen: BaseScreen,
        project_id: int,
        rows: VerdictList,
        changed: Callable[[LogWrite], None],
    ) -> None:
        self.project_id = project_id
        self._screen, self._rows, self._changed = screen, rows, changed
        self._waiting: deque[Callable[[Database], LogWrite]] = deque()
        self._writing = False

    def _under_cursor(self) -> int | None:
        verdict_id = self._rows.cursor_id
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
            self._screen.background.start(
                "triage", partial(_written, job=self._waiting.popleft()), self._show_write
            )

    def _show_write(self, write: LogWrite) -> None:
        self._write_next()
        if write.error is not None:
            self._screen.host.show_error(write.error)
        if write.toast:
            self._screen.notify(one_line(write.toast, 300), markup=False)
        if write.show is not None:
            self._rows.go_to(write.show)
        self._changed(write)

    def decide(self, action: Action) -> None:
        verdict_id = self._under_cursor()
        if verdict_id is not None:
            place = self._rows.cursor + 1
            self._write(
                partial(_record, verdict_id=verdict_id, reader=reader_name(), action=action, place=place)
            )
            self._rows.action_move(1)

    def override(self) -> None:
        verdict_id = self._under_cursor()
        if verdict_id is not None:
            job = partial(_choices, verdict_id=verdict_id)
            self._screen.background.start("choices", job, partial(self._choose, verdict_id))

    def _choose(self, verdict_id: int, choices: Choices) -> None:
        from recjudge_tui.tui.cases.triage_dialogs import OverrideDialog

        rows = verdict_rows(self._screen.host.db, [verdict_id])
        # the cursor may have moved while the choices were read
        if not rows or verdict_id != self._rows.cursor_id:
            return
        row = rows[0]
        whose = f"Case {case_number(row.case_id)}, {one_line(row.rater, 24)}{_on_aspect(row)}"
        about = f"{whose}. Your verdict is stored beside the judge's, as the rater “{reader_name()}”."
        self._screen.app.push_screen(
            OverrideDialog(choices, about, row.systems), partial(self._override, row)
        )

    def _override(self, row: VerdictRow, given: tuple[str, float] | None) -> None:
        from recjudge_tui.tui.cases.triage_dialogs import answer_text

        if given is not None:
            label, value = given
            chosen = answer_text(row.systems, short_label(label), value)
            message = f"Overridden to {chosen}. + keeps it as an example or label; u undoes it."
            job = partial(
                _record, verdict_id=row.verdict_id, reader=reader_name(), action="override", label=label,
                value=value, message=message, place=self._rows.cursor + 1,
            )  # fmt: skip
            self._write(job)
            self._rows.action_move(1)

    def ask(self, action: Action) -> None:
        """Ask for the text of a note or a tag."""
        title, hint = _TEXTS[action]
        verdict_id = self._under_cursor()
        if verdict_id is not None:
            self._screen.app.push_screen(AskLine(title, hint), partial(self._entered, verdict_id, action))

    def _entered(self, verdict_id: int, action: Action, text: str | None) -> None:
        if text is not None:
            self._write(
                partial(
                    _record,
                    verdict_id=verdict_id,
                    reader=reader_name(),
                    action=action,
                    text=text,
                )
            )

    def undo(self) -> None:
        self._write(partial(_undo, project_id=self.project_id, reader=reader_name()))

    def keep(self) -> None:
        from recjudge_tui.tui.cases.triage_dialogs import KeepDialog

        seen = self._under_cursor()
        if seen is not None:
            verdict_id = verdict_to_keep(self._screen.host.db, seen, reader_name())
            rows = verdict_rows(self._screen.host.db, [verdict_id])
            about = f"case {case_number(rows[0].case_id)}" if rows else ""
            self._screen.app.push_screen(KeepDialog(about), partial(self._keep, verdict_id))

    def _keep(self, verdict_id: int, where: str | None) -> None:
        if where == "labels":
            self._write(partial(_keep_label, verdict_id=verdict_id, reader=reader_name()))
        elif where == "example":
            self._keep_with_reason(verdict_id)

    def _keep_with_reason(self, verdict_id: int) -> None:
        """An example shows the judge how to reason, so ask for a reason if none was written yet."""
        from recjudge_tui.store.verdicts import example_source, lacks_reason

        keep = partial(_keep_example, verdict_id=verdict_id, reader=reader_name())
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

        self._screen.app.push_screen(
            AskLine("Why?", "The example shows the judge how to reason. Your text is kept as a note."), reason
        )


def _on_aspect(row: VerdictRow) -> str:
    return "" if row.aspect == OVERALL else f" on {one_line(row.aspect, 26).replace('_', ' ')}"


def _choices(db: Database, verdict_id: int) -> Choices:
    from recjudge_tui.store.triage import choices

    return choices(db, verdict_id)


def _written(db: Database, job: Callable[[Database], LogWrite]) -> LogWrite:
    """Run one job; its error is part of the result, so that the jobs after it run, too."""
    try:
        return job(db)
    except RecjudgeError as error:
        return LogWrite("", error=error)


def _record(
    db: Database, verdict_id: int, reader: str, action: Action, text: str = "", label: str = "",
    value: float | None = None, message: str = "", place: int = 0,
) -> LogWrite:  # fmt: skip
    record(db, verdict_id, reader, action, text=text, label=label, value=value)
    decision = f"{number(place)} {_DECIDED[action]}" if action in _DECIDED else ""
    return LogWrite(message, verdicts=action == "override", decision=decision)


def _undo(db: Database, project_id: int, reader: str) -> LogWrite:
    entry: LogEntry | None = undo_last(db, project_id, reader)
    if entry is None:
        return LogWrite(f"“{reader}” has nothing left to undo.")
    message = f"Undone: {_UNDONE[entry.action]} case {case_number(entry.case_id)}."
    return LogWrite(message, entry.verdict_id, verdicts=entry.action == "override")


def _keep_label(db: Database, verdict_id: int, reader: str) -> LogWrite:
    count = keep_as_label(db, verdict_id, reader)
    message = f"“{LABELLED}” has {quantity(count, 'verdict')} now; you can measure judges against it."
    return LogWrite(message, verdicts=True)


def _keep_example(db: Database, verdict_id: int, reader: str) -> LogWrite:
    from recjudge_tui.prompting.drafts import example_of_verdict

    name, version = example_of_verdict(db, verdict_id, reader)
    return LogWrite(f"The case is now an example in {name}@{version}.")
