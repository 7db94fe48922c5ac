"""Triage by its keys: decisions, overrides, notes, tags, undo, the queue, and what is kept of them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from recjudge_tui.errors import RecjudgeError
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.triage import page
from recjudge_tui.tui.verdict_list import VerdictList
from tests.support.app.driving import SIZES, filter_by, press, running, settle, shown, type_text, until
from tests.support.app.projects import make_absolute, make_explanations, make_project


def log(path: Path) -> list[tuple[Any, ...]]:
    with connect(path) as db:
        rows = db.rows("SELECT verdict_id, reader, action, label, text FROM triage_log ORDER BY id")
    return [tuple(row) for row in rows]


def cursor(pilot: Pilot[Any]) -> int | None:
    return pilot.app.screen.query_one(VerdictList).cursor_id


async def test_keys_decide_and_go_on_to_the_next(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        await press(pilot, "c", "x")
        assert cursor(pilot) == 3
        assert log(project_db) == [(1, "reader", "accept", "", ""), (2, "reader", "dismiss", "", "")]
        screen = shown(pilot)
        assert "accep" in screen
        assert "dismi" in screen
        assert "2/18 triaged" in screen
        await press(pilot, "u")
        assert "Undone: dismissing case 0000001" in " ".join(shown(pilot).split())
        assert cursor(pilot) == 2
        assert "1/18 triaged" in shown(pilot)
        await press(pilot, "u", "u")
        assert "“reader” has nothing left" in shown(pilot)
        assert "triaged" not in shown(pilot).splitlines()[-2]


async def test_keys_pressed_faster_than_they_are_written_all_count(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        await press(pilot, *["x"] * 9, *["u"] * 4)
        assert [row[2] for row in log(project_db)] == ["dismiss"] * 9 + ["undo"] * 4
        assert "5/18 triaged" in shown(pilot)


async def test_an_override_makes_the_reader_a_rater(
    project_db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECJUDGE_READER", "ana")
    make_project(project_db)
    async with running(project_db, "movies", (120, 40)) as pilot:
        await press(pilot, "v")
        assert "0 t  Tie" in shown(pilot)
        assert "“ana”" in shown(pilot)
        await press(pilot, "escape")
        assert log(project_db) == []
        await press(pilot, "v", "2")
        assert log(project_db) == [(1, "ana", "override", "B", "")]
        await press(pilot, "v", "a", "u")
        assert len(pilot.app._notifications) == 1
        assert cursor(pilot) == 2
        await press(pilot, "k")
        screen = shown(pilot)
        assert "to B" in screen
        assert "overridden to B" in screen
        assert "ana" in screen.split("Raters")[-1]
        await filter_by(pilot, "judge:ana")
        assert "1 of 19" in shown(pilot)
        await press(pilot, "u")
        assert "0 of 18" in shown(pilot)
        await press(pilot, "backspace")
        assert "18 of 18" in shown(pilot)


async def test_all_that_is_listed_is_decided_tagged_and_undone_at_once(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies", (120, 40)) as pilot:
        await press(pilot, "x", "C")
        asked = " ".join(shown(pilot).replace("│", " ").split())
        assert "17 of the 18 verdicts listed are accepted. 1 earlier decision stays." in asked
        await press(pilot, "n")
        assert len(log(project_db)) == 1
        await press(pilot, "C", "y")
        assert "17 verdicts accepted." in " ".join(shown(pilot).split())
        await press(pilot, "C")
        assert "Every verdict listed has a decision." in " ".join(shown(pilot).split())
        assert "18/18 triaged" in shown(pilot)
        await press(pilot, "u")
        assert "Undone: accepting 17 verdicts." in " ".join(shown(pilot).split())
        assert "1/18 triaged" in shown(pilot)
        await filter_by(pilot, "judge:qwen")
        await press(pilot, "T")
        await type_text(pilot, "seen")
        await press(pilot, "enter")
        await filter_by(pilot, "tag:seen")
        assert "6 of 18" in shown(pilot)


async def test_scales_are_overridden_by_their_steps_or_by_a_number(project_db: Path) -> None:
    project = make_project(project_db)
    make_explanations(project_db, project)
    make_absolute(project_db, project)
    async with running(project_db, "movies") as pilot:
        await filter_by(pilot, "protocol:explanation")
        await press(pilot, "v")
        assert "│   5  " in shown(pilot)
        await press(pilot, "5")
        await filter_by(pilot, " protocol:absolute")
        await press(pilot, "backspace", "backspace")
        await filter_by(pilot, "protocol:absolute")
        await press(pilot, "v")
        await type_text(pilot, "1.5")
        await press(pilot, "enter")
        assert "Write a number: at least 0" in shown(pilot)
        await press(pilot, *["backspace"] * 3)
        await type_text(pilot, "0.25")
        await press(pilot, "enter")
    assert [row[3] for row in log(project_db)] == ["5", "0.25"]


async def test_notes_and_tags_are_shown_and_found(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies", (120, 40)) as pilot:
        await press(pilot, "w")
        await type_text(pilot, "a zebra of [/path] cases")
        await press(pilot, "enter", "t")
        await type_text(pilot, "odd")
        await press(pilot, "enter")
        screen = shown(pilot)
        assert "note: a zebra of [/path] cases" in screen
        assert "#odd" in screen
        await press(pilot, "w", "enter", "t", "escape")
        await filter_by(pilot, "tag:odd zebra")
        assert "1 of 18" in shown(pilot)
    assert [row[2:] for row in log(project_db)] == [
        ("note", "", "a zebra of [/path] cases"),
        ("tag", "", "odd"),
    ]


async def test_the_exported_list_has_what_was_decided_and_written(
    project_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        await filter_by(pilot, "judge:qwen2.5:14b")
        await press(pilot, "w")
        await type_text(pilot, "read twice")
        await press(pilot, "enter", "t")
        await type_text(pilot, "odd")
        await press(pilot, "enter", "v", "2", "c", "e", "enter")
        await until(pilot, lambda: Path("verdicts.csv").exists())
    first, second, third, *_ = csv.DictReader(Path("verdicts.csv").read_text(encoding="utf-8").splitlines())
    assert [*first][-5:] == ["flags", "decision", "override", "note", "tags"]
    assert [*first.values()][-5:] == ["", "overridden", "B", "read twice", "odd"]
    assert [*second.values()][-4:] == ["accepted", "", "", ""]
    assert '"issue":"minimum_variation"' in third["flags"]


async def test_a_note_keeps_all_lines_that_are_pasted(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        await press(pilot, "w")
        pilot.app.post_message(events.Paste("one\ntwo\nthree"))
        await settle(pilot)
        await press(pilot, "enter")
    assert [row[4] for row in log(project_db)] == ["one\ntwo\nthree"]


@pytest.mark.parametrize("size", SIZES)
async def test_the_queue_says_why_and_next_goes_past_what_is_decided(
    project_db: Path, size: tuple[int, int]
) -> None:
    make_project(project_db)
    async with running(project_db, "movies", size) as pilot:
        await press(pilot, "Q")
        screen = shown(pilot)
        assert "sort: attention" in screen
        assert "WHY YOU SEE THIS" in screen
        first = cursor(pilot)
        await press(pilot, "x")
        assert cursor(pilot) != first
        await press(pilot, "Q", "Q")
        assert first not in pilot.app.screen.query_one(VerdictList).ids
        assert "1/5 triaged" in shown(pilot)
        await press(pilot, "G")
        assert "a call failed" in shown(pilot)


async def test_plus_straight_after_an_override_is_about_the_one_overridden(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        await filter_by(pilot, "judge:qwen2.5:14b")
        await press(pilot, "v", "0", "plus")
        assert "Keep your verdict on case 0000001" in shown(pilot)
        await press(pilot, "1", "x", "plus")
        assert "Keep your verdict on case 0000003" in shown(pilot)
        await press(pilot, "escape")
    with connect(project_db) as db:
        kept = db.rows(
            "SELECT v.case_id, v.label FROM verdicts v JOIN raters r ON r.id = v.rater_id WHERE r.name = 'labelled'"
        )
    assert [tuple(row) for row in kept] == [(1, "Tie")]


async def test_a_name_that_is_taken_shows_the_error_and_later_keys_go_on(
    project_db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_project(project_db)
    monkeypatch.setenv("RECJUDGE_READER", "anna")
    async with running(project_db, "movies") as pilot:
        await press(pilot, "v", "2")
        assert "rater “anna” is of kind annotator" in " ".join(shown(pilot).split())
        await press(pilot, "escape", "x")
    assert [row[2] for row in log(project_db)] == ["dismiss"]


async def test_a_deleted_verdict_is_reported(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        with connect(project_db) as db:
            db.execute("DELETE FROM runs WHERE id = 1")
        await press(pilot, "v")
        assert "this verdict no longer exists" in shown(pilot)
        await press(pilot, "escape", "x")
        assert "this verdict no longer exists" in shown(pilot)


async def test_a_pager_that_is_not_there_is_named(project_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_project(project_db)
    monkeypatch.setenv("PAGER", "no-such-pager --fast")
    async with running(project_db, "movies") as pilot:
        await press(pilot, "o")
        assert "the pager “no-such-pager” is not installed" in shown(pilot)
        with pytest.raises(RecjudgeError, match="no-such-pager"):
            page(pilot.app, "text")


async def test_the_list_folds_and_comes_back_with_the_room(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies", (120, 40)) as pilot:
        await filter_by(pilot, "queue:any")
        screen, first = pilot.app.screen, cursor(pilot)
        for width, folded in ((80, True), (120, False), (80, True)):
            await pilot.resize_terminal(width, 30)
            await settle(pilot)
            assert screen.has_class("-reading") is folded
        await press(pilot, "enter")
        await pilot.resize_terminal(70, 30)
        await settle(pilot)
        assert not screen.has_class("-reading")
        assert cursor(pilot) == first is not None
