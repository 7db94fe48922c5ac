"""The share of lists and items that raters flag, by system, kind of issue and rank, counted by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.selection import CaseSelection, Segment
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.flags.kinds import kinds_table
from recjudge_tui.reports.flags.project_flags import NOTHING, FlagOptions
from recjudge_tui.runs.engine.engine import work
from recjudge_tui.stats.intervals import clopper_pearson
from recjudge_tui.store.database import Database
from recjudge_tui.store.opening import connect
from tests.support.flags import make_flagged_project
from tests.support.runs import load, make_project, planned


@pytest.fixture
def db(project_db: Path) -> Iterator[Database]:
    with connect(project_db) as database:
        yield database


def rows_of(table: Table, **wanted: object) -> list[dict[str, Any]]:
    return [dict(row) for row in table.rows if all(row[name] == value for name, value in wanted.items())]


def shares(table: Table, **wanted: object) -> dict[Any, tuple[Any, Any]]:
    key = "rank" if "rank" in {column.name for column in table.columns} else "issue"
    return {row[key]: (row["count"], row["n"]) for row in rows_of(table, **wanted)}


def test_lists_with_a_flag_are_counted_by_kind(db: Database) -> None:
    table = kinds_table(db, make_flagged_project(db), FlagOptions())
    assert shares(table, rater="anna", system="x") == {
        "any": (2, 3), "off-category": (2, 3), "already owned": (1, 3), "other": (0, 3)
    }  # fmt: skip
    # one list has the same kind twice, spelled in two ways
    assert shares(table, rater="ben", system="x") == {
        "any": (3, 3), "off-category": (1, 3), "already owned": (1, 3), "other": (1, 3)
    }  # fmt: skip
    assert {row["count"] for row in rows_of(table, system="y")} == {0}
    (row,) = rows_of(table, rater="anna", system="x", issue="any")
    expected = clopper_pearson(2, 3)
    assert (row["share"], row["ci_low"], row["ci_high"]) == (2 / 3, expected.ci_low, expected.ci_high)
    assert row["people"] is None


def test_items_are_counted_once_whatever_is_wrong_with_them(db: Database) -> None:
    table = kinds_table(db, make_flagged_project(db), FlagOptions(of="items"))
    assert shares(table, rater="ben", system="x") == {
        "any": (4, 12), "off-category": (2, 12), "already owned": (1, 12), "other": (1, 12)
    }  # fmt: skip
    (row,) = rows_of(table, rater="ben", system="x", issue="any")
    assert row["users"] == 3
    assert row["ci_low"] < row["share"] == 4 / 12 < row["ci_high"]


def test_ranks_are_places_in_the_list(db: Database) -> None:
    table = kinds_table(db, make_flagged_project(db), FlagOptions(by_rank=True))
    assert shares(table, rater="anna", system="x") == {1: (2, 3), 2: (1, 3), 3: (0, 3), 4: (0, 3)}
    owned = kinds_table(db, make_flagged_project(db), FlagOptions(by_rank=True, issue="Already  Owned"))
    assert shares(owned, rater="anna", system="x") == {1: (0, 3), 2: (1, 3), 3: (0, 3), 4: (0, 3)}


def test_a_judge_is_shown_beside_people_on_the_lists_it_judged(db: Database) -> None:
    project = make_flagged_project(db)
    load(db, "events", [("user_id", "item_id", "type", "timestamp"), ("u1", "h", "purchase", "2024-05-01")])
    assert work(db.path, planned(db, rater="rules")).state == "done"
    table = kinds_table(db, project, FlagOptions(raters=("rules", "anna", "ben")))
    (row,) = rows_of(table, rater="rules", system="x", issue="any")
    # only u1 has a history: anna and ben flagged something in that list
    assert (row["n"], row["people"], row["people_n"]) == (1, 1.0, 2)
    (bought,) = rows_of(table, rater="rules", system="y", issue="already owned")
    assert (bought["count"], bought["n"]) == (1, 1)
    assert any("rules is not a language model" in note for note in table.notes)


def test_a_judge_is_shown_the_top_of_a_list_only(db: Database) -> None:
    project = make_flagged_project(db)
    load(db, "events", [("user_id", "item_id", "type", "timestamp"), ("u1", "h", "purchase", "2024-05-01")])
    assert work(db.path, planned(db, rater="rules", top_k=2)).state == "done"
    table = kinds_table(db, project, FlagOptions(of="items", raters=("rules",)))
    assert {row["n"] for row in table.rows} == {2}


def test_a_flag_on_an_item_that_the_list_lacks_counts_for_the_list_alone(db: Database) -> None:
    project = make_flagged_project(db)
    labels = ("rater", "user_id", "system", "aspect", "value", "protocol", "rater_kind", "flags")
    load(db, "labels", [labels, ("cleo", "u1", "x", "overall", "Poor", "pointwise", "annotator", "zz:other")])
    lists = kinds_table(db, project, FlagOptions(raters=("cleo",)))
    assert shares(lists) == {"any": (1, 1), "other": (1, 1)}
    items = kinds_table(db, project, FlagOptions(raters=("cleo",), of="items"))
    assert shares(items) == {"any": (0, 4), "other": (0, 4)}
    assert "cleo: not counted: 1 flag on items that are not in the list" in items.notes


def test_a_selection_of_users(db: Database) -> None:
    project = make_flagged_project(db)
    free = CaseSelection(segment=Segment("free", "user", frozenset(["u1", "u2"])))
    table = kinds_table(db, project, FlagOptions(selection=free, raters=("anna",)))
    assert shares(table, system="x", issue="any") == {"any": (2, 2)}


def test_who_was_not_asked_for_flags_is_named_and_not_zero(db: Database) -> None:
    project = make_flagged_project(db)
    labels = ("rater", "user_id", "system", "aspect", "value", "protocol", "rater_kind")
    load(db, "labels", [labels, ("dora", "u1", "x", "overall", "Poor", "pointwise", "annotator")])
    table = kinds_table(db, project, FlagOptions())
    assert not rows_of(table, rater="dora")
    assert "left out, because neither their labels nor their prompts have flags: dora" in table.notes


def test_without_flags_the_table_says_where_they_come_from(db: Database) -> None:
    table = kinds_table(db, make_project(db), FlagOptions())
    assert table.rows == ()
    assert NOTHING in table.notes


def test_bad_options(db: Database) -> None:
    project = make_flagged_project(db)
    with pytest.raises(UsageError, match="no rater flags an issue “nonsense”"):
        kinds_table(db, project, FlagOptions(issue="nonsense"))
    with pytest.raises(UsageError, match="pairwise does not judge single lists"):
        kinds_table(db, project, FlagOptions(protocol="pairwise"))
    with pytest.raises(NotFoundError):
        kinds_table(db, project, FlagOptions(raters=("nobody",)))
