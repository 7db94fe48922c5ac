"""Triage: every verdict of a project, filtered, beside the case behind it."""

from __future__ import annotations

import os
import shlex
import shutil
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.notifications import Notification, Notify
from textual.timer import Timer

from recjudge_tui.config_file import reader_name
from recjudge_tui.domain.annotation import answer_keys
from recjudge_tui.domain.filters import HINT, Term, VerdictFilter, parse_filter
from recjudge_tui.domain.options import Option
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import NotFoundError, RecjudgeError
from recjudge_tui.project import Project
from recjudge_tui.store import verdicts as stored
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.filters import filter_values
from recjudge_tui.store.projects import delete_filter, save_filter, saved_filters
from recjudge_tui.store.triage import DECISIONS, Action, Choices, choices, decided_among, record, undo_last
from recjudge_tui.tui import screens, verdict_list
from recjudge_tui.tui.case import SENT, CasePanel, ReadCase, case_content, case_title, read_case
from recjudge_tui.tui.dialogs import AskLine, Confirm, PickDialog
from recjudge_tui.tui.form import Form
from recjudge_tui.tui.row_list import READER, Command, Palette, RowList
from recjudge_tui.tui.widgets import KeyLine, TopBar, case_number, key_name, keyed, number, short_label

if TYPE_CHECKING:
    from recjudge_tui.prompting.trial import SentVerdict
    from recjudge_tui.store.case_detail import CaseDetail


# ---- decisions -----------------------------------------------------------------------------------------------------


_DECIDED: dict[Action, str] = {
    "accept": "accepted",
    "dismiss": "dismissed",
    "override": "overridden",
    "tag": "tagged",
}
_UNDONE = {
    "accept": "accepting",
    "dismiss": "dismissing",
    "override": "overriding",
    "note": "the note on",
    "tag": "the tag on",
}
_TEXTS: dict[Action, tuple[str, str]] = {
    "note": ("Note", "A note on this verdict. The filter can search for it."),
    "tag": ("Tag", "One word. tag:WORD in the filter finds it again."),
}


class LogWrite(NamedTuple):
    """Rows added to the triage log (`rows`). `show` is a verdict to go to. `verdicts`: a verdict of the reader was removed,
    or a label added. `decision` is the place in the list and what was decided there. `ask`: what is asked then; nothing was
    written."""

    toast: str
    show: int | None = None
    verdicts: bool = False
    decision: str = ""
    rows: int = 0
    ask: Callable[[], object] | None = None


# ---- screen ------------------------------------------------------------------------------------------------------


# below this many columns triage is one pane
ONE_PANE = 100
_GONE = "This verdict no longer exists: its run or import was deleted in the meantime."
_DETAIL_DELAY_S = 0.04
_FIRST_DETAIL_DELAY_S = 0.15
_SENT_HINT = "The file for the request and the reply; .json writes JSON, .sh curl commands, else text."
_ABOUT_VERDICTS = (
    "decide", "override", "write", "in_bulk", "keep", "next_undecided", "read", "export", "sent"
)  # fmt: skip


