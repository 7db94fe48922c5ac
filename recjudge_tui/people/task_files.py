"""Annotators' open tasks as files for a spreadsheet or a labelling tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO
from xml.sax.saxutils import quoteattr

from recjudge_tui.domain.annotation import MOST_EVENTS, AspectQuestion
from recjudge_tui.domain.material import ItemView, ShownEvent, SlateView, UserView
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.people.annotation import ShownCase, shown_case
from recjudge_tui.reports.common.stream import text_file, write_rows
from recjudge_tui.reports.common.table import save_text
from recjudge_tui.reports.common.writers.json_text import harmless
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
    """The annotator's open tasks. No text contains a system's name, and lists come in the task's order. Raises
    NotFoundError when nothing is open, and UsageError when the protocol must be named, or when the tasks follow several
    versions of the guidelines or ask for answers that an import does not know."""
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


# ---- task files --------------------------------------------------------------------------------------------------


TaskFormat = Literal["csv", "label-studio", "argilla"]
_TITLES = {
    "about_the_user": "The user",
    "list_1": "List 1",
    "list_2": "List 2",
    "recommended_item": "The recommended item",
    "explanation_shown": "The explanation",
}


class TaskFiles(NamedTuple):
    """The number of tasks written, and the file beside the tasks with guidelines or settings; None on stdout."""

    tasks: int
    beside: Path | None


def write_tasks(tasks: TaskSet, fmt: TaskFormat, target: Path | TextIO) -> TaskFiles:
    """Write the tasks and, next to a file, what the annotators or the tool need besides. Raises RecjudgeError."""
    write, ending, beside = _WRITERS[fmt]
    write(tasks, target)
    if not isinstance(target, Path):
        return TaskFiles(len(tasks.tasks), None)
    path = target.with_name(f"{target.stem}{ending}")
    save_text(beside(tasks), path)
    return TaskFiles(len(tasks.tasks), path)


def _write_sheet(tasks: TaskSet, target: Path | TextIO) -> None:
    """A row for each question of each task, with empty cells for the answer and a note."""
    texts = tuple(tasks.tasks[0].texts)
    columns = (
        *("task_id", "protocol", "rater", "number", *texts),
        *("aspect", "question", "answers", "value", "note"),
    )
    write_rows(columns, _sheet_rows(tasks), "csv", target)


def _sheet_rows(tasks: TaskSet) -> Iterator[tuple[object, ...]]:
    for number, task in enumerate(tasks.tasks, start=1):
        for question in tasks.questions:
            answers = " / ".join(answers_of(question)) or f"{question.low:g} to {question.high:g}"
            yield (
                *(task.token, tasks.protocol, tasks.annotator, number, *task.texts.values()),
                *(question.aspect, question.question, answers, "", ""),
            )


def _write_json(target: Path | TextIO, records: list[dict[str, Any]]) -> None:
    with text_file(target) as file:
        file.write(harmless(json.dumps(records, ensure_ascii=False, indent=1)) + "\n")


def _write_label_studio(tasks: TaskSet, target: Path | TextIO) -> None:
    _write_json(
        target,
        [{"data": {"task_id": task.token, "protocol": tasks.protocol, **task.texts}} for task in tasks.tasks],
    )


def _interface(tasks: TaskSet) -> str:
    """The labelling interface: the guidelines, the texts side by side, a control for each question, and a note."""
    names = list(tasks.tasks[0].texts)
    shown = "\n".join(
        f'    <View style="flex: 1; margin-right: 1em; white-space: pre-wrap">'
        f"<Header value={quoteattr(_TITLES[name])}/><Text name={quoteattr(name)} value={quoteattr(f'${name}')}/></View>"
        for name in names
    )
    controls = "\n".join(_control(question, names[0]) for question in tasks.questions)
    return (
        "<View>\n"
        '  <Collapse><Panel value="Guidelines">'
        f'<View style="white-space: pre-wrap"><Header size="6" value={_attribute(tasks.guidelines)}/></View>'
        "</Panel></Collapse>\n"
        f'  <View style="display: flex">\n{shown}\n  </View>\n'
        f"{controls}\n"
        f'  <TextArea name="note" toName={quoteattr(names[0])} placeholder="Note (optional)" maxSubmissions="1"/>\n'
        "</View>\n"
    )


def _control(question: AspectQuestion, shown: str) -> str:
    name, to = quoteattr(question.aspect), quoteattr(shown)
    head = f"  <Header value={_attribute(question.question or question.aspect.replace('_', ' '))}/>\n"
    if not question.options:
        bounds = f'min="{question.low:g}" max="{question.high:g}" step="0.01"'
        return f'{head}  <Number name={name} toName={to} {bounds} required="true"/>'
    options = "".join(f"<Choice value={quoteattr(words)}/>" for words in answers_of(question))
    return (
        f'{head}  <Choices name={name} toName={to} choice="single-radio" showInline="true" required="true">'
        f"{options}</Choices>"
    )


def _attribute(text: str) -> str:
    """A quoted attribute that keeps its line ends."""
    return quoteattr(text, {"\n": "&#10;"})


def _write_argilla(tasks: TaskSet, target: Path | TextIO) -> None:
    _write_json(
        target,
        [
            {
                "id": task.token,
                "fields": task.texts,
                "metadata": {"task_id": task.token, "protocol": tasks.protocol},
                "suggestions": {},
                "responses": {},
                "vectors": {},
            }
            for task in tasks.tasks
        ],
    )


def _argilla_settings(tasks: TaskSet) -> str:
    questions = [_argilla_question(question) for question in tasks.questions]
    note = {"name": "note", "title": "Note", "required": False, "settings": {"type": "text"}}
    fields = [
        {"name": name, "title": _TITLES[name], "required": True, "settings": {"type": "text"}}
        for name in tasks.tasks[0].texts
    ]
    settings = {
        "guidelines": tasks.guidelines,
        "fields": fields,
        "questions": [*questions, note],
        "metadata": [],
        "vectors": [],
        "allow_extra_metadata": True,
    }
    return harmless(json.dumps(settings, ensure_ascii=False, indent=1)) + "\n"


def _argilla_question(question: AspectQuestion) -> dict[str, Any]:
    """A choice; a number is a text, because Argilla rates in whole numbers only."""
    title = question.question or question.aspect.replace("_", " ")
    if not question.options:
        title, settings = f"{title} ({question.low:g} to {question.high:g})", {"type": "text"}
        return {"name": question.aspect, "title": title, "required": True, "settings": settings}
    options = [{"value": words, "text": words} for words in answers_of(question)]
    return {
        "name": question.aspect,
        "title": title,
        "required": True,
        "settings": {"type": "label_selection", "options": options, "visible_options": len(options)},
    }


def _guidelines(tasks: TaskSet) -> str:
    return f"{tasks.guidelines.strip()}\n"


_Writer = Callable[[TaskSet, Path | TextIO], None]
# the writer of the tasks, the ending of the second file, and its content
_WRITERS: dict[TaskFormat, tuple[_Writer, str, Callable[[TaskSet], str]]] = {
    "csv": (_write_sheet, "-guidelines.md", _guidelines),
    "label-studio": (_write_label_studio, ".xml", _interface),
    "argilla": (_write_argilla, "-settings.json", _argilla_settings),
}
