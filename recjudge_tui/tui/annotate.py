"""Blind labels by people: the plan, the queue of cases, and what two people disagree about."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from recjudge_tui.domain.annotation import AspectQuestion, CaseAnswers
from recjudge_tui.domain.options import Option
from recjudge_tui.domain.protocols import offered
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.store.database import Database
from recjudge_tui.store.people import (
    Assignment,
    Task,
    mark_opened,
    next_open,
    own_tasks,
    own_verdict,
    project_assignments,
    rater_assignment,
    reveal_tasks,
    skip_task,
    submit_verdict,
    task_of,
)
from recjudge_tui.store.projects import labellers
from recjudge_tui.tui.answer_sheet import JudgingScreen, ballots_content, reveal_content
from recjudge_tui.tui.dialogs import AskLine, Confirm
from recjudge_tui.tui.form import Form
from recjudge_tui.tui.row_list import Column, RowList
from recjudge_tui.tui.screens import COMMON, FILTER, ListScreen
from recjudge_tui.tui.widgets import GLYPHS, KeyLine, TopBar, bar, number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recjudge_tui.people.annotation import AnnotationPlan, Dispute, Queue, ShownCase
    from recjudge_tui.store.database import StoredRow


# ---- jobs --------------------------------------------------------------------------------------------------------


class View(NamedTuple):
    """The content of an annotator's screen: a case, or none if all are settled. `others` and `systems` (in the
    order shown) are empty until the case is revealed."""

    assignment: Assignment
    task: Task | None = None
    shown: ShownCase | None = None
    own: CaseAnswers = CaseAnswers(())
    others: tuple[StoredRow, ...] = ()
    systems: tuple[str, ...] = ()


class Decision(NamedTuple):
    """The content of a third person's screen; `previous`: who gave which verdict on the case just decided."""

    queue: Queue
    dispute: Dispute | None
    previous: str = ""


# ---- one annotator


def first_view(db: Database, rater_id: int, protocol: str) -> View:
    return _view(db, rater_id, protocol, next_open(db, rater_id, protocol))


def view_beside(db: Database, rater_id: int, protocol: str, task: Task | None, step: int) -> View | None:
    """The settled case before or after this one (from the end: the last one); past the last settled case, the first
    open one. None if there is no case in that direction."""
    closed = [each for each in own_tasks(db, rater_id, protocol) if each.state != "open"]
    if step < 0:
        goal = next((each.id for each in closed[::-1] if task is None or each.position < task.position), None)
    elif task is None:
        return None
    else:
        goal = next((each.id for each in closed if each.position > task.position), None)
        goal = goal or next_open(db, rater_id, protocol)
        if goal is None and not task.revealed:
            return _view(db, rater_id, protocol, None)
    return None if goal is None or (task and goal == task.id) else _view(db, rater_id, protocol, goal)


def give_and_go_on(
    db: Database,
    rater_id: int,
    protocol: str,
    task_id: int,
    judged: CaseAnswers | None,
    seconds: float,
    reason: str,
) -> View:
    """Store the verdict, or that the case was skipped, before reading anything else."""
    if judged is None:
        skip_task(db, task_id, reason, seconds)
    else:
        submit_verdict(db, task_id, judged, seconds)
    return first_view(db, rater_id, protocol)


def reveal_view(db: Database, rater_id: int, protocol: str, task_id: int | None) -> View:
    """Reveal one case, or with None all of the annotator's cases once all are settled, and show it."""
    ids = [task.id for task in own_tasks(db, rater_id, protocol)] if task_id is None else [task_id]
    reveal_tasks(db, ids)
    return _view(db, rater_id, protocol, ids[0])


def _view(db: Database, rater_id: int, protocol: str, task_id: int | None) -> View:
    from recjudge_tui.people.annotation import shown_case
    from recjudge_tui.store.cases import case_row
    from recjudge_tui.store.people import other_verdicts

    assignment = rater_assignment(db, rater_id, protocol)
    if task_id is None:
        return View(assignment)
    mark_opened(db, task_id)
    task = task_of(db, task_id)
    own = own_verdict(db, task) if task.state == "done" else CaseAnswers(())
    shown = shown_case(db, task)
    if not task.revealed:
        return View(assignment, task, shown, own)
    case = case_row(db, task.case_id)
    systems = tuple(name for name in (case["system_a"], case["system_b"]) if name)
    ordered = systems[::-1] if task.first == "b" else systems
    return View(assignment, task, shown, own, tuple(other_verdicts(db, task_id)), ordered)


# ---- a third person