class CasesScreen(screens.ReadingScreen, screens.ExportScreen, screens.ImportScreen):
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
        Binding("c", "decide('accept')", "accept", id="triage.accept"),
        Binding("x", "decide('dismiss')", "dismiss", id="triage.dismiss"),
        Binding("v", "override", "override", id="triage.override"),
        Binding("w", "write('note')", "write a note", show=False, id="triage.note"),
        Binding("t", "write('tag')", "add a tag", show=False, id="triage.tag"),
        Binding("C", "in_bulk('accept')", "accept all listed", show=False, id="triage.accept_all"),
        Binding("X", "in_bulk('dismiss')", "dismiss all listed", show=False, id="triage.dismiss_all"),
        Binding("T", "in_bulk('tag')", "tag all listed", show=False, id="triage.tag_all"),
        Binding("u", "undo", "undo the last decision", show=False, id="triage.undo"),
        Binding("plus", "keep", "keep for examples or labels", show=False, key_display="+", id="triage.keep"),
        Binding("slash", "filter", "filter", key_display="/", id="cases.filter"),
        Binding("backspace", "drop_chip", "remove the last filter", show=False, id="cases.drop_chip"),
        Binding("s", "sort", "sort another way", show=False, id="cases.sort"),
        Binding("Q", "queue", "queue, or all verdicts", show=False, id="cases.queue"),
        Binding("n", "next_undecided", "next open", id="cases.next_marked"),
        Binding("P", "sent", "sent/raw", id="cases.sent"),
        Binding("enter", "unfold", "list", show=False, id="cases.unfold"),
        Binding("right", "step(1)", "next verdict", show=False, id="cases.step_next"),
        Binding("left", "step(-1)", "previous verdict", show=False, id="cases.step_previous"),
        screens.IMPORT,
        Binding("r", "open('runs')", "runs", show=False, id="cases.launch"),
        Binding("a", "open('reports')", "reports", show=False, id="cases.reports"),
        Binding("d", "open('compare')", "compare raters", show=False, id="cases.compare"),
        Binding("p", "prompts", "prompts", show=False, id="cases.prompts"),
        Binding("l", "open('annotate')", "label cases yourself", show=False, id="cases.annotate"),
        *READER,
        *screens.WITHOUT_TAB,
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
        self.rows = verdict_list.VerdictList(project_id, only, given)
        self.panel = CasePanel(id="case")
        self._waiting: deque[Callable[[Database], LogWrite]] = deque()
        self._writing = False
        # how many rows each action of this screen added: an undo takes all of them back
        self._sizes: list[int] = []
        self._asked_for, self._at = filter_text, at
        # None until a list is shown
        self._was_narrow: bool | None = None
        self._folded_by_itself = False
        # the lists to try when opening, until one has a verdict, and the last one tried
        self._opening_filters: Iterator[verdict_list.OpeningFilter] = iter(())
        self._opening_filter: verdict_list.OpeningFilter | None = None
        self._read_again = False
        self._delay: Timer | None = None
        self._last_toast = Notification("")

    def compose(self) -> ComposeResult:
        yield TopBar(*self._crumbs())
        values = partial(filter_values, project_id=self.project_id)
        yield screens.FilterBar(lambda text: parse_filter(text).chips(), f'{HINT} "free text"', values=values)
        yield verdict_list.CaseStrip()
        with Horizontal(id="triage"):
            yield self.rows
            yield self.panel
        yield KeyLine()

    def _crumbs(self) -> tuple[str, ...]:
        list_name = "Queue" if self.rows.in_queue else "Cases"
        return "recjudge", self.project_title(self.project_id), list_name, *filter(None, [self._listed_as])

    def on_mount(self) -> None:
        if self._asked_for is None and self.rows.only is None:
            self._opening_filters = verdict_list.opening_filters(self.host.db, self.project_id)
        if self._asked_for:
            self._apply(self._asked_for)
        elif not self._try_next_filter():
            self.rows.list_all()

    # ---- the list

    def _apply(self, text: str | None) -> None:
        if text is not None:
            self.query_one(screens.FilterBar).apply(text)

    def _try_next_filter(self) -> bool:
        """Try the next list on opening; False when all were tried."""
        self._opening_filter = next(self._opening_filters, None)
        if self._opening_filter is None:
            return False
        self._sort_first(self._opening_filter)
        self._apply(self._opening_filter.filter_text)
        return True

    def _sort_first(self, opening: verdict_list.OpeningFilter) -> None:
        self.rows.sort = opening.sort
        self.query_one(TopBar).show(right=opening.about)

    @on(verdict_list.VerdictList.ListShown)
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
        self.query_one(verdict_list.CaseStrip).show(self.rows)

    @on(screens.FilterBar.Applied)
    def _filter(self, message: screens.FilterBar.Applied) -> None:
        if self._opening_filter is not None and message.text != self._opening_filter.filter_text:
            self._opening_filter = None
            self._sort_first(verdict_list.OpeningFilter(""))
        chosen = parse_filter(message.text)
        self.panel.mark([term.value for term in chosen.terms if term.key == "text"])
        self.rows.choose(chosen)

    @on(screens.FilterBar.Closed)
    def _back_to_list(self) -> None:
        self.rows.focus()
        self.rows.list_if_never_listed()

    def runs_changed(self, active: list[StoredRow]) -> None:
        super().runs_changed(active)
        self.rows.follow_runs(active)

    def imported(self, project: str) -> None:
        self.rows.relist(follow=True)

    def action_filter(self) -> None:
        self.query_one(screens.FilterBar).open()

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
        present = self.rows.chosen.text()
        listed: list[tuple[str, str, Callable[[], object]]] = []
        for saved in filters:
            listed.append(("Apply", f"{saved.name}: {saved.filter}", partial(self._apply, saved.filter)))
        if present:
            listed.append(("Change", f"Save the current filter: {present}", self._ask_name))
        for saved in filters:
            listed.append(
                ("Change", one_line(f"Delete {saved.name}", 100), partial(self._ask_to_delete, saved))
            )
        if listed:
            offered = [Command(group, one_line(words, 200), "", run) for group, words, run in listed]
            self.ask(Palette(offered, "Saved filters"), lambda command: command.run())
        else:
            key = key_name(self.app, "cases.filter")
            self.notify(
                f"No filter is saved yet. Press {key} to filter the list, then save the filter here.",
                markup=False,
            )

    def _ask_name(self) -> None:
        present = self.rows.chosen.text()

        def save(name: str) -> None:
            self._change_filters(
                lambda db: save_filter(db, self.project_id, name, present),
                lambda _: self.notify(one_line(f"“{name}” saved.", 100), markup=False),
            )

        hint = f"A name for: {one_line(present, 200)}\nAn older filter of that name is replaced."
        self.ask(AskLine("Save the filter", hint), save)

    def _ask_to_delete(self, saved: StoredRow) -> None:
        def delete(_: bool) -> None:
            self._change_filters(
                lambda db: delete_filter(db, self.project_id, saved.name),
                lambda _: self.notify(one_line(f"“{saved.name}” deleted.", 100), markup=False),
            )

        text = f"“{saved.name}”: {saved.filter}"
        self.ask(Confirm("Delete the saved filter?", text, "delete", "keep"), delete)

    def action_sort(self) -> None:
        self.rows.next_order()

    def action_queue(self) -> None:
        """Switch between the queue and all verdicts of the filter."""
        chosen = self.rows.chosen.without("queue")
        if not self.rows.in_queue:
            chosen = VerdictFilter((*chosen.terms, Term("queue", ":", "any")))
        self._apply(chosen.text())

    @on(verdict_list.CaseStrip.Step)
    def _step(self, message: verdict_list.CaseStrip.Step) -> None:
        self.action_step(message.rows) if message.rows else self.action_unfold()

    def action_step(self, rows: int) -> None:
        self.rows.step(rows)

    def action_next_undecided(self) -> None:
        if self.rows.ids:
            job = partial(stored.next_undecided, ids=self.rows.after_cursor())
            self.background.start("next", job, self._go_to_undecided)

    def _go_to_undecided(self, verdict_id: int | None) -> None:
        if verdict_id is None:
            self.notify("Every verdict after this one has a decision.", markup=False)
        else:
            self.rows.go_to(verdict_id)

    # ---- triage: rows of the log are written one after the other, in the order of the keys

    def _under_cursor(self) -> int | None:
        verdict_id = self.rows.verdict_id
        if verdict_id is None:
            self.notify("There is no verdict here.", severity="warning", markup=False)
        return verdict_id

    def _write(self, job: Callable[[Database], LogWrite]) -> None:
        self._waiting.append(job)
        if not self._writing:
            self._write_next()

    def _write_next(self) -> None:
        self._writing = bool(self._waiting)
        if self._waiting:
            self.background.start("triage", self._waiting.popleft(), self._show_write, self._not_written)

    def _not_written(self, error: RecjudgeError) -> None:
        self._write_next()
        self.host.show_error(error)

    def _show_write(self, write: LogWrite) -> None:
        if write.rows > 0:
            self._sizes.append(write.rows)
        self._write_next()
        if write.ask is not None:
            write.ask()
            return
        if write.toast:
            # of decisions only the last one: not one above the other over the reader
            self.app._unnotify(self._last_toast)
            self._last_toast = Notification(one_line(keyed(self.app, write.toast), 300))
            self.app.post_message(Notify(self._last_toast))
        if write.show is not None:
            self.rows.go_to(write.show)
        if write.verdicts:
            self._read_again = True
            self.rows.relist(follow=True)
        else:
            self.rows.reload()
            self._read_case()
        self.rows.count_decisions()
        self.query_one(verdict_list.CaseStrip).show_decision(write.decision)

    def action_decide(self, action: Action) -> None:
        verdict_id = self._under_cursor()
        if verdict_id is not None:
            self._decide(verdict_id, action)

    def _decide(self, verdict_id: int, action: Action, **more: Any) -> None:
        decision = f"{number(self.rows.cursor + 1)} {_DECIDED[action]}"
        self._write(partial(_record, ids=[verdict_id], action=action, decision=decision, **more))
        self.rows.step(1)

    def action_in_bulk(self, action: Action) -> None:
        """Decide on all listed verdicts that have no decision, or tag all of them, after one question."""
        ids = self.rows.whole_list
        if not ids:
            self.notify("The list is being read." if ids is None else "Nothing is listed.", markup=False)
            return
        listed = quantity(len(ids), "verdict")

        def write(text: str = "") -> None:
            self._write(partial(_record, ids=ids, action=action, text=text, in_bulk=True))

        if action == "tag":
            self.ask(AskLine(f"Tag all {listed} listed", _TEXTS["tag"][1]), write)
            return

        def question(decided: int) -> None:
            if decided == len(ids):
                self.notify("Every verdict listed has a decision.", markup=False)
                return
            left = (
                f"{number(len(ids) - decided)} of the {listed} listed" if decided else f"All {listed} listed"
            )
            kept = (
                f" {quantity(decided, 'earlier decision stays', 'earlier decisions stay')}."
                if decided
                else ""
            )
            text = f"{left} are {_DECIDED[action]}.{kept} One undo takes it back."
            self.ask(Confirm(f"{action.capitalize()} all?", text, action, "no"), lambda _: write())

        # behind the decisions that are still being written
        self._write(lambda db: LogWrite("", ask=partial(question, len(decided_among(db, ids)))))

    def action_override(self) -> None:
        """Ask for another answer: by its key, or by a number of the scale."""
        if (verdict_id := self._under_cursor()) is None:
            return
        db = self.host.db
        try:
            offered = choices(db, verdict_id)
        except RecjudgeError as error:
            self.host.show_error(error)
            return
        (row,) = stored.verdict_rows(db, [verdict_id])
        aspect = "" if row.aspect == OVERALL else f" on {one_line(row.aspect, 26).replace('_', ' ')}"
        whose = f"Case {case_number(row.case_id)}, {one_line(row.rater, 24)}{aspect}"
        about = f"{whose}. Your verdict is stored beside the judge's, as the rater “{reader_name()}”."
        title, given = "Override the verdict", partial(self._override, row)
        if keys := _keys(offered, of_pairs=len(row.systems) == 2):
            answers = {
                key: ((label, value), answer_text(row.systems, label, value) if label != key else "")
                for key, (label, value) in keys.items()
            }
            self.ask(PickDialog(title, about, answers), given)
        else:
            bounds = {"ge": offered.low, "le": offered.high}
            option = Option("value", float, about, bounds=bounds, label="value", required=True)
            form = Form(
                title, [option], {}, {}, "override", lambda form: (f"{form['value']:g}", form["value"])
            )
            self.ask(form, given)

    def _override(self, row: stored.VerdictRow, given: tuple[str, float]) -> None:
        label, value = given
        chosen = answer_text(row.systems, short_label(label), value)
        message = f"Overridden to {chosen}. {{triage.keep}} keeps it as an example or label; {{triage.undo}} undoes it."
        self._decide(row.verdict_id, "override", label=label, value=value, message=message)

    def action_write(self, action: Action) -> None:
        """Ask for the text of a note or a tag."""
        title, hint = _TEXTS[action]
        verdict_id = self._under_cursor()
        if verdict_id is not None:
            self.ask(
                AskLine(title, hint, breaks=action == "note"), partial(self._entered, verdict_id, action)
            )

    def _entered(self, verdict_id: int, action: Action, text: str) -> None:
        self._write(partial(_record, ids=[verdict_id], action=action, text=text))

    def action_undo(self) -> None:
        self._write(lambda db: _undo(db, self.project_id, self._sizes.pop() if self._sizes else 1))

    def action_keep(self) -> None:
        seen = self._under_cursor()
        if seen is not None:
            verdict_id = stored.verdict_to_keep(self.host.db, seen, reader_name())
            rows = stored.verdict_rows(self.host.db, [verdict_id])
            about = f"case {case_number(rows[0].case_id)}" if rows else ""
            title = " ".join(["Keep your verdict", *(["on", about] if about else [])])
            places = {
                "1": ("labels", f"in the labelled set, as the annotator “{stored.LABELLED}”"),
                "2": ("example", "as an example in its prompt, in a new version"),
            }
            self.ask(PickDialog(title, "", places), partial(self._keep, verdict_id))

    def _keep(self, verdict_id: int, where: str) -> None:
        """An example shows the judge how to reason, so ask for a reason if none was written yet."""
        if where == "labels":
            self._write(partial(_keep_label, verdict_id=verdict_id))
            return
        keep = partial(_keep_example, verdict_id=verdict_id)
        try:
            wanted = stored.lacks_reason(stored.example_source(self.host.db, verdict_id, reader_name()))
        except NotFoundError as error:
            self.host.show_error(error)
            return
        if not wanted:
            self._write(keep)
            return

        def reason(text: str) -> None:
            self._entered(verdict_id, "note", text)
            self._write(keep)

        hint = "The example shows the judge how to reason. Your text is kept as a note."
        self.ask(AskLine("Why?", hint, breaks=True), reason)

    # ---- the case beside it

    @on(RowList.Moved)
    def _moved(self) -> None:
        """Read the case when the cursor has come to rest."""
        if self._delay is not None:
            self._delay.stop()
        self.query_one(verdict_list.CaseStrip).show(self.rows)
        # reading the first case imports a lot, which would delay the first paint
        first = self.panel.case is None
        self._delay = self.set_timer(_FIRST_DETAIL_DELAY_S if first else _DETAIL_DELAY_S, self._read_case)

    @on(verdict_list.VerdictList.RunEnded)
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
        if self.panel.end_search():
            return
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

        def copy_sent(chosen: dict[str, str]) -> None:
            if case is not None and (text := _text_of(case, sent, chosen["form"])):
                self.copy_text(text)
            else:
                self.notify("This judge is not asked over HTTP, so there is no curl command.", markup=False)

        if case is None:
            self.notify("No case is shown.", severity="warning", markup=False)
        elif how == "copy" and sent is not None:
            forms = [("text", "text"), ("json", "JSON"), ("curl", "curl")]
            self.ask(screens.choice_form(screens.ChoiceField("form", "copy as", forms, "text")), copy_sent)
        elif how == "copy":
            self.copy_text(case_text(case))
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


