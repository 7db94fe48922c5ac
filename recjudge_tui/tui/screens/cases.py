"""Cases: every verdict of a project, filtered and sorted, with what stands behind each."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Footer, Input, Static

from recjudge_tui.errors import RecjudgeError
from recjudge_tui.model.filters import HINT, VerdictFilter, parse_filter
from recjudge_tui.model.text import one_line
from recjudge_tui.store.case_sets import verdicts_on
from recjudge_tui.store.database import Database
from recjudge_tui.store.project_panel import ActiveRun, project_name
from recjudge_tui.store.triage import (
    SORTS,
    VerdictRow,
    count_verdicts,
    filtered_ids,
    next_marked,
    verdict_rows,
)
from recjudge_tui.tui.look import case_number, glyphs, number, plural
from recjudge_tui.tui.registry import has_screen
from recjudge_tui.tui.screens.base import COMMON, BaseScreen
from recjudge_tui.tui.screens.dialogs import AskLine
from recjudge_tui.tui.verdict_line import header_line
from recjudge_tui.tui.widgets.case_panel import CasePanel
from recjudge_tui.tui.widgets.filter_bar import FilterBar
from recjudge_tui.tui.widgets.top_bar import TopBar
from recjudge_tui.tui.widgets.verdict_list import VerdictList

if TYPE_CHECKING:
    from recjudge_tui.reports.verdict_export import Written
    from recjudge_tui.store.case_detail import CaseDetail

FIRST_PAGE = 128
_DETAIL_DELAY_S = 0.04
_FIRST_DETAIL_DELAY_S = 0.15


class Listed(Message):
    """The list for a filter and a sort; `total` is all verdicts of the project."""

    def __init__(self, ids: array[int], total: int, *, follow: bool, stay: bool) -> None:
        super().__init__()
        self.ids, self.total, self.follow, self.stay = ids, total, follow, stay


class CaseRead(Message):
    def __init__(self, case: CaseDetail) -> None:
        super().__init__()
        self.case = case


class MarkedFound(Message):
    def __init__(self, verdict_id: int | None) -> None:
        super().__init__()
        self.verdict_id = verdict_id


class Exported(Message):
    def __init__(self, path: Path, written: Written) -> None:
        super().__init__()
        self.path, self.written = path, written


class CasesScreen(BaseScreen):
    """`CasesScreen(project_id, "why:swap system:als")` opens it on the cases behind a figure.

    With `only` nothing but the verdicts on these cases is there; `name` says in the top line what they are.
    """

    AUTO_FOCUS = "VerdictList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "filter", key_display="/", id="cases.filter"),
        Binding("backspace", "drop_chip", "drop the last filter", show=False, id="cases.drop_chip"),
        Binding("s", "sort", "sort", id="cases.sort"),
        Binding("n", "next_marked", "next marked", id="cases.next_marked"),
        Binding("y", "copy", "copy", id="cases.copy"),
        Binding("Y", "save", "save the case to a file", show=False, id="cases.save"),
        Binding("e", "export", "export", id="cases.export"),
        Binding("J", "scroll_case(3)", "scroll the case down", show=False, id="cases.scroll_down"),
        Binding("K", "scroll_case(-3)", "scroll the case up", show=False, id="cases.scroll_up"),
        Binding("right", "step(1)", "next verdict", show=False, id="cases.step_next"),
        Binding("left", "step(-1)", "previous verdict", show=False, id="cases.step_previous"),
        Binding("r", "launch", "runs", show=False, id="cases.launch"),
        Binding("a", "agreement", "agreement", show=False, id="cases.agreement"),
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
        self._asked_for = filter_text
        self._listing = False
        self._live = False
        self._delay: Timer | None = None

    def compose(self) -> ComposeResult:
        crumbs = ("Cases", self._named) if self._named else ("Cases",)
        yield TopBar("recjudge", project_name(self.house.db, self.project_id), *crumbs)
        yield FilterBar(_chips, f'{HINT} "free text"')
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

    def _relist(self, *, follow: bool, stay: bool = True, since: array[int] | None = None) -> None:
        """Ask for the list again; with `since` only for what came after it."""
        self._listing = True
        job = partial(
            _list, project_id=self.project_id, chosen=self.chosen, sort=self.sort, since=since, only=self.only
        )
        self.background.start("list", job, lambda found: Listed(*found, follow=follow, stay=stay))
        self._title()

    @on(Listed)
    def _listed(self, message: Listed) -> None:
        self._listing = False
        self.total = message.total
        rows = self.query_one(VerdictList)
        rows.show(message.ids, follow=message.follow, stay=message.stay)
        if not message.ids:
            self.query_one(CasePanel).show(None, self._empty())
        self._title()

    def _empty(self) -> str:
        if self.chosen:
            return "Nothing matches. / changes the filter, backspace drops its last part."
        return "No verdicts yet. r starts a run; labels come in by i on the projects."

    def _title(self) -> None:
        look, rows = glyphs(), self.query_one(VerdictList)
        count = "counting" if self._listing else f"{number(len(rows.ids))} of {number(self.total or 0)}"
        self.query_one("#verdicts").border_title = Content(f"{count} {look.rule} sort: {self.sort}")

    def on_resize(self) -> None:
        self.call_after_refresh(self._header)

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
        elif live and not self._listing:
            self._relist(follow=True, since=self.query_one(VerdictList).ids if self.sort == "id" else None)

    # ---- the case beside it

    @on(VerdictList.Moved)
    def _moved(self, message: VerdictList.Moved) -> None:
        """Read the case when the cursor has come to rest."""
        if self._delay is not None:
            self._delay.stop()
        # reading the first case imports a good deal, which would hold up the first paint
        first = self.query_one(CasePanel).case is None
        self._delay = self.set_timer(_FIRST_DETAIL_DELAY_S if first else _DETAIL_DELAY_S, self._read_case)

    def _read_case(self) -> None:
        verdict_id = self.query_one(VerdictList).cursor_id
        if verdict_id is not None:
            self.background.start("case", partial(_case, verdict_id=verdict_id), CaseRead)

    @on(CaseRead)
    def _case_read(self, message: CaseRead) -> None:
        if message.case.verdict_id == self.query_one(VerdictList).cursor_id:
            self.query_one(CasePanel).show(message.case)

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
            self._relist(follow=self.total is not None, stay=False)

    @on(FilterBar.Closed)
    def _back_to_list(self) -> None:
        self.query_one(VerdictList).focus()
        if self.total is None and not self._listing:
            # opened on a filter that could not be read
            self._relist(follow=False)

    def action_sort(self) -> None:
        names = list(SORTS)
        self.sort = names[(names.index(self.sort) + 1) % len(names)]
        self._relist(follow=False)

    def action_next_marked(self) -> None:
        rows = self.query_one(VerdictList)
        if rows.ids:
            self.background.start("next", partial(next_marked, ids=rows.ids[rows.cursor + 1 :]), MarkedFound)

    @on(MarkedFound)
    def _go_to_marked(self, message: MarkedFound) -> None:
        if message.verdict_id is None:
            self.notify("No flagged, flipped or failed verdict after this one.", markup=False)
        else:
            self.query_one(VerdictList).go_to(message.verdict_id)

    # ---- out of the app

    def action_copy(self) -> None:
        text = self._case_text()
        if text is not None:
            self.app.copy_to_clipboard(text)
            self.notify("The case is copied.", markup=False)

    def action_save(self) -> None:
        text, case = self._case_text(), self.query_one(CasePanel).case
        if text is None or case is None:
            return
        name = f"case-{case_number(case.case_id)}.txt"
        hint = "The file to write the case to; it must not exist yet."
        self.app.push_screen(AskLine("Save the case", hint, name), partial(self._save, text=text))

    def _case_text(self) -> str | None:
        case = self.query_one(CasePanel).case
        if case is None:
            self.notify("No case is shown.", severity="warning", markup=False)
            return None
        from recjudge_tui.tui.case_text import case_content, case_title

        title = case_title(case, glyphs())
        return f"{title}\n{case_content(case, 100, glyphs(), longest=10_000_000).plain}\n"

    def _save(self, name: str | None, text: str) -> None:
        if name is None:
            return
        path = Path(name).expanduser()
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            self.house.show_error(
                RecjudgeError(f"{path} exists already", next_step="Press Y again and give another name.")
            )
        except OSError as error:
            self.house.show_error(RecjudgeError(f"{path} cannot be written", f"{error.strerror}."))
        else:
            self.notify(one_line(f"Saved to {path}.", 200), markup=False)

    def action_export(self) -> None:
        hint = "The verdicts on the screen go to this file; its ending says the form: .csv .jsonl .json"
        self.app.push_screen(AskLine("Export", hint, "verdicts.csv"), self._export)

    def _export(self, name: str | None) -> None:
        if name is None:
            return
        path = Path(name).expanduser()
        job = partial(_export, project_id=self.project_id, filter_text=self.chosen.text(), path=path)
        self.background.start("export", job, lambda written: Exported(path, written))

    @on(Exported)
    def _exported(self, message: Exported) -> None:
        wrote = (
            f"{plural(message.written.rows, 'verdict')} written to {message.path}. {message.written.says()}"
        )
        self.notify(one_line(wrote, 400), markup=False)

    # ---- other screens

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if isinstance(self.focused, Input):
            return action in ("peel", "app.command_palette")
        if action in ("launch", "agreement"):
            return has_screen(action)
        return super().check_action(action, parameters)

    def action_launch(self) -> None:
        self.open_screen("runs", self.project_id)

    def action_agreement(self) -> None:
        self.open_screen("agreement", self.project_id)


def _chips(text: str) -> tuple[str, ...]:
    return parse_filter(text).chips()


def _list(
    db: Database,
    project_id: int,
    chosen: VerdictFilter,
    sort: str,
    since: array[int] | None,
    only: tuple[int, ...] | None,
) -> tuple[array[int], int]:
    if since:
        ids = since + filtered_ids(db, project_id, chosen, sort, after=since[-1])
    else:
        ids = filtered_ids(db, project_id, chosen, sort)
    if only is not None:
        kept = verdicts_on(db, only)
        return array("q", (identity for identity in ids if identity in kept)), len(kept)
    return ids, count_verdicts(db, project_id) if chosen else len(ids)


def _case(db: Database, verdict_id: int) -> CaseDetail:
    from recjudge_tui.store.case_detail import case_detail

    return case_detail(db, verdict_id)


def _export(db: Database, project_id: int, filter_text: str, path: Path) -> Written:
    from recjudge_tui.reports.verdict_export import format_of, write_verdicts

    return write_verdicts(db, project_id, filter_text, format_of(path), path)
