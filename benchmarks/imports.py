"""Import of 100,000 list rows with items and events, of 1,000,000 events alone, and of 1,000,000 list rows in CSV and
Parquet, ranked and scored."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.projects import load, peak_mb, write_tables
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.importers.load import import_files
from recjudge_tui.store.opening import connect

USERS = 5000
SYSTEMS = 2
EVENTS = 1_000_000
LIST_USERS = 12_500
# users x systems x occasions x items
LIST_ROWS = LIST_USERS * 2 * 4 * 10
ROOT = Path(__file__).resolve().parent.parent


def measure() -> list[dict[str, Any]]:
    return [*_lists(), *_events(), *_million_list_rows()]


def _lists() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        tables = write_tables(Path(folder), users=USERS, systems=SYSTEMS)
        started = time.perf_counter()
        rows = sum(_read(path) for path in tables.values())
        reading = time.perf_counter() - started
        with connect(Path(folder) / "import.db") as db:
            started, used = time.perf_counter(), time.process_time()
            load(db, "big", tables)
            seconds, processor = time.perf_counter() - started, time.process_time() - used
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
            "note": f"{rows:,} rows in all; comparison: csv.DictReader over the same files, nothing stored;"
            f" processor time {processor:.2f} s",
        }
    ]


def _read(path: Path) -> int:
    with path.open(newline="", encoding="utf-8") as file:
        return sum(1 for _ in csv.DictReader(file))


def _events() -> list[dict[str, Any]]:
    """Time reading the files alone and importing them, each in a separate process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.csv"
        _write_events(path)
        reading = _in_a_process("read", path)
        ours = _in_a_process("import", path)
    bounds = (("seconds", 30.0, "s"), ("peak_mb", 300.0, "MB"))
    return [
        {
            "name": f"import of {EVENTS:,} events, {'seconds' if unit == 's' else 'peak memory in MB'}",
            "ours": round(ours[key], 1),
            "comparison": round(reading[key], 1),
            "ratio": round(ours[key] / reading[key], 1),
            "bound": f"< {bound:.0f} {unit}",
            "holds": ours[key] < bound,
            "note": "one transaction, two indexes; comparison: csv.DictReader over the same file, nothing stored;"
            f" processor time {ours['processor']:.1f} s",
        }
        for key, bound, unit in bounds
    ]


def _write_events(path: Path) -> None:
    rng = random.Random(7)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("user_id", "item_id", "type", "timestamp", "value"))
        for _ in range(EVENTS):
            user, item, time = rng.randrange(50_000), rng.randrange(20_000), rng.randrange(10**9, 17 * 10**8)
            writer.writerow((user, item, "rating", time, rng.randint(1, 10) / 2))


def _million_list_rows() -> list[dict[str, Any]]:
    """Lists of four occasions for each user: CSV with ranks, the same as Parquet, CSV with scores alone."""
    with tempfile.TemporaryDirectory() as folder:
        ranked, scored = Path(folder) / "lists.csv", Path(folder) / "scores.csv"
        _write_list_rows(ranked, "rank")
        _write_list_rows(scored, "score")
        packed = Path(folder) / "lists.parquet"
        _write_parquet(ranked, packed)
        forms = {"CSV": ranked, "Parquet": packed, "CSV with scores and no ranks": scored}
        reading = _in_a_process("read", ranked)
        ours = {form: _in_a_process("lists", path) for form, path in forms.items()}
    bounds = (("seconds", 30.0, "s"), ("peak_mb", 300.0, "MB"))
    return [
        {
            "name": f"import of {LIST_ROWS:,} list rows with contexts, {form}, {what}",
            "ours": round(ours[form][key], 1),
            "comparison": round(reading[key], 1),
            "ratio": round(ours[form][key] / reading[key], 1),
            "bound": f"< {bound:.0f} {unit}",
            "holds": ours[form][key] < bound,
            "note": "four occasions for each user and system; comparison: csv.DictReader over the CSV, nothing stored;"
            f" processor time {ours[form]['processor']:.1f} s",
        }
        for form in forms
        for key, bound, unit in bounds
        for what in ("seconds" if unit == "s" else "peak memory in MB",)
    ]


def _write_list_rows(path: Path, column: str) -> None:
    rng = random.Random(5)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("user_id", "system", "context", "served_at", "item_id", column))
        for user in range(LIST_USERS):
            for visit in range(4):
                time = f"2024-05-{1 + visit:02d}T12:00:00+00:00"
                for system in ("als", "pop"):
                    for rank, item in enumerate(rng.sample(range(20_000), 10), start=1):
                        value = rank if column == "rank" else round(rng.random(), 6)
                        writer.writerow((f"u{user}", system, f"visit {visit}", time, f"i{item}", value))


def _write_parquet(source: Path, path: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.csv.read_csv(source), path)


def _in_a_process(what: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.imports", what, str(path)]
    ran = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(ran.stdout)
    return found


def _import(path: Path, kind: ImportKind) -> int:
    with connect(path.with_name(f"{path.name}.db")) as db:
        return import_files(db, "big", [path], kind).stored


def main(what: str, path: Path) -> None:
    """Read the file or import it, and print its duration, processor time and peak memory."""
    started = time.perf_counter()
    rows = _read(path) if what == "read" else _import(path, "lists" if what == "lists" else "events")
    seconds = time.perf_counter() - started
    assert rows == EVENTS == LIST_ROWS, rows
    figures = {"seconds": seconds, "processor": time.process_time(), "peak_mb": peak_mb()}
    sys.stdout.write(json.dumps(figures))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
