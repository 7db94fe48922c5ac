"""Triage: every verdict of a project, filtered, beside the case behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.timer import Timer

from recjudge_tui.domain.filters import Term, VerdictFilter, parse_filter
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.projects import delete_filter, save_filter, saved_filters
from recjudge_tui.store.verdicts import next_undecided
from recjudge_tui.tui.case import SENT, CasePanel, ReadCase, read_case
from recjudge_tui.tui.decisions import (
    EXPORT_HINT,
    LogWrite,
    Triage,
    case_text,
    copy_text,
    export_list,
    page,
)
from recjudge_tui.tui.dialogs import AskLine, Confirm
from recjudge_tui.tui.row_list import READER, RowList
from recjudge_tui.tui.screens import (
    COMMON,
    IMPORT,
    ChoiceField,
    ExportScreen,
    FilterBar,
    ImportScreen,
    ReadingScreen,
    WrittenFile,
    choice_form,
    write_text,
)
from recjudge_tui.tui.verdict_list import (
    CaseStrip,
    OpeningFilter,
    VerdictList,
    opening_filters,
    verdict_filter_bar,
)
from recjudge_tui.tui.widgets import KeyLine, TopBar, case_number, key_name

if TYPE_CHECKING:
    from recjudge_tui.prompting.trial import SentVerdict
    from recjudge_tui.store.case_detail import CaseDetail


# ---- screen ------------------------------------------------------------------------------------------------------


# below this many columns triage is one pane
ONE_PANE = 100
_GONE = "This verdict no longer exists: its run or import was deleted in the meantime."
_DETAIL_DELAY_S = 0.04
_FIRST_DETAIL_DELAY_S = 0.15
_SENT_HINT = "The file for the request and the reply; .json writes JSON, .sh curl commands, else text."
_ABOUT_VERDICTS = ("triage", "next_undecided", "read", "export", "sent")


class CasesScreen(ReadingScreen, ExportScreen, ImportScreen):
    """`CasesScreen(project_id, "why:swap system:als")` opens it on the cases behind a figure; without a filter it
    opens on the first of `opening_filters` with a verdict, or on all verdicts if no judge has run.

    With `only`, it lists nothing but the verdicts on these cases, and `name` describes them in the top line. The cursor
    starts on the verdict `at`; `given` are verdicts to list in this order, and no others.
    """

    AUTO_FOCUS = "VerdictList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("F", "saved_filters", "use or save a filter", show=False, id="cases.saved_filters"),
        Binding("y", "read('copy')", "copy the case", show=False, id="cases.copy"),
        Binding("Y", "read('save')", "save the case to a file", show=False, id="cases.save"),
        Binding("o", "read('page')", "read the case in the pager", show=False, id="cases.page"),
        Binding("e", "export", "export the list", show=False, id="cases.export"),
        Binding("c", "triage('decide', 'accept')", "accept", id="triage.accept"),
        Binding("x", "triage('decide', 'dismiss')", "dismiss", id="triage.dismiss"),
        Binding("v", "triage('override')", "override", id="triage.override"),
        Binding("w", "triage('ask', 'note')", "write a note", show=False, id="triage.note"),
        Binding("t", "triage('ask', 'tag')", "add a tag", show=False, id="triage.tag"),
        Binding("C", "triage('in_bulk', 'accept')", "accept all listed", show=False, id="triage.accept_all"),
        Binding(
            "X", "triage('in_bulk', 'dismiss')", "dismiss all listed", show=False, id="triage.dismiss_all"
        ),
        Binding("T", "triage('in_bulk', 'tag')", "tag all listed", show=False, id="triage.tag_all"),
        Binding("u", "undo", "undo the last decision", show=False, id="triage.undo"),
        Binding(
            "plus",
            "triage('keep')",
            "keep for examples or labels",
            show=False,
            key_display="+",
            id="triage.keep",
        ),
        Binding("slash", "filter", "filter", key_display="/", id="cases.filter"),
        Binding("backspace", "drop_chip", "remove the last filter", show=False, id="cases.drop_chip"),
        Binding("s", "sort", "sort another way", show=False, id="cases.sort"),
        Binding("Q", "queue", "queue, or all verdicts", show=False, id="cases.queue"),
        Binding("n", "next_undecided", "next open", id="cases.next_marked"),
        Binding("P", "sent", "sent/raw", id="cases.sent"),
        Binding("enter", "unfold", "list", show=False, id="cases.unfold"),
        Binding("right", "step(1)", "next verdict", show=False, id="cases.step_next"),
        Binding("left", "step(-1)", "previous verdict", show=False, id="cases.step_previous"),
        IMPORT,
        Binding("r", "open('runs')", "runs", show=False, id="cases.launch"),
        Binding("a", "open('reports')", "reports", show=False, id="cases.reports"),
        Binding("d", "open('compare')", "compare raters", show=False, id="cases.compare"),
        Binding("p", "prompts", "prompts", show=False, id="cases.prompts"),
        Binding("l", "open('annotate')", "label cases yourself", show=False, id="cases.annotate"),
        *READER,
        *[key for key in COMMON if not (isinstance(key, Binding) and key.id == "app.next_panel")],
    ]

    def __init__(
        self,
        project_id: int,
        filter_text: str | None = None,
        only: tuple[int, ...] | None = None,
        name: str = "",
        at: int | None = None,
        given: tuple[int, ...] = (),
    ) -> None:
        super().__init__()
        self.project_id = project_id
        self._listed_as = name
        self.rows = VerdictList(project_id, only, given)
        self.panel = CasePanel(id="case")
        self.triage = Triage(self, project_id, self.rows, self._triage_changed)
        self._asked_for, self._at = filter_text, at
        # None until a list is shown
        self._was_narrow: bool | None = None
        self._folded_by_itself = False
        # the lists to try when opening, until one has a verdict, and the last one tried
        self._opening_filters: Iterator[OpeningFilter] = iter(())
        self._opening_filter: OpeningFilter | None = None
        self._read_again = False
        self._delay: Timer | None = None

    def compose(self) -> ComposeResult:
        yield TopBar(*self._crumbs())
        yield verdict_filter_bar(self.project_id)
        yield CaseStrip()
        with Horizontal(id="triage"):
            yield self.rows
            yield self.panel
        yield KeyLine()

    def _crumbs(self) -> tuple[str, ...]:
        list_name = "Queue" if self.rows.in_queue else "Cases"
        return "recjudge", self.project_title(self.project_id), list_name, *filter(None, [self._listed_as])

    def on_mount(self) -> None:
        if self._asked_for is None and self.rows.only is None:
            self._opening_filters = opening_filters(self.host.db, self.project_id)
        if self._asked_for:
            self._apply(self._asked_for)
        elif not self._try_next_filter():
            self.rows.list_all()

    # ---- the list

    def _apply(self, text: str | None) -> None:
        if text is not None:
            self.query_one(FilterBar).apply(text)

    def _try_next_filter(self) -> bool:
        """Try the next list on opening; False when all were tried."""
        self._opening_filter = next(self._opening_filters, None)
        if self._opening_filter is None:
            return False
        self._sort_first(self._opening_filter)
        self._apply(self._opening_filter.filter_text)
        return True

    def _sort_first(self, opening: OpeningFilter) -> None:
        self.rows.sort = opening.sort
        self.query_one(TopBar).show(right=opening.about)

    @on(VerdictList.ListShown)
    def _listed(self) -> None:
        if not self.rows.ids and self._try_next_filter():
            return
        self._opening_filters = iter(())
        if self._at is not None:
            self.rows.go_to(self._at)
            self._at = None
        if self._was_narrow is None:
            self._fold_by_room()
        if not self.rows.ids:
            self.panel.show_case(None, self.rows.reason_for_none())
        elif self._read_again:
            self._read_case()
        self._read_again = False
        self.refresh_bindings()
        self.query_one(TopBar).show(crumbs=self._crumbs())
        self.query_one(CaseStrip).show(self.rows)

    @on(FilterBar.Applied)
    def _filter(self, message: FilterBar.Applied) -> None:
        if self._opening_filter is not None and message.text != self._opening_filter.filter_text:
            self._opening_filter = None
            self._sort_first(OpeningFilter(""))
        chosen = parse_filter(message.text)
        self.panel.mark([term.value for term in chosen.terms if term.key == "text"])
        self.rows.choose(chosen)

    @on(FilterBar.Closed)
    def _back_to_list(self) -> None:
        self.rows.focus()
        self.rows.list_if_never_listed()

    def runs_changed(self, active: list[StoredRow]) -> None:
        super().runs_changed(active)
        self.rows.follow_runs(active)

    def imported(self, project: str) -> None:
        self.rows.relist(follow=True)

    def action_filter(self) -> None:
        self.query_one(FilterBar).open()

    def action_drop_chip(self) -> None:
        if self.rows.chosen:
            self._apply(self.rows.chosen.without_last().text())

    def action_saved_filters(self) -> None:
        self._change_filters(lambda _: None, self._offer_filters)

    def _change_filters(
        self, change: Callable[[Database], object], show: Callable[[list[StoredRow]], object]
    ) -> None:
        def job(db: Database) -> list[StoredRow]:
            change(db)
            return saved_filters(db, self.project_id)

        self.background.start("filters", job, show)

    def _offer_filters(self, filters: list[StoredRow]) -> None:
        """The saved filters to apply, to add to and to delete."""
        from recjudge_tui.tui.row_list import Command, Palette

        present = self.rows.chosen.text()
        offered = [
            Command(
                "Apply",
                one_line(f"{saved.name}: {saved.filter}", 200),
                "",
                partial(self._apply, saved.filter),
            )
            for saved in filters
        ]
        if present:
            offered.append(
                Command("Change", one_line(f"Save the current filter: {present}", 200), "", self._ask_name)
            )
        offered += [
            Command("Change", one_line(f"Delete {saved.name}", 100), "", partial(self._ask_to_delete, saved))
            for saved in filters
        ]
        if offered:
            self.app.push_screen(Palette(offered, "Saved filters"), lambda command: command and command.run())
        else:
            key = key_name(self.app, "cases.filter")
            self.notify(
                f"No filter is saved yet. Press {key} to filter the list, then save the filter here.",
                markup=False,
            )

    def _ask_name(self) -> None:
        present = self.rows.chosen.text()

        def save(name: str | None) -> None:
            if name is not None:
                self._change_filters(
                    lambda db: save_filter(db, self.project_id, name, present),
                    lambda _: self.notify(one_line(f"“{name}” saved.", 100), markup=False),
                )

        hint = f"A name for: {one_line(present, 200)}\nAn older filter of that name is replaced."
        self.app.push_screen(AskLine("Save the filter", hint), save)

    def _ask_to_delete(self, saved: StoredRow) -> None:
        def delete(sure: bool | None) -> None:
            if sure:
                self._change_filters(
                    lambda db: delete_filter(db, self.project_id, saved.name),
                    lambda _: self.notify(one_line(f"“{saved.name}” deleted.", 100), markup=False),
                )

        text = f"“{saved.name}”: {saved.filter}"
        self.app.push_screen(Confirm("Delete the saved filter?", text, "delete", "keep"), delete)

    def action_sort(self) -> None:
        self.rows.next_order()

    def action_queue(self) -> None:
        """Switch between the queue and all verdicts of the filter."""
        chosen = self.rows.chosen.without("queue")
        if not self.rows.in_queue:
            chosen = VerdictFilter((*chosen.terms, Term("queue", ":", "any")))
        self._apply(chosen.text())

    @on(CaseStrip.Step)
    def _step(self, message: CaseStrip.Step) -> None:
        self.action_step(message.rows) if message.rows else self.action_unfold()

    def action_step(self, rows: int) -> None:
        self.rows.step(rows)

    def action_next_undecided(self) -> None:
        if self.rows.ids:
            job = partial(next_undecided, ids=self.rows.after_cursor())
            self.background.start("next", job, self._go_to_undecided)

    def _go_to_undecided(self, verdict_id: int | None) -> None:
        if verdict_id is None:
            self.notify("Every verdict after this one has a decision.", markup=False)
        else:
            self.rows.go_to(verdict_id)

    # ---- triage

    def action_triage(self, name: str, *about: str) -> None:
        """Call a method of `Triage`."""
        getattr(self.triage, name)(*about)

    def action_undo(self) -> None:
        self.triage.undo()

    def _triage_changed(self, write: LogWrite) -> None:
        if write.verdicts:
            self._read_again = True
            self.rows.relist(follow=True)
        else:
            self.rows.reload()
            self._read_case()
        self.rows.count_decisions()
        self.query_one(CaseStrip).show_decision(write.decision)

    # ---- the case beside it

    @on(RowList.Moved)
    def _moved(self) -> None:
        """Read the case when the cursor has come to rest."""
        if self._delay is not None:
            self._delay.stop()
        self.query_one(CaseStrip).show(self.rows)
        # reading the first case imports a lot, which would delay the first paint
        first = self.panel.case is None
        self._delay = self.set_timer(_FIRST_DETAIL_DELAY_S if first else _DETAIL_DELAY_S, self._read_case)

    @on(VerdictList.RunEnded)
    def _read_case(self) -> None:
        if (verdict_id := self.rows.verdict_id) is not None:
            job = partial(read_case, verdict_id=verdict_id, sent=self.panel.tab in SENT)
            self.background.start("case", job, partial(self._show_case, verdict_id))

    def _show_case(self, verdict_id: int, read: ReadCase | None) -> None:
        if verdict_id == self.rows.verdict_id:
            self.panel.show_case(read, _GONE)

    def action_turn(self, by: int) -> None:
        super().action_turn(by)
        self._read_sent()

    def action_sent(self) -> None:
        if self.panel.case is not None:
            self.panel.go(SENT[0])
            self._read_sent()

    def _read_sent(self) -> None:
        if self.panel.tab in SENT and self.panel.sent is None:
            self._read_case()

    # ---- one pane: the list folded to a strip above the case

    @on(RowList.Opened)
    def _open_case(self) -> None:
        self.add_class("-reading")
        self.panel.focus()
        self.refresh_bindings()

    def on_resize(self) -> None:
        if self._was_narrow is not None:
            self._fold_by_room()

    def _fold_by_room(self) -> None:
        """Fold the list if there is no room for two panes, so that the reasoning is visible; else unfold it."""
        narrow = self.app.size.width < ONE_PANE
        if narrow == self._was_narrow:
            return
        self._was_narrow = narrow
        opened = self.rows.in_queue or self._opening_filter or self.rows.only is not None
        if not narrow and self._folded_by_itself:
            self.action_unfold()
        elif narrow and self.rows.has_focus and self.rows.ids and opened:
            self._open_case()
            self._folded_by_itself = True

    def action_unfold(self) -> None:
        self._folded_by_itself = False
        self.remove_class("-reading")
        self.rows.focus()
        self.refresh_bindings()

    def action_step_back(self) -> None:
        if (self.has_class("-reading") or self.panel.has_focus) and not self._folded_by_itself:
            self.action_unfold()
        else:
            super().action_step_back()

    def action_leave(self) -> None:
        if self.has_class("-reading") and not self._folded_by_itself:
            self.action_unfold()
        else:
            super().action_leave()

    # ---- writing a case or the list

    def action_read(self, how: str) -> None:
        """Copy the case, or what was sent for it, save it to a file, or read it in the pager."""
        case, sent = self.panel.case, self.panel.sent if self.panel.tab in SENT else None
        if case is None:
            self.notify("No case is shown.", severity="warning", markup=False)
        elif how == "copy" and sent is not None:
            forms = [("text", "text"), ("json", "JSON"), ("curl", "curl")]
            self.app.push_screen(choice_form(ChoiceField("form", "copy as", forms, "text")), self._copy_sent)
        elif how == "copy":
            copy_text(self, case_text(case))
        elif how == "save":
            what = "case" if sent is None else "sent"
            hint = "The file for the case." if sent is None else _SENT_HINT
            name = f"{what}-{case_number(case.case_id)}.txt"
            self.ask_file(name, hint, partial(_save, case=case, sent=sent), f"Save the {what}")
        else:
            try:
                page(self.host, _text_of(case, sent))
            except RecjudgeError as error:
                self.host.show_error(error)

    def _copy_sent(self, chosen: dict[str, str] | None) -> None:
        if chosen is None or self.panel.case is None:
            return
        if text := _text_of(self.panel.case, self.panel.sent, chosen["form"]):
            copy_text(self, text)
        else:
            self.notify("This judge is not asked over HTTP, so there is no curl command.", markup=False)

    def action_export(self) -> None:
        rows = self.rows
        write = partial(
            export_list, project_id=self.project_id, chosen=rows.chosen, sort=rows.sort, only=rows.only,
            listed=rows.whole_list,
        )  # fmt: skip
        self.ask_file("verdicts.csv", EXPORT_HINT, write)

    # ---- other screens

    def action_prompts(self) -> None:
        """The prompts, on the one that asked for this verdict, with its case."""

        def read(db: Database) -> SentVerdict | None:
            from recjudge_tui.prompting.trial import sent_verdict

            verdict = self.rows.verdict_id
            return None if verdict is None else sent_verdict(db, verdict)

        def show(sent: SentVerdict | None) -> None:
            more = {} if sent is None else {"prompt": sent.prompt, "case": (sent.unit, sent.case_id)}
            self.open_screen("prompts", self.project_id, **more)

        self.background.start("prompts", read, show)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "unfold":
            return self.has_class("-reading")
        possible = action not in _ABOUT_VERDICTS or (self.is_mounted and bool(self.rows.ids))
        return super().check_action(action, parameters) if possible else False

    def action_open(self, name: str) -> None:
        self.open_screen(name, self.project_id)


def _text_of(case: CaseDetail, sent: SentVerdict | None, form: str = "text") -> str:
    from recjudge_tui.prompting.trial import sent_text

    return case_text(case) if sent is None else sent_text(sent, form)


def _save(_: Database, path: Path, case: CaseDetail, sent: SentVerdict | None) -> WrittenFile:
    form = {".json": "json", ".sh": "curl"}.get(path.suffix.lower(), "text")
    return write_text(path, _text_of(case, sent, form) + ("" if sent is None else "\n"))
