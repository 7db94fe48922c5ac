"""Taking an import back: exactly what it brought goes, what others need stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from recjudge_tui.domain.records import Explanation, ImportKind, RankedItem, Slate
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.importers.load import import_files
from recjudge_tui.store.cases import CaseKey, ensure_case
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import explanation_digest, list_imports, slate_digest, undo_import
from recjudge_tui.store.schema import connect

LISTS = "user_id,system,item_id,rank\n"
LABELS = "rater,user_id,system,value\n"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with connect(tmp_path / "recjudge.db") as database:
        yield database


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
    rows = [tuple(row) for row in db.rows("SELECT item_id, title FROM v_current_items ORDER BY item_id")]
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


def test_explanations_that_a_case_refers_to_stay(db: Database, tmp_path: Path) -> None:
    header = "user_id,item_id,system,text\n"
    texts = _load(db, tmp_path, "explanations", header + "u,1,s,because\nu,2,s,so\n")
    _load(db, tmp_path, "labels", "rater,user_id,item_id,system,value\nann,u,1,s,4\n")
    undone = undo_import(db, texts)
    assert (undone.removed, undone.kept) == ({"explanations": 1}, {"explanations": 1})
    assert _count(db, "v_current_explanations") == 0


def test_cases_and_raters_that_others_need_stay(db: Database, tmp_path: Path) -> None:
    first = _load(db, tmp_path, "labels", LABELS + "ann,u,s,Good\nann,v,s,Good\nann,w,s,Good\n")
    _load(db, tmp_path, "labels", LABELS + "bob,u,s,Poor\n")
    _run_on(db, ensure_case(db, 1, CaseKey("list", "v", "s")))
    assert undo_import(db, first).removed == {"labels": 3, "cases": 1, "raters": 1}
    assert [row["user_id"] for row in db.rows("SELECT user_id FROM cases ORDER BY user_id")] == ["u", "v"]
    assert [row["name"] for row in db.rows("SELECT name FROM raters ORDER BY name")] == ["bob", "judge"]


def test_flags_go_with_their_labels(db: Database, tmp_path: Path) -> None:
    labels = _load(db, tmp_path, "labels", "rater,user_id,system,value,flags\nann,u,s,Poor,1:other;2:other\n")
    assert _count(db, "flags") == 2
    undo_import(db, labels)
    assert _count(db, "flags") == 0


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


def test_list_of_imports(db: Database, tmp_path: Path) -> None:
    users = _load(db, tmp_path, "users", "user_id\nu\n\n,\n")
    items = _load(db, tmp_path, "items", "item_id,title\n1,a\n1,b\n")
    undo_import(db, users)
    rows = list_imports(db, 1)
    assert [
        (r["id"], r["project"], r["kind"], r["rows_read"], r["rows_stored"], r["rows_skipped"]) for r in rows
    ] == [
        (users, "p", "users", 1, 1, 0),
        (items, "p", "items", 2, 1, 1),
    ]
    assert rows[0]["undone_at"]
    assert rows[1]["undone_at"] is None
    assert len(json.loads(rows[1]["warnings"])) == 1
    assert list_imports(db, 2) == []
    assert len(list_imports(db)) == 2


def test_digests_depend_on_content_alone() -> None:
    def slate(user: str, *items: tuple[str, float | None]) -> Slate:
        ranked = tuple(RankedItem(item_id=name, score=score) for name, score in items)
        return Slate(user_id=user, system="s", items=ranked)

    same = {
        slate_digest(slate("u", ("1", 0.5), ("2", None))),
        slate_digest(slate("v", ("1", 0.5), ("2", None))),
    }
    others = {
        slate_digest(slate("u", ("2", None), ("1", 0.5))),
        slate_digest(slate("u", ("1", None), ("2", None))),
    }
    assert (len(same), len(same | others)) == (1, 3)
    a = Explanation(user_id="u", item_id="1", system="s", text="x", attributes={"a": "1", "b": "2"})
    b = a.model_copy(update={"attributes": {"b": "2", "a": "1"}, "user_id": "v"})
    assert explanation_digest(a) == explanation_digest(b)
    assert explanation_digest(a) != explanation_digest(a.model_copy(update={"reference": "y"}))
