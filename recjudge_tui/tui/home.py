"""The home of a project: its verdict, its board, and what to read first."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.reports.home import RUNS_NAMED, Gap, Home, Step, with_next_part
from recjudge_tui.stats.defaults import POWER
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import ActiveRun, NewestRun, newest_runs
from recjudge_tui.tui.screens import COMMON, Background, ImportScreen, ShowError, host_of
from recjudge_tui.tui.widgets import (
    Glyphs,
    KeyLine,
    TopBar,
    ago,
    bar,
    fit,
    glyphs,
    interval,
    middle,
    number,
    spark,
    stored_state,
    wrapped,
)

if TYPE_CHECKING:
    from recjudge_tui.reports.home import Board, Home
    from recjudge_tui.store.answers import FlipCount


# ---- lines -------------------------------------------------------------------------------------------------------


# styles of a cell; the widget knows their colours
TITLE, DIM, GOOD, WARN, BAD, KEY, PLAIN = "title", "dim", "good", "warn", "bad", "key", ""


class Destination(NamedTuple):
    """The target of `enter`: a screen by name (of the registry, or `import`, `figure`), and its argument: a filter of
    verdicts, the number of a run, a kind of data, or the name of a figure.
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
    """A part of the home under its title. `about` stands behind the title, or below it where the line is too short."""

    title: str
    lines: tuple[Line, ...]
    about: str = ""


def width_of(cells: Iterable[Cell]) -> int:
    return sum(cell.width for cell in cells)


def line(*cells: Cell) -> Line:
    return cells


def pushed_right(left: Sequence[Cell], right: Sequence[Cell], width: int, look: Glyphs) -> Line:
    """The cells at both ends of a line.

    If there is no room, the last cell on the left is cut; those on the right are figures and are never cut.
    """
    room = max(width - width_of(right) - (1 if right else 0), 0)
    kept = list(left)
    if width_of(kept) > room and kept:
        last = kept.pop()
        kept.append(last._replace(text=fit(last.text, max(room - width_of(kept), 0), look).rstrip()))
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


def title_line(title: str, width: int, look: Glyphs) -> Line:
    """`─ Title ────`."""
    text = fit(title, min(cell_len(title), max(width - 4, 1)), look).rstrip()
    rest = max(width - 3 - cell_len(text), 0)
    return (Cell(f"{look.rule} ", DIM), Cell(text, TITLE), Cell(f" {look.rule * rest}", DIM))


def stacked_blocks(blocks: Sequence[Block], width: int, look: Glyphs, *, spaced: bool) -> tuple[Line, ...]:
    """The blocks below each other; `spaced` by an empty line."""
    lines: list[Line] = []
    for block in blocks:
        if lines and spaced:
            lines.append(())
        title = f"{block.title}: {block.about}" if block.about else block.title
        if not block.about or cell_len(title) <= width - 4:
            lines.append(title_line(title, width, look))
        else:
            lines.append(title_line(block.title, width, look))
            lines += wrapped_text([Cell(" ")], Cell(block.about, DIM), [], width)
        lines += block.lines
    return tuple(lines)


# ---- blocks ------------------------------------------------------------------------------------------------------


# the screen and key for each remedy
REMEDIES: dict[str, tuple[str, Destination]] = {
    "import": ("i", Destination("import")),
    "judge": ("n", Destination("launch")),
    "label": ("l", Destination("annotate")),
    "compare": ("a", Destination("reports")),
}
# and the command line
COMMANDS = {
    "import": "recjudge import FILE -p {name}",
    "judge": "recjudge run {protocol} -p {name} --judge ollama:MODEL",
    "label": "recjudge annotate plan -p {name} --protocol {protocol} --annotators YOU --per-case 1",
    "compare": "recjudge leaderboard -p {name} --protocol {protocol}",
}
_STYLES = {"green": GOOD, "yellow": WARN, "red": BAD}
_RUNS = 4
_SYSTEMS = 6
# of the column of one system, at the least
_FLAG_CELLS = 9


def checklist(steps: Sequence[Step], project: str, width: int, look: Glyphs) -> Block:
    """The remaining steps, in order, each with its key and command line."""
    lines: list[Line] = []
    for at, step in enumerate(steps, start=1):
        key, destination = REMEDIES[step.remedy]
        mark = look.done if step.done else str(at)
        head = Cell(f"{mark} {step.remedy:8}", GOOD if step.done else PLAIN, destination)
        text = Cell(step.text, DIM if step.done else PLAIN)
        lines += wrapped_text([Cell(" "), head], text, [Cell(key, KEY)], width)
        command = COMMANDS[step.remedy].format(name=shlex.quote(project), protocol=step.protocol)
        lines += wrapped_text([Cell(" " * 3)], Cell(command, DIM), [], width)
    return Block("Steps to a first result", tuple(lines))


