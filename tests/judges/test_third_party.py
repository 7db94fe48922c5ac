"""The example package of docs/judges.md, really installed, judges a real run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recjudge_tui.store.schema import connect
from tests.support.runs import make_project, ran, verdicts
from tests.support.servers.process import ROOT

PACKAGE = Path(__file__).parent / "example_package"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the example package is importable."""
    site = tmp_path_factory.mktemp("site")
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    subprocess.run([*install, "--target", site, PACKAGE], check=True, capture_output=True, timeout=120)
    return {"PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])}


def test_a_judge_of_another_package_judges_a_run(project_db: Path, installed: dict[str, str]) -> None:
    with connect(project_db) as db:
        make_project(db)
    words = ["run", "pointwise", "-p", "films", "--judge", "example:Poor Match", "--db", project_db]
    code, _, err = ran(*words, env=installed)
    assert code == 0, err
    with connect(project_db) as db:
        labels = {row[7] for row in verdicts(db, 1)}
        assert labels == {"Poor"}
        assert db.value("SELECT kind FROM raters WHERE name = 'Poor Match'") == "judge"


def test_it_is_listed_and_tested_like_the_others(project_db: Path, installed: dict[str, str]) -> None:
    code, out, err = ran("judge", "list", "--format", "csv", "--db", project_db, env=installed)
    assert code == 0, err
    assert "example:…,another package,,recjudge-example" in out
    code, out, err = ran("judge", "test", "example:x", "--format", "csv", "--db", project_db, env=installed)
    assert code == 0, err
    assert "model,example-1" in out


def test_where_it_is_not_installed_it_is_not_known(project_db: Path) -> None:
    code, _, err = ran("judge", "test", "example:x", "--db", project_db)
    assert code == 2
    assert "no judge “example:x”" in err
