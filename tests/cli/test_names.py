"""The project that is taken without -p, and the names of options."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.reports.declare import REPORTS
from recjudge_tui.store.projects import create_project
from recjudge_tui.store.schema import connect
from tests.support.app.projects import make_project
from tests.support.runs import ran


@pytest.fixture
def path(project_db: Path) -> Path:
    make_project(project_db, "movies", cases=3)
    return project_db


def test_the_only_project_is_taken_and_said(path: Path) -> None:
    named = ran("rater", "list", "-p", "movies", "--db", path)
    code, out, err = ran("rater", "list", "--db", path)
    assert (code, out, err) == (0, named[1], "project: movies, the only one\n")


def test_the_option_takes_precedence_over_the_variable_for_the_project(path: Path) -> None:
    with connect(path) as db:
        create_project(db, "empty")
    code, _, err = ran("rater", "list", "--db", path)
    assert (code, "-p" in err, "RECJUDGE_PROJECT" in err, "empty, movies" in err) == (2, True, True, True)
    movies = {"RECJUDGE_PROJECT": "movies"}
    assert "qwen" in ran("rater", "list", "--db", path, env=movies)[1]
    assert "no rows" in ran("rater", "list", "-p", "empty", "--db", path, env=movies)[1]


def test_an_import_does_not_guess_its_project(path: Path, tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("item_id,title\nnew,Alien\n")
    code, _, err = ran("import", tmp_path / "items.csv", "--as", "items", "--db", path)
    assert (code, "Missing option '-p'" in err) == (2, True)
    movies = {"RECJUDGE_PROJECT": "movies"}
    assert ran("import", tmp_path / "items.csv", "--as", "items", "--db", path, env=movies)[0] == 0


def test_without_a_database_nothing_is_made(tmp_path: Path) -> None:
    code, _, err = ran("rater", "list", "--db", tmp_path / "none.db")
    assert (code, "there is no project yet" in err) == (2, True)
    assert not (tmp_path / "none.db").exists()


def test_a_name_by_its_place_or_with_p(path: Path) -> None:
    by_place = ran("project", "show", "movies", "--db", path)
    assert by_place[0] == 0
    assert ran("project", "show", "-p", "movies", "--db", path)[:2] == by_place[:2]
    assert ran("project", "show", "other", "-p", "films", "--db", path)[0] == 2
    code, out, _ = ran("plan", "--db", path, "--format", "json", env={"RECJUDGE_PROJECT": "nothing"})
    assert (code, out) == (1, "")


def test_an_option_of_a_report_has_one_name_in_python_and_on_the_command_line() -> None:
    for report in REPORTS.values():
        for option in report.options:
            flag = option.flag.split(",")[0].removeprefix("--").removeprefix("no-").replace("-", "_")
            assert option.argument or option.name.removesuffix("_") == flag, (report.name, option.name)
