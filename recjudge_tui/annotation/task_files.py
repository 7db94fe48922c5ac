"""Writes tasks as a sheet (CSV), for Label Studio or for Argilla; `import --as labels` takes the answers back.

Label Studio: tasks as JSON, and the labelling interface as XML (labelstud.io, "Import tasks", "Tags"). Argilla 2: records
for `records.from_json` and settings for `Settings.from_json` (argilla-io/argilla, argilla/settings/_resource.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO
from xml.sax.saxutils import quoteattr

from recjudge_tui.annotation.task_export import TaskSet, answers_of
from recjudge_tui.domain.annotation import AspectQuestion
from recjudge_tui.reports.common.stream import text_file, write_rows
from recjudge_tui.reports.common.table import save_text
from recjudge_tui.reports.common.writers.json_text import harmless

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