def attention(home: Home, width: int, look: Glyphs) -> Block:
    """The queue by reason. Enter on the total opens the queue at its first reasoning."""
    queue = home.queue
    if queue is None:
        return Block("To read", (line(Cell(" "), Cell("counting the queue", DIM, Destination("cases"))),))
    if not queue.total:
        empty = line(Cell(" "), Cell(f"{look.done} the queue is empty", GOOD, Destination("cases")))
        flagged = home.totals.flagged if home.totals else 0
        more = [line(Cell("   "), Cell(quantity(flagged, "flagged verdict"), DIM))] if flagged else []
        return Block("Needs a reader", (empty, *more))
    where = "of all runs" if queue.run is None else f"of run {queue.run}"
    total = Cell(f"{look.marked} {quantity(queue.total, 'verdict')} to read", WARN, Destination("cases"))
    lines = [line(Cell(" "), total)]
    digits = max(len(number(size.size)) for size in queue.sizes)
    room = width - digits - 27
    for size in queue.sizes:
        count = Cell(f"{number(size.size):>{digits}} {size.reason}", PLAIN, Destination("cases", size.cases))
        share = bar(size.size / queue.total, room, look) if room >= 6 else ""
        lines.append(
            line(Cell("   "), count, Cell(" " * max(width - room - 4 - count.width, 1)), Cell(share, DIM))
        )
    return Block("To read", tuple(lines), f"the queue {where}")


def runs(home: Home, active: Sequence[ActiveRun], width: int, look: Glyphs) -> Block | None:
    """The newest runs, live ones with their progress."""
    if not home.runs:
        return None
    live = {run.run_id: run for run in active}
    lines = [_run(run, live.get(run.run_id), width, look) for run in home.runs[:_RUNS]]
    more = (home.totals.runs if home.totals else len(home.runs)) - len(lines)
    if more > 0:
        lines.append(line(Cell("   "), Cell(f"{quantity(more, 'earlier run')}", DIM, Destination("runs"))))
    return Block("Runs", tuple(lines))


def _run(run: NewestRun, active: ActiveRun | None, width: int, look: Glyphs) -> Line:
    state = stored_state(run.state, look)
    glyph, style = (state.glyph, _STYLES.get(state.style, PLAIN)) if state else ("?", PLAIN)
    right = [Cell(ago(run.ended or run.created_at), DIM)]
    if active is not None or (run.calls and run.state != "done"):
        done, calls = (active.finished, active.calls) if active else (run.finished, run.calls)
        share = done / calls if calls else 0.0
        drawn = f"{bar(share, 8, look):8} " if width >= 56 else ""
        word = "" if active or state is None else f"{state.word} "
        right = [Cell(f"{word}{drawn}{share:.0%}", GOOD if active else style)]
    if active is not None:
        glyph, style = look.running, GOOD
    if run.failed:
        right = [Cell(f"{number(run.failed)} failed ", BAD), *right]
    who = Cell(f"{run.run_id} {one_line(run.rater, 30)}", PLAIN, Destination("monitor", str(run.run_id)))
    left = [Cell(f" {glyph} ", style), who, *([Cell(f" {run.protocol}", DIM)] if _protocol_adds(run) else [])]
    if sum(cell.width for cell in (*left, *right)) >= width:
        # the protocol is dropped before the name of the judge
        left = left[:2]
    return pushed_right(left, right, width, look)


def trust(home: Home, width: int, look: Glyphs) -> Block | None:
    """Agreement with people beside the human ceiling, and how often the order decides the verdict."""
    lines = [*_agreement(home, width, look), *_flips(home, width, look)]
    return Block("Can the judge be trusted?", tuple(lines)) if lines else None


