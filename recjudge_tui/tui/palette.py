"""The command palette: the screen's actions and the other screens, one per line, with the key at the right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

from rich.cells import cell_len
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from recjudge_tui.reports.declare import REPORTS
from recjudge_tui.store.runs import ActiveRun
from recjudge_tui.tui.dialogs import Dialog
from recjudge_tui.tui.keys import DO, EVERYWHERE, GO, MOVE, by_importance, group_of
from recjudge_tui.tui.screens import is_screen, make_screen, screen_names, to_projects
from recjudge_tui.tui.themes import theme_names
from recjudge_tui.tui.widgets import Options, move_cursor

# actions that only make sense as keys
_KEYS_ONLY = ("app.palette", "app.next_panel", "app.peel")
_REPORTS = "Reports"
_GROUPS = (DO, GO, _REPORTS, MOVE, EVERYWHERE)
_PAGE = 10


class Command(NamedTuple):
    """A line of the palette. `key` is empty if no key does the same; `words` find it, too."""

    group: str
    title: str
    key: str
    run: Callable[[], object]
    words: str = ""


class Palette(Dialog[Command | None]):
    """`Palette(commands)`: a search, and the commands that match it, by group."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "close", id="palette.close"),
        Binding("down", "move(1)", "next", show=False, id="palette.down"),
        Binding("up", "move(-1)", "previous", show=False, id="palette.up"),
        Binding("pagedown", "page(1)", "page down", show=False, id="palette.page_down"),
        Binding("pageup", "page(-1)", "page up", show=False, id="palette.page_up"),
    ]

    def __init__(self, commands: Sequence[Command], title: str = "Commands") -> None:
        super().__init__()
        self._title = title
        self._commands = tuple(commands)
        self._shown: tuple[Command, ...] = ()

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content(self._title)
            yield Input(placeholder="search", compact=True, id="palette-search")
            listed = Options(id="palette-list", compact=True)
            listed.can_focus = False
            yield listed

    def on_resize(self) -> None:
        self._list()

    @on(Input.Changed)
    def _list(self) -> None:
        words = self.query_one(Input).value.casefold().split()
        groups = dict.fromkeys((*_GROUPS, *(command.group for command in self._commands)))
        self._shown = tuple(
            command
            for group in groups
            for command in self._commands
            if command.group == group and all(word in _searched(command) for word in words)
        )
        listed = self.query_one(Options)
        room = max(self.query_one(".dialog").content_size.width - 5, 20)
        listed.clear_options()
        before = ""
        for at, command in enumerate(self._shown):
            if command.group != before:
                before = command.group
                listed.add_option(Option(Content.styled(before, "bold $accent"), disabled=True))
            listed.add_option(Option(_line(command, room), id=str(at)))
        if not self._shown:
            listed.add_option(Option(Content("nothing matches"), disabled=True))
        listed.action_first()
        if (best := _best(self._shown, words)) is not None:
            listed.highlighted = listed.get_option_index(str(best))

    def action_move(self, rows: int) -> None:
        move_cursor(self.query_one(Options), rows)

    def action_page(self, pages: int) -> None:
        for _ in range(_PAGE):
            self.action_move(pages)

    @on(Input.Submitted)
    def _accept(self) -> None:
        listed = self.query_one(Options)
        chosen = listed.highlighted
        self._choose(listed.get_option_at_index(chosen).id if chosen is not None else None)

    @on(OptionList.OptionSelected)
    def _clicked(self, message: OptionList.OptionSelected) -> None:
        self._choose(message.option.id)

    def _choose(self, place: str | None) -> None:
        if place is not None and int(place) < len(self._shown):
            self.dismiss(self._shown[int(place)])


def _searched(command: Command) -> str:
    return f"{command.group} {command.title} {command.words}".casefold()


def _best(shown: Sequence[Command], words: Sequence[str]) -> int | None:
    """The index of the shortest title that begins with the typed text; None if none does."""
    wanted = " ".join(words)
    begin = [at for at, command in enumerate(shown) if command.title.casefold().startswith(wanted)]
    return min(begin, key=lambda at: len(shown[at].title)) if wanted and begin else None


def _line(command: Command, room: int) -> Content:
    gap = max(room - cell_len(command.title) - cell_len(command.key), 1)
    return Content.assemble(f"  {command.title}", " " * gap, (command.key, "bold"))


def commands(
    app: App[Any],
    screen: Screen[Any],
    active: Sequence[ActiveRun],
    of_app: Iterable[tuple[str, str, Callable[[], object]]],
) -> Iterator[Command]:
    """The actions of the screen, the other screens, and the title, key and action of the app's own commands."""
    yield from _actions(app, screen)
    yield from _places(app, screen, active)
    yield from (Command(EVERYWHERE, *command) for command in of_app)


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
        from recjudge_tui.tui.reports import TABS, title_of

        for name in TABS:
            report, show = REPORTS[name], partial(_go, app, "reports", project, tab=name)
            yield Command(
                _REPORTS, f"{title_of(name).capitalize()}: {report.summary}", "", show, report.words
            )
    for run in active:
        yield Command(GO, f"Go to run {run.run_id}", "", partial(_go, app, "monitor", run.run_id))


def themes(app: App[Any]) -> Iterator[Command]:
    """Every theme; choosing one saves it."""
    for name in theme_names():
        now = "now" if name == app.theme else ""
        yield Command("Theme", name, now, partial(setattr, app, "theme", name))


def _go(app: App[Any], name: str, identity: int, **more: object) -> None:
    app.push_screen(make_screen(name, identity, **more))
