"""The right half of triage: one case, scrolling."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from recjudge_tui.tui.look import glyphs

if TYPE_CHECKING:
    from recjudge_tui.store.case_detail import CaseDetail


class CasePanel(VerticalScroll, inherit_bindings=False):
    DEFAULT_CSS = """
    CasePanel { scrollbar-size-vertical: 1; scrollbar-gutter: stable; padding: 0 0 0 1; }
    CasePanel > Static { width: 100%; height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_down", "scroll down", show=False, id="case.down"),
        Binding("k,up", "scroll_up", "scroll up", show=False, id="case.up"),
        Binding("pagedown,space", "page_down", "page down", show=False, id="case.page_down"),
        Binding("pageup,b", "page_up", "page up", show=False, id="case.page_up"),
        Binding("home,g", "scroll_home", "top", show=False, id="case.top"),
        Binding("end,G", "scroll_end", "bottom", show=False, id="case.bottom"),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.case: CaseDetail | None = None

    def compose(self) -> ComposeResult:
        yield Static()

    def show(self, case: CaseDetail | None, empty: str = "") -> None:
        """Another case, from its top, or the same read again; without one, a line that says why."""
        again = case is not None and self.case is not None and case.verdict_id == self.case.verdict_id
        self.case = case
        self._lay_out(empty)
        if not again:
            self.scroll_home(animate=False)

    def text(self) -> str:
        """What is shown, all of it."""
        return str(self.query_one(Static).visual)

    def on_resize(self) -> None:
        if self.case is not None:
            self._lay_out()

    def _lay_out(self, empty: str = "") -> None:
        if self.case is None:
            self.border_title = Content("case")
            self.query_one(Static).update(Content.styled(empty, "dim"))
            return
        # what it imports is heavy, and loaded already by whoever read the case
        from recjudge_tui.tui.case_text import case_content, case_title

        width = max(self.scrollable_content_region.width, 20)
        self.border_title = Content(case_title(self.case, glyphs()))
        self.query_one(Static).update(case_content(self.case, width, glyphs()))
