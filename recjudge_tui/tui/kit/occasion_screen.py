"""A screen whose figures are about chosen occasions: a filter of contexts and times, like that of the list of
verdicts.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from recjudge_tui.domain.filters import OCCASION_HINT, OCCASIONS, parse_filter, parse_occasions
from recjudge_tui.domain.occasions import OccasionFilter
from recjudge_tui.store.cases import known_occasions
from recjudge_tui.store.database import Database
from recjudge_tui.tui.kit.completion import Values
from recjudge_tui.tui.kit.exporting import ExportScreen
from recjudge_tui.tui.kit.filter_bar import FilterBar
from recjudge_tui.tui.kit.importing import IMPORT, ImportScreen


class OccasionScreen(ExportScreen, ImportScreen):
    """It yields `occasion_bar()` and computes its figures again in `occasions_changed`.

    It calls `occasions_shown` when they are on the screen, and `occasions_refused` when they cannot be computed.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "filter", key_display="/", id="occasions.filter"),
        IMPORT,
    ]
    project_id: int

    def __init__(self, occasion_text: str = "") -> None:
        super().__init__()
        self.occasion_text = occasion_text
        self._shown_text = ""
        self._any_occasions = False
        self._focus_before: Widget | None = None

    @property
    def occasions(self) -> OccasionFilter:
        return parse_occasions(self.occasion_text)

    @property
    def takes_keys(self) -> bool:
        """Whether keys belong to the screen: no dialog is open, and no filter is being typed."""
        return self.is_current and not isinstance(self.focused, Input)

    def occasion_bar(self) -> FilterBar:
        return FilterBar(_chips, OCCASION_HINT, values=self._values, keys=OCCASIONS)

    def occasions_changed(self) -> None:
        """Compute the figures again."""

    def occasions_shown(self) -> None:
        self._shown_text = self.occasion_text

    def occasions_refused(self) -> None:
        """Back to the occasions that the figures on the screen are about."""
        if self.occasion_text != self._shown_text:
            self.query_one(FilterBar).apply(self._shown_text)

    def on_mount(self) -> None:
        if self.occasion_text:
            self.query_one(FilterBar).apply(self.occasion_text)
        job = partial(known_occasions, project_id=self.project_id)
        self.background.start("occasions", job, self._offer_filter)

    def _offer_filter(self, known: tuple[bool, bool]) -> None:
        self._any_occasions = any(known)
        self.refresh_bindings()

    def _values(self, db: Database) -> Values:
        from recjudge_tui.store.filters import filter_values

        return filter_values(db, self.project_id)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if isinstance(self.focused, Input):
            return action in ("step_back", "app.command_palette")
        if action == "filter":
            return self._any_occasions or bool(self.occasion_text)
        return super().check_action(action, parameters)

    def action_runs(self) -> None:
        self.open_screen("runs", self.project_id)

    def action_import(self) -> None:
        self.ask_import(self.project_title(self.project_id))

    def imported(self, project: str) -> None:
        self.occasions_changed()

    def action_filter(self) -> None:
        self._focus_before = self.focused
        self.query_one(FilterBar).open()

    @on(FilterBar.Applied)
    def _choose_occasions(self, message: FilterBar.Applied) -> None:
        if message.text != self.occasion_text:
            self.occasion_text = message.text
            self.occasions_changed()

    @on(FilterBar.Closed)
    def _leave_filter(self) -> None:
        if self._focus_before is not None:
            self.set_focus(self._focus_before)


def _chips(text: str) -> tuple[str, ...]:
    parse_occasions(text)
    return parse_filter(text).chips()
