"""The figures of one question, one at a time; `enter` on a mark opens the cases behind it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.coordinate import Coordinate
from textual.message import Message
from textual.widgets import DataTable, Static

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.figures.declared import FIGURES
from recjudge_tui.reports.figures.marks import Behind, Figure, Grid
from recjudge_tui.reports.topics import Topic
from recjudge_tui.store.database import Database
from recjudge_tui.tui.figures.grid import CellTable, cell_table
from recjudge_tui.tui.figures.jobs import Shown, cases_behind, export_figure, load_figure
from recjudge_tui.tui.figures.plot_widget import Plot
from recjudge_tui.tui.figures.render import content_of
from recjudge_tui.tui.kit.base_screen import COMMON
from recjudge_tui.tui.kit.click_text import ClickText, clickable
from recjudge_tui.tui.kit.details_pane import DetailsPane
from recjudge_tui.tui.kit.exporting import WrittenFile
from recjudge_tui.tui.kit.glyphs import glyphs, middle
from recjudge_tui.tui.kit.key_line import KeyLine
from recjudge_tui.tui.kit.occasion_screen import OccasionScreen
from recjudge_tui.tui.kit.steady_table import FigureTable
from recjudge_tui.tui.kit.top_bar import TopBar

# figure -> its key
FIGURE_KEYS = dict(zip(FIGURES, "1234567890", strict=True))
_LONGEST_NOTES = 8
# the smallest and the largest width of a column, and the largest height of a line
_CELLS, _TALLEST = (8, 32), 3
_EXPORT_HINT = "The file's ending says what is written: .svg .png .pdf for the figure, .csv .json .md .tex for its numbers"


class Picture(Vertical):
    """The room of the figure. Longer details or more tabs leave less of it."""

    class Resized(Message):
        pass

    def on_resize(self) -> None:
        self.post_message(self.Resized())


class FiguresScreen(OccasionScreen):
    CSS = """
    FiguresScreen #views { height: auto; padding: 0 1; }
    FiguresScreen .pane { border: round $primary; border-title-color: $accent; }
    FiguresScreen .pane:focus-within { border: round $accent; }
    FiguresScreen #picture { height: 1fr; }
    FiguresScreen #picture > * { display: none; }
    FiguresScreen #picture.-grid FigureTable, FiguresScreen #picture.-plot Plot, FiguresScreen #picture.-none #none {
      display: block; }
    FiguresScreen #none { padding: 1 2; }
    FiguresScreen FigureTable { height: 1fr; background: $background; scrollbar-size-vertical: 1;
                              scrollbar-size-horizontal: 1; }
    FiguresScreen #details { max-height: 6; }
    FiguresScreen.-tall #details { max-height: 10; }
    .-ascii FiguresScreen .pane, .-ascii FiguresScreen .pane:focus-within { border: ascii $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *[
            Binding(
                FIGURE_KEYS[name],
                f"figure({name!r})",
                kind.title,
                show=False,
                id=f"views.{name.replace('-', '_')}",
            )
            for name, kind in FIGURES.items()
        ],
        Binding("tab", "turn(1)", "figure", key_display="0-9", priority=True, id="views.next"),
        Binding("shift+tab", "turn(-1)", "previous figure", show=False, priority=True, id="views.previous"),
        Binding("m", "choose", "choose", id="views.choose"),
        Binding("r", "runs", "runs", show=False, id="views.runs"),
        Binding("e", "export", "export", id="views.export"),
        Binding("J", "scroll_details(2)", "scroll the details down", show=False, id="views.details_down"),
        Binding("K", "scroll_details(-2)", "scroll the details up", show=False, id="views.details_up"),
        *COMMON,
    ]

    def __init__(
        self,
        project_id: int,
        topic: Topic,
        name: str,
        chosen: Mapping[str, str],
        occasion_text: str = "",
    ) -> None:
        """`name` is one of FIGURES; `chosen` are values of its options; `occasion_text` is a filter of occasions."""
        super().__init__(occasion_text)
        self.project_id = project_id
        self.topic = topic
        self.figure_name = name
        self.chosen = dict(chosen)
        self.figure: Shown | None = None
        self._cells = CellTable((), ())
        self._cursor = Coordinate(0, 0)
        # the width of a column and the height of a line of the grid
        self._cell_size = (_CELLS[0], 1)

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), "Figures")
        yield self.occasion_bar()
        yield ClickText(id="views")
        with Picture(id="picture", classes="pane -none"):
            # the cursor has a ground of its own, so it needs a text of its own
            yield FigureTable(
                id="grid", cursor_type="cell", cell_padding=1, cursor_foreground_priority="renderable"
            )
            yield Plot(id="plot")
            yield Static(Content.styled("computing", "dim"), id="none")
        yield DetailsPane(id="details", classes="pane")
        yield KeyLine()

    def on_mount(self) -> None:
        self._load(switch=True)

    # ---- the figure

    def _load(self, *, switch: bool = False) -> None:
        self._show_tabs()
        self.query_one("#picture").border_subtitle = Content("computing")
        job = partial(
            load_figure,
            project_id=self.project_id,
            topic=self.topic,
            name=self.figure_name,
            chosen=self.chosen,
            occasions=self.occasions,
            switch=switch,
        )
        self.background.start("picture", job, self._show_figure)

    def occasions_changed(self) -> None:
        self._load()

    def _show_tabs(self) -> None:
        """The figures with their keys, in as many lines as their titles need."""
        lines: list[list[Content]] = [[]]
        left = room = max(self.size.width - 2, 1)
        for name, kind in FIGURES.items():
            tab, current = f"{FIGURE_KEYS[name]} {kind.title}", name == self.figure_name
            text = Content.styled(f"[{tab}]" if current else tab, "bold $accent" if current else "dim")
            if text.cell_length > left:
                lines.append([])
                left = room
            left -= text.cell_length + 1
            lines[-1].append(clickable(text, f"screen.figure({name!r})"))
        self.query_one("#views", Static).update(Content("\n").join(Content(" ").join(line) for line in lines))

    def on_resize(self) -> None:
        self._show_tabs()

    @on(Picture.Resized)
    def _fill_room(self) -> None:
        if self._cells.lines and self._cell_size != self._size_of_cells(self._cells):
            self._show_grid(self._cells, self.query_one(FigureTable))
            self.call_after_refresh(self._mark_cursor)

    def _show_figure(self, figure: Shown) -> None:
        self.figure = figure
        self.occasions_shown()
        if figure.data.topic != self.topic:
            self.chosen.pop("topic", None)
        self.topic, marks = figure.data.topic, figure.data.marks
        self._cells = cell_table(marks, glyphs()) if isinstance(marks, Grid) else CellTable((), ())
        self.query_one(TopBar).show(right=self.topic.text())
        box, table, plot = self.query_one("#picture"), self.query_one(FigureTable), self.query_one(Plot)
        box.border_subtitle = Content("")
        box.border_title = Content(one_line(figure.data.title, max(self.size.width - 6, 20)))
        if marks is not None and not isinstance(marks, Grid):
            plot.show(marks)
        box.set_classes("pane " + ("-grid" if self._cells.lines else "-plot" if self._has_plot else "-none"))
        if self._cells.lines:
            self._show_grid(self._cells, table)
            table.focus()
        elif self._has_plot:
            plot.focus()
        else:
            lines = [f"{glyphs().dot} {one_line(note, 400)}" for note in figure.notes] or ["Nothing to draw."]
            self.query_one("#none", Static).update(
                Content("\n".join([*lines, "", "m chooses another question."]))
            )
            self.set_focus(None)
        # the table loses its row labels when a cell changes before its first layout
        self.call_after_refresh(self._show_details)
        self.refresh_bindings()

    @property
    def _has_plot(self) -> bool:
        marks = None if self.figure is None else self.figure.data.marks
        return marks is not None and not isinstance(marks, Grid) and bool(self.query_one(Plot).rows)

    def _show_grid(self, cells: CellTable, table: FigureTable) -> None:
        cursor = table.cursor_coordinate
        table.clear(columns=True)
        width, height = self._cell_size = self._size_of_cells(cells)
        second = cells.below and height > 1
        self.query_one("#picture").border_subtitle = Content(f"below: {cells.below}" if second else "")
        for place, head in enumerate(cells.heads):
            table.add_column(
                Text(middle(one_line(head), width, glyphs()), justify="right"), width=width, key=str(place)
            )
        for name, line in cells.lines:
            shown = [cell.in_column(width, height, chosen=False) for cell in line]
            table.add_row(*shown, height=height, label=Text(f"{middle(one_line(name), 30, glyphs())} "))
        if table.is_valid_coordinate(cursor):
            table.cursor_coordinate = cursor
        if self._row() is None and len(cells.heads) > 1:
            table.move_cursor(column=table.cursor_column + 1, animate=False)

    def _size_of_cells(self, cells: CellTable) -> tuple[int, int]:
        """The width of a column and the height of a line that fill the room; a higher line has a second figure."""
        longest = min(max(cell_len(name) for name, _ in cells.lines), 30)
        width = (self.size.width - longest - 6) // len(cells.heads) - 2
        height = (self.query_one("#picture").size.height - 1) // len(cells.lines)
        return min(max(width, _CELLS[0]), _CELLS[1]), min(max(height, 1), _TALLEST)

    def _row(self) -> Row | None:
        """The row of the report under the cursor."""
        if self.figure is None:
            return None
        if not self._cells.lines:
            return self.query_one(Plot).row if self._has_plot else None
        cell = self._cells.at(self.query_one(FigureTable).cursor_coordinate)
        return None if cell is None else cell.row

    @on(DataTable.CellHighlighted)
    @on(Plot.Moved)
    def _show_details(self) -> None:
        figure, row, look = self.figure, self._row(), glyphs()
        if figure is None:
            return
        self._mark_cursor()
        lines = [] if row is None else [content_of(figure.data.sentence(row), look)]
        notes = figure.notes[:_LONGEST_NOTES] if self._cells.lines or self._has_plot else ()
        lines += [Content.styled(f"{look.dot} {one_line(note, 400)}", "dim") for note in notes]
        self.query_one(DetailsPane).show(Content("\n").join(lines))

    def _mark_cursor(self) -> None:
        """Put brackets around the value under the cursor."""
        table = self.query_one(FigureTable)
        before, here = self._cursor, table.cursor_coordinate
        self._cursor = here
        for place in (before, here):
            cell = self._cells.at(place)
            if cell is not None and table.is_valid_coordinate(place):
                table.update_cell_at(place, cell.in_column(*self._cell_size, chosen=place == here))

    # ---- keys

    def action_figure(self, name: str) -> None:
        if name != self.figure_name:
            self.figure_name = name
            self.query_one(Plot).chosen = 0
            self._load(switch=True)

    def action_turn(self, by: int) -> None:
        names = list(FIGURES)
        self.action_figure(names[(names.index(self.figure_name) + by) % len(names)])

    def action_choose(self) -> None:
        from recjudge_tui.tui.kit.choice_form import ChoiceForm

        if self.figure is not None:
            self.app.push_screen(ChoiceForm(self.figure.fields), self._choose)

    def _choose(self, chosen: dict[str, str] | None) -> None:
        if chosen is not None:
            self.chosen |= chosen
            self._load()

    def action_export(self) -> None:
        if self.figure is not None:
            self.ask_file(f"{self.figure_name}.svg", _EXPORT_HINT, partial(_write, data=self.figure.data))

    def action_scroll_details(self, lines: int) -> None:
        self.query_one("#details").scroll_relative(y=lines, animate=False)

    @on(DataTable.CellSelected)
    @on(Plot.Opened)
    def _open_cases(self) -> None:
        figure, row = self.figure, self._row()
        if figure is not None and row is not None:
            job = partial(cases_behind, project_id=self.project_id, data=figure.data, row=row)
            self.background.start("behind", job, self._show_cases)

    def _show_cases(self, selection: Behind) -> None:
        from recjudge_tui.tui.cases.screen import CasesScreen

        filter_text, cases, name = selection
        self.app.push_screen(CasesScreen(self.project_id, filter_text, cases, name))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("turn", "figure", "choose", "scroll_details"):
            return self.figure is not None and self.takes_keys
        if action == "export":
            return self.figure is not None and bool(self.figure.data.rows) and self.takes_keys
        return super().check_action(action, parameters)

    def action_step_back(self) -> None:
        self.action_leave()


def _write(_: Database, path: Path, data: Figure) -> WrittenFile:
    return WrittenFile(path, data.name, export_figure(data, path))
