"""The texts of a project's home, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from rich.cells import cell_len

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.reports.home import Gap, Step
from recjudge_tui.stats.defaults import POWER
from recjudge_tui.store.runs import ActiveRun, NewestRun
from recjudge_tui.tui.home.lines import (
    BAD,
    DIM,
    GOOD,
    KEY,
    PLAIN,
    WARN,
    Block,
    Cell,
    Destination,
    Line,
    line,
    pushed_right,
    width_of,
    wrapped_text,
)
from recjudge_tui.tui.kit.charts import interval, spark
from recjudge_tui.tui.kit.glyphs import Glyphs, ago, bar, fit, middle, number, stored_state, wrapped

if TYPE_CHECKING:  # the app starts without NumPy
    from recjudge_tui.reports.home import Board, BoardLine, Home
    from recjudge_tui.store.answers import FlipCount

# the screen and key for each remedy
REMEDIES: dict[str, tuple[str, Destination]] = {
    "import": ("i", Destination("import")),
    "judge": ("n", Destination("launch")),
    "label": ("l", Destination("annotate")),
    "compare": ("a", Destination("agreement")),
}
_STYLES = {"green": GOOD, "yellow": WARN, "red": BAD}
_RUNS = 4
_SYSTEMS = 6
# of the column of one system, at the least
_FLAG_CELLS = 9


def checklist(steps: Sequence[Step], width: int, look: Glyphs) -> Block:
    """The remaining steps, in order, each with its key and command line."""
    lines: list[Line] = []
    for at, step in enumerate(steps, start=1):
        key, destination = REMEDIES[step.remedy]
        mark = look.done if step.done else str(at)
        head = Cell(f"{mark} {step.remedy:8}", GOOD if step.done else PLAIN, destination)
        text = Cell(step.text, DIM if step.done else PLAIN)
        lines += wrapped_text([Cell(" "), head], text, [Cell(key, KEY)], width)
        lines += wrapped_text([Cell(" " * 3)], Cell(step.command, DIM), [], width)
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
        return [line(Cell(" "), Cell("people labelled none of its cases", DIM, Destination("agreement")))]
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
        ceiling = Cell(f"people{look.dot}people (ceiling)", PLAIN, Destination("agreement"))
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
            Block("Leaderboard", (line(Cell(" "), Cell("computing", DIM, Destination("agreement"))),))
            if waits
            else None
        )
    if board.topic is None or not board.lines:
        return None
    alike = {(pair.upper, pair.lower): pair for pair in board.alike}
    shown = board.lines[:_SYSTEMS]
    lines: list[Line] = []
    for at, row in enumerate(shown):
        lines.append(_system(row, board, width, look))
        pair = alike.get((row.system, shown[at + 1].system)) if at + 1 < len(shown) else None
        if pair is not None:
            more = "" if pair.more is None else f": ~{number(pair.more)} more users"
            words = one_line(pair.why or "not separable", 50)
            close = Cell(f"{words}{more}", WARN, Destination("agreement"))
            lines.append(pushed_right([Cell("    "), close], [], width, look))
    if any(alike[pair].more is not None for pair in pairwise(row.system for row in shown) if pair in alike):
        lines.append(
            line(Cell("    "), Cell(f"~ for this gap, at {POWER:.0%} power", DIM, Destination("agreement")))
        )
    if len(board.lines) > len(shown):
        rest = quantity(len(board.lines) - len(shown), "more system")
        lines.append(line(Cell("    "), Cell(rest, DIM, Destination("agreement"))))
    elif board.tested and not board.alike:
        lines.append(
            line(
                Cell("    "),
                Cell(f"{look.done} every neighbour is separable", GOOD, Destination("agreement")),
            )
        )
    about = board.topic.protocol if board.topic.aspect == OVERALL else board.topic.text()
    return Block("Leaderboard", tuple(lines), f"{one_line(about, 40)} by {one_line(board.rater, 40)}")


def _system(row: BoardLine, board: Board, width: int, look: Glyphs) -> Line:
    """`1 als  Q 1.07 ├──●──┤ 158/101/141`: parts that do not fit are dropped, the counts first."""
    value = look.none if row.value is None else f"{row.value:.0%}" if _is_share(board) else f"{row.value:.2f}"
    right = [Cell(f"{value} ")]
    counts = ""
    if row.wins is not None and width >= 62:
        counts = f"{number(row.wins)} won {number(row.ties or 0)} tied {number(row.losses or 0)} lost"
    counts = counts or f"n={number(row.n)}"
    room = min(width - 24 - len(counts) - len(value) - 2, 30)
    if room >= 8:
        low = min((line.low for line in board.lines if line.low is not None), default=0.0)
        high = max((line.high for line in board.lines if line.high is not None), default=1.0)
        right.append(Cell(f"{interval(row.low, row.value, row.high, (low, high), room, look)} ", DIM))
    right.append(Cell(counts, DIM))
    name = Cell(one_line(row.system, 60), PLAIN, Destination("cases", row.cases))
    rank = "" if row.rank is None else str(row.rank)
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
                text = look.none if count.share is None else f"{count.share:.0%}"
                cells += [
                    Cell(" " * (cells_each - len(text))),
                    Cell(text, PLAIN, Destination("cases", count.cases)),
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
