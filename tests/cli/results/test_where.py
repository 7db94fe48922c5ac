"""`--where` in every report that has it: the same rows as of a file that holds these users' cases alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.reports.declare import REPORTS
from recjudge_tui.store.schema import connect
from tests.support.runs import make_project, ran
from tests.support.verdicts import Project, give

# what a report needs beside the project; those that are not here need nothing
NEEDED = {
    "why": ("--rater", "rules"),
    "agreement": ("--protocol", "pairwise"),
    "leaderboard": ("--protocol", "pairwise"),
    "estimate": ("--rater", "rules", "--truth", "anna", "--protocol", "pairwise"),
    "trend": ("--over", "import"),
    "compare": ("rules", "anna"),
    "passport": ("rules",),
    "robustness ablation": ("--raters", "rules,other"),
    "gate": ("--rater", "rules", "--truth", "anna", "--protocol", "pairwise", "--at-least", "percent=0.1"),
}
WHERE = "user < u06"
ASKED = [name for name, report in REPORTS.items() if report.option("where")]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A file with twelve users, and one in which only the cases of half of them are left."""
    whole = tmp_path_factory.mktemp("where") / "whole.db"
    with connect(whole) as db:
        make_project(db, users=12)
        for protocol in ("pairwise", "pointwise"):
            assert ran("run", protocol, "-p", "films", "--judge", "rules", "--db", whole)[0] == 0
        for test in (
            ("adversarial",),
            ("injected", "--no-floor"),
            ("adversarial", "--name", "other", "--judge", "random"),
        ):
            words = test if "--judge" in test else (*test, "--judge", "rules")
            assert ran("robustness", *words, "-p", "films", "--db", whole)[0] == 0
        for kind in ("pair", "list"):
            cases = db.column(
                "SELECT id FROM cases WHERE kind = ? AND slate_a IS NOT NULL ORDER BY id", (kind,)
            )
            values = {case: (-1.0, 0.0, 1.0)[case % 3] if kind == "pair" else 2.0 for case in cases}
            give(Project(db, 1), "anna", values, protocol_name="pairwise" if kind == "pair" else "pointwise")
    half = whole.with_name("half.db")
    shutil.copy(whole, half)
    with connect(half) as db:
        db.execute("DELETE FROM cases WHERE user_id >= 'u06'")
        used = "SELECT ifnull(slate_a, 0) FROM cases UNION SELECT ifnull(slate_b, 0) FROM cases"
        db.execute(f"DELETE FROM slates WHERE user_id >= 'u06' AND id NOT IN ({used})")
        db.execute(
            "DELETE FROM slate_imports WHERE slate_id IN (SELECT id FROM slates WHERE user_id >= 'u06')"
        )
        db.connection.commit()
    return whole, half


def rows(name: str, file: Path, *words: str) -> list[dict[str, Any]]:
    code, out, err = ran(
        *name.split(), *words, "-p", "films", *NEEDED.get(name, ()), "--format", "json", "--db", file
    )
    assert code in (0, 3), err
    found = json.loads(out)
    return [row for part in found.get("tables", [found]) for row in part["rows"]]


@pytest.mark.parametrize("name", ASKED)
def test_the_rows_are_those_of_these_users(name: str, files: tuple[Path, Path]) -> None:
    whole, half = files
    chosen = rows(name, whole, "--where", WHERE)
    assert chosen == rows(name, half)
    if chosen:
        assert chosen != rows(name, whole)
