"""Correlations at three levels, with and without intervals, and from a database of a million verdicts.

The explanation scores are those released with Zhang et al. (2024) if RECJUDGE_DATA names their folder, else made-up
ones of the same shape. The comparison is a grouped pandas/SciPy apply on the same rows.
"""

from __future__ import annotations

import csv
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.rows import Row, run_command
from recjudge_tui.stats.arrays import FloatArray, IntArray

ASPECTS = ("persuasiveness", "transparency", "accuracy", "satisfaction")
METHODS = ("pearson", "spearman", "kendall")
KAPPAS = ("kappa", "kappa_linear", "qwk")
CASES, QUICK_CASES = 125_000, 720


class Scores(NamedTuple):
    """`truth` and each rater's scores by aspect, one row per text; `users` and `pairs` (of user and film) are codes."""

    users: IntArray
    pairs: IntArray
    truth: dict[str, FloatArray]
    raters: dict[str, dict[str, FloatArray]]
    source: str


def measure(quick: bool = False) -> list[Row]:
    cases = QUICK_CASES if quick else CASES
    for module in (
        "scipy.stats",
        "recjudge_tui.stats.agreement",
        "recjudge_tui.store.ratings",
    ):
        import_module(module)
    scores = made_up() if quick else released() or made_up()
    rows = [_correlations(scores), _intervals(scores)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.db"
        generate(path, cases)
        rows.append(_from_database(path, cases * len(ASPECTS) * 2))
    return rows


def _correlations(scores: Scores) -> Row:
    from recjudge_tui.stats.agreement import group_mean

    everyone = np.zeros(scores.users.size, dtype=np.int64)

    def ours() -> list[float | None]:
        return [
            group_mean(method, rater[aspect], scores.truth[aspect], groups)
            for groups in (everyone, scores.users, scores.pairs)
            for method in METHODS
            for rater in scores.raters.values()
            for aspect in ASPECTS
        ]

    def theirs() -> list[float | None]:
        return [
            by_apply(method, rater[aspect], scores.truth[aspect], groups)
            for groups in (everyone, scores.users, scores.pairs)
            for method in METHODS
            for rater in scores.raters.values()
            for aspect in ASPECTS
        ]

    took, figures = _timed(ours, times=5)
    other, expected = _timed(theirs) if _pandas() else (None, figures)
    assert np.allclose(np.array(figures, dtype=float), np.array(expected, dtype=float), atol=1e-9)
    name = "3 levels x 3 coefficients x 4 aspects x 3 raters"
    return _row(name, took, other, 0.5, f"s of computation, best of 5; {scores.source}")


def _intervals(scores: Scores) -> Row:
    from recjudge_tui.stats.agreement import agreement_estimates

    labels = np.arange(1, 5.5, 0.5)

    def ours() -> None:
        for rater in scores.raters.values():
            for aspect in ASPECTS:
                for groups in (None, scores.users, scores.pairs):
                    agreement_estimates(
                        rater[aspect], scores.truth[aspect], scores.users, labels, ("pearson", *KAPPAS),
                        groups=groups,
                    )  # fmt: skip

    took, _ = _timed(ours)
    name = "Pearson and 3 kappas with intervals over users"
    return _row(name, took, None, 10, f"s; 3 levels x 4 aspects x 3 raters; {scores.source}")


def _from_database(path: Path, verdicts: int) -> Row:
    """Pearson at 3 levels for each aspect, from the database file; includes opening it and the schema check."""
    from recjudge_tui.domain.selection import Selection
    from recjudge_tui.project import Project
    from recjudge_tui.shapes import base
    from recjudge_tui.stats.agreement import group_mean
    from recjudge_tui.store.ratings import Question
    from recjudge_tui.store.schema import connect

    def ours() -> list[float | None]:
        figures = []
        with connect(path) as db:
            ratings = base(Project.numbered(db, 1), Selection("explanation")).ratings
        users, pairs = ratings.cases.user, ratings.cases.pair
        for aspect in ASPECTS:
            judge = ratings.verdicts[Question("judge", "explanation", aspect)]
            truth = ratings.verdicts[Question("user", "explanation", aspect)]
            values = np.full((2, users.size), np.nan)
            values[0, judge.row], values[1, truth.row] = judge.value, truth.value
            for groups in (np.zeros(users.size, dtype=np.int64), users, pairs):
                figures.append(group_mean("pearson", values[0], values[1], groups))
        return figures

    def theirs() -> list[float | None]:
        return _by_pandas(path)

    took, figures = _timed(ours, times=3)
    other, expected = _timed(theirs) if _pandas() else (None, figures)
    assert np.allclose(np.array(figures, dtype=float), np.array(expected, dtype=float), atol=1e-9)
    return _row(
        f"{verdicts:,} verdicts in SQLite: 3 levels of Pearson", took, other, 2, "s, best of 3, 4 aspects"
    )


def _by_pandas(path: Path) -> list[float | None]:
    import sqlite3
    from contextlib import closing

    pandas: Any = import_module("pandas")
    with closing(sqlite3.connect(path)) as connection:
        frame = pandas.read_sql(
            """SELECT v.rater_id, v.aspect, v.value, c.id, c.user_id, c.item_id
               FROM verdicts v JOIN cases c ON c.id = v.case_id""",
            connection,
        )
    means: list[float | None] = []
    for aspect in ASPECTS:
        wide = frame[frame.aspect == aspect].pivot(
            index=["id", "user_id", "item_id"], columns="rater_id", values="value"
        )
        users = wide.index.get_level_values("user_id")
        for groups in (np.zeros(len(wide)), users, users + " " + wide.index.get_level_values("item_id")):
            means.append(by_apply("pearson", wide[1].to_numpy(), wide[2].to_numpy(), groups))
    return means


def by_apply(method: str, a: FloatArray, b: FloatArray, groups: Any) -> float | None:
    """The mean over groups with one SciPy call per group; groups with a constant side are left out."""
    from scipy import stats

    pandas: Any = import_module("pandas")
    calls: dict[str, Any] = {
        "pearson": stats.pearsonr,
        "spearman": stats.spearmanr,
        "kendall": stats.kendalltau,
    }

    def one(group: Any) -> float:
        x, y = group["a"].to_numpy(), group["b"].to_numpy()
        if x.size < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
            return float("nan")
        return float(calls[method](x, y)[0])

    frame = pandas.DataFrame({"a": a, "b": b, "group": groups}).dropna()
    means = frame.groupby("group")[["a", "b"]].apply(one)
    return float(means.mean())


def _pandas() -> bool:
    return find_spec("pandas") is not None


def _timed(action: Callable[[], Any], times: int = 1) -> tuple[float, Any]:
    """The shortest of `times` measurements in seconds, and the result of the action."""
    took = []
    for _ in range(times):
        start = time.perf_counter()
        result = action()
        took.append(time.perf_counter() - start)
    return min(took), result


def _row(name: str, ours: float, comparison: float | None, bound: float, note: str) -> Row:
    other = "" if comparison is None else f"; {comparison:.1f} s by a grouped pandas/SciPy apply"
    absent = "" if comparison is not None or "intervals" in name else "; pandas is not installed"
    return {
        "name": name,
        "ours": round(ours, 3),
        "comparison": None if comparison is None else round(comparison, 3),
        "ratio": None if comparison is None else round(comparison / ours, 1),
        "bound": bound,
        "holds": ours <= bound,
        "note": note + other + absent,
    }


def released() -> Scores | None:
    """The scores released with the paper; None if they are not available."""
    path = Path(os.environ.get("RECJUDGE_DATA", ".")) / "zhang2024" / "explanations.csv"
    if not path.exists():
        return None
    with path.open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))

    def column(suffix: str) -> dict[str, FloatArray]:
        return {a: np.array([float(row[f"{a}{suffix}"] or "nan") for row in table]) for a in ASPECTS}

    users = np.unique([row["user_id"] for row in table], return_inverse=True)[1]
    pairs = np.unique([f"{row['user_id']} {row['movie_id']}" for row in table], return_inverse=True)[1]
    first, second = column("_1"), column("_2")
    mean = {aspect: (first[aspect] + second[aspect]) / 2 for aspect in ASPECTS}
    raters = {"annotator 1": first, "annotator 2": second, "their mean": mean}
    return Scores(users, pairs, column(""), raters, f"{len(table):,} released texts")


