"""Go back to a screen below others."""

from __future__ import annotations

from typing import Any

from textual.app import App

from recjudge_tui.tui.kit.registry import is_screen, make_screen


def to_projects(app: App[Any]) -> None:
    """Back to the list of projects, closing the screens on top of it."""
    if app.current_mode == "projects":
        while len(app.screen_stack) > 1:
            app.pop_screen()
    else:
        app.switch_mode("projects")


def to_home(app: App[Any], project_id: int) -> None:
    """Back to the home of a project, closing the screens on top of it; it is opened if it is not below them."""
    while len(app.screen_stack) > 1 and not is_screen("home", app.screen_stack[-1]):
        app.pop_screen()
    if not is_screen("home", app.screen_stack[-1]):
        app.push_screen(make_screen("home", project_id))
