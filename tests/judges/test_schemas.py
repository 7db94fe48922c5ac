from __future__ import annotations

import json
from typing import Any

import pytest

from recjudge_tui.domain.calls import Request, Sampling
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.judges import anthropic as anthropic_judge
from recjudge_tui.judges import openai as openai_judge
from recjudge_tui.judges.servers import without_bounds
from recjudge_tui.protocols.registry import protocol
from tests.support.cases import SHIPPED, material_for, shipped
from tests.support.judge_calls import asking

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
