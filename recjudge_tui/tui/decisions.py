"""What triage does with a verdict: read it whole, decide, tag, note, copy, export."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual import events, on
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from recjudge_tui.config_file import reader_name
from recjudge_tui.domain.filters import VerdictFilter
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.text import money, one_line, quantity, safe_text
from recjudge_tui.errors import NotFoundError, RecjudgeError
from recjudge_tui.settings import user_path
from recjudge_tui.store.database import Database
from recjudge_tui.store.filters import check_filter_names
from recjudge_tui.store.runs import ActiveRun
from recjudge_tui.store.triage import Action, Choices, LogEntry, count_triaged, record, undo_last
from recjudge_tui.store.verdicts import (
    ATTENTION,
    LABELLED,
    SORTS,
    Queue,
    VerdictRow,
    count_verdicts,
    filtered_ids,
    first_ids,
    keep_as_label,
    verdict_rows,
    verdict_to_keep,
    verdicts_on,
)
from recjudge_tui.tui.dialogs import AskLine, Dialog
from recjudge_tui.tui.screens import COMMON, Background, BaseScreen, Host, WrittenFile, host_of
from recjudge_tui.tui.verdict_list import VerdictList, header_line
from recjudge_tui.tui.widgets import (
    LONGEST_PROMPT,
    ClickText,
    DialogHint,
    Glyphs,
    KeyLine,
    TextPane,
    TopBar,
    bar,
    case_number,
    clickable,
    glyphs,
    number,
    score,
    short_label,
)

if TYPE_CHECKING:
    from recjudge_tui.prompting.trial import SentCall, SentVerdict
    from recjudge_tui.store.case_detail import CaseDetail
    from recjudge_tui.store.triage import Choices


# ---- verdict pane ------------------------------------------------------------------------------------------------


FIRST_PAGE = 128
# the slower a list is to build, the less often it is rebuilt during a run
_REST = 10


class Listing(NamedTuple):
    """Verdict ids in order. `total` counts all verdicts without the filter; `starts` as in Queue. `unknown`: what the filter
    names and the project does not have."""

    ids: array[int]
    total: int
    starts: tuple[tuple[str, int], ...]
    unknown: str = ""


class VerdictPane(Vertical):
    """A `VerdictList` below its header, in a box that says how many verdicts are listed, in what order, and how many have
    a decision.

    With `only`, it lists nothing but the verdicts on these cases. `total` counts all verdicts of the project; it is None
    until the first list is read.
    """

    class ListShown(Message):
        """The whole list is shown."""

    class Moved(Message):
        """The cursor is on another verdict."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, VerdictPane.Moved)

    class RunEnded(Message):
        """The last active run of the project ended."""

    def __init__(self, project_id: int, only: tuple[int, ...] | None) -> None:
        super().__init__(id="verdicts")
        self.project_id = project_id
        self.only = only
        self.rows = VerdictList(self._read, id="verdict-list")
        self.sort = "id"
        self.chosen = VerdictFilter()
        self.total: int | None = None
        # the rows at which each reason of the queue begins
        self._starts: tuple[tuple[str, int], ...] = ()
        self._unknown = ""
        self._listing = False
        self._asked_at = 0.0
        self._rest_until = 0.0
        # the cursor's verdict before a first page was shown, and the verdict it was moved to
        self._anchor: int | None = None
        self._first_shown: int | None = None
        self._to_last = False
        self._live = False
        # the number of decisions that the queue left out when it was built
        self._decided_before: int | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="verdict-header")
        yield self.rows

    @cached_property
    def background(self) -> Background:
        host = host_of(self)
        return Background(self, host.db_path, host.show_error)

    def on_unmount(self) -> None:
        self.background.stop()

    def _read(self, ids: Sequence[int]) -> list[VerdictRow]:
        return verdict_rows(host_of(self).db, ids)

    # ---- reading the list

    def list_all(self) -> None:
        """Show the first rows at once, and read the whole list in a worker."""
        if self.only is None:
            self.rows.show(filtered_ids(host_of(self).db, self.project_id, limit=FIRST_PAGE))
        self.relist(follow=True)

    def relist(self, *, follow: bool, stay: bool = True, first: bool = False) -> None:
        """Read the list again. `first`: the list is a different one, so show a page of it until all of it is read."""
        self._listing, self._asked_at = True, time.monotonic()
        whole = partial(self._list_all, follow=follow, stay=stay)
        if first and self.only is None and not self.in_queue:
            page = partial(
                first_ids, project_id=self.project_id, chosen=self.chosen, sort=self.sort, limit=FIRST_PAGE
            )
            self.background.start("list", page, partial(self._show_first_page, whole))
        else:
            whole()
        self._title()

    def _list_all(self, *, follow: bool, stay: bool) -> None:
        job = partial(
            list_verdicts,
            project_id=self.project_id,
            chosen=self.chosen,
            sort=self.sort,
            only=self.only,
        )
        self.background.start("list", job, partial(self._show_listing, follow=follow, stay=stay))

    def _show_first_page(self, read_all: Callable[[], None], ids: array[int]) -> None:
        read_all()
        if ids:
            self._anchor = self._anchor or self.rows.cursor_id
            self.rows.show(ids, follow=False)
            self._first_shown = self.rows.cursor_id

    def _show_listing(self, listing: Listing, *, follow: bool, stay: bool) -> None:
        self._listing = False
        took = time.monotonic() - self._asked_at
        self._rest_until = time.monotonic() + _REST * took
        self.total, self._starts, self._unknown = listing.total, listing.starts, listing.unknown
        rows = self.rows
        # if the user has moved the cursor on the first page, it stays there
        moved = self._first_shown not in (None, rows.cursor_id)
        anchor = None if moved else self._anchor
        rows.show(listing.ids, follow=follow or moved, stay=stay, anchor=anchor)
        self._anchor = self._first_shown = None
        if self._to_last:
            self._to_last = False
            rows.action_last()
        self._title()
        self._decided_before = None
        self.count_decisions()
        self.post_message(self.ListShown())

    # ---- filter and order

    def choose(self, chosen: VerdictFilter) -> None:
        """List the verdicts that match this filter; nothing is read again if it is the filter of the list shown."""
        if chosen != self.chosen or self.total is None:
            self.chosen = chosen
            self.relist(follow=self.total is not None, stay=False, first=True)

    def list_if_never_listed(self) -> None:
        """Read the list if none was read because the filter on opening was invalid."""
        if self.total is None and not self._listing:
            self.relist(follow=False)

    def next_order(self) -> None:
        names = list(SORTS)
        self.sort, self._starts = names[(names.index(self.sort) + 1) % len(names)], ()
        self.relist(follow=False, first=True)

    @property
    def whole_list(self) -> array[int] | None:
        """The listed verdicts, with those decided on since; None while the list is being read."""
        return None if self._listing else array("q", self.rows.ids)

    @property
    def in_queue(self) -> bool:
        """Whether the list is the queue, or a part of it."""
        return bool(self.chosen.queue())

    def queue_reason(self) -> str:
        """Why the verdict under the cursor is in the queue; empty in other orders."""
        rows = self.rows
        return Queue(rows.ids, self._starts).reason(rows.cursor) if self._starts and rows.ids else ""

    def reason_for_none(self) -> str:
        """The reason why nothing is listed, and the key that helps."""
        if self.in_queue:
            return (
                "The queue is empty: every disagreement, flip, uncertain verdict and failure has a decision.\n"
                "Q shows all verdicts; / flag:any shows those with flagged items."
            )
        if self.chosen:
            why = f": {self._unknown}" if self._unknown else "."
            return f"No verdict matches{why} Press / to change the filter, backspace to remove its last part."
        return "No verdicts yet. Press r, then n, to start a run, and i to import labels."

    # ---- an active run

    def follow_runs(self, active: Sequence[ActiveRun]) -> None:
        """Show what the active runs of the project wrote since the list was read, if that does not take too long."""
        live = any(run.project_id == self.project_id for run in active)
        ended, self._live = self._live and not live, live
        if ended:
            self.relist(follow=True)
            self.post_message(self.RunEnded())
        elif live and not self._listing and time.monotonic() > self._rest_until:
            self._list_more()

    def _list_more(self) -> None:
        """Add new verdicts: at the end if sorted by id, anywhere in other orders."""
        ids = self.rows.ids
        if self.sort != "id" or self.in_queue or self.only is not None or not ids:
            self.relist(follow=True)
            return
        job = partial(list_more, project_id=self.project_id, chosen=self.chosen, after=ids[-1])
        self.background.start("list", job, self._show_more)

    def _show_more(self, more: tuple[array[int], int]) -> None:
        ids, self.total = more
        self.rows.extend(ids)
        self._title()

    # ---- the progress of triage

    def count_decisions(self) -> None:
        """Count the verdicts of the list with a decision, and show how far triage has come once it has begun."""
        job = partial(
            count_triaged, project_id=self.project_id, chosen=self.chosen.without("queue"), only=self.only
        )
        self.background.start("count", job, self._show_progress)

    def _show_progress(self, triaged: int) -> None:
        if self._decided_before is None:
            self._decided_before = triaged
        total = len(self.rows.ids) + (self._decided_before if self.in_queue else 0)
        progress = ""
        if triaged and total:
            progress = f"{number(triaged)}/{number(total)} triaged {bar(triaged / total, 8, glyphs())}"
        self.border_subtitle = Content(progress)

    # ---- the box

    @on(VerdictList.Moved)
    def _moved(self, message: VerdictList.Moved) -> None:
        # Textual does not pass on messages of a list to the screen while its parent shows rows in it
        message.stop()
        self.post_message(self.Moved())

    @on(VerdictList.WantsLast)
    def _wants_last(self) -> None:
        """The user asked for the end, but only the beginning has been read."""
        self._to_last = self._listing

    @on(VerdictList.Resized)
    def _header(self) -> None:
        self.query_one("#verdict-header", Static).update(Content(" " + header_line(self.rows.columns)))

    def _title(self) -> None:
        count = "counting" if self._listing else f"{number(len(self.rows.ids))} of {number(self.total or 0)}"
        order = ATTENTION if self.in_queue and self.sort == "id" else self.sort
        self.border_title = Content(f"{count} {glyphs().rule} sort: {order}")


