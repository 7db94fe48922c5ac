"""Cases: every verdict of a project, filtered and sorted, with the case behind each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Static

from recjudge_tui.domain.filters import HINT, parse_filter
from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects.projects import project_name
from recjudge_tui.store.verdicts.listing import (
    VerdictRow,
    filtered_ids,
    newest_judged_run,
    next_undecided,
    verdict_rows,
)
from recjudge_tui.store.verdicts.triage_log import count_triaged
from recjudge_tui.tui.cases.output import CaseOutput
from recjudge_tui.tui.cases.panel import CasePanel
from recjudge_tui.tui.cases.saved_filters import FilterActions
from recjudge_tui.tui.cases.triage_actions import TriageActions
from recjudge_tui.tui.cases.verdict_line import header_line
from recjudge_tui.tui.cases.verdict_list import VerdictList
from recjudge_tui.tui.cases.verdict_listing import FIRST_PAGE, VerdictListing
from recjudge_tui.tui.kit.base_screen import COMMON
from recjudge_tui.tui.kit.filter_bar import FilterBar
from recjudge_tui.tui.kit.glyphs import bar, glyphs, number
from recjudge_tui.tui.kit.key_line import KeyLine
from recjudge_tui.tui.kit.top_bar import TopBar

if TYPE_CHECKING:
    from recjudge_tui.store.verdicts.case_detail import CaseDetail

_GONE = "This verdict no longer exists: its run or import was deleted in the meantime."
_DETAIL_DELAY_S = 0.04
_FIRST_DETAIL_DELAY_S = 0.15


_ABOUT_VERDICTS = (
    "decide",
    "override",
    "note",
    "tag",
    "keep",
    "next_undecided",
    "copy",
    "save",
    "page",
    "export",
    "sent",
)


class CasesScreen(VerdictListing, TriageActions, CaseOutput, FilterActions):
    """`CasesScreen(project_id, "why:swap system:als")` opens it on the cases behind a figure; without a filter, on the queue
    of the newest run, or on all verdicts where no judge has run.

    With `only`, it lists nothing but the verdicts on these cases, and `name` describes them in the top line.
    """

    AUTO_FOCUS = "VerdictList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "filter", key_display="/", id="cases.filter"),
        Binding("backspace", "drop_chip", "drop the last filter", show=False, id="cases.drop_chip"),
        Binding("s", "sort", "sort", show=False, id="cases.sort"),
        Binding("Q", "queue", "queue", show=False, id="cases.queue"),
        Binding("n", "next_undecided", "next untriaged", id="cases.next_marked"),
        Binding("P", "sent", "sent/raw", id="cases.sent"),
        Binding("J", "scroll_case(3)", "scroll the case down", show=False, id="cases.scroll_down"),
        Binding("K", "scroll_case(-3)", "scroll the case up", show=False, id="cases.scroll_up"),
        Binding("right", "step(1)", "next verdict", show=False, id="cases.step_next"),
        Binding("left", "step(-1)", "previous verdict", show=False, id="cases.step_previous"),
        Binding("r", "open('runs')", "runs", show=False, id="cases.launch"),
        Binding("a", "open('agreement')", "agreement", show=False, id="cases.agreement"),
        Binding("d", "open('compare')", "compare raters", show=False, id="cases.compare"),
        Binding("p", "open('prompts')", "prompts", show=False, id="cases.prompts"),
        Binding("l", "open('annotate')", "label cases yourself", show=False, id="cases.annotate"),
        *COMMON,
    ]

    def __init__(
        self,
        project_id: int,
        filter_text: str | None = None,
        only: tuple[int, ...] | None = None,
        name: str = "",
    ) -> None:
        super().__init__()
        self.only = only
        self._named = name
        self.project_id = project_id
        self.triaged = 0
        # number of decisions that the queue left out when it was built
        self._decided_before: int | None = None
        self._asked_for = filter_text
        # filters to open on, one after the other, until one shows a verdict
        self._first_looks: list[str] = []
        self._read_again = False
        self._delay: Timer | None = None

    def compose(self) -> ComposeResult:
        crumbs = ("Cases", self._named) if self._named else ("Cases",)
        yield TopBar("recjudge", project_name(self.host.db, self.project_id), *crumbs)
        yield FilterBar(_chips, f'{HINT} "free text"', values=self.filter_values)
        with Horizontal(id="triage"):
            with Vertical(id="verdicts"):
                yield Static(id="verdict-header")
                yield VerdictList(self._read, id="verdict-list")
            yield CasePanel(id="case")
        yield KeyLine()

    def on_mount(self) -> None:
        run = None
        if self._asked_for is None and self.only is None:
            run = newest_judged_run(self.host.db, self.project_id)
        if run is not None:
            self._first_looks = [f"run:{run} queue:any", "queue:any", f"run:{run}"]
            self._look_first()
            return
        if self._asked_for:
            self.query_one(FilterBar).apply(self._asked_for)
            return
        if self.only is None:
            # the first rows are read now; a worker reads the whole list
            self.query_one(VerdictList).show(filtered_ids(self.host.db, self.project_id, limit=FIRST_PAGE))
        self.relist(follow=True)

    def _read(self, ids: Sequence[int]) -> list[VerdictRow]:
        return verdict_rows(self.host.db, ids)

    def _look_first(self) -> bool:
        """Open on the next filter that may have something to read; False when all were tried."""
        if not self._first_looks:
            return False
        self.query_one(FilterBar).apply(self._first_looks.pop(0))
        return True

    def listed(self) -> None:
        if not self.query_one(VerdictList).ids and self._look_first():
            return
        self._first_looks.clear()
        if not self.query_one(VerdictList).ids:
            self.query_one(CasePanel).show_case(None, self._empty())
        elif self._read_again:
            self._read_case()
        self._read_again = False
        self._decided_before = None
        self.refresh_bindings()
        self._say_why()
        self._count()

    def run_ended(self) -> None:
        self._read_case()

    # ---- triage

    def _count(self) -> None:
        job = partial(
            count_triaged, project_id=self.project_id, chosen=self.chosen.without("queue"), only=self.only
        )
        self.background.start("count", job, self._show_count)

    def _show_count(self, triaged: int) -> None:
        if self._decided_before is None:
            self._decided_before = triaged
        self.triaged = triaged
        self._progress()

    def triage_changed(self, *, verdicts: bool) -> None:
        if verdicts:
            self._read_again = True
            self.relist(follow=True)
        else:
            self.query_one(VerdictList).reload()
            self._read_case()
        self._count()

    def _progress(self) -> None:
        """The progress of triage, once it has begun."""
        symbols, total = glyphs(), len(self.query_one(VerdictList).ids)
        if self.in_queue:
            total += self._decided_before or 0
        progress = ""
        if self.triaged and total:
            share = bar(self.triaged / total, 8, symbols)
            progress = f"{number(self.triaged)}/{number(total)} triaged {share}"
        self.query_one("#verdicts").border_subtitle = Content(progress)

    def _empty(self) -> str:
        if self.in_queue:
            return (
                "The queue is empty: every disagreement, flip, uncertain verdict and failure has a decision.\n"
                "Q shows all verdicts; / flag:any shows those with flagged items."
            )
        if self.chosen:
            return "No verdict matches. Press / to change the filter, backspace to remove its last part."
        return "No verdicts yet. Press r to start a run. To import labels, press i on the Projects screen."

    @on(VerdictList.Resized)
    def _header(self) -> None:
        columns = self.query_one(VerdictList).columns
        self.query_one("#verdict-header", Static).update(Content(" " + header_line(columns)))

    # ---- the case beside it

    @on(VerdictList.Moved)
    def _moved(self, message: VerdictList.Moved) -> None:
        """Read the case when the cursor has come to rest."""
        if self._delay is not None:
            self._delay.stop()
        self._say_why()
        # reading the first case imports a lot, which would delay the first paint
        first = self.query_one(CasePanel).case is None
        self._delay = self.set_timer(_FIRST_DETAIL_DELAY_S if first else _DETAIL_DELAY_S, self._read_case)

    def _say_why(self) -> None:
        """In the queue: why the verdict is in it."""
        reason = self.queue_reason()
        self.query_one(CasePanel).border_subtitle = Content(f"reason: {reason}" if reason else "")

    def _read_case(self) -> None:
        verdict_id = self.query_one(VerdictList).cursor_id
        if verdict_id is not None:
            job = partial(_case, verdict_id=verdict_id)
            self.background.start("case", job, partial(self._show_case, verdict_id))

    def _show_case(self, verdict_id: int, case: CaseDetail | None) -> None:
        if verdict_id == self.query_one(VerdictList).cursor_id:
            self.query_one(CasePanel).show_case(case, _GONE)

    @on(VerdictList.Opened)
    def _open_case(self) -> None:
        self.add_class("-reading")
        self.query_one(CasePanel).focus()

    def action_peel(self) -> None:
        panel = self.query_one(CasePanel)
        if self.has_class("-reading") or panel.has_focus:
            self.remove_class("-reading")
            self.query_one(VerdictList).focus()
        else:
            super().action_peel()

    def action_leave(self) -> None:
        if self.has_class("-reading"):
            self.action_peel()
        else:
            super().action_leave()

    def action_scroll_case(self, lines: int) -> None:
        self.query_one(CasePanel).scroll_relative(y=lines, animate=False)

    def action_step(self, rows: int) -> None:
        self.query_one(VerdictList).action_move(rows)

    # ---- search

    def action_next_undecided(self) -> None:
        rows = self.query_one(VerdictList)
        if rows.ids:
            job = partial(next_undecided, ids=rows.ids[rows.cursor + 1 :])
            self.background.start("next", job, self._go_to_undecided)

    def _go_to_undecided(self, verdict_id: int | None) -> None:
        if verdict_id is None:
            self.notify("Every verdict after this one has a decision.", markup=False)
        else:
            self.query_one(VerdictList).go_to(verdict_id)

    # ---- other screens

    def action_sent(self) -> None:
        from recjudge_tui.tui.cases.sent_screen import SentScreen

        verdict_id = self.query_one(VerdictList).cursor_id
        if verdict_id is not None:
            self.app.push_screen(SentScreen(self.project_id, verdict_id))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if isinstance(self.focused, Input):
            return action in ("peel", "app.command_palette")
        if action in _ABOUT_VERDICTS:
            return self.is_mounted and bool(self.query_one(VerdictList).ids)
        return super().check_action(action, parameters)

    def action_open(self, name: str) -> None:
        self.open_screen(name, self.project_id)


def _chips(text: str) -> tuple[str, ...]:
    return parse_filter(text).chips()


def _case(db: Database, verdict_id: int) -> CaseDetail | None:
    from recjudge_tui.store.verdicts.case_detail import case_detail

    try:
        return case_detail(db, verdict_id)
    except NotFoundError:
        return None
