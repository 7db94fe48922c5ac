"""A small project of films through the importers, and short ways to plan, work on and look at its runs."""

from __future__ import annotations

import csv
import os
import pkgutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import recjudge_tui
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.importers.load import import_files
from recjudge_tui.judges.registry import make_judge, trust_typed
from recjudge_tui.runs import start
from recjudge_tui.runs.plan import Plan, RunRequest
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.runs import run_row
from recjudge_tui.store.schema import connect
from tests.support.copies import fill
from tests.support.fork_server import ForkedProcess
from tests.support.servers.process import ROOT
from tests.support.waiting import HANG_S, wait_until

SECRET = "The Held Out Film"
SYSTEMS = ("als", "pop")
SERIES = "the series"
RULES = JudgeSpec(spec="rules")
LATER = ("httpx", "numpy", "scipy.sparse.csgraph", "scipy.special")
APART = ("recjudge_tui.tui", "recjudge_tui.__main__")


def make_project(
    db: Database, users: int = 4, systems: Sequence[str] = SYSTEMS, *, strangers: int = 0, length: int = 4
) -> int:
    """Users u00, u01, ... with three ratings, a search, a click and a held-out event; a list by every system.

    No two lists are alike. `strangers` x00, x01, ... have lists and a held-out event and nothing else.
    """
    key = ("films", users, tuple(systems), strangers, length)
    fill(db, key, lambda empty: _import_films(empty, users, systems, strangers, length))
    return project_id(db, "films")


def _import_films(db: Database, users: int, systems: Sequence[str], strangers: int, length: int) -> None:
    catalogue = length * (len(systems) + 1) * (users + strangers + 1)
    items = [(f"i{n}", f"Film number {n}", f"genre {n % 5}") for n in range(catalogue)]
    load(db, "items", [("item_id", "title", "category"), *items, ("secret", SECRET, "genre 0")])
    names = [f"u{n:02d}" for n in range(users)]
    odd = [f"x{n:02d}" for n in range(strangers)]
    events: list[tuple[object, ...]] = [("user_id", "item_id", "text", "type", "timestamp", "value")]
    for n, user in enumerate(names):
        for day in (1, 2, 3):
            events.append((user, f"i{n + day}", "", "rating", f"2024-05-0{day}T12:00:00Z", 2 + day % 4))
        events.append((user, "", f"films like {n}", "search", "2024-05-04T12:00:00Z", ""))
        events.append((user, f"i{n + 9}", "", "click", "2024-05-05T12:00:00Z", ""))
    events += [(user, "secret", "", "heldout_rating", "2024-06-01T12:00:00Z", 5) for user in names + odd]
    load(db, "events", events)
    add_lists(db, names + odd, systems, length)


def add_lists(db: Database, users: Sequence[str], systems: Sequence[str], length: int = 4) -> None:
    rows: list[tuple[object, ...]] = [("user_id", "system", "item_id", "rank")]
    for n, user in enumerate(users):
        for system in systems:
            start = (n * 8 + sum(map(ord, system)) % 7) * length
            rows += [(user, system, f"i{(start + rank) % (length * 3 * (len(users) + 1))}", rank + 1)
                     for rank in range(length)]  # fmt: skip
    load(db, "lists", rows)


def load(db: Database, kind: ImportKind, rows: Sequence[Sequence[object]], name: str = "films") -> None:
    """Import a CSV file of these rows, the first of which is the header, into this project."""
    path = db.path.with_name(f"{kind}-{len(list(db.path.parent.glob('*.csv')))}.csv")
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    import_files(db, name, [path], kind)


def server_judge(url: str, model: str = "hash-judge") -> JudgeSpec:
    return JudgeSpec(spec=f"openai:{model}", base_urls=(f"{url}/v1",))


def plan(
    db: Database,
    judge: JudgeSpec = RULES,
    protocol: str = "pointwise",
    *,
    rater: str = "",
    dry_run: bool = False,
    **settings: Any,
) -> Plan:
    """A run of a rater of its own, so that runs can be compared; `rater=SERIES` leaves the name to the plan."""
    chosen = RunSettings.model_validate({"protocol": protocol, "top_k": 4, **settings})
    name = "" if rater == SERIES else rater or _own_rater(db, judge, protocol)
    return plan_run(db, RunRequest(project_id(db, "films"), judge, chosen, rater=name), dry_run=dry_run)


