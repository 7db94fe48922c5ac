from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.judges.anthropic import AnthropicJudge
from tests.support.judge_calls import LABELS, SCHEMA, asking, judge_error, workload
from tests.support.servers.process import start

PLANTED = "planted-key-0123456789"


def judge_at(*urls: str, model: str = "hash-judge", key: str = "") -> AnthropicJudge:
    return AnthropicJudge(JudgeSpec(spec=f"anthropic:{model}", base_urls=urls, api_key_env=key))


def logged(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line)["body"] for line in log.read_text(encoding="utf-8").splitlines()]


async def test_a_call_sends_the_schema_and_marks_the_shared_prefix(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with start("anthropic_api", "--log", log) as server:
        judge = judge_at(server.url)
        identity = await judge.prepare(workload())
        reply = await judge.ask(asking("lone \ud800 ☃", max_tokens=900))
    assert logged(log)[0] == {
        "model": "hash-judge",
        "max_tokens": 900,
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        "temperature": 0.0,
        "system": [{"type": "text", "text": "You judge lists.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "lone ? ☃"}],
    }
    assert json.loads(reply.text)["category"] in LABELS
    assert (reply.structured, reply.stop, reply.model, reply.dropped) == (True, "end_turn", "hash-judge", ())
    assert reply.sent["output_config"] == "json_schema"
    assert "seed" not in reply.sent
    assert (identity.name, identity.context_length) == ("hash-judge", 200_000)


async def test_a_model_that_is_not_there_and_a_wrong_key_show_before_the_first_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with start("anthropic_api", "--api-key", "right-key-123") as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", PLANTED)
        wrong = await judge_error(judge_at(server.url))
        monkeypatch.setenv("ANTHROPIC_API_KEY", "right-key-123")
        missing = await judge_error(judge_at(server.url, model="other"))
    assert "ANTHROPIC_API_KEY" in wrong.title
    assert PLANTED not in str(wrong)
    assert "“other”" in missing.title
