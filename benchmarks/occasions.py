"""Planning a run of many occasions, and import of a log in the shape of MIND small."""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.process import in_a_process, measured
from benchmarks.projects import load, write_csv_files
from benchmarks.rows import Row, run_command
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.store.schema import connect
from tests.support.runs import plan_run

USERS, QUICK_USERS = 10_000, 50
VISITS, ITEMS, HISTORY, TOP = 10, 2000, 12, 10
# MIND small: 50,000 users of the training log and 50,000 of the other, 65,000 news
IMPRESSIONS, QUICK_IMPRESSIONS = 230_000, 300
READERS, NEWS = 94_000, 65_000


def measure(quick: bool = False) -> list[Row]:
    users, impressions = (QUICK_USERS, QUICK_IMPRESSIONS) if quick else (USERS, IMPRESSIONS)
    return [*_planning(users), *_mind(impressions)]


def _planning(users: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        with connect(Path(folder) / "visits.db") as db:
            load(db, "visits", _visits(Path(folder), users))
        cost = in_a_process("occasions", "planning_cost", str(Path(folder) / "visits.db"), users * VISITS)
    return [
        {
            "name": f"planning of {users * VISITS:,} occasions, {'seconds' if unit == 's' else 'peak memory in MB'}",
            "ours": round(cost[key], 1),
            "comparison": None,
            "ratio": None,
            "bound": bound,
            "holds": holds,
            "note": f"{users:,} users, {VISITS} lists each at different times, {HISTORY} events, stored;"
            f" processor time {cost['processor']:.1f} s",
        }
        for key, unit, bound, holds in (
            ("seconds", "s", "< 10 s", cost["seconds"] < 10),
            ("peak_mb", "MB", "", True),
        )
    ]


def _visits(folder: Path, users: int) -> dict[str, Path]:
    rng = random.Random(3)
    ids = [f"i{n}" for n in range(ITEMS)]
    tables: dict[str, tuple[tuple[str, ...], Any]] = {
        "items": (("item_id", "title", "category"), ((i, f"The Film of {i}", "Drama|Comedy") for i in ids)),
        "events": (
            ("user_id", "item_id", "type", "timestamp", "value"),
            (
                (
                    f"u{user}",
                    item,
                    "rating",
                    f"2024-{1 + n % 6:02d}-{1 + n % 28:02d}T12:00:00Z",
                    rng.randint(1, 5),
                )
                for user in range(users)
                for n, item in enumerate(rng.sample(ids, HISTORY))
            ),
        ),
        "lists": (
            ("user_id", "system", "item_id", "rank", "context", "served_at"),
            (
                (
                    f"u{user}",
                    "als",
                    item,
                    rank,
                    f"visit {visit}",
                    f"2024-{3 + visit // 2:02d}-{1 + user % 28:02d}",
                )
                for user in range(users)
                for visit in range(VISITS)
                for rank, item in enumerate(rng.sample(ids, TOP), start=1)
            ),
        ),
    }
    return write_csv_files(folder, tables)


def _write_mind(folder: Path, impressions: int) -> None:
    """The news, impressions and predictions of a system, as MIND small's two parts together have them."""
    rng = random.Random(5)
    folder.mkdir()
    news = [f"N{n}" for n in range(NEWS)]
    with (folder / "news.tsv").open("w", encoding="utf-8") as file:
        file.writelines(f"{name}\tnews\tworld\tThe Story of {name}\t\t\t[]\t[]\n" for name in news)
    with (
        (folder / "behaviors.tsv").open("w", encoding="utf-8") as log,
        (folder / "prediction.txt").open("w", encoding="utf-8") as ranks,
    ):
        for n in range(1, impressions + 1):
            user = rng.randrange(READERS)
            start, shown = user * 7 % (NEWS - 100), rng.choice((5, 12, 25, 37, 60, 83))
            candidates = " ".join(f"{name}-{int(at == 2)}" for at, name in enumerate(rng.sample(news, shown)))
            time = f"11/{9 + n % 7}/2019 {1 + n % 12}:{n % 60:02d}:{n % 59:02d} AM"
            log.write(f"{n}\tU{user}\t{time}\t{' '.join(news[start : start + 32])}\t{candidates}\n")
            ranks.write(f"{n} {json.dumps(rng.sample(range(1, shown + 1), shown))}\n")


def _mind(impressions: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        _write_mind(Path(folder) / "mind", impressions)
        cost = in_a_process("occasions", "import_cost", str(Path(folder) / "mind"), impressions)
    bounds = (("seconds", "seconds", 120.0, "s"), ("peak_mb", "peak memory in MB", 500.0, "MB"))
    return [
        {
            "name": f"import of {impressions:,} impressions in MIND's files, {what}",
            "ours": round(cost[key], 1),
            "comparison": None,
            "ratio": None,
            "bound": f"< {bound:.0f} {unit}",
            "holds": cost[key] < bound,
            "note": "news, clicks and histories, and every list of one system, 37 candidates on average;"
            f" processor time {cost['processor']:.1f} s",
        }
        for key, what, bound, unit in bounds
    ]


def planning_cost(path: str, cases: int) -> dict[str, float]:
    """Duration, processor time and peak memory of planning in this process."""

    def plan() -> None:
        with connect(Path(path)) as db:
            planned = plan_run(db, RunRequest(1, JudgeSpec(spec="rules"), RunSettings(protocol="pointwise")))
        assert planned.estimate.cases == cases, planned.estimate

    return measured(plan)


def import_cost(folder: str, impressions: int) -> dict[str, float]:
    """Duration, processor time and peak memory of importing the log in this process."""

    def store() -> None:
        with connect(Path(folder) / "mind.db") as db:
            import_paths(db, "mind", [Path(folder)], None, system="nrms")
            assert db.value("SELECT count(*) FROM slates") == impressions

    return measured(store)


def main(words: Sequence[str] | None = None) -> None:
    run_command(__doc__, measure, words)


if __name__ == "__main__":
    main()
