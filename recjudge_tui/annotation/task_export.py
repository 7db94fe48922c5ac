"""The open tasks of an annotator as texts for a sheet or a labelling tool, with exactly what the app shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from recjudge_tui.annotation.case import ShownCase, shown_case
from recjudge_tui.domain.annotation import MOST_EVENTS, AspectQuestion
from recjudge_tui.domain.material import ItemView, ShownEvent, SlateView, UserView
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.store.database import Database
from recjudge_tui.store.people import Task, chosen_assignment, own_tasks, task_of, task_token


class ExportedTask(NamedTuple):
    """One case for one annotator. `token` names it; `texts` are what is shown, by name, in the order shown."""

    token: str
    texts: dict[str, str]


class TaskSet(NamedTuple):
    """The open tasks of one annotator under one protocol, in their order; all have the same questions."""

    annotator: str
    protocol: str
    guidelines: str
    questions: tuple[AspectQuestion, ...]
    tasks: tuple[ExportedTask, ...]


def open_tasks(db: Database, project_id: int, annotator: str, protocol: str | None) -> TaskSet:
    """The annotator's open tasks. No text contains a system's name, and lists come in the task's order.

    Raises NotFoundError when nothing is open, and UsageError when the protocol must be named, or when the tasks follow
    several versions of the guidelines or ask for answers that an import does not know.
    """
    assignment = chosen_assignment(db, project_id, annotator, protocol)
    tasks = [task_of(db, task) for task in own_tasks(db, assignment.rater_id, assignment.protocol)]
    shown = [(task, shown_case(db, task)) for task in tasks if task.state == "open"]
    if not shown:
        raise NotFoundError(
            f"{annotator} has no open task", next_step="“recjudge annotate plan” assigns more cases."
        )
    first = shown[0][1]
    if any(_questions(case) != _questions(first) or case.guidelines != first.guidelines for _, case in shown):
        raise UsageError(
            f"the tasks of {annotator} follow several versions of the guidelines",
            "One sheet has one set of questions.",
            "Judge the older ones in the app first: recjudge annotate open.",
        )
    _check_answers(first, assignment.protocol)
    return TaskSet(
        annotator,
        assignment.protocol,
        first.guidelines,
        first.questions,
        tuple(_exported(db, task, case) for task, case in shown),
    )


def answers_of(question: AspectQuestion) -> tuple[str, ...]:
    """The answers to choose from, in the order of the app; empty where the answer is a number."""
    return tuple(option.words for option in question.options)


def _questions(case: ShownCase) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(q.aspect, q.question, answers_of(q)) for q in case.questions]


def _check_answers(case: ShownCase, protocol: str) -> None:
    """Raise UsageError for a prompt with labels of its own, which a file of labels cannot name."""
    facts = protocol_facts(protocol)
    known = set(facts.labels)
    for question in case.questions:
        values = {option.value for option in question.options}
        if facts.labels and not values <= known:
            raise UsageError(
                f"the guidelines ask for answers that {protocol} does not have: {', '.join(answers_of(question))}",
                "They could not be imported again.",
                "Judge these cases in the app: recjudge annotate open.",
            )


def _exported(db: Database, task: Task, case: ShownCase) -> ExportedTask:
    material = case.material
    texts = {"about_the_user": "\n".join(_user(material.user))}
    for number, slate in enumerate(material.slates, start=1):
        texts[f"list_{number}"] = "\n".join(_list(slate))
    if material.explanation is not None:
        texts["recommended_item"] = _item(material.explanation.item)
        texts["explanation_shown"] = safe_text(material.explanation.text).strip()
    return ExportedTask(task_token(db, task), texts)


def _user(user: UserView) -> Iterator[str]:
    if user.as_of:
        yield f"On {one_line(user.as_of[:10])}"
    yield from (f"{one_line(name)}: {one_line(value)}" for name, value in user.attributes.items())
    if user.browsed:
        yield f"Browsed: {', '.join(map(one_line, user.browsed))}"
    if user.preferences:
        yield f"Prefers: {'; '.join(map(one_line, user.preferences))}"
    for name, events in (
        ("History", user.history),
        ("Searches", user.searches),
        ("Clicks", user.clicks),
        ("Other", user.others),
    ):
        if events:
            yield f"{name} ({len(events)}), newest first"
        yield from map(_event, events[:MOST_EVENTS])


def _event(event: ShownEvent) -> str:
    what = _item(event.item) if event.item else f"“{one_line(event.text)}”"
    value = f" {event.value:g}" if event.value is not None else ""
    return f"- {' '.join(filter(None, (event.timestamp[:10], one_line(event.type) + value)))}: {what}"


def _list(slate: SlateView) -> Iterator[str]:
    yield from (f"{rank}. {_item(item)}" for rank, item in enumerate(slate.items, start=1))


def _item(item: ItemView) -> str:
    more = ", ".join(one_line(part) for part in (item.brand, item.category) if part)
    return one_line(item.title) + (f" ({more})" if more else "")
