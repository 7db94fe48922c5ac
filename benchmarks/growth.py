"""How the processor time of the import and of what is read grows from 10,000 to 1,000,000 verdicts: the exponent k of
time ~ size ** k, by the first and the last size. Each figure is measured in a process of its own; what a command costs
at the smallest size counts, as a person waits for it too."""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.imports import write_labels
from benchmarks.process import in_a_process
from benchmarks.rows import Row, run_command
from benchmarks.verdict_project import generate

FULL, QUICK = (10_000, 100_000, 1_000_000), (1000, 2000)
# what is read of a project -> the words of the command, without the project and the database
READ: dict[str, str] = {
    "leaderboard": "leaderboard --format csv",
    "agreement": "agreement --format csv",
    "flags": "flags --format csv",
    "a page of cases": "cases list --limit 50 --format csv",
    "the runs": "runs list --format csv",
    "every verdict as CSV": "export verdicts --format csv",
}
IMPORT_BOUND, READ_BOUND = 1.05, 0.9


def measure(quick: bool = False) -> list[Row]:
    sizes = QUICK if quick else FULL
    taken: dict[str, list[float]] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            labels, path = Path(folder) / "labels.csv", Path(folder) / "project.db"
            write_labels(labels, size)
            taken.setdefault("import of labels", []).append(in_a_process("growth", "importing", str(labels)))
            generate(path, size)
            for name, words in READ.items():
                taken.setdefault(name, []).append(in_a_process("growth", "reading", str(path), words))
    return [_row(name, sizes, seconds) for name, seconds in taken.items()]


def _row(name: str, sizes: Sequence[int], seconds: Sequence[float]) -> Row:
    exponent = math.log(seconds[-1] / seconds[0]) / math.log(sizes[-1] / sizes[0])
    bound = IMPORT_BOUND if name.startswith("import") else READ_BOUND
    each = ", ".join(f"{size:,} {took:.2f} s" for size, took in zip(sizes, seconds, strict=True))
    return {
        "name": f"growth of {name}, exponent",
        "ours": round(exponent, 2),
        "comparison": None,
        "ratio": None,
        "bound": f"<= {bound}",
        "holds": exponent <= bound,
        "note": f"verdicts, processor time: {each}",
    }


def importing(path: str) -> float:
    """Processor time of importing this file of labels into a new database."""
    from recjudge_tui.importers.load import import_files
    from recjudge_tui.store.schema import connect

    with connect(Path(f"{path}.db")) as db:
        started = time.process_time()
        import_files(db, "big", [Path(path)], "labels")
        return time.process_time() - started


def reading(path: str, words: str) -> float:
    """Processor time of one command on this database."""
    from click.testing import CliRunner

    from recjudge_tui.cli.app import recjudge

    started = time.process_time()
    result = CliRunner().invoke(recjudge, [*words.split(), "--db", path], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return time.process_time() - started


def main(words: Sequence[str] | None = None) -> None:
    run_command(__doc__, measure, words)


if __name__ == "__main__":
    main()
