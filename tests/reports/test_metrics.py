"""`recjudge metrics`: by hand, against trec_eval and scikit-learn, its tests and its few columns."""

from __future__ import annotations

import csv
import math
import os
import random
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from recjudge_tui.reports.metrics import METRICS
from tests.builder import Built, project
from tests.support.trec_eval import trec_eval

Scores = dict[str, dict[str, float]]
ITEMS = (
    ("item_id", "title", "category"), ("a", "a", "x|y"), ("b", "b", "x"), ("c", "c", "y"), ("d", "d", "z"), ("e", "e", "z"),
)  # fmt: skip
EVENTS = (
    ("user_id", "type", "item_id", "value"),
    ("u1", "rating", "a", 3), ("u1", "heldout_rating", "b", 4), ("u1", "heldout_rating", "c", 2),
    ("u2", "purchase", "a", ""), ("u2", "purchase", "b", ""), ("u2", "heldout_purchase", "e", ""),
)  # fmt: skip
SHOWN = [(user, "x", *row) for user in ("u1", "u2") for row in (("c", 1, 3), ("b", 2, 2), ("d", 3, 1))]
LISTS = [("user_id", "system", "item_id", "rank", "score"), *SHOWN]


@pytest.fixture
def shop(project_db: Path) -> Built:
    """Two users, one system; u1 liked b (4, above the mean of 3) and not c (2); u2 bought e, which is not listed."""
    return project(project_db.with_name("metrics.db"), items=ITEMS, events=EVENTS, lists=LISTS)


def rows(built: Built, words: str = "") -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["system"], row["metric"]): row for row in built.table(f"metrics -p films {words}")["rows"]}


def test_by_hand(shop: Built) -> None:
    explicit = (2 + 4 / math.log2(3)) / (4 + 2 / math.log2(3))
    exponential = (3 + 15 / math.log2(3)) / (15 + 3 / math.log2(3))
    stopped = 3 / 16 + (1 - 3 / 16) * 15 / 16 / 2
    # u1: relevant is b at rank 2, and above d and below c; u2: e is not in the list
    expected = {
        "auc": (0.5, 1), "ndcg": (1 / math.log2(3) / 2, 2), "ndcg_exp": (exponential / 2, 2), "ndcg_explicit": (explicit, 1),
        "precision": (0.25, 2), "recall": (0.5, 2), "map": (0.25, 2), "map_min": (0.25, 2), "mrr": (0.25, 2),
        "hit_rate": (0.5, 2), "err": (stopped / 2, 2), "rprec": (0, 2), "urd": (1, 2), "ild": (1, 2),
        # 3 shown events: a twice, b once; c was never met
        "novelty": (math.log2(3), 2), "popularity": (0.5, 2), "coverage": (2 / 5, 2),
    }  # fmt: skip
    found = rows(shop, "--k 2")
    assert tuple(metric for _, metric in found) == tuple(expected) == METRICS
    for metric, (value, n) in expected.items():
        row = found["x", metric]
        assert (row["value"], row["n"]) == (pytest.approx(value), n), metric
        assert row["k"] == (None if metric in ("auc", "rprec") else 2)
        assert set(row) == {"system", "metric", "k", "value", "ci_low", "ci_high", "n", "users", "note"}
    assert "1 of 2 lists left out: no held-out value above 0" in found["x", "ndcg_explicit"]["note"]
    assert "1 of 2 lists left out: candidates without scores" in found["x", "auc"]["note"]
    assert found["x", "ndcg"]["note"] == ""


# ---- trec_eval -------------------------------------------------------------------------------------------------------

JUDGED = ("precision", "recall", "map", "mrr", "hit_rate", "rprec")


def test_equal_systems_share_a_place_and_each_is_compared_with_the_next(tmp_path: Path) -> None:
    """a and b hit every other user's item, c one of six; under other names the same is said of them."""
    parts = []
    for a, b in ("ab", "ba"):
        users = product(range(12), ((a, 2, 0), (b, 2, 1), ("c", 6, 0)))
        lists = {(f"u{n}", name): ["g" if n % step == at else "z", "w"] for n, (name, step, at) in users}
        events = [{"user_id": f"u{n}", "item_id": "g", "type": "heldout_click"} for n in range(12)]
        table = project(tmp_path / f"{a}.db", lists=lists, events=events).table(
            "metrics --metrics hit_rate --k 2"
        )
        shared, *tested = table["answer"].split("; ")
        assert shared == "a (.500) and b (.500) share the highest hit_rate@2"
        assert "hit_rate: a and b are equal; a and c are not separable (p ." in table["notes"][0]
        parts.append({part.removeprefix(f"{a} ").strip(".") for part in tested if part.startswith(a)})
    assert parts[0] == parts[1]


