"""Two raters case by case."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.coordinate import Coordinate
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import DataTable, Static

from recjudge_tui.domain.filters import Term, VerdictFilter, occasion_terms, whole_term
from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter, occasion_text
from recjudge_tui.domain.selection import CaseSelection
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.reports.common.table import Row, Table, note_kind, save_text
from recjudge_tui.reports.figures.marks import CI
from recjudge_tui.store.cases import check_contexts
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import ActiveRun
from recjudge_tui.tui.screens import COMMON, OccasionScreen, Windows, WrittenFile, export_table, format_hint
from recjudge_tui.tui.widgets import (
    ABOVE,
    BELOW,
    COUNTS,
    FigureTable,
    Glyphs,
    KeyLine,
    TopBar,
    ascii_wanted,
    case_number,
    fit,
    glyphs,
    middle,
    number,
    shaded,
    short_label,
)

if TYPE_CHECKING:
    from recjudge_tui.reports.changes import Changes, Part, PromptChange
    from recjudge_tui.shapes import Meeting
    from recjudge_tui.store.answers import Cell, ChangedCase


# ---- text --------------------------------------------------------------------------------------------------------


_SAID = 19
_USER = (12, 24)
_LEVEL = 24
_LONGEST_LINE = 2000
_LINE_STYLES = {"+": "$success", "-": "$error", "@": "$accent"}


def grid_cells(part: Part) -> list[tuple[str, list[Text]]]:
    """Name and cells of each line of the grid, sums last; `+` before a rise, `-` before a fall, if there is an order."""
    counts = part.counts.tolist()
    most = max((count for line in counts for count in line), default=0)
    lines = []
    for a, level in enumerate(part.levels):
        cells = [_cell(count, a, b, most, part.ordered) for b, count in enumerate(counts[a])]
        lines.append((short_label(one_line(level.name, _LEVEL)), [*cells, _sum(sum(counts[a]))]))
    columns = [_sum(sum(line[b] for line in counts)) for b in range(len(part.levels))]
    return [*lines, ("all", [*columns, _sum(int(part.counts.sum()))])]


def _cell(count: int, a: int, b: int, most: int, ordered: bool) -> Text:
    share = count / most if most else 0.0
    if a == b or not count or not ordered:
        return shaded(number(count), COUNTS, share)
    # the highest value is the first line
    return shaded(f"+{count:,}", ABOVE, share) if b < a else shaded(f"-{count:,}", BELOW, share)


def _sum(count: int) -> Text:
    return Text(number(count), "dim", justify="right")


def cell_at(part: Part, row: int, column: int) -> tuple[str, Cell] | None:
    """The name of a cell of the grid and its values; a sum has all values of its line or column."""
    levels = part.levels
    if not levels or row > len(levels) or column > len(levels) or row == column == len(levels):
        return None
    every = (levels[-1].low, levels[0].high)
    a = (levels[row].low, levels[row].high) if row < len(levels) else every
    b = (levels[column].low, levels[column].high) if column < len(levels) else every
    first_label, now = (
        short_label(one_line(levels[at].name, _LEVEL)) if at < len(levels) else "any" for at in (row, column)
    )
    from recjudge_tui.store.answers import Cell

    return f"{first_label} to {now}", Cell(*a, *b)


def summary_words(row: Row, names: tuple[str, str], questions: int, symbols: Glyphs) -> list[Content]:
    """Sentences on the number and direction of changes, the test, adjusted for all `questions`, the means, and the
    cases not in n, if any.
    """
    first, second = (one_line(name, 24) for name in names)
    parts = ((f"only {first}", row["only_a"]), (f"only {second}", row["only_b"]), ("failed", row["failed"]))
    outside = ", ".join(f"{name} {count:,}" for name, count in parts if count)
    apart = [Content(f"not in n: {outside}")] if outside else []
    if row["changed"] is None or not row["n"]:
        return [Content.styled(f"n {row['n']:,}", "bold"), _note(row), *apart]
    ways = "" if row["up"] is None else f": {row['up']:,} {row['up_is']}, {row['down']:,} {row['down_is']}"
    return [
        Content.assemble((f"{row['changed']:,} of {row['n']:,} changed ({row['share']:.1%})", "bold"), ways),
        _test(row, questions, symbols),
        *([Content(means)] if (means := _means(row)) else []),
        *apart,
    ]


def _note(row: Row) -> Content:
    return Content.styled(one_line(row["note"], 300), "$warning")


def _test(row: Row, questions: int, symbols: Glyphs) -> Content:
    if row["test"] is None:
        return _note(row)
    words = f"{row['test']}: "
    if row["statistic"] is not None:
        words += f"chi-sq {row['statistic']:.2f}, df {row['df']}, "
    symmetry = row["p_symmetry_holm"]
    rest = "" if symmetry is None else f" {symbols.dot} symmetry {_p(symmetry)}"
    rest += f" {symbols.dot} Holm's correction for {questions} questions" if questions > 1 else ""
    note = f" {symbols.dot} {one_line(row['note'], 200)}" if row["note"] else ""
    return Content.assemble(words, (_p(row["p_holm"]), "bold"), rest, (note, "$warning"))


def _p(p: object) -> str:
    assert isinstance(p, float)
    return "p < 0.0001" if p < 0.0001 else f"p {p:.4f}"


def _means(row: Row) -> str:
    if row["mean_a"] is None:
        return ""
    words = f"mean {row['mean_a']:.2f} to {row['mean_b']:.2f}: {row['difference']:+.2f}"
    return words if row["ci_low"] is None else f"{words}, {CI} {row['ci_low']:+.2f} to {row['ci_high']:+.2f}"


def case_cells(
    case: ChangedCase, width: int, symbols: Glyphs, *, ordered: bool = True
) -> list[tuple[str, str]]:
    """(text, kind) of one line of the list, `width` cells in all; kind is up, down, same or empty. Categories that are not
    `ordered` have no up and down."""
    before, now = (short_label(one_line(label, 40)) for label in case.labels)
    kind = "up" if case.value_b > case.value_a else "down" if case.value_b < case.value_a else "same"
    if kind != "same" and not ordered:
        kind = ""
    sign = {"up": "+", "down": "-", "same": "=", "": " "}[kind]
    change = fit(f" {sign} {before} {symbols.crumb} {now}", _SAID, symbols)
    head = f" {case_number(case.case_id)}"
    user_cells = _user_cells(width)
    user = fit(f" {middle(one_line(case.user_id, 40), user_cells - 2, symbols)}", user_cells, symbols)
    rest = max(width - len(head) - _SAID - user_cells, 0)
    item = f" {case.item_id}" if case.item_id else ""
    occasion = occasion_text(case.occasion) if case.several_occasions else ""
    about = (f"{occasion} {symbols.dot} " if occasion else "") + case.systems + item
    systems = fit(f" {one_line(about, 160)}", rest, symbols)
    cells = [(head, ""), (change, kind), (user, ""), (systems, "dim")]
    whole = "".join(text for text, _ in cells)
    return cells if len(head) + _SAID + user_cells + rest <= width else [(fit(whole, width, symbols), "")]


def _user_cells(width: int) -> int:
    """The width of the column of users: two fifths of what it shares with the systems."""
    return min(max((width - 8 - _SAID) * 2 // 5, _USER[0]), _USER[1])


def case_head(width: int, symbols: Glyphs) -> str:
    head = (
        fit(" case", 8, symbols)
        + fit("   change", _SAID, symbols)
        + fit(" user", _user_cells(width), symbols)
        + " systems"
    )
    return fit(head, width, symbols)


def diff_words(prompt: PromptChange, differences: tuple[str, ...], symbols: Glyphs) -> Content:
    """The settings that differ, then the diff. Each line keeps its sign, and colour only repeats it."""
    lines = [Content.styled(f"{symbols.dot} {one_line(text, 400)}", "dim") for text in differences]
    if prompt.note:
        lines.append(Content.styled(f"{symbols.dot} {one_line(prompt.note, 400)}", "dim"))
    for at, line in enumerate(prompt.lines):
        shown = safe_text(line[:_LONGEST_LINE]).replace("\n", " ").replace("\t", "    ")
        if len(line) > _LONGEST_LINE:
            shown += f"{symbols.cut} {number(len(line) - _LONGEST_LINE)} more characters"
        lines.append(Content.styled(shown, "bold" if at < 2 else _LINE_STYLES.get(line[:1], "")))
    return Content("\n").join(lines)


# ---- change list -------------------------------------------------------------------------------------------------


KEPT_WINDOWS = 8


class CasesHead(Widget):
    """The headings of the list, which begin after the mark of the cursor."""

    DEFAULT_CSS = """
    CasesHead { height: 1; color: $text-muted; text-wrap: nowrap; }
    """

    def render(self) -> Content:
        return Content(f" {case_head(self.content_size.width - 1, glyphs())}")


class ChangeList(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows `ids`, case ids in the order of the list; the rows come from `read`, in windows.

    The cursor belongs to a case and follows it when the list changes; if the case is gone, it goes to the top.
    """

    DEFAULT_CSS = """
    ChangeList { height: 1fr; background: $background; scrollbar-size-vertical: 1; overflow-x: hidden; }
    ChangeList > .change-list--cursor { background: $block-cursor-background; text-style: bold; }
    ChangeList > .change-list--up { color: $success; }
    ChangeList > .change-list--down { color: $warning; }
    ChangeList > .change-list--dim { text-style: dim; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"change-list--{kind}" for kind in ("cursor", "up", "down", "same", "dim")
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "case", key_display="enter", id="changes.open"),
        Binding("down,j", "move(1)", "next", show=False, key_display="j", id="changes.down"),
        Binding("up,k", "move(-1)", "previous", show=False, key_display="k", id="changes.up"),
        Binding("pagedown,space", "page(1)", "page down", show=False, id="changes.page_down"),
        Binding("pageup,b", "page(-1)", "page up", show=False, id="changes.page_up"),
        Binding("home,g", "first", "first", show=False, key_display="g", id="changes.first"),
        Binding("end,G", "last", "last", show=False, key_display="G", id="changes.last"),
    ]

    class Opened(Message):
        """`enter` on a case."""

        def __init__(self, case_id: int) -> None:
            super().__init__()
            self.case_id = case_id

    def __init__(self, read: Callable[[Sequence[int]], list[ChangedCase]], *, list_id: str) -> None:
        super().__init__(id=list_id)
        self._read = read
        self._windows: Windows[ChangedCase] = Windows(KEPT_WINDOWS, self._read_window)
        self.ids: array[int] = array("q")
        self.cursor = 0
        self._ordered = True

    @property
    def cursor_id(self) -> int | None:
        return self.ids[self.cursor] if self.cursor < len(self.ids) else None

    def show(self, ids: array[int], *, ordered: bool = True) -> None:
        """Another list of cases; changes between categories, which are not `ordered`, have no sign."""
        before = self.cursor_id
        self._ordered = ordered
        self.ids = ids
        self._windows.clear()
        self.cursor = ids.index(before) if before is not None and before in ids else 0
        self.virtual_size = Size(0, len(ids))
        self._into_view()
        self.refresh()

    def _row(self, place: int) -> ChangedCase | None:
        return self._windows.row(place)

    def _read_window(self, start: int, count: int) -> list[ChangedCase | None]:
        ids = self.ids[start : start + count]
        by_id = {row.case_id: row for row in self._read(ids)}
        return [by_id.get(case_id) for case_id in ids]

    def render_line(self, y: int) -> Strip:
        # the scroll bar covers the last cell of a line
        width, base = self.scrollable_content_region.width, self.rich_style
        place = y + self.scroll_offset.y
        if place >= len(self.ids):
            return Strip.blank(width, base)
        here = place == self.cursor
        style = base + (self.get_component_rich_style("change-list--cursor") if here else Style.null())
        mark = (">" if ascii_wanted() else "▌") if here else " "
        row = self._row(place)
        cells = [(" (gone)", "")]
        if row is not None:
            cells = case_cells(row, width - 1, glyphs(), ordered=self._ordered)
        segments = [Segment(mark, style)]
        for text, kind in cells:
            own = (
                self.get_component_rich_style(f"change-list--{kind}", partial=True) if kind else Style.null()
            )
            segments.append(Segment(text, style + own))
        return Strip(segments).adjust_cell_length(width, style).simplify()

    def action_move(self, rows: int) -> None:
        self._move_to(self.cursor + rows)

    def action_page(self, pages: int) -> None:
        self._move_to(self.cursor + max(self.size.height - 1, 1) * pages)

    def action_first(self) -> None:
        self._move_to(0)

    def action_last(self) -> None:
        self._move_to(len(self.ids) - 1)

    def action_open(self) -> None:
        if self.cursor_id is not None:
            self.post_message(self.Opened(self.cursor_id))

    def on_click(self, event: events.Click) -> None:
        if event.y + self.scroll_offset.y < len(self.ids):
            self._move_to(event.y + self.scroll_offset.y)

    def on_resize(self) -> None:
        self._into_view()

    def _move_to(self, place: int) -> None:
        if self.ids:
            before, self.cursor = self.cursor, min(max(place, 0), len(self.ids) - 1)
            self._into_view()
            self.refresh_line(before)
            self.refresh_line(self.cursor)

    def _into_view(self) -> None:
        top, height = self.scroll_offset.y, self.size.height
        if height and not top <= self.cursor < top + height:
            y = self.cursor if self.cursor < top else self.cursor - height + 1
            self.scroll_to(y=y, animate=False, force=True)


# ---- jobs --------------------------------------------------------------------------------------------------------


DIFF_ENDINGS = (".diff", ".patch")


class ComparisonRequest(NamedTuple):
    """The two sides to compare, the question (a protocol and an aspect), and the occasions. An empty side means the
    default."""

    first: str = ""
    second: str = ""
    question: tuple[str, str] = ("", "")
    occasions: OccasionFilter = EVERY_OCCASION


class Comparison(NamedTuple):
    """The two sides on one question. `changes`, `part`, `summary` and `transitions` are None if they share no
    question. `offered` are all possible sides, `questions` those that the two share; `p_holm` and `p_symmetry_holm` of
    the summary adjust for all of these."""

    offered: tuple[tuple[str, str], ...]
    request: ComparisonRequest
    questions: tuple[Meeting, ...]
    changes: Changes | None = None
    part: Part | None = None
    summary: Row | None = None
    notes: tuple[str, ...] = ()
    transitions: Table | None = None
    ids: array[int] = array("q")


def compared(db: Database, project_id: int, request: ComparisonRequest) -> Comparison:
    """The requested comparison; if the two sides do not share the question, the first question that they do share.

    Loads NumPy and SciPy and resamples, so call it in a worker. Raises as `sides_named`, and NotFoundError for an unknown
    context.
    """
    from recjudge_tui.domain.selection import Selection
    from recjudge_tui.project import Project
    from recjudge_tui.reports.changes import (
        compare_sides,
        offered_sides,
        shared_questions,
        sides_named,
        summary,
        transitions,
        usual_sides,
    )
    from recjudge_tui.reports.common.segments import about_occasions

    check_contexts(db, project_id, request.occasions)
    project = Project.numbered(db, project_id)
    offered = offered_sides(project)
    if not request.first:
        usual = usual_sides(project)
        if usual is None:
            return Comparison(offered, request, ())
        request = request._replace(first=usual[0], second=usual[1])
    sides = sides_named(project, request.first, request.second)
    selection = Selection(cases=CaseSelection(request.occasions))
    shared = tuple(shared_questions(project, sides, selection))
    if not shared:
        return Comparison(offered, request, ())
    asked = next((one for one in shared if (one.protocol, one.aspect) == request.question), shared[0])
    changes = compare_sides(project, sides, selection, (asked,))
    told = about_occasions(summary(changes), request.occasions)
    adjusted = changes if len(shared) == 1 else compare_sides(project, sides, selection, shared)
    tested = summary(adjusted).rows[shared.index(asked) if len(shared) > 1 else 0]
    return Comparison(
        offered,
        request._replace(question=(asked.protocol, asked.aspect)),
        shared,
        changes,
        changes.parts[0],
        told.rows[0] | {name: tested[name] for name in ("p_holm", "p_symmetry_holm")},
        tuple(note for note in told.notes if note_kind(note) != "definition"),
        about_occasions(transitions(changes), request.occasions),
        array("q", changes.parts[0].cases().tolist()),
    )


def listed(_: Database, comparison: Comparison, cell: Cell | None) -> array[int]:
    """The cases that changed, or those of one cell of the grid."""
    assert comparison.part is not None
    return array("q", comparison.part.cases(cell).tolist())


def save_cases(db: Database, comparison: Comparison, cell: Cell | None, path: Path) -> tuple[str, ...]:
    """Write the list; raises as `export_table`."""
    from recjudge_tui.reports.changes import cases_table
    from recjudge_tui.reports.common.segments import about_occasions

    assert comparison.changes is not None
    table = cases_table(comparison.changes.on(db), cell)
    return export_table(about_occasions(table, comparison.request.occasions), path)


def save_diff(lines: tuple[str, ...], path: Path) -> tuple[str, ...]:
    """Write a unified diff to a new file; raises RecjudgeError when it exists, StoreError when it cannot be written."""
    if path.suffix.lower() not in DIFF_ENDINGS:
        raise RecjudgeError(
            f"no format for “{path.name}”",
            "The format follows the ending of the file name.",
            f"Use {' '.join(DIFF_ENDINGS)}.",
        )
    if path.exists():
        raise RecjudgeError(f"{path} exists already", next_step="Press e again and give another name.")
    save_text("".join(f"{safe_text(line)}\n" for line in lines), path)
    return ()


# ---- grid --------------------------------------------------------------------------------------------------------


_LEAST, _MOST = 5, 9
_NAME = 18
_CURSOR = "bold #000000 on #e6c34a"


class ChangeGrid(FigureTable):
    """The number under the cursor is in brackets, because the shade of a cell would hide the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "list", key_display="enter", id="compare.list"),
    ]

    def __init__(self, *, grid_id: str) -> None:
        super().__init__(
            id=grid_id,
            cursor_type="cell",
            cell_padding=1,
            cursor_foreground_priority="renderable",
            cursor_background_priority="renderable",
        )
        self._lines: list[tuple[str, Sequence[Text]]] = []
        self._marked = Coordinate(0, 0)

    def fill(self, lines: Sequence[tuple[str, Sequence[Text]]]) -> None:
        """Show other numbers: the name and the cells of each line. The columns have the names of the lines."""
        stood_on = self.cursor_coordinate
        self.clear(columns=True)
        self._lines = list(lines)
        for place, (name, _) in enumerate(self._lines):
            head = Text(one_line(name, _MOST), justify="right")
            # with the brackets of the cursor
            widest = max(cells[place].cell_len + 2 for _, cells in self._lines)
            self.add_column(head, width=max(head.cell_len, widest, _LEAST), key=str(place))
        for name, cells in self._lines:
            self.add_row(*cells, label=Text(f"{one_line(name, _NAME)} "))
        if self.is_valid_coordinate(stood_on):
            self.cursor_coordinate = stood_on
        # Textual loses the row labels if a cell changes before the table was laid out
        self.call_after_refresh(self._mark)

    def on_data_table_cell_highlighted(self) -> None:
        self._mark()

    def _mark(self) -> None:
        before, here = self._marked, self.cursor_coordinate
        self._marked = here
        for place in (before, here):
            if self.is_valid_coordinate(place) and place.row < len(self._lines):
                text = self._lines[place.row][1][place.column]
                marked = Text(f"[{text.plain}]", _CURSOR, justify="right")
                self.update_cell_at(place, marked if place == here else text)