def _text_of(case: CaseDetail, sent: SentVerdict | None, form: str = "text") -> str:
    from recjudge_tui.prompting.trial import sent_text

    return case_text(case) if sent is None else sent_text(sent, form)


def _save(_: Database, path: Path, case: CaseDetail, sent: SentVerdict | None) -> screens.WrittenFile:
    form = {".json": "json", ".sh": "curl"}.get(path.suffix.lower(), "text")
    return screens.write_text(path, _text_of(case, sent, form) + ("" if sent is None else "\n"))


def _record(
    db: Database, ids: Sequence[int], action: Action, text: str = "", label: str = "", value: float | None = None,
    message: str = "", decision: str = "", in_bulk: bool = False,
) -> LogWrite:  # fmt: skip
    """Write the action on these verdicts, all or nothing; `in_bulk` leaves out those with a decision, if it is one."""
    with db.transaction():
        if in_bulk and action in DECISIONS:
            decided = decided_among(db, ids)
            ids = [key for key in ids if key not in decided]
        for key in ids:
            record(db, key, reader_name(), action, text=text, label=label, value=value)
    if in_bulk:
        message = f"{quantity(len(ids), 'verdict')} {_DECIDED[action]}. {{triage.undo}} undoes it."
    return LogWrite(message, decision=decision, rows=len(ids))


