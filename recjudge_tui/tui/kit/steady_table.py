"""A DataTable that keeps its row labels and widths when it is filled again, and one of numbers that opens cases."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.widgets import DataTable

Steady = TypeVar("Steady", bound="SteadyTable")


class SteadyTable(DataTable[Text]):
    """Drops cached lines that were painted before its rows were measured.

    Textual's table measures new rows when it is idle. A paint before that is cached without row labels and with
    the widths of the headings, and the measurement then uses those cached rows.
    """

    _filled = False

    def clear(self: Steady, columns: bool = False) -> Steady:
        self._filled = True
        super().clear(columns)
        return self

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


class FigureTable(SteadyTable):
    """A table of numbers. It declares its own `enter`, which opens cases, so that the line of keys shows it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "cases", key_display="enter", id="agreement.cases"),
        Binding("j", "cursor_down", "down", show=False, id="agreement.down"),
        Binding("k", "cursor_up", "up", show=False, id="agreement.up"),
        Binding("l", "cursor_right", "right", show=False, id="agreement.right"),
        Binding("h", "cursor_left", "left", show=False, id="agreement.left"),
    ]
