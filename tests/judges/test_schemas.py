from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.calls import Request, Sampling
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.judges import anthropic as anthropic_judge
from recjudge_tui.judges import bedrock as bedrock_judge
from recjudge_tui.judges import openai as openai_judge
from recjudge_tui.judges.servers import without_bounds
from recjudge_tui.protocols.registry import protocol
from tests.support.cases import SHIPPED, material_for, shipped
from tests.support.judge_calls import asking, workload
from tests.support.servers.process import start

# what the structured outputs of OpenAI, Azure, Anthropic and Bedrock have in common
KNOWN = {"type", "properties", "required", "additionalProperties", "enum", "items"}
SCORED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "minimum": {"type": "number", "minimum": 0.0, "maximum": 10.0},
        "stars": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 5}},
    },
    "required": ["minimum", "stars"],
    "additionalProperties": False,
}
SENT = {
    **SCORED,
    "properties": {"minimum": {"type": "number"}, "stars": {"type": "array", "items": {"type": "integer"}}},
}


def scored() -> Request:
    return asking().model_copy(update={"reply_schema": SCORED})


def keywords(schema: dict[str, Any]) -> set[str]:
    found = set(schema)
    for part in (*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])):
        found |= keywords(part)
    return found


def shipped_request(name: str) -> Request:
    prompt = shipped(name)
    rules = protocol(prompt.protocol)
    return rules.request(prompt, material_for(name), rules.orders[0], "", Sampling())


@pytest.mark.parametrize("name", SHIPPED)
def test_what_the_shipped_prompts_ask_for_is_known_to_every_server(name: str) -> None:
    assert keywords(without_bounds(shipped_request(name).reply_schema)) <= KNOWN


def test_bounds_go_to_no_server_that_may_refuse_them() -> None:
    url = ("http://127.0.0.1:9",)
    # llama.cpp and vLLM on this machine hold a reply to them, so that a loop comes to its end
    for address, form in (("https://models.example/v1", SENT), (url[0], SCORED)):
        chat = openai_judge.make(JudgeSpec(spec="openai:m", base_urls=(address,))).batch_body(scored())
        assert json.loads(chat)["response_format"]["json_schema"]["schema"] == form
    claude = anthropic_judge.make(JudgeSpec(spec="anthropic:m", base_urls=url)).batch_body(scored())
    assert json.loads(claude)["output_config"]["format"]["schema"] == SENT


async def test_bounds_are_not_sent_to_bedrock_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("ACCESS_KEY_ID", "AKIDEXAMPLE"),
        ("SECRET_ACCESS_KEY", "x"),
        ("REGION", "eu-west-1"),
    ):
        monkeypatch.setenv(f"AWS_{name}", value)
    with start("bedrock_api", "--log", tmp_path / "log") as server:
        judge = bedrock_judge.make(JudgeSpec(spec="bedrock:test.hash-judge-v1:0", base_urls=(server.url,)))
        await judge.prepare(workload())
        reply = await judge.ask(scored())
        await judge.close()
    body = json.loads((tmp_path / "log").read_text(encoding="utf-8").splitlines()[0])["body"]
    given = body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]["schema"]
    assert json.loads(given) == SENT
    assert reply.structured


def test_the_schema_itself_keeps_its_bounds() -> None:
    """Judges without a model choose within them."""
    request = shipped_request("absolute-media")
    without_bounds(request.reply_schema)
    assert request.reply_schema["properties"]["score"] == {"type": "number", "minimum": 0.0, "maximum": 1.0}
    plain = asking().reply_schema
    assert without_bounds(plain) is plain
