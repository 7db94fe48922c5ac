"""Any table comes back as it was; any import undone leaves every table as before."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.errors import InputError
from recjudge_tui.importers.load import import_files
from recjudge_tui.importers.values import MISSING
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import undo_import
from recjudge_tui.store.schema import connect

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
# what stands for a missing id, or for the middle of a list, is left out
ID = TEXT.map(str.strip).filter(lambda text: text not in {*MISSING, "...", "…"})
FEW = st.sampled_from(["1", "2", "0012", "4376251640447208384", "é"])
KINDS: dict[ImportKind, dict[str, st.SearchStrategy[str]]] = {
    "items": {"item_id": FEW, "title": st.sampled_from(["a", "b", ""]), "extra": FEW},
    "users": {"user_id": FEW, "age": FEW},
    "events": {
        "user_id": FEW, "item_id": FEW, "type": st.sampled_from(["click", "heldout_rating"]),
        "timestamp": st.sampled_from(["", "2024-05-01", "never"]), "value": st.sampled_from(["", "3", "NaN"]),
    },
    "lists": {
        "user_id": FEW,
        "system": st.sampled_from(["s", "t"]),
        "item_id": FEW,
        "rank": st.sampled_from(["1", "2", "3", "-1"]),
    },
    "explanations": {"user_id": FEW, "item_id": FEW, "system": FEW, "text": st.sampled_from(["x", "y"])},
    "labels": {
        "rater": st.sampled_from(["ann", "bob", "user"]),
        "user_id": FEW,
        "system": st.sampled_from(["s", "t", ""]),
        "item_id": st.sampled_from(["1", ""]),
        "value": st.sampled_from(["1", "2", "Good", ""]),
        "flags": st.sampled_from(["", "1:other"]),
    },
}  # fmt: skip


def empty_folder(factory: pytest.TempPathFactory) -> tempfile.TemporaryDirectory[str]:
    """One for each example, where the tests' own files are."""
    return tempfile.TemporaryDirectory(dir=factory.getbasetemp())


def _csv(columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()


def _tables(db: Database) -> dict[str, list[tuple[Any, ...]]]:
    names = db.column("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {
        name: sorted((tuple(row) for row in db.rows(f"SELECT * FROM {name}")), key=repr)
        for name in names
        if name not in ("imports", "sqlite_stat1")
    }


@settings(max_examples=15, deadline=None)
@given(
    st.dictionaries(
        ID, st.tuples(TEXT.filter(lambda t: t.strip() not in MISSING), TEXT), min_size=1, max_size=8
    )
)
def test_items_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, items: dict[str, tuple[str, str]]
) -> None:
    rows = [(item_id, title, extra) for item_id, (title, extra) in items.items()]
    with empty_folder(tmp_path_factory) as folder, connect(Path(folder) / "a.db") as db:
        path = Path(folder) / "items.csv"
        path.write_text(_csv(["item_id", "title", "colour"], rows), encoding="utf-8", newline="")
        import_files(db, "p", [path], "items")
        found = db.rows(
            "SELECT item_id, title, json_extract(attributes, '$.colour') AS extra FROM v_current_items"
        )
        assert {(r[0], r[1], r[2]) for r in found} == {(i, t.strip(), e) for i, t, e in rows}


Table = tuple[ImportKind, list[tuple[str, ...]]]


def _table_of(kind: ImportKind) -> st.SearchStrategy[Table]:
    return st.tuples(st.just(kind), st.lists(st.tuples(*KINDS[kind].values()), min_size=1, max_size=8))


ANY_TABLE = st.sampled_from(list(KINDS)).flatmap(_table_of)


def _imported(db: Database, folder: Path, name: str, table: Table) -> list[int]:
    kind, rows = table
    path = folder / f"{name}.csv"
    path.write_text(_csv(list(KINDS[kind]), rows), encoding="utf-8", newline="")
    before = _tables(db)
    try:
        files = import_files(db, "p", [path], kind).files
        return [file.import_id for file in files if file.import_id is not None]
    except InputError:
        assert _tables(db) == before
        return []


@settings(max_examples=25, deadline=None)
@given(st.lists(ANY_TABLE, max_size=3), ANY_TABLE)
def test_import_then_undo_leaves_every_table_as_before(
    tmp_path_factory: pytest.TempPathFactory, earlier: list[Table], table: Table
) -> None:
    with empty_folder(tmp_path_factory) as name, connect(Path(name) / "a.db") as db:
        folder = Path(name)
        db.execute("INSERT INTO projects (name, created_at) VALUES ('p', '')")
        # a label that ties a waiting case to lists improves that case for good, so labels come first here
        order = sorted(earlier, key=lambda t: t[0] == "labels")
        done = [
            i
            for n, t in enumerate(order)
            if table[0] != "labels" or t[0] != "labels"
            for i in _imported(db, folder, str(n), t)
        ]
        before = _tables(db)
        for import_id in _imported(db, folder, "last", table):
            undo_import(db, import_id)
        assert _tables(db) == before
        for import_id in reversed(done):
            undo_import(db, import_id)
        assert all(
            not rows
            for table_name, rows in _tables(db).items()
            # the search keeps what belongs to itself
            if table_name not in ("projects", "migrations", "run_numbers")
            and not table_name.startswith("reasoning_search")
        )
        assert db.rows("PRAGMA foreign_key_check") == []
