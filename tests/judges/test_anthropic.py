from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.calls import Message
from recjudge_tui.domain.judge import Capabilities, JudgeSpec
from recjudge_tui.judges.anthropic import AnthropicJudge, make
from tests.support.judge_calls import LABELS, SCHEMA, asking, judge_error, workload
from tests.support.servers.process import start
from tests.support.stub_server import Script, answer, in_turn, serving

PLANTED = "planted-key-0123456789"
GOOD = json.dumps({"reasoning": "r", "category": "Good Match"})


def judge_at(*urls: str, model: str = "hash-judge", key: str = "") -> AnthropicJudge:
    return make(JudgeSpec(spec=f"anthropic:{model}", base_urls=urls, api_key_env=key))


def message(text: str = GOOD, stop: str = "end_turn", **more: Any) -> bytes:
    return answer(
        200, {"model": "m", "content": [{"type": "text", "text": text}], "stop_reason": stop, **more}
    )


def refused(status: int, kind: str, said: str, *headers: str) -> bytes:
    return answer(status, {"type": "error", "error": {"type": kind, "message": said}}, *headers)


def scripted(*responses: bytes) -> Script:
    """Nothing about the model; the responses in turn to the messages."""
    return in_turn(*responses, to_get=answer(404, {"error": "no such page"}))


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


async def test_the_prefix_is_the_same_bytes_in_every_call_and_only_its_last_block_is_marked() -> None:
    system = tuple(Message(role="system", content=text) for text in ("rules", "examples"))
    requests = [
        asking().model_copy(update={"messages": (*system, Message(role="user", content=f"case {n}"))})
        for n in range(2)
    ]
    with serving(scripted(message())) as stub:
        judge = judge_at(stub.url)
        for request in requests:
            await judge.ask(request)
        heads = [body.partition(b'"messages"')[0] for body in stub.bodies]
        blocks = stub.sent()["system"]
    assert heads[0] == heads[1]
    assert ["cache_control" in block for block in blocks] == [False, True]


async def test_usage_counts_all_input_and_what_came_from_the_cache() -> None:
    with start("anthropic_api") as server:
        judge = judge_at(server.url)
        first, second = [(await judge.ask(asking(f"case {n}"))).usage for n in (1, 2)]
    assert (first.cached_input, first.input) == (0, second.input)
    assert second.cached_input
    assert second.input
    assert 0 < second.cached_input < second.input
    assert first.output


async def test_what_is_known_of_another_server_is_not_believed() -> None:
    with start("anthropic_api") as server:
        judge = judge_at(server.url)
        known = Capabilities(refused=("temperature",), endpoints=("http://elsewhere:1",))
        await judge.prepare(workload(known=known))
        reply = await judge.ask(asking())
    assert reply.dropped == ()


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
