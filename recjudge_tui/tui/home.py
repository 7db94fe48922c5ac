"""The home of a project: its verdict in one sentence, its board, and what to read first."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import Static

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.text import one_line, quantity, short
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.reports.home import (
    LARGE,
    RUNS_NAMED,
    WAITING,
    Home,
    HomeProcess,
    conclusion,
    with_next_part,
)
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.runs import newest_runs
from recjudge_tui.store.verdicts import cases_of
from recjudge_tui.tui.row_list import Column, RowList, shared_prefix
from recjudge_tui.tui.screens import COMMON, ImportScreen, Working, host_of
from recjudge_tui.tui.verdict_list import label_text, mark, people_text, systems_text, why
from recjudge_tui.tui.widgets import (
    GLYPHS,
    RUN_LOOKS,
    KeyLine,
    TopBar,
    ago,
    at_rest,
    bar,
    interval,
    key_name,
    number,
)

# ---- entries -----------------------------------------------------------------------------------------------------


class Destination(NamedTuple):
    """The target of `enter`: a screen by name (of the registry, or `import`, `first`), and its argument: a filter of
    verdicts, the number of a run or of a verdict, or a kind of data.
    """

    screen: str
    argument: str = ""


# a text, or what gives it for a width, and its kind (RowList.KINDS)
Cell = tuple[str | Callable[[int], str], str]


class Entry(NamedTuple):
    """A line of a part, and what `enter` opens there."""

    cells: tuple[Cell, ...]
    opens: Destination


Part = tuple[str, list[Entry]]


# remedy -> the binding of the home for it, its shipped key, and the screen
REMEDIES: dict[str, tuple[str, Destination]] = {
    "import": ("home.import", Destination("import")),
    "judge": ("home.launch", Destination("launch")),
    "label": ("home.annotate", Destination("annotate")),
    "compare": ("home.reports", Destination("reports")),
}
# what stands before the answer to each order
_BRACKETS = re.compile(r"^\s*\[[^\]]*\]\s*")
_RUNS = 4
_SYSTEMS = 6
# from this share on, flips are a warning
_MANY_FLIPS = 0.2
_WAITING = "computing"


# the number of a line in its part, and the line
Numbered = tuple[int, Entry]


def _cell(row: Numbered, width: int, at: int) -> tuple[str, str]:
    """The cell of a line at this place."""
    cells = row[1].cells
    text, kind = cells[at] if at < len(cells) else ("", "")
    return (text if isinstance(text, str) else text(min(width, _SYSTEMS_CELLS))), kind


def _columns(*declared: str) -> tuple[Column[Numbered], ...]:
    """The columns of a part, in the order of the cells: `NAME WIDEST [NARROWEST] [rank=N] [middle|right]`."""
    made = []
    for at, words in enumerate(declared):
        name, *more = words.split()
        widest, narrowest = [*(int(word) for word in more if word.isdecimal()), 0][:2]
        rank = next((int(word[5:]) for word in more if word.startswith("rank=")), 0)
        aligned = {"middle": "middle" in more, "right": "right" in more}
        made.append(Column(name, partial(_cell, at=at), widest, narrowest, rank, **aligned))
    return tuple(made)


# the most cells of an axis, and of the names of systems
_AXIS, _SYSTEMS_CELLS = 30, 44
_REST_S = 0.15
# from these widths on there are so many columns
_TWO_COLUMNS, _THREE_COLUMNS = 99, 160
_COLUMNS = {
    "steps": _columns("mark 1", "step 10", "about 200 20", "key 5 3"),
    "board": _columns(
        "# 5", "system 40 8 middle", "score 5 right", f"interval {_AXIS} 8 rank=1", "W/T/L 24 5 rank=3", "nDCG 6 5 right"
    ),
    "trust": _columns("who 50 12 middle", "value 9 right", "interval 20 8 rank=1", "cases 40 12"),
    "data": _columns("data 200 20"),
    "next": _columns("step 200 20", "key 5 3"),
    "first": _columns("mark 1", "user 12 6 middle", f"systems {_SYSTEMS_CELLS} 16", "people 14 6 rank=2", "why 200 14"),
    "runs": _columns("mark 1", "run 9 right", "judge 40 8 middle", "protocol 14 6 rank=1", "state 40 10"),
}  # fmt: skip
# the parts of each column; the others stand in one or two, and where there is one column, they come first
_LEFT, _MIDDLE, _RIGHT = ("board", "trust", "data"), ("first",), ("runs", "next")
_HEADED = ("board", "first")


def _steps(seen: Home, _: Sequence[StoredRow]) -> Part:
    """The remaining steps, in order, each with its key."""
    entries = []
    for at, step in enumerate(seen.steps, start=1):
        sign = (GLYPHS.done, "reviewed") if step.done else (str(at), "")
        kind = "dim" if step.done else ""
        cells = (sign, (step.remedy, kind), (step.text, kind), (step.remedy, "key"))
        entries.append(Entry(cells, REMEDIES[step.remedy][1]))
    return "Steps to a first result", entries


def _board(seen: Home, _: Sequence[StoredRow]) -> Part:
    """The ranking in short: rank range, win rate with its interval, wins, ties (those by position) and losses, nDCG."""
    board = seen.board
    if board is None:
        waits = seen.totals is not None and seen.totals.verdicts
        return "Leaderboard", [Entry((("", ""), (_WAITING, "dim")), Destination("reports"))] if waits else []
    if board.topic is None or not board.lines:
        return "", []
    from recjudge_tui.reports.figures.marks import Mark, axis  # no part of the first paint

    rows = board.lines[:_SYSTEMS]
    prefix = shared_prefix([str(row["system"]) for row in board.lines])
    bounds = axis(Mark("", row["score"], row.get("ci_low"), row.get("ci_high")) for row in rows)
    share = board.figure == "win rate" or board.figure.startswith("share")
    even = 0.5 if board.figure == "win rate" else None
    entries = []
    for row in rows:
        score, low, high = row["score"], row.get("rank_low"), row.get("rank_high")
        value = GLYPHS.none if score is None else f"{score:.0%}" if share else f"{score:.2f}"
        rank = f"{low}-{high}" if None not in (low, high) and low != high else str(row["rank"] or "")
        counts = f"n={number(row['n'])}"
        if row.get("wins") is not None:
            flipped = f"({number(row['position_ties'])}{GLYPHS.swapped})" if row.get("position_ties") else ""
            counts = f"{number(row['wins'])}/{number(row['ties'] or 0)}{flipped}/{number(row['losses'] or 0)}"
        ends = (row.get("ci_low"), score, row.get("ci_high"))
        cells: tuple[Cell, ...] = (
            (rank, ""), (str(row["system"]).removeprefix(prefix), ""), (value, ""),
            (partial(interval, *ends, bounds, even=even), "dim"), (counts, "dim"),
            (short(row["ndcg"]) if row.get("ndcg") is not None else "", "dim"),
        )  # fmt: skip
        entries.append(Entry(cells, Destination("cases", row["cases"])))
    if rest := len(board.lines) - len(rows):
        entries.append(Entry((("", ""), (quantity(rest, "more system"), "dim")), Destination("reports")))
    about = board.topic.protocol if board.topic.aspect == OVERALL else board.topic.text()
    figure = board.figure if board.figure and board.figure != "win rate" else ""
    words = [one_line(about, 40), figure, one_line(board.rater, 40), prefix and f"{prefix}{GLYPHS.cut}"]
    return f" {GLYPHS.dot} ".join(filter(None, ["Leaderboard", *words])), entries


def _trust(seen: Home, _: Sequence[StoredRow]) -> Part:
    """One agreement with people with its interval, the human ceiling, and how often the order decides the verdict."""
    agreement, entries = seen.agreement, list[Entry]()
    labels, reports, told = seen.data is not None and seen.data.labels > 0, Destination("reports"), ["Trust"]
    if not seen.judged:
        return "", []
    if agreement is not None and agreement.judge:
        told += [agreement.stat, agreement.few, agreement.about]
        judge = f"{one_line(agreement.judge, 24)}{GLYPHS.dot}{one_line(agreement.people, 24)}"
        of_judge = Destination("cases", agreement.cases)
        rows = [(judge, of_judge, agreement.value, agreement.interval, agreement.n, agreement.few)]
        if agreement.ceiling is not None:
            of = agreement
            people = (of.ceiling, of.ceiling_interval, of.ceiling_n, of.ceiling_few)
            rows.append((f"people{GLYPHS.dot}people", reports, *people))
        known = [v for *_, value, ends, _, _ in rows for v in (value, *ends) if v is not None]
        bounds = (min(known, default=0.0), max(known, default=1.0))
        for name, opens, value, ends, n, few in rows:
            shown = "undefined" if value is None else short(value)
            drawn = partial(interval, ends[0], value, ends[1], bounds)
            looks = "marked" if few else "dim"
            entries.append(Entry(((name, ""), (shown, ""), (drawn, "dim"), (f"n={number(n)}", looks)), opens))
    elif labels:
        answered = any(line["score"] is not None for line in (seen.board.lines if seen.board else ()))
        none = "people labelled none of its cases" if answered else "the judge answered nothing"
        said = f"agreement: {_WAITING}" if agreement is None else none
        entries.append(Entry(((said, "dim"),), reports))
    for flip in (seen.flips or ())[:3]:
        name = flip.rater if flip.rater.endswith(flip.protocol) else f"{flip.rater} {flip.protocol}"
        many = "marked" if flip.share >= _MANY_FLIPS else ""
        of_all = f"of {number(flip.n)} flip"
        cells: tuple[Cell, ...] = ((name, ""), (f"{flip.share:.0%}", many), ("", ""), (of_all, "dim"))
        entries.append(Entry(cells, Destination("cases", flip.cases)))
    return f" {GLYPHS.dot} ".join(filter(None, told)), entries


def _data(seen: Home, _: Sequence[StoredRow]) -> Part:
    """What the project has."""
    counts = seen.data
    if counts is None:
        return "Data", [Entry((("counting", "dim"),), Destination("data"))]
    figures = (
        (counts.users, "user"), (counts.items_described, "item"), (len(counts.systems), "system"), (counts.lists, "list"),
        (counts.explanations, "text"), (counts.events, "event"), (counts.held_out, "held-out event"),
        (counts.labels, "label"), (counts.images, "image"), (counts.contexts, "named occasion"),
    )  # fmt: skip
    there = [quantity(count, noun) for count, noun in figures if count] or ["nothing yet"]
    lines = (there[start : start + 4] for start in range(0, len(there), 4))
    entries = [Entry(((f" {GLYPHS.dot} ".join(line), ""),), Destination("data")) for line in lines]
    if counts.last_served:
        days = dict.fromkeys((counts.first_served[:10], counts.last_served[:10]))
        entries.append(Entry(((f"served {' to '.join(days)}", "dim"),), Destination("data", "lists")))
    return "Data", entries


def _next(seen: Home, _: Sequence[StoredRow]) -> Part:
    """What the project lacks, each with the key that adds it."""
    entries = [
        Entry(((f"{GLYPHS.marked} {gap.text}", "marked"), (gap.remedy, "key")), REMEDIES[gap.remedy][1])
        for gap in seen.gaps
    ]
    return "Still missing", entries


def _first(seen: Home, _: Sequence[StoredRow]) -> Part:
    """The cases that could change the conclusion, a line for each."""
    if not seen.judged:
        return "", []
    if not seen.first:
        none = ((GLYPHS.done, "reviewed"), ("the queue is empty", "reviewed"))
        sign, said = none if seen.first is not None else (("", ""), ("looking for what to read", "dim"))
        return "Read first", [Entry((sign, ("", ""), ("", ""), ("", ""), said), Destination("cases"))]
    waiting = seen.waiting or 0
    of_all = f" of {number(waiting)}" if waiting > len(seen.first) else ""
    prefix = shared_prefix([name for one in seen.first for name in one.row.systems])
    of_users = shared_prefix([one.row.user_id for one in seen.first])
    entries = []
    for one in seen.first:
        row, reasoning = one.row, _BRACKETS.sub("", one.reasoning)
        reason = ("" if len(row.systems) > 1 else f"{label_text(row)} ") + (why(row) or one.reason)
        reason += ", as others" if one.alike else ""
        quoted = f"  “{one_line(reasoning, 200)}”" if reasoning else ""
        cells: tuple[Cell, ...] = (
            mark(row), (row.user_id.removeprefix(of_users), ""), (partial(systems_text, row, prefix=prefix), ""),
            ("" if row.failed else people_text(row), ""), (f"{reason}{quoted}", ""),
        )  # fmt: skip
        entries.append(Entry(cells, Destination("first", str(row.verdict_id))))
    begin = f" {GLYPHS.dot} {of_users}{GLYPHS.cut}" if of_users else ""
    return f"Read first ({len(seen.first)}{of_all}){begin}", entries


def _runs(seen: Home, active: Sequence[StoredRow]) -> Part:
    """The newest runs, live ones with their progress."""
    live = {run.run_id: run for run in active}
    if not seen.runs:
        return "", []
    entries = [_run(run, live.get(run.run_id)) for run in seen.runs[:_RUNS]]
    more = (seen.totals.runs if seen.totals else len(seen.runs)) - len(entries)
    if more > 0:
        rest = (("", ""), ("", ""), (quantity(more, "earlier run"), "dim"))
        entries.append(Entry(rest, Destination("runs")))
    return "Runs", entries


def _run(run: StoredRow, active: StoredRow | None) -> Entry:
    status = at_rest(run.state)
    glyph, kind = RUN_LOOKS.get(status, ("?", "")) if active is None else (GLYPHS.running, "up")
    said = [f"{number(run.failed)} failed"] if run.failed else []
    if active is not None or (run.calls and run.state != "done"):
        done, calls = (active.finished, active.calls) if active else (run.finished, run.calls)
        share = done / calls if calls else 0.0
        said += [f"{'' if active else f'{status} '}{bar(share, 8):8} {share:.0%}"]
    else:
        said.append(ago(run.ended or run.created_at))
    protocol = "" if run.rater.endswith(run.protocol) else run.protocol
    cells: tuple[Cell, ...] = (
        (glyph, kind), (str(run.run_id), ""), (run.rater, ""), (protocol, "dim"),
        (f" {GLYPHS.dot} ".join(said), "failed" if run.failed else kind or "dim"),
    )  # fmt: skip
    return Entry(cells, Destination("monitor", str(run.run_id)))


PARTS: dict[str, Callable[[Home, Sequence[StoredRow]], Part]] = {
    "steps": _steps, "board": _board, "trust": _trust, "data": _data, "first": _first, "runs": _runs,
    "next": _next,
}  # fmt: skip


# ---- view --------------------------------------------------------------------------------------------------------


class PartList(RowList[Numbered]):
    """A part of the home; it is as high as its lines, and beyond its ends the cursor goes on to the next part."""

    DEFAULT_CSS = """
    PartList { height: auto; border-top: solid $primary; border-title-color: $accent; border-title-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", key_display="enter", id="home.open"),
        Binding("right", "side(1)", "next column", show=False, id="home.side"),
        Binding("left", "side(-1)", "column before", show=False, id="home.side_before"),
    ]

    @dataclass
    class Beyond(Message):
        """The cursor goes to the next part (1) or the one before (-1), or so to another column."""

        by: int
        column: bool = False

    def __init__(self, name: str) -> None:
        super().__init__(_COLUMNS[name], lambda row: row[0], id=name)
        self.heads = int(name in _HEADED)
        self.moved = False

    def show_part(self, title: str, entries: list[Entry]) -> None:
        """Show other lines; the cursor stays on what it opens."""
        before = self.cursor_row[1].opens if self.moved and self.cursor_row is not None else None
        rows = list(enumerate(entries, start=1))
        self.display = bool(entries)
        self.border_title = Content(one_line(title, 200))
        self.fill(rows, next((at for at, entry in rows if entry.opens == before), None))
        self.styles.height = len(entries) + self.heads + 1

    def _draw(self, place: int, chosen: bool) -> Strip:
        return super()._draw(place, chosen and self.has_focus)

    def watch_has_focus(self, _has_focus: bool) -> None:
        super().watch_has_focus(_has_focus)
        self.refresh()

    def _move_to(self, place: int) -> None:
        self.moved = True
        super()._move_to(place)

    def action_move(self, rows: int) -> None:
        if 0 <= self.cursor + rows < len(self.ids):
            super().action_move(rows)
        else:
            self.post_message(self.Beyond(rows))

    def action_side(self, by: int) -> None:
        self.post_message(self.Beyond(by, column=True))


