"""What a person is shown: the judge's material and guidelines, in an order of its own, without the systems' names."""

from __future__ import annotations

import pytest

from recjudge_tui.people.annotation import ShownCase, guidelines, shown_case
from recjudge_tui.prompting.trial import request_now
from recjudge_tui.store.cases import case_row
from recjudge_tui.store.data import slate_top
from recjudge_tui.store.database import Database
from recjudge_tui.store.people import Task, task_of
from recjudge_tui.store.prompts import get_prompt, load_shipped
from tests.support.annotators import assigned, films, tasks
from tests.support.runs import load, planned

PROMPTS = ("pointwise", "pairwise", "arena", "absolute", "explanation")


def cases(db: Database, protocol: str = "pairwise") -> list[tuple[Task, ShownCase]]:
    found = [task_of(db, task) for task in tasks(db, "ana", protocol)]
    return [(task, shown_case(db, task)) for task in found]


def test_labels_are_turned_back_to_the_systems(db: Database) -> None:
    films(db)
    assigned(db, annotators="ana")
    seen = set()
    for task, shown in cases(db):
        seen.add(task.first)
        case = case_row(db, task.case_id)
        first = slate_top(db, task.project_id, case[f"slate_{task.first}"], 10)
        assert [item.item_id for item in shown.material.slates[0].items] == [item.item_id for item in first]
        options = {option.words: (option.value, option.label) for option in shown.questions[0].options}
        one, two = ((1.0, "A"), (-1.0, "B")) if task.first == "a" else ((-1.0, "B"), (1.0, "A"))
        assert options == {"List 1": one, "Tie": (0.0, "Tie"), "List 2": two}
    assert seen == {"a", "b"}


@pytest.mark.parametrize("protocol", PROMPTS)
def test_the_material_is_that_of_the_judge(db: Database, protocol: str) -> None:
    films(db)
    run = planned(db, protocol=protocol, top_k=2, history=1)
    assigned(db, protocol, "ana")
    load(db, "items", [("item_id", "title"), *((f"i{n}", "renamed since") for n in range(80))])
    for _, shown in cases(db, protocol):
        assert "renamed since" not in shown.material.model_dump_json()
        assert all(len(slate.items) == 2 for slate in shown.material.slates)
        assert len(shown.material.user.history) <= 1
    assert db.value("SELECT count(*) FROM annotation_tasks WHERE run_id = ?", (run,)) > 0


def test_without_a_run_the_case_is_as_it_is_now(db: Database) -> None:
    films(db)
    assigned(db, "pointwise", "ana")
    _, _, prompt = get_prompt(db, "pointwise-media")
    for task, shown in cases(db, "pointwise"):
        request = request_now(db, prompt, task.case_id)
        assert request.material is not None
        assert shown.material.slates == request.material.slates
        assert shown.material.user.history == request.material.user.history
        for event in shown.material.user.history:
            assert event.item is not None
            assert event.item.title in request.messages[1].content


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
