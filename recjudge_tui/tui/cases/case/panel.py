"""The right half of triage: one case, scrollable."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget

from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.database import Database
from recjudge_tui.tui.kit.glyphs import glyphs
from recjudge_tui.tui.kit.text_pane import TextPane

if TYPE_CHECKING:
    from recjudge_tui.store.case_detail import CaseDetail


class CasePanel(TextPane):
    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.case: CaseDetail | None = None
        self._reason = ""

    def show_reason(self, reason: str) -> None:
        """Why the verdict is in the queue; empty outside of it. A title that is set paints the whole panel again."""
        if reason != self._reason:
            self._reason = reason
            self.border_subtitle = Content(f"reason: {reason}" if reason else "")

    def show_case(self, case: CaseDetail | None, empty: str = "") -> None:
        """Show another case from its top, or the same case read again; without a case, a line with the reason."""
        again = case is not None and self.case is not None and case.verdict_id == self.case.verdict_id
        self.case = case
        if case is None:
            self.border_title = Content("case")
            self.show(lambda _: Content.styled(empty, "dim"))
            return
        # a heavy import, which reading the case has already loaded
        from recjudge_tui.tui.cases.case.text import case_title

        self.border_title = Content(case_title(case, glyphs()))
        self.show(partial(_laid_out, case), stay=again)


class ListsInShort(Widget):
    """The items that the two lists do not share, in one line below a case that fills the screen."""

    def __init__(self) -> None:
        super().__init__()
        self._case: CaseDetail | None = None

    def show(self, case: CaseDetail | None) -> None:
        self._case = case
        self.set_class(case is None or len(case.slates) != 2, "-none")
        self.refresh()

    def render(self) -> Content:
        if self._case is None:
            return Content("")
        from recjudge_tui.tui.cases.case.lists import lists_in_short

        return lists_in_short(self._case, self.content_size.width, glyphs()) or Content("")


def _laid_out(case: CaseDetail, width: int) -> Content:
    from recjudge_tui.tui.cases.case.text import case_content

    return case_content(case, width, glyphs())


def read_case(db: Database, verdict_id: int) -> CaseDetail | None:
    """The case behind a verdict; None if the verdict no longer exists."""
    from recjudge_tui.store.case_detail import case_detail

    try:
        return case_detail(db, verdict_id)
    except NotFoundError:
        return None
