"""Ctrl-C during imports of every form of file, at random moments: how long until the command has ended.

    python benchmarks/interrupts.py [ROWS] [TRIES] [--quick]

imports tables of ROWS rows (400,000), with TRIES interrupts for each form (10).
"""

from __future__ import annotations

import gzip
import random
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.rows import Row, command_parser
from recjudge_tui.store.schema import connect
from tests.support.runs import command

FORMS = ("csv", "gz", "zip", "jsonl", "json", "parquet", "pipe", "open pipe")
BOUND_S = 1.0
# rows of the table, interrupts for each form
SHORT, QUICK = (100_000, 4), (5000, 1)
# the exit code of recjudge, and that of an interpreter that has not started our code
ENDS = (130, -signal.SIGINT)


class Interrupt(NamedTuple):
    """Seconds from the start to SIGINT and from there to the end, the exit code, and whether anything was stored."""

    after_s: float
    took_s: float
    code: int
    stored: bool


def measure(quick: bool = False) -> list[Row]:
    rows, tries = QUICK if quick else SHORT
    return [_row(form, results) for form, results in tried(rows, tries, seed=1).items()]


def _row(form: str, results: list[Interrupt]) -> Row:
    slowest = max(result.took_s for result in results)
    sound = all(result.code in ENDS and not result.stored for result in results)
    return {
        "name": f"Ctrl-C during an import ({form}), seconds to the end",
        "ours": slowest,
        "comparison": None,
        "ratio": None,
        "bound": f"<= {BOUND_S:g} s",
        "holds": slowest <= BOUND_S and sound,
        "note": f"the slowest of {len(results)}; exit code 130 and nothing stored: {'yes' if sound else 'NO'}",
    }


def tried(rows: int, tries: int, seed: int, forms: tuple[str, ...] = FORMS) -> dict[str, list[Interrupt]]:
    """Interrupts at moments spread over the time of the whole import, without those that came after its end."""
    rng = random.Random(seed)
    results: dict[str, list[Interrupt]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = folder / "events.csv"
        plain.write_text(
            "user_id,item_id,type,timestamp\n"
            + "".join(f"u{n % 5000},i{n % 997},click,{1_700_000_000 + n}\n" for n in range(rows)),
            encoding="utf-8",
        )
        for form in forms:
            path = written(plain, form)
            whole_s = _import(folder, path, form, None).took_s if form != "open pipe" else 3.0
            moments = [rng.uniform(0.3, max(whole_s, 0.6)) for _ in range(tries)]
            ended = [_import(folder, path, form, moment) for moment in moments]
            results[form] = [result for result in ended if result.code] or ended[:1]
    return results


def written(plain: Path, form: str) -> Path:
    """The table in another form."""
    target = plain.with_name(f"events.{form}")
    if form == "gz":
        with gzip.open(target := plain.with_name("events.csv.gz"), "wb", 1) as packed:
            packed.write(plain.read_bytes())
    elif form == "zip":
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.write(plain, "events.csv")
    elif form in ("jsonl", "json"):
        names, *rows = (line.split(",") for line in plain.read_text(encoding="utf-8").splitlines())
        objects = ("{%s}" % ",".join(f'"{n}":"{v}"' for n, v in zip(names, row, strict=True)) for row in rows)  # noqa: UP031
        text = "\n".join(objects) if form == "jsonl" else f"[{','.join(objects)}]"
        target.write_text(text, encoding="utf-8")
    elif form == "parquet":
        import pyarrow.csv
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.csv.read_csv(plain), target)
    else:
        return plain
    return target


def _import(folder: Path, path: Path, form: str, after_s: float | None) -> Interrupt:
    """Import the file into a new database, and interrupt after so many seconds (None: not at all)."""
    database = folder / "interrupted.db"
    for old in folder.glob("interrupted.db*"):
        old.unlink()
    piped = "pipe" in form
    words = ("import", "-" if piped else path, "-p", "films", "--as", "events", "--db", database)
    process = command(
        *words, stdin=subprocess.PIPE if form == "open pipe" else path.open() if piped else subprocess.DEVNULL
    )
    begun = time.perf_counter()
    if form == "open pipe":
        assert process.stdin is not None
        process.stdin.write("user_id,item_id,type\nu,i,click\n")
        process.stdin.flush()
    if after_s is None:
        process.communicate()
        return Interrupt(0.0, time.perf_counter() - begun, process.returncode, False)
    time.sleep(after_s)
    begun = time.perf_counter()
    process.send_signal(signal.SIGINT)
    process.wait(60)
    took = time.perf_counter() - begun
    process.communicate()
    stored = False
    if database.exists():
        with connect(database) as db:
            stored = bool(db.value("SELECT count(*) FROM events"))
    return Interrupt(after_s, took, process.returncode, stored)


def main(words: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__)
    parser.add_argument("rows", nargs="?", type=int, default=400_000)
    parser.add_argument("tries", nargs="?", type=int, default=10)
    options = parser.parse_args(words)
    rows, tries = QUICK if options.quick else (options.rows, options.tries)
    for form, results in tried(rows, tries, seed=1).items():
        slowest = max(results, key=lambda result: result.took_s)
        wrong = sum(result.code not in ENDS or result.stored for result in results)
        print(f"{form:>10}: {len(results)} interrupts, {wrong} wrong ends, at most {slowest.took_s:.2f} s"
              f" (after {slowest.after_s:.1f} s)", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
