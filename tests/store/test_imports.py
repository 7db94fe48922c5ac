"""Taking an import back: exactly what it brought goes, what others need stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.importers.load import import_files
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import undo_import

LISTS = "user_id,system,item_id,rank\n"


def _load(db: Database, folder: Path, kind: ImportKind, content: str) -> int:
    path = folder / f"{kind}{db.value('SELECT count(*) FROM imports')}.csv"
    path.write_text(content, encoding="utf-8")
    (file,) = import_files(db, "p", [path], kind).files
    assert file.import_id is not None
    return file.import_id


def _count(db: Database, table: str) -> int:
    found: int = db.value(f"SELECT count(*) FROM {table}")
    return found


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
