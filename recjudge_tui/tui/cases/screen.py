"""Cases: every verdict of a project, filtered and sorted, with the case behind each.

The screen holds the keys and connects its parts: the filter, the list, the case beside it, triage and what can be written.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input

from recjudge_tui.domain.filters import HINT, Term, VerdictFilter, parse_filter
from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs.progress import ActiveRun
from recjudge_tui.store.verdicts.listing import newest_judged_run, next_undecided
from recjudge_tui.store.verdicts.triage_log import Action
from recjudge_tui.tui.cases.case.panel import CasePanel
from recjudge_tui.tui.cases.output import copy_case, export_list, page_case, save_case
from recjudge_tui.tui.cases.saved_filters import SavedFilters
from recjudge_tui.tui.cases.triage import LogWrite, Triage
from recjudge_tui.tui.cases.verdict_list import VerdictList
from recjudge_tui.tui.cases.verdict_pane import VerdictPane
from recjudge_tui.tui.kit.base_screen import COMMON
from recjudge_tui.tui.kit.completion import Values
from recjudge_tui.tui.kit.exporting import ExportScreen
from recjudge_tui.tui.kit.filter_bar import FilterBar
from recjudge_tui.tui.kit.key_line import KeyLine
from recjudge_tui.tui.kit.top_bar import TopBar

if TYPE_CHECKING:
    from recjudge_tui.store.verdicts.case_detail import CaseDetail

_GONE = "This verdict no longer exists: its run or import was deleted in the meantime."
_DETAIL_DELAY_S = 0.04
_FIRST_DETAIL_DELAY_S = 0.15
_EXPORT_HINT = (
    "The listed verdicts are written to this file. Its ending sets the format: "
    ".csv .jsonl .json .md .tex .html .txt .parquet"
)


_ABOUT_VERDICTS = (
    "decide",
    "override",
    "annotate",
    "keep",
    "next_undecided",
    "copy",
    "save",
    "page",
    "export",
    "sent",
)


class CasesScreen(ExportScreen):
    """`CasesScreen(project_id, "why:swap system:als")` opens it on the cases behind a figure; without a filter, on the queue
    of the newest run, or on all verdicts where no judge has run.

    With `only`, it lists nothing but the verdicts on these cases, and `name` describes them in the top line.
    """

    AUTO_FOCUS = "VerdictList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("F", "saved_filters", "saved filters", show=False, id="cases.saved_filters"),
        Binding("y", "copy", "copy", show=False, id="cases.copy"),
        Binding("Y", "save", "save the case to a file", show=False, id="cases.save"),
        Binding("o", "page", "read the case in the pager", show=False, id="cases.page"),
        Binding("e", "export", "export the list", show=False, id="cases.export"),
        Binding("c", "decide('accept')", "accept", id="triage.accept"),
        Binding("x", "decide('dismiss')", "dismiss", id="triage.dismiss"),
        Binding("v", "override", "override", id="triage.override"),
        Binding("w", "annotate('note')", "write a note", show=False, id="triage.note"),
        Binding("t", "annotate('tag')", "tag", show=False, id="triage.tag"),
        Binding("u", "undo", "undo", show=False, id="triage.undo"),
        Binding("plus", "keep", "keep for examples or labels", show=False, key_display="+", id="triage.keep"),
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
        self.project_id = project_id
        self._named = name
        self.pane = VerdictPane(project_id, only)
        self.rows = self.pane.rows
        self.panel = CasePanel(id="case")
        self.triage = Triage(self, project_id, self.rows, self._triage_changed)
        self._asked_for = filter_text
        # filters to open on, one after the other, until one shows a verdict
        self._first_looks: list[str] = []
        self._read_again = False
        self._delay: Timer | None = None

    def compose(self) -> ComposeResult:
        crumbs = ("Cases", self._named) if self._named else ("Cases",)
        yield TopBar("recjudge", self.project_title(self.project_id), *crumbs)
        yield FilterBar(
            _chips, f'{HINT} "free text"', values=partial(_filter_values, project_id=self.project_id)
        )
        with Horizontal(id="triage"):
            yield self.pane
            yield self.panel
        yield KeyLine()

    def on_mount(self) -> None:
        run = None
        if self._asked_for is None and self.pane.only is None:
            run = newest_judged_run(self.host.db, self.project_id)
        if run is not None:
            self._first_looks = [f"run:{run} queue:any", "queue:any", f"run:{run}"]
            self._look_first()
        elif self._asked_for:
            self._apply(self._asked_for)
        else:
            self.pane.list_all()

    # ---- the list

    def _apply(self, text: str | None) -> None:
        if text is not None:
            self.query_one(FilterBar).apply(text)

    def _look_first(self) -> bool:
        """Open on the next filter that may have something to read; False when all were tried."""
        if not self._first_looks:
            return False
        self._apply(self._first_looks.pop(0))
        return True

    @on(VerdictPane.Listed)
    def _listed(self) -> None:
        if not self.rows.ids and self._look_first():
            return
        self._first_looks.clear()
        if not self.rows.ids:
            self.panel.show_case(None, self._empty())
        elif self._read_again:
            self._read_case()
        self._read_again = False
        self.refresh_bindings()
        self._say_why()

    @on(FilterBar.Applied)
    def _filter(self, message: FilterBar.Applied) -> None:
        self.pane.choose(parse_filter(message.text))

    @on(FilterBar.Closed)
    def _back_to_list(self) -> None:
        self.rows.focus()
        self.pane.list_if_never_listed()

    def runs_changed(self, active: list[ActiveRun]) -> None:
        super().runs_changed(active)
        self.pane.follow_runs(active)

    @on(VerdictPane.RunEnded)
    def _run_ended(self) -> None:
        self._read_case()

    def action_filter(self) -> None:
        self.query_one(FilterBar).open()

    def action_drop_chip(self) -> None:
        if self.pane.chosen:
            self._apply(self.pane.chosen.without_last().text())

    def action_saved_filters(self) -> None:
        self.app.push_screen(SavedFilters(self.project_id, self.pane.chosen.text()), self._apply)

    def action_sort(self) -> None:
        self.pane.next_order()

    def action_queue(self) -> None:
        """Show the queue of what the filter lets through, or all of that."""
        chosen = self.pane.chosen.without("queue")
        if not self.pane.in_queue:
            chosen = VerdictFilter((*chosen.terms, Term("queue", ":", "any")))
        self._apply(chosen.text())

    def action_step(self, rows: int) -> None:
        self.rows.action_move(rows)

    def action_next_undecided(self) -> None:
        if self.rows.ids:
            job = partial(next_undecided, ids=self.rows.ids[self.rows.cursor + 1 :])
            self.background.start("next", job, self._go_to_undecided)

    def _go_to_undecided(self, verdict_id: int | None) -> None:
        if verdict_id is None:
            self.notify("Every verdict after this one has a decision.", markup=False)
        else:
            self.rows.go_to(verdict_id)

    def _empty(self) -> str:
        if self.pane.in_queue:
            return (
                "The queue is empty: every disagreement, flip, uncertain verdict and failure has a decision.\n"
                "Q shows all verdicts; / flag:any shows those with flagged items."
            )
        if self.pane.chosen:
            return "No verdict matches. Press / to change the filter, backspace to remove its last part."
        return "No verdicts yet. Press r to start a run. To import labels, press i on the Projects screen."

    # ---- triage

    def action_decide(self, action: Action) -> None:
        self.triage.decide(action)

    def action_override(self) -> None:
        self.triage.override()

    def action_annotate(self, action: Action) -> None:
        self.triage.ask(action)

    def action_undo(self) -> None:
        self.triage.undo()

    def action_keep(self) -> None:
        self.triage.keep()

    def _triage_changed(self, write: LogWrite) -> None:
        if write.verdicts:
            self._read_again = True
            self.pane.relist(follow=True)
        else:
            self.rows.reload()
            self._read_case()
        self.pane.count_decisions()

    # ---- the case beside it

    @on(VerdictPane.Moved)
    def _moved(self) -> None:
        """Read the case when the cursor has come to rest."""
        if self._delay is not None:
            self._delay.stop()
        self._say_why()
        # reading the first case imports a lot, which would delay the first paint
        first = self.panel.case is None
        self._delay = self.set_timer(_FIRST_DETAIL_DELAY_S if first else _DETAIL_DELAY_S, self._read_case)

    def _say_why(self) -> None:
        """In the queue: why the verdict is in it."""
        reason = self.pane.queue_reason()
        self.panel.border_subtitle = Content(f"reason: {reason}" if reason else "")

    def _read_case(self) -> None:
        verdict_id = self.rows.cursor_id
        if verdict_id is not None:
            job = partial(_case, verdict_id=verdict_id)
            self.background.start("case", job, partial(self._show_case, verdict_id))

    def _show_case(self, verdict_id: int, case: CaseDetail | None) -> None:
        if verdict_id == self.rows.cursor_id:
            self.panel.show_case(case, _GONE)

    @on(VerdictList.Opened)
    def _open_case(self) -> None:
        self.add_class("-reading")
        self.panel.focus()

    def action_peel(self) -> None:
        if self.has_class("-reading") or self.panel.has_focus:
            self.remove_class("-reading")
            self.rows.focus()
        else:
            super().action_peel()

    def action_leave(self) -> None:
        if self.has_class("-reading"):
            self.action_peel()
        else:
            super().action_leave()

    def action_scroll_case(self, lines: int) -> None:
        self.panel.scroll_relative(y=lines, animate=False)

    # ---- writing a case or the list

    def action_copy(self) -> None:
        if case := self._shown_case():
            copy_case(self, case)

    def action_page(self) -> None:
        if case := self._shown_case():
            page_case(self, case)

    def action_save(self) -> None:
        if case := self._shown_case():
            save_case(self, case)

    def _shown_case(self) -> CaseDetail | None:
        if self.panel.case is None:
            self.notify("No case is shown.", severity="warning", markup=False)
        return self.panel.case

    def action_export(self) -> None:
        write = partial(
            export_list,
            project_id=self.project_id,
            chosen=self.pane.chosen,
            sort=self.pane.sort,
            only=self.pane.only,
        )
        self.ask_file("verdicts.csv", _EXPORT_HINT, write)

    # ---- other screens

    def action_sent(self) -> None:
        from recjudge_tui.tui.cases.sent_screen import SentScreen

        verdict_id = self.rows.cursor_id
        if verdict_id is not None:
            self.app.push_screen(SentScreen(self.project_id, verdict_id))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if isinstance(self.focused, Input):
            return action in ("peel", "app.command_palette")
        if action in _ABOUT_VERDICTS:
            return self.is_mounted and bool(self.rows.ids)
        return super().check_action(action, parameters)

    def action_open(self, name: str) -> None:
        self.open_screen(name, self.project_id)


def _chips(text: str) -> tuple[str, ...]:
    return parse_filter(text).chips()


def _filter_values(db: Database, project_id: int) -> Values:
    from recjudge_tui.store.verdicts.filter_values import filter_values

    return filter_values(db, project_id)


def _case(db: Database, verdict_id: int) -> CaseDetail | None:
    from recjudge_tui.store.verdicts.case_detail import case_detail

    try:
        return case_detail(db, verdict_id)
    except NotFoundError:
        return None
