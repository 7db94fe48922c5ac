"""The built-in judge against what users did next: MovieLens-100k's later ratings; the data is read from RECJUDGE_DATA.

The systems are three trained recommenders, random lists and a content-only recommender made here: the films whose
genres are nearest to those of the films that the user rated at or above their mean.
"""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

from benchmarks.rules_ml100k import PROJECT, RANDOM, load_movies
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.importers.load import import_files
from recjudge_tui.reports.reliability.adversarial import judged_pairs
from recjudge_tui.runs.engine.engine import work
from recjudge_tui.runs.plan.plan import RunRequest, plan_run
from recjudge_tui.runs.plan.settings import settings_for
from recjudge_tui.stats.retrieval.held_out import truth_key
from recjudge_tui.stats.retrieval.offline import hit_rate, ndcg
from recjudge_tui.store.data.catalogue import systems
from recjudge_tui.store.data.heldout import lists_of, load_evaluation_data
from recjudge_tui.store.database import Database
from recjudge_tui.store.opening import connect
from recjudge_tui.store.projects.projects import project_id

CONTENT = "content_only"
TOP, USERS = 10, 200
DRAWS = 2000
Values = dict[tuple[str, str], float]
_PAIRS = """SELECT user_id, system_a, system_b, value FROM v_verdicts
WHERE project = ? AND protocol = 'pairwise' AND aspect = 'overall' AND state = 'ok'"""


class Pair(NamedTuple):
    """A verdict of rules on two lists of one user: 1 if `a` is better, -1 if `b` is, 0 for a tie."""

    user: str
    a: str
    b: str
    verdict: float


def measure() -> list[dict[str, Any]]:
    root = os.environ.get("RECJUDGE_DATA")
    if not root:
        return [_row("rules against held-out ratings", None, None, "RECJUDGE_DATA is not set")]
    data = Path(root) / "ml100k"
    with tempfile.TemporaryDirectory() as folder, connect(Path(folder) / "ml.db") as db:
        load_movies(db, data, Path(folder), [_content_lists(data, Path(folder) / "content.csv")])
        held_out = [data / "ratings_heldout.csv"]
        import_files(db, PROJECT, held_out, "events", layout=None, mapping=None, system=None)
        _run(db, RunSettings(protocol="pairwise"))
        _run(db, settings_for("adversarial", sample=USERS))
        pairs = [Pair(*row) for row in db.execute(_PAIRS, (PROJECT,))]
        metrics = {"nDCG@10": _values(db, ndcg_at), "hit rate@10": _values(db, hits_at)}
        ordered = sorted({pair.user for pair in pairs}, key=int)
        halves = {"tuning half": set(ordered[0::2]), "checking half": set(ordered[1::2])}
        rows: list[dict[str, Any]] = []
        for half, users in halves.items():
            rows += _systems(half, [pair for pair in pairs if pair.user in users], metrics, users)
            rows += _agreement(half, [pair for pair in pairs if pair.user in users], metrics["nDCG@10"])
            rows += _adversarial(half, users, db)
        return rows


def _run(db: Database, settings: RunSettings) -> None:
    plan = plan_run(db, RunRequest(project_id(db, PROJECT), JudgeSpec(spec="rules"), settings))
    assert plan.run_id is not None
    work(db.path, plan.run_id)


def _content_lists(data: Path, out: Path) -> Path:
    """The ten unrated films nearest in genre, by cosine, to the films that the user rated at or above their mean.

    Genres are weighted by log(films / films of the genre). Equal films are ordered by number.
    """
    films = list(csv.DictReader((data / "items.csv").open(encoding="utf-8")))
    names = sorted({genre for film in films for genre in film["category"].split("|")})
    has = np.array([[genre in film["category"].split("|") for genre in names] for film in films], dtype=float)
    weighted = has * np.log(len(films) / has.sum(axis=0))
    vectors = weighted / np.linalg.norm(weighted, axis=1, keepdims=True)
    place = {film["item_id"]: index for index, film in enumerate(films)}
    rated: dict[str, dict[int, float]] = {}
    for event in csv.DictReader((data / "events.csv").open(encoding="utf-8")):
        rated.setdefault(event["user_id"], {})[place[event["item_id"]]] = float(event["value"])
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("user_id", "system", "item_id", "rank"))
        for user, values in rated.items():
            mean = sum(values.values()) / len(values)
            nearness = vectors @ vectors[[film for film, value in values.items() if value >= mean]].sum(
                axis=0
            )
            nearness[list(values)] = -np.inf
            best = np.argsort(-nearness.round(9), kind="stable")[:TOP]
            writer.writerows(
                (user, CONTENT, films[i]["item_id"], rank) for rank, i in enumerate(best, start=1)
            )
    return out


