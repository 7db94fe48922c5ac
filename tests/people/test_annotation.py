"""People who judge: who judges what, what they are shown, tasks that go out and come back, and adjudication."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.domain.annotation import AspectAnswer, AspectQuestion, CaseAnswers
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.people.annotation import (
    ShownCase,
    assign,
    ballot_authors,
    dispute_of,
    guidelines,
    queue_of,
    settle,
    shown_case,
    start_adjudication,
)
from recjudge_tui.people.task_files import TaskFormat, TaskSet, answers_of, open_tasks, write_tasks
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.runs.settings import settings_for
from recjudge_tui.store.cases import case_row
from recjudge_tui.store.data import slate_top
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import undo_import
from recjudge_tui.store.people import Task, submit_verdict, task_of
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.prompts import get_prompt, load_shipped
from recjudge_tui.store.raters import ensure_rater
from recjudge_tui.store.schema import connect
from tests.support.annotators import PROJECT, assigned, desk, films, judges, tasks, verdicts
from tests.support.runs import RULES, plan_run

NAMES = [f"p{n}" for n in range(7)]


@given(cases=st.integers(0, 60), people=st.integers(1, 6), seed=st.integers(0, 10_000), data=st.data())
def test_every_case_gets_whom_it_needs_and_loads_are_equal(
    cases: int, people: int, seed: int, data: st.DataObject
) -> None:
    wanted = data.draw(st.lists(st.integers(0, people), min_size=cases, max_size=cases))
    names = {name: at for at, name in enumerate(NAMES[:people])}
    loads = assign(range(cases), names, wanted, {}, {}, seed)
    on = Counter(case for load in loads.values() for case in load)
    assert [on[case] for case in range(cases)] == wanted
    assert all(len(set(load)) == len(load) for load in loads.values())
    sizes = [len(load) for load in loads.values()]
    assert max(sizes) - min(sizes) <= 1
    # neither the order of people nor their ids matter
    renamed = {name: 10 + names[name] for name in reversed(names)}
    again = assign(range(cases), renamed, wanted, {}, {}, seed)
    assert {rater - 10: load for rater, load in again.items()} == loads


@given(cases=st.integers(1, 40), people=st.integers(1, 6), seed=st.integers(0, 1000), data=st.data())
def test_assigned_and_excluded_cases_are_left_alone(
    cases: int, people: int, seed: int, data: st.DataObject
) -> None:
    names = range(people)
    some = st.sets(st.sampled_from(names))
    taken = {case: data.draw(some) for case in range(0, cases, 2)}
    excluded = {name: data.draw(st.sets(st.integers(0, cases - 1))) for name in names}
    loads = assign(range(cases), dict(zip(NAMES, names, strict=False)), [2] * cases, taken, excluded, seed)
    for name, new_cases in loads.items():
        assert not [case for case in new_cases if name in taken.get(case, ()) or case in excluded[name]]
    for case in range(cases):
        had = taken.get(case, set())
        free = [name for name in names if name not in had and case not in excluded[name]]
        new = [name for name in names if case in loads[name]]
        assert len(new) == min(max(2 - len(had), 0), len(free))


def plan_of(db: Database, *people: str) -> dict[str, list[tuple[str, str]]]:
    found = {}
    for who in people:
        rows = [task_of(db, task) for task in tasks(db, who)]
        users = [db.value("SELECT user_id FROM cases WHERE id = ?", (row.case_id,)) for row in rows]
        found[who] = [(user, row.first) for user, row in zip(users, rows, strict=True)]
    return found


def test_a_sample_is_of_judged_cases_and_one_per_user_first(db: Database) -> None:
    project = films(db, 9, ("als", "bpr", "pop"))
    plan_run(db, RunRequest(project, RULES, settings_for("pairwise", sample=4, seed=3)))
    work(db.path, db.value("SELECT max(id) FROM runs"))
    seen = set(db.column("SELECT case_id FROM verdicts"))
    users = db.value("SELECT count(DISTINCT user_id) FROM cases WHERE id IN (SELECT case_id FROM verdicts)")
    assert 1 < users < 9
    for sample in (users, 15):
        assigned(db, annotators=f"p{sample}", sample=sample, seed=sample)
        cases = [task_of(db, task).case_id for task in tasks(db, f"p{sample}")]
        of = [db.value("SELECT user_id FROM cases WHERE id = ?", (case,)) for case in cases]
        assert len(set(cases) & seen) == min(sample, len(seen))
        assert len(set(of)) == (users if sample == users else users + sample - len(seen))


def test_a_later_plan_only_adds(db: Database) -> None:
    films(db, 6)
    assigned(db, sample=4)
    before = plan_of(db, "ana", "ben")
    judges(db, "ana", count=2)
    kept = verdicts(db, "ana")
    assert assigned(db).assigned == {"ana": 2, "ben": 2}
    after = plan_of(db, "ana", "ben")
    assert {who: found[:4] for who, found in after.items()} == before
    assert verdicts(db, "ana") == kept
    assert assigned(db, annotators="cy", per_case=3).assigned == {"cy": 6}
    with pytest.raises(UsageError, match="nothing is left to assign"):
        assigned(db)


def test_one_person_judges_a_case_under_one_protocol(db: Database) -> None:
    films(db, 3)
    assigned(db, annotators="ana")
    with pytest.raises(UsageError, match="ana cannot judge these cases again"):
        assigned(db, "arena", "ana")
    assert assigned(db, "arena", "ana-arena").assigned == {"ana-arena": 3}
    mixed = assigned(db, "arena", "ana,ben", per_case=3)
    assert mixed.assigned == {"ana": 0, "ben": 3}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"annotators": ""}, "need names"),
        ({"annotators": "ana,,ben"}, "need names"),
        ({"annotators": "ana, ana"}, "named twice: ana"),
        ({"annotators": "a\x1b[2Ja"}, "cannot be displayed"),
        ({"annotators": "rules"}, "of kind rules, not annotator"),
        ({"overlap": 0.5, "per_case": 2}, "cannot be combined"),
        ({"overlap": 1.5}, "between 0 and 1"),
        ({"per_case": 0}, "at least one annotator"),
        ({"per_case": 3}, "3 annotators per case need at least 3 names"),
        ({"prompt": "arena-media"}, "is for arena, not for pairwise"),
        ({"systems": ("als", "nobody")}, "no system “nobody”"),
        ({"protocol": "telepathy"}, "no protocol"),
    ],
)
def test_an_impossible_plan_stores_nothing(db: Database, options: dict[str, object], message: str) -> None:
    project = films(db, 3)
    ensure_rater(db, project, "rules", "rules")
    with pytest.raises((UsageError, NotFoundError), match=message):
        assigned(db, **{"protocol": "pairwise", "annotators": "ana,ben", **options})  # type: ignore[arg-type]
    assert db.value("SELECT count(*) FROM annotation_tasks") == 0
    assert db.value("SELECT count(*) FROM raters WHERE kind = 'annotator'") == 0


# ---- what a person is shown -----------------------------------------------------------------------------------------


PROMPTS = ("pointwise", "pairwise", "arena", "absolute", "explanation")


def shown_cases(db: Database, protocol: str = "pairwise") -> list[tuple[Task, ShownCase]]:
    found = [task_of(db, task) for task in tasks(db, "ana", protocol)]
    return [(task, shown_case(db, task)) for task in found]


def test_labels_are_turned_back_to_the_systems(db: Database) -> None:
    films(db)
    assigned(db, annotators="ana")
    seen = set()
    for task, shown in shown_cases(db):
        seen.add(task.first)
        case = case_row(db, task.case_id)
        first = slate_top(db, task.project_id, case[f"slate_{task.first}"], 10)
        assert [item.item_id for item in shown.material.slates[0].items] == [item.item_id for item in first]
        options = {option.words: (option.value, option.label) for option in shown.questions[0].options}
        one, two = ((1.0, "A"), (-1.0, "B")) if task.first == "a" else ((-1.0, "B"), (1.0, "A"))
        assert options == {"List 1": one, "Tie": (0.0, "Tie"), "List 2": two}
    assert seen == {"a", "b"}


@pytest.mark.parametrize("protocol", PROMPTS)
@pytest.mark.parametrize("domain", ["media", "shopping"])
def test_the_guidelines_are_the_prompts_without_the_form_of_the_reply(
    db: Database, protocol: str, domain: str
) -> None:
    load_shipped(db)
    prompt = get_prompt(db, f"{protocol}-{domain}")[2]
    text = guidelines(prompt, 10)
    assert "JSON" not in text
    assert "Output form" not in text
    before = prompt.system.split("# ")[0].strip().split("\n")[0].split("{")[0]
    assert before in text
    for issue in prompt.issues:
        assert prompt.worded(issue.meaning) in text
        assert "{" not in prompt.worded(issue.meaning)
    for label in prompt.labels:
        assert label.meaning in text
    assert ("List 1 and List 2" in text) == (protocol in ("pairwise", "arena"))


# ---- tasks go out and come back -------------------------------------------------------------------------------------


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
    text = path.read_text(encoding="utf-8") + beside.read_text(encoding="utf-8")
    assert not [word for word in (*names, "u00", "system_a", "The Held Out Film") if word in text]
    assert "Film number" in text


# ---- adjudication ---------------------------------------------------------------------------------------------------


def overall(value: float, label: str, why: str) -> CaseAnswers:
    return CaseAnswers((AspectAnswer("overall", value, label),), (), why)


def voted(db: Database, who: str, labels: dict[int, str]) -> None:
    """`who` gives each of their cases the label named for it; cases without one stay open."""
    value = {"A": 1.0, "Tie": 0.0, "B": -1.0}
    for task_id in tasks(db, who):
        label = labels.get(task_of(db, task_id).case_id)
        if label:
            submit_verdict(db, task_id, overall(value[label], label, f"{who} says so"), 1)


@pytest.fixture
def cases(db: Database) -> list[int]:
    """Four cases: agreed on A, A against B, Tie against B, one that ana alone has judged."""
    films(db, 4)
    assigned(db)
    found = sorted(task_of(db, task).case_id for task in tasks(db, "ana"))
    voted(db, "ana", dict(zip(found, ("A", "A", "Tie", "A"), strict=True)))
    voted(db, "ben", dict(zip(found[:3], ("A", "B", "B"), strict=True)))
    return found


def test_a_third_person_settles_the_disagreements(db: Database, cases: list[int]) -> None:
    rater = start_adjudication(db, 1, "pairwise", "cy")
    assert [(row[0], row[3], row[4]) for row in verdicts(db, "cy")] == [(cases[0], "A", "agreed")]
    queue = queue_of(db, 1, rater, "pairwise")
    assert (queue.disputed, queue.left) == (2, (cases[1], cases[2]))
    dispute = dispute_of(db, 1, rater, "pairwise", cases[1])
    option = next(o for q in dispute.questions for o in q.options if o.label == "B")
    settle(db, dispute, overall(option.value, option.label, "B it is"), 7.0)
    assert verdicts(db, "cy")[1][2:6] == (-1.0, "B", "third person", "B it is")
    assert queue_of(db, 1, rater, "pairwise").left == (cases[2],)
    settle(db, dispute_of(db, 1, rater, "pairwise", cases[2]), None, 1.0, "cannot tell")
    assert queue_of(db, 1, rater, "pairwise").left == ()
    columns = "first IN ('a', 'b'), state, seconds, reason"
    rows = db.tuples(f"SELECT {columns} FROM v_annotations WHERE annotator = 'cy' ORDER BY position")
    assert list(rows) == [(1, "done", 7.0, ""), (1, "skipped", 1.0, "cannot tell")]
    assert start_adjudication(db, 1, "pairwise", "cy") == rater
    assert len(verdicts(db, "cy")) == 2


def test_ballots_have_no_names_and_speak_of_the_lists_as_shown(db: Database, cases: list[int]) -> None:
    rater = start_adjudication(db, 1, "pairwise", "cy")
    dispute = dispute_of(db, 1, rater, "pairwise", cases[1])
    assert sorted(ballot.words for ballot in dispute.ballots) == [("List 1",), ("List 2",)]
    assert dispute == dispute_of(db, 1, rater, "pairwise", cases[1]), "the same when one comes back"
    said = dict(ballot_authors(db, dispute))
    ana = "List 1" if dispute.task.first == "a" else "List 2"
    assert said["ana"].words == (ana,)
    assert said["ben"].words != (ana,)
