"""The figure of flagged items: its three forms, its sentence, and the cases behind a mark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recjudge_tui.reports.figures.data import FigureData
from recjudge_tui.reports.figures.loading import figure_data, figure_marks, mark_cases
from recjudge_tui.reports.figures.marks import Forest, Grid, Lines
from recjudge_tui.reports.figures.options import FigureOptions
from recjudge_tui.reports.figures.paper.files import draw_picture
from recjudge_tui.store.database import Database
from recjudge_tui.store.schema import connect
from tests.support.flags import make_flagged_project


@pytest.fixture
def db(project_db: Path) -> Iterator[Database]:
    with connect(project_db) as database:
        make_flagged_project(database)
        yield database


def data_of(db: Database, **chosen: str) -> FigureData:
    return figure_data(db, 1, "flags", FigureOptions("pointwise", rater="ben", **chosen))


def users_behind(db: Database, data: FigureData, **mark: object) -> set[str]:
    row = next(row for row in data.rows if all(row[name] == value for name, value in mark.items()))
    cases = mark_cases(db, 1, data, row).cases
    assert cases is not None
    return {db.value("SELECT user_id FROM cases WHERE id = ?", (case,)) for case in cases}


def test_each_form_draws_the_same_shares(db: Database) -> None:
    table = figure_marks(data_of(db))
    assert isinstance(table, Grid)
    assert table.columns == ("x", "y")
    assert table.cells["off-category", "x"].text == "33.3%"
    intervals = figure_marks(data_of(db, show="intervals", of="items"))
    assert isinstance(intervals, Forest)
    assert {(e.system, e.rater): e.value for e in intervals.estimates}["any", "x"] == 4 / 12
    ranks = figure_marks(data_of(db, show="ranks"))
    assert isinstance(ranks, Lines)
    assert [point.y for point in ranks.series[0].points] == [2 / 3, 0, 1 / 3, 1 / 3]
    for form in ("table", "intervals", "ranks"):
        assert draw_picture(data_of(db, show=form), "svg").notes == ()


def test_a_mark_opens_the_lists_with_that_flag(db: Database) -> None:
    assert users_behind(db, data_of(db), issue="off-category", system="x") == {"u1"}
    assert users_behind(db, data_of(db), issue="any", system="x") == {"u1", "u2", "u3"}
    assert users_behind(db, data_of(db), issue="any", system="y") == set()
    assert users_behind(db, data_of(db, show="ranks"), rank=4, system="x") == {"u3"}
