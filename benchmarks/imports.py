"""Import of list rows with items and events, of events alone, of list rows in CSV and Parquet, ranked and scored, and of
labels."""

from __future__ import annotations

import csv
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.process import in_a_process, measured
from benchmarks.projects import load, write_tables
from benchmarks.rows import Row, run_command
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.importers.load import import_files
from recjudge_tui.store.schema import connect

SYSTEMS = 2
# kind -> the tables that hold its rows
TABLES: dict[str, tuple[str, ...]] = {
    "events": ("events",), "labels": ("cases", "verdicts"), "lists": ("slates", "slate_items", "slate_imports"),
}  # fmt: skip


class Size(NamedTuple):
    """`users` of the small tables, rows of the tables of events and labels, and users of the large tables of lists."""

    users: int
    events: int
    labels: int
    list_users: int

    @property
    def list_rows(self) -> int:
        """Systems x occasions x items for each user."""
        return self.list_users * SYSTEMS * 4 * 10


FULL, QUICK = Size(5000, 1_000_000, 600_000, 12_500), Size(50, 2000, 2000, 25)


def measure(quick: bool = False) -> list[Row]:
    size = QUICK if quick else FULL
    return [
        *_lists(size.users),
        *_rows_of("events", size.events, _write_events, (("seconds", 8.0, "s"), ("peak_mb", 120.0, "MB"))),
        *_rows_of("labels", size.labels, write_labels, (("seconds", 6.0, "s"), ("peak_mb", 150.0, "MB"))),
        *_occasions(size),
    ]


def _lists(users: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        tables = write_tables(Path(folder), users=users, systems=SYSTEMS)
        started = time.perf_counter()
        rows = sum(_read(path) for path in tables.values())
        reading = time.perf_counter() - started
        with connect(Path(folder) / "import.db") as db:
            started, used = time.perf_counter(), time.process_time()
            load(db, "big", tables)
            seconds, processor = time.perf_counter() - started, time.process_time() - used
            stored = db.value("SELECT count(*) FROM slate_items")
    assert stored == users * SYSTEMS * 10
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


def _rows_of(
    kind: ImportKind,
    rows: int,
    write: Callable[[Path, int], None],
    bounds: Sequence[tuple[str, float, str]],
) -> list[Row]:
    """Time reading a file alone and importing it, each in a separate process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{kind}.csv"
        write(path, rows)
        reading = in_a_process("imports", "reading_cost", str(path), rows)
        ours = in_a_process("imports", "import_cost", str(path), kind, rows)
        alone = in_a_process("imports", "storing_cost", str(path), kind)["seconds"]
    return [
        {
            "name": f"import of {rows:,} {kind}, {'seconds' if unit == 's' else 'peak memory in MB'}",
            "ours": round(ours[key], 1),
            "comparison": round(reading[key], 1),
            "ratio": round(ours[key] / reading[key], 1),
            "bound": f"< {bound:.0f} {unit}",
            "holds": ours[key] < bound,
            "note": "one transaction with its indexes; comparison: csv.DictReader over the same file, nothing stored;"
            f" processor time {ours['processor']:.1f} s; SQLite alone copies the stored rows in {alone:.1f} s",
        }
        for key, bound, unit in bounds
    ]


def _write_events(path: Path, events: int) -> None:
    rng = random.Random(7)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("user_id", "item_id", "type", "timestamp", "value"))
        for _ in range(events):
            user, item, time = rng.randrange(50_000), rng.randrange(20_000), rng.randrange(10**9, 17 * 10**8)
            writer.writerow((user, item, "rating", time, rng.randint(1, 10) / 2))


def write_labels(path: Path, labels: int) -> None:
    rng = random.Random(3)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("rater", "user_id", "system_a", "system_b", "aspect", "value"))
        for n in range(labels):
            pair = rng.sample(("als", "bpr", "pop", "ease"), 2)
            writer.writerow(
                (f"annotator {n % 7}", f"u{n // 7}", *pair, "overall", rng.choice(("A", "B", "Tie")))
            )


def _occasions(size: Size) -> list[Row]:
    """Lists of four occasions for each user: CSV with ranks, the same as Parquet, CSV with scores alone."""
    with tempfile.TemporaryDirectory() as folder:
        ranked, scored = Path(folder) / "lists.csv", Path(folder) / "scores.csv"
        _write_list_rows(ranked, size.list_users, "rank")
        _write_list_rows(scored, size.list_users, "score")
        packed = Path(folder) / "lists.parquet"
        _write_parquet(ranked, packed)
        forms = {"CSV": ranked, "Parquet": packed, "CSV with scores and no ranks": scored}
        reading = in_a_process("imports", "reading_cost", str(ranked), size.list_rows)
        ours = {
            form: in_a_process("imports", "import_cost", str(path), "lists", size.list_rows)
            for form, path in forms.items()
        }
        alone = in_a_process("imports", "storing_cost", str(ranked), "lists")["seconds"]
    bounds = (("seconds", 8.0, "s"), ("peak_mb", 300.0, "MB"))
    return [
        {
            "name": f"import of {size.list_rows:,} list rows with contexts, {form}, {what}",
            "ours": round(ours[form][key], 1),
            "comparison": round(reading[key], 1),
            "ratio": round(ours[form][key] / reading[key], 1),
            "bound": f"< {bound:.0f} {unit}",
            "holds": ours[form][key] < bound,
            "note": "four occasions for each user and system; comparison: csv.DictReader over the CSV, nothing stored;"
            f" processor time {ours[form]['processor']:.1f} s; SQLite alone copies the stored rows in {alone:.1f} s",
        }
        for form in forms
        for key, bound, unit in bounds
        for what in ("seconds" if unit == "s" else "peak memory in MB",)
    ]


def _write_list_rows(path: Path, users: int, column: str) -> None:
    rng = random.Random(5)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("user_id", "system", "context", "served_at", "item_id", column))
        for user in range(users):
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


def reading_cost(path: str, rows: int) -> dict[str, float]:
    """Duration, processor time and peak memory of reading the file in this process."""

    def read() -> None:
        assert _read(Path(path)) == rows

    return measured(read)


def import_cost(path: str, kind: ImportKind, rows: int) -> dict[str, float]:
    """Duration, processor time and peak memory of importing the file in this process."""

    def store() -> None:
        with connect(Path(f"{path}.db")) as db:
            assert import_files(db, "big", [Path(path)], kind).stored == rows

    return measured(store)


def storing_cost(path: str, kind: ImportKind) -> dict[str, float]:
    """Duration, processor time and peak memory of copying what was imported into another file, with its indexes: no program
    that stores these rows in these tables takes less."""

    def copy() -> None:
        db = sqlite3.connect(f"{path}.copy", isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA cache_size = -16384")
        db.execute("ATTACH ? AS made", (f"{path}.db",))
        db.execute("BEGIN")
        for table in TABLES[kind]:
            sql = "SELECT sql FROM made.sqlite_master WHERE tbl_name = ? AND type = ? AND sql IS NOT NULL"
            indexes = [text for (text,) in db.execute(sql, (table, "index"))]
            made = db.execute(sql, (table, "table")).fetchone()[0]
            for text in (made, *(text for text in indexes if "UNIQUE" in text)):
                db.execute(text)
            db.execute(f"INSERT INTO main.{table} SELECT * FROM made.{table}")
            for text in indexes:
                if "UNIQUE" not in text:
                    db.execute(text)
        db.execute("COMMIT")
        db.close()

    return measured(copy)


def main(words: Sequence[str] | None = None) -> None:
    run_command(__doc__, measure, words)


if __name__ == "__main__":
    main()