def list_verdicts(
    db: Database,
    project_id: int,
    chosen: VerdictFilter,
    sort: str,
    only: tuple[int, ...] | None,
) -> Listing:
    """With `only`, nothing but the verdicts on these cases is listed and counted."""
    starts: tuple[tuple[str, int], ...] = ()
    if chosen.queue():
        from recjudge_tui.reports.verdict_list import listed_verdicts

        ids, starts = listed_verdicts(db, project_id, chosen, sort)
    else:
        ids = filtered_ids(db, project_id, chosen, sort)
    if only is not None:
        kept = verdicts_on(db, only)
        return Listing(array("q", (identity for identity in ids if identity in kept)), len(kept), ())
    total = count_verdicts(db, project_id) if chosen else len(ids)
    return Listing(ids, total, starts, "" if ids else _unknown(db, project_id, chosen))


def _unknown(db: Database, project_id: int, chosen: VerdictFilter) -> str:
    """What a filter names and the project does not have, and what it has instead."""
    try:
        check_filter_names(db, project_id, chosen)
    except NotFoundError as error:
        return f"{error.title}. {error.cause}"
    return ""


def list_more(db: Database, project_id: int, chosen: VerdictFilter, after: int) -> tuple[array[int], int]:
    """(ids beyond `after`, verdicts of the project)."""
    return filtered_ids(db, project_id, chosen, after=after), count_verdicts(db, project_id)


