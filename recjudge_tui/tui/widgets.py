"""Widgets and marks of more than one screen."""

from __future__ import annotations

import locale
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive
from textual.screen import Screen, ScreenResultType
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual
from textual.widget import Widget
from textual.widgets import DataTable, Static

from recjudge_tui.domain.filters import COMPARED, KEYS, Term, whole_term
from recjudge_tui.domain.text import one_line

# ---- glyphs ------------------------------------------------------------------------------------------------------


class Glyphs(NamedTuple):
    """The symbols for states. A state always has a glyph and a word, never a colour alone."""

    reviewed: str = "✓"
    marked: str = "▲"
    failed: str = "✗"
    running: str = "▶"
    done: str = "✓"
    paused: str = "‖"
    stopped: str = "■"
    empty: str = "·"
    crumb: str = "▸"
    dot: str = "·"
    none: str = "–"
    rule: str = "─"
    bar: str = "█"
    eighths: str = " ▏▎▍▌▋▊▉"
    cut: str = "…"
    first: str = "◂"
    swapped: str = "⇄"
    times: str = "×"
    overridden: str = "✎"
    to: str = "→"
    steps: str = "▁▂▃▄▅▆▇█"


# of all screens; in an ASCII terminal a filter replaces them as they are painted
GLYPHS = Glyphs()


def ascii_wanted() -> bool:
    """Whether to use ASCII: `RECJUDGE_ASCII=1`, or a locale that cannot show more."""
    chosen = os.environ.get("RECJUDGE_ASCII")
    if chosen is not None:
        return chosen not in ("", "0")
    return locale.getpreferredencoding(False).lower().replace("-", "") not in ("utf8", "utf8mb4")


# status of a run -> its glyph, and its kind in a list (see RowList.KINDS)
RUN_LOOKS = {
    "running": (GLYPHS.running, "up"), "pausing": (GLYPHS.paused, "marked"), "paused": (GLYPHS.paused, "marked"),
    "stopping": (GLYPHS.stopped, "marked"), "stopped": (GLYPHS.stopped, "marked"), "failed": (GLYPHS.failed, "failed"),
    "interrupted": (GLYPHS.marked, "marked"), "done": (GLYPHS.done, ""), "planned": (GLYPHS.empty, ""),
}  # fmt: skip


def at_rest(state: str) -> str:
    """The status of a run on which no process works."""
    return "interrupted" if state == "running" else state


def number(value: int) -> str:
    """`149760` as `149,760`."""
    return f"{value:,}"


def fraction(value: float | None, none: str) -> str:
    """A confidence: `0.41`; `none` when there is none."""
    return none if value is None else f"{value:.2f}"


def score(value: float | None) -> str:
    """`4`, `3.67`: as many decimals as needed, two at most."""
    return GLYPHS.none if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


def case_number(case_id: int) -> str:
    return f"{case_id:07d}"


def ago(moment: str | None, now: datetime | None = None) -> str:
    """`2h ago` for a stored time; `never` without one."""
    if not moment:
        return "never"
    try:
        then = datetime.fromisoformat(moment)
    except ValueError:
        return "?"
    if then.tzinfo is None:
        then = then.replace(tzinfo=timezone.utc)
    seconds = max(((now or datetime.now(timezone.utc)) - then).total_seconds(), 0)
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit} ago"
    return "just now"


