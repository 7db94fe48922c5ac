"""Slices: where one system does better than elsewhere, and the users a report is about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recjudge_tui.errors import UsageError
from tests.support.verdicts import Project, give, import_target, new_project, pair_case, table

USERS = 60


def with_attributes(project: Project, attributes: dict[str, dict[str, str]]) -> None:
    """Users with these attributes, as an import writes them."""
    target = import_target(project)
    with project.db.transaction():
        project.db.execute_many(
            "INSERT INTO users (project_id, user_id, import_id, attributes) VALUES (?, ?, ?, ?)",
            [(project.id, user, target.import_id, json.dumps(values)) for user, values in attributes.items()],
        )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Half the users are on a free plan, where b wins; else a does. Ages say nothing."""
    made = new_project(tmp_path / "r.db")
    plans = {f"u{user:02}": "free" if user % 2 else "pro" for user in range(USERS)}
    with_attributes(
        made, {user: {"plan": plan, "age": str(20 + int(user[1:]) % 7)} for user, plan in plans.items()}
    )
    wins = {"free": (-1.0, -1.0, 0.0), "pro": (1.0, 1.0, 0.0)}
    cases = {pair_case(made, user): (user, plan) for user, plan in plans.items()}
    values = {case: wins[plan][int(user[1:]) // 2 % 3] for case, (user, plan) in cases.items()}
    give(made, "anna", values, protocol_name="pairwise")
    return made


def test_a_planted_slice_is_found_and_no_other(project: Project) -> None:
    found = table(project, "leaderboard", protocol="pairwise", slices=True)
    first, second, *others = found.rows
    assert [(row["slice"], row["of"]) for row in (first, second)] == [("plan", "free"), ("plan", "pro")]
    assert first["here"] == pytest.approx(1 / 6)
    assert first["elsewhere"] == pytest.approx(5 / 6)
    assert first["difference"] == pytest.approx(-second["difference"])  # type: ignore[operator]
    assert others
    assert all(row["p_fdr"] is None or row["p_fdr"] > 0.05 for row in others)  # type: ignore[operator]
    assert "plan is free (0.17 against 0.83)" in found.answer
    # seen from the other system
    turned = table(project, "leaderboard", protocol="pairwise", slices=True, systems=("b", "a"))
    assert turned.rows[0]["here"] == pytest.approx(5 / 6)


def test_nothing_is_tested_on_few_users_or_without_two_systems(tmp_path: Path) -> None:
    project = new_project(tmp_path / "r.db")
    with_attributes(project, {f"u{user}": {"plan": "ab"[user % 2]} for user in range(8)})
    give(
        project, "anna", {pair_case(project, f"u{user}"): 1.0 for user in range(8)}, protocol_name="pairwise"
    )
    found = table(project, "leaderboard", protocol="pairwise", slices=True)
    assert {row["p"] for row in found.rows} == {None}
    assert "fewer than 10 users" in str(found.rows[0]["note"])
    give(project, "anna", {pair_case(project, "u0", "a", "c"): 1.0}, protocol_name="pairwise")
    with pytest.raises(UsageError, match="name the two systems"):
        table(project, "leaderboard", protocol="pairwise", slices=True)


def test_only_users_who_meet_an_expression_count(project: Project) -> None:
    def counted(where: str) -> tuple[object, object, object]:
        (row, _) = table(project, "leaderboard", protocol="pairwise", where=where).rows
        return row["system"], row["wins"], row["n"]

    assert counted("") == ("a", 20, 60)
    assert counted("plan = 'free'") == ("b", 20, 30)
    assert counted("plan = 'free' and age < 22") == ("b", 7, 9)
    shown = table(project, "leaderboard", protocol="pairwise", where="plan = 'free'")
    assert "only 30 users where plan = 'free'" in shown.notes
    assert shown.settings["where"] == "plan = 'free'"
    with pytest.raises(UsageError, match="no user has an attribute “plam”") as unknown:
        counted("plam = 'free'")
    assert "age, events, part, plan, user" in str(unknown.value.cause)
    with pytest.raises(UsageError, match="none of 60 users meets") as nobody:
        counted("plan = 'gold'")
    assert nobody.value.cause == "plan is free, pro."
    with_attributes(project, {"u00": {"events": "many"}})
    with pytest.raises(UsageError, match="own word too"):
        counted("events > 3")
