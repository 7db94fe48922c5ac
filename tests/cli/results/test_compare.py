"""`recjudge compare` as a script calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from recjudge_tui.cli.app import recjudge
from recjudge_tui.store.prompts import prompt_text, read_prompt, store_prompt
from tests.support.verdicts import give, judge_lists, list_case, new_project

FIRST = (2.0, 2.0, 1.0, 0.0, 1.0, None)
SECOND = (2.0, 0.0, 2.0, 1.0, 1.0, 1.0)


@pytest.fixture
def db(project_db: Path, tmp_path: Path) -> str:
    project = new_project(project_db)
    cases = [list_case(project, f"u{at}", "als" if at % 2 else "bpr") for at in range(6)]
    judge_lists(project, "v1", dict(zip(cases, FIRST, strict=True)))
    file = tmp_path / "mine.toml"
    text = prompt_text(project.db, "pointwise-media").replace("at best", "at the very best")
    file.write_text(text, encoding="utf-8")
    store_prompt(project.db, read_prompt(file))
    judge_lists(project, "v2", dict(zip(cases, SECOND, strict=True)))
    give(project, "anna", dict(zip(cases, SECOND, strict=True)))
    project.db.close()
    return str(project_db)


def run(db: str, *words: str) -> Result:
    result = CliRunner().invoke(
        recjudge,
        ["compare", *words, "-p", "films", "--db", db],
        catch_exceptions=False,
        standalone_mode=False,
    )
    if result.exception is not None:
        raise result.exception
    return result


def table(db: str, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(db, *words, "--format", "json").stdout)
    return found


def test_a_summary_is_what_it_prints_first(db: str) -> None:
    text = run(db, "v1", "v2").stdout
    assert "Changes: v1 to v2" in text
    found = table(db, "v1", "v2")
    (row,) = found["rows"]
    assert {
        "n": 5,
        "changed": 3,
        "up": 2,
        "down": 1,
        "failed": 1,
        "test": "Stuart-Maxwell",
    }.items() <= row.items()
    assert found["settings"]["prompt_b"] == "pointwise-media@2"
    runs = table(db, "run:1", "run:2", "--table", "summary")
    assert (
        runs["answer"] == "v2 (run 2) differs from v1 (run 1) on 3 of 5 cases: 2 milder, 1 harsher (p 1)."
    )


def test_transitions_and_systems(db: str) -> None:
    found = table(db, "v1", "v2", "--table", "transitions", "--protocol", "pointwise", "--aspect", "overall")
    assert {(row["from"], row["to"]): row["count"] for row in found["rows"] if row["count"]} == {
        ("Good", "Good"): 1, ("Good", "Poor"): 1, ("Partial", "Good"): 1, ("Partial", "Partial"): 1, ("Poor", "Partial"): 1,
    }  # fmt: skip
    rows = table(db, "v1", "v2", "--by", "system")["rows"]
    assert [(row["system"], row["n"]) for row in rows] == [("als", 2), ("bpr", 3)]