def next_decision(db: Database, project_id: int, rater_id: int, protocol: str) -> Decision:
    from recjudge_tui.people.annotation import dispute_of, queue_of

    queue = queue_of(db, project_id, rater_id, protocol)
    if not queue.left:
        return Decision(queue, None)
    return Decision(queue, dispute_of(db, project_id, rater_id, protocol, queue.left[0]))


def settle_and_go_on(
    db: Database,
    project_id: int,
    protocol: str,
    dispute: Dispute,
    judged: CaseAnswers | None,
    seconds: float,
    reason: str,
) -> Decision:
    from recjudge_tui.people.annotation import ballot_authors, settle

    settle(db, dispute, judged, seconds, reason)
    previous = "; ".join(f"{name}: {', '.join(ballot.words)}" for name, ballot in ballot_authors(db, dispute))
    return next_decision(db, project_id, dispute.task.rater_id, protocol)._replace(previous=previous)


# ---- plan form ---------------------------------------------------------------------------------------------------


_ASSIGNED = (
    Option("annotators", tuple, "Name at least one annotator; commas separate several.", (), required=True,
           placeholder="ana, ben"),
    Option("protocol", str, "The question that they answer.", choices=offered(), required=True),
    Option("sample", int, "How many cases are assigned. Default: all.", bounds={"ge": 1}, label="cases",
           placeholder="all"),
    Option("per_case", int, "How many annotators judge each case. Default: two.", bounds={"ge": 1},
           label="annotators each", placeholder="two"),
)  # fmt: skip


# ---- annotation --------------------------------------------------------------------------------------------------


