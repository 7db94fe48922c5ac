"""The list of verdicts: its lines, its filter, the lists in short."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import ClassVar, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from recjudge_tui.domain.filters import HINT, parse_filter
from recjudge_tui.domain.occasions import occasion_text
from recjudge_tui.domain.protocols import OVERALL, protocol_facts, smallest_disagreement
from recjudge_tui.domain.roles import REVIEWED
from recjudge_tui.domain.text import one_line
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts import VerdictRow, newest_judged_run, run_has_confidences
from recjudge_tui.tui.screens import FilterBar, Windows
from recjudge_tui.tui.widgets import (
    UNICODE,
    Glyphs,
    Values,
    case_number,
    fit,
    fraction,
    glyphs,
    middle,
    number,
    score,
    short_label,
)

# ---- verdict line ------------------------------------------------------------------------------------------------


_MARK = 2
# the columns in order with their maximum width in cells; `why` takes the rest
_WIDEST = {
    "case": 7,
    "user": 14,
    "occasion": 24,
    "systems": 44,
    "rater": 18,
    "judge": 18,
    "sure": 4,
    "people": 14,
}
_NARROWEST = {"systems": 10, "rater": 6, "user": 5, "judge": 8, "people": 6, "occasion": 11}
# room for “against people”, and for its beginning where the user would go for it
_LEAST_WHY, _SHORTEST_WHY = 14, 9
# columns that a narrow list leaves out, in this order
_LEFT_OUT = ("rater", "people", "user", "sure")
_HEADS = {"sure": "sure", "systems": "systems", "rater": "rater"}


class Needs(NamedTuple):
    """The width of the widest content of each column; 0 for a column that is empty in every row. `raters` are the
    raters seen: a single one needs no column; `names` those of the systems seen, `paired` whether two share a line.
    """

    user: int = 0
    systems: int = 0
    judge: int = 0
    sure: int = 0
    people: int = 0
    occasion: int = 0
    why: int = 0
    raters: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    paired: bool = False

    def with_rows(self, rows: Iterable[VerdictRow], symbols: Glyphs) -> Needs:
        user, systems, judge, sure, people, occasion, reason, raters, names, paired = self
        for row in rows:
            user = max(user, cell_len(one_line(row.user_id, 30)))
            systems = max(systems, cell_len(_systems(row, 200, symbols)))
            judge = max(judge, cell_len(_label(row, 60, symbols)))
            sure = 4 if row.confidence is not None else sure
            people = max(people, cell_len(_people(row, symbols)))
            if row.several_occasions:
                occasion = max(occasion, cell_len(_occasion(row)))
            reason = max(reason, cell_len(why(row)))
            raters |= {row.rater}
            names |= {one_line(name, 60) for name in row.systems}
            paired = paired or len(row.systems) > 1
        return Needs(user, systems, judge, sure, people, occasion, reason, raters, names, paired)

    def least(self, column: str) -> int:
        """The minimum width of a column of names: shortened names of systems must still differ."""
        least = _NARROWEST[column]
        if column != "systems":
            return least
        apart = _width_apart(self.names)
        return max(2 * apart + 3 if self.paired else apart, least)


Columns = dict[str, int]


@lru_cache(maxsize=16)
def _width_apart(names: frozenset[str]) -> int:
    """The width from which names, shortened in the middle, are all different; that of the widest if there is none."""
    for width in range(3, _WIDEST["systems"]):
        if len({middle(name, width, UNICODE) for name in names}) == len(names):
            return width
    return _WIDEST["systems"]


@lru_cache(maxsize=16)  # called for every line
def columns_for(width: int, needs: Needs) -> Columns:
    """Column -> its cells with a space, for a list `width` cells wide; `why` last."""
    columns = _columns_beside(_LEAST_WHY, width, needs)
    if needs.user and "user" not in columns:
        # without the user, the rows of one system look the same
        shorter = _columns_beside(_SHORTEST_WHY, width, needs)
        return shorter if "user" in shorter else columns
    return columns


def _columns_beside(least_why: int, width: int, needs: Needs) -> Columns:
    rater = max(map(cell_len, needs.raters)) if len(needs.raters) > 1 else 0
    wanted = {
        "case": 7,
        "user": needs.user,
        "occasion": needs.occasion,
        "systems": needs.systems,
        "rater": rater,
        "judge": needs.judge,
        "sure": needs.sure,
        "people": needs.people,
    }
    columns = {
        name: min(max(cells, len(_HEADS.get(name, name))), _WIDEST[name]) + 1
        for name, cells in wanted.items()
        if cells
    }
    room = width - _MARK - min(max(needs.why, len("why")), least_why) - 1
    if sum(columns.values()) > room:
        # names come before it: the title of the case has it, too
        del columns["case"]
    columns = _squeezed(columns, room, needs)
    for name in _LEFT_OUT:
        if sum(columns.values()) <= room:
            break
        columns.pop(name, None)
    # freed space goes back to the names
    wider = {name: min(max(wanted[name], len(name)), _WIDEST[name]) + 1 for name in columns}
    columns = _squeezed(wider, room, needs)
    return {**columns, "why": max(width - _MARK - sum(columns.values()), 4)}


def _squeezed(columns: Columns, room: int, needs: Needs) -> Columns:
    """The columns with names shortened as far as `room` requires, but not below the least of each."""
    squeezed = dict(columns)
    for name in _NARROWEST:
        if name in squeezed:
            over = sum(squeezed.values()) - room
            squeezed[name] -= max(min(over, squeezed[name] - needs.least(name) - 1), 0)
    return squeezed


def header_line(columns: Columns) -> str:
    return " " * _MARK + "".join(
        set_cell_size(_HEADS.get(name, name), cells) for name, cells in columns.items()
    )


def verdict_cells(row: VerdictRow, columns: Columns, symbols: Glyphs) -> list[tuple[str, str]]:
    """(text, kind) in order; kind is marked, failed, reviewed, dim or empty."""
    glyph, kind = _glyph(row, symbols)
    texts = {
        "case": (case_number(row.case_id), "dim"),
        "user": (one_line(row.user_id, 30), ""),
        "occasion": (_occasion(row), ""),
        "systems": (_systems(row, columns.get("systems", 1) - 1, symbols), ""),
        "rater": (one_line(row.rater, 30), "dim"),
        "judge": (_label(row, columns["judge"] - 1, symbols), kind if row.failed else ""),
        "sure": (fraction(row.confidence, ""), "dim"),
        "people": (_people(row, symbols), ""),
        "why": (why(row), kind),
    }
    cells = [(glyph + " ", kind)]
    for name, width in columns.items():
        text, style = texts[name]
        shown = middle(text, width - 1, symbols) if name in ("user", "rater") else text
        cells.append((_cell(shown, width, symbols.cut), style))
    return cells


def why(row: VerdictRow) -> str:
    """Why the verdict is worth reading, the strongest reason first; empty if there is none.

    `disagree 2/1`: two raters give one answer and one gives another. Scores of explanations show their spread instead.
    """
    reasons = [_decided(row)] if row.triage.decision else ["reviewed"] if row.reviewed else []
    reasons += [f"#{one_line(tag, 20)}" for tag in row.triage.tags]
    if row.failed:
        reasons.append(row.error_kind.replace("_", " ") or "failed")
    against = _against_people(row)
    if row.disagrees and protocol_facts(row.protocol).unit == "explanation" and row.spread is not None:
        reasons.append(f"spread {row.spread:.3g}")
    elif against:
        reasons.append(against)
    elif row.disagrees:
        reasons.append("disagree " + "/".join(str(votes) for votes in row.votes))
    if row.flipped:
        reasons.append("flips on swap")
    if row.flag_count:
        reasons.append(row.issue.replace("_", " ") or "flag")
        if row.flag_count > 1:
            # of this kind or of another
            reasons[-1] += f" +{row.flag_count - 1}"
    return ", ".join(reasons)


def _against_people(row: VerdictRow) -> str:
    if row.rater_kind not in REVIEWED or row.value is None or row.failed:
        return ""
    least, people = smallest_disagreement(row.protocol), sum(label_count.n for label_count in row.people)
    apart = sum(label_count.n for label_count in row.people if abs(label_count.value - row.value) >= least)
    return "" if not apart else "against people" if apart == people else f"against {apart} of {people} people"


def _occasion(row: VerdictRow) -> str:
    return one_line(occasion_text(row.occasion), 40)


def _systems(row: VerdictRow, width: int, symbols: Glyphs) -> str:
    """`als ◂ cooc`: the sign points to the system that was chosen; a single system by its name."""
    names = [one_line(name, 60) for name in row.systems]
    if len(names) < 2:
        return middle(names[0] if names else "", width, symbols)
    sign = symbols.empty
    if row.flipped:
        sign = symbols.swapped
    elif row.value is not None and not row.failed:
        sign = symbols.first if row.value > 0 else symbols.crumb if row.value < 0 else "="
    room = width - cell_len(sign) - 2
    left = max(room - cell_len(names[1]), room // 2)
    first = middle(names[0], left, symbols)
    return f"{first} {sign} {middle(names[1], room - cell_len(first), symbols)}"


def _label(row: VerdictRow, width: int, symbols: Glyphs) -> str:
    text = short_label(row.label) if protocol_facts(row.protocol).labels else ""
    label = symbols.failed if row.failed else one_line(text, 30) or score(row.value, symbols)
    if row.aspect == OVERALL:
        return label
    aspect = one_line(row.aspect, 40).replace("_", " ")
    room = max(width - cell_len(label) - 1, 2)
    return f"{fit(aspect, room, symbols).rstrip()} {label}"


def _people(row: VerdictRow, symbols: Glyphs) -> str:
    """`A A` or `Good×2 Poor`: what each person said, the most frequent answer first."""
    given = []
    for label_count in row.people:
        label = one_line(short_label(label_count.label), 12) or score(label_count.value, symbols)
        short = len(label) == 1 and label_count.n < 4
        given.append(
            " ".join([label] * label_count.n)
            if short
            else label + (f"{symbols.times}{label_count.n}" if label_count.n > 1 else "")
        )
    return " ".join(given)


def _glyph(row: VerdictRow, symbols: Glyphs) -> tuple[str, str]:
    if row.triage.decision:
        return symbols.reviewed, "reviewed"
    if row.failed:
        return symbols.failed, "failed"
    if row.reviewed:
        return symbols.reviewed, "reviewed"
    if row.flipped or row.flag_count:
        return symbols.marked, "marked"
    return " ", ""


def _decided(row: VerdictRow) -> str:
    """`to Tie` for an override, else the decision."""
    if row.triage.decision == "override":
        return f"to {short_label(row.triage.label)}"
    return {"accept": "accepted", "dismiss": "dismissed"}[row.triage.decision]


def _cell(text: str, width: int, cut: str) -> str:
    """The text in exactly `width` cells, the last one a space."""
    line = one_line(text, max(width * 2, 8))
    if cell_len(line) > width - 1:
        line = set_cell_size(line, max(width - 2, 0)) + cut
    return set_cell_size(line, width)


# ---- verdict list ------------------------------------------------------------------------------------------------


KEPT_WINDOWS = 24
_LINES = 512


class VerdictList(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows `ids`, an array of verdict ids in the order of the list; the rows come from `read`, in windows.

    The cursor belongs to a verdict, not to a row number. When the list changes it follows its verdict; if that is
    gone, it stays at the same place on the screen.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"verdict-list--cursor", "verdict-list--marked", "verdict-list--failed",
                                             "verdict-list--reviewed", "verdict-list--dim"}  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "next", show=False, key_display="j", id="list.down"),
        Binding("up,k", "move(-1)", "previous", show=False, key_display="k", id="list.up"),
        Binding(
            "pagedown,space", "page(1)", "page down", show=False, key_display="pgdn", id="list.page_down"
        ),
        Binding("pageup,b", "page(-1)", "page up", show=False, key_display="pgup", id="list.page_up"),
        Binding("home,g", "first", "first", show=False, key_display="g", id="list.first"),
        Binding("end,G", "last", "last", show=False, key_display="G", id="list.last"),
        Binding("enter", "open", "read", show=False, key_display="enter", id="list.open"),
    ]

    class Moved(Message):
        """The cursor is on another verdict, or the list became empty."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, VerdictList.Moved)

    class Opened(Message):
        """`enter` on a verdict."""

    class Resized(Message):
        """Lines have other `columns` from now on."""

    class WantsLast(Message):
        """The user asked for the end of the list."""

    def __init__(self, read: Callable[[Sequence[int]], list[VerdictRow]], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._read = read
        self._windows: Windows[VerdictRow] = Windows(KEPT_WINDOWS, self._read_window)
        self._announced: int | None = None
        # the columns needed by the rows read so far; a column stays until another list is shown
        self._needs = Needs()
        # (kind of the text, whether the cursor is on it) -> style; Textual computes a style anew whenever it is asked
        self._styles: dict[tuple[str, bool], Style] = {}
        # place -> the line of a row without the cursor, for those shown and the page after them
        self._lines: dict[int, Strip] = {}
        self.ids: array[int] = array("q")
        self.cursor = 0

    @property
    def cursor_id(self) -> int | None:
        return self.ids[self.cursor] if self.cursor < len(self.ids) else None

    @property
    def cursor_row(self) -> VerdictRow | None:
        return self._row(self.cursor) if self.cursor < len(self.ids) else None

    def show(
        self, ids: array[int], *, follow: bool = True, stay: bool = True, anchor: int | None = None
    ) -> None:
        """Show another list. With `follow` the cursor follows its verdict; otherwise it starts at the top.

        If that verdict is gone, the cursor keeps its row (`stay`) or goes to the top. `anchor` is a verdict to follow
        instead of the one under the cursor.
        """
        before, offset = anchor or self.cursor_id, self.cursor - self.scroll_offset.y
        self.ids = ids
        self._forget_rows()
        self._needs = Needs()
        if not follow or before is None:
            self.cursor, offset = 0, 0
        else:
            place = self._place(before)
            kept = min(self.cursor, max(len(ids) - 1, 0)) if stay else 0
            self.cursor = kept if place is None else place
        self.virtual_size = Size(0, len(ids))
        self.scroll_to(y=max(self.cursor - offset, 0), animate=False, force=True)
        self._into_view()
        self.refresh()
        self._announce()

    def extend(self, ids: array[int]) -> None:
        """Append verdicts to the list; nothing else moves."""
        self.ids.extend(ids)
        self.virtual_size = Size(0, len(self.ids))
        # new verdicts may also change what the visible rows say about other raters
        self.reload()

    def reload(self) -> None:
        """Read the rows again; the list itself is the same."""
        self._forget_rows()
        self.refresh()

    def _forget_rows(self) -> None:
        self._windows.clear()
        self._lines.clear()

    def go_to(self, verdict_id: int) -> bool:
        """Put the cursor on a verdict; False when it is not in the list."""
        place = self._place(verdict_id)
        if place is not None:
            self._move_to(place)
        return place is not None

    def _place(self, verdict_id: int) -> int | None:
        try:
            return self.ids.index(verdict_id)
        except ValueError:
            return None

    def _row(self, place: int) -> VerdictRow | None:
        return self._windows.row(place)

    def _read_window(self, start: int, count: int) -> list[VerdictRow | None]:
        ids = self.ids[start : start + count]
        rows = self._read(ids)
        self._widen(rows)
        by_id = {row.verdict_id: row for row in rows}
        return [by_id.get(verdict_id) for verdict_id in ids]

    def _widen(self, rows: Sequence[VerdictRow]) -> None:
        needs = self._needs.with_rows(rows, glyphs())
        if needs != self._needs:
            self._needs = needs
            self._lines.clear()
            self.refresh()
            self.post_message(self.Resized())

    @property
    def columns(self) -> Columns:
        return columns_for(max(self.size.width - 1, 1), self._needs)

    def notify_style_update(self) -> None:
        self._styles.clear()
        self._lines.clear()
        super().notify_style_update()

    def _style(self, kind: str, chosen: bool) -> Style:
        """The style of a text of this kind; an empty kind is plain."""
        if (kind, chosen) not in self._styles:
            style = self.rich_style
            if kind:
                style += self.get_component_rich_style(f"verdict-list--{kind}", partial=True)
            if chosen:
                style += self.get_component_rich_style("verdict-list--cursor")
            self._styles[kind, chosen] = style
        return self._styles[kind, chosen]

    def render_line(self, y: int) -> Strip:
        place = y + self.scroll_offset.y
        if place >= len(self.ids):
            return Strip.blank(self.size.width, self._style("", False))
        return self._draw(place, True) if place == self.cursor else self._line(place)

    def _line(self, place: int) -> Strip:
        if place not in self._lines:
            line = self._draw(place, False)  # may read rows for which all lines are drawn anew
            if len(self._lines) > _LINES:
                self._lines.clear()
            self._lines[place] = line
        return self._lines[place]

    def _draw(self, place: int, chosen: bool) -> Strip:
        row, symbols = self._row(place), glyphs()
        mark = " " if not chosen else "▌" if symbols.bar == "█" else ">"
        plain = self._style("", chosen)
        segments = [Segment(mark, plain)]
        if row is None:
            segments.append(Segment("(gone)", plain))
        else:
            cells = verdict_cells(row, self.columns, symbols)
            segments += [Segment(text, self._style(kind, chosen)) for text, kind in cells]
        return Strip(segments).adjust_cell_length(self.size.width, plain).simplify()

    def action_move(self, rows: int) -> None:
        self._move_to(self.cursor + rows)

    def action_page(self, pages: int) -> None:
        rows = max(self.size.height - 1, 1) * pages
        self.scroll_to(y=self.scroll_offset.y + rows, animate=False, force=True)
        self._move_to(self.cursor + rows)
        self.call_after_refresh(self._read_ahead, rows)

    def _read_ahead(self, rows: int) -> None:
        """Draw the next page in this direction while this one is looked at: to read its rows takes longer than a paint."""
        top = max(self.scroll_offset.y + rows, 0)
        for place in range(top, min(top + self.size.height, len(self.ids))):
            self._line(place)

    def action_first(self) -> None:
        self._move_to(0)

    def action_last(self) -> None:
        self._move_to(len(self.ids) - 1)
        self.post_message(self.WantsLast())

    def action_open(self) -> None:
        if self.cursor_id is not None:
            self.post_message(self.Opened())

    def on_click(self, event: events.Click) -> None:
        place = event.y + self.scroll_offset.y
        if place < len(self.ids):
            self._move_to(place)

    def on_resize(self) -> None:
        self._lines.clear()
        self._into_view()
        self.post_message(self.Resized())

    def _move_to(self, place: int) -> None:
        if not self.ids:
            return
        before, self.cursor = self.cursor, min(max(place, 0), len(self.ids) - 1)
        self._into_view()
        self.refresh_line(before)
        self.refresh_line(self.cursor)
        self._announce()

    def _into_view(self) -> None:
        top, height = self.scroll_offset.y, self.size.height
        if height and self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif height and self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, force=True)

    def _announce(self) -> None:
        if self.cursor_id != self._announced:
            self._announced = self.cursor_id
            self.post_message(self.Moved())


