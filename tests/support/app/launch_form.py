"""Filling in the launch form by keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from recjudge_tui.store.runs import list_runs
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.dialogs import Choice
from recjudge_tui.tui.form import read
from recjudge_tui.tui.judge_picker import KnownJudge
from recjudge_tui.tui.launch import FIELDS, LaunchRequest, LaunchScreen, is_asked, launch_request
from tests.support.app.driving import press, settle, until


def asked_for(protocol: str = "pairwise", spec: str = "rules", **texts: str) -> LaunchRequest:
    """The request of a form in whose fields this is written."""
    by_data = ("contexts", "served_from", "served_to", "domain", "images", "again")
    given: dict[str, Any] = {"protocol": protocol, "judge": KnownJudge(spec, "typed")}
    for option in FIELDS:
        if option.name not in given and is_asked(
            option.name, protocol, by_data, decided=bool(texts.get("until")), asks_server=True
        ):
            given[option.name] = read(option, texts.get(option.name, ""))
    return launch_request(given)


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
    """Answer questions and fill fields by their names."""
    for name, value in values.items():
        field = screen.fields[name]
        if name == "judge":
            screen.judge.take(KnownJudge(value, "typed"))
            await pilot.pause()
        elif isinstance(field, Choice):
            field._take(value)
        else:
            field.value = value
    await settle(pilot)


def runs(path: Path) -> list[Any]:
    with connect(path) as db:
        return list_runs(db)
