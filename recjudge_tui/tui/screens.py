"""What every screen stands on: its project, its background jobs, its filter, its connections."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeVar, cast

from rich.cells import cell_len
from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.dom import DOMNode
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Input, Static
from textual.worker import Worker, get_current_worker

from recjudge_tui.domain.filters import KEYS, OCCASION_HINT, OCCASIONS, parse_filter, parse_occasions
from recjudge_tui.domain.occasions import OccasionFilter
from recjudge_tui.domain.options import Option
from recjudge_tui.domain.records import IMPORT_KINDS
from recjudge_tui.domain.text import one_line, quantity, safe_text
from recjudge_tui.errors import InputError, NotFoundError, RecjudgeError, UsageError
from recjudge_tui.reports.common.table import ENDINGS, Table, format_of_file, save_text
from recjudge_tui.settings import user_path
from recjudge_tui.store.cases import known_occasions
from recjudge_tui.store.database import Database, StoredRow, file_identity
from recjudge_tui.store.filters import filter_values
from recjudge_tui.store.projects import project_name
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.dialogs import AskLine, Confirm, Dialog, Notice, PickDialog
from recjudge_tui.tui.row_list import Reader, RowList
from recjudge_tui.tui.texts import error_content
from recjudge_tui.tui.widgets import (
    FittedScreen,
    KeyLine,
    Suggestion,
    TopBar,
    Values,
    keyed,
    number,
    suggestions,
    word_start,
)

if TYPE_CHECKING:
    from recjudge_tui.domain.imports import ImportSummary
    from recjudge_tui.tui.form import Form


# ---- host --------------------------------------------------------------------------------------------------------


class Host(Protocol):
    """The app as its screens see it. `db` is the connection of the app's thread, for short reads and writes. `runs_known`:
    whether it is known which runs are active."""

    db: Database
    db_path: Path
    active: list[StoredRow]
    runs_known: bool
    # (screen, project) -> the user's choices there, until the app ends
    chosen: dict[tuple[str, int], object]

    def show_error(self, error: RecjudgeError) -> None: ...

    async def leave_project(self, error: RecjudgeError) -> None: ...

    def leave_screen(self) -> None: ...

    def check_runs(self) -> None: ...

    def lend(self, command: Sequence[str], text: str = "", draft: Path | None = None) -> int: ...


def host_of(node: DOMNode) -> Host:
    return cast("Host", node.app)


# ---- registry ----------------------------------------------------------------------------------------------------


_SCREENS: dict[str, tuple[str, str]] = {
    "projects": ("recjudge_tui.tui.projects", "ProjectsScreen"),
    "home": ("recjudge_tui.tui.home", "HomeScreen"),
    "cases": ("recjudge_tui.tui.triage", "CasesScreen"),
    "runs": ("recjudge_tui.tui.runs", "RunsScreen"),
    "launch": ("recjudge_tui.tui.launch", "LaunchScreen"),
    "monitor": ("recjudge_tui.tui.runs", "MonitorScreen"),
    "reports": ("recjudge_tui.tui.reports", "ReportsScreen"),
    "prompts": ("recjudge_tui.tui.prompts", "PromptsScreen"),
    "data": ("recjudge_tui.tui.data", "DataScreen"),
    "compare": ("recjudge_tui.tui.compare", "CompareScreen"),
    "annotate": ("recjudge_tui.tui.annotate", "AnnotateScreen"),
}


def screen_names() -> tuple[str, ...]:
    return tuple(_SCREENS)


def is_screen(name: str, screen: Screen[Any]) -> bool:
    """Whether `screen` is the one called `name`."""
    return (type(screen).__module__, type(screen).__name__) == _SCREENS[name]


def make_screen(name: str, *identity: int, **more: object) -> Screen[Any]:
    """The screen called `name` for the project or run `identity`; `more` as the table says."""
    module, screen = _SCREENS[name]
    return cast("Screen[Any]", getattr(import_module(module), screen)(*identity, **more))


# ---- places ------------------------------------------------------------------------------------------------------


def to_projects(app: App[Any]) -> None:
    """Back to the list of projects, closing the screens on top of it."""
    if app.current_mode == "projects":
        while len(app.screen_stack) > 1:
            app.pop_screen()
    else:
        app.switch_mode("projects")


# ---- spare connections -------------------------------------------------------------------------------------------


_KEPT = 2
# so long the user waits while another program has locked the file, before an error says so
WAIT_S = 2.0
FileIdentity = tuple[int, int] | None
# the file and the number of closings when a connection was lent
Lent = tuple[FileIdentity, int]


class SpareConnections:
    """Lends connections to one file to threads, each to one thread at a time, and keeps a few for the next."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._spare: list[Database] = []
        self._file: FileIdentity = None
        # a connection lent before the last closing is not kept
        self._closings = 0

    @contextmanager
    def lend(self) -> Iterator[Database]:
        """Raises StoreError if the file cannot be opened, or is gone."""
        lent, db = self._take()
        try:
            yield db
        except RecjudgeError:
            self._take_back(lent, db)
            raise
        except BaseException:
            db.close()
            raise
        self._take_back(lent, db)

    def close(self) -> None:
        """Close the spare connections now, and lent ones as soon as they come back."""
        with self._lock:
            self._closings += 1
            self._close_spare()

    def _take(self) -> tuple[Lent, Database]:
        file = file_identity(self._path)
        with self._lock:
            if file != self._file:
                self._close_spare()
                self._file = file
            lent = file, self._closings
            if self._spare:
                return lent, self._spare.pop()
        return lent, connect(self._path, must_exist=True, one_thread=False, wait_s=WAIT_S)

    def _take_back(self, lent: Lent, db: Database) -> None:
        with self._lock:
            same = lent == (self._file, self._closings)
            if same and len(self._spare) < _KEPT and not db.connection.in_transaction:
                self._spare.append(db)
                return
        db.close()

    def _close_spare(self) -> None:
        while self._spare:
            self._spare.pop().close()


