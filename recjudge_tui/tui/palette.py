"""The command palette: the screen's actions and the other screens, one per line, with the key at the right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from textual.app import App
from textual.screen import Screen

from recjudge_tui.store.runs import ActiveRun
from recjudge_tui.tui.dialogs import Command
from recjudge_tui.tui.keys import DO, EVERYWHERE, GO, MOVE, by_importance, group_of
from recjudge_tui.tui.screens import is_screen, make_screen, screen_names, to_projects
from recjudge_tui.tui.themes import theme_names

# actions that only make sense as keys
_KEYS_ONLY = ("app.palette", "app.next_panel", "app.peel")
_REPORTS = "Reports"
_GROUPS = (DO, GO, _REPORTS, MOVE, EVERYWHERE)


def commands(
    app: App[Any],
    screen: Screen[Any],
    active: Sequence[ActiveRun],
    of_app: Iterable[tuple[str, str, Callable[[], object]]],
) -> Iterator[Command]:
    """The actions of the screen, the other screens, and the title, key and action of the app's own commands."""
    every = [*_actions(app, screen), *_places(app, screen, active)]
    every += [Command(EVERYWHERE, *command) for command in of_app]
    yield from sorted(every, key=lambda command: _GROUPS.index(command.group))


def _actions(app: App[Any], screen: Screen[Any]) -> Iterator[Command]:
    """Each action of the screen and of the focused widget, once even if it has several keys."""
    seen: set[tuple[str, str]] = set()
    for node, binding, enabled, _ in by_importance(screen):
        action = binding.action, binding.description
        listed = binding.description and binding.id and binding.id not in _KEYS_ONLY
        if not enabled or not listed or action in seen:
            continue
        seen.add(action)
        key = binding.key_display or app.get_key_display(binding)
        run = partial(app.run_action, binding.action, node)
        yield Command(group_of(binding), binding.description.capitalize(), key, run)


def _places(app: App[Any], screen: Screen[Any], active: Sequence[ActiveRun]) -> Iterator[Command]:
    """The other screens of the project, and a monitor for each active run."""
    if app.current_mode != "projects" or len(app.screen_stack) > 1:
        yield Command(GO, "Go to projects", "", partial(to_projects, app))
    project: int | None = getattr(screen, "project_id", None)
    if project is not None:
        for name in screen_names():
            if name not in ("projects", "monitor") and not is_screen(name, screen):
                yield Command(GO, f"Go to {name}", "", partial(_go, app, name, project))
        from recjudge_tui.tui.reports import TABS, about_tab

        for name in TABS:
            show = partial(_go, app, "reports", project, tab=name)
            title, words = about_tab(name)
            yield Command(_REPORTS, title, "", show, words)
    for run in active:
        yield Command(GO, f"Go to run {run.run_id}", "", partial(_go, app, "monitor", run.run_id))


def themes(app: App[Any]) -> Iterator[Command]:
    """Every theme; choosing one saves it."""
    for name in theme_names():
        now = "now" if name == app.theme else ""
        yield Command("Theme", name, now, partial(setattr, app, "theme", name))


def _go(app: App[Any], name: str, identity: int, **more: object) -> None:
    app.push_screen(make_screen(name, identity, **more))
