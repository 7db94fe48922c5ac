"""Cases: one for each thing that can be judged, whoever met it first."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.cases import (
    CaseKey,
    case_row,
    cases_between,
    ensure_case,
    list_cases,
    showable_case,
)
from recjudge_tui.store.data import newest_slates
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import create_project
from recjudge_tui.store.schema import connect
from tests.support.app.projects import make_project as make_app_project
from tests.support.runs import add_lists, load, make_project, planned

PAIRS = [("rater", "user_id", "system_a", "system_b", "value"), ("anna", "u00", "pop", "als", "A"),
         ("anna", "u09", "pop", "als", "B")]  # fmt: skip


def judged_twice(db: Database) -> list[int]:
    """Cases that have both a call and a label."""
    return [r[0] for r in db.rows(
        "SELECT DISTINCT k.case_id FROM calls k JOIN verdicts v ON v.case_id = k.case_id WHERE v.import_id IS NOT NULL"
    )]  # fmt: skip


def test_the_same_key_is_the_same_case_and_any_difference_another(project_db: Path) -> None:
    with connect(project_db) as db:
        project = make_project(db, users=2)
        slates = newest_slates(db, project)["u00"]
        a, b = slates["als"].slate_id, slates["pop"].slate_id
        key = CaseKey("pair", "u00", "als", "pop", "", a, b)
        first = ensure_case(db, project, key)
        assert ensure_case(db, project, key) == first
        others = [key._replace(kind="list", system_b="", slate_b=None), key._replace(user_id="u01"),
                  key._replace(slate_b=a), key._replace(item_id="i1")]  # fmt: skip
        found = {ensure_case(db, project, other) for other in others}
        assert len(found | {first}) == 5
        assert (case_row(db, first)["project"], case_row(db, first)["slate_b"]) == ("films", b)
        assert [row["case_id"] for row in list_cases(db, project, 2)] == sorted(found | {first})[:2]
        with pytest.raises(NotFoundError, match="no case 999"):
            case_row(db, 999)


def test_labels_meet_judges_whichever_came_first(project_db: Path) -> None:
    with connect(project_db) as db:
        make_project(db, users=2)
        load(db, "labels", PAIRS)
        planned(db, protocol="pairwise")
        assert len(judged_twice(db)) == 1
    other = project_db.with_name("other.db")
    with connect(other) as db:
        load(db, "labels", PAIRS)
        project = make_project(db, users=2)
        planned(db, protocol="pairwise")
        assert len(judged_twice(db)) == 1
        bare = db.value("SELECT count(*) FROM cases WHERE slate_a IS NULL AND project_id = ?", (project,))
        assert bare == 1, "of u09 there are no lists"
        add_lists(db, ["u00", "u01"], ["als"], length=3)
        planned(db, protocol="pairwise", rater="later")
        assert len(judged_twice(db)) == 1, "the labels stay with the lists that were there"


def test_steps_go_over_cases_that_can_be_shown(project_db: Path) -> None:
    project = make_app_project(project_db, cases=3)
    with connect(project_db) as db:
        with db.transaction():
            # labels alone made this one: nothing of it can be shown
            ensure_case(db, project, CaseKey("pair", "stranger", "als", "cooc"))
            other = create_project(db, "other")
            elsewhere = ensure_case(db, other, CaseKey("list", "u", "als"))
        pairs = [
            r[0]
            for r in db.rows("SELECT id FROM cases WHERE kind = 'pair' AND slate_b IS NOT NULL ORDER BY id")
        ]
        first = showable_case(db, project, "pair")
        assert first is not None
        assert (first["id"], first["system_a"], first["system_b"]) == (pairs[0], "als", "cooc")
        seen = [first["id"]]
        while (row := showable_case(db, project, "pair", "next", seen[-1])) is not None:
            seen.append(row["id"])
        assert seen == pairs
        before = showable_case(db, project, "pair", "previous", pairs[1])
        assert before is not None
        assert before["id"] == pairs[0]
        assert showable_case(db, project, "pair", "previous", pairs[0]) is None
        at = showable_case(db, project, "pair", "at", pairs[2])
        assert at is not None
        assert at["id"] == pairs[2]
        assert showable_case(db, other, "pair", "at", pairs[2]) is None
        assert showable_case(db, other, "list", "at", elsewhere) is None
        assert showable_case(db, project, "explanation") is None


def test_cases_between_two_systems_whichever_is_named_first(project_db: Path) -> None:
    project = make_app_project(project_db)
    with connect(project_db) as db:
        found = cases_between(db, project, "cooc", "als")
        assert found == cases_between(db, project, "als", "cooc")
        assert len(found) == 6
        assert cases_between(db, project, "als", "nobody") == []
        assert cases_between(db, project + 1, "als", "cooc") == []