# ---- screen ------------------------------------------------------------------------------------------------------


_DIFF, _LISTED = "prompts.diff", "changed-cases.csv"
_NOBODY = """Nothing has been judged yet.

Press r, then n, to start a run, and i to import labels."""
_ALONE = """A comparison needs two raters who answered the same question, and there are none yet.

Press r to start a run with another judge, or with another prompt under another rater name."""
_APART = """These two raters have no question in common.

Press m to choose others, or r to start a run."""


class CompareScreen(OccasionScreen):
    CSS = """
    CompareScreen .pane { border: round $primary; border-title-color: $accent; }
    CompareScreen .pane:focus, CompareScreen .pane:focus-within { border: round $accent; }
    CompareScreen #grid-pane { height: auto; max-height: 45%; }
    CompareScreen ChangeGrid { height: auto; max-height: 100%; background: $background;
                               scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; }
    CompareScreen #summary { height: auto; max-height: 6; padding: 0 1; scrollbar-size-vertical: 1; }
    CompareScreen.-tall #summary { max-height: 12; }
    CompareScreen #lower { height: 1fr; }
    CompareScreen #cases-pane { width: 1fr; }
    CompareScreen #prompt { width: 1fr; padding: 0 1; display: none; scrollbar-size-vertical: 1; }
    CompareScreen.-prompt #prompt { display: block; }
    CompareScreen.-prompt #cases-pane { display: none; }
    CompareScreen.-wide #prompt, CompareScreen.-wide.-prompt #cases-pane { display: block; }
    CompareScreen.-wide.-same #prompt { display: none; }
    CompareScreen.-same.-prompt #prompt { display: block; }
    CompareScreen #none { display: none; height: 1fr; padding: 1 2; }
    CompareScreen.-none #none { display: block; }
    CompareScreen.-none #grid-pane, CompareScreen.-none #summary, CompareScreen.-none #lower { display: none; }
    .-ascii CompareScreen .pane, .-ascii CompareScreen .pane:focus-within { border: ascii $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "choose", "choose", id="compare.choose"),
        Binding("s", "swap", "swap", id="compare.swap"),
        Binding("o", "cases", "open all", id="compare.cases"),
        Binding("p", "prompt", "prompts", id="compare.prompt"),
        Binding("e", "export", "export", id="compare.export"),
        Binding("r", "runs", "runs", show=False, id="compare.runs"),
        Binding("backspace", "all_changed", "all changed cases", show=False, id="compare.all_changed"),
        Binding(
            "J", "scroll_text(3)", "scroll the prompts or the notes down", show=False, id="compare.text_down"
        ),
        Binding(
            "K", "scroll_text(-3)", "scroll the prompts or the notes up", show=False, id="compare.text_up"
        ),
        *COMMON,
    ]

    def __init__(self, project_id: int) -> None:
        super().__init__()
        self.project_id = project_id
        self.comparison: Comparison | None = None
        self.cell: tuple[str, Cell] | None = None
        self._request = ComparisonRequest()
        self._live = False

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), "Compare")
        yield self.occasion_bar()
        yield Static(Content.styled("computing", "dim"), id="none")
        with Vertical(id="grid-pane", classes="pane"):
            yield ChangeGrid(grid_id="grid")
        with VerticalScroll(id="summary", can_focus=False):
            yield Static(id="summary-text")
        with Horizontal(id="lower"):
            with Vertical(id="cases-pane", classes="pane"):
                yield CasesHead()
                yield ChangeList(self._read, list_id="changes")
            with VerticalScroll(id="prompt", classes="pane"):
                yield Static(id="prompt-text")
        yield KeyLine()

    def on_mount(self) -> None:
        self.add_class("-none")
        self._compute(self._request)

    # ---- the comparison

    def _compute(self, request: ComparisonRequest) -> None:
        self.query_one(TopBar).show(right="computing")
        job = partial(compared, project_id=self.project_id, request=request)
        self.background.start("compare", job, self._show, self._not_compared)

    def occasions_changed(self) -> None:
        self._compute(self._request._replace(occasions=self.occasions))

    def _show(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.occasions_shown()
        self._request, self.cell = comparison.request, None
        shared = comparison.changes is not None
        self.set_class(not shared, "-none")
        if shared:
            self._show_grid(comparison)
            self._show_summary(comparison)
            self._show_prompt(comparison)
            self._show_list(comparison.ids)
            if self.focused is None or not self.focused.display:
                self.query_one(ChangeGrid).focus()
        else:
            reason = _APART if comparison.request.first else _ALONE if comparison.offered else _NOBODY
            self.query_one("#none", Static).update(Content(reason))
            self.set_focus(None)
        self.query_one(TopBar).show(right=self._question())
        self.refresh_bindings()

    def _show_grid(self, comparison: Comparison) -> None:
        assert comparison.part is not None
        names = " to ".join(one_line(name, 24) for name in self._names(comparison))
        title = f"{names}: before (down), now (across)"
        self.query_one("#grid-pane").border_title = Content(one_line(title, max(self.size.width - 6, 20)))
        self.query_one(ChangeGrid).fill(grid_cells(comparison.part) if comparison.part.levels else [])

    def _question(self) -> str:
        """The question of the comparison, for the top line."""
        comparison = self.comparison
        if comparison is None or comparison.part is None:
            return ""
        asked = comparison.part.meeting
        more = f" ({len(comparison.questions)} questions)" if len(comparison.questions) > 1 else ""
        return one_line(f"{asked.protocol} {asked.aspect}", 40) + more

    def _names(self, comparison: Comparison) -> tuple[str, str]:
        assert comparison.changes is not None
        return comparison.changes.first.name, comparison.changes.second.name

    def _show_summary(self, comparison: Comparison) -> None:
        assert comparison.summary is not None
        symbols = glyphs()
        lines = summary_words(comparison.summary, self._names(comparison), len(comparison.questions), symbols)
        lines += [Content.styled(f"{symbols.dot} {one_line(note, 300)}", "dim") for note in comparison.notes]
        self.query_one("#summary-text", Static).update(Content("\n").join(lines))
        self.query_one("#summary").scroll_home(animate=False)

    def _show_prompt(self, comparison: Comparison) -> None:
        assert comparison.changes is not None
        changes = comparison.changes
        # no difference to show: the list takes the whole width until the user opens the prompts
        self.set_class(not changes.prompt.lines and not changes.differences, "-same")
        pane = self.query_one("#prompt")
        prompts = [name for name in (changes.prompt.first, changes.prompt.second) if name]
        pane.border_title = Content(
            one_line(f"Prompts {' to '.join(dict.fromkeys(prompts))}" if prompts else "Prompts", 60)
        )
        self.query_one("#prompt-text", Static).update(
            diff_words(changes.prompt, changes.differences, glyphs())
        )
        pane.scroll_home(animate=False)

    def runs_changed(self, active: list[ActiveRun]) -> None:
        super().runs_changed(active)
        live = any(run.project_id == self.project_id for run in active)
        ended, self._live = self._live and not live, live
        if ended:
            self._compute(self._request)

    def _not_compared(self, error: RecjudgeError) -> None:
        self.host.show_error(error)
        self.query_one(TopBar).show(right=self._question())
        self.occasions_refused()
        if self.comparison is None:
            self.query_one("#none", Static).update(Content("No comparison. Press m to choose the raters."))

    # ---- the list

    def _read(self, ids: Sequence[int]) -> list[ChangedCase]:
        comparison = self.comparison
        if comparison is None or comparison.changes is None or comparison.part is None:
            return []
        return comparison.changes.on(self.host.db).listed(comparison.part.meeting, ids)

    def _show_list(self, ids: array[int]) -> None:
        name = self.cell[0] if self.cell else "changed"
        pane = self.query_one("#cases-pane")
        pane.border_title = Content(f"{number(len(ids))} {name}")
        pane.border_subtitle = Content("backspace: all changed cases" if self.cell else "")
        part = self.comparison.part if self.comparison else None
        self.query_one(ChangeList).show(ids, ordered=part is None or part.ordered)

    @on(DataTable.CellSelected)
    def _list_cell(self, event: DataTable.CellSelected) -> None:
        comparison = self.comparison
        if comparison is None or comparison.part is None:
            return
        self.remove_class("-prompt")
        self.cell = cell_at(comparison.part, event.coordinate.row, event.coordinate.column)
        self._list(comparison)
        self.query_one(ChangeList).focus()

    def _list(self, comparison: Comparison) -> None:
        cell = self.cell[1] if self.cell else None
        self.background.start("list", partial(listed, comparison=comparison, cell=cell), self._show_list)

    def action_all_changed(self) -> None:
        if self.cell is not None and self.comparison is not None:
            self.cell = None
            self._list(self.comparison)

    @on(ChangeList.Opened)
    def _open_case(self, message: ChangeList.Opened) -> None:
        self._open_cases((message.case_id,), f"case {case_number(message.case_id)}", "")

    def action_cases(self) -> None:
        """Opens all listed cases, with the verdicts of both sides."""
        comparison, ids = self.comparison, self.query_one(ChangeList).ids
        if comparison is None or comparison.changes is None or not ids:
            self.notify("No case is listed.", severity="warning", markup=False)
            return
        changes = comparison.changes
        judges = tuple(whole_term("judge", side.rater) for side in (changes.first, changes.second))
        assert comparison.part is not None
        aspect = Term("aspect", ":", comparison.part.meeting.aspect)
        occasions = occasion_terms(comparison.request.occasions)
        name = f"{' to '.join(self._names(comparison))}: {self.cell[0] if self.cell else 'changed'}"
        self._open_cases(tuple(ids), name, VerdictFilter((*judges, aspect, *occasions)).text())

    def _open_cases(self, cases: tuple[int, ...], name: str, filter_text: str) -> None:
        from recjudge_tui.tui.triage import CasesScreen

        self.app.push_screen(CasesScreen(self.project_id, filter_text, cases, name))

    # ---- other keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("swap", "cases", "prompt", "export", "scroll_text", "all_changed"):
            return self.comparison is not None and self.comparison.changes is not None and self.takes_keys
        if action == "choose":
            return self.comparison is not None and len(self.comparison.offered) > 1 and self.takes_keys
        return super().check_action(action, parameters)

    def action_choose(self) -> None:
        from recjudge_tui.tui.dialogs import ChoiceField, ChoiceForm

        comparison = self.comparison
        if comparison is None:
            return
        questions = [
            (str(at), f"{pair.protocol} {pair.aspect}") for at, pair in enumerate(comparison.questions)
        ]
        keys = [(pair.protocol, pair.aspect) for pair in comparison.questions]
        here = str(keys.index(comparison.request.question)) if comparison.request.question in keys else "0"
        picks = (
            ChoiceField("first", "from", comparison.offered, comparison.request.first),
            ChoiceField(
                "second", "to", comparison.offered, comparison.request.second or comparison.offered[-1][0]
            ),
            ChoiceField("question", "question", questions, here),
        )
        self.app.push_screen(ChoiceForm(picks), partial(self._chosen, keys=keys))

    def _chosen(self, chosen: dict[str, str] | None, keys: list[tuple[str, str]]) -> None:
        if chosen is not None:
            question = keys[int(chosen["question"])] if keys else ("", "")
            self._compute(ComparisonRequest(chosen["first"], chosen["second"], question, self.occasions))

    def action_swap(self) -> None:
        self._compute(self._request._replace(first=self._request.second, second=self._request.first))

    def action_prompt(self) -> None:
        """Switch to the prompts and back; in a wide window they are beside the list anyway."""
        away = self.query_one("#prompt").has_focus
        self.set_class(not away, "-prompt")
        self.query_one(ChangeList if away else "#prompt").focus()

    def action_scroll_text(self, lines: int) -> None:
        prompt = self.query_one("#prompt")
        (prompt if prompt.display else self.query_one("#summary")).scroll_relative(y=lines, animate=False)

    def action_step_back(self) -> None:
        if self.has_class("-prompt"):
            self.remove_class("-prompt")
            self.query_one(ChangeList).focus()
        elif self.cell is not None:
            self.action_all_changed()
        else:
            self.action_leave()

    # ---- export

    def action_export(self) -> None:
        name, what = "transitions.csv", "transitions"
        if self.query_one("#prompt").has_focus:
            name, what = _DIFF, "differences of the prompts"
        elif self.query_one(ChangeList).has_focus:
            name, what = _LISTED, "cases listed"
        hint = format_hint(f"The {what} are")
        if name == _DIFF:
            hint = f"The {what} are written to this file: {' '.join(DIFF_ENDINGS)}"
        comparison, cell = self.comparison, self.cell[1] if self.cell else None
        if comparison is not None and comparison.changes is not None:
            self.ask_file(name, hint, partial(_write, comparison=comparison, cell=cell, name=name, what=what))


def _write(
    db: Database, path: Path, comparison: Comparison, cell: Cell | None, name: str, what: str
) -> WrittenFile:
    """Write a file; `name` is the proposed file name, which also says what to write."""
    assert comparison.changes is not None
    assert comparison.transitions is not None
    if name == _DIFF:
        notes = save_diff(comparison.changes.prompt.lines, path)
    elif name == _LISTED:
        notes = save_cases(db, comparison, cell, path)
    else:
        notes = export_table(comparison.transitions, path)
    return WrittenFile(path, what[:1].upper() + what[1:], notes)