class HomeView(Working, VerticalScroll, can_focus=False):
    """The home of a project, read part by part. One that is not `live` is only to read, beside a list: it is read when the
    cursor of the list has come to rest, names no keys, and a click opens the home."""

    DEFAULT_CSS = """
    HomeView { padding: 0 1; scrollbar-size-vertical: 1; }
    HomeView #answer { height: auto; padding: 0 1; text-style: bold; }
    HomeView #columns, HomeView #columns Vertical { height: auto; layout: vertical; }
    HomeView.-two #columns, HomeView.-three #others { layout: horizontal; }
    HomeView.-two #left { width: 1fr; max-width: 66; margin-right: 2; }
    HomeView.-three #left { max-width: 62; }
    HomeView.-three #others { width: 2fr; }
    HomeView.-three #middle { width: 5fr; margin-right: 2; }
    HomeView.-three #right { width: 4fr; max-width: 56; }
    """

    @dataclass
    class Opened(Message):
        destination: Destination

    def __init__(self, *, live: bool = True) -> None:
        super().__init__()
        self._live = live
        self.project_id: int | None = None
        # by project what is known, and of the one that is read what is known by now
        self._homes: dict[int, Home] = {}
        self._fresh = Home()
        self._active: Sequence[StoredRow] = ()
        self._delay: Timer | None = None
        self._process: HomeProcess | None = None
        # the part that has the focus until the user moves it
        self._start: PartList | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="answer")
        yield PartList("steps")
        with Horizontal(id="columns"):
            yield Vertical(*map(PartList, _LEFT), id="left")
            with Vertical(id="others"):
                yield Vertical(*map(PartList, _MIDDLE), id="middle")
                yield Vertical(*map(PartList, _RIGHT), id="right")

    def on_mount(self) -> None:
        for part in self.query(PartList):
            part.can_focus = self._live

    @property
    def seen(self) -> Home:
        return self._homes.get(self.project_id or 0, Home())

    @property
    def done(self) -> bool:
        return self._fresh.missing_part is None

    # ---- reading

    def show_home(self, project_id: int | None, active: Sequence[StoredRow] = ()) -> None:
        other = project_id != self.project_id
        self.project_id, self._active = project_id, active
        if other:
            self.scroll_home(animate=False)
            self.read_again()
        self._paint()

    def read_again(self) -> None:
        """Read the home from its first part; what was read stays until then."""
        self._fresh = Home()
        self.read_on()

    def read_on(self) -> None:
        self.stop_reading()
        if self.project_id is not None and not self.done and self._live:
            self._next_part()
        elif self.project_id is not None and not self.done:
            self._delay = self.set_timer(_REST_S, self._next_part)

    def forget(self) -> None:
        """What was read of other projects may have changed."""
        self._homes = {key: seen for key, seen in self._homes.items() if key == self.project_id}
        self.read_again()

    def stop_reading(self) -> None:
        if self._delay is not None:
            self._delay.stop()
        self.background.stop()
        if self._process is not None:
            self._process.stop()
            self._process = None

    def _next_part(self) -> None:
        if self.project_id is None or self.done:
            return
        fresh, project_id = self._fresh, self.project_id
        job: Callable[[Database], Home] = partial(with_next_part, project_id=project_id, home=fresh)
        if fresh.data is not None and fresh.totals is not None and fresh.totals.verdicts >= LARGE:
            # what takes long and much memory comes after the counts of the data
            process = self._process = self._process or HomeProcess(host_of(self).db_path, project_id, fresh)
            job = lambda _: process.next_part()  # noqa: E731
        failed = None if self._live else self._show_error
        self.background.start("home", job, partial(self._take, project_id), failed)

    def _take(self, project_id: int, fresh: Home) -> None:
        if project_id == self.project_id:
            self._fresh = fresh
            self._homes[project_id] = fresh.over(self.seen)
            self._paint()
            self._next_part()

    def show_runs(self, runs: tuple[StoredRow, ...], active: Sequence[StoredRow]) -> None:
        self._active = active
        self._homes[self.project_id or 0] = replace(self.seen, runs=runs)
        self._paint()

    def _show_error(self, error: RecjudgeError) -> None:
        """In the pane: a project that was just deleted is no reason for a dialog."""
        self.query_one("#answer", Static).update(Content.styled(one_line(error.title, 200), "$error"))

    # ---- showing

    def _paint(self) -> None:
        seen = self.seen
        if not host_of(self).runs_known:
            # it may be going, or be interrupted
            seen = replace(seen, runs=tuple(run for run in seen.runs or () if run.state != "running"))
        for name, make in PARTS.items():
            title, entries = make(seen, self._active)
            self.query_one(f"#{name}", PartList).show_part(title, [*map(self._with_keys, entries)])
        for side in self.query("#columns Vertical"):
            side.display = any(part.display for part in side.query(PartList))
        steps, totals = seen.steps, seen.totals
        if self._live and totals is not None:
            read = f"{quantity(totals.verdicts, 'verdict')} on {quantity(totals.cases, 'case')}"
            self.screen.query_one(TopBar).show(right=read)
        answer = self.query_one("#answer", Static)
        answer.update(Content("" if steps else one_line(" ".join(conclusion(seen)), 600)))
        answer.display = bool(not steps and seen.board is not None)
        self._aim(next((at for at, step in enumerate(steps, start=1) if not step.done), None))

    def _with_keys(self, entry: Entry) -> Entry:
        """A remedy by its key; beside a list no key of the home is named, because other keys may work there."""
        cells = [
            (key_name(self.app, REMEDIES[str(text)][0]) if self._live else "", kind)
            if kind == "key"
            else (text, kind)
            for text, kind in entry.cells
        ]
        return entry._replace(cells=tuple(cells))

    def _aim(self, step: int | None) -> None:
        """Until the user moves it, the cursor is on the next step, or on what is to be read first."""
        here, start = self.screen.focused, self._start
        left = start is not None and start.display and here not in (start, None)
        if not self._live or left or any(part.moved for part in self.query(PartList)):
            return
        self._start = start = self.query_one("#first" if step is None else "#steps", PartList)
        start.focus()
        if step is not None:
            start.fill(start.filled.values(), step)

    def on_compose(self) -> None:
        if self._live:
            # otherwise the styles of all parts would be computed twice
            self._set_columns(self.app.size.width)

    def _set_columns(self, width: int) -> None:
        self.set_class(width >= _TWO_COLUMNS, "-two")
        self.set_class(width >= _THREE_COLUMNS, "-three")

    def on_resize(self) -> None:
        self._set_columns(self.outer_size.width)
        two = self.has_class("-two")
        left, others = self.query_one("#left"), self.query_one("#others")
        first, second = (left, others) if two else (others, left)
        self.query_one("#columns").move_child(second, after=first)

    # ---- the cursor

    @on(PartList.Beyond)
    def _go_on(self, message: PartList.Beyond) -> None:
        parts = [part for part in self.query(PartList) if part.display]
        here = self.screen.focused
        if not isinstance(here, PartList):
            return
        at = parts.index(here) + message.by
        goal = parts[at] if 0 <= at < len(parts) else None
        if message.column:
            sides = sorted({part.region.x for part in parts})
            x, y = sides[(sides.index(here.region.x) + message.by) % len(sides)], here.region.y + here.cursor
            goal = min(
                (part for part in parts if part.region.x == x), key=lambda part: abs(part.region.y - y)
            )
        if goal is not None and goal is not here:
            goal.focus()
            goal.action_last() if message.by < 0 and not message.column else goal.action_first()

    @on(RowList.Moved)
    def _into_view(self) -> None:
        part = self.screen.focused
        if isinstance(part, PartList) and self._live:
            around = Region(0, part.virtual_region.y + part.cursor, 1, 3)
            self.scroll_to_region(around, animate=False, force=True)

    @on(RowList.Opened)
    def _open(self) -> None:
        part = self.screen.focused
        if isinstance(part, PartList) and part.cursor_row is not None:
            self.post_message(self.Opened(part.cursor_row[1].opens))

    def on_click(self) -> None:
        if not self._live:
            self.post_message(self.Opened(Destination("home")))

    def on_unmount(self) -> None:
        self.stop_reading()