def bar(share: float, width: int) -> str:
    """A bar of at most `width` cells for a share from 0 to 1."""
    share = min(max(share, 0.0), 1.0)
    eighths = round(share * width * 8)
    return (GLYPHS.bar * (eighths // 8) + (GLYPHS.eighths[eighths % 8] if eighths % 8 else "")).rstrip()


def short_label(label: str) -> str:
    """A label for a narrow column: `Good Match` is `Good`."""
    return label.removesuffix(" Match")


def fit(text: str, width: int) -> str:
    """The text in exactly `width` cells, ending in a cut sign if it is longer."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + GLYPHS.cut if width > 0 else ""


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells, broken at spaces where there are any; none for an empty text."""
    return [line.plain for line in Content(text).wrap(width)] if text else []


def middle(text: str, width: int) -> str:
    """The text in at most `width` cells, shortened in the middle, so that names that begin alike stay apart."""
    if cell_len(text) <= width:
        return text
    if width < 5:
        return fit(text, max(width, 0)).rstrip()
    tail = (width - 1) // 2
    end = text[-tail:]
    while cell_len(end) > tail:
        end = end[1:]
    return set_cell_size(text, width - 1 - tail).rstrip() + GLYPHS.cut + end


# ---- fitted screen -----------------------------------------------------------------------------------------------


class FittedScreen(Screen[ScreenResultType]):
    """Has the classes of the app's breakpoints before it has widgets.

    Textual sets them when a screen is first resized, and then computes the styles of all its widgets a second time.
    """

    def on_compose(self) -> None:
        width, height = self.app.size
        self.add_class(
            *_reached(width, self.app.HORIZONTAL_BREAKPOINTS),
            *_reached(height, self.app.VERTICAL_BREAKPOINTS),
        )


def _reached(length: int, breakpoints: list[tuple[int, str]] | None) -> list[str]:
    """The class of the largest breakpoint that this many cells reach, if any."""
    reached = [(cells, name) for cells, name in breakpoints or () if cells <= length]
    return [max(reached)[1]] if reached else []


# ---- charts ------------------------------------------------------------------------------------------------------


def tick(value: float) -> str:
    """A value on an axis: three digits, and thousands without an exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def spark(values: Sequence[float], width: int) -> str:
    """The newest `width` values as heights from zero to the highest; empty without values."""
    shown = values[-width:] if width > 0 else ()
    if (top := max(shown, default=0.0)) <= 0:
        return GLYPHS.steps[0] * len(shown)
    return "".join(
        GLYPHS.steps[max(min(int(value / top * len(GLYPHS.steps)), len(GLYPHS.steps) - 1), 0)]
        for value in shown
    )


def stacked(parts: Sequence[tuple[float, str, str]], width: int) -> list[tuple[str, str]]:
    """One bar of `width` cells from (share, character, style), in order, as (text, style); shares add up to at most 1.

    Cells are assigned by cumulative rounding, so the bar never gets too long; a share above zero gets a cell if there
    is room.
    """
    cells, ends, total = [], 0, 0.0
    for share, _, _ in parts:
        total += share
        end = min(max(round(total * width), ends + (1 if share > 0 else 0)), width)
        cells.append(end - ends)
        ends = end
    drawn = [(char * count, style) for count, (_, char, style) in zip(cells, parts, strict=True)]
    return [*drawn, (GLYPHS.dot * (width - ends), "dim")]


def place_of(value: float, bounds: tuple[float, float], width: int) -> int:
    """The cell of a value on a scale of `width` cells from `bounds[0]` to `bounds[1]`."""
    span = bounds[1] - bounds[0]
    share = (value - bounds[0]) / span if span > 0 else 0.5
    return min(max(round(share * (width - 1)), 0), width - 1)


def interval(
    low: float | None,
    value: float | None,
    high: float | None,
    bounds: tuple[float, float],
    width: int,
    even: float | None = None,
) -> str:
    """`····├──●──┤·┼··` on a scale from `bounds[0]` to `bounds[1]`; only the track when `value` is None.

    A cross stands at `even`, where neither side is better. An end that lies beyond the scale is an arrow.
    """
    cells = ["·"] * width
    if even is not None:
        cells[place_of(even, bounds, width)] = "┼"
    if value is None:
        return "".join(cells)
    place = partial(place_of, bounds=bounds, width=width)
    if low is not None and high is not None:
        first, last = place(low), place(high)
        middle = None if even is None else place(even)
        cells[first : last + 1] = [cells[at] if at == middle else "─" for at in range(first, last + 1)]
        cells[first] = "├" if low >= bounds[0] else "◂"
        cells[last] = "┤" if high <= bounds[1] else "▸"
    cells[place(value)] = "●"
    return "".join(cells)


# ---- text pane ---------------------------------------------------------------------------------------------------


# how many characters of one text, and of a whole prompt, are shown; what is stored is not cut
LONGEST_TEXT, LONGEST_PROMPT = 12_000, 60_000
# a width in cells -> the text
Layout = Callable[[int], Content]


class TextPane(ScrollView, can_focus=True, inherit_bindings=False):
    """Paints its own lines, so that a new text repaints only the visible lines and does not lay out the screen again."""

    DEFAULT_CSS = """
    TextPane { overflow-x: hidden; scrollbar-size-vertical: 1; scrollbar-gutter: stable; padding: 0 0 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_down", "scroll down", show=False, id="text.down"),
        Binding("k,up", "scroll_up", "scroll up", show=False, id="text.up"),
        Binding("pagedown,space", "page_down", "page down", show=False, id="text.page_down"),
        Binding("pageup,b", "page_up", "page up", show=False, id="text.page_up"),
        Binding("home,g", "scroll_home", "top", show=False, id="text.top"),
        Binding("end,G", "scroll_end", "bottom", show=False, id="text.bottom"),
    ]

    # Textual's own lays out the whole screen when it changes
    virtual_size = Reactive(Size(0, 0), layout=False)
    # these texts have none, and Textual looks for them in every line
    auto_links = Reactive(False)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._layout_of: Layout = lambda _: Content("")
        self._content = Content("")
        self._width = 0
        # None until painted with the current style and selection
        self._lines: list[Strip] | None = None

    def show(self, layout: Layout, *, stay: bool = False) -> None:
        """Show another text from its top; with `stay` the scroll position is kept."""
        self._layout_of = layout
        self._lay_out()
        if not stay:
            self.scroll_home(animate=False)

    def text(self) -> str:
        """The whole text."""
        return self._content.plain

    def on_resize(self) -> None:
        if self.scrollable_content_region.width != self._width:
            self._lay_out()

    def _lay_out(self) -> None:
        self._width = self.scrollable_content_region.width
        self._content = self.laid_out(max(self._width, 20))
        self._lines = None
        size = Size(self._width, len(self._painted()))
        self.virtual_size = size
        self._scroll_update(size)
        self.refresh()

    def laid_out(self, width: int) -> Content:
        return self._layout_of(width)

    def _painted(self) -> list[Strip]:
        if self._lines is None:
            self._lines = Visual.to_strips(self, self._content, max(self._width, 1), None, self.visual_style)
        return self._lines

    def render_line(self, y: int) -> Strip:
        lines, place = self._painted(), y + int(self.scroll_offset.y)
        if place >= len(lines):
            return Strip.blank(self.size.width, self.rich_style)
        return lines[place]

    def notify_style_update(self) -> None:
        self._lines = None
        super().notify_style_update()

    def selection_updated(self, selection: Selection | None) -> None:
        self._lines = None
        super().selection_updated(selection)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selection.extract(self.text()), "\n"


# ---- key line ----------------------------------------------------------------------------------------------------


# the styles of a key and of its description
ON = (".key-line--key", ".key-line--description")
OFF = (".key-line--off", ".key-line--off")


MOST_HINTS = 8


class KeyHint(NamedTuple):
    key: str
    text: Content


class KeyLine(Widget, can_focus=False):
    """Key and description side by side; a click presses the key. Hints that do not fit are only in the list of keys, which
    the last but one opens: the last two stay. It is one widget that draws text: a widget for each key, recreated
    whenever the focus moves, took a third of the time of every screen.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-line--key", "key-line--description", "key-line--off"}
    DEFAULT_CSS = """
    KeyLine {
        dock: bottom;
        height: 1;
        background: $panel;
        .key-line--key { color: $footer-key-foreground; text-style: bold; }
        .key-line--description { color: $footer-description-foreground; }
        .key-line--off { color: $footer-description-foreground; text-style: dim; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._hints: tuple[KeyHint, ...] = ()

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._on_bindings)

    def _on_bindings(self, screen: Screen[object]) -> None:
        if screen.app.app_focus:
            self.call_after_refresh(self._take_hints)

    def _take_hints(self) -> None:
        """One hint per action, in the order of the bindings."""
        if not self.is_attached:
            return
        hints: dict[str, KeyHint] = {}
        for _, binding, enabled, _ in self.screen.active_bindings.values():
            if binding.show and binding.action not in hints:
                key = self.app.get_key_display(binding)
                key_style, text_style = ON if enabled else OFF
                text = Content.assemble((key, key_style), (f" {binding.description}", text_style))
                hints[binding.action] = KeyHint(binding.key, text)
        if (shown := tuple(hints.values())) != self._hints:
            self._hints = shown
            self.refresh()

    def _places(self) -> list[tuple[int, KeyHint]]:
        """The hints that fit, each with the column it begins in."""
        shown = list(self._hints)
        while len(shown) > 1 and (
            len(shown) > MOST_HINTS or sum(hint.text.cell_length + 1 for hint in shown) - 1 > self.size.width
        ):
            # the list of keys and the way back stay
            shown.pop(-3 if len(shown) > 2 else -2)
        places = []
        column = 0
        for hint in shown:
            places.append((column, hint))
            column += hint.text.cell_length + 1
        return places

    def render(self) -> Content:
        return Content(" ").join(hint.text for _, hint in self._places())

    def on_mouse_down(self, event: events.MouseDown) -> None:
        for column, hint in self._places():
            if column <= event.x < column + hint.text.cell_length:
                self.app.simulate_key(hint.key)


def key_name(app: App[Any], binding: str) -> str:
    """The key to press for a binding: the user's own, else that of a screen or widget in use, else the shipped one."""
    mapped: dict[str, str] = getattr(app, "own_keys", {})
    if keys := mapped.get(binding):
        return app.get_key_display(Binding(keys.split(",")[0], "", ""))
    for screen in reversed(app.screen_stack):
        for node in screen.walk_children(with_self=True):
            for same_key in node._bindings.key_to_bindings.values():
                for bound in same_key:
                    if bound.id == binding:
                        return bound.key_display or app.get_key_display(bound)
    shipped: str = getattr(app, "shipped_key", str)(binding)
    return app.get_key_display(Binding(shipped, "", "")) if shipped else ""


def key_hint(app: App[Any], *parts: tuple[str, str]) -> str:
    """A line of hints from (binding, description): `esc close   enter accept`."""
    return "   ".join(f"{key_name(app, binding)} {does}" for binding, does in parts)


_KEY = re.compile(r"\{([a-z]+\.[a-z_]+)\}")


def keyed(app: App[Any], text: str) -> str:
    """The text with the keys of bindings: `/ changes the filter` for `{list.filter} changes the filter`."""
    return _KEY.sub(lambda found: key_name(app, found[1]) or found[0], text)


# ---- figure table ------------------------------------------------------------------------------------------------


class FigureTable(DataTable[Text]):
    """A table of numbers. It declares its own `enter`, which opens cases, so that the line of keys shows it.

    It drops cached lines that were painted before its rows were measured: Textual's table measures new rows when it is
    idle, and caches a paint before that without row labels and with the widths of the headings.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "cases", key_display="enter", id="agreement.cases"),
        Binding("j", "cursor_down", "down", show=False, id="agreement.down"),
        Binding("k", "cursor_up", "up", show=False, id="agreement.up"),
        Binding("l", "cursor_right", "right", show=False, id="agreement.right"),
        Binding("h", "cursor_left", "left", show=False, id="agreement.left"),
    ]
    _filled = False

    def fill(
        self,
        heads: Sequence[Text],
        lines: Sequence[Sequence[Text]],
        cursor: Literal["row", "cell"] = "row",
        height: int = 1,
    ) -> None:
        """Show other rows; the cursor keeps its place if it still exists."""
        self._filled = True
        before = self.cursor_coordinate
        self.clear(columns=True)
        self.cursor_type, self.fixed_columns = cursor, int(cursor == "cell")
        for place, head in enumerate(heads):
            self.add_column(head, key=str(place))
        for line in lines:
            self.add_row(*line, height=height)
        if self.is_valid_coordinate(before):
            self.move_cursor(row=before.row, column=before.column, animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """An empty table has nothing to open."""
        if action == "select_cursor":
            return self.row_count > 0
        return super().check_action(action, parameters)

    def _on_click(self, event: events.Click) -> None:  # type: ignore[override]
        """A click on a row or column that is gone, because the table was filled again after the paint, does nothing."""
        row, column = event.style.meta.get("row", -1), event.style.meta.get("column", -1)
        if row >= self.row_count or column >= len(self.columns):
            event.prevent_default()

    def on_idle(self) -> None:
        """Runs before the table's own handler, which measures."""
        if self._filled:
            self._filled = False
            self.notify_style_update()


# ---- details pane ------------------------------------------------------------------------------------------------


class DetailsPane(VerticalScroll, can_focus=False):
    """Grows with its text up to its `max-height`."""

    DEFAULT_CSS = "DetailsPane { height: auto; padding: 0 1; scrollbar-size-vertical: 1; }"

    def compose(self) -> ComposeResult:
        yield Static(Content.styled("computing", "dim"))

    def show(self, text: Content) -> None:
        self.query_one(Static).update(text)
        self.scroll_home(animate=False)


# ---- click text --------------------------------------------------------------------------------------------------


# hints stand apart by more than one space
_HINT = re.compile(r"\S+(?: \S+)*")


class ClickText(Static):
    """Parts of it run an action when clicked, and keep their colours: Textual would paint them as links."""

    def on_mount(self) -> None:
        self.auto_links = False


def clickable(text: Content, action: str) -> Content:
    """The text, on which a click runs `action`, such as `screen.answer('2')`."""
    return text.stylize(Style.from_meta({"@click": action}))


class DialogHint(Static):
    """`DialogHint("enter show   esc cancel")`: a click on a hint presses its key, which is its first word."""

    def __init__(self, text: str) -> None:
        super().__init__(Content(text), classes="dialog-hint")

    def on_click(self, event: events.Click) -> None:
        place = event.get_content_offset(self)
        line = self.render_line(place.y).text if place is not None else ""
        for hint in _HINT.finditer(line):
            if place is not None and hint.start() <= place.x < hint.end():
                self._press(hint.group().split()[0])

    def _press(self, shown: str) -> None:
        for _, binding, enabled, _ in self.screen.active_bindings.values():
            if enabled and shown in (binding.key, binding.key_display, self.app.get_key_display(binding)):
                self.app.simulate_key(binding.key)
                return


# ---- title rule --------------------------------------------------------------------------------------------------


def title_rule(title: str, width: int) -> Content:
    """`─ Title ────`, `width` cells wide."""
    rest = max(width - cell_len(title) - 3, 0)
    return Content.assemble(
        (f"{GLYPHS.rule} ", "dim"), (title, "bold $accent"), (f" {GLYPHS.rule * rest}"[: rest + 1], "dim")
    )


# ---- top bar -----------------------------------------------------------------------------------------------------


class TopBar(Widget):
    DEFAULT_CSS = """
    TopBar { dock: top; height: 1; padding: 0 1; background: $panel; color: $foreground; }
    """

    @dataclass
    class CrumbClick(Message):
        """A click on a crumb other than the last, which is the current place."""

        place: int

    def __init__(self, *crumbs: str) -> None:
        super().__init__()
        self._crumbs = crumbs
        self._right = ""
        self._active = 0

    def show(
        self, *, crumbs: tuple[str, ...] | None = None, right: str | None = None, active: int | None = None
    ) -> None:
        """Change any of the three; None keeps the current value."""
        self._crumbs = self._crumbs if crumbs is None else crumbs
        self._right = self._right if right is None else right
        self._active = self._active if active is None else active
        self.refresh()

    def _shown_crumbs(self) -> list[str]:
        return [one_line(crumb, 40) for crumb in self._crumbs]

    def on_click(self, event: events.Click) -> None:
        place, column = event.get_content_offset(self), 0
        between = cell_len(f" {GLYPHS.crumb} ")
        for at, crumb in enumerate(self._shown_crumbs()[:-1]):
            if place is not None and column <= place.x < column + cell_len(crumb):
                self.post_message(self.CrumbClick(at))
            column += cell_len(crumb) + between

    def render(self) -> Content:
        width = self.content_size.width
        crumbs = self._shown_crumbs()
        later = (part for crumb in crumbs[1:] for part in ((f" {GLYPHS.crumb} ", "dim"), (crumb, "bold")))
        left = Content.assemble(*((crumb, "bold $accent") for crumb in crumbs[:1]), *later)
        runs = f"  {self._active} {GLYPHS.running}" if self._active else ""
        room = width - left.cell_length - len(runs) - 2
        right = one_line(self._right, room) if room > 8 else ""
        gap = max(width - left.cell_length - Content(right).cell_length - len(runs), 1)
        return Content.assemble(left, " " * gap, (right, "dim"), (runs, "bold $success")).truncate(width)


# ---- completion --------------------------------------------------------------------------------------------------


MOST = 50
_KEYED = re.compile(r'([A-Za-z_]+)(:|=)"?(.*)$')
_CHOICE = re.compile(r"\w+:(\w+(?:\|\w+)+)")

Values = Mapping[str, Sequence[str]]


class Suggestion(NamedTuple):
    """`shown` is the suggested word; accepting it turns the input into `line` with the cursor at `cursor`."""

    shown: str
    note: str
    line: str
    cursor: int


def suggestions(
    line: str, cursor: int, values: Values, *, anything: bool = False, keys: Collection[str] = KEYS
) -> tuple[Suggestion, ...]:
    """At most MOST suggestions at the cursor, among these `keys`; with `anything`, all keys if the line is empty.

    None inside a word, inside quoted text, or if the word is complete.
    """
    start = word_start(line, cursor)
    word = line[start:cursor]
    if line[cursor : cursor + 1].strip() or word.startswith('"'):
        return ()
    if keyed := _KEYED.match(word):
        suggested = _values(keyed.group(1).lower(), keyed.group(2), keyed.group(3), values)
    elif word or anything:
        suggested = _keys(word, keys)
    else:
        suggested = []
    return tuple(
        Suggestion(shown, note, line[:start] + text + line[cursor:].lstrip(" "), start + len(text))
        for shown, note, text in suggested[:MOST]
    )


def word_start(line: str, cursor: int) -> int:
    """The start of the word at the cursor; quoted text is one word."""
    start, quoted = 0, False
    for place, character in enumerate(line[:cursor]):
        if character == '"':
            quoted = not quoted
        elif character.isspace() and not quoted:
            start = place + 1
    return start


def _keys(typed: str, offered: Collection[str]) -> list[tuple[str, str, str]]:
    keys = []
    for key in offered:
        if key.startswith(typed.lower()):
            text = f"{key}<" if key in COMPARED else f"{key}:"
            keys.append((text, KEYS[key], text))
    return keys


def _values(key: str, op: str, typed: str, values: Values) -> list[tuple[str, str, str]]:
    wanted = typed.rstrip('"').casefold()
    # the fixed words of a key stand in its line of the grammar: `why:swap|flag`
    fixed = _CHOICE.match(KEYS.get(key, ""))
    known = dict.fromkeys((*(fixed.group(1).split("|") if fixed else ()), *values.get(key, ())))
    first = [value for value in known if value.casefold().startswith(wanted)]
    within = [value for value in known if wanted in value.casefold() and value not in first]
    if [value.casefold() for value in (*first, *within)] == [wanted]:
        return []
    found = (
        (whole_term(key, value) if op == "=" else Term(key, ":", value)).chip() for value in (*first, *within)
    )
    return [(term, "", f"{term} ") for term in found]
