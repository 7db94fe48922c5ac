"""`recjudge compare` as a script calls it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from recjudge_tui.cli.app import recjudge
from recjudge_tui.errors import NotFoundError, UsageError
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
        runs["answer"] == "v2 (run 2) differs from v1 (run 1) on 3 of 5 cases: 2 milder, 1 harsher (p 1.000)."
    )


def test_transitions_and_systems(db: str) -> None:
    found = table(db, "v1", "v2", "--table", "transitions", "--protocol", "pointwise", "--aspect", "overall")
    assert {(row["from"], row["to"]): row["count"] for row in found["rows"] if row["count"]} == {
        ("Good", "Good"): 1, ("Good", "Poor"): 1, ("Partial", "Good"): 1, ("Partial", "Partial"): 1, ("Poor", "Partial"): 1,
    }  # fmt: skip
    rows = table(db, "v1", "v2", "--by", "system")["rows"]
    assert [(row["system"], row["n"]) for row in rows] == [("als", 2), ("bpr", 3)]


def test_cases_go_to_a_file(db: str, tmp_path: Path) -> None:
    out = tmp_path / "changed.csv"
    said = run(db, "v1", "v2", "--table", "cases", "-o", str(out))
    assert (said.stdout, f"written to {out}" in said.stderr) == ("", True)
    rows = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"))))
    assert [(row["user"], row["systems"], row["from"], row["to"]) for row in rows] == [
        ("u1", "als", "Good", "Poor"), ("u2", "bpr", "Partial", "Good"), ("u3", "als", "Poor", "Partial"),
    ]  # fmt: skip


def test_the_prompts_are_a_diff_on_stdout_and_reasons_go_to_stderr(db: str, tmp_path: Path) -> None:
    said = run(db, "v1", "v2", "--table", "prompt")
    lines = said.stdout.splitlines()
    assert lines[:2] == ["--- pointwise-media@1", "+++ pointwise-media@2"]
    assert [line for line in lines[2:] if line.startswith("+") and "at the very best" in line]
    assert said.stderr == ""
    diff = CliRunner().invoke(
        recjudge,
        ["prompt", "diff", "pointwise-media@1", "pointwise-media@2", "--db", db],
        standalone_mode=False,
    )
    assert diff.stdout == said.stdout
    rows = table(db, "v1", "v2", "--table", "prompt")["rows"]
    assert {row["sign"] for row in rows} == {"@", " ", "+", "-"}
    out = tmp_path / "p.diff"
    run(db, "v1", "v2", "--table", "prompt", "-o", str(out))
    assert out.read_text(encoding="utf-8") == said.stdout
    people = run(db, "v1", "anna", "--table", "prompt")
    assert (people.stdout, "anna has no run and therefore no prompt" in people.stderr) == ("", True)


def test_invalid_options(db: str) -> None:
    for words, error in (
        (("v1", "v1"), UsageError),
        (("v1", "nobody"), NotFoundError),
        (("v1", "run:99"), NotFoundError),
        (("v1", "v2", "--table", "cases", "--by", "system"), UsageError),
        (("v1", "v2", "--table", "moods"), click.UsageError),
        (("v1",), click.UsageError),
    ):
        with pytest.raises(error):
            run(db, *words)


def test_its_help_has_an_example_and_loads_nothing_heavy() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from recjudge_tui.cli.app import recjudge\n"
        "print(CliRunner().invoke(recjudge, ['compare', '--help']).output)\n"
        "print(sorted({'numpy', 'scipy', 'pydantic', 'textual'} & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "Example:" in said
    assert said.splitlines()[-1] == "[]"
