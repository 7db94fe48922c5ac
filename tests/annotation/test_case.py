"""What a person is shown: the judge's material and guidelines, in an order of its own, without the systems' names."""

from __future__ import annotations

import pytest

from recjudge_tui.annotation.case import ShownCase, guidelines, of_lists, shown_case
from recjudge_tui.domain.prompt import LabelSpec
from recjudge_tui.prompting.examples import with_case_example
from recjudge_tui.prompting.preview import request_now
from recjudge_tui.store.cases import case_row
from recjudge_tui.store.data import slate_top
from recjudge_tui.store.database import Database
from recjudge_tui.store.people import Task, task_of
from recjudge_tui.store.prompts import get_prompt, load_shipped, store_prompt
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
        lists = {
            side: [item.item_id for item in slate_top(db, task.project_id, case[f"slate_{side}"], 10)]
            for side in "ab"
        }
        first = [item.item_id for item in shown.material.slates[0].items]
        assert first == lists[task.first]
        options = {option.words: (option.value, option.label) for option in shown.questions[0].options}
        one, two = ((1.0, "A"), (-1.0, "B")) if task.first == "a" else ((-1.0, "B"), (1.0, "A"))
        assert options == {"List 1": one, "Tie": (0.0, "Tie"), "List 2": two}
        keys = [option.keys for option in shown.questions[0].options]
        assert keys == [("1", "a"), ("0", "t"), ("2", "b")]
    assert seen == {"a", "b"}


def test_the_question_names_the_lists_as_the_annotator_sees_them(db: Database) -> None:
    films(db)
    assigned(db, annotators="ana")
    for _, shown in cases(db):
        assert shown.questions[0].question == "Which list serves the person better?"


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("Is Set 1 or Set 2 better?", "Is List 1 or List 2 better?"),
        ("Would you watch either set?", "Would you watch either list?"),
        ("Which would you set aside?", "Which would you set aside?"),
    ],
)
def test_only_what_means_a_list_is_called_one(question: str, shown: str) -> None:
    assert of_lists(question, ("Set 1", "Set 2")) == shown
    assert of_lists(question, ("A", "B")) == question


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


def test_a_person_sees_no_more_of_a_user_than_a_judge(db: Database) -> None:
    films(db)
    assigned(db, "explanation", "ana")
    for _, shown in cases(db, "explanation"):
        user = shown.material.user
        assert (user.searches, user.clicks, user.preferences, user.browsed) == ((), (), (), ())


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


def test_a_heading_after_the_form_stays(db: Database) -> None:
    load_shipped(db)
    prompt = get_prompt(db, "pointwise-media")[2]
    changed = prompt.model_copy(
        update={"system": "Be fair.\n\n# Output form\nJSON\n## More\nJSON\n# Reminder\nBe kind."}
    )
    text = guidelines(changed, 10)
    assert "JSON" not in text
    assert "# Reminder\nBe kind." in text


def test_finer_classes_of_pairs_get_digits(db: Database) -> None:
    films(db)
    assigned(db, annotators="ana")
    task = task_of(db, tasks(db, "ana")[0])
    prompt = get_prompt(db, "pairwise-media")[2]
    words = {2.0: "A much", 1.0: "A", 0.0: "Tie", -1.0: "B", -2.0: "B much"}
    labels = tuple(LabelSpec(name=name, reply=f"says {name}", value=value) for value, name in words.items())
    db.execute(
        "UPDATE prompts SET content = ? WHERE id = ?",
        (prompt.model_copy(update={"labels": labels}).model_dump_json(), task.prompt_id),
    )
    for first, sign in (("a", 1), ("b", -1)):
        options = shown_case(db, task._replace(first=first)).questions[0].options
        assert [option.keys for option in options] == [("1",), ("2",), ("3",), ("4",), ("5",)]
        assert [option.value for option in options] == [sign * v for v in (2, 1, 0, -1, -2)]
        assert options[0].label == ("A much" if first == "a" else "B much")


@pytest.mark.parametrize("renamed", [False, True])
def test_an_example_made_of_the_case_itself_is_not_shown(db: Database, renamed: bool) -> None:
    films(db)
    assigned(db, annotators="ben")
    made = [task_of(db, task).case_id for task in tasks(db, "ben")][:2]
    prompt_id = get_prompt(db, "pairwise-media")[0]
    for number, case in enumerate(made):
        said = f"PLANT{number} they said."
        prompt_id = with_case_example(db, prompt_id, case, {"overall": "B"}, said).prompt_id
    prompt = get_prompt(db, "my-pairwise-media")[2]
    if renamed:
        others = [e.model_copy(update={"title": "an example"}) for e in prompt.examples]
        store_prompt(db, prompt.model_copy(update={"examples": tuple(others)}))
    assigned(db, annotators="ana", prompt="my-pairwise-media", per_case=2)
    told = {task.case_id: shown.guidelines for task, shown in cases(db)}
    for number, case in enumerate(made):
        assert f"PLANT{number}" not in told[case]
        assert f"PLANT{1 - number}" in told[case], "an example of another case is part of the guidelines"
    assert all("PLANT0" in text and "PLANT1" in text for case, text in told.items() if case not in made)
