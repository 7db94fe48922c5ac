"""Annotators' open tasks as files for a spreadsheet or a labelling tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO
from xml.sax.saxutils import quoteattr

from recjudge_tui.domain.annotation import MOST_EVENTS, AspectQuestion
from recjudge_tui.domain.material import ItemView, ShownEvent, UserView
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.people.annotation import ShownCase, shown_case
from recjudge_tui.reports.common.table import save_text
from recjudge_tui.reports.common.writers.data import harmless, text_file, write_rows
from recjudge_tui.steps import Step
from recjudge_tui.store.database import Database
from recjudge_tui.store.people import chosen_assignment, own_tasks, task_token


class TaskSet(NamedTuple):
    """The open tasks of one annotator under one protocol, in their order; all have the same questions. `tasks` are their
    tokens and what is shown, by name, in the order shown."""

    annotator: str
    protocol: str
    guidelines: str
    questions: tuple[AspectQuestion, ...]
    tasks: dict[str, dict[str, str]]

    @property
    def names(self) -> list[str]:
        """The names of the texts that each task shows."""
        return list(next(iter(self.tasks.values())))


def open_tasks(db: Database, project_id: int, annotator: str, protocol: str | None) -> TaskSet:
    """The annotator's open tasks. No text contains a system's name, and lists come in the task's order. Raises
    NotFoundError when nothing is open, and UsageError when the protocol must be named, or when the tasks follow several
    versions of the guidelines or ask for answers that an import does not know."""
    assignment = chosen_assignment(db, project_id, annotator, protocol)
    tasks = own_tasks(db, assignment.rater_id, assignment.protocol)
    shown = [(task, shown_case(db, task)) for task in tasks if task.state == "open"]
    if not shown:
        raise NotFoundError(
            f"{annotator} has no open task", step=Step("more labels", {"annotators": annotator})
        )
    first = shown[0][1]
    if any(_questions(case) != _questions(first) or case.guidelines != first.guidelines for _, case in shown):
        raise UsageError(
            f"the tasks of {annotator} follow several versions of the guidelines",
            "One sheet has one set of questions.",
            "Judge the older ones in the app first.",
            step=Step("answer tasks", {"annotators": annotator}),
        )
    _check_answers(first, assignment.protocol)
    texts = {task_token(db, task): _texts(case) for task, case in shown}
    return TaskSet(annotator, assignment.protocol, first.guidelines, first.questions, texts)


def answers_of(question: AspectQuestion) -> tuple[str, ...]:
    """The answers to choose from, in the order of the app; empty where the answer is a number."""
    return tuple(option.words for option in question.options)


def _questions(case: ShownCase) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(q.aspect, q.question, answers_of(q)) for q in case.questions]


def _check_answers(case: ShownCase, protocol: str) -> None:
    """Raise UsageError for a prompt with labels of its own, which a file of labels cannot name."""
    known = protocol_facts(protocol).labels
    for question in case.questions:
        if known and not {option.value for option in question.options} <= known.keys():
            raise UsageError(
                f"the guidelines ask for answers that {protocol} does not have: {', '.join(answers_of(question))}",
                "They could not be imported again.",
                "Judge these cases in the app.",
                step=Step("answer tasks"),
            )


def _texts(case: ShownCase) -> dict[str, str]:
    material = case.material
    texts = {"about_the_user": "\n".join(_user(material.user))}
    for number, slate in enumerate(material.slates, start=1):
        texts[f"list_{number}"] = "\n".join(
            f"{rank}. {_item(item)}" for rank, item in enumerate(slate.items, start=1)
        )
    if material.explanation is not None:
        texts["recommended_item"] = _item(material.explanation.item)
        texts["explanation_shown"] = safe_text(material.explanation.text).strip()
    return texts


def _user(user: UserView) -> Iterator[str]:
    if user.as_of:
        yield f"On {one_line(user.as_of[:10])}"
    yield from (f"{one_line(name)}: {one_line(value)}" for name, value in user.attributes.items())
    if user.browsed:
        yield f"Browsed: {', '.join(map(one_line, user.browsed))}"
    if user.preferences:
        yield f"Prefers: {'; '.join(map(one_line, user.preferences))}"
    shown = (
        ("History", user.history),
        ("Searches", user.searches),
        ("Clicks", user.clicks),
        ("Other", user.others),
    )
    for name, events in shown:
        if events:
            yield f"{name} ({len(events)}), newest first"
        yield from map(_event, events[:MOST_EVENTS])


def _event(event: ShownEvent) -> str:
    what = _item(event.item) if event.item else f"“{one_line(event.text)}”"
    value = f" {event.value:g}" if event.value is not None else ""
    return f"- {' '.join(filter(None, (event.timestamp[:10], one_line(event.type) + value)))}: {what}"


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


def write_tasks(tasks: TaskSet, fmt: TaskFormat, target: Path | TextIO) -> Path | None:
    """Write the tasks and, next to a file, what the annotators or the tool need besides: its path. Raises RecjudgeError."""
    record, ending, beside = _FORMATS[fmt]
    if record is None:
        _write_sheet(tasks, target)
    else:
        with text_file(target) as file:
            about = ({"task_id": token, "protocol": tasks.protocol} for token in tasks.tasks)
            file.write(_json(list(map(record, about, tasks.tasks.values()))))
    if not isinstance(target, Path):
        return None
    path = target.with_name(f"{target.stem}{ending}")
    save_text(beside(tasks), path)
    return path


def _write_sheet(tasks: TaskSet, target: Path | TextIO) -> None:
    """A row for each question of each task, with empty cells for the answer and a note."""
    columns = "task_id protocol rater number {} aspect question answers value note".format(
        " ".join(tasks.names)
    ).split()
    whose = tasks.protocol, tasks.annotator
    rows = (
        (token, *whose, number, *texts.values(), q.aspect, q.question, answers, "", "")
        for number, (token, texts) in enumerate(tasks.tasks.items(), start=1)
        for q in tasks.questions
        for answers in (" / ".join(answers_of(q)) or f"{q.low:g} to {q.high:g}",)
    )
    write_rows(tuple(columns), rows, "csv", target)


def _json(value: object) -> str:
    return harmless(json.dumps(value, ensure_ascii=False, indent=1)) + "\n"


def _interface(tasks: TaskSet) -> str:
    """The labelling interface: the guidelines, the texts side by side, a control for each question, and a note."""
    names = tasks.names
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


def _argilla_settings(tasks: TaskSet) -> str:
    def asked(name: str, title: str, settings: Mapping[str, Any], *, required: bool = True) -> dict[str, Any]:
        return {"name": name, "title": title, "required": required, "settings": settings}

    text = {"type": "text"}
    questions = []
    for question in tasks.questions:
        title = question.question or question.aspect.replace("_", " ")
        options = [{"value": words, "text": words} for words in answers_of(question)]
        choice = {"type": "label_selection", "options": options, "visible_options": len(options)}
        # a number is a text, because Argilla rates in whole numbers only
        bounds = "" if options else f" ({question.low:g} to {question.high:g})"
        questions.append(asked(question.aspect, f"{title}{bounds}", choice if options else text))
    return _json({
        "guidelines": tasks.guidelines,
        "fields": [asked(name, _TITLES[name], text) for name in tasks.names],
        "questions": [*questions, asked("note", "Note", text, required=False)],
        "metadata": [], "vectors": [], "allow_extra_metadata": True,
    })  # fmt: skip


# the record of a task (None: a row of a sheet), the ending of the second file, and its content
_Record = Callable[[dict[str, str], dict[str, str]], dict[str, Any]]
_FORMATS: dict[TaskFormat, tuple[_Record | None, str, Callable[[TaskSet], str]]] = {
    "csv": (None, "-guidelines.md", lambda tasks: f"{tasks.guidelines.strip()}\n"),
    "label-studio": (lambda about, texts: {"data": about | texts}, ".xml", _interface),
    "argilla": (
        lambda about, texts: {
            "id": about["task_id"], "fields": texts, "metadata": about, "suggestions": {}, "responses": {}, "vectors": {},
        }, "-settings.json", _argilla_settings,
    ),
}  # fmt: skip
