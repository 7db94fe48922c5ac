"""`recjudge report`: a file on disk, and what is said beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recjudge_tui.cli.app import recjudge
from recjudge_tui.reports.html_report import SECTIONS
from tests.support.verdicts import give, judge_lists, list_case, new_project


@pytest.fixture
def db(project_db: Path) -> str:
    project = new_project(project_db)
    lists = {list_case(project, f"u{n}", system): n % 3.0 for n in range(6) for system in ("x", "y")}
    give(project, "anna", lists)
    judge_lists(project, "qwen", lists)
    project.db.close()
    return str(project_db)


def run(*words: str) -> Result:
    return CliRunner().invoke(recjudge, ["report", *words], standalone_mode=False)


def test_the_file_is_written_and_stdout_stays_empty(db: str, tmp_path: Path) -> None:
    target = tmp_path / "films.html"
    result = run("-p", "films", "-o", str(target), "--db", db)
    assert result.exception is None
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1] == f"written to {target}"
    text = target.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert text.rstrip().endswith("</html>")
    assert all(f'<section id="{name}"' in text for name in SECTIONS)


def test_without_matplotlib_it_is_said_on_stderr(db: str, tmp_path: Path) -> None:
    target = tmp_path / "a.html"
    code = f"""
import sys
from importlib import util
sys.modules["matplotlib"] = None
find = util.find_spec
util.find_spec = lambda name, *rest: None if name == "matplotlib" else find(name, *rest)
from recjudge_tui.cli.app import main
main(["report", "-p", "films", "-o", {str(target)!r}, "--db", {db!r}, "--section", "pictures"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Without pictures: Matplotlib is not installed" in done.stderr
    assert "Without pictures" in target.read_text(encoding="utf-8")
