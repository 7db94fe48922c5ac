"""Parquet: the same rows as the CSV, whatever its types; and what is said when it cannot be read."""

from __future__ import annotations

import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.errors import InputError
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.importers.load import import_files
from recjudge_tui.importers.reader import parquet_records
from recjudge_tui.store.database import Database


def _write(path: Path, columns: dict[str, Any]) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def test_values_of_every_type(tmp_path: Path) -> None:
    path = _write(
        tmp_path / "in.parquet",
        {
            "id": pa.array([4376251640447208384, None]), "float_id": pa.array([12.0, None]),
            "score": pa.array([0.1, float("nan")]), "text": pa.array(["0012", ""]),
            "category": pa.array(["a", "b"]).dictionary_encode(), "flag": pa.array([True, None]),
            "time": pa.array([datetime(2024, 5, 1, 12, tzinfo=timezone.utc), None], pa.timestamp("ns", "UTC")),
            "items": pa.array([[3, 1], None], pa.list_(pa.int64())),
            "object": pa.array([{"a": 1}, None], pa.struct({"a": pa.int64()})), "__index_level_0__": pa.array([0, 1]),
        },
    )  # fmt: skip
    assert list(parquet_records(path)) == [
        (
            1,
            {
                "id": "4376251640447208384",
                "float_id": "12",
                "score": "0.1",
                "text": "0012",
                "category": "a",
                "flag": "true",
                "time": "2024-05-01 12:00:00.000000000Z",
                "items": ["3", "1"],
                "object": {"a": "1"},
            },
        ),
        (2, dict.fromkeys(["id", "float_id", "score"]) | {"text": "", "category": "b"}
         | dict.fromkeys(["flag", "time", "items", "object"])),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ({"item_id": [1, 2], "title": ["Lamp", "Soap"]}, "items"),
        ({"user": [1, 2], "item": [7, 8], "rating": [4.0, 5.0], "timestamp": [881250949, 881250950]}, "events"),
        ({"user": [1, 1], "item": [7, 8], "system": ["s", "s"], "score": [0.5, 0.25]}, "lists"),
        ({"user": [1], "items": [[7, 8]], "system": ["s"]}, "lists"),
    ],
)  # fmt: skip
def test_the_kind_is_recognised(
    db: Database, tmp_path: Path, columns: dict[str, Any], kind: ImportKind
) -> None:
    [summary] = import_paths(db, "p", [_write(tmp_path / "no ending", columns)], None)
    assert (summary.kind, summary.read, summary.stored, summary.skipped) == (kind, 2, 2, 0)


def test_rows_of_several_batches_are_numbered_and_counted(db: Database, tmp_path: Path) -> None:
    rows = 25_000
    path = _write(
        tmp_path / "e.parquet",
        {"user_id": [str(n % 97) for n in range(rows - 1)] + [""], "item_id": ["7"] * rows, "type": ["click"] * rows},
    )  # fmt: skip
    told: list[float] = []
    summary = import_files(db, "p", [path], "events", progress=lambda _, share: told.append(share))
    assert (summary.stored, summary.skipped) == (rows - 1, 1)
    assert summary.warnings == (f"{path}:row {rows}: user_id is empty; row left out",)
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_a_column_that_is_no_text(tmp_path: Path) -> None:
    path = _write(tmp_path / "b.parquet", {"item_id": pa.array([b"\xff\xfe"]), "title": ["x"]})
    with pytest.raises(InputError, match="is a damaged Parquet file"):
        list(parquet_records(path))


def test_a_column_twice(db: Database, tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table([pa.array(["u"]), pa.array(["v"])], names=["user_id", "user_id"]), path)
    with pytest.raises(InputError, match="column “user_id” occurs more than once"):
        import_files(db, "p", [path], "users")


def test_cut_off_and_empty_files(db: Database, tmp_path: Path) -> None:
    whole = _write(tmp_path / "whole.parquet", {"item_id": ["1"] * 500, "title": ["x"] * 500})
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(whole.read_bytes()[:-30])
    with pytest.raises(InputError, match=r"cut\.parquet is a damaged Parquet file .*Write it again"):
        import_files(db, "p", [cut], "items")
    none = _write(
        tmp_path / "none.parquet", {"item_id": pa.array([], pa.string()), "title": pa.array([], pa.string())}
    )
    with pytest.raises(InputError, match=r"none\.parquet is empty"):
        import_files(db, "p", [none], "items")
    assert db.value("SELECT count(*) FROM projects") == 0


def test_without_pyarrow(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _write(tmp_path / "in.parquet", {"item_id": ["1"], "title": ["x"]})
    for module in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        InputError, match=r"pyarrow is not installed Install it with: pip install 'recjudge\[parquet\]'; or"
    ):
        import_files(db, "p", [path], "items")


LONG = pa.DictionaryArray.from_arrays(pa.array([0] * 3000, pa.int32()), pa.array(["x" * 1_000_000]))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"item_id": pa.array(["a"] * 3000), "title": LONG}, "compressed too strongly"),
        ({"item_id": pa.array(["a"] * 150), "title": pa.array(["x" * 900_000] * 150)}, "compressed too strongly"),
        (dict.fromkeys(("item_id", "title", "brand"), pa.nulls(9_000_000, pa.string())), "compressed too strongly"),
        ({"item_id": ["a"], "title": ["b"], "parts": pa.array([bytes(11_000_000)])}, "a value of more than 10,000,000"),
    ],
    ids=["one text in all rows", "the same as text", "rows of nothing", "a long value"],
)  # fmt: skip
def test_a_file_that_holds_far_more_than_its_size_is_refused(
    db: Database, tmp_path: Path, columns: dict[str, Any], message: str
) -> None:
    path = _write(tmp_path / "items.parquet", columns)
    with pytest.raises(InputError, match=message):
        import_files(db, "films", [path], "items")
    assert db.value("SELECT count(*) FROM items") == 0
