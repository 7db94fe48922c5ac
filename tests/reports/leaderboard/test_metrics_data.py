"""Offline metrics of three recommenders on MovieLens-100k, recomputed from the files with trec_eval and scikit-learn."""

from __future__ import annotations

import csv
import os
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.importers.load import import_files
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.leaderboard.measured_lists import METRICS
from recjudge_tui.reports.leaderboard.metrics import metrics_table
from tests.support.trec_eval import trec_eval
from tests.support.verdicts import Project, new_project

pytestmark = pytest.mark.data
SYSTEMS = ("cooccurrence", "embedding", "popularity")
Values = dict[str, dict[str, float]]


@pytest.fixture(scope="module")
def folder() -> Path:
    return Path(os.environ["RECJUDGE_DATA"]) / "ml100k"


@pytest.fixture
def project(project_db: Path, folder: Path) -> Project:
    project = new_project(project_db)
    wanted: tuple[tuple[str, ImportKind], ...] = (
        ("items", "items"), ("events", "events"), ("ratings_heldout", "events"),
        *((f"lists_{system}", "lists") for system in SYSTEMS),
    )  # fmt: skip
    for name, kind in wanted:
        import_files(
            project.db, "films", [folder / f"{name}.csv"], kind, layout=None, mapping=None, system=None
        )
    return project


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _truths(folder: Path) -> tuple[Values, Values]:
    """Held-out ratings by user, and those of at least the user's mean."""
    held: Values = defaultdict(dict)
    every: dict[str, list[float]] = defaultdict(list)
    for name in ("events", "ratings_heldout"):
        for row in _rows(folder / f"{name}.csv"):
            every[row["user_id"]].append(float(row["value"]))
            if row["type"].startswith("heldout_"):
                held[row["user_id"]][row["item_id"]] = float(row["value"])
    means = {user: sum(values) / len(values) for user, values in every.items()}
    liked = {u: {i: 1.0 for i, value in items.items() if value >= means[u]} for u, items in held.items()}
    return held, liked


def _lists(folder: Path, system: str) -> tuple[Values, Values]:
    """The lists by rank, as trec_eval takes them, and their scores."""
    ranks: Values = defaultdict(dict)
    scores: Values = defaultdict(dict)
    for row in _rows(folder / f"lists_{system}.csv"):
        ranks[row["user_id"]][row["item_id"]] = -float(row["rank"])
        scores[row["user_id"]][row["item_id"]] = float(row["score"])
    return ranks, scores


def _mean(truth: Values, lists: Values, metric: str) -> float:
    return float(np.mean(list(trec_eval(truth, lists, metric, 10).values())))


def _auc(liked: Values, scores: Values) -> list[float]:
    found = []
    for user, items in scores.items():
        classes = [item in liked.get(user, {}) for item in items]
        if len(set(classes)) == 2:
            found.append(float(roc_auc_score(classes, list(items.values()))))
    return found


def test_equal_to_trec_eval_and_scikit_learn(project: Project, folder: Path) -> None:
    held, liked = _truths(folder)
    table = metrics_table(project.db, project.id, 10)
    rows = {(str(row["system"]), str(row["metric"])): row for row in table.rows}
    for system in SYSTEMS:
        ranks, scores = _lists(folder, system)
        for metric in ("ndcg", "map", "mrr", "recall", "precision", "hit_rate"):
            assert rows[system, metric]["value"] == pytest.approx(_mean(liked, ranks, metric), abs=1e-12)
        for metric, theirs in (("ndcg_explicit", "ndcg"), ("ndcg_exp", "ndcg_exp")):
            assert rows[system, metric]["value"] == pytest.approx(_mean(held, ranks, theirs), abs=1e-12)
        expected = _auc(liked, scores)
        assert rows[system, "auc"]["value"] == pytest.approx(np.mean(expected))
        assert rows[system, "auc"]["n"] == len(expected)


def test_a_valid_name(project: Project) -> None:
    table = metrics_table(project.db, project.id, 10)
    by_name = {name: [row for row in table.rows if row["metric"] == name] for name in METRICS}
    figures = {name: np.array([_numbers(row) for row in rows]) for name, rows in by_name.items()}
    for name, rows in figures.items():
        value, low, high, users = rows.T
        assert [row["system"] for row in by_name[name]] == list(SYSTEMS)
        assert (value > 0).all()
        assert name in ("urd", "novelty", "popularity") or (value <= 1).all()
        assert name == "coverage" or ((low <= value) & (value <= high)).all()
        assert ((users > 0) & (users <= 200)).all()
    assert (figures["urd"][:, 0] < np.log2(19)).all()
    best = {name: SYSTEMS[int(np.argmax(rows[:, 0]))] for name, rows in figures.items()}
    assert best["popularity"] == "popularity"
    assert "popularity" not in (best["novelty"], best["coverage"])


def _numbers(row: Row) -> list[float]:
    cells = (row[name] for name in ("value", "ci_low", "ci_high", "n"))
    return [float(cell) if isinstance(cell, (int, float)) else np.nan for cell in cells]
