"""`recjudge gate` as a script calls it, and projects that are unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import ran
from tests.support.verdicts import give, judge_lists, list_case, new_project


@pytest.fixture
def db(project_db: Path) -> str:
    project = new_project(project_db)
    truth: dict[int, float | None] = {list_case(project, f"u{at}"): float(at % 3) for at in range(30)}
    give(project, "people", truth)
    judge_lists(project, "may", truth)
    judge_lists(project, "june", {case: 2.0 - at % 3 for at, case in enumerate(truth)})
    judge_lists(project, "flat", dict.fromkeys(truth, 1.0))
    project.db.close()
    return str(project_db)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("--rater may --truth people --at-least qwk=0.9 --at-most failure_rate=0", 0),
        ("--rater june --truth people --at-least qwk=0.9", 3),
        ("--rater may --truth people --at-most failure_rate=0 --certain", 3),
        ("--rater june --truth people --against may", 3),
        ("--rater may --truth people --against june", 0),
        ("--rater flat --truth people --against may --stat pearson", 1),
        ("--rater may", 2),
        ("--rater may --at-least qwk", 2),
        ("--rater may --at-least qwk=high", 2),
        ("--rater may --at-least qwk=0.5", 2),
        ("--rater ghost --at-most failure_rate=0", 1),
    ],
)
def test_the_gate_leaves_with_its_code(
    db: str, capsys: pytest.CaptureFixture[str], words: str, code: int
) -> None:
    assert ran(capsys, "gate", *words.split(), "-p", "films", "--db", db)[0] == code
