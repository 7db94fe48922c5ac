"""A grid of counts, from label (row) to label (column); `enter` on a count lists its cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.coordinate import Coordinate

from recjudge_tui.domain.text import one_line
from recjudge_tui.tui.kit.steady_table import FigureTable

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
