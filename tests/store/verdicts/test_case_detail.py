from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.domain.filters import parse_filter
from recjudge_tui.errors import NotFoundError
from recjudge_tui.runs.engine.engine import work
from recjudge_tui.store.case_detail import CaseDetail, case_detail
from recjudge_tui.store.database import Database
from recjudge_tui.store.schema import connect
from recjudge_tui.store.verdicts import filtered_ids
from tests.support import runs
from tests.support.app.projects import ASPECTS, make_arena, make_explanations, make_project


def detail(path: Path, text: str) -> CaseDetail:
    with connect(path) as db:
        return case_detail(db, filtered_ids(db, 1, parse_filter(text))[0])


def test_both_orders_with_their_first_set(project_db: Path) -> None:
    make_project(project_db)
    case = detail(project_db, "why:swap")
    assert [(answer.set_one, answer.label) for answer in case.answers] == [("als", "A"), ("cooc", "B")]
    assert case.flipped
    assert {opinion.rater for opinion in case.opinions} == {"qwen2.5:14b", "anna", "bert"}
    assert [opinion.rater for opinion in case.opinions if opinion.mine] == ["qwen2.5:14b"]


def test_lists_belong_to_their_systems(project_db: Path) -> None:
    make_project(project_db)
    case = detail(project_db, "why:flag")
    assert [(name, slate.items[1].title) for name, slate in case.slates] == [
        ("als", "Heat 2"),
        ("cooc", "Ronin"),
    ]
    assert case.run_shown == case.run_id
    assert [(flag.item_id, flag.set_one, flag.mine) for flag in case.flags] == [("i1", "als", True)]


def test_flags_on_places_that_the_verdict_did_not_see_are_counted_apart(db: Database) -> None:
    runs.make_project(db, users=2, systems=("als",), length=6)
    short, long = (runs.planned(db, top_k=k) for k in (3, 6))
    for run in (short, long):
        work(db.path, run)
    call = db.value("SELECT id FROM calls WHERE run_id = ?", (long,))
    case = db.value("SELECT case_id FROM calls WHERE id = ?", (call,))
    places = [
        key
        for (key,) in db.rows(
            "SELECT item_id FROM slate_items WHERE slate_id = (SELECT slate_a FROM cases WHERE id = ?) ORDER BY rank",
            (case,),
        )
    ]
    for item in (places[0], places[4], "unheard of"):
        db.execute(
            "INSERT INTO flags (call_id, item_id, issue, reason) VALUES (?, ?, 'other', 'r')", (call, item)
        )
    verdicts = {
        row["run_id"]: row["id"]
        for row in db.rows("SELECT id, run_id FROM verdicts WHERE case_id = ?", (case,))
    }
    seen = {run: case_detail(db, verdicts[run]) for run in (short, long)}
    of_short = [flag.item_id for flag in seen[short].flags if flag.issue == "other"]
    assert of_short == [places[0], "unheard of"]
    assert seen[short].flags_beyond >= 1
    assert seen[long].flags_beyond == 0


def test_a_failed_call_says_how(project_db: Path) -> None:
    make_project(project_db)
    case = detail(project_db, "why:failed")
    assert case.failed
    assert [(s.failed, s.error_kind, s.attempts) for s in case.answers] == [
        (False, "", 1),
        (True, "bad_reply", 3),
    ]


def test_a_persons_verdict_shows_what_the_judge_was_shown(project_db: Path) -> None:
    make_project(project_db)
    case = detail(project_db, "judge:anna")
    assert case.answers == ()
    assert case.run_id is None
    assert case.run_shown == 1
    assert case.user.history[0].value == 4.0


def test_without_a_run_it_is_read_from_what_is_imported(project_db: Path) -> None:
    make_project(project_db)
    with connect(project_db) as db:
        db.execute("DELETE FROM runs")
        db.execute("DELETE FROM items WHERE item_id = 'i2'")
    case = detail(project_db, "judge:anna")
    assert case.run_shown is None
    assert [item.title for item in case.slates[0][1].items][:3] == ["Heat", "Heat 2", "i2"]
    assert case.user.attributes == {"age": "25-34"}
    assert [event.item.title for event in case.user.history if event.item] == ["Heat"]


def test_a_label_without_lists(project_db: Path) -> None:
    make_project(project_db)
    with connect(project_db) as db:
        db.execute("DELETE FROM runs")
        db.execute("UPDATE cases SET slate_a = NULL, slate_b = NULL")
    case = detail(project_db, "judge:anna")
    assert case.slates == ()


def test_an_explanation_with_the_words_of_its_aspect(project_db: Path) -> None:
    project = make_project(project_db)
    make_explanations(project_db, project)
    case = detail(project_db, "aspect:transparency")
    assert case.explanation is not None
    assert case.explanation.text.startswith("You liked Heat")
    assert case.explanation_system == "writer"
    assert [answer.label for answer in case.answers] == ["2"]


def test_an_arena_case_holds_every_aspect_in_the_order_of_its_prompt(project_db: Path) -> None:
    make_arena(project_db, make_project(project_db))
    case = detail(project_db, "protocol:arena aspect:inspiration")
    assert case.aspects == ASPECTS
    assert [(answer.set_one, answer.label) for answer in case.answers] == [("als", "A"), ("cooc", "B")]
    assert len(case.run_answers) == 2 * len(ASPECTS)
    assert not [answer for answer in case.run_answers if answer.aspect.startswith("@")]
    assert "nineties" in case.profile
    assert case.value == 0.0


def test_the_example_of_a_one_shot_question(project_db: Path) -> None:
    make_explanations(project_db, make_project(project_db))
    case = detail(project_db, "aspect:accuracy")
    assert case.example is not None
    assert case.example.scores == {"accuracy": 3.0}
    assert detail(project_db, "judge:anna").example is None


def test_a_verdict_that_is_gone(project_db: Path) -> None:
    make_project(project_db)
    with connect(project_db) as db, pytest.raises(NotFoundError):
        case_detail(db, 999)