# ---- screen ------------------------------------------------------------------------------------------------------


# screen -> the meaning of the argument of `Destination`
_ARGUMENTS = {"cases": "filter_text", "data": "kind"}


class HomeScreen(ImportScreen):
    """`HomeScreen(project_id)`. Leaving the screen stops reading. Returning resumes it, or starts it again if the database
    has changed meanwhile.
    """

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("Q", "triage", "queue", show=False, id="home.queue"),
        Binding("t", "triage", "triage", id="home.triage"),
        Binding("i", "import", "import", id="home.import"),
        Binding("n", "open('launch')", "new run", id="home.launch"),
        Binding("r", "open('runs')", "runs", show=False, id="home.runs"),
        Binding("a", "open('reports')", "reports", id="home.reports"),
        Binding("l", "open('annotate')", "label", id="home.annotate"),
        Binding("B", "open('data')", "browse the data", show=False, id="home.data"),
        Binding("d", "open('compare')", "compare raters", show=False, id="home.compare"),
        Binding("p", "open('prompts')", "prompts", show=False, id="home.prompts"),
        Binding("V", "verdicts", "all verdicts", show=False, id="home.verdicts"),
        Binding("R", "read_again", "read again", show=False, id="home.refresh"),
        *COMMON,
    ]

    def __init__(self, project_id: int) -> None:
        super().__init__()
        self.project_id = project_id
        self._change_count: tuple[int, int] | None = None

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id))
        yield HomeView()
        yield KeyLine()

    @property
    def view(self) -> HomeView:
        return self.query_one(HomeView)

    def on_mount(self) -> None:
        self.view.show_home(self.project_id, self._own())

    def on_screen_resume(self) -> None:
        if self.host.db.change_count() != self._change_count:
            self.view.read_again()
        else:
            self.view.read_on()

    def on_screen_suspend(self) -> None:
        super().on_screen_suspend()
        self.view.stop_reading()
        self._change_count = self.host.db.change_count()

    def _own(self) -> list[StoredRow]:
        return [run for run in self.host.active if run.project_id == self.project_id]

    def runs_changed(self, active: list[StoredRow]) -> None:
        super().runs_changed(active)
        self.view.show_home(self.project_id, self._own())

    def action_read_again(self) -> None:
        self.view.read_again()

    def runs_moved(self, *, live: bool) -> None:
        if live:
            job = partial(newest_runs, project_id=self.project_id, limit=RUNS_NAMED)
            self.background.start("runs", job, lambda runs: self.view.show_runs(runs, self._own()))
        else:
            self.view.show_home(self.project_id)
            self.view.read_again()

    def imported(self, project: str) -> None:
        self.view.read_again()

    # ---- opening

    @on(HomeView.Opened)
    def _open(self, message: HomeView.Opened) -> None:
        screen, argument = message.destination
        if screen == "first":
            self._read_from([one.row.verdict_id for one in self.view.seen.first or ()], int(argument))
        elif screen == "import":
            self.action_import()
        elif screen == "monitor":
            self.open_screen("monitor", int(argument))
        else:
            more = {_ARGUMENTS[screen]: argument} if argument else {}
            self.open_screen(screen, self.project_id, **more)

    def _read_from(self, given: Sequence[int], at: int) -> None:
        """These verdicts in this order, from one on."""
        from recjudge_tui.tui.triage import CasesScreen

        cases = cases_of(self.host.db, given)
        self.app.push_screen(CasesScreen(self.project_id, "", cases, "Read first", at, tuple(given)))

    def action_triage(self) -> None:
        """All that waits for a reader, of which the home shows what is to be read first."""
        more = {"filter_text": WAITING.text()} if self.view.seen.first else {}
        self.open_screen("cases", self.project_id, **more)

    def action_verdicts(self) -> None:
        self.open_screen("cases", self.project_id, filter_text="")
