from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from recjudge_tui.store.schema import connect
from recjudge_tui.tui.dialogs import ErrorDialog
from recjudge_tui.tui.prompts import PromptTryScreen
from tests.support.app.driving import press, shown, until
from tests.support.app.prompts_screen import front, prompts
from tests.support.servers.process import start
from tests.support.stub_server import answer, completion, serving

# ---- trying


async def open_try(pilot: Pilot[Any], spec: str, url: str = "") -> PromptTryScreen:
    await press(pilot, "T")
    screen = pilot.app.screen
    assert isinstance(screen, PromptTryScreen)
    screen.query_one("#try-judge", Input).value = spec
    screen.query_one("#try-base_urls", Input).value = url
    return screen


def counted(path: Path) -> list[int]:
    with connect(path) as db:
        return [
            db.value(f"SELECT count(*) FROM {table}") for table in ("calls", "answers", "verdicts", "runs")
        ]


async def test_a_prompt_is_tried_on_the_case_shown(
    project_db: Path, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = counted(project_db)
    monkeypatch.setenv("GATEWAY_KEY", "planted-value")
    said = completion('{"reasoning": "Set 1 is \\u001b[31mcloser.", "winner": "Set 1"}')
    said["usage"] = {"prompt_tokens": 1234, "completion_tokens": 21}
    with serving(lambda line, _: answer(200, said) if "POST" in line else answer(404, {})) as stub:
        async with prompts(project_db, project, "pairwise-media") as (pilot, screen):
            await press(pilot, "tab", "right", "o")
            assert screen.case is not None
            assert screen.case.case is not None
            case = screen.case.case["id"]
            trial = await open_try(pilot, "openai:m", f"{stub.url}/v1")
            assert f"case {case:07d}" in shown(pilot)
            trial.query_one("#try-header_env", Input).value = "x-gateway=GATEWAY_KEY"
            await press(pilot, "f5")
            assert "Send GATEWAY_KEY to" in shown(pilot)
            assert stub.heads == []
            await press(pilot, "y")
            assert "x-gateway: planted-value" in stub.heads[-1]
            assert "planted-value" not in shown(pilot)
            assert trial.trial is not None
            assert (trial.trial.case_id, trial.trial.order) == (case, "ba")
            text = shown(pilot)
            # the first list shown was that of system B
            assert "overall  B (-1)" in text
            assert "Set 1 is [31mcloser." in text
            assert "1,234 tokens in · 21 out" in text
            assert "$0" in text
            assert "no verdict is counted" in text
            await press(pilot, "escape")
            assert front(pilot) is screen
    assert counted(project_db) == before


async def test_it_can_be_tried_from_the_list(project_db: Path, project: int) -> None:
    async with prompts(project_db, project, "pairwise-media", (100, 40)) as (pilot, _):
        trial = await open_try(pilot, "rules")
        await press(pilot, "f5")
        orders = [trial.trial and trial.trial.order]
        assert "not a language model" in shown(pilot)
        await press(pilot, "f6", "f5")
        assert [*orders, trial.trial and trial.trial.order] == ["ab", "ba"]


async def test_a_reply_that_cannot_be_read_is_shown(project_db: Path, project: int) -> None:
    said = answer(200, completion("Both [/path] are fine."))
    with serving(lambda line, _: said if "POST" in line else answer(404, {})) as stub:
        async with prompts(project_db, project, "pairwise-media") as (pilot, _):
            await open_try(pilot, "openai:m", f"{stub.url}/v1")
            await press(pilot, "f5")
            assert "no answer (bad_reply)" in shown(pilot)
            assert "Both [/path] are fine." in shown(pilot)


async def test_a_judge_that_is_not_there_is_an_error_to_dismiss(project_db: Path, project: int) -> None:
    async with prompts(project_db, project, "pairwise-media") as (pilot, _):
        trial = await open_try(pilot, "openai:m", "http://127.0.0.1:9/v1")
        await press(pilot, "f5")
        assert isinstance(front(pilot), ErrorDialog)
        await press(pilot, "escape")
        assert front(pilot) is trial
        trial.query_one("#try-judge", Input).value = ""
        await press(pilot, "f5")
        assert "no judge was given" in shown(pilot)


async def test_esc_cancels_a_call_in_flight(project_db: Path, project: int) -> None:
    with start("openai_api", "--delay-ms", "600000") as slow:
        async with prompts(project_db, project, "pairwise-media") as (pilot, screen):
            trial = await open_try(pilot, "openai:hash-judge", f"{slow.url}/v1")
            await pilot.press("f5")
            await until(pilot, lambda: "asking openai:hash-judge" in shown(pilot))
            await press(pilot, "escape")
            assert front(pilot) is trial
            assert "cancelled" in shown(pilot)
            assert trial.trial is None
            await press(pilot, "escape")
            assert front(pilot) is screen


async def test_the_judge_is_picked_from_those_known(project_db: Path, project: int) -> None:
    async with prompts(project_db, project, "pairwise-media") as (pilot, _):
        trial = await open_try(pilot, "")
        await press(pilot, "enter")
        assert "built in, no model" in shown(pilot)
        await press(pilot, "j", "enter")
        assert trial.query_one("#try-judge", Input).value == "random"
