"""A command that is interrupted between any two statements of its writes leaves the database as it was."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.annotation import AspectAnswer, CaseAnswers
from recjudge_tui.people.annotation import dispute_of, queue_of, settle, start_adjudication
from recjudge_tui.runs.batch import export_calls, import_results
from recjudge_tui.runs.engine import work
from recjudge_tui.store.calls import end_batch, forget_batch, name_calls, plan_batch
from recjudge_tui.store.database import Database
from recjudge_tui.store.people import reveal_tasks, skip_task
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.schema import connect
from tests.support.annotators import assigned, films, judges, tasks
from tests.support.commands import ran
from tests.support.runs import RULES, calls, intact, make_project, planned, server_judge, verdicts

WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "COMMIT")
COMMANDS = (
    "imports undo 4",
    "imports undo 3",
    "imports undo 2",
    "imports undo 1",
    "runs delete 1 --yes",
    "rater delete -p films people --yes",
    "rater combine -p films both --rule strict rules second",
    "rater metric -p films ndcg",
    "project delete films --yes",
    "import {labels} -p films --as labels",
    "outcome add -p films --systems als,pop --impressions 100,100 --clicks 9,12",
    "rater combine jury rules second -p films --rule mean",
    "rater kind people judge -p films",
    "annotate plan -p films --protocol pairwise --annotators ana,ben",
    "verdicts decide 1 override --to Poor",
    "verdicts decide 2 tag --text odd",
    "verdicts undo -p films",
    "prompt add {prompt}",
)
LABELS = "rater,user_id,system,aspect,value\n" + "".join(
    f"people,u0{n},{system},overall,Good Match\n" for n in range(2) for system in ("als", "pop")
)


class CutError(BaseException):
    """Raised instead of a statement; a BaseException, as the interrupt that it stands for."""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `judged` keeps the project that it made first; nothing is there until then."""
    return tmp_path_factory.mktemp("judged") / "recjudge.db"