# ---- background --------------------------------------------------------------------------------------------------


Result = TypeVar("Result")
Answer = TypeVar("Answer")
ShowError = Callable[[RecjudgeError], object]
# a longer question would not be shown whole
_LONGEST_QUESTION = 600


class Background:
    """The jobs of one screen, widget or app.

    A job runs in a thread. Its result, or its error, is delivered on the app's thread. Nothing is delivered when
    the job was cancelled or the node is gone, or when a newer job of the same name was started, which also interrupts
    the statement that the older job is waiting for.
    """

    def __init__(self, node: DOMNode, path: Path, show_error: ShowError) -> None:
        self._node = node
        self._connections = SpareConnections(path)
        self._show_error = show_error
        self._lock = Lock()
        self._open: dict[str, Database] = {}
        self._newest: dict[str, Worker[Any]] = {}

    def start(
        self,
        name: str,
        job: Callable[[Database], Result],
        show: Callable[[Result], object],
        failed: ShowError | None = None,
    ) -> None:
        """Run `job` and hand its result to `show`, or a RecjudgeError to `failed` (None: the error dialog).

        A job that would send secrets to a server that the user has not confirmed is started again once the user has.
        """
        self._interrupt(name)
        worker = self._node.run_worker(
            lambda: self._work(name, job, show, failed or self._show_error),
            group=name,
            exclusive=True,
            thread=True,
        )
        self._newest[name] = worker

    def cancel(self, name: str) -> None:
        """End this job, if it runs, without a result."""
        if (worker := self._newest.pop(name, None)) is not None:
            worker.cancel()
        self._interrupt(name)

    def stop(self) -> None:
        """End every job without a result, when the node goes away."""
        self._newest.clear()
        self._node.workers.cancel_node(self._node)
        for name in list(self._open):
            self._interrupt(name)
        self._connections.close()

    def _interrupt(self, name: str) -> None:
        with self._lock:
            if name in self._open:
                self._open[name].interrupt()

    def _work(
        self,
        name: str,
        job: Callable[[Database], Result],
        show: Callable[[Result], object],
        failed: ShowError,
    ) -> None:
        worker = get_current_worker()
        deliver = partial(self._node.call_later, self._deliver, name, worker)
        try:
            with self._connections.lend() as db:
                result = self._run(worker, name, db, job)
        except RecjudgeError as error:
            # a statement interrupted on purpose also ends here
            again = partial(self.start, name, job, show, failed)
            deliver(partial(self._ask_or_fail, again=again, failed=failed), error)
        except Exception as error:  # noqa: BLE001 - the top of a thread
            cause = f"{type(error).__name__}: {error}"
            step = "The app is still running. Please report this with the keys you pressed before."
            deliver(self._show_error, RecjudgeError("something went wrong inside recjudge", cause, step))
        else:
            deliver(show, result)

    def _deliver(self, name: str, worker: Worker[Any], show: Callable[[Any], object], found: object) -> None:
        if self._newest.get(name) is worker and not worker.is_cancelled:
            show(found)

    def _ask_or_fail(self, error: RecjudgeError, again: Callable[[], None], failed: ShowError) -> None:
        from recjudge_tui.judges.keys import UntrustedError, remember

        if not isinstance(error, UntrustedError) or len(error.listed) > _LONGEST_QUESTION:
            failed(error)
            return
        untrusted = error

        def answered(sure: bool | None) -> None:
            if sure:
                remember(untrusted.sent)
                again()
            elif failed != self._show_error:
                failed(untrusted)

        text = f"You have not confirmed this before.\n\nSend {untrusted.listed}?"
        self._node.app.push_screen(Confirm("Send your secrets?", text, "send them", "send nothing"), answered)

    def _run(self, worker: Worker[Any], name: str, db: Database, job: Callable[[Database], Result]) -> Result:
        with self._lock:
            if worker.is_cancelled:
                raise RecjudgeError("cancelled")
            self._open[name] = db
        try:
            return job(db)
        finally:
            with self._lock:
                if self._open.get(name) is db:
                    del self._open[name]


