"""People who judge in the app: the app of one of them, and short ways to prepare and to look."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from recjudge_tui.store.projects import project_id
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.annotate import OwnCases
from recjudge_tui.tui.annotation_app import annotation_app
from tests.support.annotators import PROJECT, assigned, desk, films, verdicts
from tests.support.app.driving import driven

PROTOCOLS = ("pointwise", "pairwise", "arena", "absolute", "explanation")
# what answers a whole case of each
ANSWERS = {
    "pointwise": "3",
    "pairwise": "2",
    "arena": "1 0 2 a t b 1",
    "absolute": "full_stop 7",
    "explanation": "1 2 3 4",
}


@asynccontextmanager
async def annotating(
    path: Path, who: str = "ana", protocol: str = "pairwise", size: tuple[int, int] = (80, 24)
) -> AsyncIterator[Pilot[Any]]:
    with connect(path) as db:
        found = desk(db, who, protocol)
        project = project_id(db, PROJECT)
    app = annotation_app(path, project, OwnCases(found.rater_id, protocol, reveal_at_end=True))
    async with driven(app, size) as pilot:
        yield pilot


def make(path: Path, protocol: str = "pairwise", annotators: str = "ana,ben", users: int = 3) -> None:
    with connect(path) as db:
        films(db, users)
        assigned(db, protocol, annotators)


def given(path: Path, who: str = "ana") -> list[tuple[Any, ...]]:
    with connect(path) as db:
        return verdicts(db, who)
