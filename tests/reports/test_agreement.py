"""The agreement report on small databases whose figures are known."""

from __future__ import annotations

import json
from itertools import combinations
from math import atanh, sqrt, tanh
from pathlib import Path

import pytest

from recjudge_tui.domain.roles import RaterKind
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.people.raters import combine
from recjudge_tui.project import Project as OpenProject
from recjudge_tui.reports.declare import table_of
from tests import builder
from tests.support.verdicts import (
    Project,
    agreement,
    give,
    judge_lists,
    list_case,
    only,
    text_case,
)

ANNA = (2.0, 1.0, 0.0, 2.0, 1.0, 0.0, 2.0, 1.0)
BEN = (2.0, 1.0, 1.0, 2.0, 0.0, 0.0, 2.0, 2.0)


def two_people(project: Project) -> list[int]:
    cases = [list_case(project, f"u{i}") for i in range(8)]
    give(project, "anna", dict(zip(cases, ANNA, strict=True)))
    give(project, "ben", dict(zip(cases, BEN, strict=True)))
    return cases


def test_missing_and_failed_are_left_out_and_counted(project: Project) -> None:
    cases = two_people(project)
    judge_lists(project, "llm", dict(zip(cases[:6], (2.0, 1.0, 0.0, None, None, 0.0), strict=True)))
    table = agreement(project, raters=("llm", "anna"))
    assert only(table, stat="percent")["n"] == 4
    assert only(table, stat="percent")["value"] == 1.0
    where = "llm and anna (pointwise, overall): "
    assert f"{where}2 of 8 cases (25.0%) not judged by llm: left out" in table.notes
    assert f"{where}2 of 8 cases (25.0%) where llm failed: left out" in table.notes


def test_each_person_is_compared_with_the_consensus_of_the_others(project: Project) -> None:
    cases = two_people(project)
    cleo = [2.0, 1.0, 1.0, 0.0, 1.0, 2.0, 0.0, 2.0]
    give(project, "cleo", dict(zip(cases, cleo, strict=True)))
    combine(project.db, project.id, "gold", "strict", ["anna", "ben", "cleo"])
    judge_lists(project, "llm", dict(zip(cases, BEN, strict=True)))
    options = {"raters": ("llm",), "truth": "gold", "stat": ("percent", "qwk")}
    row = only(agreement(project, **options), stat="percent")
    people = [ANNA, BEN, cleo]
    same = [
        sum(
            own == min(rest)
            for own, *rest in zip(person, *(p for p in people if p is not person), strict=True)
        )
        for person in people
    ]
    assert row["ceiling_rest"] == pytest.approx(sum(same) / 24)
    pairs = [sum(a == b for a, b in zip(one, other, strict=True)) for one, other in combinations(people, 2)]
    assert row["ceiling"] == pytest.approx(sum(pairs) / 24)
    assert row["ceiling_n"] == 24
    assert "People: " not in str(row["note"])
    kappa = only(agreement(project, **options), stat="qwk")
    assert (kappa["ci_low"], kappa["ceiling_low"]) == (None, None)
    assert "no interval" in str(kappa["note"])


def test_invalid_options(project: Project) -> None:
    two_people(project)
    for options in (
        {"stat": ("kapa",)},
        {"level": ("world",)},
        {"protocol": "duel"},
        {"missing_truth": 3.0},
        {"missing_truth": 9.0, "truth": "anna"},
        {"missing_truth": float("nan"), "truth": "anna"},
        {"missing_judge": float("inf")},
        {"aspect": "bogus"},
        {"protocol": "pointwise", "aspect": "bogus"},
    ):
        with pytest.raises(UsageError):
            agreement(project, **options)
    with pytest.raises(NotFoundError):
        agreement(project, raters=("dora",))


