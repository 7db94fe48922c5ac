"""Taking an import back: exactly what it brought goes, what others need stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.importers.load import import_files
from recjudge_tui.store.cases import CaseKey, ensure_case
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import undo_import

LISTS = "user_id,system,item_id,rank\n"
LABELS = "rater,user_id,system,value\n"


def _load(db: Database, folder: Path, kind: ImportKind, content: str) -> int:
    path = folder / f"{kind}{db.value('SELECT count(*) FROM imports')}.csv"
    path.write_text(content, encoding="utf-8")
    (file,) = import_files(db, "p", [path], kind).files
    assert file.import_id is not None
    return file.import_id


def _count(db: Database, table: str) -> int:
    found: int = db.value(f"SELECT count(*) FROM {table}")
    return found


def _run_on(db: Database, case: int) -> None:
    """A run with one planned call on the case, as the plan writes it."""
    db.execute("INSERT INTO prompts VALUES (1, 'x', 1, 'pointwise', 'd', '', 'user', '')")
    db.execute("INSERT INTO raters VALUES (900, 1, 'judge', 'judge', '{}', '')")
    db.execute(
        """INSERT INTO runs (id, project_id, rater_id, prompt_id, protocol, judge, settings, state, created_at)
           VALUES (1, 1, 900, 1, 'pointwise', '{}', '{}', 'planned', '')"""
    )
    db.execute("INSERT INTO snapshots VALUES (1, 'd', 'user', '{}')")
    db.execute("INSERT INTO run_cases (run_id, case_id, user_snapshot) VALUES (1, ?, 1)", (case,))


def test_the_older_item_comes_back(db: Database, tmp_path: Path) -> None:
    _load(db, tmp_path, "items", "item_id,title\n1,old\n2,same\n")
    newer = _load(db, tmp_path, "items", "item_id,title\n1,new\n2,same\n3,only here\n")
    undone = undo_import(db, newer)
    assert undone.removed == {"items": 3}
    assert (undone.import_id, undone.project, undone.kind, undone.kept) == (newer, "p", "items", {})
    rows = list(db.tuples("SELECT item_id, title FROM v_current_items ORDER BY item_id"))
    assert rows == [("1", "old"), ("2", "same")]


def test_data_of_two_imports_stays_until_both_are_undone(db: Database, tmp_path: Path) -> None:
    first = _load(db, tmp_path, "items", "item_id,title\n1,a\n")
    second = _load(db, tmp_path, "items", "item_id,title\n1,a\n2,b\n")
    one = _load(db, tmp_path, "lists", LISTS + "u,s,1,1\nu,s,2,2\n")
    two = _load(db, tmp_path, "lists", LISTS + "u,s,1,1\nu,s,2,2\nv,s,1,1\n")
    assert (_count(db, "slates"), _count(db, "slate_imports")) == (2, 3)
    undo_import(db, first)
    assert undo_import(db, one).removed == {}
    assert (_count(db, "v_current_items"), _count(db, "v_current_slates")) == (2, 2)
    undo_import(db, second)
    assert undo_import(db, two).removed == {"lists": 2}
    assert (_count(db, "items"), _count(db, "slates"), _count(db, "slate_items")) == (0, 0, 0)


def test_lists_that_a_case_refers_to_stay_as_snapshots(db: Database, tmp_path: Path) -> None:
    lists = _load(db, tmp_path, "lists", LISTS + "u,s,1,1\nv,s,1,1\n")
    labels = _load(db, tmp_path, "labels", LABELS + "ann,u,s,Good\n")
    undone = undo_import(db, lists)
    assert (undone.removed, undone.kept) == ({"lists": 1}, {"lists": 1})
    assert (_count(db, "v_current_slates"), _count(db, "slates"), _count(db, "slate_items")) == (0, 1, 1)
    assert undo_import(db, labels).removed == {"labels": 1, "cases": 1, "raters": 1, "lists": 1}
    assert _count(db, "slates") == 0


def test_a_snapshot_is_current_again_when_imported_again(db: Database, tmp_path: Path) -> None:
    lists = _load(db, tmp_path, "lists", LISTS + "u,s,1,1\n")
    _load(db, tmp_path, "labels", LABELS + "ann,u,s,Good\n")
    undo_import(db, lists)
    _load(db, tmp_path, "lists", LISTS + "u,s,1,1\n")
    assert (_count(db, "slates"), _count(db, "v_current_slates")) == (1, 1)


def test_cases_and_raters_that_others_need_stay(db: Database, tmp_path: Path) -> None:
    first = _load(db, tmp_path, "labels", LABELS + "ann,u,s,Good\nann,v,s,Good\nann,w,s,Good\n")
    _load(db, tmp_path, "labels", LABELS + "bob,u,s,Poor\n")
    _run_on(db, ensure_case(db, 1, CaseKey("list", "v", "s")))
    assert undo_import(db, first).removed == {"labels": 3, "cases": 1, "raters": 1}
    assert db.column("SELECT user_id FROM cases ORDER BY user_id") == ["u", "v"]
    assert db.column("SELECT name FROM raters ORDER BY name") == ["bob", "judge"]


def test_undoing_twice_or_what_is_not_there(db: Database, tmp_path: Path) -> None:
    only = _load(db, tmp_path, "users", "user_id\nu\n")
    undo_import(db, only)
    with pytest.raises(UsageError, match="already undone"):
        undo_import(db, only)
    with pytest.raises(NotFoundError, match="no import 99"):
        undo_import(db, 99)


def test_an_undone_file_can_be_imported_again(db: Database, tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("user_id\nu\n")
    first = import_files(db, "p", [path], "users").files[0].import_id
    assert first is not None
    undo_import(db, first)
    again = import_files(db, "p", [path], "users")
    assert (again.stored, again.files[0].import_id) == (1, first + 1)
