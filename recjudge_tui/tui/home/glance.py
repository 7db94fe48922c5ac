"""The home of a project as a pane beside the list of projects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cached_property, partial

from textual import events
from textual.message import Message
from textual.timer import Timer

from recjudge_tui.errors import RecjudgeError
from recjudge_tui.reports.home import Home
from recjudge_tui.store.runs import ActiveRun
from recjudge_tui.tui.home.board import Figure, HomeBoard
from recjudge_tui.tui.home.layout import Layout, laid_out
from recjudge_tui.tui.home.lines import BAD, KEY, Cell, Destination, Line, line
from recjudge_tui.tui.home.reading import HomeReader
from recjudge_tui.tui.kit.background import Background
from recjudge_tui.tui.kit.glyphs import glyphs
from recjudge_tui.tui.kit.host import host_of

_REST_S = 0.15


class HomeGlance(HomeBoard, can_focus=False):
    """A home to read, without a cursor. It is read when the cursor of the list has come to rest, and no longer once the
    cursor moves on. Keys of the home are not named, because other keys may work beside it.
    """

    class Clicked(Message):
        """A click opens the home."""

    def __init__(self) -> None:
        super().__init__()
        self._homes: dict[int, Home] = {}
        self._project_id: int | None = None
        self._name_shown = ""
        self._active: Sequence[ActiveRun] = ()
        self._asked: int | None = None
        self._delay: Timer | None = None

    @cached_property
    def _background(self) -> Background:
        host = host_of(self)
        return Background(self, host.db_path, host.show_error)

    @cached_property
    def _reader(self) -> HomeReader:
        return HomeReader(self._background, self._take, self._show_error)

    @property
    def cursor(self) -> Figure | None:
        return None

    def show_home(self, project_id: int | None, name: str, active: Sequence[ActiveRun]) -> None:
        if project_id != self._project_id:
            self.stop_reading()
            self.scroll_home(animate=False)
        self._project_id, self._name_shown, self._active = project_id, name, active
        self._read_soon()
        self._paint()

    def forget(self) -> None:
        """What was read may have changed; it stays until it is read again."""
        self.stop_reading()
        self._homes = {key: home for key, home in self._homes.items() if key == self._project_id}
        self._read_soon()

    def stop_reading(self) -> None:
        self._asked = None
        if self._delay is not None:
            self._delay.stop()
        self._background.stop()

    # ---- reading

    def _read_soon(self) -> None:
        if self.size.width and self._project_id is not None and self._asked != self._project_id:
            self._asked = self._project_id
            self._delay = self.set_timer(_REST_S, partial(self._reader.read, self._project_id))

    def _take(self, project_id: int, home: Home) -> None:
        newer = {f.name: value for f in fields(Home) if (value := getattr(home, f.name)) is not None}
        self._homes[project_id] = replace(self._homes.get(project_id, Home()), **newer)
        self._paint()

    def _show_error(self, error: RecjudgeError) -> None:
        """In the pane: a project that was just deleted is no reason for a dialog."""
        self.show(Layout((line(Cell(error.title, BAD)),), (), 1, Destination("home")))

    def _paint(self) -> None:
        width, height = self.scrollable_content_region.size
        if self._project_id is None or not width:
            return
        home = self._homes.get(self._project_id, Home())
        layout = laid_out(home, self._name_shown, self._active, (width, height), glyphs())
        columns = tuple(_without_keys(lines) for lines in layout.columns)
        self.show(layout._replace(top=_without_keys(layout.top), columns=columns))

    # ---- events

    def on_resize(self) -> None:
        self._read_soon()
        self._paint()

    def on_click(self, event: events.Click) -> None:
        # the board would move its cursor
        event.prevent_default()
        self.post_message(self.Clicked())

    def on_unmount(self) -> None:
        self.stop_reading()


def _without_keys(lines: Sequence[Line]) -> tuple[Line, ...]:
    return tuple(
        tuple(cell._replace(text=" " * cell.width) if cell.style == KEY else cell for cell in cells)
        for cells in lines
    )
