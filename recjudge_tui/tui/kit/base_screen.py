"""The base of every screen of the app: the top line, background work and the keys that leave it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.geometry import Size

from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.projects import project_name
from recjudge_tui.store.runs import ActiveRun
from recjudge_tui.tui.kit.background import Background
from recjudge_tui.tui.kit.fitted_screen import FittedScreen
from recjudge_tui.tui.kit.host import Host, host_of
from recjudge_tui.tui.kit.places import to_home, to_projects
from recjudge_tui.tui.kit.registry import make_screen
from recjudge_tui.tui.kit.top_bar import TopBar

# last in each screen's list, so that they are last in the footer
COMMON: list[BindingType] = [
    Binding("question_mark", "app.show_keys", "keys", key_display="?", id="app.keys"),
    Binding("q", "leave", "back", id="app.back"),
    Binding("escape", "step_back", "close or go back", show=False, id="app.peel"),
    Binding("tab", "app.focus_next", "next panel", show=False, id="app.next_panel"),
    Binding("colon", "app.command_palette", "command palette", show=False, key_display=":", id="app.palette"),
]

# for forms, whose fields take letters as text: only esc leaves them
FORM: list[BindingType] = [
    replace(
        binding,
        show=binding.id == "app.peel",
        key_display="esc" if binding.id == "app.peel" else binding.key_display,
    )
    if isinstance(binding, Binding) and binding.id in ("app.peel", "app.back")
    else binding
    for binding in COMMON
]


class BaseScreen(FittedScreen[None]):
    """A screen with a top line (`TopBar`) and a `background` for its queries."""

    HUGE: ClassVar[int] = 160  # columns from which a screen has the class -huge beside -wide
    _left_at: Size | None = None

    @property
    def host(self) -> Host:
        return host_of(self)

    @cached_property
    def background(self) -> Background:
        return Background(self, self.host.db_path, self.host.show_error)

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

    def on_unmount(self) -> None:
        self.background.stop()

    def runs_changed(self, active: list[ActiveRun]) -> None:
        """Called about once a second while a run is active, and once more when the last one has ended."""
        for bar in self.query(TopBar):  # while the app closes there is no screen
            bar.show(active=len(active))

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
        project: int | None = getattr(self, "project_id", None)
        if message.place == 0:
            to_projects(self.app)
        elif message.place == 1 and project is not None:
            to_home(self.app, project)
        else:
            self.action_leave()

    def action_leave(self) -> None:
        self.host.leave_screen()

    def action_step_back(self) -> None:
        """Close the innermost open part of the screen; go back if nothing is open."""
        self.host.leave_screen()

    def open_screen(self, name: str, identity: int, **more: object) -> None:
        self.app.push_screen(make_screen(name, identity, **more))
