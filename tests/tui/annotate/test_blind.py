"""Nothing of what others said, and of whose lists they are, is seen before one's own verdict is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from recjudge_tui.domain.annotation import AspectAnswer, CaseAnswers
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.people import submit_verdict
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.annotate import AnnotationScreen, OwnCases
from tests.support.annotators import PROJECT, assigned, desk, films, judges, tasks
from tests.support.app.driving import press, running, settle, shown
from tests.support.app.judging import ANSWERS, PROTOCOLS, annotating, given
from tests.support.runs import planned

PLANT = "PLANT"
SYSTEMS = ("PLANTSYSA", "PLANTSYSB")


@pytest.fixture
def planted(project_db: Path, request: pytest.FixtureRequest) -> Path:
    """Everything that somebody else said, and who said it, holds the word."""
    protocol: str = getattr(request, "param", "pairwise")
    plant(project_db, protocol)
    return project_db


def plant(path: Path, protocol: str) -> None:
    with connect(path) as db:
        films(db, 3, SYSTEMS)
        run = planned(db, protocol=protocol)
        work(path, run)
        assigned(db, protocol, "ana,PLANTBEN")
        judges_all(db, protocol)
        db.execute("UPDATE answers SET reasoning = 'PLANTREASON because of PLANT'")
        db.execute("UPDATE raters SET name = 'PLANTRULES' WHERE kind = 'rules'")
        db.execute("UPDATE flags SET reason = 'PLANTFLAG', issue = 'PLANTISSUE'")


def judges_all(db: Database, protocol: str) -> None:
    if protocol != "absolute":
        judges(db, "PLANTBEN", protocol, note="PLANTNOTE")
        return
    # a number has no options to choose from
    for task in tasks(db, "PLANTBEN", protocol):
        submit_verdict(db, task, CaseAnswers((AspectAnswer("overall", 0.5, "0.5"),), (), "PLANTNOTE"), 1)


def painted(pilot: Pilot[Any]) -> str:
    """All that is on the screen, and what toasts and titles say."""
    told = [str(note.message) + str(note.title) for note in pilot.app._notifications]
    screens = [str(pilot.app.title), str(pilot.app.sub_title), *told]
    return "\n".join([shown(pilot), *screens])


@pytest.mark.parametrize(("planted", "protocol"), [(name, name) for name in PROTOCOLS], indirect=["planted"])
async def test_nothing_of_others_is_seen_before_ones_own_verdict(planted: Path, protocol: str) -> None:
    project_db = planted
    everything = "question_mark escape G pagedown G w escape left R right".split()
    if protocol == "pointwise":
        everything += "colon escape J K pagedown pageup s escape f enter escape left right tab tab".split()
    async with annotating(project_db, protocol=protocol, size=(120, 40)) as pilot:
        with connect(project_db) as db:
            cases = len(tasks(db, "ana", protocol))
        for number in range(cases):
            seen = [painted(pilot)]
            for key in everything if number == 1 else []:
                await press(pilot, key)
                seen.append(painted(pilot))
            await press(pilot, *ANSWERS[protocol].split(), "enter")
            seen.append(painted(pilot))
            assert not [text for text in seen if PLANT in text]
            assert PLANT not in pilot.app.export_screenshot()
        assert "All your cases are judged" in shown(pilot)
        await press(pilot, "left")
        assert PLANT not in painted(pilot), "not before it is wished for"
        await press(pilot, "R", "n")
        assert PLANT not in painted(pilot)
        await press(pilot, "R", "y")
        text = ""
        for _ in range(6):
            text += shown(pilot)
            await press(pilot, "pagedown")
        for word in ("PLANTBEN", "PLANTRULES", "PLANTNOTE", "PLANTREASON", "PLANTSYSA"):
            assert word in text, word
        before = given(project_db)
        await press(pilot, *ANSWERS[protocol].split()[::-1], "enter", "s")
        assert given(project_db) == before, "what was revealed stands"


async def test_a_single_case_is_revealed_only_if_cases_are_not_sealed(planted: Path) -> None:
    project_db = planted
    async with annotating(project_db) as pilot:
        await press(pilot, "1", "enter", "left", "R")
        assert "Reveal?" not in shown(pilot)
    async with running(project_db, PROJECT) as pilot:
        with connect(project_db) as db:
            found = desk(db, "ana")
            project = project_id(db, PROJECT)
        pilot.app.push_screen(AnnotationScreen(project, OwnCases(found.rater_id, "pairwise")))
        await settle(pilot)
        await press(pilot, "R")
        assert "Reveal?" not in shown(pilot), "the case on the screen is still open"
        await press(pilot, "left", "R", "y")
        assert "PLANTBEN" in shown(pilot)
        await press(pilot, "right")
        assert PLANT not in shown(pilot)
