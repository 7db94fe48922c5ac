from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from recjudge_tui.store.schema import connect
from recjudge_tui.tui.form import Form
from recjudge_tui.tui.judge_picker import JudgeField, KnownJudge
from tests.support.app.driving import press, shown, until
from tests.support.app.prompts_screen import front, prompts
from tests.support.servers.process import start
from tests.support.stub_server import answer, completion, serving


async def ask(pilot: Pilot[Any], spec: str, **address: str) -> None:
    """Open the form, choose the judge and accept."""
    await press(pilot, "T")
    form = pilot.app.screen
    assert isinstance(form, Form)
    form.query_one(JudgeField).take(KnownJudge(spec, "typed"))
    for name, text in address.items():
        form.fields[name].value = text
    form.action_accept()
    await pilot.pause()


def counted(path: Path) -> list[int]:
    tables = ("calls", "answers", "verdicts", "runs")
    with connect(path) as db:
        return [db.value(f"SELECT count(*) FROM {table}") for table in tables]


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
            case = screen.case.case["id"]
            await ask(pilot, "openai:m", base_urls=f"{stub.url}/v1", header_env="x-gateway=GATEWAY_KEY")
            await until(pilot, lambda: "Send GATEWAY_KEY to" in shown(pilot))
            assert stub.heads == []
            await press(pilot, "y")
            await until(pilot, lambda: screen.trial is not None)
            assert "x-gateway: planted-value" in stub.heads[-1]
            assert "planted-value" not in shown(pilot)
            assert (screen.trial.case_id, screen.trial.order) == (case, "ba")
            text = shown(pilot)
            # the first list shown was that of system B
            assert "overall  B (-1)" in text
            assert "Set 1 is [31mcloser." in text
            assert "1,234 tokens in · 21 out" in text
            assert "$0" in text
            assert "no verdict is counted" in text
            await press(pilot, "tab")
            assert f"case {case:07d}" in shown(pilot)
    assert counted(project_db) == before


async def test_esc_cancels_a_call_in_flight(project_db: Path, project: int) -> None:
    with start("openai_api", "--delay-ms", "600000") as slow:
        async with prompts(project_db, project, "pairwise-media") as (pilot, screen):
            await ask(pilot, "openai:hash-judge", base_urls=f"{slow.url}/v1")
            await until(pilot, lambda: "asking openai:hash-judge" in shown(pilot))
            await press(pilot, "escape")
            assert front(pilot) is screen
            assert "cancelled" in shown(pilot)
            assert screen.trial is None
