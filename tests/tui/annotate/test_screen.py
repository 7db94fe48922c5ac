"""Judging by hand: every key and all protocols."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from recjudge_tui.store.people import own_verdict, task_of
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.annotate import AnnotateScreen, AnnotationScreen, OwnCases
from tests.support.annotators import PROJECT, desk, films, tasks, verdicts
from tests.support.app.driving import press, running, settle, shown, type_text
from tests.support.app.judging import ANSWERS, PROTOCOLS, annotating, given, make
from tests.support.runs import load


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_case_of_every_protocol_by_its_keys(project_db: Path, protocol: str) -> None:
    make(project_db, protocol)
    async with annotating(project_db, protocol=protocol) as pilot:
        if protocol == "absolute":
            await press(pilot, "2", "5", "enter")
            assert "not on the scale" in shown(pilot)
            assert given(project_db) == []
            await press(pilot, "backspace", "backspace")
        await press(pilot, *ANSWERS[protocol].split())
        await press(pilot, "enter")
        assert " 1/" in shown(pilot).splitlines()[0]
    with connect(project_db) as db:
        task = task_of(db, tasks(db, "ana", protocol)[0])
        stored = {row[1]: (row[2], row[3], row[4]) for row in verdicts(db, "ana")}
    sign = -1.0 if task.first == "b" else 1.0
    pair = {1.0: "A", 0.0: "Tie", -1.0: "B"}

    def of(value: float) -> tuple[float, str, str]:
        return sign * value + 0.0, pair[sign * value + 0.0], "as given"

    expected: dict[str, dict[str, tuple[float, str, str]]] = {
        "pointwise": {"overall": (2.0, "Good", "as given")},
        "pairwise": {"overall": of(-1)},
        "arena": dict(
            zip(
                ("accuracy", "satisfaction", "inspiration", "content_quality", "transparency", "impact", "overall"),
                (of(1), of(0), of(-1), of(1), of(0), of(-1), of(1)),
                strict=True,
            )
        ),
        "absolute": {"overall": (0.7, "0.7", "as given")},
        "explanation": {
            name: (value, f"{value:g}", "as given")
            for name, value in (
                ("persuasiveness", 1.0), ("transparency", 2.0), ("accuracy", 3.0), ("satisfaction", 4.0),
            )
        },
    }  # fmt: skip
    assert task.state == "done"
    assert task.seconds > 0
    assert stored == expected[protocol]


async def test_a_flag_a_note_and_an_answer_that_is_missing(project_db: Path) -> None:
    make(project_db, "pointwise")
    async with annotating(project_db, protocol="pointwise") as pilot:
        await press(pilot, "enter")
        assert "no answer on overall yet" in shown(pilot)
        await press(pilot, "2", "f", "2", "down", "2", "down")
        await type_text(pilot, "seen twice")
        await press(pilot, "enter", "f", "1", "enter", "1", "enter", "F", "w")
        await type_text(pilot, "hard to say")
        await press(pilot, "enter")
        assert "seen twice" in shown(pilot)
        assert "note hard to say" in shown(pilot)
        await press(pilot, "enter")
    with connect(project_db) as db:
        task = task_of(db, tasks(db, "ana", "pointwise")[0])
        own = own_verdict(db, task)
    assert own.note == "hard to say"
    assert [(flag.reason, bool(flag.item_id), bool(flag.issue)) for flag in own.flags] == [
        ("seen twice", True, True)
    ]
    assert given(project_db)[0][6] == 1


async def test_back_to_ones_last_case_and_another_answer(project_db: Path) -> None:
    make(project_db)
    async with annotating(project_db) as pilot:
        await press(pilot, "t", "enter", "t", "enter", "left")
        assert "Case 2, given" in shown(pilot)
        assert "[0 Tie]" in shown(pilot)
        await press(pilot, "left", "a", "enter")
        assert "Case 3" in shown(pilot)
        await press(pilot, "left", "left", "right")
        assert "Case 2, given" in shown(pilot)
        await press(pilot, "right")
        assert "Case 3" in shown(pilot)
    with connect(project_db) as db:
        first, second = (own_verdict(db, task_of(db, task)).answers[0] for task in tasks(db, "ana")[:2])
    assert (abs(first.value), second.value) == (1.0, 0.0)
    assert len(given(project_db)) == 2


async def test_skip_with_a_reason_and_the_end(project_db: Path) -> None:
    make(project_db)
    async with annotating(project_db) as pilot:
        await press(pilot, "s")
        await type_text(pilot, "no such user")
        await press(pilot, "enter")
        await press(pilot, "1", "enter", "1", "enter")
        assert "All your cases are judged: 2 given, 1 skipped." in shown(pilot)
        await press(pilot, "left", "left", "left")
        assert "Case 1, skipped: no such user" in shown(pilot)
        await press(pilot, "1", "enter")
        assert "3 given" in shown(pilot)
    with connect(project_db) as db:
        assert desk(db, "ana")[3:6] == (0, 3, 0)


async def test_leaving_asks_about_what_is_not_confirmed(project_db: Path) -> None:
    make(project_db)
    async with annotating(project_db) as pilot:
        await press(pilot, "1", "q")
        assert "not confirmed" in shown(pilot)
        await press(pilot, "n")
        assert "[1 List 1]" in shown(pilot)
        await press(pilot, "1", "enter", "q")
        assert pilot.app._exit
    assert len(given(project_db)) == 1


async def test_leaving_the_app_at_once_keeps_what_was_confirmed(project_db: Path) -> None:
    make(project_db)
    async with running(project_db, PROJECT) as pilot:
        with connect(project_db) as db:
            pilot.app.push_screen(
                AnnotationScreen(project_id(db, PROJECT), OwnCases(desk(db, "ana").rater_id, "pairwise"))
            )
        await settle(pilot)
        for key in ("1", "enter", "ctrl+q"):
            await pilot.press(key)
            await asyncio.sleep(0.04)  # as fast as hands are
        await settle(pilot)
    assert len(given(project_db)) == 1


async def test_an_answer_that_cannot_be_stored_stays_on_the_screen(project_db: Path) -> None:
    make(project_db)
    with connect(project_db) as db:
        user = db.value("SELECT user_id FROM v_annotations WHERE annotator = 'ana' ORDER BY position")
        columns = ("rater", "user_id", "system_a", "system_b", "value")
        load(db, "labels", [columns, ("ana", user, "als", "pop", "A")])
    async with annotating(project_db) as pilot:
        await press(pilot, "t", "enter")
        assert "came from elsewhere" in shown(pilot)
        await press(pilot, "escape")
        assert "[0 Tie]" in shown(pilot)
        await press(pilot, "s")
        await type_text(pilot, "labelled before")
        await press(pilot, "enter")
        assert "1/3" in shown(pilot)
    assert [row[3] for row in given(project_db)] == ["A"]


async def test_the_guidelines_on_a_key_and_beside_the_case(project_db: Path) -> None:
    make(project_db)
    async with annotating(project_db) as pilot:
        assert "clearly better" not in shown(pilot)
        await press(pilot, "G")
        assert "You compare two lists" in shown(pilot)
        before = shown(pilot)
        await press(pilot, "J", "J", "pagedown")
        assert shown(pilot) != before
        await press(pilot, "escape")
        assert "List 1" in shown(pilot)
        await press(pilot, "tab")
        assert "Guidelines" in shown(pilot)
        assert "JSON" not in shown(pilot)
    async with annotating(project_db, size=(200, 60)) as pilot:
        assert "You compare two lists" in shown(pilot)
        assert "List 2" in shown(pilot)


# ---- the way in


async def test_assigning_cases_and_judging_them_in_the_app(project_db: Path) -> None:
    with connect(project_db) as db:
        project = films(db, 3)
    async with running(project_db, PROJECT) as pilot:
        pilot.app.push_screen(AnnotateScreen(project))
        await settle(pilot)
        assert "No cases are assigned to annotators yet." in shown(pilot)
        assert "Labels so far" not in shown(pilot)
        await press(pilot, "n", "enter")
        assert "Name at least one annotator" in shown(pilot)
        await type_text(pilot, "ana, ben")
        await press(pilot, "tab", "right", "tab")
        await type_text(pilot, "x")
        await press(pilot, "enter")
        assert "Write a whole number of 1 or more" in shown(pilot)
        await press(pilot, "backspace", "2", "enter")
        assert "0/2" in shown(pilot)
        await press(pilot, "j", "enter")
        assert "ben · pairwise · 0/2" in shown(pilot)
        await press(pilot, "1", "enter", "q")
        assert "1/2" in shown(pilot)
        assert "1 case left; your verdicts are stored" in "".join(n.message for n in pilot.app._notifications)
    assert len(given(project_db, "ben")) == 1
