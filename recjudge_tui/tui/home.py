"""The home of a project: its verdict in one sentence, its board, and what to read first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.text import one_line, quantity, short
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.project import Project
from recjudge_tui.reports.figures.marks import Mark, axis
from recjudge_tui.reports.home import RUNS_NAMED, Gap, Home, Step, conclusion, with_next_part
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.runs import newest_runs
from recjudge_tui.tui.row_list import shared_prefix
from recjudge_tui.tui.screens import COMMON, Background, ImportScreen, ShowError, Working
from recjudge_tui.tui.verdict_list import label_text, mark, people_text, systems_text, why
from recjudge_tui.tui.widgets import (
    GLYPHS,
    RUN_LOOKS,
    KeyLine,
    TopBar,
    ago,
    at_rest,
    bar,
    fit,
    interval,
    middle,
    number,
    wrapped,
)

if TYPE_CHECKING:
    from recjudge_tui.reports.read_first import First


# ---- lines -------------------------------------------------------------------------------------------------------


# styles of a cell; the widget knows their colours
TITLE, DIM, GOOD, WARN, BAD, KEY, BOLD, PLAIN = "title", "dim", "good", "warn", "bad", "key", "bold", ""


class Destination(NamedTuple):
    """The target of `enter`: a screen by name (of the registry, or `import`, `first`), and its argument: a filter of
    verdicts, the number of a run or of a verdict, or a kind of data.
    """

    screen: str
    argument: str = ""


class Cell(NamedTuple):
    text: str
    style: str = PLAIN
    destination: Destination | None = None

    @property
    def width(self) -> int:
        return cell_len(self.text)


Line = tuple[Cell, ...]


class Block(NamedTuple):
    """A part of the home under its title."""

    title: str
    lines: tuple[Line, ...]


def width_of(cells: Iterable[Cell]) -> int:
    return sum(cell.width for cell in cells)


def line(*cells: Cell) -> Line:
    return cells


def pushed_right(left: Sequence[Cell], right: Sequence[Cell], width: int) -> Line:
    """The cells at both ends of a line.

    If there is no room, the last cell on the left is cut; those on the right are figures and are never cut.
    """
    room = max(width - width_of(right) - (1 if right else 0), 0)
    kept = list(left)
    if width_of(kept) > room and kept:
        last = kept.pop()
        kept.append(last._replace(text=fit(last.text, max(room - width_of(kept), 0)).rstrip()))
    gap = max(width - width_of(kept) - width_of(right), 0)
    return (*kept, Cell(" " * gap), *right)


def wrapped_text(left: Sequence[Cell], text: Cell, right: Sequence[Cell], width: int) -> tuple[Line, ...]:
    """The text between the cells at both ends, on as many lines as it needs, each below the first word."""
    start = width_of(left)
    parts = wrapped(text.text, max(width - start - width_of(right) - (1 if right else 0), 8))
    first, *others = [text._replace(text=part.rstrip()) for part in parts] or [text]
    gap = Cell(" " * max(width - start - first.width - width_of(right), 0))
    indent = Cell(" " * start)
    # only the first line is a place for the cursor
    return ((*left, first, gap, *right), *((indent, part._replace(destination=None)) for part in others))


def title_line(title: str, width: int) -> Line:
    """`─ Title ────`."""
    text = middle(title, max(width - 4, 1))
    rest = max(width - 3 - cell_len(text), 0)
    return (Cell(f"{GLYPHS.rule} ", DIM), Cell(text, TITLE), Cell(f" {GLYPHS.rule * rest}", DIM))


def stacked_blocks(blocks: Sequence[Block], width: int, *, spaced: bool) -> tuple[Line, ...]:
    """The blocks below each other; `spaced` by an empty line."""
    lines: list[Line] = []
    for block in blocks:
        lines += [()] if lines and spaced else []
        lines += [title_line(block.title, width), *block.lines]
    return tuple(lines)


# ---- blocks ------------------------------------------------------------------------------------------------------


# the screen and key for each remedy
REMEDIES: dict[str, tuple[str, Destination]] = {
    "import": ("i", Destination("import")),
    "judge": ("n", Destination("launch")),
    "label": ("l", Destination("annotate")),
    "compare": ("a", Destination("reports")),
}
# beside the user and the systems there is room for a mark and the beginning of a reason
_REASON = 28
# what stands before the answer to each order
_BRACKETS = re.compile(r"^\s*\[[^\]]*\]\s*")
_STYLES = {"marked": WARN, "failed": BAD}
_RUNS = 4
_SYSTEMS = 6
# the fewest and the most cells of an axis
_AXIS = (8, 30)
# from this share on, flips are a warning
_MANY_FLIPS = 0.2


def checklist(steps: Sequence[Step], width: int) -> Block:
    """The remaining steps, in order, each with its key."""
    lines: list[Line] = []
    for at, step in enumerate(steps, start=1):
        key, destination = REMEDIES[step.remedy]
        sign = GLYPHS.done if step.done else str(at)
        head = Cell(f"{sign} {step.remedy:8}", GOOD if step.done else PLAIN, destination)
        text = Cell(step.text, DIM if step.done else PLAIN)
        lines += wrapped_text([Cell(" "), head], text, [Cell(key, KEY)], width)
    return Block("Steps to a first result", tuple(lines))


def first_to_read(home: Home, first: Sequence[First] | None, width: int) -> Block:
    """The cases that could change the conclusion, a line for each."""
    if first is None:
        return Block(
            "Read first", (line(Cell(" "), Cell("looking for what to read", DIM, Destination("cases"))),)
        )
    if not first:
        empty = Cell(f"{GLYPHS.done} the queue is empty", GOOD, Destination("cases"))
        return Block("Read first", (line(Cell(" "), empty),))
    waiting = home.queue.total if home.queue is not None else 0
    title = f"Read first ({len(first)}{f' of {number(waiting)}' if waiting > len(first) else ''})"
    prefix = shared_prefix([name for one in first for name in one.row.systems])
    rows = [one.row for one in first]
    users = min(max(cell_len(one_line(row.user_id, 30)) for row in rows), 12)
    needed = max(cell_len(systems_text(row, 60, prefix)) for row in rows)
    systems = min(needed, max(width - users - _REASON, 13))
    return Block(title, tuple(_to_read(one, (users, systems), prefix, width) for one in first))


def _to_read(one: First, widths: tuple[int, int], prefix: str, width: int) -> Line:
    """`▲ u-17  als ◂ cooc  against people: B B  "repeats two sequels…"`."""
    row, (sign, kind) = one.row, mark(one.row)
    style = {"failed": BAD, "marked": WARN, "reviewed": GOOD}.get(kind, PLAIN)
    who = fit(middle(one_line(row.user_id, 30), widths[0]), widths[0])
    systems = fit(systems_text(row, widths[1], prefix), widths[1])
    said = "" if len(row.systems) > 1 else f"{label_text(row)} "
    people = people_text(row)
    reason = one_line(
        f"{said}{why(row) or one.reason}{f': {people}' if people and not row.failed else ''}", 100
    )
    room = width - 6 - sum(widths) - cell_len(reason) - 2
    text = _BRACKETS.sub("", one.reasoning)
    quoted = f"  “{one_line(text, room - 4)}”" if room > 20 and text else ""
    open_it = Cell(f"{who}  {systems}", PLAIN, Destination("first", str(row.verdict_id)))
    line_end = fit(f"  {reason}", max(width - 3 - width_of([open_it]) - cell_len(quoted), 0)).rstrip()
    return (Cell(f" {sign} ", style), open_it, Cell(line_end, PLAIN), Cell(quoted, DIM))


def runs(home: Home, active: Sequence[StoredRow], width: int) -> Block | None:
    """The newest runs, live ones with their progress."""
    if not home.runs:
        return None
    live = {run.run_id: run for run in active}
    lines = [_run(run, live.get(run.run_id), width) for run in home.runs[:_RUNS]]
    more = (home.totals.runs if home.totals else len(home.runs)) - len(lines)
    if more > 0:
        lines.append(line(Cell("   "), Cell(f"{quantity(more, 'earlier run')}", DIM, Destination("runs"))))
    return Block("Runs", tuple(lines))


def _run(run: StoredRow, active: StoredRow | None, width: int) -> Line:
    status = at_rest(run.state)
    glyph, kind = RUN_LOOKS.get(status, ("?", ""))
    style = _STYLES.get(kind, PLAIN)
    right = [Cell(ago(run.ended or run.created_at), DIM)]
    if active is not None or (run.calls and run.state != "done"):
        done, calls = (active.finished, active.calls) if active else (run.finished, run.calls)
        share = done / calls if calls else 0.0
        drawn = f"{bar(share, 8):8} " if width >= 56 else ""
        word = "" if active else f"{status} "
        right = [Cell(f"{word}{drawn}{share:.0%}", GOOD if active else style)]
    if active is not None:
        glyph, style = GLYPHS.running, GOOD
    if run.failed:
        right = [Cell(f"{number(run.failed)} failed ", BAD), *right]
    who = Cell(f"{run.run_id} {one_line(run.rater, 30)}", PLAIN, Destination("monitor", str(run.run_id)))
    protocol = [] if run.rater.endswith(run.protocol) else [Cell(f" {run.protocol}", DIM)]
    left = [Cell(f" {glyph} ", style), who, *protocol]
    # the protocol is dropped before the name of the judge
    return pushed_right(left if width_of((*left, *right)) < width else left[:2], right, width)


def _measured(
    lead: str, name: Cell, names: int, value: str, ends: tuple[float | None, float | None, float | None],
    bounds: tuple[float, float], tail: Sequence[Cell], width: int, even: float | None = None,
) -> Line:  # fmt: skip
    """`lead name  62% ├──●──┤ tail`; `names` is the width of the names. The axis is left out where there is no room."""
    room = min(width - cell_len(lead) - names - max(cell_len(value), 4) - width_of(tail) - 3, _AXIS[1])
    drawn = f" {interval(*ends, bounds, room, even)}" if room >= _AXIS[0] else ""
    shown = name._replace(text=middle(name.text, names))
    gap = Cell(" " * (names - shown.width + 1))
    return pushed_right([Cell(lead), shown, gap, Cell(f"{value:>4}"), Cell(drawn, DIM)], tail, width)


def trust(home: Home, width: int) -> Block | None:
    """One agreement with people with its interval, the human ceiling, and how often the order decides the verdict."""
    agreement, lines = home.agreement, list[Line]()
    labels = home.data is not None and home.data.labels > 0
    if agreement is None:
        lines += [line(Cell(" "), Cell("agreement with people: computing", DIM))] if labels else []
    elif not agreement.judge:
        none = Cell("people labelled none of its cases", DIM, Destination("reports"))
        lines += (
            [line(Cell(" "), none)]
            if labels
            else _missing(Gap("no labels to check it against", "label"), width)
        )
    else:
        from recjudge_tui.reports.words import few_cases

        lines.append(line(Cell(f" {agreement.stat}", DIM)))
        few = few_cases(agreement.n)
        judge = f"{one_line(agreement.judge, 24)}{GLYPHS.dot}{one_line(agreement.people, 24)}"
        of_judge, of_people = Destination("cases", agreement.cases), Destination("reports")
        rows = [(judge, of_judge, agreement.value, agreement.interval, agreement.n)]
        if agreement.ceiling is not None:
            people = (agreement.ceiling, agreement.ceiling_interval, agreement.ceiling_n)
            rows.append((f"people{GLYPHS.dot}people", of_people, *people))
        known = [v for *_, value, ends, _ in rows for v in (value, *ends) if v is not None]
        bounds = (min(known, default=0.0), max(known, default=1.0))
        names = min(max(cell_len(name) for name, *_ in rows), max(width - 24, 10))
        for name, destination, value, ends, n in rows:
            shown = "undefined" if value is None else short(value)
            tail = [Cell(f" n={number(n)}", WARN if few else DIM)]
            named = Cell(name, PLAIN, destination)
            lines.append(_measured(" ", named, names, shown, (ends[0], value, ends[1]), bounds, tail, width))
        for text, style in ((few, WARN), (one_line(agreement.about), DIM)):
            lines += wrapped_text([Cell(" ")], Cell(text, style), [], width) if text else []
    flips = (home.flips or ())[:3]
    lines += [line(Cell(" Answers that flip with the order", DIM))] if flips else []
    for flip in flips:
        share = Cell(f"{flip.share:.0%}", WARN if flip.share >= _MANY_FLIPS else PLAIN)
        right = [share, Cell(f" of {number(flip.n)}", DIM)]
        protocol = "" if flip.rater.endswith(flip.protocol) else f" {flip.protocol}"
        name = middle(one_line(flip.rater, 40), width - width_of(right) - cell_len(protocol) - 2)
        named = Cell(f"{name}{protocol}", PLAIN, Destination("cases", flip.cases))
        lines.append(pushed_right([Cell(" "), named], right, width))
    return Block("Trust", tuple(lines)) if lines else None


def leaderboard(home: Home, width: int) -> Block | None:
    """The ranking in short: rank range, win rate with its interval, wins, ties (those by position) and losses, nDCG."""
    board = home.board
    if board is None:
        waits = home.totals is not None and home.totals.verdicts
        computing = (line(Cell(" "), Cell("computing", DIM, Destination("reports"))),)
        return Block("Leaderboard", computing) if waits else None
    if board.topic is None or not board.lines:
        return None
    rows = board.lines[:_SYSTEMS]
    prefix = shared_prefix([str(row["system"]) for row in board.lines])
    bounds = axis(Mark("", row["score"], row.get("ci_low"), row.get("ci_high")) for row in rows)
    share = board.figure == "win rate" or board.figure.startswith("share")
    shown_names = [one_line(str(row["system"]).removeprefix(prefix), 60) for row in rows]
    names = min(max(map(cell_len, shown_names)), max(width - 36, 8))
    even = 0.5 if board.figure == "win rate" else None
    lines = []
    for row, name in zip(rows, shown_names, strict=True):
        score, low, high = row["score"], row.get("rank_low"), row.get("rank_high")
        value = GLYPHS.none if score is None else f"{score:.0%}" if share else f"{score:.2f}"
        rank = f"{low}-{high}" if None not in (low, high) and low != high else str(row["rank"] or "")
        counts = f"n={number(row['n'])}"
        if row.get("wins") is not None:
            flipped = f"({number(row['position_ties'])}{GLYPHS.swapped})" if row.get("position_ties") else ""
            counts = f"{number(row['wins'])}/{number(row['ties'] or 0)}{flipped}/{number(row['losses'] or 0)}"
        ndcg = f" nDCG {short(row['ndcg'])}" if row.get("ndcg") is not None and width >= 60 else ""
        named = Cell(name, PLAIN, Destination("cases", row["cases"]))
        ends, tail = (row.get("ci_low"), score, row.get("ci_high")), [Cell(f" {counts}{ndcg}", DIM)]
        lines.append(_measured(f" {rank:>3} ", named, names, value, ends, bounds, tail, width, even))
    rest = len(board.lines) - len(rows)
    if rest:
        lines.append(line(Cell("    "), Cell(quantity(rest, "more system"), DIM, Destination("reports"))))
    about = board.topic.protocol if board.topic.aspect == OVERALL else board.topic.text()
    shown = f", {board.figure}" if board.figure and board.figure != "win rate" else ""
    title = f"Leaderboard {GLYPHS.dot} {one_line(about, 40)}{shown} {GLYPHS.dot} {one_line(board.rater, 40)}"
    return Block(f"{title} {GLYPHS.dot} {prefix}{GLYPHS.cut}" if prefix else title, tuple(lines))


def data(home: Home, width: int) -> Block:
    """The project's data, and for missing data the key that adds it."""
    counts = home.data
    if counts is None:
        return Block("Data", (line(Cell(" "), Cell("counting", DIM)),))
    figures = [
        (counts.users, "users", "users"),
        (counts.items_described, "items", "items"),
        (len(counts.systems), "systems", "systems"),
        (counts.lists, "lists", "lists"),
        (counts.events, "events", "events"),
        (counts.held_out, "held out", "events"),
        (counts.labels, "labels", "labels"),
        *([(counts.images, "images", "items")] if counts.images else []),
        *([(counts.explanations, "texts", "texts")] if counts.explanations else []),
    ]
    digits = max(len(number(count)) for count, *_ in figures)
    across = max(width // (digits + 11), 1)
    lines: list[Line] = []
    for start in range(0, len(figures), across):
        cells: list[Cell] = []
        for count, noun, kind in figures[start : start + across]:
            text = f"{number(count):>{digits}} {noun}"
            figure = Cell(text, PLAIN if count else DIM, Destination("data", kind))
            cells += [Cell("  "), figure, Cell(" " * max(width // across - figure.width - 2, 0))]
        lines.append(tuple(cells))
    served = [f"{number(counts.contexts)} named occasions"] if counts.contexts else []
    if counts.last_served:
        days = dict.fromkeys((counts.first_served[:10], counts.last_served[:10]))
        served.append(f"served {' to '.join(days)}")
    if served:
        occasions = Cell(", ".join(served), PLAIN, Destination("data", "lists"))
        lines += wrapped_text([Cell(" ")], occasions, [], width)
    for gap in home.gaps:
        lines += _missing(gap, width)
    return Block("Data", tuple(lines))


def _missing(gap: Gap, width: int) -> tuple[Line, ...]:
    key, destination = REMEDIES[gap.remedy]
    text = Cell(gap.text, PLAIN, destination)
    return wrapped_text([Cell(f" {GLYPHS.marked} ", WARN)], text, [Cell(key, KEY)], width)


# ---- layout ------------------------------------------------------------------------------------------------------


GAP = 2
# from this width on there are two columns; from the second one the left one stays as wide as its figures need
_TWO_COLUMNS, _WIDE, _LEFT = 96, 132, 66


class Layout(NamedTuple):
    """`top` spans the whole width; below it are the columns. `first` is the figure on which the cursor starts."""

    top: tuple[Line, ...]
    columns: tuple[tuple[Line, ...], ...]
    widths: tuple[int, ...]
    first: Destination

    @property
    def height(self) -> int:
        return len(self.top) + max(map(len, self.columns), default=0)


def laid_out(
    home: Home,
    first: Sequence[First] | None,
    active: Sequence[StoredRow],
    size: tuple[int, int],
) -> Layout:
    """The home for a widget of this width and height."""
    across, height = size
    left = _LEFT if across >= _WIDE else (across - GAP) // 2
    widths = (left, across - GAP - left) if across >= _TWO_COLUMNS else (across,)
    judged = home.totals is None or home.totals.verdicts > 0

    def to_read(width: int) -> Block | None:
        return first_to_read(home, first, width) if judged else None

    start = Destination("first", str(first[0].row.verdict_id)) if first else Destination("cases")
    top: list[Line] = []
    if steps := home.steps:
        top += stacked_blocks([checklist(steps, across)], across, spaced=False)
        start = REMEDIES[next(step.remedy for step in steps if not step.done)][1]
    elif said := one_line(" ".join(conclusion(home)), 600):
        top += wrapped_text([Cell(" ")], Cell(said, BOLD), [], across)
    if top and (height >= 30 or steps):
        top.append(())
    if len(widths) == 1:
        blocks = [
            [to_read(across), leaderboard(home, across), trust(home, across) if judged else None,
             runs(home, active, across), data(home, across)]
        ]  # fmt: skip
    else:
        blocks = [
            [
                leaderboard(home, left),
                trust(home, left) if judged else None,
                data(home, left),
            ],
            [to_read(widths[1]), runs(home, active, widths[1])],
        ]
    kept = [
        ([block for block in column if block is not None], width)
        for column, width in zip(blocks, widths, strict=True)
    ]
    if len(kept) > 1 and not all(column for column, _ in kept):
        # instead of an empty column, one that is wider
        kept = [([data(home, across)] if judged is False else kept[0][0] or kept[1][0], across)]
    columns = tuple(stacked_blocks(column, width, spaced=height >= 30) for column, width in kept)
    return Layout(tuple(top), columns, tuple(width for _, width in kept), start)


# ---- board -------------------------------------------------------------------------------------------------------


class Figure(NamedTuple):
    """A cell that opens something, its position, and the number of its block. `column` is -1 for the part across all."""

    column: int
    y: int
    x: int
    width: int
    destination: Destination
    block: int


class HomeBoard(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows a `Layout`. The cursor stays on the same figure, identified by what it opens, when figures arrive or
    move.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"home--{style}" for style in (TITLE, DIM, GOOD, WARN, BAD, KEY, BOLD, "cursor")
    }
    DEFAULT_CSS = """
    HomeBoard {
        height: 1fr; padding: 0 1; background: $background; scrollbar-size-vertical: 1; overflow-x: hidden;
        .home--title { color: $accent; text-style: bold; }
        .home--dim { text-style: dim; }
        .home--good { color: $success; }
        .home--warn { color: $warning; }
        .home--bad { color: $error; }
        .home--bold { text-style: bold; }
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
        self._layout = Layout((), (), (), Destination("cases"))
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
        if self._moved and before is not None:
            # if several figures open the same, take the nearest one
            places.sort(
                key=lambda at: abs(self._figures[at].x - before.x) + 100 * abs(self._figures[at].y - before.y)
            )
        last = max(len(self._figures) - 1, 0)
        self._at = places[0] if places else min(self._at, last) if self._moved else 0
        self.virtual_size = Size(0, layout.height)
        self._into_view()
        self.refresh()

    # ---- painting

    def render_line(self, y: int) -> Strip:
        place = y + self.scroll_offset.y
        base, width = self.rich_style, self.size.width
        layout, top = self._layout, len(self._layout.top)
        segments: list[Segment] = []
        if place < top:
            segments = self._segments(-1, place, layout.top[place])
        for column, lines in enumerate(layout.columns if place >= top else ()):
            segments += [Segment(" " * GAP, base)] if column else []
            cells = self._segments(column, place, lines[place - top] if place - top < len(lines) else ())
            # a line that is too long must not push the next column off the screen
            segments += Segment.adjust_line_length(cells, layout.widths[column], base)
        return Strip(segments).adjust_cell_length(width, base).simplify()

    def _segments(self, column: int, y: int, cells: Line) -> list[Segment]:
        base, cursor = self.rich_style, self.cursor
        here = None if cursor is None else (cursor.column, cursor.y, cursor.x)
        segments, x = [], 0
        for cell in cells:
            style = base
            if cell.style:
                style += self.get_component_rich_style(f"home--{cell.style}", partial=True)
            if cell.destination and here == (column, y, x) and self.has_focus:
                style += self.get_component_rich_style("home--cursor")
            segments.append(Segment(cell.text, style))
            x += cell.width
        return segments

    # ---- the cursor

    def action_open(self) -> None:
        if self.cursor is not None:
            self.post_message(self.Opened(self.cursor.destination))

    def action_move(self, right: int, down: int) -> None:
        """To the nearest figure in this direction: up and down in the same column or across all, left and right in the same
        line, else in another column."""
        here = self.cursor
        if here is None:
            return
        nearest: list[tuple[tuple[int, ...], Figure]] = []
        for figure in self._figures:
            y, x = figure.y - here.y, self._left(figure) - self._left(here)
            same = figure.column == here.column
            if down and y * down > 0 and (same or -1 in (figure.column, here.column)):
                nearest.append(((abs(y), abs(x)), figure))
            if right and x * right > 0 and (not same or y == 0):
                nearest.append(((not same, abs(figure.column - here.column), abs(y), abs(x)), figure))
        if nearest:
            self._move_to(min(nearest)[1])

    def action_next_block(self, step: int) -> None:
        """To the first figure of the next part."""
        starts = {figure.block: figure for figure in reversed(self._figures)}
        if self.cursor is not None:
            blocks = sorted(starts)
            self._move_to(starts[blocks[(blocks.index(self.cursor.block) + step) % len(blocks)]])

    def action_page(self, pages: int) -> None:
        here = self.cursor
        if here is not None:
            goal = here.y + pages * max(self.size.height - 1, 1)
            alike = [figure for figure in self._figures if figure.column in (here.column, -1)]
            self._move_to(min(alike, key=lambda figure: abs(figure.y - goal)))

    def action_edge(self, place: int) -> None:
        if self._figures:
            self._move_to(self._figures[place])

    def on_click(self, event: events.Click) -> None:
        """The first click moves the cursor, one on the cursor opens."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        for figure in self._figures:
            left = self._left(figure)
            if figure.y == offset.y + self.scroll_offset.y and left <= offset.x < left + figure.width:
                if figure == self.cursor:
                    self.action_open()
                else:
                    self._move_to(figure)

    def on_resize(self) -> None:
        self.post_message(self.Resized())

    def _left(self, figure: Figure) -> int:
        """The column of the screen in which a figure begins."""
        before = self._layout.widths[: max(figure.column, 0)]
        return figure.x + sum(before) + GAP * len(before)

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
            # scroll its title into view, too; above the first figure stands the sentence
            y = here.y - 1 if here.y > len(self._layout.top) + 1 else 0
            self.scroll_to(y=max(y, 0), animate=False, force=True)
        elif here.y >= top + height:
            self.scroll_to(y=here.y - height + 1, animate=False, force=True)


def _figures(layout: Layout) -> Iterator[Figure]:
    """Every cell that opens something, in reading order, column by column."""
    block = 0
    for column, lines in ((-1, layout.top), *enumerate(layout.columns)):
        offset = 0 if column < 0 else len(layout.top)
        for y, cells in enumerate(lines):
            x = 0
            for cell in cells:
                block += cell.style == TITLE
                if cell.destination is not None:
                    yield Figure(column, y + offset, x, cell.width, cell.destination, block)
                x += cell.width


# ---- reading -----------------------------------------------------------------------------------------------------


class HomeState(NamedTuple):
    """The home of a project as far as it was read, and what to read first (None: not known yet)."""

    home: Home = Home()
    first: tuple[First, ...] | None = None

    def over(self, older: HomeState) -> HomeState:
        """What is known of it, and for the rest an older state."""
        newer = {f.name: value for f in fields(Home) if (value := getattr(self.home, f.name)) is not None}
        return HomeState(replace(older.home, **newer), older.first if self.first is None else self.first)


class HomeReader:
    """Hands the project and its home to `arrived` after each part. Reading another home interrupts the one being read."""

    def __init__(
        self,
        background: Background,
        arrived: Callable[[int, HomeState], object],
        failed: ShowError | None = None,
    ) -> None:
        self._background = background
        self._arrived = arrived
        self._failed = failed
        self._project_id = 0
        self._seen = HomeState()

    def read(self, project_id: int) -> None:
        """Read the home of this project from its first part."""
        self._project_id, self._seen = project_id, HomeState()
        self.read_on()

    @property
    def done(self) -> bool:
        return self._seen.home.missing_part is None and self._seen.first is not None

    def read_on(self) -> None:
        """Read the parts that are missing."""
        if not self.done:
            job = partial(_next_part, project_id=self._project_id, seen=self._seen)
            self._background.start("home", job, self._take, self._failed)

    def _take(self, seen: HomeState) -> None:
        self._seen = seen
        self._arrived(self._project_id, seen)
        self.read_on()


def _next_part(db: Database, project_id: int, seen: HomeState) -> HomeState:
    if seen.first is None and seen.home.board is not None:
        from recjudge_tui.reports.read_first import read_first

        return seen._replace(first=read_first(Project.numbered(db, project_id), seen.home))
    return seen._replace(home=with_next_part(db, project_id, seen.home))


# ---- screen ------------------------------------------------------------------------------------------------------


# screen -> the meaning of the argument of `Destination`
_ARGUMENTS = {"cases": "filter_text", "data": "kind"}


class HomeScreen(ImportScreen):
    """`HomeScreen(project_id)`. A worker reads the home part by part. Leaving the screen stops it. Returning resumes
    it, or starts it again if the database has changed meanwhile.
    """

    AUTO_FOCUS = "HomeBoard"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("Q", "go('cases')", "queue", show=False, id="home.queue"),
        Binding("t", "go('cases')", "triage", id="home.triage"),
        Binding("i", "import", "import", id="home.import"),
        Binding("n", "go('launch')", "new run", id="home.launch"),
        Binding("r", "go('runs')", "runs", show=False, id="home.runs"),
        Binding("a", "go('reports')", "reports", id="home.reports"),
        Binding("l", "go('annotate')", "label", id="home.annotate"),
        Binding("B", "go('data')", "browse the data", show=False, id="home.data"),
        Binding("d", "go('compare')", "compare raters", show=False, id="home.compare"),
        Binding("p", "go('prompts')", "prompts", show=False, id="home.prompts"),
        Binding("V", "verdicts", "all verdicts", show=False, id="home.verdicts"),
        Binding("R", "read_again", "read again", show=False, id="home.refresh"),
        *COMMON,
    ]

    def __init__(self, project_id: int) -> None:
        super().__init__()
        self.project_id = project_id
        # the newest of each part
        self.seen = HomeState()
        self._change_count: tuple[int, int] | None = None

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id))
        yield HomeBoard()
        yield KeyLine()

    @cached_property
    def reader(self) -> HomeReader:
        return HomeReader(self.background, self._take_part)

    def on_screen_resume(self) -> None:
        if self.host.db.change_count() != self._change_count:
            self.action_read_again()
        else:
            self.reader.read_on()

    def on_screen_suspend(self) -> None:
        super().on_screen_suspend()
        self.background.stop()
        self._change_count = self.host.db.change_count()

    # ---- reading

    def action_read_again(self) -> None:
        self.reader.read(self.project_id)

    def _take_part(self, _: int, seen: HomeState) -> None:
        self.seen = seen.over(self.seen)
        if seen.home.totals is not None:
            totals = seen.home.totals
            shown = f"{quantity(totals.verdicts, 'verdict')} on {quantity(totals.cases, 'case')}"
            self.query_one(TopBar).show(right=shown)
        self._show()

    @on(HomeBoard.Resized)
    def _show(self) -> None:
        board = self.query_one(HomeBoard)
        size = board.scrollable_content_region.size
        if size.width > 0:
            active = [run for run in self.host.active if run.project_id == self.project_id]
            board.show(laid_out(*self.seen, active, size))

    def runs_moved(self, *, live: bool) -> None:
        if live:
            job = partial(newest_runs, project_id=self.project_id, limit=RUNS_NAMED)
            self.background.start("runs", job, self._show_runs)
        else:
            self.action_read_again()

    def _show_runs(self, runs: tuple[StoredRow, ...]) -> None:
        self.seen = self.seen._replace(home=replace(self.seen.home, runs=runs))
        self._show()

    def imported(self, project: str) -> None:
        self.action_read_again()

    # ---- opening

    @on(HomeBoard.Opened)
    def _open(self, message: HomeBoard.Opened) -> None:
        screen, argument = message.destination
        if screen == "first":
            self._read_from(int(argument))
        elif screen == "import":
            self.action_import()
        elif screen == "monitor":
            self.open_screen("monitor", int(argument))
        else:
            more = {_ARGUMENTS[screen]: argument} if argument else {}
            self.open_screen(screen, self.project_id, **more)

    def _read_from(self, verdict_id: int) -> None:
        """The cases to read first, from this one on."""
        from recjudge_tui.tui.triage import CasesScreen

        rows = [one.row for one in self.seen.first or ()]
        cases = tuple(dict.fromkeys(row.case_id for row in rows))
        given = tuple(row.verdict_id for row in rows)
        self.app.push_screen(CasesScreen(self.project_id, "", cases, "Read first", verdict_id, given))

    def action_go(self, screen: str) -> None:
        self.post_message(HomeBoard.Opened(Destination(screen)))

    def action_verdicts(self) -> None:
        self.open_screen("cases", self.project_id, filter_text="")


# ---- glance ------------------------------------------------------------------------------------------------------


_REST_S = 0.15


class HomeGlance(Working, HomeBoard, can_focus=False):
    """A home to read, without a cursor. It is read when the cursor of the list has come to rest, and no longer once the
    cursor moves on. Keys of the home are not named, because other keys may work beside it.
    """

    class Clicked(Message):
        """A click opens the home."""

    def __init__(self) -> None:
        super().__init__()
        self._homes: dict[int, HomeState] = {}
        self._project_id: int | None = None
        self._active: Sequence[StoredRow] = ()
        self._asked: int | None = None
        self._delay: Timer | None = None

    @cached_property
    def _reader(self) -> HomeReader:
        return HomeReader(self.background, self._take, self._show_error)

    @property
    def cursor(self) -> Figure | None:
        return None

    def show_home(self, project_id: int | None, active: Sequence[StoredRow]) -> None:
        if project_id != self._project_id:
            self.stop_reading()
            self.scroll_home(animate=False)
        self._project_id, self._active = project_id, active
        self._read_soon()
        self._paint()

    def forget(self) -> None:
        """What was read may have changed; it stays until it is read again."""
        self.stop_reading()
        self._homes = {key: seen for key, seen in self._homes.items() if key == self._project_id}
        self._read_soon()

    def stop_reading(self) -> None:
        self._asked = None
        if self._delay is not None:
            self._delay.stop()
        self.background.stop()

    def _read_soon(self) -> None:
        if self.size.width and self._project_id is not None and self._asked != self._project_id:
            self._asked = self._project_id
            self._delay = self.set_timer(_REST_S, partial(self._reader.read, self._project_id))

    def _take(self, project_id: int, seen: HomeState) -> None:
        self._homes[project_id] = seen.over(self._homes.get(project_id, HomeState()))
        self._paint()

    def _show_error(self, error: RecjudgeError) -> None:
        """In the pane: a project that was just deleted is no reason for a dialog."""
        self.show(Layout((line(Cell(error.title, BAD)),), (), (), Destination("home")))

    def _paint(self) -> None:
        width, height = self.scrollable_content_region.size
        if self._project_id is None or not width or height < 1:
            return
        seen = self._homes.get(self._project_id, HomeState())
        layout = laid_out(*seen, self._active, (width, height))
        columns = tuple(_without_keys(lines) for lines in layout.columns)
        self.show(layout._replace(top=_without_keys(layout.top), columns=columns))

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