@pytest.fixture
def judged(project_db: Path, kept: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Two runs of raters of their own, one with a failed call, and labels by people. Made once, and copied for each test."""
    if not kept.exists():
        _judge(project_db, capsys)
        shutil.copy(project_db, kept)
    return Path(shutil.copy(kept, project_db))


def _judge(project_db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = project_db.with_name("people.csv")
    labels.write_text(LABELS, encoding="utf-8")
    with connect(project_db) as db:
        make_project(db, users=2)
        for name in ("rules", "second"):
            work(project_db, planned(db, RULES, rater=name))
        db.execute(
            "UPDATE calls SET state = 'failed', error_kind = 'timeout', error = 'late' WHERE run_id = 2 AND id % 2"
        )
    assert (
        ran(capsys, "import", str(labels), "-p", "films", "--as", "labels", "--db", str(project_db))[0] == 0
    )
    assert ran(capsys, "prompt", "list", "--db", str(project_db))[0] == 0
    assert ran(capsys, "verdicts", "decide", "3", "accept", "--db", str(project_db))[0] == 0


def content(path: Path) -> str:
    connection = sqlite3.connect(path)
    try:
        return sha256("\n".join(connection.iterdump()).encode("utf-8", "replace")).hexdigest()
    finally:
        connection.close()


def cut_at(monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    """Raise instead of the write number `place` (from 0) of any connection."""
    written = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def method(self: Database, sql: str, *more: Any) -> Any:
            nonlocal written
            # the COMMIT of a state that is only read is no write
            if sql.lstrip().upper().startswith(WRITES) and self._kept is None:
                written += 1
                if written > place:
                    raise CutError
            return real(self, sql, *more)

        return method

    for name in ("execute", "execute_many"):
        monkeypatch.setattr(Database, name, counted(getattr(Database, name)))


def cut_everywhere(path: Path, action: Callable[[], object]) -> None:
    """Cut the action between any two statements, until it gets through: each time nothing of it is stored."""
    stored = content(path)
    for place in range(500):
        with pytest.MonkeyPatch.context() as patch:
            cut_at(patch, place)
            try:
                action()
            except CutError:
                assert content(path) == stored, f"half done after {place} statements"
                continue
        break
    assert place > 1, "there are statements to cut between"
    assert content(path) != stored


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_done_or_not_begun(
    judged: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    more = judged.with_name("more.csv")
    more.write_text(LABELS.replace("people", "others"), encoding="utf-8")
    prompt = judged.with_name("mine.toml")
    assert ran(capsys, "prompt", "copy", "pointwise-shopping", str(prompt), "--db", str(judged))[0] == 0
    words = [*command.format(labels=more, prompt=prompt).split(), "--db", str(judged)]

    def done() -> None:
        code, _, err = ran(capsys, *words)
        assert code == 0, err

    cut_everywhere(judged, done)


Action = Callable[[Database], object]


def _settle(db: Database) -> None:
    project = project_id(db, "films")
    third: int = db.value("SELECT id FROM raters WHERE name = 'third'")
    dispute = dispute_of(db, project, third, "pairwise", queue_of(db, project, third, "pairwise").left[0])
    answers = [AspectAnswer(q.aspect, q.options[0].value, q.options[0].label) for q in dispute.questions]
    settle(db, dispute, CaseAnswers(tuple(answers), (), ""), 4.0)


def _disagree(db: Database) -> None:
    judges(db, "ana")
    judges(db, "ben", choose=lambda options: options[-1])
    start_adjudication(db, project_id(db, "films"), "pairwise", "third")


# name -> what was done before, and what is cut
DECISIONS: dict[str, tuple[Action, ...]] = {
    "submit": (lambda db: judges(db, "ana", count=1, note="clear"),),
    "skip": (lambda db: skip_task(db, tasks(db, "ana")[0], "no idea", 3.0),),
    "change": (
        lambda db: judges(db, "ana", count=1),
        lambda db: skip_task(db, tasks(db, "ana")[0], "no idea", 3.0),
    ),
    "reveal": (_disagree, lambda db: reveal_tasks(db, tasks(db, "ana"))),
    "settle": (_disagree, _settle),
}


@pytest.mark.parametrize("steps", DECISIONS.values(), ids=DECISIONS)
def test_a_decision_of_a_person_is_stored_whole_or_not_at_all(
    db: Database, steps: tuple[Action, ...]
) -> None:
    films(db, users=3)
    assigned(db)
    for step in steps[:-1]:
        step(db)
    cut_everywhere(db.path, partial(steps[-1], db))


def _import(db: Database) -> None:
    out = db.path.with_name("out.jsonl")
    results = db.path.with_name("results.jsonl")
    content = '{"reasoning": "r", "category": "Good Match", "flagged_items": []}'
    message = {"role": "assistant", "content": content}
    body = {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]}
    lines = [
        {"custom_id": json.loads(line)["custom_id"], "response": {"status_code": 200, "body": body}}
        for line in out.read_text(encoding="utf-8").splitlines()
    ]
    results.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    tally = import_results(db, 2, [results])
    assert tally.done + tally.already == len(lines)


def _batched(db: Database) -> None:
    make_project(db, users=2)
    work(db.path, planned(db))
    assert planned(db, server_judge("http://127.0.0.1:9"), use_cache=False) == 2


def _name(db: Database) -> None:
    name_calls(db, 2)


def _group(db: Database) -> None:
    plan_batch(db, 2, "https://example.org", [call["id"] for call in calls(db, 2)])


@pytest.mark.parametrize(
    "steps",
    [
        (_name,),
        (_name, _group),
        (_name, _group, lambda db: end_batch(db, 1, "failed", "late")),
        (_name, _group, lambda db: forget_batch(db, 1)),
    ],
    ids=["name", "group", "let go", "forget"],
)
def test_a_batch_is_written_whole_or_not_at_all(db: Database, steps: tuple[Action, ...]) -> None:
    _batched(db)
    for step in steps[:-1]:
        step(db)
    cut_everywhere(db.path, partial(steps[-1], db))


def test_an_interrupted_batch_ends_like_an_undisturbed_one(db: Database) -> None:
    """The names are stored before the file is written, the answers before the run is closed: the next time goes on."""
    _batched(db)

    def export(db: Database) -> None:
        export_calls(db, 2, db.path.with_name("out.jsonl"))

    for action in (export, _import):
        cuts = 0
        for place in range(100):
            with pytest.MonkeyPatch.context() as patch:
                cut_at(patch, place)
                try:
                    action(db)
                except CutError:
                    cuts += 1
                else:
                    break
            # the process that held it is dead
            db.execute("UPDATE runs SET lease_owner = NULL")
        assert cuts > 3, "there are statements to cut between"
    assert {call["state"] for call in calls(db, 2)} == {"done"}
    assert db.value("SELECT state FROM runs WHERE id = 2") == "done"
    assert [row[5:7] for row in verdicts(db, 2)] == [("ok", 2.0)] * 4
    assert intact(db)
