"""The annotators and their progress; opens an annotator's cases, a new plan, or adjudication."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import DataTable, Static

from recjudge_tui.domain.text import one_line
from recjudge_tui.store.people import Assignment, project_assignments
from recjudge_tui.store.projects import Labeller, labellers
from recjudge_tui.tui.annotate.adjudicate import AdjudicateScreen
from recjudge_tui.tui.annotate.annotation import AnnotationScreen
from recjudge_tui.tui.annotate.jobs import PlanRequest, plan, third_person
from recjudge_tui.tui.annotate.plan_form import AnnotationForm
from recjudge_tui.tui.kit.base_screen import COMMON, BaseScreen
from recjudge_tui.tui.kit.dialogs import AskLine
from recjudge_tui.tui.kit.glyphs import bar, glyphs, number
from recjudge_tui.tui.kit.key_line import KeyLine
from recjudge_tui.tui.kit.steady_table import SteadyTable
from recjudge_tui.tui.kit.top_bar import TopBar

_NAMED = 6
_EMPTY = """No cases are assigned to annotators yet.

n  assign cases to annotators

Annotators work blind: they see other verdicts only after giving their own."""


class AssignmentTable(SteadyTable):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "judge", key_display="enter", id="annotate.open"),
        Binding("j", "cursor_down", "next", show=False, id="annotate.down"),
        Binding("k", "cursor_up", "previous", show=False, id="annotate.up"),
    ]


class AnnotateScreen(BaseScreen):
    AUTO_FOCUS = "AssignmentTable"
    CSS = """
    AnnotateScreen #assignments { height: 1fr; border: round $primary; border-title-color: $accent; }
    AnnotateScreen AssignmentTable { height: 1fr; background: $background; scrollbar-size-vertical: 1; }
    AnnotateScreen #no-assignments { display: none; padding: 1 2; }
    AnnotateScreen.-empty #no-assignments { display: block; }
    AnnotateScreen.-empty AssignmentTable { display: none; }
    .-ascii AnnotateScreen #assignments { border: ascii $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "new", "assign cases", id="annotate.new"),
        Binding("A", "adjudicate", "adjudicate", id="annotate.adjudicate"),
        *COMMON,
    ]

    def __init__(self, project_id: int) -> None:
        super().__init__()
        self.project_id = project_id
        self._assignments: list[Assignment] = []

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), "Annotate")
        with Vertical(id="assignments") as box:
            box.border_title = Content("Annotators")
            table = AssignmentTable(cursor_type="row", cell_padding=1)
            table.add_columns("annotator", "protocol", "judged", "", "skipped")
            yield table
            yield Static(id="no-assignments")
        yield KeyLine()

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self._read()

    def _read(self) -> None:
        table, symbols = self.query_one(AssignmentTable), glyphs()
        at = table.cursor_row
        self._assignments = project_assignments(self.host.db, self.project_id)
        table.clear()
        for assignment in self._assignments:
            settled = assignment.done + assignment.skipped
            table.add_row(
                Text(one_line(assignment.rater, 30)),
                Text(assignment.protocol),
                Text(f"{settled}/{assignment.all}", justify="right"),
                Text(bar(settled / assignment.all, 12, symbols)),
                Text(str(assignment.skipped or symbols.none), justify="right"),
            )
        if self._assignments:
            table.move_cursor(row=min(at, len(self._assignments) - 1), animate=False)
        self.set_class(not self._assignments, "-empty")
        if not self._assignments:
            labelled = _labelled(labellers(self.host.db, self.project_id))
            self.query_one("#no-assignments", Static).update(Content(f"{labelled}{_EMPTY}"))
        self.refresh_bindings()

    def _current(self) -> Assignment | None:
        at = self.query_one(AssignmentTable).cursor_row
        return self._assignments[at] if at < len(self._assignments) else None

    @on(DataTable.RowSelected)
    def _open(self) -> None:
        assignment = self._current()
        if assignment is not None:
            self.app.push_screen(AnnotationScreen(self.project_id, assignment.rater_id, assignment.protocol))

    def action_new(self) -> None:
        self.app.push_screen(AnnotationForm(), self._plan)

    def _plan(self, request: PlanRequest | None) -> None:
        if request is not None:
            self.background.start(
                "plan", partial(plan, project_id=self.project_id, request=request), self._show_plan
            )

    def _show_plan(self, summary: str) -> None:
        self.notify(one_line(summary, 200), timeout=5)
        self._read()

    def action_adjudicate(self) -> None:
        assignment = self._current()
        if assignment is not None:
            hint = f"Who decides where annotators differ ({assignment.protocol})? The verdicts are stored under this name."
            self.app.push_screen(
                AskLine("Adjudicate", hint, "adjudicated"), partial(self._named, assignment.protocol)
            )

    def _named(self, protocol: str, name: str | None) -> None:
        if name is not None:
            job = partial(third_person, project_id=self.project_id, protocol=protocol, name=name)
            self.background.start("third", job, partial(self._decide, protocol))

    def _decide(self, protocol: str, rater_id: int) -> None:
        self.app.push_screen(AdjudicateScreen(self.project_id, rater_id, protocol))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "adjudicate":
            return bool(self._assignments)
        return super().check_action(action, parameters)


def _labelled(people: Sequence[Labeller]) -> str:
    """The labels that a project has without assignments, such as imported ones; empty if there are none."""
    if not people:
        return ""
    named = ", ".join(f"{one_line(who.name, 30)} {number(who.labels)}" for who in people[:_NAMED])
    more = f" and {number(len(people) - _NAMED)} more" if len(people) > _NAMED else ""
    return f"Labels so far: {named}{more}.\n\n"
