"""Verdicts and answers as columns."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from recjudge_tui.project import Project
from recjudge_tui.shapes import answers
from recjudge_tui.store.answers import verdict_confidences
from recjudge_tui.store.prompts import run_prompts
from recjudge_tui.store.ratings import (
    Question,
    load_cases,
    load_questions,
    load_ratings,
    project_questions,
    project_raters,
)
from recjudge_tui.store.verdicts import case_verdicts
from tests.support.verdicts import (
    give,
    judge_pairs,
    list_case,
    new_project,
    pair_case,
    text_case,
)


def test_cases_as_columns(project_db: Path) -> None:
    project = new_project(project_db)
    big = "9007199254740993123"
    cases = [
        list_case(project, big, "x"),
        pair_case(project, big, "x", "y"),
        text_case(project, "u2", "i1", "x"),
        text_case(project, "u2", "i2", "x"),
    ]
    found = load_cases(project.db, project.id)
    assert found.ids.tolist() == cases
    assert found.systems == ("", "x", "y")
    assert found.user.tolist() == [0, 0, 1, 1]
    assert len(set(found.pair.tolist())) == 3
    assert found.is_pair.tolist() == [False, True, False, False]
    assert found.has_item.tolist() == [False, False, True, True]
    assert [found.systems[at] for at in found.system_b] == ["", "y", "", ""]


def test_failed_is_nan_and_rows_point_to_cases(project_db: Path) -> None:
    project = new_project(project_db)
    first, second, third = (list_case(project, user) for user in ("u1", "u2", "u3"))
    give(project, "anna", {third: 2.0, first: 0.0})
    give(project, "llm", {first: 1.0, second: None}, kind="judge")
    give(project, "anna", {first: 4.0}, protocol_name="explanation", aspect="accuracy")
    found = load_ratings(project.db, project.id)
    assert set(found.verdicts) == {
        Question("anna", "pointwise", "overall"),
        Question("anna", "explanation", "accuracy"),
        Question("llm", "pointwise", "overall"),
    }
    anna = found.verdicts[Question("anna", "pointwise", "overall")]
    assert dict(zip(found.cases.ids[anna.row].tolist(), anna.value.tolist(), strict=True)) == {
        first: 0.0,
        third: 2.0,
    }
    llm = found.verdicts[Question("llm", "pointwise", "overall")]
    assert np.isnan(llm.value[found.cases.ids[llm.row] == second]).all()
    assert found.raters["llm"].kind == "judge"


def test_filters_of_ratings(project_db: Path) -> None:
    project = new_project(project_db)
    case = list_case(project, "u1")
    give(project, "anna", {case: 2.0})
    give(project, "ben", {case: 2.0})
    give(project, "ben", {case: 2.0}, aspect="other")
    assert list(load_ratings(project.db, project.id, raters=["anna"]).verdicts) == [
        Question("anna", "pointwise", "overall")
    ]
    assert list(load_ratings(project.db, project.id, aspect="other").verdicts) == [
        Question("ben", "pointwise", "other")
    ]
    assert load_ratings(project.db, project.id, protocols=["pairwise"]).verdicts == {}


def test_only_the_questions_wanted_are_read_from_their_index(project_db: Path) -> None:
    project = new_project(project_db)
    case = list_case(project, "u1")
    for rater in ("anna", "ben"):
        give(project, rater, {case: 2.0})
    assert project_questions(project.db, project.id) == [
        Question("anna", "pointwise", "overall"),
        Question("ben", "pointwise", "overall"),
    ]
    statements: list[str] = []
    project.db.connection.set_trace_callback(statements.append)
    found = load_questions(project.db, project.id, [Question("ben", "pointwise", "overall")])
    project.db.connection.set_trace_callback(None)
    assert list(found.verdicts) == [Question("ben", "pointwise", "overall")]
    read = [sql for sql in statements if "FROM verdicts" in sql]
    assert len(read) == 1
    plan = " ".join(row["detail"] for row in project.db.rows(f"EXPLAIN QUERY PLAN {read[0]}"))
    assert "COVERING INDEX verdicts_by_question (rater_id=? AND protocol=? AND aspect=?)" in plan
    assert "TEMP B-TREE" not in plan


def test_the_index_of_questions_is_for_nobody_else(project_db: Path) -> None:
    project = new_project(project_db)
    plan = project.db.rows(
        "EXPLAIN QUERY PLAN SELECT value FROM verdicts WHERE rater_id = 1 AND protocol = 'x' AND case_id = 3"
    )
    assert "verdicts_by_question" not in " ".join(row["detail"] for row in plan)


def test_ids_in_any_order_and_awkward_texts(project_db: Path) -> None:
    project = new_project(project_db)
    odd = ('quote " and \\', "nul \x00 and \x1f", "\u202e雪", "")
    for at, user in enumerate(odd):
        project.db.execute(
            """INSERT INTO cases (id, project_id, kind, user_id, item_id, system_a)
               VALUES (?, ?, 'explanation', ?, ?, 's')""",
            (100 - at, project.id, user, user),
        )
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


def test_other_projects_do_not_leak(project_db: Path) -> None:
    project = new_project(project_db)
    give(project, "anna", {list_case(project, "u1"): 2.0})
    other = new_project(project_db, "books")
    found = load_ratings(other.db, other.id)
    assert found.verdicts == {}
    assert found.cases.ids.size == 0


def test_answers_in_both_orders(project_db: Path) -> None:
    project = new_project(project_db)
    one, two = pair_case(project, "u1"), pair_case(project, "u2")
    run_id = judge_pairs(project, "llm", {one: (1.0, -1.0), two: (0.0, None)})
    cases = load_cases(project.db, project.id)
    (said,) = answers(Project.numbered(project.db, project.id), "pairwise")
    assert said.question == Question("llm", "pairwise", "overall")
    asked = dict(zip(zip(cases.ids[said.row].tolist(), said.swapped.tolist(), strict=True), said.value, strict=True))
    assert (asked[one, False], asked[one, True], asked[two, False]) == (1.0, -1.0, 0.0)
    assert np.isnan(asked[two, True])
    orders = said.both_orders()
    assert cases.ids[orders.row].tolist() == [one, two]
    assert orders.straight.tolist() == [1.0, 0.0]
    assert said.took.error_kind == tuple("timeout" if np.isnan(value) else "" for value in said.value)
    assert [prompt.name for prompt in run_prompts(project.db, project.id, "pairwise")] == ["pairwise-media"]
    assert run_id == 1


def test_no_answers_without_runs(project_db: Path) -> None:
    project = new_project(project_db)
    give(project, "anna", {pair_case(project, "u1"): 1.0}, protocol_name="pairwise")
    assert answers(Project.numbered(project.db, project.id), "pairwise") == []


def test_verdicts_of_a_case_judges_first(project_db: Path) -> None:
    project = new_project(project_db)
    case = list_case(project, "u1")
    give(project, "anna", {case: 2.0})
    give(project, "zed", {case: 2.0}, kind="judge")
    names = [
        project.db.value(
            "SELECT r.name FROM verdicts v JOIN raters r ON r.id = v.rater_id WHERE v.id = ?", (key,)
        )
        for key in case_verdicts(project.db, case)
    ]
    assert names == ["zed", "anna"]


def test_verdicts_of_a_pairwise_run(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [pair_case(project, f"u{at}") for at in range(3)]
    judge_pairs(project, "llm", {cases[0]: (1.0, 1.0), cases[1]: (1.0, -1.0), cases[2]: (1.0, None)})
    project.db.execute("UPDATE verdicts SET confidence = 0.7 WHERE case_id = ?", (cases[0],))
    columns = load_cases(project.db, project.id)
    rater = project_raters(project.db, project.id)["llm"].id
    question = Question("llm", "pairwise", "overall")
    sure = verdict_confidences(project.db, rater, question, columns)
    assert sure[0] == 0.7
    assert np.isnan(sure[1:]).all()
