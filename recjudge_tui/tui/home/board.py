"""The widget of the home: lines of figures in columns, with one cursor over all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from recjudge_tui.tui.home.layout import GAP, Layout
from recjudge_tui.tui.home.lines import BAD, DIM, GOOD, KEY, TITLE, WARN, Destination, Line, width_of


class Figure(NamedTuple):
    """A cell that opens something, and its position. `column` is -1 for the part across all columns."""

    column: int
    y: int
    x: int
    width: int
    destination: Destination


class HomeBoard(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows a `Layout`. The cursor stays on the same figure, identified by what it opens, when figures arrive or
    move.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"home--{style}" for style in (TITLE, DIM, GOOD, WARN, BAD, KEY, "cursor")
    }
    DEFAULT_CSS = """
    HomeBoard {
        height: 1fr; padding: 0 1; background: $background; scrollbar-size-vertical: 1; overflow-x: hidden;
        .home--title { color: $accent; text-style: bold; }
        .home--dim { text-style: dim; }
        .home--good { color: $success; }
        .home--warn { color: $warning; }
        .home--bad { color: $error; }
        .home--cursor { background: $block-cursor-background; color: $block-cursor-foreground; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", key_display="enter", id="home.open"),
        Binding("down,j", "move(0,1)", "down", show=False, id="home.down"),
        Binding("up,k", "move(0,-1)", "up", show=False, id="home.up"),
        Binding("right", "move(1,0)", "right", show=False, id="home.right"),
        Binding("left", "move(-1,0)", "left", show=False, id="home.left"),
        Binding("tab", "next_block(1)", "next part", show=False, id="home.next"),
        Binding("shift+tab", "next_block(-1)", "previous part", show=False, id="home.previous"),
        Binding("pagedown,space", "page(1)", "page down", show=False, id="home.page_down"),
        Binding("pageup,b", "page(-1)", "page up", show=False, id="home.page_up"),
        Binding("home,g", "edge(0)", "first", show=False, id="home.first"),
        Binding("end,G", "edge(-1)", "last", show=False, id="home.last"),
    ]

    class Opened(Message):
        def __init__(self, destination: Destination) -> None:
            super().__init__()
            self.destination = destination

    class Resized(Message):
        """The layout is for another size."""

    def __init__(self) -> None:
        super().__init__()
        self._layout = Layout((), (), 1, Destination("cases"))
        self._figures: tuple[Figure, ...] = ()
        self._at = 0
        # until the user moves it, the cursor is on the figure that the layout names
        self._moved = False

    @property
    def cursor(self) -> Figure | None:
        return self._figures[self._at] if self._at < len(self._figures) else None

    def show(self, layout: Layout) -> None:
        before = self.cursor
        self._layout = layout
        self._figures = tuple(_figures(layout))
        wanted = before.destination if self._moved and before is not None else layout.first
        places = [at for at, figure in enumerate(self._figures) if figure.destination == wanted]
        if self._moved and before is not None and len(places) > 1:
            # if several figures open the same, take the nearest one
            places.sort(key=lambda at: _distance(self._figures[at], before.x, before.y))
        self._at = (
            places[0] if places else min(self._at, max(len(self._figures) - 1, 0)) if self._moved else 0
        )
        self.virtual_size = Size(0, layout.height)
        self._into_view()
        self.refresh()

    # ---- painting

    def render_line(self, y: int) -> Strip:
        place = y + self.scroll_offset.y
        base, width = self.rich_style, self.size.width
        layout, top = self._layout, len(self._layout.top)
        if place < top:
            segments = self._segments(-1, place, layout.top[place], width)
        else:
            segments = []
            for column, lines in enumerate(layout.columns):
                if column:
                    segments.append(Segment(" " * GAP, base))
                shown = lines[place - top] if place - top < len(lines) else ()
                cells = self._segments(column, place, shown, layout.width)
                # a line that is too long must not push the next column off the screen
                segments += Segment.adjust_line_length(cells, layout.width, base)
        return Strip(segments).adjust_cell_length(width, base).simplify()

    def _segments(self, column: int, y: int, cells: Line, width: int) -> list[Segment]:
        base, cursor = self.rich_style, self.cursor
        segments, x = [], 0
        for cell in cells:
            style = (
                self.get_component_rich_style(f"home--{cell.style}", partial=True)
                if cell.style
                else Style.null()
            )
            if (
                cursor is not None
                and (cursor.column, cursor.y, cursor.x) == (column, y, x)
                and cell.destination
            ):
                style = self.get_component_rich_style("home--cursor")
            segments.append(Segment(cell.text, base + style))
            x += cell.width
        return [*segments, Segment(" " * max(width - x, 0), base)]

    # ---- the cursor

    def action_open(self) -> None:
        if self.cursor is not None:
            self.post_message(self.Opened(self.cursor.destination))

    def action_move(self, right: int, down: int) -> None:
        here = self.cursor
        if here is None:
            return
        beyond = self._below(here, down) if down else self._beside(here, right)
        left = self._left(here)
        nearest = min(beyond, key=lambda f: (abs(f.y - here.y), abs(self._left(f) - left)), default=None)
        if nearest is not None:
            self._move_to(nearest)

    def _below(self, here: Figure, down: int) -> list[Figure]:
        """The figures below (above with -1), in the same column or across all."""
        return [
            f
            for f in self._figures
            if (f.y - here.y) * down > 0 and (f.column == here.column or -1 in (f.column, here.column))
        ]

    def _beside(self, here: Figure, right: int) -> list[Figure]:
        """The figures to the right (to the left with -1): in the same line, else in the nearest column."""
        beyond = [f for f in self._figures if (self._left(f) - self._left(here)) * right > 0]
        alike = [f for f in beyond if (f.column, f.y) == (here.column, here.y)]
        others = [f for f in beyond if (f.column - here.column) * right > 0]
        nearest = min((abs(f.column - here.column) for f in others), default=0)
        return alike or [f for f in others if abs(f.column - here.column) == nearest]

    def action_next_block(self, step: int) -> None:
        """To the first figure of the next part."""
        starts = [f for f in self._figures if self._begins_block(f)]
        here = self.cursor
        if here is None or not starts:
            return
        order = [(f.column, f.y) for f in starts]
        before = sum(place <= (here.column, here.y) for place in order) - 1
        self._move_to(starts[(before + step) % len(starts)])

    def action_page(self, pages: int) -> None:
        here = self.cursor
        if here is None:
            return
        goal = here.y + pages * max(self.size.height - 1, 1)
        alike = [f for f in self._figures if f.column in (here.column, -1)]
        self._move_to(min(alike, key=lambda f: abs(f.y - goal)))

    def action_edge(self, place: int) -> None:
        if self._figures:
            self._move_to(self._figures[place])

    def on_click(self, event: events.Click) -> None:
        """The first click moves the cursor, one on the cursor opens."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        y = offset.y + self.scroll_offset.y
        for figure in self._figures:
            left = self._left(figure)
            if figure.y == y and left <= offset.x < left + figure.width:
                if figure == self.cursor:
                    self.action_open()
                else:
                    self._move_to(figure)

    def on_resize(self) -> None:
        self.post_message(self.Resized())

    def _left(self, figure: Figure) -> int:
        """The column of the screen in which a figure begins."""
        return figure.x + max(figure.column, 0) * (self._layout.width + GAP)

    def _begins_block(self, figure: Figure) -> bool:
        """Whether there is no figure between this one and the title above it."""
        top = len(self._layout.top)
        lines = self._layout.top if figure.column < 0 else self._layout.columns[figure.column]
        offset = 0 if figure.column < 0 else top
        for y in range(figure.y - offset, -1, -1):
            cells = lines[y]
            if any(cell.style == TITLE for cell in cells):
                return True
            opening = [cell for cell in cells if cell.destination]
            if opening and (y != figure.y - offset or figure.x != _x_of_first(cells)):
                return False
        return False

    def _move_to(self, figure: Figure) -> None:
        self._moved = True
        self._at = self._figures.index(figure)
        self._into_view()
        self.refresh()

    def _into_view(self) -> None:
        here, top, height = self.cursor, self.scroll_offset.y, self.size.height
        if here is None or not height:
            return
        if here.y < top + 1:
            # scroll its title into view, too
            self.scroll_to(y=max(here.y - 1, 0), animate=False, force=True)
        elif here.y >= top + height:
            self.scroll_to(y=here.y - height + 1, animate=False, force=True)


def _figures(layout: Layout) -> Iterator[Figure]:
    """Every cell that opens something, in reading order, column by column."""
    for column, lines in ((-1, layout.top), *enumerate(layout.columns)):
        offset = 0 if column < 0 else len(layout.top)
        for y, cells in enumerate(lines):
            x = 0
            for cell in cells:
                if cell.destination is not None:
                    yield Figure(column, y + offset, x, cell.width, cell.destination)
                x += cell.width


def _x_of_first(cells: Line) -> int:
    at = next(place for place, cell in enumerate(cells) if cell.destination)
    return width_of(cells[:at])


def _distance(figure: Figure, x: int, y: int) -> int:
    return abs(figure.x - x) + 100 * abs(figure.y - y)
