"""The right half of triage: one case, scrollable."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual.content import Content

from recjudge_tui.tui.kit.glyphs import glyphs
from recjudge_tui.tui.kit.text_pane import TextPane

if TYPE_CHECKING:
    from recjudge_tui.store.verdicts.case_detail import CaseDetail


class CasePanel(TextPane):
    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.case: CaseDetail | None = None

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


def _laid_out(case: CaseDetail, width: int) -> Content:
    from recjudge_tui.tui.cases.case.text import case_content

    return case_content(case, width, glyphs())
