"""Cases: every verdict of a project, filtered and sorted, with what stands behind each."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Footer, Input, Static

from recjudge_tui.errors import NotFoundError
from recjudge_tui.model.filters import HINT, VerdictFilter, parse_filter
from recjudge_tui.store.attention import ATTENTION, Queue
from recjudge_tui.store.database import Database
from recjudge_tui.store.project_panel import ActiveRun, project_name
from recjudge_tui.store.triage import (
    SORTS,
    VerdictRow,
    filtered_ids,
    first_ids,
    next_marked,
    verdict_rows,
)
from recjudge_tui.store.triage_log import count_triaged
from recjudge_tui.tui.listing import Counted, FirstPage, Listed, More, list_more, list_verdicts
from recjudge_tui.tui.look import bar, glyphs, number
from recjudge_tui.tui.registry import has_screen
from recjudge_tui.tui.screens.base import COMMON
from recjudge_tui.tui.screens.case_output import CaseOutput
from recjudge_tui.tui.screens.filter_actions import FilterActions
from recjudge_tui.tui.screens.triage_actions import TriageActions
from recjudge_tui.tui.verdict_line import header_line
from recjudge_tui.tui.widgets.case_panel import CasePanel
from recjudge_tui.tui.widgets.filter_bar import FilterBar
from recjudge_tui.tui.widgets.top_bar import TopBar
from recjudge_tui.tui.widgets.verdict_list import VerdictList

if TYPE_CHECKING:
    from recjudge_tui.store.case_detail import CaseDetail

FIRST_PAGE = 128
_GONE = "This verdict is gone: its run or its import was deleted meanwhile."
_DETAIL_DELAY_S = 0.04
_FIRST_DETAIL_DELAY_S = 0.15


# a list that takes long to make is made again that much less often while a run goes on
_REST = 10
_ABOUT_VERDICTS = (
    "decide",
    "override",
    "note",
    "tag",
    "keep",
    "next_marked",
    "copy",
    "save",
    "page",
    "export",
)


class CaseRead(Message):
    """What stands behind a verdict; None when it is gone."""

    def __init__(self, verdict_id: int, case: CaseDetail | None) -> None:
        super().__init__()
        self.verdict_id, self.case = verdict_id, case


class MarkedFound(Message):
    def __init__(self, verdict_id: int | None) -> None:
        super().__init__()
        self.verdict_id = verdict_id


class CasesScreen(TriageActions, CaseOutput, FilterActions):
    """`CasesScreen(project_id, "why:swap system:als")` opens it on the cases behind a figure.

    With `only` nothing but the verdicts on these cases is there; `name` says in the top line what they are.
    """

    AUTO_FOCUS = "VerdictList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "filter", key_display="/", id="cases.filter"),
        Binding("backspace", "drop_chip", "drop the last filter", show=False, id="cases.drop_chip"),
        Binding("s", "sort", "sort", show=False, id="cases.sort"),
        Binding("Q", "queue", "queue", id="cases.queue"),
        Binding("n", "next_marked", "next", id="cases.next_marked"),
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
        self, project_id: int, filter_text: str = "", only: tuple[int, ...] | None = None, name: str = ""
    ) -> None:
        super().__init__()
        self.only = only
        self._named = name
        self.project_id = project_id
        self.sort = "id"
        self.chosen = VerdictFilter()
        self.total: int | None = None
        self.triaged = 0
        # decisions that the queue left out when it was made
        self._decided_before: int | None = None
        self._starts: tuple[tuple[str, int], ...] = ()
        self._asked = 0
        self._asked_at = 0.0
        self._rest_until = 0.0
        # the verdict the cursor was on before a first page was shown, and the one it was put on
        self._anchor: int | None = None
        self._first_shown: int | None = None
        self._to_last = False
        self._asked_for = filter_text
        self._listing = False
        self._read_again = False
        self._live = False
        self._delay: Timer | None = None

    def compose(self) -> ComposeResult:
        crumbs = ("Cases", self._named) if self._named else ("Cases",)
        yield TopBar("recjudge", project_name(self.house.db, self.project_id), *crumbs)
        yield FilterBar(_chips, f'{HINT} "free text"', values=self.filter_values)
        with Horizontal(id="triage"):
            with Vertical(id="verdicts"):
                yield Static(id="verdict-header")
                yield VerdictList(self._read, id="verdict-list")
            yield CasePanel(id="case")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        if self._asked_for:
            self.query_one(FilterBar).apply(self._asked_for)
            return
        if self.only is None:
            # the first rows at once; the whole list follows from a worker
            self.query_one(VerdictList).show(filtered_ids(self.house.db, self.project_id, limit=FIRST_PAGE))
        self._relist(follow=True)

    def _read(self, ids: Sequence[int]) -> list[VerdictRow]:
        return verdict_rows(self.house.db, ids)

    # ---- the list

    def _relist(self, *, follow: bool, stay: bool = True, first: bool = False) -> None:
        """Ask for the list again; `first`: it is another one, of which a page is shown until all of it is known."""
        self._listing, self._asked, self._asked_at = True, self._asked + 1, time.monotonic()
        asked = self._asked
        whole = partial(self._list_all, follow=follow, stay=stay)
        if first and self.only is None and self.sort != ATTENTION:
            page = partial(
                first_ids, project_id=self.project_id, chosen=self.chosen, sort=self.sort, limit=FIRST_PAGE
            )
            self.background.start("list", page, lambda found: FirstPage(found, asked, whole))
        else:
            whole()
        self._title()

    def _list_all(self, *, follow: bool, stay: bool) -> None:
        job = partial(
            list_verdicts,
            project_id=self.project_id,
            chosen=self.chosen,
            sort=self.sort,
            only=self.only,
        )
        asked = self._asked
        self.background.start(
            "list", job, lambda found: Listed(*found, asked=asked, follow=follow, stay=stay)
        )

    @on(FirstPage)
    def _first_page(self, message: FirstPage) -> None:
        if message.asked != self._asked:
            return
        message.then()
        if message.ids:
            rows = self.query_one(VerdictList)
            self._anchor = self._anchor or rows.cursor_id
            rows.show(message.ids, follow=False)
            self._first_shown = rows.cursor_id

    @on(Listed)
    def _listed(self, message: Listed) -> None:
        if message.asked != self._asked:
            return
        self._listing = False
        took = time.monotonic() - self._asked_at
        self._rest_until = time.monotonic() + _REST * took
        self.total, self._starts = message.total, message.starts
        rows = self.query_one(VerdictList)
        # who has moved on in the first page meanwhile stays where they are
        moved = self._first_shown not in (None, rows.cursor_id)
        anchor = None if moved else self._anchor
        rows.show(message.ids, follow=message.follow or moved, stay=message.stay, anchor=anchor)
        self._anchor = self._first_shown = None
        if self._to_last:
            self._to_last = False
            rows.action_last()
        if not message.ids:
            self.query_one(CasePanel).show_case(None, self._empty())
        elif self._read_again:
            self._read_case()
        self._read_again = False
        self._decided_before = None
        self.refresh_bindings()
        self._title()
        self._say_why()
        self._count()

    def _follow_run(self) -> None:
        """Show what a run wrote since: by id it stands at the end, in other orders anywhere."""
        ids = self.query_one(VerdictList).ids
        if self.sort != "id" or self.only is not None or not ids:
            self._relist(follow=True)
            return
        self._asked += 1
        asked = self._asked
        job = partial(list_more, project_id=self.project_id, chosen=self.chosen, after=ids[-1])
        self.background.start("list", job, lambda found: More(*found, asked))

    @on(More)
    def _more(self, message: More) -> None:
        if message.asked != self._asked:
            return
        self.total = message.total
        self.query_one(VerdictList).extend(message.ids)
        self._title()

    @on(VerdictList.WantsLast)
    def _wants_last(self) -> None:
        """The end was asked for while only the beginning is known."""
        self._to_last = self._listing

    # ---- triage

    def _count(self) -> None:
        job = partial(count_triaged, project_id=self.project_id, chosen=self.chosen, only=self.only)
        self.background.start("count", job, Counted)

    @on(Counted)
    def _counted(self, message: Counted) -> None:
        if self._decided_before is None:
            self._decided_before = message.triaged
        self.triaged = message.triaged
        self._progress()

    def triage_changed(self, *, verdicts: bool) -> None:
        if verdicts:
            self._read_again = True
            self._relist(follow=True)
        else:
            self.query_one(VerdictList).reload()
            self._read_case()
        self._count()

    def _progress(self) -> None:
        """How far triage has come, where anybody has begun."""
        look, total = glyphs(), len(self.query_one(VerdictList).ids)
        if self.sort == ATTENTION:
            total += self._decided_before or 0
        said = ""
        if self.triaged and total:
            share = bar(self.triaged / total, 8, look)
            said = f"{number(self.triaged)}/{number(total)} triaged {share}"
        self.query_one("#verdicts").border_subtitle = Content(said)

    def _empty(self) -> str:
        if self.sort == ATTENTION and not self.chosen:
            return (
                "Nothing here asks for a look: no disagreement, flip, doubt or failure is left without a decision.\n"
                "Q shows all verdicts, / flag:any those with flagged items."
            )
        if self.chosen:
            return "Nothing matches. / changes the filter, backspace drops its last part."
        return "No verdicts yet. r starts a run; labels come in by i on the projects."

    def _title(self) -> None:
        look, rows = glyphs(), self.query_one(VerdictList)
        count = "counting" if self._listing else f"{number(len(rows.ids))} of {number(self.total or 0)}"
        self.query_one("#verdicts").border_title = Content(f"{count} {look.rule} sort: {self.sort}")

    @on(VerdictList.Resized)
    def _header(self) -> None:
        width = self.query_one(VerdictList).size.width
        self.query_one("#verdict-header", Static).update(Content(" " + header_line(max(width - 1, 1))))

    def runs_changed(self, active: list[ActiveRun]) -> None:
        super().runs_changed(active)
        live = any(run.project_id == self.project_id for run in active)
        ended, self._live = self._live and not live, live
        if ended:
            self._relist(follow=True)
            self._read_case()
        elif live and not self._listing and time.monotonic() > self._rest_until:
            self._follow_run()

    # ---- the case beside it

    @on(VerdictList.Moved)
    def _moved(self, message: VerdictList.Moved) -> None:
        """Read the case when the cursor has come to rest."""
        if self._delay is not None:
            self._delay.stop()
        self._say_why()
        # reading the first case imports a good deal, which would hold up the first paint
        first = self.query_one(CasePanel).case is None
        self._delay = self.set_timer(_FIRST_DETAIL_DELAY_S if first else _DETAIL_DELAY_S, self._read_case)

    def _say_why(self) -> None:
        """In the queue: for what reason the verdict stands there."""
        rows = self.query_one(VerdictList)
        reason = Queue(rows.ids, self._starts).reason(rows.cursor) if self._starts else ""
        self.query_one(CasePanel).border_subtitle = Content(f"here for: {reason}" if reason else "")

    def _read_case(self) -> None:
        verdict_id = self.query_one(VerdictList).cursor_id
        if verdict_id is not None:
            job = partial(_case, verdict_id=verdict_id)
            self.background.start("case", job, partial(CaseRead, verdict_id))

    @on(CaseRead)
    def _case_read(self, message: CaseRead) -> None:
        if message.verdict_id == self.query_one(VerdictList).cursor_id:
            self.query_one(CasePanel).show_case(message.case, _GONE)

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

    # ---- filter, sort, search

    def action_filter(self) -> None:
        self.query_one(FilterBar).open()

    def action_drop_chip(self) -> None:
        if self.chosen:
            self.query_one(FilterBar).apply(self.chosen.without_last().text())

    @on(FilterBar.Applied)
    def _filter(self, message: FilterBar.Applied) -> None:
        chosen = parse_filter(message.text)
        if chosen != self.chosen or self.total is None:
            self.chosen = chosen
            self._relist(follow=self.total is not None, stay=False, first=True)

    @on(FilterBar.Closed)
    def _back_to_list(self) -> None:
        self.query_one(VerdictList).focus()
        if self.total is None and not self._listing:
            # opened on a filter that could not be read
            self._relist(follow=False)

    def action_sort(self) -> None:
        names = [*SORTS, ATTENTION]
        self._sort_by(names[(names.index(self.sort) + 1) % len(names)])

    def action_queue(self) -> None:
        self._sort_by("id" if self.sort == ATTENTION else ATTENTION)

    def _sort_by(self, sort: str) -> None:
        self.sort, self._starts = sort, ()
        self._relist(follow=False, first=True)

    def action_next_marked(self) -> None:
        rows = self.query_one(VerdictList)
        if rows.ids:
            self.background.start("next", partial(next_marked, ids=rows.ids[rows.cursor + 1 :]), MarkedFound)

    @on(MarkedFound)
    def _go_to_marked(self, message: MarkedFound) -> None:
        if message.verdict_id is None:
            said = "No flagged, flipped or failed verdict without a decision after this one."
            self.notify(said, markup=False)
        else:
            self.query_one(VerdictList).go_to(message.verdict_id)

    # ---- other screens

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if isinstance(self.focused, Input):
            return action in ("peel", "app.command_palette")
        if action == "open":
            return has_screen(str(parameters[0]))
        if action in _ABOUT_VERDICTS:
            return self.is_mounted and bool(self.query_one(VerdictList).ids)
        return super().check_action(action, parameters)

    def action_open(self, name: str) -> None:
        self.open_screen(name, self.project_id)


def _chips(text: str) -> tuple[str, ...]:
    return parse_filter(text).chips()


def _case(db: Database, verdict_id: int) -> CaseDetail | None:
    from recjudge_tui.store.case_detail import case_detail

    try:
        return case_detail(db, verdict_id)
    except NotFoundError:
        return None