def plan_run(db: Database, request: RunRequest, *, dry_run: bool = False) -> Plan:
    trust_typed(request.judge)  # as the command line does
    return start.plan(db, [request], dry_run=dry_run)[0]


def _own_rater(db: Database, judge: JudgeSpec, protocol: str) -> str:
    """The judge's name, numbered if it has a run on the same kind of case."""
    name, subject = make_judge(judge).name, protocol_facts(protocol).subject
    runs = db.rows("SELECT r.name, ru.protocol FROM runs ru JOIN raters r ON r.id = ru.rater_id")
    taken = {row[0] for row in runs if protocol_facts(row[1]).subject == subject}
    numbered = (name if n == 1 else f"{name}#{n}" for n in count(1))
    return next(candidate for candidate in numbered if candidate not in taken)


def planned(db: Database, judge: JudgeSpec = RULES, protocol: str = "pointwise", **more: Any) -> int:
    """The id of a new run."""
    run_id = plan(db, judge, protocol, **more).run_id
    assert run_id is not None
    return run_id


def verdicts(db: Database, run_id: int) -> list[tuple[Any, ...]]:
    """Everything a reader sees of a run's verdicts, in a fixed order."""
    return [tuple(row) for row in db.rows(
        """SELECT c.kind, c.user_id, c.system_a, c.system_b, v.aspect, v.state, v.value, v.label, v.rule,
             v.order_consistent, v.flag_count, v.note FROM verdicts v JOIN cases c ON c.id = v.case_id
           WHERE v.run_id = ? ORDER BY 1, 2, 3, 4, 5""",
        (run_id,),
    )]  # fmt: skip


def calls(db: Database, run_id: int) -> list[sqlite3.Row]:
    return db.rows("SELECT * FROM calls WHERE run_id = ? ORDER BY id", (run_id,))


def intact(db: Database) -> bool:
    """SQLite finds nothing wrong, and nothing refers to what is not there. By a connection of its own: the check of newer
    versions takes a search index that another connection merged for a damaged one."""
    with connect(db.path) as fresh:
        sound = fresh.value("PRAGMA integrity_check") == "ok"
    return sound and not db.rows("PRAGMA foreign_key_check")


def command(*words: object, **more: Any) -> subprocess.Popen[str]:
    """`recjudge WORDS` as a process of its own, with both outputs piped.

    It is forked from a server that has imported the program, unless the interpreter itself is told something.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RECJUDGE_")}
    given: dict[str, str] = more.pop("env", {})
    options: dict[str, Any] = {
        "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
        "cwd": ROOT, "env": {**environment, **given}, **more,
    }  # fmt: skip
    if any(name.startswith("PYTHON") for name in given):
        return subprocess.Popen([sys.executable, "-m", "recjudge_tui", *map(str, words)], **options)
    return ForkedProcess(program(), "-m", "recjudge_tui", *map(str, words), **options)


@cache
def program() -> tuple[str, ...]:
    """All modules but those of the app, and what they import when it is first needed."""
    ours = [module.name for module in pkgutil.walk_packages(recjudge_tui.__path__, "recjudge_tui.")]
    return (*(name for name in ours if not name.startswith(APART)), *LATER, "tests.support.late_progress")


def ran(*words: object, **more: Any) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of `recjudge WORDS`."""
    process = command(*words, **more)
    out, err = process.communicate(timeout=HANG_S)
    return process.returncode, out, err


def wait_until_wishes_are_read(db: Database, run: int) -> None:
    """A process reads them as often as it notes that it lives: after the second time it has read what stood before."""
    for _ in range(2):
        before = run_row(db, run)["heartbeat_at"]
        wait_until(lambda: run_row(db, run)["heartbeat_at"] != before)  # noqa: B023


def read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)


def write_prices(folder: Path, spec: str = "openai:hash-judge", **dollars: float) -> Path:
    """The user's prices.toml in this new folder, with these dollars per million tokens; returns the folder."""
    folder.mkdir(exist_ok=True)
    rows = "".join(f"{name} = {value}\n" for name, value in dollars.items())
    (folder / "prices.toml").write_text(f'["{spec}"]\n{rows}', encoding="utf-8")
    return folder
