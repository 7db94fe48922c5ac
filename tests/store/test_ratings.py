"""Verdicts and answers as columns."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from recjudge_tui.domain.selection import Selection
from recjudge_tui.project import Project
from recjudge_tui.shapes import answers, base
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import list_imports, undo_import
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.prompts import run_prompts
from recjudge_tui.store.ratings import (
    NEVER,
    Question,
    load_cases,
    load_lifetimes,
    project_raters,
)
from tests.support.runs import load, planned
from tests.support.verdicts import give, judge_pairs, list_case, new_project, pair_case

# ---- test ratings ------------------------------------------------------------------------------------------------


def test_failed_is_nan_and_rows_point_to_cases(project_db: Path) -> None:
    project = new_project(project_db)
    first, second, third = (list_case(project, user) for user in ("u1", "u2", "u3"))
    give(project, "anna", {third: 2.0, first: 0.0})
    give(project, "llm", {first: 1.0, second: None}, kind="judge")
    give(project, "anna", {first: 4.0}, protocol_name="explanation", aspect="accuracy")
    found = base(Project(project.db, project.id, "films"), Selection(readers=True)).ratings
    assert set(found.verdicts) == {
        Question("anna", "pointwise", "overall"),
        Question("anna", "explanation", "accuracy"),
        Question("llm", "pointwise", "overall"),
    }
    anna = found.verdicts[Question("anna", "pointwise", "overall")]
    said = dict(zip(found.cases.ids[anna.row].tolist(), anna.value.tolist(), strict=True))
    assert said == {first: 0.0, third: 2.0}
    llm = found.verdicts[Question("llm", "pointwise", "overall")]
    assert np.isnan(llm.value[found.cases.ids[llm.row] == second]).all()
    assert found.raters["llm"].kind == "judge"


def test_ids_in_any_order_and_awkward_texts(project_db: Path) -> None:
    project = new_project(project_db)
    odd = ('quote " and \\', "nul \x00 and \x1f", "\u202e雪", "")
    for at, user in enumerate(odd):
        row = {"kind": "explanation", "user_id": user, "item_id": user, "system_a": "s"}
        project.db.add("cases", id=100 - at, project_id=project.id, **row)
    found = load_cases(project.db, project.id)
    assert found.ids.tolist() == [97, 98, 99, 100]
    assert len(set(found.user.tolist())) == len(set(found.pair.tolist())) == 4
    assert found.has_item.tolist() == [False, True, True, True]


def test_an_ensemble_of_metrics_alone_is_of_metrics(project_db: Path) -> None:
    project = new_project(project_db)
    add = "INSERT INTO raters (project_id, name, kind, recipe, created_at) VALUES (?, ?, ?, ?, '')"
    for name, kind, members in (
        ("bleu", "metric", []),
        ("rouge", "metric", []),
        ("llm", "judge", []),
        ("both", "ensemble", ["bleu", "rouge"]),
        ("mixed", "ensemble", ["bleu", "llm"]),
        ("orphan", "ensemble", ["gone", "too"]),
    ):
        project.db.execute(add, (project.id, name, kind, json.dumps({"raters": members})))
    raters = project_raters(project.db, project.id)
    assert {name for name, rater in raters.items() if rater.of_metrics} == {"bleu", "rouge", "both"}


def test_answers_in_both_orders(project_db: Path) -> None:
    project = new_project(project_db)
    one, two = pair_case(project, "u1"), pair_case(project, "u2")
    run_id = judge_pairs(project, "llm", {one: (1.0, -1.0), two: (0.0, None)})
    cases = load_cases(project.db, project.id)
    (said,) = answers(Project.numbered(project.db, project.id), "pairwise")
    assert said.question == Question("llm", "pairwise", "overall")
    places = zip(cases.ids[said.row].tolist(), said.swapped.tolist(), strict=True)
    asked = dict(zip(places, said.value, strict=True))
    assert (asked[one, False], asked[one, True], asked[two, False]) == (1.0, -1.0, 0.0)
    assert np.isnan(asked[two, True])
    orders = said.both_orders()
    assert cases.ids[orders.row].tolist() == [one, two]
    assert orders.straight.tolist() == [1.0, 0.0]
    assert said.took.error_kind == tuple("timeout" if np.isnan(value) else "" for value in said.value)
    assert [prompt.name for prompt in run_prompts(project.db, project.id, "pairwise")] == ["pairwise-media"]
    assert run_id == 1


# ---- test generations --------------------------------------------------------------------------------------------


HEADER = ("user_id", "system", "item_id", "rank")


@pytest.fixture
def films(db: Database) -> Database:
    load(db, "items", [("item_id", "title"), *((f"i{n}", f"Film {n}") for n in range(4))])
    return db


def lists(db: Database, **first: str) -> int:
    """Lists of one user, each of one item, imported and planned to be judged; the import's id."""
    load(db, "lists", [HEADER, *(("u", system, item, 1) for system, item in first.items())])
    planned(db, rater=f"of import {len(list_imports(db))}", no_history=True)
    return int(list_imports(db)[-1]["id"])


def lifetimes(db: Database) -> dict[tuple[str, str], tuple[int, int]]:
    """(system, item of its list) -> since and until, of every case of one list."""
    sql = "SELECT c.id, c.system_a, i.item_id FROM cases c JOIN slate_items i ON i.slate_id = c.slate_a ORDER BY 1"
    ids, systems, items = zip(*db.tuples(sql), strict=True)
    found = load_lifetimes(db, project_id(db, "films"), np.array(ids))
    assert found is not None
    spans = zip(found.since.tolist(), found.until.tolist(), strict=True)
    return dict(zip(zip(systems, items, strict=True), spans, strict=True))


def test_lists_are_current_until_others_of_the_same_user_and_system_replace_them(films: Database) -> None:
    first = lists(films, als="i0", pop="i1")
    assert load_lifetimes(films, 1, np.array([1, 2])) is None
    second = lists(films, als="i2", pop="i1")
    spans = {("als", "i0"): (first, second), ("als", "i2"): (second, NEVER), ("pop", "i1"): (first, NEVER)}
    assert lifetimes(films) == spans


def test_a_list_whose_import_was_undone_is_not_current_beside_its_successor(films: Database) -> None:
    first = lists(films, als="i0")
    second = lists(films, als="i1")
    undo_import(films, second)
    found = lifetimes(films)
    assert found["als", "i0"] == (first, NEVER)
    assert found["als", "i1"] == (0, 1)


def test_lists_of_another_occasion_stand_beside_each_other(films: Database) -> None:
    for context in ("home", "search"):
        load(films, "lists", [(*HEADER, "context"), ("u", "als", f"i{len(context) % 4}", 1, context)])
    planned(films, rater="both", no_history=True)
    assert load_lifetimes(films, 1, np.array([1, 2])) is None
