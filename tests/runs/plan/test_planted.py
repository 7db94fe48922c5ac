"""Lists with planted faults: what is planted, where, and that the real data stays as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from recjudge_tui.domain.made_lists import FAULT_KINDS, planted_list
from recjudge_tui.store.cases import load_material
from recjudge_tui.store.data import current_slates, systems
from recjudge_tui.store.database import Database
from recjudge_tui.store.schema import connect
from tests.support.planted_project import SYSTEMS, faults_of, make_shop, planned_faults


@pytest.fixture
def db(project_db: Path) -> Iterator[Database]:
    with connect(project_db) as database:
        yield database


def planned(db: Database, **wished: object) -> int:
    run_id = planned_faults(db, **wished).run_id
    assert run_id is not None
    return run_id


def test_every_kind_is_planted_once_into_a_list_of_each_user(db: Database) -> None:
    make_shop(db)
    run_id = planned(db)
    faults = faults_of(db, run_id)
    assert Counter(fault.kind for fault in faults.values()) == dict.fromkeys(FAULT_KINDS, 4)
    for case_id, fault in faults.items():
        shown = [item.item_id for item in load_material(db, run_id, case_id, 5).slates[0].items]
        source = [
            row[0]
            for row in db.rows(
                "SELECT item_id FROM slate_items WHERE slate_id = ? ORDER BY rank", (fault.source_slate_id,)
            )
        ]
        assert shown[fault.rank - 1] == fault.item_id
        assert source[fault.rank - 1] == fault.displaced
        # nothing else is changed
        assert [a for a, b in zip(shown, source, strict=True) if a != b] == [fault.item_id]
    planted = {fault.kind: fault.item_id for fault in faults.values()}
    assert (planted["refill"], planted["durable"], planted["off-category"]) == (
        "shampoo",
        "kettle2",
        "guitar",
    )


def test_a_variant_follows_its_original_and_is_shown_with_a_title_of_its_own(db: Database) -> None:
    make_shop(db)
    run_id = planned(db)
    for case_id, fault in faults_of(db, run_id).items():
        if fault.kind == "variant":
            items = load_material(db, run_id, case_id, 5).slates[0].items
            variant = items[fault.rank - 1]
            originals = [i for i in items[: fault.rank - 1] if variant.title == f"{i.title}, Pack of 2"]
            assert [original.category for original in originals] == [variant.category]


def test_the_seed_decides_who_and_where(db: Database) -> None:
    make_shop(db, users=12)
    first, again, other = (faults_of(db, planned(db, rater=name, seed=seed))
                           for name, seed in (("a", 1), ("b", 1), ("c", 2)))  # fmt: skip
    assert first == again
    assert first != other
    assert len({fault.rank for fault in first.values()}) > 1


def test_both_systems_give_equally_many_lists(db: Database) -> None:
    make_shop(db)
    run_id = planned(db)
    names = [
        planted_list(row[0])
        for row in db.rows(
            "SELECT c.system_a FROM run_cases rc JOIN cases c ON c.id = rc.case_id WHERE rc.run_id = ?",
            (run_id,),
        )
    ]
    assert Counter(name.system for name in names if name) == dict.fromkeys(SYSTEMS, 2 * len(FAULT_KINDS))


def test_a_dry_run_stores_nothing_and_the_real_lists_stay(db: Database) -> None:
    project = make_shop(db)
    before = current_slates(db, project)
    assert planned_faults(db, dry_run=True).estimate.cases == 4 * len(FAULT_KINDS)
    assert db.value("SELECT count(*) FROM planted_faults") == 0
    planned(db)
    assert current_slates(db, project) == before
    assert systems(db, project) == list(SYSTEMS)
    assert db.value("SELECT count(*) FROM items WHERE title LIKE '%Pack of 2'") == 0
