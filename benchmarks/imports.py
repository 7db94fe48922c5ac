"""Import of 100,000 list rows with items and events."""

from __future__ import annotations

import csv
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.projects import load, write_tables
from recjudge_tui.store.database import connect

USERS = 5000
SYSTEMS = 2


def measure() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        tables = write_tables(Path(folder), users=USERS, systems=SYSTEMS)
        started = time.perf_counter()
        rows = sum(_read(path) for path in tables.values())
        reading = time.perf_counter() - started
        with connect(Path(folder) / "import.db") as db:
            started = time.perf_counter()
            load(db, "big", tables)
            seconds = time.perf_counter() - started
            stored = db.value("SELECT count(*) FROM slate_items")
    assert stored == USERS * SYSTEMS * 10
    return [
        {
            "name": f"import of {stored:,} list rows with items and events, seconds",
            "ours": round(seconds, 2),
            "comparison": round(reading, 2),
            "ratio": round(seconds / reading, 1),
            "bound": "< 3 s",
            "holds": seconds < 3,
            "note": f"{rows:,} rows in all; comparison: csv.DictReader over the same files, nothing stored",
        }
    ]


def _read(path: Path) -> int:
    with path.open(newline="", encoding="utf-8") as file:
        return sum(1 for _ in csv.DictReader(file))