# ---- list filter -------------------------------------------------------------------------------------------------


class OpeningFilter(NamedTuple):
    """A filter to try, its order, and what the top line says of it: why it is not the queue."""

    filter_text: str
    sort: str = "id"
    about: str = ""


def opening_filters(db: Database, project_id: int) -> Iterator[OpeningFilter]:
    """The filters to try until one lists a verdict: the queue of the newest run, the queue of all runs, the flagged
    verdicts of that run, all its verdicts. Yields nothing if no judge has run.
    """
    newest = newest_judged_run(db, project_id)
    if newest is None:
        return
    run, _ = newest
    yield OpeningFilter(f"run:{run} queue:any")
    yield OpeningFilter("queue:any")
    sort, order = "id", ""
    if run_has_confidences(db, run):
        sort, order = "confidence", ", least confident first"
    yield OpeningFilter(f"run:{run} flag:any", sort, f"queue empty: flagged verdicts of run {run}{order}")
    yield OpeningFilter(f"run:{run}", sort, f"queue empty: verdicts of run {run}{order}")


def verdict_filter_bar(project_id: int) -> FilterBar:
    return FilterBar(_chips, f'{HINT} "free text"', values=partial(_filter_values, project_id=project_id))


def _chips(text: str) -> tuple[str, ...]:
    return parse_filter(text).chips()