class AnnotationScreen(JudgingScreen):
    """With `reveal_at_end` no case is revealed before all are judged."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *JudgingScreen.ANSWER_KEYS,
        Binding("left", "beside(-1)", "back", key_display="←", id="annotation.back"),
        Binding("right", "beside(1)", "next case", show=False, id="annotation.forward"),
        Binding("R", "reveal", "reveal", show=False, id="annotation.reveal"),
        *JudgingScreen.LAST_KEYS,
    ]

    def __init__(self, project_id: int, rater_id: int, protocol: str, *, reveal_at_end: bool = False) -> None:
        super().__init__(project_id, "Annotate")
        self.rater_id, self.protocol, self.reveal_at_end = rater_id, protocol, reveal_at_end
        self.view: View | None = None

    def on_mount(self) -> None:
        self._go(partial(first_view, rater_id=self.rater_id, protocol=self.protocol))

    # ---- opening and leaving

    def _go(self, job: partial[View] | partial[View | None]) -> None:
        self.busy = True
        self.background.start("case", job, self._show_view, self.case_failed)

    def settle_case(self, judged: CaseAnswers | None, seconds: float, reason: str) -> None:
        assert self.view is not None
        assert self.view.task is not None
        mine = partial(
            give_and_go_on, rater_id=self.rater_id, protocol=self.protocol, task_id=self.view.task.id
        )
        self._go(partial(mine, judged=judged, seconds=seconds, reason=reason))

    def _show_view(self, view: View | None) -> None:
        """Show a case, or stay where there is none in that direction."""
        if view is None:
            self.busy = False
            self.refresh_bindings()
            return
        self.view = view
        questions: tuple[AspectQuestion, ...] = view.shown.questions if view.shown is not None else ()
        task, title = view.task, "Done"
        if task is not None:
            skipped = f", skipped: {one_line(task.reason, 40)}"
            state = {"open": "", "done": ", given", "skipped": skipped}[task.state]
            title = f"Case {task.position}{state}{', revealed' if task.revealed else ''}"
        locked = task is not None and task.revealed
        if self.show_case(view.shown, questions, view.own, title, locked=locked):
            of = view.assignment
            parts = (of.rater, of.protocol, f"{of.done + of.skipped}/{of.all}")
            self.query_one(TopBar).show(right=f" {GLYPHS.dot} ".join(part for part in parts if part))

    def head(self, width: int) -> Content | None:
        view = self.view
        if view is None:
            return None
        if view.task is None:
            return _end(view)
        if not view.task.revealed or view.shown is None:
            return None
        own = ", ".join(_own_words(view, answer.aspect) for answer in view.own.answers) or "skipped"
        revealed = reveal_content(view.others, view.shown.questions, view.systems, own, width)
        return Content("\n").join([revealed, Content("")])

    # ---- keys

    def action_beside(self, step: int) -> None:
        self.time.touch()
        task = self.view.task if self.view else None
        self._go(partial(view_beside, rater_id=self.rater_id, protocol=self.protocol, task=task, step=step))

    def action_reveal(self) -> None:
        view = self.view
        if view is None:
            return
        only_this_case = view.assignment.open > 0 and view.task is not None
        what = "this case" if only_this_case else "all your cases"
        text = f"This shows everybody's verdicts on {what}. You cannot change yours afterwards."
        identity = view.task.id if only_this_case and view.task else None
        self.app.push_screen(Confirm("Reveal?", text, "reveal", "not yet"), partial(self._reveal, identity))

    def _reveal(self, identity: int | None, sure: bool | None) -> None:
        if sure:
            self._go(partial(reveal_view, rater_id=self.rater_id, protocol=self.protocol, task_id=identity))

    def leave_now(self) -> None:
        if self.view is not None:
            assignment = rater_assignment(self.host.db, self.rater_id, self.protocol)
            left = f"{quantity(assignment.open, 'case')} left; " if assignment.open else "No cases left; "
            self.app.notify(f"{left}your verdicts are stored", timeout=4)
        self.host.leave_screen()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        view = self.view
        if action == "beside":
            return view is not None and not self.busy
        if action == "reveal":
            if view is None or self.busy or not (view.assignment.done or view.assignment.skipped):
                return False
            task = view.task
            if view.assignment.open == 0:
                return view.assignment.revealed < view.assignment.all
            return not self.reveal_at_end and task is not None and task.state != "open" and not task.revealed
        return super().check_action(action, parameters)


def _own_words(view: View, aspect: str) -> str:
    assert view.shown is not None
    question_shown = next(question for question in view.shown.questions if question.aspect == aspect)
    value = next(answer.value for answer in view.own.answers if answer.aspect == aspect)
    words = next((option.words for option in question_shown.options if option.value == value), f"{value:g}")
    return words if len(view.shown.questions) == 1 else f"{aspect.replace('_', ' ')} {words}"


def _end(view: View) -> Content:
    """The text after the last case.

    It has no figure of agreement, which would tell a blind annotator how others answered.
    """
    assignment = view.assignment
    skipped = f", {assignment.skipped} skipped" if assignment.skipped else ""
    lines = [f"All your cases are judged: {assignment.done} given{skipped}."]
    lines += ["", "←  return to your last case, where you can still change your answers"]
    if assignment.revealed < assignment.all:
        lines.append("R  show everybody's verdicts; after that your answers are final")
    return Content("\n".join([*lines, "q  leave; everything is saved"]))


# ---- adjudicate --------------------------------------------------------------------------------------------------


class AdjudicateScreen(JudgingScreen):
    """`rater_id` is the consensus that the third person's decisions are stored under."""

    BINDINGS: ClassVar[list[BindingType]] = [*JudgingScreen.ANSWER_KEYS, *JudgingScreen.LAST_KEYS]

    def __init__(self, project_id: int, rater_id: int, protocol: str) -> None:
        super().__init__(project_id, "Adjudicate")
        self.rater_id, self.protocol = rater_id, protocol
        self.decision: Decision | None = None

    def on_mount(self) -> None:
        job = partial(
            next_decision, project_id=self.project_id, rater_id=self.rater_id, protocol=self.protocol
        )
        self.background.start("case", job, self._show_decision, self.case_failed)

    def settle_case(self, judged: CaseAnswers | None, seconds: float, reason: str) -> None:
        assert self.decision is not None
        assert self.decision.dispute is not None
        job = partial(
            settle_and_go_on,
            project_id=self.project_id,
            protocol=self.protocol,
            dispute=self.decision.dispute,
            judged=judged,
            seconds=seconds,
            reason=reason,
        )
        self.background.start("case", job, self._show_decision, self.case_failed)

    def _show_decision(self, decision: Decision) -> None:
        self.decision = decision
        queue, dispute = decision.queue, decision.dispute
        questions: tuple[AspectQuestion, ...] = dispute.questions if dispute else ()
        title = f"Case {queue.disputed - len(queue.left) + 1} of {queue.disputed}" if dispute else "Done"
        if self.show_case(dispute.shown if dispute else None, questions, CaseAnswers(()), title):
            self.query_one(TopBar).show(
                right=f"{self.protocol} {GLYPHS.dot} {len(queue.left)} left of {queue.disputed}"
            )

    def head(self, width: int) -> Content | None:
        if self.decision is None:
            return None
        queue, dispute, previous = self.decision
        previous = f"Previous case: {one_line(previous, 400)}\n\n" if previous else ""
        if dispute is None:
            settled = f"All settled: {quantity(queue.disputed, 'case')}."
            outcome = settled if queue.disputed else "The annotators agree on every case."
            return Content(
                f"{previous}{outcome}\n\nWhere they agree, the consensus takes their verdict.\n\nq  leave"
            )
        ballots = ballots_content(dispute.ballots, dispute.questions, width)
        return Content.assemble((previous, "dim"), ballots)

    def leave_now(self) -> None:
        if self.decision is not None and (left := len(self.decision.queue.left)):
            self.app.notify(f"{quantity(left, 'case')} left; your decisions are stored", timeout=4)
        self.host.leave_screen()


