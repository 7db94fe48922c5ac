"""Reports on projects with occasions: a context that is the same throughout changes nothing, several are kept apart."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from recjudge_tui.people.raters import make_metric_raters
from recjudge_tui.project import Project as OpenProject
from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.declare import table_of
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.schema import connect
from tests.support.runs import RULES, load, planned
from tests.support.verdicts import Project, table

SYSTEMS = ("a", "b")
USERS = [f"u{n}" for n in range(5)]
ITEMS = [f"i{n}" for n in range(12)]


def judged(db: Database, seed: int, context: str) -> int:
    """A random project of lists, texts, held-out events and labels, all in one context, judged by the rules."""
    rng = random.Random(seed)
    load(
        db,
        "items",
        [("item_id", "title", "category"), *((i, f"Film {i}", f"g{n % 3}") for n, i in enumerate(ITEMS))],
    )
    events: list[tuple[object, ...]] = [("user_id", "item_id", "type", "timestamp", "value", "context")]
    lists: list[tuple[object, ...]] = [("user_id", "system", "item_id", "rank", "context")]
    texts: list[tuple[object, ...]] = [("user_id", "item_id", "system", "text", "context")]
    labels: list[tuple[object, ...]] = [
        ("rater", "user_id", "item_id", "system", "system_a", "system_b", "aspect", "value", "context")
    ]
    for user in USERS:
        for day in range(1, rng.randint(2, 5)):
            events.append((user, rng.choice(ITEMS), "rating", f"2024-05-{day:02d}", rng.randint(1, 5), ""))
        for item in rng.sample(ITEMS, 3):
            events.append((user, item, "heldout_click", "2024-06-01", rng.choice(["", 1, 4]), context))
        for system in SYSTEMS:
            if rng.random() < 0.9:
                lists += [(user, system, item, at, context) for at, item in enumerate(rng.sample(ITEMS, 4))]
        texts.append((user, "i0", "a", f"Because {user}.", context))
        for rater in ("ana", "ben"):
            labels.append((rater, user, "", "", "a", "b", "overall", rng.choice(["A", "B", "Tie"]), context))
            labels.append((rater, user, "", "a", "", "", "overall", rng.choice(["Good", "Poor"]), context))
            labels.append((rater, user, "i0", "a", "", "", "clarity", rng.randint(1, 5), context))
    load(db, "events", events)
    load(db, "lists", lists)
    load(db, "explanations", texts)
    load(db, "labels", labels)
    for protocol in ("pointwise", "pairwise"):
        assert work(db.path, planned(db, RULES, protocol)).state == "done"
    project = project_id(db, "films")
    make_metric_raters(db, project, ["ndcg", "popularity"], k=3)
    return project


_KEYS = (
    "system", "opponent", "rater", "rater_a", "rater_b", "aspect", "label", "stat", "level", "metric", "wins", "ties",
    "losses", "position_ties", "failed", "count", "q", "share", "score", "value", "ci_low", "ci_high", "n",
)  # fmt: skip


def figures(db: Database, project: int) -> dict[str, list[list[object]]]:
    """Report -> its rows: leaderboards, agreement on lists, pairs and texts, offline metrics."""
    opened = OpenProject.numbered(db, project)
    reports: dict[str, Table] = {"metrics": table_of(opened, "metrics", k=3)}
    for protocol in ("pairwise", "pointwise"):
        reports[f"leaderboard {protocol}"] = table_of(opened, "leaderboard", protocol=protocol)
    for protocol in ("pairwise", "pointwise", "explanation"):
        reports[f"agreement {protocol}"] = table_of(opened, "agreement", protocol=protocol)
    return {name: [_plain(row) for row in table.rows] for name, table in reports.items()}


def _plain(row: Mapping[str, object]) -> list[object]:
    return [round(v, 9) if isinstance(v, float) else v for v in (row[k] for k in _KEYS if k in row)]


def test_one_context_throughout_gives_the_same_reports_as_none() -> None:
    found = []
    for context in ("", "x"):
        with TemporaryDirectory() as folder, connect(Path(folder) / "x.db") as db:
            project = judged(db, 11, context)
            tables = [*figures(db, project).items(), *table(Project(db, project), "biases", k=3).rows]
            found.append((tables, db.value("SELECT count(*) FROM cases"), contents_of_calls(db)))
    assert found[0] == found[1]
    assert found[0][1] > 10


def contents_of_calls(db: Database) -> list[str]:
    return [row[0] for row in db.rows("SELECT content_hash FROM calls ORDER BY id")]
