"""The app: one database, a stack of screens, and a poll of the active runs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import events
from textual.actions import ActionParseResult
from textual.app import App
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.driver import Driver
from textual.filter import LineFilter
from textual.reactive import Initialize, Reactive
from textual.screen import Screen
from textual.theme import Theme
from textual.timer import Timer

from recjudge_tui.config_file import Fault, faults_error, read_preferences, save_theme
from recjudge_tui.errors import NotFoundError, RecjudgeError
from recjudge_tui.signals import leaving_cleanly, signals_held
from recjudge_tui.store.database import Database, StoredRow, file_identity, file_is_gone
from recjudge_tui.store.projects import only_project, project_id, project_name
from recjudge_tui.store.runs import active_runs
from recjudge_tui.store.schema import connect
from recjudge_tui.system import few_collections, share_one_heap
from recjudge_tui.tui.dialogs import GONE, Confirm, ErrorDialog, Notice
from recjudge_tui.tui.screens import WAIT_S, Background, BaseScreen, is_screen, make_screen
from recjudge_tui.tui.themes import THEMES, Painted, chosen_theme, named_colours, own_theme
from recjudge_tui.tui.toolkit import is_ours, is_too_late, lenient

if TYPE_CHECKING:
    from recjudge_tui.tui.row_list import Command
    from recjudge_tui.tui.screens import Host

POLL_S = 1.0
# of a look that took long, so many times as long nothing is looked at: to count a million calls takes a third of a second
_REST = 4
_LOOK_AGAIN_S = 3.0


class RecjudgeApp(App[None]):
    """`RecjudgeApp(db_path, "movies")` opens the home of that project above the list of projects. Without a name, a
    file with a single project opens on its home, too.

    The app polls the runs only while one is active. It notices a run started elsewhere when it regains the focus or a
    key is pressed, so an idle app does nothing at all.
    """

    TITLE = "recjudge"
    # an absolute path, so that a subclass in another folder finds it
    CSS_PATH = Path(__file__).with_name("app.tcss")
    MODES = {"projects": partial(make_screen, "projects")}
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (80, "-narrow"), (100, "-normal"), (120, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (30, "-tall")]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "leave_app", "quit", show=False, priority=True, id="app.quit")
    ]

    ansi_theme_dark = Reactive(named_colours(THEMES[0]), init=False)
    ansi_theme_light = Reactive(named_colours(THEMES[1]), init=False)
    _chosen_theme: str
    # from the start, because the styles of all widgets are computed again for another one
    theme: Reactive[str] = Reactive(Initialize(lambda app: cast("RecjudgeApp", app)._chosen_theme))

    def __init__(self, db_path: Path, project: str | None = None) -> None:
        """Raises StoreError when the database cannot be opened, NotFoundError when the project is unknown."""
        self._settings = read_preferences()
        self._chosen_theme, self._theme_fault = chosen_theme(self._settings.preferences.theme)
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)
        self.db_path = db_path
        self.active: list[StoredRow] = []
        self.runs_known = False
        self.chosen: dict[tuple[str, int], object] = {}
        self.animation_level = "none"
        self._looked_at = self._rest_until = 0.0
        self._poll: Timer | None = None
        self.own_keys: dict[str, str] = {}
        self.fault: Exception | None = None
        self._program: subprocess.Popen[bytes] | None = None
        self._draft: Path | None = None
        self._painted = Painted((), colours=not self.no_color)
        self.db = connect(db_path, notify=_tell, wait_s=WAIT_S)
        self._file = file_identity(db_path)
        try:
            self._open_first = only_project(self.db) if project is None else project_id(self.db, project)
        except RecjudgeError:
            self.db.close()
            raise

    @cached_property
    def background(self) -> Background:
        return Background(self, self.db_path, self.show_error)

    def get_driver_class(self) -> type[Driver]:
        return lenient(super().get_driver_class())

    def get_line_filters(self) -> Sequence[LineFilter]:
        others = tuple(super().get_line_filters())
        if others != self._painted.others:
            # Textual remembers lines by their filters
            self._painted = Painted(others, colours=not self.no_color)
        return [self._painted]

    def get_theme(self, theme_name: str) -> Theme | None:
        """Ours are found before they are registered, and without a copy of all: every painted line asks."""
        return own_theme(theme_name) or super().get_theme(theme_name)

    def get_default_screen(self) -> Screen[Any]:
        """The screen of the project. The list of projects below it is created when the user goes back."""
        if self._open_first is None:
            return make_screen("projects")
        return make_screen("home", self._open_first)

    def on_mount(self) -> None:
        self.call_after_refresh(self.check_runs)
        self.call_after_refresh(self._take_settings)

    def on_unmount(self) -> None:
        self.background.stop()
        self.db.close()

    # ---- runs

    def check_runs(self) -> None:
        """Check now which runs are active, and keep polling while there are any. Screens that start a run call it,
        too."""
        self._looked_at = time.monotonic()
        self.background.start("runs", _live_runs, self._show_active)

    def _check_again(self) -> None:
        if time.monotonic() > self._rest_until:
            self.check_runs()

    def _show_active(self, active: list[StoredRow]) -> None:
        self._rest_until = time.monotonic() + _REST * (time.monotonic() - self._looked_at)
        changed = bool(active or self.active or not self.runs_known)
        self.active, self.runs_known = active, True
        if self.active and self._poll is None:
            self._poll = self.set_interval(POLL_S, self._check_again)
        elif not self.active and self._poll is not None:
            self._poll.stop()
            self._poll = None
        # a message may arrive after the app has closed its screens, or before the newest screen has its widgets
        if changed and self.screen_stack and isinstance(self.screen, BaseScreen) and self.screen.is_mounted:
            self.screen.runs_changed(self.active)

    def on_app_focus(self) -> None:
        self.check_runs()

    async def on_event(self, event: events.Event) -> None:
        # a key that no widget used comes back, forwarded
        if isinstance(event, events.Key) and not event.is_forwarded:
            if self._has_lost_its_data():
                return
            if time.monotonic() - self._looked_at > _LOOK_AGAIN_S:
                self.check_runs()
        await super().on_event(event)

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """What the toolkit's own widgets, or a screen that is not there yet, cannot do does nothing."""
        try:
            return await super().run_action(action, default_namespace, namespaces)
        except GONE as error:
            # a fast key may come before the widgets of its screen
            if is_ours(error) and self.screen.is_mounted:
                raise
            return True

    # ---- leaving, errors, help

    def leave_screen(self) -> None:
        """Go back one screen; from the list of projects, leave the app."""
        if len(self.screen_stack) > 1:
            self.pop_screen()
        elif not is_screen("projects", self.screen):
            self.switch_mode("projects")
        else:
            self.action_leave_app()

    def _has_lost_its_data(self) -> bool:
        """Whether the file or the project was deleted or replaced. If so, a message is shown and the app returns to
        the projects. The connection still works on a deleted file, so decisions would be written there and lost.
        """
        # on the list of projects, the project under the cursor is not open
        opened = [
            screen.project_id
            for screen in self.screen_stack
            if hasattr(screen, "project_id") and not is_screen("projects", screen)
        ]
        if opened and file_identity(self.db_path) != self._file:
            self.end_with(file_is_gone(self.db_path))
            return True
        try:
            for project in opened:
                project_name(self.db, project)
        except NotFoundError as error:
            self.call_later(self.leave_project, error)
            return True
        except RecjudgeError:
            return False  # the action of the key will report the error
        return False

    async def leave_project(self, error: RecjudgeError) -> None:
        """Go back to the list of projects and show why."""
        while len(self.screen_stack) > 1:
            await self.pop_screen()
        if not is_screen("projects", self.screen):
            await self.switch_mode("projects")
        self.show_error(error)

    def end_with(self, error: RecjudgeError) -> None:
        """End the app with an error that is shown on the terminal."""
        self.fault = self.fault or error
        self.exit(return_code=error.exit_code)

    def action_leave_app(self) -> None:
        """Leave the app from any screen, after telling the user that runs continue."""
        if self.active:
            runs = ", ".join(str(run.run_id) for run in self.active)
            text = f"Run {runs} continues without the app. “recjudge runs stop ID” stops it; the Runs screen shows it."
            question = Confirm("Leave recjudge?", text, "leave", "stay")
            self.push_screen(question, lambda leave: self.exit() if leave else None)
        else:
            self.exit()

    def show_error(self, error: RecjudgeError) -> None:
        """Show an error until it is dismissed."""
        self.push_screen(ErrorDialog(error))

    def action_show_keys(self) -> None:
        from recjudge_tui.tui.palette import help_commands

        self._open_palette(help_commands, "Keys and terms")

    def action_command_palette(self) -> None:
        self._open_palette(self.commands, "Commands")

    def _open_palette(self, commands: Callable[[Screen[Any]], Iterable[Command]], title: str) -> None:
        from recjudge_tui.tui.row_list import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(tuple(commands(self.screen)), title), self._run_command)

    def commands(self, screen: Screen[Any]) -> Iterable[Command]:
        """The actions available now, the screens to go to, and the theme."""
        from recjudge_tui.tui.palette import commands

        holds = "It holds the theme, your own keys, your name as a reader, and what runs begin with."
        about = f"{self._settings.path}\n\n{holds}"
        of_app = (
            ("Theme", "", self.action_change_theme, "settings colours dark light"),
            (
                "Settings: the file that holds them",
                "",
                lambda: self.push_screen(Notice("Settings", about)),
                "config keys",
            ),
            ("Quit", "ctrl+q", self.action_leave_app, "exit leave"),
        )
        return commands(self, screen, self.active, of_app)

    def _run_command(self, command: Command | None) -> None:
        if command is not None:
            self.call_later(command.run)

    def action_change_theme(self) -> None:
        from recjudge_tui.tui.palette import themes
        from recjudge_tui.tui.row_list import Palette

        self.push_screen(Palette(tuple(themes(self)), "Theme"), self._run_command)

    # ---- the user's settings

    def _take_settings(self) -> None:
        """Runs after the first paint, because checking the keys reads all bindings and imports every screen."""
        self.theme_changed_signal.subscribe(self, lambda theme: self._save_theme(theme.name))
        faults = [*self._settings.faults, *([self._theme_fault] if self._theme_fault else [])]
        if self._settings.preferences.keys:
            self.background.start("keys", self._settled_keys, partial(self._use_keys, faults=faults))
        elif faults:
            self._show_faults(faults)

    def _settled_keys(self, _: Database) -> tuple[dict[str, str], list[Fault]]:
        """The keymap, and the problems with keys that it leaves out."""
        from recjudge_tui.tui.keys import keymap_for, settle

        settled, wrong = settle(self._settings.preferences.keys)
        return keymap_for(settled), wrong

    def _use_keys(self, settled: tuple[dict[str, str], list[Fault]], faults: list[Fault]) -> None:
        self.own_keys, wrong = settled
        self.set_keymap(self.own_keys)
        if faults or wrong:
            self._show_faults([*faults, *wrong])

    def _show_faults(self, faults: list[Fault]) -> None:
        faults.sort(key=lambda fault: fault.line or 0)
        self.show_error(faults_error(self._settings.path, tuple(faults)))

    def _save_theme(self, name: str) -> None:
        """Save the chosen theme. Choosing the same theme again changes nothing."""
        if name == self._chosen_theme:
            return
        self._chosen_theme = name
        try:
            save_theme(name)
        except RecjudgeError as error:
            self.show_error(error)

    def shipped_key(self, binding: str) -> str:
        """The key of a binding of any screen; empty if there is none. Imports every screen, which takes a moment."""
        from recjudge_tui.tui.keys import all_bindings

        return next(iter(all_bindings().shipped.get(binding, ())), "")

    # ---- unexpected ends

    def lend(self, command: Sequence[str], text: str = "", draft: Path | None = None) -> int:
        """Lend the terminal to a program that reads `text`, until it ends; returns its exit code.

        `draft` is the file that it edits: its path is shown if a signal ends both. Raises OSError where the program
        cannot be started, SuspendNotSupported where the terminal cannot be lent.
        """
        self._draft = draft
        with self.suspend():
            with signals_held():  # a signal is for the program from its first instruction on
                self._program = program = subprocess.Popen(command, stdin=subprocess.PIPE if text else None)
            with program:
                try:
                    # the program may end before it has read everything
                    program.communicate(text.encode("utf-8", "replace") or None)
                finally:
                    self._program = None
        return program.returncode

    def borrower(self) -> subprocess.Popen[bytes] | None:
        """The program that has the terminal."""
        return self._program

    def leave_at_once(self, code: int) -> None:
        """Leave with this exit code without asking; may be called from a signal handler."""
        try:
            asyncio.get_running_loop().call_soon_threadsafe(partial(self.exit, return_code=code))
        except RuntimeError:
            raise SystemExit(code) from None

    def what_remains(self) -> str:
        """A text for users whose app ended without asking: the runs that continue, and the draft being edited."""
        runs = ", ".join(str(run.run_id) for run in self.active)
        lines = [f"Run {runs} continues without the app; “recjudge runs stop ID” stops it."] if runs else []
        if self._draft is not None and self._draft.exists():
            lines.append(f"The prompt that was being edited is in {self._draft}.")
        return "\n".join(lines)

    def _handle_exception(self, error: Exception) -> None:
        if isinstance(error, GONE) and is_too_late(error):
            return  # a screen that was closed before it was there, or an app that is leaving
        self.fault = self.fault or error
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        # the traceback is for --debug, where run_app raises the error again
        self._close_messages_no_wait()

    def panic(self, *renderables: Any) -> None:
        self.fault = self.fault or RecjudgeError("the terminal can no longer be read")
        self._close_messages_no_wait()


if TYPE_CHECKING:
    # mypy checks here that the app satisfies its screens
    _HOST: type[Host] = RecjudgeApp


def run_app(db_path: Path, project: str | None = None) -> None:
    """Open the app in this terminal and return when the user leaves it.

    Restores the terminal and raises the exception that ended the app, or SystemExit after a signal.
    """
    share_one_heap()
    app = RecjudgeApp(db_path, project)
    try:
        with few_collections(), leaving_cleanly(app.leave_at_once, app.borrower):
            app.run()
    except SystemExit:
        _tell(app.what_remains())
        raise
    if app.fault is not None:
        _tell(app.what_remains())
        raise app.fault


def _live_runs(db: Database) -> list[StoredRow]:
    """The active runs, without those whose process died."""
    if not (runs := active_runs(db)):
        return []
    from recjudge_tui.runs.lease import is_active

    return [run for run in runs if is_active(db, run.run_id)]


def _tell(text: str) -> None:
    with suppress(OSError):
        sys.stderr.write(f"{text}\n" if text else "")
