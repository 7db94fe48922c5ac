"""Each figure of the home is the one that its screen, report or list of verdicts has."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.domain.filters import parse_filter
from recjudge_tui.errors import NotFoundError, RecjudgeError
from recjudge_tui.project import Project
from recjudge_tui.reports.declare import table_of
from recjudge_tui.reports.home import WAITING, Home, HomeProcess, whole_home, with_next_part
from recjudge_tui.reports.verdict_list import listed_verdicts
from recjudge_tui.store.projects import project_overview
from recjudge_tui.store.schema import connect
from tests.support.app.lists import import_lists, judge
from tests.support.app.projects import make_project


def _size(path: Path, project: int, cases: str) -> int:
    with connect(path) as db:
        return len(listed_verdicts(db, project, parse_filter(cases)).ids)


def test_every_figure_is_as_large_as_what_it_opens(project_db: Path) -> None:
    project = make_project(project_db, cases=12)
    with connect(project_db) as db:
        home = whole_home(Project.numbered(db, project))
        overview = project_overview(db)[0]
    assert home.totals[:4] == (overview["cases"], overview["verdicts"], overview["flagged"], overview["runs"])
    assert home.totals.judge == "qwen2.5:14b"
    assert home.waiting == _size(project_db, project, WAITING.text()) >= 10
    every = {"queue:people": 8, "queue:failed": 2, "queue:any": 10, "queue:flagged": home.waiting - 10}
    assert {asked: _size(project_db, project, asked) for asked in every} == every
    assert home.flips is not None
    (flips,) = home.flips
    assert (flips.flips, flips.n) == (2, 10)
    assert _size(project_db, project, flips.cases) == 2
    assert home.board.figure == "win rate"
    assert {row["system"]: (row["wins"], row["ties"], row["losses"], row["n"]) for row in home.board.lines} == {
        "als": (4, 4, 2, 10), "cooc": (2, 4, 4, 10),
    }  # fmt: skip
    # the failed verdicts are listed too
    assert [_size(project_db, project, row["cases"]) for row in home.board.lines] == [12, 12]
    # in the words of the leaderboard
    with connect(project_db) as db:
        board = table_of(
            Project.numbered(db, project), "leaderboard", protocol="pairwise", raters=(home.board.rater,)
        )
    assert home.board.answer == board.answer != ""
    assert (home.agreement.people, home.agreement.n, home.agreement.ceiling) == ("anna", 10, 1.0)
    assert home.agreement.value is not None
    assert home.data.labellers == {"anna": 12, "bert": 12}
    assert home.steps == ()


@pytest.mark.parametrize("judged", [False, True])
def test_the_parts_come_one_by_one_and_the_cheap_ones_load_no_numpy(project_db: Path, judged: bool) -> None:
    project = import_lists(project_db, users=2)
    if judged:
        judge(project_db, project, "pairwise")
    home, order = Home(), []
    with connect(project_db) as db:
        while (part := home.missing_part) is not None:
            order.append(part)
            home = with_next_part(db, project, home)
        assert with_next_part(db, project, home) is home
    assert order[:3] == ["totals", "runs", "data"]
    assert bool(home.steps) is not judged
    assert [step.done for step in home.steps][:1] == ([] if judged else [True])


def test_a_process_of_its_own_computes_the_same(project_db: Path) -> None:
    project = make_project(project_db, cases=12)
    with connect(project_db) as db:
        home = with_next_part(db, project, with_next_part(db, project, Home()))
        whole = whole_home(Project.numbered(db, project))
    process = HomeProcess(project_db, project, home)
    while home.missing_part is not None:
        home = process.next_part()
    assert home == whole
    with pytest.raises(RecjudgeError, match="could not be computed"):
        process.next_part()
    process.stop()


def test_a_process_that_fails_says_why(project_db: Path) -> None:
    project = make_project(project_db, cases=4)
    gone = HomeProcess(project_db, project + 1, Home())
    with pytest.raises(NotFoundError):
        gone.next_part()
    gone.stop()
    stopped = HomeProcess(project_db, project, Home())
    stopped.next_part()
    stopped.stop()
    with pytest.raises(RecjudgeError, match="could not be computed"):
        stopped.next_part()
