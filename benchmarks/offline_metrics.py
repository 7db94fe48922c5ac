"""nDCG@10 of 100,000 users against ranx, and the whole report of a project."""

from __future__ import annotations

import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.projects import load, write_tables
from recjudge_tui.reports.leaderboard.metrics import metrics_table
from recjudge_tui.stats.retrieval import list_arrays, offline_rows
from recjudge_tui.stats.retrieval.held_out import GroundTruth
from recjudge_tui.stats.retrieval.list_metrics import EvaluationData, RankedList
from recjudge_tui.stats.retrieval.list_values import evaluation_arrays, list_values
from recjudge_tui.store.opening import connect

USERS, ITEMS, TOP, HELD = 100_000, 2000, 10, 8
REPEATS = 7
Codes = npt.NDArray[np.int64]


def measure() -> list[dict[str, Any]]:
    rng = np.random.default_rng(5)
    start = rng.integers(0, ITEMS, (USERS, 1))
    lists = (start + np.arange(TOP) * 7) % ITEMS
    held = (start + np.arange(HELD) * 21) % ITEMS
    gains = rng.integers(1, 6, (USERS, HELD))
    return [_from_arrays(lists, held, gains), _from_names(lists, held, gains), _report()]


def _from_arrays(lists: Codes, held: Codes, gains: Codes) -> dict[str, Any]:
    import numba
    from ranx import evaluate

    # what ranx sorts when it builds its run and qrels, we sort here
    owner = np.repeat(np.arange(USERS), HELD)
    truth = list_arrays.held_out_arrays(owner, held.ravel(), gains.ravel(), np.ones(held.size), USERS)
    everybody, size, scores = np.arange(USERS), np.full(USERS, TOP), np.zeros(lists.size)

    def ours() -> float:
        shown = list_arrays.list_arrays(everybody, size, lists.ravel(), scores)
        at, found = list_arrays.held_at(shown, truth)
        met = list_arrays.top(shown, np.where(found, truth.gains[at], 0.0), TOP, 0.0)
        return float(offline_rows.ndcg(met, list_arrays.ideal_rows(shown, truth, TOP)).mean())

    descending = np.arange(TOP, 0, -1.0)
    runs, qrels = numba.typed.List(), numba.typed.List()
    for items, wanted, gain in zip(lists, held, gains, strict=True):
        runs.append(np.stack([items, descending], axis=1))
        best_first = np.argsort(-gain, kind="stable")
        qrels.append(np.stack([wanted[best_first], gain[best_first]], axis=1).astype(np.float64))
    return _compared(
        "nDCG@10 of 100,000 users, from arrays, seconds",
        ours,
        lambda: float(evaluate(qrels, runs, "ndcg@10")),
    )


def _from_names(lists: Codes, held: Codes, gains: Codes) -> dict[str, Any]:
    from ranx import Qrels, Run, evaluate

    names = np.array([f"i{code}" for code in range(ITEMS)], dtype=object)
    users = [f"u{user}" for user in range(USERS)]
    shown, wanted = names[lists].tolist(), names[held].tolist()
    worth = [dict(zip(items, row, strict=True)) for items, row in zip(wanted, gains.tolist(), strict=True)]
    truths: dict[tuple[str, str | None, str | None], GroundTruth] = {
        (user, "", ""): GroundTruth(frozenset(w), w, valued=True)
        for user, w in zip(users, worth, strict=True)
    }
    ranked = [RankedList(user, items, [None] * TOP) for user, items in zip(users, shown, strict=True)]
    data = evaluation_arrays(EvaluationData(truths, {}, {}))
    descending = [float(score) for score in range(TOP, 0, -1)]
    qrels = Qrels(dict(zip(users, worth, strict=True)))
    run = Run({u: dict(zip(items, descending, strict=True)) for u, items in zip(users, shown, strict=True)})
    return _compared(
        "nDCG@10 of 100,000 users, from lists of names, seconds",
        lambda: float(list_values(ranked, data, TOP, ["ndcg_explicit"])["ndcg_explicit"].mean()),
        lambda: float(evaluate(qrels, run, "ndcg@10")),
    )


def _compared(name: str, ours: Callable[[], float], theirs: Callable[[], float]) -> dict[str, Any]:
    with warnings.catch_warnings():
        # its compiler warns of its own loops, once
        warnings.simplefilter("ignore")
        assert abs(ours() - theirs()) < 1e-9
    pairs = [(_seconds(ours), _seconds(theirs)) for _ in range(REPEATS)]
    mine, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    return {
        "name": name,
        "ours": round(mine, 3),
        "comparison": round(other, 3),
        "ratio": round(mine / other, 2),
        "bound": "ratio < 2",
        "holds": mine / other < 2,
        "note": f"comparison: ranx, after its compile, from its own structures; median of {REPEATS}, by turns",
    }


def _report() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        tables = write_tables(Path(folder), users=20_000, systems=3)
        with connect(Path(folder) / "metrics.db") as db:
            load(db, "big", tables)
            db.execute("UPDATE events SET type = 'heldout_rating' WHERE id % 3 = 0")
            seconds = _seconds(lambda: metrics_table(db, 1, TOP))
    return {
        "name": "offline metrics of 20,000 users by 3 systems by 10 items, seconds",
        "ours": round(seconds, 2),
        "comparison": None,
        "ratio": None,
        "bound": "< 10 s",
        "holds": seconds < 10,
        "note": "14 metrics with intervals of 2,000 resamples, from the database",
    }


def _seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started