def made_up(texts: int = 2536) -> Scores:
    """39 users, about 310 pairs, 9 texts per pair, weakly correlated scores from 1 to 5."""
    rng = np.random.default_rng(0)
    pairs = np.minimum(np.arange(texts) * 310 // texts, 309)
    users = pairs * 39 // 310
    truth = {aspect: rng.integers(1, 6, texts).astype(np.float64) for aspect in ASPECTS}

    def scores() -> dict[str, FloatArray]:
        return {a: np.clip(np.rint(0.3 * truth[a] + rng.normal(2, 1, texts)), 1, 5) for a in ASPECTS}

    raters = {name: scores() for name in ("annotator 1", "annotator 2", "annotator 3")}
    return Scores(users, pairs, truth, raters, f"{texts:,} made-up texts")


def generate(path: Path, cases: int) -> None:
    """A judge's and the users' scores of `cases` texts, 9 per pair of user and film, 8 pairs per user, 4 aspects."""
    from recjudge_tui.store.database import now
    from recjudge_tui.store.projects import create_project
    from recjudge_tui.store.schema import connect

    rng = np.random.default_rng(0)
    with connect(path) as db, db.transaction():
        project = create_project(db, "million")
        db.execute_many(
            "INSERT INTO raters (project_id, name, kind, created_at) VALUES (?, ?, ?, ?)",
            [(project, "judge", "judge", now()), (project, "user", "ground_truth", now())],
        )
        db.execute_many(
            """INSERT INTO cases (id, project_id, kind, user_id, item_id, system_a)
               VALUES (?, ?, 'explanation', ?, ?, ?)""",
            ((i + 1, project, f"user {i // 72}", f"film {i // 9 % 997}", f"s{i % 9}") for i in range(cases)),
        )
        for rater in (1, 2):
            for aspect in ASPECTS:
                values = rng.integers(1, 6, cases).tolist()
                db.execute_many(
                    """INSERT INTO verdicts (rater_id, case_id, aspect, protocol, state, value, label, rule, created_at,
                         project_id)
                       VALUES (?, ?, ?, 'explanation', 'ok', ?, ?, 'as given', '', ?)""",
                    ((rater, i + 1, aspect, value, str(value), project) for i, value in enumerate(values)),
                )


def main(words: Sequence[str] | None = None) -> None:
    run_command(__doc__, measure, words)


if __name__ == "__main__":
    main()
