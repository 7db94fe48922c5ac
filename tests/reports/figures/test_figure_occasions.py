"""Figures of some occasions are those of a project that has no others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from recjudge_tui.cli.app import recjudge
from recjudge_tui.domain.filters import parse_occasions
from recjudge_tui.errors import NotFoundError, RecjudgeError
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.figures.data import FigureData
from recjudge_tui.reports.figures.loading import figure_data, mark_cases
from recjudge_tui.reports.figures.options import FigureOptions
from recjudge_tui.reports.figures.registry import FIGURES
from recjudge_tui.store.database import Database
from recjudge_tui.store.schema import connect
from tests.support.app.lists import judge
from tests.support.visits import USERS, VISITS, make_visits

OF_LISTS = ("label-shares", "flags")
HOME = "context:home"
_CONFIDENCES = """UPDATE verdicts SET confidence = 0.5 + 0.05 *
  (SELECT CAST(substr(user_id, 2) AS INTEGER) FROM cases WHERE id = case_id)
WHERE rater_id = (SELECT id FROM raters WHERE name = 'rules')"""


class Projects(NamedTuple):
    """The same visits at home, with the others and alone."""

    everywhere: Database
    at_home: Database


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Projects]:
    folder = tmp_path_factory.mktemp("figures")
    with ExitStack() as stack:
        made = []
        for name, visits in (("everywhere", VISITS), ("at_home", {"home": VISITS["home"]})):
            path = folder / f"{name}.db"
            with connect(path) as db:
                make_visits(db, visits)
            for protocol in ("pairwise", "pointwise"):
                judge(path, 1, protocol)
            made.append(stack.enter_context(connect(path)))
            made[-1].execute(_CONFIDENCES)
        yield Projects(*made)


def figure(db: Database, name: str, filter_text: str = "") -> FigureData:
    protocol = "pointwise" if name in OF_LISTS else "pairwise"
    options = FigureOptions(protocol=protocol, occasions=parse_occasions(filter_text))
    return figure_data(db, 1, name, options)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_of_a_context_has_the_numbers_of_that_context_alone(projects: Projects, name: str) -> None:
    chosen, alone = figure(projects.everywhere, name, HOME), figure(projects.at_home, name)
    # a run counts all its verdicts, wherever their lists were shown
    rows = [
        [{key: cell for key, cell in row.items() if key not in ("verdicts", "started")} for row in data.rows]
        for data in (chosen, alone)
    ]
    assert rows[0] == rows[1]
    assert chosen.rows != figure(projects.everywhere, name).rows
    assert chosen.caption.endswith(" Only in the context “home”.")
    assert chosen.table.settings["contexts"] == ["home"]


@pytest.mark.parametrize("name", FIGURES)
def test_the_cases_behind_a_mark_are_of_its_occasions(projects: Projects, name: str) -> None:
    data = figure(projects.everywhere, name, HOME)
    for row in data.rows:
        assert mark_cases(projects.everywhere, 1, data, row).filter_text.endswith(HOME)


def test_times_choose_as_the_commands_do(projects: Projects) -> None:
    data = figure(projects.everywhere, "leaderboard", "from:2024-05-01 to:2024-05-31")
    assert {row["n"] for row in data.rows if row["rater"] == "anna"} == {2 * len(USERS)}


@pytest.mark.parametrize("name", FIGURES)
def test_occasions_without_a_verdict_have_no_figure(projects: Projects, name: str) -> None:
    rows: tuple[Row, ...] = ()
    with suppress(RecjudgeError):
        rows = figure(projects.everywhere, name, "from:2030-01-01").rows
    assert all(not row["n"] for row in rows)


def test_an_unknown_context_is_reported_with_the_existing_ones(projects: Projects) -> None:
    with pytest.raises(NotFoundError, match="no context “nowhere”") as error:
        figure(projects.everywhere, "confusion", "context:nowhere")
    assert "“cart”" in error.value.cause


def test_an_export_takes_the_options_of_occasions(projects: Projects, tmp_path: Path) -> None:
    out = tmp_path / "confusion.svg"
    path = projects.everywhere.path
    words = ["export", "-p", "films", "--figure", "confusion", "--rater", "anna", "--truth", "ben"]
    arguments = [*words, "--context", "home", "-o", str(out), "--db", str(path)]
    result = CliRunner().invoke(recjudge, arguments)
    assert result.exit_code == 0
    assert "Only in the context “home”." in result.stderr
    assert out.exists()