class Working:
    """A node with background jobs, which end with it."""

    @cached_property
    def background(self) -> Background:
        node = cast("DOMNode", self)
        return Background(node, host_of(node).db_path, host_of(node).show_error)

    def on_unmount(self) -> None:
        self.background.stop()


# ---- base screen -------------------------------------------------------------------------------------------------


# last in each screen's list, so that they are last in the footer
COMMON = [
    Binding("question_mark", "app.show_keys", "keys", key_display="?", id="app.keys"),
    Binding("q", "leave", "back", id="app.back"),
    Binding("escape", "step_back", "close or go back", show=False, id="app.peel"),
    Binding("tab", "app.focus_next", "next panel", show=False, id="app.next_panel"),
    Binding("colon", "app.command_palette", "command palette", show=False, key_display=":", id="app.palette"),
]

# for forms, whose fields take letters as text: only esc leaves them
_IN_FORMS: dict[str, dict[str, Any]] = {
    "app.peel": {"show": True, "key_display": "esc"},
    "app.back": {"show": False},
}
FORM = [replace(binding, **_IN_FORMS.get(binding.id or "", {})) for binding in COMMON]
# for screens on which tab means something else
WITHOUT_TAB = [binding for binding in COMMON if binding.id != "app.next_panel"]


class BaseScreen(Working, FittedScreen[None]):
    """A screen with a top line (`TopBar`), mostly of one project."""

    HUGE: ClassVar[int] = 160  # columns from which a screen has the class -huge beside -wide
    _left_at: Size | None = None
    _was_live = False

    @property
    def host(self) -> Host:
        return host_of(self)

    @property
    def project(self) -> int | None:
        """The `project_id` of a screen that has one."""
        project: int | None = getattr(self, "project_id", None)
        return project

    def on_compose(self) -> None:
        self._set_huge()

    def on_resize(self) -> None:
        self._set_huge()

    def _set_huge(self) -> None:
        self.set_class(self.app.size.width >= self.HUGE, "-huge")

    def on_screen_suspend(self) -> None:
        self._left_at = self.app.size

    def on_screen_resume(self) -> None:
        """While another screen was in front, runs may have started or ended, and the terminal may have been resized."""
        self.query_one(TopBar).show(active=len(self.host.active))
        if self._left_at not in (None, self.app.size):
            # Textual lays out a hidden screen before it knows its new width
            self.call_after_refresh(self.post_message, events.Resize(self.app.size, self.app.size))

    def runs_changed(self, active: list[StoredRow]) -> None:
        """Called about once a second while a run is active, and once more when the last one has ended."""
        for bar in self.query(TopBar):  # while the app closes there is no screen
            bar.show(active=len(active))
        live = any(run.project_id == self.project for run in active)
        before, self._was_live = self._was_live, live
        if live or before:
            self.runs_moved(live=live)

    def runs_moved(self, *, live: bool) -> None:
        """Called while a run of this project is active, and once more, not `live`, when its last one has ended."""

    def project_title(self, project_id: int) -> str:
        """The project's name. If it was just deleted, the screen closes with a message."""
        try:
            return project_name(self.host.db, project_id)
        except NotFoundError as error:
            # not in this screen, because it cannot wait for its own end
            self.app.call_later(self.host.leave_project, error)
            return "a deleted project"

    @on(TopBar.CrumbClick)
    def _leave_to(self, message: TopBar.CrumbClick) -> None:
        app = self.app
        if message.place == 0:
            to_projects(app)
        elif message.place == 1 and self.project is not None:
            while len(app.screen_stack) > 1 and not is_screen("home", app.screen):
                app.pop_screen()
            if not is_screen("home", app.screen):
                app.push_screen(make_screen("home", self.project))
        else:
            self.action_leave()

    def action_leave(self) -> None:
        self.host.leave_screen()

    def action_step_back(self) -> None:
        """Close the innermost open part of the screen; go back if nothing is open."""
        self.action_leave()

    def action_open(self, name: str) -> None:
        """Another screen of the project."""
        if self.project is not None:
            self.open_screen(name, self.project)

    def ask(self, dialog: Dialog[Answer], then: Callable[[Answer], object]) -> None:
        """Call `then` with the user's answer, unless it is none, or no."""

        def answered(given: Answer | None) -> None:
            if given is not None and given is not False:
                then(given)

        self.app.push_screen(dialog, answered)

    def copy_text(self, text: str) -> None:
        """Copy through the terminal. Some terminals ignore this silently, and tmux may not pass it on, so the message names
        the method and the alternative: a file, which is written in tmux.
        """
        self.app.copy_to_clipboard(text)
        also = "Y saves it to a file."
        if os.environ.get("TMUX"):
            with NamedTemporaryFile(
                "w", encoding="utf-8", prefix="recjudge-", suffix=".txt", delete=False
            ) as file:
                file.write(text)
            also = f"tmux may not pass it on: it is in {file.name}, too."
        self.notify(f"Copied through the terminal (OSC 52). {also}", markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if isinstance(self.focused, FilterLine):
            return action in ("step_back", "app.command_palette")
        return super().check_action(action, parameters)

    def open_screen(self, name: str, identity: int, **more: object) -> None:
        self.app.push_screen(make_screen(name, identity, **more))


class ReadingScreen(BaseScreen):
    """A screen with one Reader beside a list; its bindings have READER."""

    @property
    def reader(self) -> Reader:
        return self.query_one(Reader)

    def action_turn(self, by: int) -> None:
        self.reader.turn(by)

    def action_scroll_text(self, lines: int) -> None:
        self.reader.scroll_relative(y=lines, animate=False)

    def action_find(self) -> None:
        self.reader.action_find()

    def action_step_back(self) -> None:
        if not self.reader.end_search():
            super().action_step_back()


# ---- filter line -------------------------------------------------------------------------------------------------


ROWS = 8
_NOTE_CELLS = 44


class SuggestionList(Static):
    """A window of ROWS suggestions over the widgets below the line."""

    DEFAULT_CSS = """
    SuggestionList {
        display: none; overlay: screen; constrain: inside; width: auto; max-width: 100%; height: auto;
        background: $panel; color: $foreground; padding: 0 1;
    }
    SuggestionList.-open { display: block; }
    """

    def show(self, suggestions: tuple[Suggestion, ...], chosen: int, column: int) -> None:
        self.set_class(bool(suggestions), "-open")
        if not suggestions:
            return
        top = max(0, min(chosen - ROWS // 2, len(suggestions) - ROWS))
        rows = suggestions[top : top + ROWS]
        width = max(cell_len(row.shown) for row in rows)
        lines = [_row(row, width, top + place == chosen) for place, row in enumerate(rows)]
        more = f"{chosen + 1}/{len(suggestions)}   " if len(suggestions) > ROWS else ""
        lines.append(Content.styled(f"  {more}tab accept   ↑↓ choose", "$text-muted"))
        self.styles.offset = (column, 0)
        self.update(Content("\n").join(lines))


def _row(row: Suggestion, width: int, chosen: bool) -> Content:
    mark = "> " if chosen else "  "
    text = f"{mark}{one_line(row.shown, 60)}"
    note = one_line(row.note, _NOTE_CELLS)
    shown = (
        Content.assemble(text, " " * (width + 4 - cell_len(text)), (note, "$text-muted"))
        if note
        else Content(text)
    )
    return shown.stylize("bold $block-cursor-foreground on $block-cursor-background") if chosen else shown


class FilterLine(Input):
    """`suggest` returns the suggestions for a text and a cursor; without it this is a plain input line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "apply", key_display="enter", id="filter.apply"),
        Binding("tab", "accept", "accept the suggestion", show=False, id="filter.accept"),
        Binding("right", "accept_or_move", "accept the suggestion at the end", show=False, id="filter.right"),
        Binding("down", "choose(1)", "next suggestion", show=False, id="filter.down"),
        Binding("up", "choose(-1)", "previous suggestion", show=False, id="filter.up"),
    ]

    def __init__(self, hint: str, suggest: Callable[[str, int, bool], tuple[Suggestion, ...]] | None) -> None:
        super().__init__(placeholder=hint, compact=True, select_on_focus=False, disabled=True)
        self._suggest = suggest
        # shows the suggestions that can be accepted now, possibly none
        self.listed = SuggestionList()
        self.suggestions: tuple[Suggestion, ...] = ()
        self.chosen = 0
        self._anything = False

    def suggest_again(self, *, anything: bool | None = None) -> None:
        """Compute suggestions for the current text and cursor; `anything` stays set until it is changed."""
        if self._suggest is None:
            return
        self._anything = self._anything if anything is None else anything
        kept = self.suggestions[self.chosen].shown if self.suggestions else None
        self.suggestions = (
            self._suggest(self.value, self.cursor_position, self._anything) if self.has_focus else ()
        )
        names = [suggestion.shown for suggestion in self.suggestions]
        self.chosen = names.index(kept) if kept in names else 0
        self._say()

    def _say(self) -> None:
        start = word_start(self.value, self.cursor_position)
        column = max(cell_len(self.value[:start]) - 2, 0)
        self.listed.show(self.suggestions, self.chosen, column)

    def watch_has_focus(self, _has_focus: bool) -> None:
        super().watch_has_focus(_has_focus)
        if not _has_focus and self.suggestions:
            self.suggestions = ()
            self._say()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "choose":
            return self._suggest is not None
        return super().check_action(action, parameters)

    def action_accept(self) -> None:
        """Without a suggestion the cursor stays, because a line left open would look like an applied filter."""
        self.suggest_again()  # the cursor may have moved in the meantime
        if not self.suggestions:
            return
        taken = self.suggestions[self.chosen]
        self.value = taken.line
        self.cursor_position = taken.cursor
        self.suggest_again()

    def action_accept_or_move(self) -> None:
        if self.suggestions and self.cursor_at_end:
            self.action_accept()
        else:
            self.action_cursor_right()

    def action_choose(self, by: int) -> None:
        if not self.suggestions:
            self.suggest_again(anything=True)
            return
        self.chosen = (self.chosen + by) % len(self.suggestions)
        self._say()


# ---- filter bar --------------------------------------------------------------------------------------------------


class Chips(Static):
    """The parts of the filter; a click on a part removes it."""

    DEFAULT_CSS = """
    Chips {
        link-color: $text; link-background: $primary-muted; link-style: bold;
        link-color-hover: $text; link-background-hover: $primary-muted; link-style-hover: bold strike;
    }
    """

    @dataclass
    class Dropped(Message):
        place: int

    def show(self, chips: tuple[str, ...]) -> None:
        shown = [
            Content.styled(f" {one_line(chip, 60)} ", "bold $text on $primary-muted").stylize(
                Style.from_meta({"@click": f"drop({place})"})
            )
            for place, chip in enumerate(chips)
        ]
        self.update(Content.assemble(("filter ", "dim"), Content(" ").join(shown)))

    def action_drop(self, place: int) -> None:
        self.post_message(self.Dropped(place))


class FilterBar(Working, Vertical):
    """`chips_of` parses a filter and returns its chips; a UsageError it raises is shown until the filter is corrected.

    With `values` the line completes `keys` of the filter grammar and values from the database. `values` reads these in a
    worker each time the line is opened.
    """

    DEFAULT_CSS = """
    FilterBar { height: auto; padding: 0 1; }
    FilterBar Input { display: none; }
    FilterBar .filter-error { display: none; color: $error; height: auto; }
    FilterBar.-open Input { display: block; }
    FilterBar .filter-chips { display: none; }
    FilterBar.-filtered .filter-chips { display: block; }
    FilterBar.-open .filter-chips { display: none; }
    FilterBar.-wrong .filter-error { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "cancel", id="filter.close")]

    @dataclass
    class Applied(Message):
        text: str

    class Closed(Message):
        """The line was closed, with or without a change."""

    def __init__(
        self,
        chips_of: Callable[[str], tuple[str, ...]],
        hint: str,
        values: Callable[[Database], Values] | None = None,
        keys: Collection[str] = KEYS,
    ) -> None:
        super().__init__()
        self._keys = keys
        self._read_values = values
        self._values: Values = {}
        self._chips: tuple[str, ...] = ()
        self._chips_of = chips_of
        self._hint = hint
        self.text = ""

    def compose(self) -> ComposeResult:
        yield Chips(classes="filter-chips")
        line = FilterLine(self._hint, self._suggest if self._read_values else None)
        yield line
        yield line.listed
        yield Static(classes="filter-error")

    def open(self) -> None:
        self.add_class("-open")
        line = self.query_one(Input)
        line.disabled = False
        line.value = one_line(self.text) + (" " if self.text else "")
        line.cursor_position = len(line.value)
        line.focus()
        if self._read_values is not None:
            # the line works without suggestions, too
            self.background.start("values", self._read_values, self._complete_from, failed=lambda _: None)

    def apply(self, text: str) -> None:
        """Apply another filter as if it had been typed. An invalid one opens the line and shows the error."""
        try:
            chips = self._chips_of(text)
        except UsageError as error:
            self._complain(error)
            return
        self.remove_class("-wrong")
        self.text = " ".join(chips)
        self._chips = chips
        self.query_one(Chips).show(chips)
        self.set_class(bool(chips), "-filtered")
        self.action_close()
        self.post_message(self.Applied(self.text))

    def action_close(self) -> None:
        self.remove_class("-open", "-wrong")
        self.query_one(Input).disabled = True
        self.post_message(self.Closed())

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.apply(event.value)

    # ---- completion

    def _suggest(self, line: str, cursor: int, anything: bool) -> tuple[Suggestion, ...]:
        return suggestions(line, cursor, self._values, anything=anything, keys=self._keys)

    def _complete_from(self, values: Values) -> None:
        self._values = values
        self.query_one(FilterLine).suggest_again()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.query_one(FilterLine).suggest_again(anything=False)

    # ---- the mouse

    @on(Chips.Dropped)
    def _drop(self, message: Chips.Dropped) -> None:
        message.stop()
        self.apply(" ".join(chip for place, chip in enumerate(self._chips) if place != message.place))

    def _complain(self, error: UsageError) -> None:
        self.query_one(".filter-error", Static).update(Content(one_line(error, 400)))
        self.add_class("-open", "-wrong")
        line = self.query_one(Input)
        line.disabled = False
        line.focus()


# ---- importing ---------------------------------------------------------------------------------------------------


_IMPORTED = (
    Option("path", Path, "A file, or a folder such as ml-1m.", label="file or folder", required=True,
           placeholder="such as lists.csv"),
    Option("kind", str, "What it holds.", "", label="contents",
           form_choices=(("", "everything recognised"), *((kind, kind) for kind in IMPORT_KINDS))),
    Option("project", str, "Name a project; a new one is created.", label="project", required=True),
    Option("system", str, "The system, only for lists that do not name one.", label="system"),
)  # fmt: skip
# the bytes of files that are only looked into when the user asks
_LARGE = 4_000_000
# for the bindings of screens without a key of their own for it
IMPORT = Binding("i", "import", "import", show=False, id="app.import")


class ImportScreen(BaseScreen):
    """A screen that can import; `imported` is called when there is new data."""

    # what stood in the form of an import that failed
    _unfinished: Mapping[str, Any] = {}

    def action_import(self) -> None:
        self.ask_import("" if self.project is None else self.project_title(self.project))

    def ask_import(self, project: str) -> None:
        """Ask for a file or a folder to import, proposing this project, else the name of the folder."""
        from recjudge_tui.importers.folders import size_of
        from recjudge_tui.tui.form import Form, form_words

        # a name with characters that cannot be shown cannot be edited
        known = project if project == one_line(project) else ""
        derived = {} if known else {"project": ("path", _folder_name)}
        values = {"project": known, **self._unfinished}

        def look(given: dict[str, Any] | RecjudgeError | None, asked: bool) -> None:
            """Show below the form what the files are read as, of large ones only when the user asks."""
            self.background.cancel("look")
            text = ""
            if isinstance(given, RecjudgeError):
                wrong = form.fields.text("path") and form_words(given.title)
                text = (
                    wrong or "What the files are read as appears here; nothing is stored before the import."
                )
            elif given is not None and (size := size_of(given["path"])) > _LARGE and not asked:
                text = f"{size / 1e6:,.0f} MB: {{form.look}} reads all of it and shows what it would be stored as"
            elif given is not None:
                text = "Reading"
                job, failed = partial(_looked_at, given=given), lambda e: form.say("Import", _refused(e))
                self.background.start("look", job, partial(form.say, "Nothing is stored yet"), failed)
            form.say("", Content.styled(keyed(self.app, text), "dim"))

        form = Form("Import", _IMPORTED, values, {}, does="import", derived=derived, follow=look)

        def start(given: dict[str, Any], meant: Mapping[str, Any] = MappingProxyType({})) -> None:
            self.notify(one_line(f"Reading {given['path']} …", 200), markup=False)
            job, failed = partial(_import, given=given, meant=meant), partial(ask_meaning, given, meant)
            self.background.start("import", job, partial(show, given["project"]), failed)

        def ask_meaning(given: dict[str, Any], meant: Mapping[str, Any], error: RecjudgeError) -> None:
            """Of answers that can be read in several ways ask which, and import again; else show the error."""
            self._unfinished = given
            if not isinstance(error, InputError) or not (choices := error.choices):
                self.host.show_error(error)
                return

            def again(chosen: dict[str, Any] | None) -> None:
                if chosen is None:
                    self.ask_import(project)
                else:
                    both = {**meant.get("values", {}), **chosen.get("values", {})}
                    start(given, {**meant, **chosen, "values": both})

            offered = {str(at): (says, words) for at, (words, says) in enumerate(choices[:9], 1)}
            question = PickDialog("What do the answers mean?", f"{error.title}. {error.cause}", offered)
            self.app.push_screen(question, again)

        def show(into: str, result: tuple[str, str]) -> None:
            self._unfinished = {}
            self.imported(into)
            toast, warnings = result
            self.app.push_screen(Notice(toast, warnings)) if warnings else self.notify(toast, markup=False)

        def answered(given: dict[str, Any] | None) -> None:
            self.background.cancel("look")
            if given is not None:
                start(given)

        self.app.push_screen(form, answered)

    def imported(self, project: str) -> None:
        """An import into this project is done."""


def _folder_name(path: str) -> str:
    """That of the folder, or of the one that the file is in; empty where there is neither."""
    with suppress(OSError, ValueError):
        place = user_path(path.strip()).absolute()
        if path.strip() and place.exists():
            return one_line((place if place.is_dir() else place.parent).name, 60)
    return ""


def _looked_at(db: Database, given: Mapping[str, Any]) -> Content:
    """What the files would be stored as."""
    from recjudge_tui.reports.imports import summary_lines

    def go_on(_rows: int, _share: float) -> None:
        if get_current_worker().is_cancelled:
            raise RecjudgeError("replaced by what was chosen since")

    every = _read(db, given, dry_run=True, progress=go_on)
    return Content("\n".join(map(safe_text, summary_lines(every, dry_run=True, rows=True))))


def _read(db: Database, given: Mapping[str, Any], **more: Any) -> list[ImportSummary]:
    from recjudge_tui.importers.folders import import_paths

    kind = given["kind"] or None
    return import_paths(db, given["project"], (given["path"],), kind, system=given["system"], **more)


def _refused(error: RecjudgeError) -> Content:
    """Why the files cannot be imported as they are; of answers that can be read in several ways, what will be asked."""
    if isinstance(error, InputError) and (choices := error.choices):
        asks = "\n".join(("The import asks which it is:", *(f"  {words}" for words, _ in choices)))
        error = RecjudgeError(error.title, error.cause, asks)
    return error_content(error)


def _import(db: Database, given: Mapping[str, Any], meant: Mapping[str, Any]) -> tuple[str, str]:
    """A toast, and the warnings line by line. `meant`: what the answers of labels mean."""
    every = _read(db, given, **meant)
    says = [(f"{done.kind}: " if len(every) > 1 else "") + done.counts for done in every]
    kinds = [f"{kind}: {count:,}" for done in every for kind, count in done.warning_kinds.items()]
    warnings = [warning for done in every for warning in done.warnings]
    notes = [note for done in every for note in done.notes]
    lines = [*every[0].aside, *notes, *kinds, *warnings]
    return " ".join(says), "\n".join(lines)


# ---- exporting ---------------------------------------------------------------------------------------------------


def format_hint(what: str) -> str:
    """The text of a dialog about the file; `what` is, for example, “The table is”."""
    return f"{what} written to this file. Its ending sets the format: {' '.join(ENDINGS)}"


class WrittenFile(NamedTuple):
    """The result of an export. `what` is, for example, “12 rows”; `notes` are for the user, for instance about
    defused cells.
    """

    path: Path
    what: str
    notes: tuple[str, ...] = ()

    def message(self) -> str:
        """The result in one line for a toast, which has room for the first note: it counts the defused cells."""
        notes = [f" {one_line(note, 160)}" for note in self.notes[:1]]
        if self.notes[1:]:
            notes.append(f" ({quantity(len(self.notes) - 1, 'more note')}: in .html, .md and .txt)")
        return one_line(f"{self.what} written to {self.path}.{''.join(notes)}", 400)


class ExportScreen(BaseScreen):
    """A screen that can write something to a file: its binding of `e` calls `ask_export` or `ask_file`."""

    def ask_export(self, name: str, make: Callable[[Database], Table]) -> None:
        """Ask for a file, proposing `name`, and write the table from `make` in the format of the file's ending."""
        self.ask_file(name, format_hint("The table is"), partial(write_table, make=make))

    def ask_file(
        self, name: str, hint: str, write: Callable[[Database, Path], WrittenFile], title: str = "Export"
    ) -> None:
        """Ask for a file, and before an older one is replaced; run `write` in the background, and show its RecjudgeError."""

        def start(path: Path, _: bool = True) -> None:
            self.background.start("export", lambda db: write(db, path), show)

        def show(written: WrittenFile) -> None:
            self.notify(written.message(), markup=False)

        def named(name: str) -> None:
            path = user_path(name)
            if path.exists():
                question = Confirm("Replace the file?", f"{path} exists already.", "replace", "keep")
                self.ask(question, partial(start, path))
            else:
                start(path)

        self.ask(AskLine(title, hint, name, path=True), named)


def write_table(
    db: Database, path: Path, make: Callable[[Database], Table], noun: str = "row"
) -> WrittenFile:
    """Make the table and write it; raises what `export_table` raises."""
    table = make(db)
    return WrittenFile(path, quantity(len(table.rows), noun), export_table(table, path))


def export_table(table: Table, path: Path) -> tuple[str, ...]:
    """Write the table in the format of the file's ending; returns notes for the user.

    Raises UsageError for an unknown ending, RecjudgeError for Parquet without pyarrow, StoreError when it cannot be written.
    """
    from recjudge_tui.reports.common.writers.data import save_table

    return save_table(table, format_of_file(path), path)


def write_text(path: Path, text: str, what: str = "The text") -> WrittenFile:
    """Write a text; raises StoreError when it cannot be written."""
    save_text(text, path)
    return WrittenFile(path, what)


# ---- list screen -------------------------------------------------------------------------------------------------


FILTER = Binding("slash", "filter", "filter", key_display="/", id="list.filter")


class ListScreen(ExportScreen, ImportScreen):
    """One list in a frame, which a line of words filters, and what stands `beside` it. A subclass makes `rows`, and says
    what is `searched` in one. PLACE: the last crumb; WORDS: the hint of the filter."""

    AUTO_FOCUS = "RowList"
    DEFAULT_CSS = """
    ListScreen #listed { width: 1fr; height: 1fr; }
    ListScreen #nothing { display: none; padding: 1 2; }
    ListScreen.-empty RowList { display: none; }
    ListScreen.-empty #nothing { display: block; }
    """
    LISTED: ClassVar[str]
    PLACE: ClassVar[str]
    WORDS: ClassVar[str]
    NOTHING: ClassVar[str] = ""
    # actions that need a row
    OF_ROWS: ClassVar[tuple[str, ...]] = ()
    rows: RowList[Any]
    every: Sequence[Any] = ()
    wanted = ""

    def compose(self) -> ComposeResult:
        of = [] if self.project is None else [self.project_title(self.project)]
        yield TopBar("recjudge", *of, self.PLACE)
        yield FilterBar(lambda text: tuple(text.split()), self.WORDS)
        with Horizontal() if (beside := self.beside()) is not None else nullcontext():
            with Vertical(id="listed"):
                yield self.rows
                yield Static(id="nothing")
            if beside is not None:
                yield beside
        yield KeyLine()

    def beside(self) -> Widget | None:
        """A widget at the right of the list, if there is one."""
        return None

    def nothing(self) -> str:
        """What is said while there are no rows at all."""
        return self.NOTHING

    def searched(self, row: Any) -> str:
        """The text of a row in which the words of the filter must be."""
        raise NotImplementedError

    def fill(self, every: Sequence[Any], anchor: int | None = None) -> None:
        """List these rows, as far as the filter lets them through."""
        self.every, words = every, self.wanted.casefold().split()
        shown = [row for row in every if all(word in self.searched(row).casefold() for word in words)]
        self.rows.fill(shown, anchor)
        self.set_class(not shown, "-empty")
        nothing = "Nothing has these words. {list.filter} changes the filter." if every else self.nothing()
        self.query_one("#nothing", Static).update(Content(keyed(self.app, nothing)))
        of_all = "" if len(shown) == len(every) else f" of {number(len(every))}"
        self.query_one("#listed").border_title = Content(f"{self.LISTED} ({number(len(shown))}{of_all})")
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("filter", *self.OF_ROWS) and not self.every:
            return False
        return super().check_action(action, parameters)

    def action_filter(self) -> None:
        self.query_one(FilterBar).open()

    @on(FilterBar.Applied)
    def _filter(self, message: FilterBar.Applied) -> None:
        if message.text != self.wanted:
            self.wanted = message.text
            self.filtered()

    def filtered(self) -> None:
        """Another filter was applied."""
        self.fill(self.every)

    @on(FilterBar.Closed)
    def _back_to_rows(self) -> None:
        self.rows.focus()


# ---- occasion screen ---------------------------------------------------------------------------------------------


class OccasionScreen(ExportScreen, ImportScreen):
    """It yields `occasion_bar()` and computes its figures again in `occasions_changed`.

    It calls `occasions_shown` when they are on the screen, and `occasions_refused` when they cannot be computed.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "filter", key_display="/", id="occasions.filter"),
        IMPORT,
    ]
    project_id: int

    def __init__(self, occasion_text: str = "") -> None:
        super().__init__()
        self.occasion_text = occasion_text
        self._shown_text = ""
        self._any_occasions = False
        self._focus_before: Widget | None = None

    @property
    def occasions(self) -> OccasionFilter:
        return parse_occasions(self.occasion_text)

    @property
    def takes_keys(self) -> bool:
        """Whether keys belong to the screen: no dialog is open, and no filter is being typed."""
        return self.is_current and not isinstance(self.focused, Input)

    def occasion_bar(self) -> FilterBar:
        values = partial(filter_values, project_id=self.project_id)
        return FilterBar(_chips, OCCASION_HINT, values=values, keys=OCCASIONS)

    def occasions_changed(self) -> None:
        """Compute the figures again."""

    def occasions_shown(self) -> None:
        self._shown_text = self.occasion_text

    def occasions_refused(self, error: RecjudgeError) -> None:
        """Back to the occasions that the figures on the screen are about."""
        self.host.show_error(error)
        if self.occasion_text != self._shown_text:
            self.query_one(FilterBar).apply(self._shown_text)

    def on_mount(self) -> None:
        if self.occasion_text:
            self.query_one(FilterBar).apply(self.occasion_text)

        def show(known: tuple[bool, bool]) -> None:
            self._any_occasions = any(known)
            self.refresh_bindings()

        self.background.start("occasions", partial(known_occasions, project_id=self.project_id), show)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "filter" and not isinstance(self.focused, FilterLine):
            return self._any_occasions or bool(self.occasion_text)
        return super().check_action(action, parameters)

    def imported(self, project: str) -> None:
        self.occasions_changed()

    def action_filter(self) -> None:
        self._focus_before = self.focused
        self.query_one(FilterBar).open()

    @on(FilterBar.Applied)
    def _choose_occasions(self, message: FilterBar.Applied) -> None:
        if message.text != self.occasion_text:
            self.occasion_text = message.text
            self.occasions_changed()

    @on(FilterBar.Closed)
    def _leave_filter(self) -> None:
        if self._focus_before is not None:
            self.set_focus(self._focus_before)


def _chips(text: str) -> tuple[str, ...]:
    parse_occasions(text)
    return parse_filter(text).chips()


# ---- choices -----------------------------------------------------------------------------------------------------


class ChoiceField(NamedTuple):
    """`options` are (value, text shown); `value` is the current one."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    value: str


def choice_form(*fields: ChoiceField, title: str = "Shown") -> Form:
    """A form of these fields, without those that have nothing to choose."""
    from recjudge_tui.tui.form import Form

    shown = [field for field in fields if field.options]
    options = [Option(field.name, str, "", required=True, label=field.label) for field in shown]
    values = {field.name: field.value for field in shown}
    return Form(title, options, values, {field.name: field.options for field in shown})