def _agreement(home: Home, width: int, look: Glyphs) -> list[Line]:
    agreement = home.agreement
    if agreement is None:
        return [line(Cell(" "), Cell("agreement with people: computing", DIM))] if _has_labels(home) else []
    if not agreement.judge:
        if not _has_labels(home):
            return [*_missing(Gap("no labels to check it against", "label"), width, look)]
        return [line(Cell(" "), Cell("people labelled none of its cases", DIM, Destination("reports")))]
    from recjudge_tui.reports.words import few_cases

    few = few_cases(agreement.n)
    value = "undefined" if agreement.value is None else f"{agreement.value:.2f}"
    judge = pushed_right(
        [
            Cell(" "),
            Cell(
                f"{one_line(agreement.judge, 24)}{look.dot}{one_line(agreement.people, 24)}",
                PLAIN,
                Destination("cases", agreement.cases),
            ),
        ],
        [Cell(value, PLAIN), Cell(f"  n={number(agreement.n)}", WARN if few else DIM)],
        width,
        look,
    )
    lines = [line(Cell(f" {agreement.stat}", DIM)), judge]
    if agreement.ceiling is not None:
        right = [Cell(f"{agreement.ceiling:.2f}", PLAIN), Cell(f"  n={number(agreement.ceiling_n)}", DIM)]
        ceiling = Cell(f"people{look.dot}people (ceiling)", PLAIN, Destination("reports"))
        lines.append(pushed_right([Cell(" "), ceiling], right, width, look))
    if few:
        lines += wrapped_text([Cell(" ")], Cell(few, WARN), [], width)
    if agreement.about:
        lines += wrapped_text([Cell(" ")], Cell(one_line(agreement.about), DIM), [], width)
    return lines


def _flips(home: Home, width: int, look: Glyphs) -> list[Line]:
    flips = (home.flips or ())[:3]
    lines: list[Line] = [line(Cell(" Answers that flip with the order", DIM))] if flips else []
    for flip in flips:
        style = WARN if flip.share >= 0.2 else PLAIN
        share = [Cell(f"{flip.share:.0%}", style), Cell(f" of {number(flip.n)}", DIM)]
        protocol = f" {flip.protocol}" if _protocol_adds(flip) else ""
        name = middle(one_line(flip.rater, 40), width - width_of(share) - cell_len(protocol) - 2, look)
        who = Cell(f"{name}{protocol}", PLAIN, Destination("cases", flip.cases))
        lines.append(pushed_right([Cell(" "), who], share, width, look))
    return lines


def _protocol_adds(judged: NewestRun | FlipCount) -> bool:
    """Whether the protocol says more than the name of the rater."""
    return not judged.rater.endswith(judged.protocol)


def leaderboard(home: Home, width: int, look: Glyphs) -> Block | None:
    """The ranking in short, with the pairs it does not separate."""
    board = home.board
    if board is None:
        waits = home.totals is not None and home.totals.verdicts
        return (
            Block("Leaderboard", (line(Cell(" "), Cell("computing", DIM, Destination("reports"))),))
            if waits
            else None
        )
    if board.topic is None or not board.lines:
        return None
    alike = {(pair["upper"], pair["lower"]): pair for pair in board.alike}
    shown = board.lines[:_SYSTEMS]
    lines: list[Line] = []
    for at, row in enumerate(shown):
        lines.append(_system(row, board, width, look))
        pair = alike.get((row["system"], shown[at + 1]["system"])) if at + 1 < len(shown) else None
        if pair is not None:
            more = "" if pair["more"] is None else f": ~{number(pair['more'])} more users"
            words = one_line(pair["note"] or "not separable", 50)
            close = Cell(f"{words}{more}", WARN, Destination("reports"))
            lines.append(pushed_right([Cell("    "), close], [], width, look))
    if any(
        alike[two]["more"] is not None for two in pairwise(row["system"] for row in shown) if two in alike
    ):
        lines.append(
            line(Cell("    "), Cell(f"~ for this gap, at {POWER:.0%} power", DIM, Destination("reports")))
        )
    if len(board.lines) > len(shown):
        rest = quantity(len(board.lines) - len(shown), "more system")
        lines.append(line(Cell("    "), Cell(rest, DIM, Destination("reports"))))
    elif board.tested and not board.alike:
        lines.append(
            line(
                Cell("    "),
                Cell(f"{look.done} every neighbour is separable", GOOD, Destination("reports")),
            )
        )
    about = board.topic.protocol if board.topic.aspect == OVERALL else board.topic.text()
    return Block("Leaderboard", tuple(lines), f"{one_line(about, 40)} by {one_line(board.rater, 40)}")


