"""Planning a run of 100,000 occasions, and import of a log in the shape of MIND small: 230,000 impressions."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.projects import load, peak_mb, write_csv_files
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.runs.plan.plan import RunRequest, plan_run
from recjudge_tui.store.opening import connect

USERS, VISITS, ITEMS, HISTORY, TOP = 10_000, 10, 2000, 12, 10
# MIND small: 50,000 users of the training log and 50,000 of the other, 65,000 news
IMPRESSIONS, READERS, NEWS = 230_000, 94_000, 65_000
ROOT = Path(__file__).resolve().parent.parent


def measure() -> list[dict[str, Any]]:
    return [*_planning(), *_mind()]


def _planning() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        with connect(Path(folder) / "visits.db") as db:
            load(db, "visits", _visits(Path(folder)))
        found = _in_a_process("plan", Path(folder) / "visits.db")
    return [
        {
            "name": f"planning of {USERS * VISITS:,} occasions, {'seconds' if unit == 's' else 'peak memory in MB'}",
            "ours": round(found[key], 1),
            "comparison": None,
            "ratio": None,
            "bound": bound,
            "holds": holds,
            "note": f"{USERS:,} users, {VISITS} lists each at different times, {HISTORY} events, stored;"
            f" processor time {found['processor']:.1f} s",
        }
        for key, unit, bound, holds in (
            ("seconds", "s", "< 10 s", found["seconds"] < 10),
            ("peak_mb", "MB", "", True),
        )
    ]


def _visits(folder: Path) -> dict[str, Path]:
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
                for user in range(USERS)
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
                for user in range(USERS)
                for visit in range(VISITS)
                for rank, item in enumerate(rng.sample(ids, TOP), start=1)
            ),
        ),
    }
    return write_csv_files(folder, tables)


def _in_a_process(what: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.occasions", what, str(path)]
    ran = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(ran.stdout)
    return found


def _write_mind(folder: Path) -> None:
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
        for n in range(1, IMPRESSIONS + 1):
            user = rng.randrange(READERS)
            start, shown = user * 7 % (NEWS - 100), rng.choice((5, 12, 25, 37, 60, 83))
            candidates = " ".join(f"{name}-{int(at == 2)}" for at, name in enumerate(rng.sample(news, shown)))
            time = f"11/{9 + n % 7}/2019 {1 + n % 12}:{n % 60:02d}:{n % 59:02d} AM"
            log.write(f"{n}\tU{user}\t{time}\t{' '.join(news[start : start + 32])}\t{candidates}\n")
            ranks.write(f"{n} {json.dumps(rng.sample(range(1, shown + 1), shown))}\n")


def _mind() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        _write_mind(Path(folder) / "mind")
        found = _in_a_process("import", Path(folder) / "mind")
    bounds = (("seconds", "seconds", 120.0, "s"), ("peak_mb", "peak memory in MB", 500.0, "MB"))
    return [
        {
            "name": f"import of {IMPRESSIONS:,} impressions in MIND's files, {what}",
            "ours": round(found[key], 1),
            "comparison": None,
            "ratio": None,
            "bound": f"< {bound:.0f} {unit}",
            "holds": found[key] < bound,
            "note": "news, clicks and histories, and every list of one system, 37 candidates on average;"
            f" processor time {found['processor']:.1f} s",
        }
        for key, what, bound, unit in bounds
    ]


def main(what: str, path: Path) -> None:
    """Do one of the two, and print its duration, processor time and peak memory."""
    started = time.perf_counter()
    if what == "plan":
        with connect(path) as db:
            plan = plan_run(db, RunRequest(1, JudgeSpec(spec="rules"), RunSettings(protocol="pointwise")))
        assert plan.estimate.cases == USERS * VISITS, plan.estimate
    else:
        with connect(path / "mind.db") as db:
            import_paths(db, "mind", [path], None, system="nrms")
            assert db.value("SELECT count(*) FROM slates") == IMPRESSIONS
    seconds = time.perf_counter() - started
    figures = {"seconds": seconds, "processor": time.process_time(), "peak_mb": peak_mb()}
    sys.stdout.write(json.dumps(figures))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
