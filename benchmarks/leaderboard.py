"""Ratings from a million battles, intervals of a hundred systems, and a leaderboard of a million verdicts from SQLite.

The comparison is evalica on the same battles in the same run: its public call on the lists it wants, and its
compiled core alone. Medians of a few rounds.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.rows import Row, run_command

SYSTEMS, FEW, MANY = 50, 5, 100
Ints = npt.NDArray[np.int64]


class Size(NamedTuple):
    """Battles of some systems, battles of many systems, and rounds of each measurement."""

    battles: int
    of_many: int
    rounds: int


FULL, QUICK = Size(1_000_000, 10_000, 5), Size(20_000, 5000, 1)


class Rows(NamedTuple):
    """One row per battle: the numbers of both systems, the outcome for a (1, 0, -1), and the user."""

    a: Ints
    b: Ints
    outcome: Ints
    user: Ints


def measure(quick: bool = False) -> list[Row]:
    size = QUICK if quick else FULL
    for module in (
        "scipy.sparse.csgraph",
        "recjudge_tui.stats.ranking",
        "recjudge_tui.reports.leaderboard",
    ):
        import_module(module)
    rows = _fits(made_up(size.battles, SYSTEMS), size.rounds)
    rows += _intervals(made_up(size.of_many, MANY), size.rounds)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.db"
        generate(path, size.battles)
        rows += _from_database(path, size.battles, min(size.rounds, 3))
    return rows


def made_up(n: int, systems: int) -> Rows:
    """Battles drawn from Davidson's model; ten per user."""
    rng = np.random.default_rng(0)
    strength = rng.normal(0, 0.7, systems)
    a = rng.integers(0, systems, n)
    b = (a + rng.integers(1, systems, n)) % systems
    win, lose = np.exp((strength[a] - strength[b]) / 2), np.exp((strength[b] - strength[a]) / 2)
    at = rng.random(n) * (win + lose + 0.5)
    outcome = np.where(at < win, 1, np.where(at < win + 0.5, 0, -1))
    return Rows(a, b, outcome, rng.integers(0, n // 10, n))


def _fits(rows: Rows, rounds: int) -> list[Row]:
    import evalica
    from evalica import _brzo

    from recjudge_tui.stats.ranking import bradley_terry, user_counts

    a, b = rows.a.tolist(), rows.b.tolist()
    index = evalica.indexing(a, b)[2]
    codes = index.get_indexer(rows.a).tolist(), index.get_indexer(rows.b).tolist()
    kinds = {1: evalica.Winner.X, 0: evalica.Winner.Draw, -1: evalica.Winner.Y}
    winners = [kinds[y] for y in rows.outcome.tolist()]
    core = {
        "xs": codes[0], "ys": codes[1], "winners": winners, "weights": [1.0] * len(winners), "total": SYSTEMS,
        "win_weight": 1.0, "tie_weight": 0.5, "tolerance": 1e-6, "limit": 100,
    }  # fmt: skip
    half, theirs, bare = _medians(
        lambda: bradley_terry(
            user_counts(rows.a, rows.b, rows.outcome, np.zeros(rows.a.size), SYSTEMS).total, "half"
        ),
        lambda: evalica.bradley_terry(rows.a, rows.b, winners, index=index),
        lambda: _brzo.bradley_terry(**core),
        rounds=rounds,
    )
    davidson, newman, bare_newman = _medians(
        lambda: bradley_terry(
            user_counts(rows.a, rows.b, rows.outcome, np.zeros(rows.a.size), SYSTEMS).total
        ),
        lambda: evalica.newman(rows.a, rows.b, winners, index=index),
        lambda: _brzo.newman(**core, v_init=0.5),
        rounds=rounds,
    )
    name = f"Bradley-Terry, {len(winners):,} battles of {SYSTEMS} systems"
    return [
        _row(f"{name}, half-wins", half, theirs, "evalica.bradley_terry", bare, rounds),
        _row(f"{name}, Davidson's ties", davidson, newman, "evalica.newman", bare_newman, rounds),
    ]


def _row(name: str, ours: float, theirs: float, called: str, bare: float, rounds: int) -> Row:
    return {
        "name": name,
        "ours": round(ours, 4),
        "comparison": round(theirs, 4),
        "ratio": round(ours / theirs, 2),
        "bound": "<= 1 s, <= 2x",
        "holds": ours <= 1 and ours <= 2 * theirs and ours <= 2 * bare,
        "note": f"s, from arrays; comparison: {called} ({bare:.4f} s for its compiled core alone); median of {rounds}",
    }


def _intervals(rows: Rows, rounds: int) -> list[Row]:
    from recjudge_tui.stats.ranking import bradley_terry, rating_intervals, user_counts

    def all_of_it() -> object:
        counts = user_counts(*rows, MANY)
        return rating_intervals(counts, bradley_terry(counts.total))

    (seconds,) = _medians(all_of_it, rounds=rounds)
    return [{
        "name": f"intervals of the ratings, {rows.a.size:,} battles of {MANY} systems",
        "ours": round(seconds, 4), "comparison": None, "ratio": None, "bound": "<= 1 s", "holds": seconds <= 1,
        "note": f"s, counting and fit included; median of {rounds}",
    }]  # fmt: skip


def _from_database(path: Path, verdicts: int, rounds: int) -> list[Row]:
    from recjudge_tui.domain.selection import Selection
    from recjudge_tui.project import Project
    from recjudge_tui.reports.declare import table_of
    from recjudge_tui.shapes import base
    from recjudge_tui.store.schema import connect

    out = []
    with connect(path) as db:
        opened = Project.numbered(db, 1)
        (reading,) = _medians(lambda: base(opened, Selection("pairwise")), rounds=rounds)
        for method in ("q", "bt"):
            made = partial(
                table_of, Project.numbered(db, 1), "leaderboard", protocol="pairwise", method=method
            )
            (seconds,) = _medians(made, rounds=rounds)
            out.append({
                "name": f"leaderboard of {verdicts:,} verdicts, {FEW} systems, by {method}",
                "ours": round(seconds, 3), "comparison": round(reading, 3), "ratio": round(seconds / reading, 2),
                "bound": "<= 4 s", "holds": seconds <= 4,
                "note": f"s, from SQLite, intervals included; comparison: reading the verdicts alone; median of {rounds}",
            })  # fmt: skip
    return out


def _medians(*functions: Callable[[], object], rounds: int) -> list[float]:
    """The median seconds of each action, measured in alternation after one warm-up round."""
    times: list[list[float]] = [[] for _ in functions]
    for at in range(rounds + 1):
        for function, seconds in zip(functions, times, strict=True):
            started = time.perf_counter()
            function()
            if at:
                seconds.append(time.perf_counter() - started)
    return [statistics.median(seconds) for seconds in times]


def generate(path: Path, verdicts: int) -> None:
    """A project with a rater's verdict on every one of its pairs, a user each, all pairs of five systems."""
    from recjudge_tui.store.database import now
    from recjudge_tui.store.projects import create_project
    from recjudge_tui.store.schema import connect

    pairs = [(f"s{i}", f"s{j}") for i in range(FEW) for j in range(i + 1, FEW)]
    with connect(path) as db, db.transaction():
        project = create_project(db, "big")
        db.execute(
            "INSERT INTO raters (project_id, name, kind, created_at) VALUES (?, 'judge', 'judge', ?)",
            (project, now()),
        )
        db.execute_many(
            "INSERT INTO cases (id, project_id, kind, user_id, system_a, system_b) VALUES (?, ?, 'pair', ?, ?, ?)",
            ((at, project, f"u{at}", *pairs[at % len(pairs)]) for at in range(1, verdicts + 1)),
        )
        db.execute_many(
            """INSERT INTO verdicts (rater_id, case_id, aspect, protocol, state, value, label, rule, order_consistent,
                 flag_count, created_at, project_id)
               VALUES (1, ?, 'overall', 'pairwise', 'ok', ?, '', 'both_orders', 1, 0, 'now', ?)""",
            ((at, at * 7 % 11 % 3 - 1, project) for at in range(1, verdicts + 1)),
        )


def main(words: Sequence[str] | None = None) -> None:
    run_command(__doc__, measure, words)


if __name__ == "__main__":
    main()
