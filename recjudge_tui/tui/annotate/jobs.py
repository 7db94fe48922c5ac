"""Background jobs of the annotation screens. Heavy imports are made inside the functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from recjudge_tui.domain.annotation import CaseAnswers
from recjudge_tui.store.database import Database
from recjudge_tui.store.people import (
    Assignment,
    Task,
    last_closed,
    mark_opened,
    neighbour,
    next_open,
    own_tasks,
    own_verdict,
    rater_assignment,
    reveal_tasks,
    skip_task,
    submit_verdict,
    task_of,
)

if TYPE_CHECKING:
    from recjudge_tui.people.annotation import Dispute, Queue, ShownCase
    from recjudge_tui.store.people import OtherVerdict


class View(NamedTuple):
    """The content of an annotator's screen: a case, or none if all are settled. `others` and `systems` (in the
    order shown) are empty until the case is revealed."""

    assignment: Assignment
    task: Task | None = None
    shown: ShownCase | None = None
    own: CaseAnswers = CaseAnswers(())
    others: tuple[OtherVerdict, ...] = ()
    systems: tuple[str, ...] = ()


class Decision(NamedTuple):
    """The content of a third person's screen; `previous`: who gave which verdict on the case just decided."""

    queue: Queue
    dispute: Dispute | None
    previous: str = ""


class PlanRequest(NamedTuple):
    """The content of the plan form; None for a field that was left empty."""

    annotators: tuple[str, ...]
    protocol: str
    sample: int | None
    per_case: int | None


# ---- one annotator


def first_view(db: Database, rater_id: int, protocol: str) -> View:
    return _view(db, rater_id, protocol, next_open(db, rater_id, protocol))


def view_beside(db: Database, rater_id: int, protocol: str, task: Task | None, step: int) -> View | None:
    """The settled case before or after this one (from the end: the last one); past the last settled case, the first
    open one. None if there is no case in that direction."""
    if task is None:
        goal = last_closed(db, rater_id, protocol) if step < 0 else None
    else:
        goal = neighbour(db, task, step)
        if goal is None and step > 0:
            goal = next_open(db, rater_id, protocol)
            if goal is None and not task.revealed:
                return _view(db, rater_id, protocol, None)
    return (
        None
        if goal is None or (task is not None and goal == task.id)
        else _view(db, rater_id, protocol, goal)
    )


def give_and_go_on(
    db: Database, rater_id: int, protocol: str, task_id: int, judged: CaseAnswers, seconds: float
) -> View:
    """Store the verdict before reading anything else."""
    submit_verdict(db, task_id, judged, seconds)
    return first_view(db, rater_id, protocol)


def skip_and_go_on(
    db: Database, rater_id: int, protocol: str, task_id: int, reason: str, seconds: float
) -> View:
    skip_task(db, task_id, reason, seconds)
    return first_view(db, rater_id, protocol)


def reveal_view(db: Database, rater_id: int, protocol: str, task_id: int | None) -> View:
    """Reveal one case, or with None all of the annotator's cases once all are settled, and show it."""
    ids = own_tasks(db, rater_id, protocol) if task_id is None else [task_id]
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


# ---- planning


def plan(db: Database, project_id: int, request: PlanRequest) -> str:
    """Assign cases; returns a short text about the assignment."""
    from recjudge_tui.people.annotation import AssignmentRequest, plan_annotation

    planned = plan_annotation(
        db,
        project_id,
        AssignmentRequest(
            request.protocol, request.annotators, sample=request.sample, per_case=request.per_case
        ),
    )
    return "newly assigned: " + ", ".join(f"{name} {count:,}" for name, count in planned.assigned.items())


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


def third_person(db: Database, project_id: int, protocol: str, name: str) -> int:
    from recjudge_tui.people.annotation import start_adjudication

    return start_adjudication(db, project_id, protocol, name)