def _filter_values(db: Database, project_id: int) -> Values:
    from recjudge_tui.store.filters import filter_values

    return filter_values(db, project_id)


# ---- strip -------------------------------------------------------------------------------------------------------


class CaseStrip(Widget):
    """`◂ 37/224 ▸  viewer-01 · cooccurrence vs embedding · llama3.1:8b    ✓ 36 accepted`. A click on an arrow steps, one
    elsewhere unfolds."""

    class Step(Message):
        """The reader goes to the verdict that is `rows` further down the list."""

        def __init__(self, rows: int) -> None:
            super().__init__()
            self.rows = rows

    class ListRequest(Message):
        """The reader wants the list."""

    def __init__(self) -> None:
        super().__init__()
        self._place = ""
        self._row: VerdictRow | None = None
        self._decision = ""

    def show(self, cursor: int, total: int, row: VerdictRow | None) -> None:
        self._place = f"{number(cursor + 1 if total else 0)}/{number(total)}"
        self._row = row
        self.refresh()

    def show_decision(self, decision: str) -> None:
        """Name the last decision: its verdict is no longer on the screen."""
        self._decision = decision
        self.refresh()

    def render(self) -> Content:
        symbols = glyphs()
        arrows = Content.assemble(
            (f"{symbols.first} ", "$accent"), (self._place, "bold"), (f" {symbols.crumb}", "$accent")
        )
        if self._row is None:
            return arrows
        last = f"  {symbols.reviewed} {self._decision}" if self._decision else ""
        room = max(self.content_size.width - arrows.cell_length - 2 - cell_len(last), 1)
        systems = " vs ".join(one_line(name, 60) for name in self._row.systems)
        parts = [one_line(self._row.user_id, 60), systems, one_line(self._row.rater, 60)]
        text = f" {symbols.dot} ".join(part for part in parts if part)
        about = set_cell_size(middle(text, room, symbols), room)
        return Content.assemble(arrows, "  ", about, (last, "$success"))

    def on_click(self, event: events.Click) -> None:
        place = event.get_content_offset(self)
        if place is None:
            return
        if place.x < 2:
            self.post_message(self.Step(-1))
        elif place.x < len(self._place) + 4:
            self.post_message(self.Step(1))
        else:
            self.post_message(self.ListRequest())
