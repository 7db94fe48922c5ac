"""nDCG@10 of many users against ranx, and the whole report of a project."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.projects import load, write_tables
from benchmarks.rows import Row, run_command
from recjudge_tui.project import Project
from recjudge_tui.reports.declare import table_of
from recjudge_tui.stats.retrieval import EvaluationData, GroundTruth, RankedList, list_values
from recjudge_tui.store.schema import connect

ITEMS, TOP, HELD = 2000, 10, 8
Codes = npt.NDArray[np.int64]


class Size(NamedTuple):
    """Users of the metric alone, how often it is timed, and users of the report."""

    users: int
    repeats: int
    report_users: int


FULL, QUICK = Size(100_000, 7, 20_000), Size(500, 1, 100)


def measure(quick: bool = False) -> list[Row]:
    size = QUICK if quick else FULL
    rng = np.random.default_rng(5)
    start = rng.integers(0, ITEMS, (size.users, 1))
    lists = (start + np.arange(TOP) * 7) % ITEMS
    held = (start + np.arange(HELD) * 21) % ITEMS
    gains = rng.integers(1, 6, (size.users, HELD))
    return [
        _from_names(lists, held, gains, size.repeats),
        _report(size.report_users),
    ]


def _from_names(lists: Codes, held: Codes, gains: Codes, repeats: int) -> Row:
    from ranx import Qrels, Run, evaluate

    names = np.array([f"i{code}" for code in range(ITEMS)], dtype=object)
    users = [f"u{user}" for user in range(len(lists))]
    shown, wanted = names[lists].tolist(), names[held].tolist()
    worth = [dict(zip(items, row, strict=True)) for items, row in zip(wanted, gains.tolist(), strict=True)]
    truths: dict[tuple[str, str | None, str | None], GroundTruth] = {
        (user, "", ""): GroundTruth(frozenset(w), w, valued=True)
        for user, w in zip(users, worth, strict=True)
    }
    ranked = [RankedList(user, items, [None] * TOP) for user, items in zip(users, shown, strict=True)]
    data = EvaluationData(truths, {}, {})
    descending = [float(score) for score in range(TOP, 0, -1)]
    qrels = Qrels(dict(zip(users, worth, strict=True)))
    run = Run({u: dict(zip(items, descending, strict=True)) for u, items in zip(users, shown, strict=True)})
    return _compared(
        f"nDCG@10 of {len(users):,} users, from lists of names, seconds",
        repeats,
        lambda: float(list_values(ranked, data, TOP, ["ndcg_explicit"])["ndcg_explicit"].mean()),
        lambda: float(evaluate(qrels, run, "ndcg@10")),
    )


def _compared(name: str, repeats: int, ours: Callable[[], float], theirs: Callable[[], float]) -> Row:
    with warnings.catch_warnings():
        # its compiler prints a warning about its own loops once
        warnings.simplefilter("ignore")
        assert abs(ours() - theirs()) < 1e-9
    pairs = [(_seconds(ours), _seconds(theirs)) for _ in range(repeats)]
    mine, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    return {
        "name": name,
        "ours": round(mine, 3),
        "comparison": round(other, 3),
        "ratio": round(mine / other, 2),
        "bound": "ratio < 2",
        "holds": mine / other < 2,
        "note": f"comparison: ranx, after its compile, from its own structures; median of {repeats}, by turns",
    }


def _report(users: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        tables = write_tables(Path(folder), users=users, systems=3)
        with connect(Path(folder) / "metrics.db") as db:
            load(db, "big", tables)
            db.execute("UPDATE events SET type = 'heldout_rating' WHERE id % 3 = 0")
            seconds = _seconds(lambda: table_of(Project.numbered(db, 1), "metrics", k=TOP))
    return {
        "name": f"offline metrics of {users:,} users by 3 systems by 10 items, seconds",
        "ours": round(seconds, 2),
        "comparison": None,
        "ratio": None,
        "bound": "< 5 s",
        "holds": seconds < 5,
        "note": "17 metrics with intervals and tests over users, from the database",
    }


def _seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def main(words: Sequence[str] | None = None) -> None:
    run_command(__doc__, measure, words)


if __name__ == "__main__":
    main()
