"""The built-in judge on MovieLens-100k: three trained recommenders and random lists; the data is read from RECJUDGE_DATA."""

from __future__ import annotations

import csv
import os
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.rows import Row, run_command
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.importers.load import import_files
from recjudge_tui.project import Project
from recjudge_tui.reports.declare import table_of
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.schema import connect
from tests.support.runs import plan_run

PROJECT = "movies"
RANDOM = "random_lists"
QUICK_CASES = 30


def measure(quick: bool = False) -> list[Row]:
    data = os.environ.get("RECJUDGE_DATA")
    if not data:
        return [_row("rules on MovieLens-100k", None, None, "RECJUDGE_DATA is not set")]
    with tempfile.TemporaryDirectory() as folder, connect(Path(folder) / "ml.db") as db:
        load_movies(db, Path(data) / "ml100k", Path(folder))
        for protocol in ("pointwise", "pairwise"):
            settings = RunSettings(
                protocol=protocol,
                limit=QUICK_CASES if quick else None,
                baseline=RANDOM if protocol == "pairwise" else "",
            )
            plan = plan_run(db, RunRequest(project_id(db, PROJECT), JudgeSpec(spec="rules"), settings))
            assert plan.run_id is not None
            work(db.path, plan.run_id)
        return [*_shares(db), *_wins(db)]


def load_movies(db: Database, data: Path, folder: Path, more: Sequence[Path] = ()) -> None:
    """The films, users, ratings and lists, random lists, and `more` files of lists."""
    lists = [data / f"lists_{name}.csv" for name in ("popularity", "cooccurrence", "embedding")]
    files: tuple[tuple[ImportKind, list[Path]], ...] = (
        ("items", [data / "items.csv"]),
        ("users", [data / "users.csv"]),
        ("events", [data / "events.csv"]),
        ("lists", [*lists, _random_lists(data, folder / "random.csv"), *more]),
    )
    for kind, paths in files:
        import_files(db, PROJECT, paths, kind, layout=None, mapping=None, system=None)


def _random_lists(data: Path, out: Path) -> Path:
    """Ten random films for each user, among those the user has not rated."""
    items = [row["item_id"] for row in csv.DictReader((data / "items.csv").open(encoding="utf-8"))]
    rated: dict[str, set[str]] = {}
    for row in csv.DictReader((data / "events.csv").open(encoding="utf-8")):
        rated.setdefault(row["user_id"], set()).add(row["item_id"])
    rng = random.Random(7)
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("user_id", "system", "item_id", "rank"))
        for user, seen in rated.items():
            drawn = rng.sample([item for item in items if item not in seen], 10)
            writer.writerows((user, RANDOM, item, rank) for rank, item in enumerate(drawn, start=1))
    return out


def _shares(db: Database) -> list[Row]:
    table = table_of(Project.named(db, PROJECT), "leaderboard", protocol="pointwise")
    share = {(row["system"], row["label"]): float(str(row["share"])) for row in table.rows}
    systems = sorted({system for system, _ in share if system != RANDOM}, key=str)
    return [
        _row(
            f"share of Good, {system} beside random lists",
            round(share[system, "Good"], 3),
            round(share[RANDOM, "Good"], 3),
            f"Partial {share[system, 'Partial']:.3f}, Poor {share[system, 'Poor']:.3f};"
            f" random Partial {share[RANDOM, 'Partial']:.3f}, Poor {share[RANDOM, 'Poor']:.3f}",
        )
        for system in systems
    ]


def _wins(db: Database) -> list[Row]:
    table = table_of(Project.named(db, PROJECT), "leaderboard", protocol="pairwise")
    return [
        _row(
            f"wins among decided pairs, {row['system']} against random lists",
            round(int(str(row["wins"])) / (int(str(row["wins"])) + int(str(row["losses"]))), 3),
            0.5,
            f"{row['wins']} wins, {row['ties']} ties, {row['losses']} losses",
        )
        for row in table.rows
        if row["opponent"] == RANDOM
    ]


def _row(name: str, ours: float | None, comparison: float | None, note: str) -> Row:
    above = ours is not None and comparison is not None and ours > comparison + 0.2
    return {
        "name": f"rules, MovieLens-100k: {name}" if ours is not None else name,
        "ours": ours,
        "comparison": comparison,
        "ratio": round(ours / comparison, 2) if ours is not None and comparison else None,
        "bound": "clearly above" if ours is not None else "",
        "holds": above or ours is None,
        "note": note,
    }


def main(words: Sequence[str] | None = None) -> None:
    run_command(__doc__, measure, words)


if __name__ == "__main__":
    main()