def _system(row: dict[str, Any], board: Board, width: int, look: Glyphs) -> Line:
    """`1 als  Q 1.07 ├──●──┤ 158/101/141`: parts that do not fit are dropped, the counts first."""
    score, first, last = row["score"], row.get("ci_low"), row.get("ci_high")
    value = look.none if score is None else f"{score:.0%}" if _is_share(board) else f"{score:.2f}"
    right = [Cell(f"{value} ")]
    counts = ""
    if row.get("wins") is not None and width >= 62:
        counts = (
            f"{number(row['wins'])} won {number(row['ties'] or 0)} tied {number(row['losses'] or 0)} lost"
        )
    counts = counts or f"n={number(row['n'])}"
    room = min(width - 24 - len(counts) - len(value) - 2, 30)
    if room >= 8:
        low = min((low for one in board.lines if (low := one.get("ci_low")) is not None), default=0.0)
        high = max((high for one in board.lines if (high := one.get("ci_high")) is not None), default=1.0)
        right.append(Cell(f"{interval(first, score, last, (low, high), room, look)} ", DIM))
    right.append(Cell(counts, DIM))
    name = Cell(one_line(row["system"], 60), PLAIN, Destination("cases", row["cases"]))
    rank = "" if row["rank"] is None else str(row["rank"])
    space = width - width_of(right) - 5
    return pushed_right(
        [Cell(f" {rank:>2} "), name._replace(text=middle(name.text, space, look))], right, width, look
    )


def _is_share(board: Board) -> bool:
    return board.figure.startswith("share")