# ---- triage ------------------------------------------------------------------------------------------------------


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
        from recjudge_tui.tui.decisions import OverrideDialog

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
        from recjudge_tui.tui.decisions import answer_text

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
        from recjudge_tui.tui.decisions import KeepDialog

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


# ---- triage dialogs ----------------------------------------------------------------------------------------------


_MOST_STEPS = 9


class OverrideDialog(Dialog["tuple[str, float] | None"]):
    """Returns (label, value), or None when it was cancelled. One key for each label, or a number for other scales."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "cancel", id="override.cancel"),
    ]

    def __init__(self, choices: Choices, about: str, systems: tuple[str, ...] = ()) -> None:
        """`systems`: A and B of a comparison, which its rows name."""
        super().__init__()
        self._choices, self._about, self._systems = choices, about, systems
        self._keys = _keys(choices)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content("Override the verdict")
            yield Static(Content(one_line(self._about, 200)), classes="dialog-text")
            if self._keys:
                yield ClickText(Content("\n").join(self._rows()), id="override-choices")
            else:
                yield Input(placeholder=self._range(), compact=True, type="number")
                yield Static(id="override-wrong")
            yield DialogHint("esc cancel")

    def _rows(self) -> list[Content]:
        return [
            _row(key, self._named(key, *answer), f"screen.answer('{key}')")
            for key, answer in self._keys.items()
        ]

    def _named(self, key: str, label: str, value: float) -> str:
        return answer_text(self._systems, label, value) if label != key else ""

    def _range(self) -> str:
        symbols = glyphs()
        return f"a number from {score(self._choices.low, symbols)} to {score(self._choices.high, symbols)}"

    def on_key(self, event: events.Key) -> None:
        if event.character is not None and event.character.lower() in self._keys:
            event.stop()
            self.action_answer(event.character.lower())

    def action_answer(self, key: str) -> None:
        self.dismiss(self._keys[key])

    @on(Input.Submitted)
    def _number(self, event: Input.Submitted) -> None:
        try:
            value = float(event.value)
        except ValueError:
            value = float("nan")
        if self._choices.low <= value <= self._choices.high:
            self.dismiss((f"{value:g}", value))
        else:
            self.query_one("#override-wrong", Static).update(Content(f"Enter {self._range()}."))


def answer_text(systems: tuple[str, ...], label: str, value: float) -> str:
    """The system that an answer about two lists chooses; else the label."""
    if len(systems) == 2 and value:
        return one_line(systems[0 if value > 0 else 1], 60)
    return one_line(label, 40)


class KeepDialog(Dialog["str | None"]):
    """Asks where to keep the reader's own verdict. Returns `labels`, `example` or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1,l", "dismiss('labels')", "to the labels", key_display="1", id="keep.labels"),
        Binding("2,e", "dismiss('example')", "to the prompt's examples", key_display="2", id="keep.example"),
        Binding("escape,q", "dismiss(None)", "cancel", key_display="esc", id="keep.cancel"),
    ]

    def __init__(self, about: str = "") -> None:
        super().__init__()
        self._about = about

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content(
                " ".join(["Keep your verdict", *(["on", self._about] if self._about else [])])
            )
            yield ClickText(
                Content("\n").join(
                    [
                        _row(
                            "1",
                            f"in the labelled set, as the annotator “{LABELLED}”",
                            "screen.dismiss('labels')",
                        ),
                        _row(
                            "2", "as an example in its prompt, in a new version", "screen.dismiss('example')"
                        ),
                    ]
                ),
                classes="dialog-text",
            )
            yield DialogHint("esc cancel")