def _undo(db: Database, project_id: int, rows: int) -> LogWrite:
    with db.transaction():
        entries = [undo_last(db, project_id, reader_name()) for _ in range(rows)]
    entry = entries[-1]
    if entry is None:
        return LogWrite(f"“{reader_name()}” has nothing left to undo.")
    about = f"case {case_number(entry.case_id)}" if rows == 1 else quantity(rows, "verdict")
    message = f"Undone: {_UNDONE[entry.action]} {about}."
    return LogWrite(message, entry.verdict_id, verdicts=entry.action == "override")


def _keep_label(db: Database, verdict_id: int) -> LogWrite:
    count = stored.keep_as_label(db, verdict_id, reader_name())
    message = f"“{stored.LABELLED}” has {quantity(count, 'verdict')} now; you can measure judges against it."
    return LogWrite(message, verdicts=True)


def _keep_example(db: Database, verdict_id: int) -> LogWrite:
    from recjudge_tui.prompting.drafts import example_of_verdict

    name, version = example_of_verdict(db, verdict_id, reader_name())
    return LogWrite(f"The case is now an example in {name}@{version}.")


# ---- answers -----------------------------------------------------------------------------------------------------


_MOST_STEPS = 9


def answer_text(systems: tuple[str, ...], label: str, value: float) -> str:
    """The system that an answer about two lists chooses; else the label."""
    if len(systems) == 2 and value:
        return one_line(systems[0 if value > 0 else 1], 60)
    return one_line(label, 40)