# ---- screen ------------------------------------------------------------------------------------------------------


_NAMED = 6
_EMPTY = """No cases are assigned to annotators yet.

n  assign cases to annotators

Annotators work blind: they see other verdicts only after giving their own."""


class AssignmentList(RowList[Assignment]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "judge", key_display="enter", id="annotate.open")
    ]

    def __init__(self, screen: AnnotateScreen) -> None:
        columns: tuple[Column[Assignment], ...] = (
            Column("annotator", lambda each, _: (each.rater, ""), 30, 10),
            Column("protocol", lambda each, _: (each.protocol, ""), 16),
            Column("judged", lambda each, _: (f"{_settled(each)}/{each.all}", ""), 15, right=True),
            Column("progress", lambda each, _: (bar(_settled(each) / each.all, 12), ""), 12, 12),
            Column("skipped", lambda each, _: (str(each.skipped or GLYPHS.none), ""), 9, right=True),
        )
        super().__init__(columns, lambda each: screen.every.index(each))


def _settled(assignment: Assignment) -> int:
    return assignment.done + assignment.skipped


class AnnotateScreen(ListScreen):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "new", "assign cases", id="annotate.new"),
        Binding("A", "adjudicate", "adjudicate", id="annotate.adjudicate"),
        FILTER,
        *COMMON,
    ]
    LISTED = "Annotators"

    def __init__(self, project_id: int) -> None:
        super().__init__()
        self.project_id = project_id
        self.rows = AssignmentList(self)

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), "Annotate")
        yield self.words("part of a name or a protocol")
        yield from self.listed()
        yield KeyLine()

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self._read()

    def _read(self) -> None:
        self.fill(project_assignments(self.host.db, self.project_id))

    def searched(self, row: Assignment) -> str:
        return f"{row.rater} {row.protocol}"

    def nothing(self) -> str:
        return f"{_labelled(labellers(self.host.db, self.project_id))}{_EMPTY}"

    @on(RowList.Opened)
    def _open(self) -> None:
        if (assignment := self.rows.cursor_row) is not None:
            self.app.push_screen(AnnotationScreen(self.project_id, assignment.rater_id, assignment.protocol))

    def action_new(self) -> None:
        people = dict.fromkeys(each.rater for each in self.every)
        people |= dict.fromkeys(labellers(self.host.db, self.project_id))
        known = {"annotators": [(name, name) for name in people if name == one_line(name)]}
        self.app.push_screen(Form("Assign cases", _ASSIGNED, {}, known, does="assign"), self._plan)

    def _plan(self, given: dict[str, Any] | None) -> None:
        from recjudge_tui.people.annotation import AssignmentRequest, plan_annotation

        if given is not None:
            job = partial(plan_annotation, project_id=self.project_id, request=AssignmentRequest(**given))
            self.background.start("plan", job, self._show_plan)

    def _show_plan(self, planned: AnnotationPlan) -> None:
        named = ", ".join(f"{name} {count:,}" for name, count in planned.assigned.items())
        self.notify(one_line(f"newly assigned: {named}", 200), timeout=5, markup=False)
        self._read()

    def action_adjudicate(self) -> None:
        if (assignment := self.rows.cursor_row) is not None:
            hint = f"Who decides where annotators differ ({assignment.protocol})? The verdicts are stored under this name."
            self.app.push_screen(
                AskLine("Adjudicate", hint, "adjudicated"), partial(self._decide_as, assignment.protocol)
            )

    def _decide_as(self, protocol: str, name: str | None) -> None:
        from recjudge_tui.people.annotation import start_adjudication

        if name is not None:
            job = partial(start_adjudication, project_id=self.project_id, protocol=protocol, name=name)
            self.background.start("third", job, partial(self._decide, protocol))

    def _decide(self, protocol: str, rater_id: int) -> None:
        self.app.push_screen(AdjudicateScreen(self.project_id, rater_id, protocol))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "adjudicate" and not self.every:
            return False
        return super().check_action(action, parameters)


def _labelled(people: Mapping[str, int]) -> str:
    """The labels that a project has without assignments, such as imported ones; empty if there are none."""
    if not people:
        return ""
    named = ", ".join(f"{one_line(who, 30)} {number(labels)}" for who, labels in [*people.items()][:_NAMED])
    more = f" and {number(len(people) - _NAMED)} more" if len(people) > _NAMED else ""
    return f"Labels so far: {named}{more}.\n\n"