def _row(key: str, text: str, action: str) -> Content:
    """A line that is also clicked."""
    line = Content.assemble((f" {key} ", "bold $accent"), f" {text}" if text else "")
    return clickable(line, action)


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
    from recjudge_tui.tui.case import case_content, case_title

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


# ---- sent screen -------------------------------------------------------------------------------------------------


_NONE = "No model was asked for this verdict: a person gave it, or it was imported or made from others."


class SentScreen(BaseScreen):
    """`SentScreen(project_id, verdict_id)`: every call behind a verdict, in both orders."""

    AUTO_FOCUS = "TextPane"
    CSS = """
    SentScreen TextPane { border: round $primary; border-title-color: $accent; height: 1fr; }
    .-ascii SentScreen TextPane { border: ascii $primary; }
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
        yield TextPane()
        yield KeyLine()

    def on_mount(self) -> None:
        self.background.start("sent", partial(_read, verdict_id=self.verdict_id), self._show)

    def _show(self, sent: SentVerdict | None) -> None:
        self.sent, pane = sent, self.query_one(TextPane)
        if sent is None:
            pane.show(lambda _: Content.styled(_NONE, "dim"))
        else:
            prompt = "@".join(map(str, sent.prompt))
            dot = glyphs().dot
            parts = (f"case {case_number(sent.case_id)}", f"run {sent.run_id}", sent.judge, prompt)
            pane.border_title = Content(one_line(f" {dot} ".join(filter(None, parts)), 100))
            pane.show(lambda width: Content("\n").join(_content(sent, width, glyphs())))
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
        hint = "A new file for the request and the reply; .json writes JSON, .sh curl commands, else text."
        ask_to_save(self, "Save", hint, f"sent-{self.verdict_id}.txt", self._file_text)

    def _file_text(self, path: Path) -> str:
        form = {".json": "json", ".sh": "curl"}.get(path.suffix.lower(), "text")
        return self._text(form) + "\n"

    def action_prompt(self) -> None:
        if self.sent is not None:
            of_case = (self.sent.unit, self.sent.case_id)
            self.open_screen("prompts", self.project_id, prompt=self.sent.prompt, case=of_case)


def _read(db: Database, verdict_id: int) -> SentVerdict | None:
    from recjudge_tui.prompting.trial import sent_verdict

    return sent_verdict(db, verdict_id)


def _content(sent: SentVerdict, width: int, symbols: Glyphs) -> Iterator[Content]:
    """The content. Replies come before requests, because prompts are long."""
    for call in sent.calls:
        rest = symbols.rule * max(width - len(call.title()) - 4, 0)
        yield Content.assemble(
            (f"{symbols.rule * 2} {one_line(call.title(), 60)} ", "bold $accent"), (rest, "dim")
        )
        yield Content.styled(_numbers(call, symbols), "dim")
        if call.state == "failed":
            kind = one_line(call.error_kind.replace("_", " "), 40)
            yield Content.assemble(
                (f"{symbols.failed} {kind}: ", "bold $error"), safe_text(call.error[:LONGEST_PROMPT])
            )
        yield from _part("reply", call.reply, symbols)
        if call.thinking:
            yield from _part("thinking", call.thinking, symbols)
        if call.request is None:
            yield Content.styled(
                f"The request cannot be rendered any more: {safe_text(call.fault)}", "$warning"
            )
            continue
        if call.same is False:
            yield Content.styled(
                f"{symbols.marked} This is not the request that was sent: its hash differs from the stored one.",
                "$warning",
            )
        for message in call.request.messages:
            yield from _part(f"sent, {message.role}", message.content, symbols)
        if call.parameters:
            given = ", ".join(f"{name} {value}" for name, value in call.parameters.items())
            yield Content.styled(f"with {one_line(given, 600)}", "dim")


def _part(name: str, text: str, symbols: Glyphs) -> Iterator[Content]:
    yield Content.styled(f"{symbols.crumb} {name}", "bold")
    yield Content(safe_text(text[:LONGEST_PROMPT]).expandtabs(4) or "(empty)")
    if len(text) > LONGEST_PROMPT:
        yield Content.styled(f"({number(len(text) - LONGEST_PROMPT)} more characters: Y saves all)", "dim")


def _numbers(call: SentCall, symbols: Glyphs) -> str:
    figures = call.numbers
    parts = [quantity(call.attempts, "attempt")]
    for name, unit in (
        ("tokens_in", "tokens in"),
        ("tokens_out", "out"),
        ("tokens_cached", "from its cache"),
        ("tokens_cache_written", "stored in its cache"),
    ):
        if (count := figures[name]) is not None:
            parts.append(f"{number(int(count))} {unit}")
    if (seconds := figures["latency_s"]) is not None:
        parts.append(f"{seconds:.2f} s")
    if (cost := figures["cost_usd"]) is not None:
        parts.append(money(cost))
    parts += ["a stored reply was used"] if call.cached else []
    parts += [f"parsed as {call.parsed_by}"] if call.parsed_by else []
    parts += [f"ended by {one_line(call.stop, 20)}"] if call.stop else []
    parts += [one_line(call.model, 40)] if call.model else []
    return f" {symbols.dot} ".join(parts)
