"""What triage does with a verdict: decide, override, tag, note and keep, alone or in bulk; copy; read what was sent."""

from __future__ import annotations

import os
import shlex
import shutil
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.content import Content

from recjudge_tui.config_file import reader_name
from recjudge_tui.domain.filters import VerdictFilter
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.text import one_line, quantity, safe_text
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
from recjudge_tui.tui.row_list import Reader
from recjudge_tui.tui.screens import COMMON, BaseScreen, ExportScreen, Host, WrittenFile, write_text
from recjudge_tui.tui.texts import call_facts, error_content, part, request_content
from recjudge_tui.tui.verdict_list import VerdictList, list_verdicts
from recjudge_tui.tui.widgets import (
    GLYPHS,
    KeyLine,
    TopBar,
    case_number,
    number,
    score,
    short_label,
    title_rule,
)

if TYPE_CHECKING:
    from recjudge_tui.prompting.trial import SentVerdict
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
            job = partial(_written, job=self._waiting.popleft())
            self._screen.background.start("triage", job, self._show_write)

    def _show_write(self, write: LogWrite) -> None:
        if write.rows > 0:
            self._sizes.append(write.rows)
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
            decision = f"{number(self._rows.cursor + 1)} {_DECIDED[action]}"
            self._write(partial(_record, ids=[verdict_id], action=action, decision=decision))
            self._rows.action_move(1)

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
        verdict_id = self._under_cursor()
        if verdict_id is not None:
            job = partial(choices, verdict_id=verdict_id)
            self._screen.background.start("choices", job, partial(self._choose, verdict_id))

    def _choose(self, verdict_id: int, offered: Choices) -> None:
        rows = verdict_rows(self._screen.host.db, [verdict_id])
        # the cursor may have moved while the choices were read
        if not rows or verdict_id != self._rows.cursor_id:
            return
        row = rows[0]
        aspect = "" if row.aspect == OVERALL else f" on {one_line(row.aspect, 26).replace('_', ' ')}"
        whose = f"Case {case_number(row.case_id)}, {one_line(row.rater, 24)}{aspect}"
        about = f"{whose}. Your verdict is stored beside the judge's, as the rater “{reader_name()}”."
        if keys := _keys(offered):
            answers = {
                key: ((label, value), answer_text(row.systems, label, value) if label != key else "")
                for key, (label, value) in keys.items()
            }
            dialog = PickDialog("Override the verdict", about, answers)
            self._screen.app.push_screen(dialog, partial(self._override, row))
        else:
            self._ask_number(row, offered, about)

    def _ask_number(self, row: VerdictRow, offered: Choices, about: str) -> None:
        """Ask for a number of the scale until one is given."""
        span = f"a number from {score(offered.low)} to {score(offered.high)}"

        def given(text: str | None) -> None:
            if text is None:
                return
            try:
                value = float(text)
            except ValueError:
                value = float("nan")
            if offered.low <= value <= offered.high:
                self._override(row, (f"{value:g}", value))
            else:
                self._ask_number(row, offered, f"Enter {span}.")

        self._screen.app.push_screen(AskLine("Override the verdict", about, "", span), given)

    def _override(self, row: VerdictRow, given: tuple[str, float] | None) -> None:
        if given is not None:
            label, value = given
            chosen = answer_text(row.systems, short_label(label), value)
            message = f"Overridden to {chosen}. + keeps it as an example or label; u undoes it."
            decision = f"{number(self._rows.cursor + 1)} {_DECIDED['override']}"
            job = partial(
                _record, ids=[row.verdict_id], action="override", label=label, value=value, message=message,
                decision=decision,
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
        message = f"{quantity(len(ids), 'verdict')} {_DECIDED[action]}. u undoes it."
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


# ---- triage dialogs ----------------------------------------------------------------------------------------------


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
    if (
        low == int(low)
        and high == int(high)
        and 1 < high - low <= _MOST_STEPS
        and low >= 0
        and high <= _MOST_STEPS
    ):
        return {str(step): (str(step), float(step)) for step in range(int(low), int(high) + 1)}
    return {}


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
    from recjudge_tui.reports.common.stream import format_of
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
        raise RecjudgeError(what, next_step="Set the variable PAGER, or save the case with Y.")
    try:
        host.lend(command, text)
    except SuspendNotSupported as error:
        raise RecjudgeError("this terminal cannot show a pager", next_step="Save the case with Y.") from error


# ---- sent screen -------------------------------------------------------------------------------------------------


_NONE = "No model was asked for this verdict: a person gave it, or it was imported or made from others."


class SentScreen(ExportScreen):
    """`SentScreen(project_id, verdict_id)`: every call behind a verdict, in both orders."""

    AUTO_FOCUS = "Reader"
    CSS = """
    SentScreen Reader { border: round $primary; border-title-color: $accent; height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "copy('text')", "copy text", id="sent.copy_text"),
        Binding("2", "copy('json')", "copy JSON", id="sent.copy_json"),
        Binding("3", "copy('curl')", "copy curl", id="sent.copy_curl"),
        Binding("Y", "save", "save", id="sent.save"),
        Binding("p", "prompt", "try the prompt", id="sent.prompt"),
        *COMMON,
    ]

    def __init__(self, project_id: int, verdict_id: int) -> None:
        super().__init__()
        self.project_id, self.verdict_id = project_id, verdict_id
        self.sent: SentVerdict | None = None

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), "Request and reply")
        yield Reader()
        yield KeyLine()

    def on_mount(self) -> None:
        def read(db: Database) -> SentVerdict | None:
            from recjudge_tui.prompting.trial import sent_verdict

            return sent_verdict(db, self.verdict_id)

        self.background.start("sent", read, self._show)

    def _show(self, sent: SentVerdict | None) -> None:
        self.sent, pane = sent, self.query_one(Reader)
        if sent is None:
            pane.show(lambda _: Content.styled(_NONE, "dim"))
        else:
            prompt = "@".join(map(str, sent.prompt))
            dot = GLYPHS.dot
            parts = (f"case {case_number(sent.case_id)}", f"run {sent.run_id}", sent.judge, prompt)
            pane.border_title = Content(one_line(f" {dot} ".join(filter(None, parts)), 100))
            pane.show(lambda width: Content("\n").join(_content(sent, width)))
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("copy", "save", "prompt"):
            return self.sent is not None
        return super().check_action(action, parameters)

    def _text(self, form: str) -> str:
        from recjudge_tui.prompting.trial import sent_text

        return "" if self.sent is None else sent_text(self.sent, form)

    def action_copy(self, form: str) -> None:
        text = self._text(form)
        if not text:
            self.notify("This judge is not asked over HTTP, so there is no curl command.", markup=False)
            return
        copy_text(self, text)

    def action_save(self) -> None:
        hint = "The file for the request and the reply; .json writes JSON, .sh curl commands, else text."
        self.ask_file(f"sent-{self.verdict_id}.txt", hint, self._write, "Save")

    def _write(self, _: Database, path: Path) -> WrittenFile:
        form = {".json": "json", ".sh": "curl"}.get(path.suffix.lower(), "text")
        return write_text(path, self._text(form) + "\n")

    def action_prompt(self) -> None:
        if self.sent is not None:
            of_case = (self.sent.unit, self.sent.case_id)
            self.open_screen("prompts", self.project_id, prompt=self.sent.prompt, case=of_case)


def _content(sent: SentVerdict, width: int) -> Iterator[Content]:
    """The content. Replies come before requests, because prompts are long."""
    for call in sent.calls:
        yield title_rule(one_line(call.title(), 60), width)
        row = call.row
        known = {**row, "seconds": row["latency_s"], "stop": row["stop_reason"]}
        yield call_facts(row["attempts"], row["cost_usd"], known)
        if row["cached_from"] is not None:
            yield Content.styled("a stored reply was used", "dim")
        if row["state"] == "failed":
            kind = one_line((row["error_kind"] or "").replace("_", " "), 40)
            yield error_content(RecjudgeError(kind, row["error"] or ""))
        yield part("reply", row["reply"] or "")
        if row["thinking"]:
            yield part("thinking", row["thinking"])
        if call.request is None:
            fault = f"The request cannot be rendered any more: {safe_text(call.fault)}"
            yield Content.styled(fault, "$warning")
            continue
        if call.same is False:
            other = "This is not the request that was sent: its hash differs from the stored one."
            yield Content.styled(f"{GLYPHS.marked} {other}", "$warning")
        yield request_content(call.request.messages)
        if call.parameters:
            given = ", ".join(f"{name} {value}" for name, value in call.parameters.items())
            yield Content.styled(f"with {one_line(given, 600)}", "dim")