def _keys(choices: Choices, *, of_pairs: bool) -> dict[str, tuple[str, float]]:
    """Keys -> their answer: those of annotation, or the steps of a scale of whole numbers."""
    if choices.labels:
        names = {value: label for label, value in choices.labels}
        keys = answer_keys(names, of_pairs=of_pairs)
        return {" ".join(own): (names[value], value) for value, own in keys.items()}
    low, high = choices.low, choices.high
    has_steps = 0 <= low < high - 1 <= _MOST_STEPS - 1 and low == int(low) and high == int(high)
    return {str(n): (str(n), float(n)) for n in range(int(low), int(high) + 1)} if has_steps else {}


# ---- output ------------------------------------------------------------------------------------------------------


_WIDTH = 100
_LONGEST = 10_000_000

EXPORT_HINT = (
    "The listed verdicts are written to this file. Its ending sets the format: .csv .jsonl .json .parquet"
)


def case_text(case: CaseDetail) -> str:
    """The whole case."""
    content = case_content(case, _WIDTH, longest=_LONGEST)
    return f"{case_title(case)}\n{content.plain}\n"


def export_list(
    db: Database,
    path: Path,
    project_id: int,
    chosen: VerdictFilter,
    sort: str,
    only: tuple[int, ...] | None,
    listed: array[int] | None,
) -> screens.WrittenFile:
    """Write the `listed` verdicts; None while only a part of the list is read: then all of it is read here."""
    from recjudge_tui.reports.common.writers.data import format_of
    from recjudge_tui.reports.exports import write_verdicts
    from recjudge_tui.reports.verdict_list import list_verdicts

    ids = list_verdicts(db, project_id, chosen, sort, only).ids if listed is None else listed
    written = write_verdicts(Project.numbered(db, project_id), "", format_of(path), path, ids=ids)
    note = written.message()
    return screens.WrittenFile(path, quantity(written.rows, "verdict"), (note,) if note else ())


def page(host: screens.Host, text: str) -> None:
    """Leave the screen to `$PAGER` (else less or more) until it ends. Raises RecjudgeError when there is none."""
    wanted = os.environ.get("PAGER", "").strip()
    command = shlex.split(wanted) if wanted else [name for name in ("less", "more") if shutil.which(name)][:1]
    if not command or shutil.which(command[0]) is None:
        what = f"the pager “{command[0]}” is not installed" if command else "no pager is installed"
        raise RecjudgeError(what, next_step="Set the variable PAGER, or save the case to a file.")
    try:
        host.lend(command, text)
    except SuspendNotSupported as error:
        raise RecjudgeError(
            "this terminal cannot show a pager", next_step="Save the case to a file."
        ) from error