def ndcg_at(ranked: Sequence[str], relevant: frozenset[str]) -> float | None:
    return ndcg(ranked, dict.fromkeys(relevant, 1.0), TOP)


def hits_at(ranked: Sequence[str], relevant: frozenset[str]) -> float | None:
    return hit_rate(ranked, relevant, TOP)


def _values(db: Database, metric: Callable[[Sequence[str], frozenset[str]], float | None]) -> Values:
    """The metric of each user's list by (user, system), where it is defined."""
    project = project_id(db, PROJECT)
    truths = load_evaluation_data(db, project).truths
    return {
        (ranked.user_id, system): value
        for system in systems(db, project)
        for ranked in lists_of(db, project, system)
        if (key := truth_key(truths, ranked.user_id, ranked.context, ranked.served_at)) is not None
        and (value := metric(ranked.items, truths[key].relevant)) is not None
    }


def _systems(
    half: str, pairs: Sequence[Pair], metrics: Mapping[str, Values], users: set[str]
) -> list[dict[str, Any]]:
    """The rank correlation of the systems' win rates with each metric, and both figures of each system."""
    outcomes: dict[str, list[float]] = {}
    for pair in pairs:
        outcomes.setdefault(pair.a, []).append((1 + pair.verdict) / 2)
        outcomes.setdefault(pair.b, []).append((1 - pair.verdict) / 2)
    names = sorted(outcomes)
    rates = [float(np.mean(outcomes[name])) for name in names]
    rows = []
    for metric, values in metrics.items():
        means = [
            float(np.mean([v for (u, s), v in values.items() if s == name and u in users])) for name in names
        ]
        ranked = sorted(zip(rates, names, means, strict=True), reverse=True)
        text = ", ".join(f"{name} {rate:.2f} ({mean:.3f})" for rate, name, mean in ranked)
        rho = float(spearmanr(rates, means).statistic)
        rows.append(
            _row(
                f"{half}: Spearman of win rate and {metric}",
                round(rho, 2),
                None,
                f"win rate ({metric}): {text}",
            )
        )
    return rows


def _agreement(half: str, pairs: Sequence[Pair], values: Values) -> list[dict[str, Any]]:
    """How often rules names the list with the higher nDCG, of the pairs that both decide."""
    kinds: dict[str, Callable[[Pair], bool]] = {
        "all pairs": lambda _: True,
        "pairs without random lists": lambda pair: RANDOM not in (pair.a, pair.b),
        "content-only against a trained recommender": lambda pair: (
            CONTENT in (pair.a, pair.b) and RANDOM not in (pair.a, pair.b)
        ),
    }
    return [
        _sign_row(f"{half}: {kind}", [p for p in pairs if chosen(p)], values)
        for kind, chosen in kinds.items()
    ]


def _sign_row(name: str, pairs: Sequence[Pair], values: Values) -> dict[str, Any]:
    agreed: dict[str, list[bool]] = {}
    ties = 0
    for pair in pairs:
        first, second = values.get((pair.user, pair.a)), values.get((pair.user, pair.b))
        if first is None or second is None or first == second:
            continue
        if pair.verdict == 0:
            ties += 1
        else:
            agreed.setdefault(pair.user, []).append((first > second) == (pair.verdict > 0))
    counts = np.array([(sum(row), len(row)) for row in agreed.values()])
    drawn = np.random.default_rng(0).integers(0, len(counts), (DRAWS, len(counts)))
    sums = counts[drawn].sum(axis=1)
    low, high = np.quantile(sums[:, 0] / sums[:, 1], (0.025, 0.975))
    right, decided = counts.sum(axis=0)
    note = f"{right} of {decided} decided; interval over {len(counts)} users {low:.3f} to {high:.3f}; {ties} ties"
    return _row(f"{name}, share with the sign of the nDCG difference", round(right / decided, 3), 0.5, note)


def _adversarial(half: str, users: set[str], db: Database) -> list[dict[str, Any]]:
    rows = []
    for verdicts in judged_pairs(db, project_id(db, PROJECT)):
        values = verdicts.value[np.isin(np.array(verdicts.user), sorted(users))]
        correct, wrong, ties = (int((values == outcome).sum()) for outcome in (1, -1, 0))
        note = f"{correct} correct, {wrong} wrong, {ties} ties"
        share = round(correct / max(values.size, 1), 3)
        rows.append(_row(f"{half}: own list against another user's, {verdicts.variant}", share, 0.5, note))
    return rows


def _row(name: str, ours: float | None, comparison: float | None, note: str) -> dict[str, Any]:
    ratio = round(ours / comparison, 2) if ours is not None and comparison else None
    return {
        "name": name, "ours": ours, "comparison": comparison, "ratio": ratio, "bound": "", "holds": True, "note": note,
    }  # fmt: skip