def test_equal_to_trec_eval_on_graded_and_negative_judgements(project_db: Path) -> None:
    rng = random.Random(3)
    items = [f"d{n:02}" for n in range(16)]
    grades = {
        f"q{n}": {item: rng.choice([-2, -1, 0, 1, 2, 3]) for item in rng.sample(items, 10)} for n in range(12)
    }
    ranked = {user: rng.sample(items, 9) for user in grades}
    built = project(
        project_db.with_name("trec.db"),
        items={item: item for item in items},
        events=[
            ("user_id", "item_id", "type", "value"),
            *(
                (user, item, "heldout_relevance", grade)
                for user, of in grades.items()
                for item, grade in of.items()
            ),
        ],
        lists={(user, "x"): shown for user, shown in ranked.items()},
    )
    lists = {user: {item: -float(at) for at, item in enumerate(shown)} for user, shown in ranked.items()}

    def theirs(metric: str, level: int) -> float:
        found = trec_eval(grades, lists, metric, 5, level)
        # where nothing is relevant trec_eval says 0, and we leave the user out
        lowest = 1 if metric.startswith("ndcg") else level
        return float(np.mean([found[user] for user, of in grades.items() if max(of.values()) >= lowest]))

    for level, words in ((1, ""), (2, "--relevant-from 2"), (3, "--relevant-from 3")):
        ours = rows(built, f"--k 5 {words}")
        for metric in JUDGED:
            assert ours["x", metric]["value"] == pytest.approx(theirs(metric, level), abs=1e-12), (
                metric,
                level,
            )
        assert ours["x", "ndcg_explicit"]["value"] == pytest.approx(theirs("ndcg", 1), abs=1e-12)
        assert ours["x", "ndcg_exp"]["value"] == pytest.approx(theirs("ndcg_exp", 1), abs=1e-12)
    for gain, metric in (("linear", "ndcg"), ("exp", "ndcg_exp")):
        ours = rows(built, f"--k 5 --gain {gain} --metrics ndcg")
        assert ours["x", "ndcg"]["value"] == pytest.approx(theirs(metric, 1), abs=1e-12)
    stops = []
    for user, shown in ranked.items():
        going_on, value = 1.0, 0.0
        for rank, item in enumerate(shown[:5], start=1):
            satisfied = (2 ** max(0, grades[user].get(item, 0)) - 1) / 2**3
            value, going_on = value + going_on * satisfied / rank, going_on * (1 - satisfied)
        stops.append(value)
    assert rows(built, "--k 5 --metrics err")["x", "err"]["value"] == pytest.approx(np.mean(stops))


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.data
def test_movielens_equals_trec_eval_and_scikit_learn(project_db: Path) -> None:
    folder = Path(os.environ["RECJUDGE_DATA"]) / "ml100k"
    systems = ("cooccurrence", "embedding", "popularity")
    files = {"items": "items", "events": "events", "ratings_heldout": "events"}
    built = project(project_db.with_name("ml.db"), items={"another": "another"})
    for name, kind in (files | {f"lists_{system}": "lists" for system in systems}).items():
        built.done(f"import -p films --as {kind}", folder / f"{name}.csv")
    held: Scores = defaultdict(dict)
    every: dict[str, list[float]] = defaultdict(list)
    for row in [row for name in ("events", "ratings_heldout") for row in read(folder / f"{name}.csv")]:
        every[row["user_id"]].append(float(row["value"]))
        if row["type"].startswith("heldout_"):
            held[row["user_id"]][row["item_id"]] = float(row["value"])
    means = {user: sum(values) / len(values) for user, values in every.items()}
    liked = {u: {i: 1.0 for i, value in items.items() if value >= means[u]} for u, items in held.items()}
    found = rows(built)
    for system in systems:
        ranks: Scores = defaultdict(dict)
        scores: Scores = defaultdict(dict)
        for row in read(folder / f"lists_{system}.csv"):
            ranks[row["user_id"]][row["item_id"]] = -float(row["rank"])
            scores[row["user_id"]][row["item_id"]] = float(row["score"])
        for metric, truth, theirs in (
            *((metric, liked, metric) for metric in ("ndcg", *JUDGED)),
            ("ndcg_explicit", held, "ndcg"), ("ndcg_exp", held, "ndcg_exp"),
        ):  # fmt: skip
            expected = float(np.mean(list(trec_eval(truth, ranks, theirs, 10).values())))
            assert found[system, metric]["value"] == pytest.approx(expected, abs=1e-12), metric
        classes = {user: [item in liked.get(user, {}) for item in of] for user, of in scores.items()}
        areas = [
            roc_auc_score(classes[user], list(of.values()))
            for user, of in scores.items()
            if len(set(classes[user])) == 2
        ]
        area = found[system, "auc"]
        assert (area["value"], area["n"]) == (pytest.approx(np.mean(areas)), len(areas))
        for metric in set(METRICS) - {"coverage"}:
            cells = found[system, metric]
            assert cells["ci_low"] <= cells["value"] <= cells["ci_high"]
