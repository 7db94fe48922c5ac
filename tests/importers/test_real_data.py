"""The research data, whole: counts, ids and undoing."""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path

import pytest

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.importers.load import import_files
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import list_imports, undo_import

pytestmark = pytest.mark.data
DOCS = Path(__file__).parents[2] / "docs" / "mapping.md"
TABLES = (
    "items", "users", "events", "slates", "slate_items", "explanations", "cases", "raters", "verdicts", "flags",
)  # fmt: skip


@pytest.fixture
def data() -> Path:
    return Path(os.environ["RECJUDGE_DATA"])


def _undo_everything(db: Database) -> None:
    for row in list_imports(db):
        undo_import(db, row["id"])
    assert {table: db.value(f"SELECT count(*) FROM {table}") for table in TABLES} == dict.fromkeys(TABLES, 0)


def test_ml100k(db: Database, data: Path) -> None:
    folder = data / "ml100k"
    plan: list[tuple[ImportKind, list[str], int]] = [
        ("items", ["items"], 1682),
        ("users", ["users"], 200),
        ("events", ["events", "ratings_heldout"], 15712 + 4035),
        ("lists", ["lists_popularity", "lists_cooccurrence", "lists_embedding"], 6000),
    ]
    for kind, names, rows in plan:
        summary = import_files(db, "ml", [folder / f"{name}.csv" for name in names], kind)
        assert (summary.read, summary.stored, summary.skipped) == (rows, rows, 0)
        assert summary.warning_count == 0
    assert db.value("SELECT count(*) FROM v_current_slates") == 600
    assert {row[0] for row in db.rows("SELECT DISTINCT length FROM slates")} == {10}
    assert db.value("SELECT count(*) FROM events WHERE type = 'heldout_rating'") == 4035
    _undo_everything(db)


def test_zhang2024_by_the_documented_mapping(db: Database, data: Path, tmp_path: Path) -> None:
    mapping = tmp_path / "zhang.toml"
    blocks = re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    mapping.write_text(next(block for block in blocks if "annotator_2" in block), encoding="utf-8")
    file = data / "zhang2024" / "explanations.csv"
    items = import_files(db, "z", [file], "items", mapping=mapping)
    assert (items.stored, items.unchanged, items.skipped) == (140, 2396, 0)
    assert import_files(db, "z", [file], "users", mapping=mapping).stored == 39
    explanations = import_files(db, "z", [file], "explanations", mapping=mapping)
    assert (explanations.stored, explanations.warning_count) == (2536, 0)
    labels = import_files(db, "z", [file], "labels", mapping=mapping)
    assert (labels.read, labels.stored, labels.skipped) == (30432, 30423, 9)
    assert labels.warning_kinds == {"no value": 9}
    assert db.value("SELECT count(*) FROM cases WHERE explanation_id IS NOT NULL") == 2536
    with file.open(encoding="utf-8", newline="") as handle:
        released = {row["user_id"] for row in csv.DictReader(handle)}
    assert {row[0] for row in db.rows("SELECT DISTINCT user_id FROM explanations")} == released
    assert "4376251640447208384" in released
    kinds = {row["name"]: row["kind"] for row in db.rows("SELECT name, kind FROM raters")}
    assert kinds == {"user": "ground_truth", "annotator_1": "annotator", "annotator_2": "annotator"}
    assert db.value("SELECT count(*) FROM explanations WHERE text LIKE '%<%' OR reference = ''") == 0
    _undo_everything(db)


def test_the_names_of_a_folder_are_imported_as_the_folder(db: Database, data: Path) -> None:
    folder = data / "zhang2024"
    names = import_paths(db, "names", sorted(folder.glob("*.csv")), None)
    whole = import_paths(db, "folder", [folder], None)
    assert [(s.kind, s.stored, s.skipped) for s in names] == [(s.kind, s.stored, s.skipped) for s in whole]
    assert sum(s.stored for s in names) == 140 + 40 + 2_536 + 30_423