def flags(home: Home, width: int, look: Glyphs) -> Block | None:
    """The share of each system's lists with a flagged item, by kind."""
    shares = home.flags
    if shares is None or not shares.kinds:
        return None
    shown = shares.systems[: max((width - 17) // _FLAG_CELLS, 1)]
    more = len(shares.systems) - len(shown)
    kinds = [(_flag_kind(kind), by_system) for kind, by_system in shares.kinds[:6]]
    longest = max(cell_len(text) for text in ("of lists", *(kind for kind, _ in kinds)))
    # what the kinds leave goes to the names of the systems
    cells_each = max((width - 2 - longest) // len(shown), _FLAG_CELLS)
    cells_each = min(cells_each, max(max(cell_len(one_line(name, 40)) for name in shown) + 1, _FLAG_CELLS))
    kind_width = width - 1 - cells_each * len(shown)
    short = [middle(one_line(name, 40), cells_each - 1, look) for name in shown]
    names = [Cell(" " * (cells_each - cell_len(name)) + name, DIM) for name in short]
    lines: list[Line] = [
        (Cell(" "), Cell(fit("of lists", kind_width, look), DIM, Destination("figure", "flags")), *names)
    ]
    for kind, by_system in kinds:
        first, *others = wrapped(kind, max(kind_width - 1, 8))
        cells = [Cell(" "), Cell(fit(first, kind_width, look))]
        for system in shown:
            count = by_system.get(system)
            if count is None:
                cells.append(Cell(look.none.rjust(cells_each), DIM))
            else:
                share, cases = count
                text = look.none if share is None else f"{share:.0%}"
                cells += [
                    Cell(" " * (cells_each - len(text))),
                    Cell(text, PLAIN, Destination("cases", cases)),
                ]
        lines += [tuple(cells), *(line(Cell(f"   {part}")) for part in others)]
    if more:
        lines.append(
            line(Cell(" "), Cell(quantity(more, "more system"), DIM, Destination("figure", "flags")))
        )
    return Block(f"Flagged by {middle(one_line(shares.rater, 40), width - 15, look)}", tuple(lines))


def _flag_kind(kind: str) -> str:
    return "any kind" if kind == "any" else one_line(kind, 60)


def trend(home: Home, width: int, look: Glyphs) -> Block | None:
    """The judged figure of each system over time."""
    trends = home.trend
    if trends is None or not trends.lines:
        return None
    lines = []
    for system, values in list(trends.lines.items())[:4]:
        drawn = spark([max(value, 0.0) for value in values], max(width - 34, 6), look)
        ends = [f"{value:.0f}" if trends.figure == "rating" else f"{value:.2f}" for value in values]
        right = [Cell(f"{drawn} "), Cell(f"{ends[0]} to {ends[-1]}", DIM)]
        name = middle(one_line(system, 60), width - width_of(right) - 2, look)
        lines.append(
            pushed_right([Cell(" "), Cell(name, PLAIN, Destination("figure", "trend"))], right, width, look)
        )
    figure = trends.figure.replace("_", " ").capitalize()
    return Block(f"{figure} by {trends.over}", tuple(lines), f"{trends.periods[0]} to {trends.periods[-1]}")


def data(home: Home, width: int, look: Glyphs) -> Block:
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
            figure = Cell(
                f"{number(count):>{digits}} {noun}", PLAIN if count else DIM, Destination("data", kind)
            )
            cells += [Cell("  "), figure, Cell(" " * max(width // across - figure.width - 2, 0))]
        lines.append(tuple(cells))
    if counts.contexts or counts.last_served:
        lines += wrapped_text(
            [Cell(" ")], Cell(_occasions(home), PLAIN, Destination("data", "lists")), [], width
        )
    for gap in home.gaps:
        lines += _missing(gap, width, look)
    return Block("Data", tuple(lines))


def _occasions(home: Home) -> str:
    assert home.data is not None
    counts, parts = home.data, []
    if counts.contexts:
        parts.append(f"{number(counts.contexts)} named occasions")
    if counts.last_served:
        first, last = counts.first_served[:10], counts.last_served[:10]
        parts.append(f"served {first}" if first == last else f"served {first} to {last}")
    return ", ".join(parts)


def _missing(gap: Gap, width: int, look: Glyphs) -> tuple[Line, ...]:
    key, destination = REMEDIES[gap.remedy]
    return wrapped_text(
        [Cell(f" {look.marked} ", WARN)], Cell(gap.text, PLAIN, destination), [Cell(key, KEY)], width
    )


def _has_labels(home: Home) -> bool:
    return home.data is not None and home.data.labels > 0


# ---- layout ------------------------------------------------------------------------------------------------------


GAP = 2
# the minimum width of a screen -> the number of columns
_COLUMNS = ((156, 3), (76, 2), (0, 1))


class Layout(NamedTuple):
    """`top` spans the whole width; below it are the columns, each `width` cells wide.

    `first` is the figure on which the cursor starts.
    """

    top: tuple[Line, ...]
    columns: tuple[tuple[Line, ...], ...]
    width: int
    first: Destination

    @property
    def height(self) -> int:
        return len(self.top) + max(map(len, self.columns), default=0)


def laid_out(
    home: Home, project: str, active: Sequence[ActiveRun], size: tuple[int, int], look: Glyphs
) -> Layout:
    """The home for a widget of this width and height."""
    across, height = size
    count = next(count for least, count in _COLUMNS if across >= least)
    width = (across - GAP * (count - 1)) // count
    steps = home.steps
    spaced = height >= 30
    top: tuple[Line, ...] = ()
    first = Destination("cases")
    if steps:
        top = (*stacked_blocks([checklist(steps, project, across, look)], across, look, spaced=False), ())
        first = REMEDIES[next(step.remedy for step in steps if not step.done)][1]
    groups = _groups(home, active, count, width, look)
    while len(groups) < count and count > 1:
        # instead of empty columns, fewer and wider ones
        count = max(len(groups), 1)
        width = (across - GAP * (count - 1)) // count
        groups = _groups(home, active, count, width, look)
    columns = tuple(stacked_blocks(group, width, look, spaced=spaced) for group in groups)
    return Layout(top, columns, width, first)


def _groups(
    home: Home, active: Sequence[ActiveRun], count: int, width: int, look: Glyphs
) -> list[list[Block]]:
    """The blocks of each column; a single column has them in the order of importance."""
    judged = home.totals is not None and home.totals.verdicts > 0
    queue = attention(home, width, look) if judged or home.totals is None else None
    run_block = runs(home, active, width, look)
    board = leaderboard(home, width, look)
    trust_block = trust(home, width, look) if judged else None
    flag_block = flags(home, width, look)
    trend_block = trend(home, width, look)
    data_block = data(home, width, look)
    wanted: list[list[Block | None]] = {
        1: [[queue, board, trust_block, run_block, flag_block, trend_block, data_block]],
        2: [[queue, trust_block, run_block, trend_block], [board, flag_block, data_block]],
        3: [[queue, run_block], [board, trust_block], [flag_block, trend_block, data_block]],
    }[count]
    groups = [[block for block in group if block is not None] for group in wanted]
    return [group for group in groups if group]


# ---- board -------------------------------------------------------------------------------------------------------


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


# ---- reading -----------------------------------------------------------------------------------------------------


class HomeReader:
    """Hands the project and its home to `arrived` after each part. Reading another home interrupts the one being read."""

    def __init__(
        self,
        background: Background,
        arrived: Callable[[int, Home], object],
        failed: ShowError | None = None,
    ) -> None:
        self._background = background
        self._arrived = arrived
        self._failed = failed
        self._project_id = 0
        self._home = Home()

    def read(self, project_id: int) -> None:
        """Read the home of this project from its first part."""
        self._project_id, self._home = project_id, Home()
        self.read_on()

    def read_on(self) -> None:
        """Read the parts that are missing."""
        if self._home.missing_part is None:
            return
        job = partial(with_next_part, project_id=self._project_id, home=self._home)
        self._background.start("home", job, self._take, self._failed)

    def _take(self, home: Home) -> None:
        self._home = home
        self._arrived(self._project_id, home)
        self.read_on()


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
        Binding("i", "import", "import", id="home.import"),
        Binding("n", "go('launch')", "new run", id="home.launch"),
        Binding("r", "go('runs')", "runs", id="home.runs"),
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
        self.name_of_project = ""
        # the newest of each part
        self.home = Home()
        self._seen: tuple[int, int] | None = None
        self._was_live = False

    def compose(self) -> ComposeResult:
        self.name_of_project = self.project_title(self.project_id)
        yield TopBar("recjudge", self.name_of_project)
        yield HomeBoard()
        yield KeyLine()

    @cached_property
    def _reader(self) -> HomeReader:
        return HomeReader(self.background, self._take_part)

    def on_screen_resume(self) -> None:
        if self.host.db.change_count() != self._seen:
            self.action_read_again()
        else:
            self._reader.read_on()

    def on_screen_suspend(self) -> None:
        super().on_screen_suspend()
        self.background.stop()
        self._seen = self.host.db.change_count()

    # ---- reading

    def action_read_again(self) -> None:
        self._reader.read(self.project_id)

    def _take_part(self, _: int, home: Home) -> None:
        newer = {f.name: value for f in fields(Home) if (value := getattr(home, f.name)) is not None}
        self.home = replace(self.home, **newer)
        if home.totals is not None:
            totals = f"{quantity(home.totals.verdicts, 'verdict')} on {quantity(home.totals.cases, 'case')}"
            self.query_one(TopBar).show(right=totals)
        self._show()

    @on(HomeBoard.Resized)
    def _show(self) -> None:
        board = self.query_one(HomeBoard)
        size = board.scrollable_content_region.size
        if size.width > 0:
            board.show(laid_out(self.home, self.name_of_project, self._active(), size, glyphs()))

    def _active(self) -> list[ActiveRun]:
        return [run for run in self.host.active if run.project_id == self.project_id]

    def runs_changed(self, active: list[ActiveRun]) -> None:
        super().runs_changed(active)
        live = any(run.project_id == self.project_id for run in active)
        if self._was_live and not live:
            self.action_read_again()
        elif live:
            self.background.start("runs", partial(_runs, project_id=self.project_id), self._show_runs)
        self._was_live = live

    def _show_runs(self, runs: tuple[NewestRun, ...]) -> None:
        self.home = replace(self.home, runs=runs)
        self._show()

    def action_import(self) -> None:
        self.ask_import(self.project_title(self.project_id))

    def imported(self, project: str) -> None:
        self.action_read_again()

    # ---- opening

    @on(HomeBoard.Opened)
    def _open(self, message: HomeBoard.Opened) -> None:
        self._go_to(message.destination)

    def action_go(self, screen: str) -> None:
        self._go_to(Destination(screen))

    def action_verdicts(self) -> None:
        self.open_screen("cases", self.project_id, filter_text="")

    def _go_to(self, destination: Destination) -> None:
        if destination.screen == "import":
            self.action_import()
        elif destination.screen == "figure":
            self._open_figure(destination.argument)
        elif destination.screen == "monitor":
            self.open_screen("monitor", int(destination.argument))
        else:
            more = {_ARGUMENTS[destination.screen]: destination.argument} if destination.argument else {}
            self.open_screen(destination.screen, self.project_id, **more)

    def _open_figure(self, name: str) -> None:
        from recjudge_tui.tui.figures import FiguresScreen

        if self.home.board is not None and self.home.board.topic is not None:
            self.app.push_screen(FiguresScreen(self.project_id, self.home.board.topic, name, {}))


def _runs(db: Database, project_id: int) -> tuple[NewestRun, ...]:
    return newest_runs(db, project_id, RUNS_NAMED)


# ---- glance ------------------------------------------------------------------------------------------------------


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
