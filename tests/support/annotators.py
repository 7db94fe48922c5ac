"""People who judge the films of tests/support/runs.py: short ways to plan, to give verdicts and to look at them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from recjudge_tui.domain.annotation import AnswerOption, AspectAnswer, CaseAnswers
from recjudge_tui.people.annotation import AnnotationPlan, AssignmentRequest, plan_annotation, shown_case
from recjudge_tui.store.database import Database
from recjudge_tui.store.people import (
    Assignment,
    chosen_assignment,
    next_open,
    own_tasks,
    submit_verdict,
    task_of,
)
from recjudge_tui.store.projects import project_id
from tests.support.copies import fill
from tests.support.runs import SYSTEMS, load, make_project

PROJECT = "films"
Choice = Callable[[tuple[AnswerOption, ...]], AnswerOption]


def films(db: Database, users: int = 6, systems: Sequence[str] = SYSTEMS) -> int:
    """Lists of two systems and explanations of one for each user."""
    fill(db, ("explained films", users, tuple(systems)), lambda empty: _import_films(empty, users, systems))
    return project_id(db, PROJECT)


def _import_films(db: Database, users: int, systems: Sequence[str]) -> None:
    make_project(db, users, systems)
    rows = [
        (f"u{n:02d}", f"i{n + 4}", systems[0], f"As you like genre {n % 5}, take this one.")
        for n in range(users)
    ]
    load(db, "explanations", [("user_id", "item_id", "system", "text"), *rows])


def assigned(
    db: Database, protocol: str = "pairwise", annotators: str = "ana,ben", **more: Any
) -> AnnotationPlan:
    request = AssignmentRequest(protocol, tuple(annotators.split(",")), **more)
    return plan_annotation(db, project_id(db, PROJECT), request)


def desk(db: Database, who: str, protocol: str = "pairwise") -> Assignment:
    return chosen_assignment(db, project_id(db, PROJECT), who, protocol)


def tasks(db: Database, who: str, protocol: str = "pairwise") -> list[int]:
    return [task.id for task in own_tasks(db, desk(db, who, protocol).rater_id, protocol)]


def first_option(options: tuple[AnswerOption, ...]) -> AnswerOption:
    return options[0]


def judges(
    db: Database,
    who: str,
    protocol: str = "pairwise",
    count: int = 1000,
    choose: Choice = first_option,
    note: str = "",
) -> int:
    """`who` judges so many of their open cases by `choose`; gives how many there were."""
    for done in range(count):
        task_id = next_open(db, desk(db, who, protocol).rater_id, protocol)
        if task_id is None:
            return done
        asked = shown_case(db, task_of(db, task_id)).questions
        chosen = [(question.aspect, choose(question.options)) for question in asked]
        given = tuple(AspectAnswer(aspect, option.value, option.label) for aspect, option in chosen)
        submit_verdict(db, task_id, CaseAnswers(given, (), note), 10.0)
    return count


def verdicts(db: Database, who: str) -> list[tuple[Any, ...]]:
    """(case, aspect, value, label, rule, note, flags) of a rater's verdicts by case and aspect."""
    rows = db.rows(
        """SELECT case_id, aspect, value, label, rule, v.note, flag_count FROM verdicts v JOIN raters r ON r.id = v.rater_id
           WHERE r.name = ? ORDER BY case_id, aspect""",
        (who,),
    )
    return [tuple(row) for row in rows]
