"""The committed sample data: made by its script, complete in itself, and as the import tables say."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

SAMPLE = Path(__file__).resolve().parents[1] / "sample_data"
DOMAINS = ("shop", "films")
COLUMNS = {
    "events": ["user_id", "item_id", "text", "type", "timestamp", "value"],
    "heldout_events": ["user_id", "item_id", "text", "type", "timestamp", "value"],
    "lists_cooccurrence": ["user_id", "system", "item_id", "rank", "score"],
    "lists_text": ["user_id", "system", "item_id", "rank", "score"],
    "explanations": ["user_id", "item_id", "system", "text", "reference"],
    "labels_pointwise": [
        "rater", "user_id", "system", "aspect", "value", "protocol", "rater_kind", "note",
    ],
    "labels_pairwise": [
        "rater", "user_id", "system_a", "system_b", "aspect", "value", "protocol", "rater_kind",
    ],
    "labels_explanations": [
        "rater", "user_id", "item_id", "system", "aspect", "value", "protocol", "rater_kind",
    ],
}  # fmt: skip
LISTS = ("lists_cooccurrence", "lists_text")


Rows = list[dict[str, str]]
Read = Callable[[str], Rows]


@pytest.fixture(scope="module", params=DOMAINS)
def read(request: pytest.FixtureRequest) -> Read:
    """Reads a table of one domain by its name."""

    @cache
    def rows(name: str) -> Rows:
        with (SAMPLE / request.param / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file, strict=True))

    return rows


def ids(read: Read, table: str, column: str) -> set[str]:
    return {row[column] for row in read(table)}


def make(out: Path) -> dict[str, bytes]:
    script = SAMPLE / "make_sample_data.py"
    subprocess.run([sys.executable, "-B", str(script), "--out", str(out)], check=True, capture_output=True)
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*.csv"))}


def test_script_writes_the_committed_bytes_every_time(tmp_path: Path) -> None:
    committed = {str(p.relative_to(SAMPLE)): p.read_bytes() for p in sorted(SAMPLE.rglob("*.csv"))}
    first, second = make(tmp_path / "first"), make(tmp_path / "second")
    assert first == second
    assert sorted(first) == sorted(committed)
    assert [name for name in first if first[name] != committed[name]] == []


def test_columns_are_those_of_plain_tables(read: Read) -> None:
    for name, columns in COLUMNS.items():
        assert list(read(name)[0]) == columns, name
    assert {"item_id", "title", "category"} <= set(read("items")[0])
    assert {"user_id", "age", "gender", "occupation"} <= set(read("users")[0])


def test_every_user_and_item_named_anywhere_exists(read: Read) -> None:
    users, items = ids(read, "users", "user_id"), ids(read, "items", "item_id")
    for name in COLUMNS:
        for row in read(name):
            assert row["user_id"] in users
            assert row.get("item_id", "") in items | {""}
