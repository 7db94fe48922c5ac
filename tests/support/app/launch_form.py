"""Filling in the launch form by keys."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input
from textual.worker import WorkerCancelled

from recjudge_tui.store.runs import list_runs
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.judge_picker import KnownJudge
from recjudge_tui.tui.launch import FIELDS, CaseCountChoice, JudgeQuestion, LaunchScreen
from tests.support.app.driving import press, until

FORM = {field.name: "" for field in FIELDS} | {
    "protocol": "pairwise",
    "judge": "rules",
    "top_k": "10",
    "seed": "7",
    "swap": "both",
    "no_history": "leave",
}


async def open_form(pilot: Pilot[Any], protocol: str = "pointwise") -> LaunchScreen:
    """The form, with its first question answered by keys."""
    await press(pilot, "r")
    await press(pilot, "n")
    screen = pilot.app.screen
    assert isinstance(screen, LaunchScreen)
    await until(pilot, lambda: screen.estimated is not None)
    while screen.protocol != protocol:
        await press(pilot, "left")
    await until(pilot, lambda: screen.estimated is not None)
    return screen


async def fill(pilot: Pilot[Any], screen: LaunchScreen, **values: str) -> None:
    """Answer questions and fill fields by their names; an empty number of cases means all."""
    for name, value in values.items():
        if name == "judge":
            screen.query_one(JudgeQuestion).take(KnownJudge(value, "typed"))
            await pilot.pause()
        elif name in ("limit", "sample"):
            await _answer_how_many(pilot, screen.query_one(CaseCountChoice), name if value else "all", value)
        else:
            screen.query_one(f"#field-{name}", Input).value = value
    await pilot.pause(0.3)
    with suppress(WorkerCancelled):
        await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def _answer_how_many(pilot: Pilot[Any], question: CaseCountChoice, kind: str, count: str) -> None:
    question.focus()
    while question.kind != kind:
        await press(pilot, "right")
    # the first digit after an arrow key replaces the number, later ones are added to it
    await press(pilot, *count)


def runs(path: Path) -> list[Any]:
    with connect(path) as db:
        return list_runs(db)