def test_the_order_of_systems_by_a_judge_against_by_people(project: Project) -> None:
    """Means of 1, 2, 3, 4 and 5 by the user, of 1, 3, 2, 4 and 5 by the judge; of two systems there is nothing to say."""
    for rater, kind, means in (("user", "ground_truth", (1, 2, 3, 4, 5)), ("llm", "judge", (1, 3, 2, 4, 5))):
        values: dict[int, float | None] = {}
        for at, mean in enumerate(means):
            for user in ("u1", "u2"):
                values[text_case(project, user, "i", "vwxyz"[at])] = float(mean)
        role: RaterKind = "judge" if kind == "judge" else "ground_truth"
        give(project, rater, values, protocol_name="explanation", aspect="accuracy", kind=role)
    table = agreement(project, level=("system",))
    told = {row["stat"]: row for row in table.rows}
    assert {stat: row["value"] for stat, row in told.items()} == pytest.approx(
        {"pearson": 0.9, "spearman": 0.9, "kendall": 0.8}
    )
    assert {(row["n"], row["users"], row["level"]) for row in table.rows} == {(5, 2, "system")}
    half, z = 1.959964 * sqrt(1 / 2), atanh(0.9)
    assert (told["pearson"]["ci_low"], told["pearson"]["ci_high"]) == pytest.approx(
        (tanh(z - half), tanh(z + half))
    )
    assert "rank the systems alike" in table.answer
    two = agreement(project, level=("system",), systems=("v", "w"), stat=("pearson", "qwk"))
    assert [(row["value"], "three systems" in str(row["note"])) for row in two.rows] == [
        (None, True),
        (None, False),
    ]
    with pytest.raises(UsageError):
        agreement(project, level=("system",), by="system")


def test_finer_labels_roll_up_for_everybody_unless_they_are_asked_for(project: Project) -> None:
    """A judge that may answer Partial+ (1.5) agrees with people who may not; the share of Partial+ is not shown as 0."""
    cases = [list_case(project, f"u{at}") for at in range(6)]
    give(project, "anna", dict(zip(cases, (2.0, 1.0, 1.0, 0.0, 2.0, 1.0), strict=True)))
    judge_lists(project, "llm", dict(zip(cases, (2.0, 1.0, 1.0, 0.0, 2.0, 1.0), strict=True)))
    name = project.db.value("SELECT prompt_id FROM runs")
    prompt = json.loads(project.db.value("SELECT content FROM prompts WHERE id = ?", (name,)))
    finer = {"name": "Partial+", "reply": "Partial+", "value": 1.5, "meaning": "", "rolls_up": "Partial"}
    prompt["labels"].append(finer)
    project.db.execute("UPDATE prompts SET content = ? WHERE id = ?", (json.dumps(prompt), name))
    project.db.execute(
        "UPDATE verdicts SET value = 1.5 WHERE case_id = ? AND rater_id = (SELECT id FROM raters"
        " WHERE name = 'llm')",
        (cases[1],),
    )
    assert only(agreement(project), stat="percent")["value"] == 1
    assert only(agreement(project, fine=True, stat=("percent",)), stat="percent")["value"] == pytest.approx(
        5 / 6
    )
    opened = OpenProject.numbered(project.db, project.id)
    labels = [
        {row["label"] for row in table_of(opened, "leaderboard", protocol="pointwise", fine=fine).rows}
        for fine in (False, True)
    ]
    assert labels == [{"Good", "Partial", "Poor"}, {"Good", "Partial", "Partial+", "Poor"}]


def test_people_behind_a_majority_have_no_ceiling_on_the_cases_it_is_silent_on(tmp_path: Path) -> None:
    """A majority of two is there only where both agree: that they agree there says nothing."""
    said = {"ana": "ABTABTABTABT", "ben": "AATBBTABTAAA", "llm": "ABTABTABBABA"}
    built = builder.project(tmp_path / "r.db", labels=[
        {"rater": rater, "protocol": "pairwise", "user_id": f"u{at}", "system_a": "x", "system_b": "y",
         "value": {"T": "Tie"}.get(value, value)}
        for rater, values in said.items() for at, value in enumerate(values)
    ])  # fmt: skip
    built.done("rater combine both --rule majority ana ben")
    made = built.table("agreement --truth both --raters llm --stat qwk")
    (row,) = made["rows"]
    assert row["value"] is not None
    assert row["ceiling"] is None
    assert "its raters differ on 4 cases, where both has no verdict" in row["note"]
    assert "people reach" not in made["answer"]
