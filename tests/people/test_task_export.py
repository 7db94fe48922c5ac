"""Tasks go out to a sheet or a labelling tool, blind, and the answers come back as the app would have stored them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

import pytest

from recjudge_tui.domain.annotation import AspectQuestion
from recjudge_tui.errors import NotFoundError
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.people.task_files import TaskFormat, TaskSet, answers_of, open_tasks, write_tasks
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import undo_import
from recjudge_tui.store.people import task_of
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.schema import connect
from tests.support.annotators import PROJECT, assigned, desk, films, judges, tasks, verdicts

Answers = dict[tuple[str, str], str]
ENDINGS = {"csv": "csv", "label-studio": "json", "argilla": "json"}


def _open(db: Database, who: str = "ana", protocol: str = "pairwise") -> TaskSet:
    return open_tasks(db, project_id(db, PROJECT), who, protocol)


def _choice(place: int, question: AspectQuestion) -> str:
    """Another answer for each task, by its place."""
    quarter = f"{question.low + (question.high - question.low) * 0.25:g}"
    options = answers_of(question) or [quarter]
    return options[place % len(options)]


def _answers(found: TaskSet) -> Answers:
    return {
        (token, question.aspect): _choice(place, question)
        for place, token in enumerate(found.tasks)
        for question in found.questions
    }


def _sheet(path: Path, answers: Answers) -> None:
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))
    for row in rows:
        row["value"] = answers[row["task_id"], row["aspect"]]
        row["note"] = "why not"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _label_studio(path: Path, answers: Answers) -> None:
    """As its JSON export writes them, with the controls of the interface."""
    page = ElementTree.parse(path.with_suffix(".xml"))
    controls = {control.get("name", ""): control.tag for control in page.iter()}
    done = []
    for number, task in enumerate(json.loads(path.read_text(encoding="utf-8")), start=1):
        note: dict[str, Any] = {"from_name": "note", "type": "textarea", "value": {"text": ["why not"]}}
        results = [note]
        for (token, aspect), words in answers.items():
            if token == task["data"]["task_id"]:
                number_given = controls[aspect] == "Number"
                value = {"number": float(words)} if number_given else {"choices": [words]}
                kind = "number" if number_given else "choices"
                results.append({"from_name": aspect, "to_name": "list_1", "type": kind, "value": value})
        made = {"completed_by": {"email": "ana"}, "result": results}
        done.append({"id": number, **task, "annotations": [made]})
    path.write_text(json.dumps(done), encoding="utf-8")


def _argilla(path: Path, answers: Answers) -> None:
    """As `records.to_json` of version 2 writes them."""
    records = json.loads(path.read_text(encoding="utf-8"))
    for record in records:
        given = {a: words for (token, a), words in answers.items() if token == record["id"]}
        given["note"] = "why not"
        record["responses"] = {name: [{"value": value, "user_id": "ana"}] for name, value in given.items()}
    path.write_text(json.dumps(records), encoding="utf-8")


FILL: dict[TaskFormat, Callable[[Path, Answers], None]] = {
    "csv": _sheet, "label-studio": _label_studio, "argilla": _argilla,
}  # fmt: skip


def _in_app(db: Database, protocol: str) -> list[tuple[Any, ...]]:
    """What ana's verdicts are if she gives the same answers in the app."""
    for place in range(len(tasks(db, "ana", protocol))):
        judges(db, "ana", protocol, 1, lambda options, at=place: options[at % len(options)], "why not")  # type: ignore[misc]
    return verdicts(db, "ana")


@pytest.mark.parametrize("fmt", get_args(TaskFormat))
@pytest.mark.parametrize("protocol", ["pairwise", "explanation"])
def test_answers_come_back(tmp_path: Path, protocol: str, fmt: TaskFormat) -> None:
    path = tmp_path / f"ana.{ENDINGS[fmt]}"
    with connect(tmp_path / "app.db") as db:
        films(db, 3)
        assigned(db, protocol, "ana")
        wanted = _in_app(db, protocol)
    with connect(tmp_path / "a.db") as db:
        films(db, 3)
        assigned(db, protocol, "ana")
        found = _open(db, "ana", protocol)
        assert {task_of(db, task).first for task in tasks(db, "ana", protocol)} <= {"", "a", "b"}
        assert write_tasks(found, fmt, path) is not None
        FILL[fmt](path, _answers(found))
        [summary] = import_paths(db, PROJECT, [path], None)
        assert (summary.kind, summary.skipped) == ("labels", 0)
        # in the app a note is stored once for a case
        assert [v[:4] for v in verdicts(db, "ana")] == [v[:4] for v in wanted]
        assert {v[5] for v in verdicts(db, "ana")} == {"why not"}
        assert (desk(db, "ana", protocol).open, desk(db, "ana", protocol).done) == (0, len(found.tasks))
        with pytest.raises(NotFoundError, match="ana has no open task"):
            _open(db, "ana", protocol)
        import_id = summary.files[0].import_id
        assert import_id is not None
        undo_import(db, import_id)
        assert verdicts(db, "ana") == []
        assert _open(db, "ana", protocol) == found


@pytest.mark.parametrize("fmt", get_args(TaskFormat))
def test_scores_come_back(tmp_path: Path, fmt: TaskFormat) -> None:
    path = tmp_path / f"ana.{ENDINGS[fmt]}"
    with connect(tmp_path / "a.db") as db:
        films(db, 2)
        assigned(db, "absolute", "ana")
        found = _open(db, "ana", "absolute")
        write_tasks(found, fmt, path)
        FILL[fmt](path, _answers(found))
        assert import_paths(db, PROJECT, [path], None)[0].skipped == 0
        assert {value for _, _, value, *_ in verdicts(db, "ana")} == {0.25}


@pytest.mark.parametrize("fmt", get_args(TaskFormat))
def test_no_text_reveals_a_system(tmp_path: Path, fmt: TaskFormat) -> None:
    """The names of the systems, and the user's id, are nowhere; both orders occur."""
    names = ("zzsystem", "qqsystem")
    path = tmp_path / f"ana.{ENDINGS[fmt]}"
    with connect(tmp_path / "a.db") as db:
        films(db, 6, names)
        assigned(db, "pairwise", "ana")
        assert {task_of(db, task).first for task in tasks(db, "ana")} == {"a", "b"}
        found = _open(db)
        beside = write_tasks(found, fmt, path)
    assert beside is not None
    text = path.read_text(encoding="utf-8") + beside.read_text(encoding="utf-8")
    assert not [word for word in (*names, "u00", "system_a", "The Held Out Film") if word in text]
    assert "Film number" in text
