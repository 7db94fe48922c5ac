"""The queue of a third person: who said what is not told before the decision, and one can stop and come back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from recjudge_tui.domain.annotation import AnswerOption
from recjudge_tui.people.annotation import start_adjudication
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.annotate import AnnotateScreen, Disputes
from recjudge_tui.tui.annotation_app import annotation_app
from tests.support.annotators import PROJECT, assigned, films, judges, verdicts
from tests.support.app.driving import driven, press, running, settle, shown, type_text


def labelled(label: str, options: tuple[AnswerOption, ...]) -> AnswerOption:
    return next(option for option in options if option.label == label)


@pytest.fixture
def disputed(project_db: Path) -> Path:
    """Three cases on which ANAPLANT always says the opposite of BENPLANT."""
    with connect(project_db) as db:
        films(db, 3)
        assigned(db, annotators="ANAPLANT,BENPLANT")
        for who, label, note in (("ANAPLANT", "A", "for the first"), ("BENPLANT", "B", "for the other")):
            judges(db, who, choose=partial(labelled, label), note=note)
    return project_db


@asynccontextmanager
async def deciding(path: Path, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Pilot[Any]]:
    with connect(path) as db:
        project = project_id(db, PROJECT)
        rater = start_adjudication(db, project, "pairwise", "cy")
    app = annotation_app(path, project, Disputes(project, rater, "pairwise"))
    async with driven(app, size) as pilot:
        yield pilot


async def test_a_decision_and_who_had_said_what_after_it(disputed: Path) -> None:
    async with deciding(disputed) as pilot:
        text = shown(pilot)
        assert "3 left of 3" in text
        assert "annotator 1" in text
        assert "for the first" in text
        assert "for the other" in text
        for key in ("question_mark", "escape", "colon", "escape", "G", "G"):
            await press(pilot, key)
            assert "PLANT" not in shown(pilot)
        await press(pilot, "t", "w")
        await type_text(pilot, "both will do")
        await press(pilot, "enter", "enter")
        assert "2 left of 3" in shown(pilot)
        assert "ANAPLANT: List" in shown(pilot)
        assert "BENPLANT: List" in shown(pilot)
    with connect(disputed) as db:
        assert [row[2:6] for row in verdicts(db, "cy")] == [(0.0, "Tie", "third person", "both will do")]


async def test_from_the_list_of_annotators(disputed: Path) -> None:
    async with running(disputed, PROJECT) as pilot:
        with connect(disputed) as db:
            pilot.app.push_screen(AnnotateScreen(project_id(db, PROJECT)))
        await settle(pilot)
        await press(pilot, "A", "enter")
        assert "3 left of 3" in shown(pilot)
