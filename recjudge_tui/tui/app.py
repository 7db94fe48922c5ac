"""The app: one window on the database, a stack of screens, and an eye on what runs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from textual import events, on
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.message import Message
from textual.screen import Screen
from textual.theme import Theme
from textual.timer import Timer

from recjudge_tui.errors import RecjudgeError
from recjudge_tui.store.database import Database, connect
from recjudge_tui.store.project_panel import ActiveRun, active_runs
from recjudge_tui.store.projects import project_id
from recjudge_tui.tui.background import Background, Failed
from recjudge_tui.tui.line_filters import AsciiOnly, Harmless
from recjudge_tui.tui.look import ascii_wanted
from recjudge_tui.tui.screens.base import BaseScreen
from recjudge_tui.tui.screens.dialogs import Confirm, ErrorDialog
from recjudge_tui.tui.screens.keys import KeyHelp, keys_of
from recjudge_tui.tui.screens.projects import ProjectsScreen

POLL_S = 1.0
_LOOK_AGAIN_S = 3.0
_THEME = Theme(
    name="recjudge",
    primary="#5f87af",
    secondary="#87afaf",
    accent="#87d7d7",
    warning="#ffaf5f",
    error="#ff6b6b",
    success="#87d787",
    foreground="#d7d7d7",
    background="#161a1e",
    surface="#1c2126",
    panel="#262c33",
    dark=True,
)


class RunsSeen(Message):
    """The runs that are active now."""

    def __init__(self, active: list[ActiveRun]) -> None:
        super().__init__()
        self.active = active


class RecjudgeApp(App[None]):
    """`RecjudgeApp(db_path, "movies")` opens the cases of that project above the list of projects.

    The app polls the runs only while one is active. It learns of a run started elsewhere when it gets
    the focus back or a key is pressed, so that an idle app does nothing at all.
    """

    TITLE = "recjudge"
    CSS_PATH = "app.tcss"
    MODES = {"projects": ProjectsScreen}
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (80, "-narrow"), (100, "-normal"), (120, "-wide"), (160, "-huge")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (30, "-tall")]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "leave_app", "quit", show=False, priority=True, id="app.quit"),
    ]

    def __init__(self, db_path: Path, project: str | None = None) -> None:
        """Raises StoreError when the database cannot be opened, NotFoundError when the project is unknown."""
        super().__init__()
        self.db_path = db_path
        self.active: list[ActiveRun] = []
        self.animation_level = "none"
        self._looked_at = 0.0
        self._poll: Timer | None = None
        self._last_filters: list[LineFilter] = [Harmless(), AsciiOnly(ascii_wanted())]
        self.db = connect(db_path)
        try:
            self._open_first = project_id(self.db, project) if project is not None else None
        except RecjudgeError:
            self.db.close()
            raise

    @cached_property
    def background(self) -> Background:
        return Background(self, self.db_path)

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), *[last for last in self._last_filters if last.enabled]]

    def get_default_screen(self) -> Screen[Any]:
        """The project asked for, without the list of projects under it: that is made when one goes back."""
        if self._open_first is None:
            return ProjectsScreen()
        from recjudge_tui.tui.screens.cases import CasesScreen

        return CasesScreen(self._open_first)

    def on_mount(self) -> None:
        self.register_theme(_THEME)
        self.theme = _THEME.name
        self.set_class(ascii_wanted(), "-ascii")
        self.call_after_refresh(self.look_at_runs)

    def on_unmount(self) -> None:
        self.background.stop()
        self.db.close()

    # ---- runs

    def look_at_runs(self) -> None:
        """See now which runs are active, and keep looking while any is. For screens that start one, too."""
        self._looked_at = time.monotonic()
        self.background.start("runs", _living_runs, RunsSeen)

    @on(RunsSeen)
    def _runs_seen(self, message: RunsSeen) -> None:
        changed = bool(message.active or self.active)
        self.active = message.active
        if self.active and self._poll is None:
            self._poll = self.set_interval(POLL_S, self.look_at_runs)
        elif not self.active and self._poll is not None:
            self._poll.stop()
            self._poll = None
        if changed and isinstance(self.screen, BaseScreen):
            self.screen.runs_changed(self.active)

    def on_app_focus(self) -> None:
        self.look_at_runs()

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and time.monotonic() - self._looked_at > _LOOK_AGAIN_S:
            self.look_at_runs()
        await super().on_event(event)

    # ---- leaving, errors, help

    def leave_screen(self) -> None:
        """One screen back; from the list of projects out of the app."""
        if len(self.screen_stack) > 1:
            self.pop_screen()
        elif not isinstance(self.screen, ProjectsScreen):
            self.switch_mode("projects")
        else:
            self.action_leave_app()

    def action_leave_app(self) -> None:
        """Out of the app from anywhere, after saying that runs go on."""
        if self.active:
            runs = ", ".join(str(run.run_id) for run in self.active)
            text = f"Run {runs} goes on without the app. “recjudge runs stop ID” stops it; this screen shows it again."
            self.push_screen(Confirm("Leave recjudge?", text, "leave", "stay"), self._leave)
        else:
            self.exit()

    def _leave(self, sure: bool | None) -> None:
        if sure:
            self.exit()

    def show_error(self, error: RecjudgeError) -> None:
        """Show an error until it is dismissed."""
        self.push_screen(ErrorDialog(error))

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        self.show_error(message.error)

    def action_show_keys(self) -> None:
        if not isinstance(self.screen, KeyHelp):
            self.push_screen(KeyHelp(keys_of(self.screen)))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """What can be pressed here, and the theme."""
        for node, binding, enabled, _ in screen.active_bindings.values():
            if enabled and binding.description and binding.id and node is screen:
                yield SystemCommand(
                    binding.description.capitalize(),
                    f"key {binding.key_display or self.get_key_display(binding)}",
                    lambda action=binding.action, node=node: self.run_action(action, node),
                )
        yield SystemCommand("Theme", "Change the colours", self.action_change_theme)
        yield SystemCommand("Quit", "Leave recjudge; runs go on", self.action_leave_app)


def _living_runs(db: Database) -> list[ActiveRun]:
    """Runs that a process works on; one whose process died is not among them."""
    runs = active_runs(db)
    if not runs:
        return []
    from recjudge_tui.running.lease import is_active

    return [run for run in runs if is_active(db, run.run_id)]


def run_app(db_path: Path, project: str | None = None) -> None:
    """Open the app in this terminal and return when it is left."""
    RecjudgeApp(db_path, project).run()
