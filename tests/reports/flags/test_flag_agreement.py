"""How far two people flag the same items, counted by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.reports.flags.agreement import flag_agreement_table
from recjudge_tui.reports.flags.project_flags import FlagOptions
from recjudge_tui.store.database import Database
from recjudge_tui.store.opening import connect
from tests.support.flags import make_flagged_project


@pytest.fixture
def db(project_db: Path) -> Iterator[Database]:
    with connect(project_db) as database:
        yield database


def figures(db: Database, project: int, **options: Any) -> dict[tuple[Any, Any], dict[str, Any]]:
    table = flag_agreement_table(db, project, FlagOptions(**options))
    return {(row["issue"], row["stat"]): dict(row) for row in table.rows}


def test_precision_recall_f1_and_kappa_on_items(db: Database) -> None:
    by_stat = figures(db, make_flagged_project(db))
    # 24 items; anna flagged 3, ben 4, both 2
    expected = (24 * (2 + 19) - (3 * 4 + 21 * 20)) / (24 * 24 - (3 * 4 + 21 * 20))
    values = {stat: by_stat["any", stat]["value"] for stat in ("precision", "recall", "f1", "kappa")}
    assert values == pytest.approx({"precision": 2 / 3, "recall": 2 / 4, "f1": 4 / 7, "kappa": expected})
    assert [by_stat["any", stat]["n"] for stat in values] == [3, 4, 5, 24]
    assert by_stat["any", "same_issue"]["value"] == 1 / 2
    assert by_stat["any", "same_issue"]["n"] == 2
    row = by_stat["any", "f1"]
    assert (row["flagged_a"], row["flagged_b"], row["both"], row["items"], row["users"]) == (3, 4, 2, 24, 3)


def test_each_kind_is_compared_apart_and_undefined_has_a_reason(db: Database) -> None:
    by_stat = figures(db, make_flagged_project(db))
    assert by_stat["off-category", "precision"]["value"] == 1 / 2
    assert by_stat["off-category", "recall"]["value"] == 1 / 2
    undefined = by_stat["other", "precision"]
    assert undefined["value"] is None
    assert undefined["note"] == "the first rater marked nothing"
    assert by_stat["other", "recall"]["value"] == 0
    assert ("already owned", "same_issue") not in by_stat


def test_the_truth_is_the_reference(db: Database) -> None:
    project = make_flagged_project(db)
    (row, *_) = flag_agreement_table(db, project, FlagOptions(truth="anna")).rows
    assert (row["rater_a"], row["rater_b"], row["value"]) == ("ben", "anna", 2 / 4)


def test_one_rater_alone_has_nobody_to_agree_with(db: Database) -> None:
    table = flag_agreement_table(db, make_flagged_project(db), FlagOptions(raters=("anna",)))
    assert table.rows == ()
    assert any("needs two raters" in note for note in table.notes)
