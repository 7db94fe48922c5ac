"""Databases that look the same on any day, in any place: what the pictures of the screens are taken of."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone, tzinfo
from pathlib import Path

import pytest

from recjudge_tui.domain.filters import parse_filter
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.reports import runs as run_watch
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.groups import saer_request
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.store import database
from recjudge_tui.store.projects import create_project, project_id, save_filter
from recjudge_tui.store.runs import create_group
from recjudge_tui.store.schema import connect
from recjudge_tui.store.triage import record
from recjudge_tui.tui import widgets as look
from tests.support.annotators import assigned, films, judges
from tests.support.app.lists import import_labels, import_lists
from tests.support.app.projects import make_absolute, make_arena, make_explanations, make_project
from tests.support.drawn_project import drawn_project
from tests.support.runs import RULES, plan_run
from tests.support.zhang_folder import joined_rows, write_joined

MADE = datetime(2026, 3, 1, 9, 30, tzinfo=timezone.utc)
SEEN = datetime(2026, 3, 3, 14, 0, tzinfo=timezone.utc)
# one person gives one verdict on a case
DESKS = {
    "pairwise": "ana,ben",
    "pointwise": "ana,ben",
    "explanation": "ana,ben",
    "arena": "cora",
    "absolute": "cora",
}


@contextmanager
def moment(fixed: datetime) -> Iterator[None]:
    """It is always this moment, for what is stored and for what is shown."""

    class Stopped(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Stopped:
            return cls.fromisoformat(fixed.astimezone(tz).isoformat())

    with pytest.MonkeyPatch.context() as patch:
        for module in (database, look, run_watch):
            patch.setattr(module, "datetime", Stopped)
        yield


def golden(folder: Path) -> None:
    """`main.db`, `shop.db`, `figures.db`, `desk.db` and `films.db` in this folder."""
    with moment(MADE):
        _main(folder / "main.db")
        _shop(folder / "shop.db")
        drawn_project(folder / "figures.db").db.close()
        _desk(folder / "desk.db")
        judged_films(folder / "films.db")
    for path in folder.glob("*.db"):
        _still(path)


def copied(source: Path, folder: Path) -> Path:
    """A copy that a test may change, by a path that says nothing of where it lies."""
    shutil.copy(source, folder / source.name)
    return Path(source.name)


def _main(path: Path) -> None:
    movies = make_project(path, cases=12)
    make_arena(path, movies)
    make_explanations(
        path, movies, scores={"user": {"accuracy": 5.0}, "anna": {"accuracy": 3.0}, "rouge": {"overall": 0.2}}
    )
    make_absolute(path, movies)
    _shop(path)
    with connect(path) as db:
        create_project(db, "new-and-empty")
        record(db, 1, "ana", "accept")
        save_filter(db, movies, "flips", parse_filter("why:swap").text())
        save_filter(db, movies, "what the people say", parse_filter("judge:anna flag:any").text())


def _shop(path: Path) -> None:
    """Lists judged by the rules, in pairs and alone; two people on the pairs."""
    shop = import_lists(path, users=6)
    import_labels(path)
    stages = {protocol: _judge(path, shop, protocol) for protocol in ("pairwise", "pointwise")}
    with connect(path) as db:
        request = saer_request(db, shop, RULES, concurrency=1)
        create_group(db, "saer", request.model_dump_json(), stages)


def judged_films(path: Path) -> None:
    """Texts about films with the scores of users and of two people, judged by the rules."""
    with connect(path) as db:
        import_paths(db, "films", (write_joined(path.with_suffix(""), joined_rows()),), None)
        project = project_id(db, "films")
    _judge(path, project, "explanation")


def _judge(path: Path, project: int, protocol: str) -> int:
    """The id of a run that is done: one call after the other, so that their numbers do not depend on who was faster."""
    with connect(path) as db:
        settings = RunSettings.model_validate({"protocol": protocol, "concurrency": 1})
        planned = plan_run(db, RunRequest(project, RULES, settings))
    assert planned.run_id is not None
    with ThreadPoolExecutor(1) as aside:
        aside.submit(work, path, planned.run_id).result()
    return planned.run_id


def _desk(path: Path) -> None:
    """Two people who have begun with the pairs, one also with the lists, and a case on which they differ."""
    with connect(path) as db:
        films(db, 4)
        for protocol, people in DESKS.items():
            assigned(db, protocol, people)
        judges(db, "ana", count=2)
        judges(db, "ben", count=3, choose=lambda options: options[-1], note="the newer films")


def _still(path: Path) -> None:
    """What a clock has measured takes fixed times."""
    with connect(path) as db, db.transaction():
        for row in db.rows("SELECT id FROM calls WHERE finished_at IS NOT NULL ORDER BY id"):
            db.execute(
                "UPDATE calls SET finished_at = ?, latency_s = ? WHERE id = ?",
                (_after(row["id"]), 0.5 + row["id"] % 4 / 4, row["id"]),
            )
        db.execute(
            "UPDATE runs SET seconds = 42, attempt_started_at = ?, heartbeat_at = ? WHERE attempt_started_at IS NOT NULL",
            (_after(0), _after(0)),
        )


def _after(seconds: int) -> str:
    return (MADE + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")
