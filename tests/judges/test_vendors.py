"""Every vendor's judge at a server with faults: each fault has its own error, nothing is retried by the judge itself."""

from __future__ import annotations

import json

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.judges.registry import make_judge
from tests.support.judge_calls import LABELS, asking, call_error, workload
from tests.support.servers.counts import request_count
from tests.support.servers.process import start

VENDORS = {
    "openai_api": "openai:hash-judge",
    "anthropic_api": "anthropic:hash-judge",
    "bedrock_api": "bedrock:test.hash-judge-v1:0",
}
FAULTS = {
    "429": ("rate_limit", True), "500": ("server_error", True), "503": ("overloaded", True), "529": ("overloaded", True),
    "reset": ("connection", True), "html": ("bad_body", True), "empty_choices": ("empty", True),
    "refusal": ("refusal", False), "length": ("length", False),
}  # fmt: skip


@pytest.mark.parametrize("server", VENDORS)
@pytest.mark.parametrize("fault", FAULTS)
async def test_each_fault_has_its_own_error(monkeypatch: pytest.MonkeyPatch, server: str, fault: str) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "planted-key-0123456789")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    delay = () if server == "bedrock_api" else ("--retry-after", "3")
    with start(server, "--faults", f"{fault}:1", *delay) as running:
        judge = make_judge(JudgeSpec(spec=VENDORS[server], base_urls=(running.url,)))
        await judge.prepare(workload())
        before = request_count(running)
        error = await call_error(judge)
        asked = request_count(running) - before
        reply = await judge.ask(asking())
        await judge.close()
    assert (error.kind, error.retry) == FAULTS[fault]
    # an answer that is cut early may not have known the name of the cap
    assert asked == (2 if (server, fault) == ("openai_api", "length") else 1)
    assert error.retry_after == (3.0 if fault == "429" and delay else error.retry_after)
    assert json.loads(reply.text)["category"] in LABELS
