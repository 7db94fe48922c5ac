from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.judge import Capabilities, JudgeSpec
from recjudge_tui.judges.bedrock import BedrockJudge
from tests.support.judge_calls import LABELS, SCHEMA, asking, judge_error, workload
from tests.support.servers.counts import request_count
from tests.support.servers.process import start
from tests.support.stub_server import answer, serving
from tests.support.waiting import HANG_S

MODEL = "test.hash-judge-v1:0"
CLAUDE = "us.anthropic.claude-sonnet-v1:0"
SECRET = "planted/secret+key0123456789"
TOKEN = "planted-session-token-0123"


@pytest.fixture(autouse=True)
def _aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_BEARER_TOKEN_BEDROCK", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")


def judge_at(*urls: str, model: str = MODEL) -> BedrockJudge:
    return BedrockJudge(JudgeSpec(spec=f"bedrock:{model}", base_urls=urls))


async def prepared(*urls: str, model: str = MODEL, **changes: Any) -> BedrockJudge:
    judge = judge_at(*urls, model=model)
    await judge.prepare(workload(**changes))
    return judge


def logged(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


async def test_a_call_is_signed_and_sends_the_schema_as_text(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with start("bedrock_api", "--log", log) as server:
        judge = await prepared(server.url)
        reply = await judge.ask(asking("lone \ud800 ☃", max_tokens=900))
    sent = logged(log)[0]
    assert sent["path"] == "/model/test.hash-judge-v1%3A0/converse"
    assert "Credential=AKIDEXAMPLE/" in sent["headers"]["authorization"]
    body = sent["body"]
    given = body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]
    assert json.loads(given["schema"]) == SCHEMA
    assert given["name"] == "verdict"
    assert body["system"] == [{"text": "You judge lists."}]
    assert body["messages"] == [{"role": "user", "content": [{"text": "lone ? ☃"}]}]
    assert body["inferenceConfig"] == {"maxTokens": 900, "temperature": 0.0}
    assert json.loads(reply.text)["category"] in LABELS
    assert (reply.structured, reply.stop, reply.model, reply.dropped) == (True, "end_turn", MODEL, ())
    assert (reply.usage.input, reply.usage.cached_input) == (324, 300)
    assert reply.usage.output
    assert reply.latency_s


@pytest.mark.parametrize("parameter", ["temperature", "outputConfig", "cachePoint"])
async def test_a_refused_parameter_is_dropped_once_and_recorded(parameter: str) -> None:
    with start("bedrock_api", "--model", CLAUDE, "--refuse", parameter) as server:
        judge = await prepared(server.url, model=CLAUDE)
        replies = [await judge.ask(asking()) for _ in range(3)]
        asked = request_count(server)
        again = await prepared(server.url, model=CLAUDE, known=Capabilities(refused=(parameter,)))
        known = await again.ask(asking())
        asked_again = request_count(server)
    assert (asked, asked_again) == (4, 5)
    assert {reply.dropped for reply in [*replies, known]} == {(parameter,)}
    assert parameter not in replies[0].sent


async def test_what_is_missing_is_named_before_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_REGION")
    assert "region" in (await judge_error(judge_at())).title
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    identity = await judge_at().prepare(workload())
    assert identity.endpoints == ("https://bedrock-runtime.eu-west-1.amazonaws.com",)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    assert "No AWS credentials" in (await judge_error(judge_at())).title
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    assert "cannot be used" in (await judge_error(judge_at())).title


def test_without_botocore_it_says_what_to_install_and_the_others_work() -> None:
    code = (
        "import asyncio, sys\n"
        "sys.modules['botocore'] = None\n"
        "from recjudge_tui.judges.registry import make_judge, spellings\n"
        "from recjudge_tui.domain.judge import JudgeSpec, Workload\n"
        "assert 'bedrock:MODEL' in spellings()\n"
        "judge = make_judge(JudgeSpec(spec='bedrock:m'))\n"
        "work = Workload(calls=1, longest_prompt_tokens=1, max_tokens=1, concurrency=1, timeout_s=1)\n"
        "asyncio.run(judge.prepare(work))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG_S)
    assert ended.returncode == 1
    assert "pip install 'recjudge[bedrock]'" in ended.stderr


@pytest.mark.parametrize(
    ("code", "status"), [("AccessDeniedException", 403), ("UnrecognizedClientException", 400)]
)
async def test_no_secret_is_in_what_is_said(code: str, status: int) -> None:
    said = answer(status, {"message": f"signed with {SECRET}"}, f"x-amzn-ErrorType: {code}:http://internal")
    with serving(lambda line, n: said) as stub:
        judge = await prepared(stub.url)
        error = await judge_error(judge, in_ask=True)
    assert code in error.title
    assert "[AWS secret key]" in error.cause
    assert SECRET not in f"{error} {error!r}"


async def test_a_bearer_token_is_sent_instead_of_a_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", SECRET)
    with serving(lambda line, n: answer(403, {"message": SECRET})) as stub:
        judge = await prepared(stub.url)
        error = await judge_error(judge, in_ask=True)
        assert f"Bearer {SECRET}" in str(stub.heads[0])
    assert SECRET not in str(error)


async def test_blocks_that_are_no_objects_are_left_out() -> None:
    content = [
        "odd",
        None,
        {"text": '{"category": "Good Match"}'},
        {"reasoningContent": {"reasoningText": 1}},
    ]
    said = {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "end_turn"}
    with serving(lambda line, n: answer(200, said)) as stub:
        judge = await prepared(stub.url)
        reply = await judge.ask(asking())
    assert reply.text == '{"category": "Good Match"}'


async def test_no_secret_is_in_a_reply_or_the_judge() -> None:
    echo = {
        "output": {"message": {"role": "assistant", "content": [{"text": f"{SECRET} {TOKEN}"}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    }
    with serving(lambda line, n: answer(200, echo)) as stub:
        judge = await prepared(stub.url)
        reply = await judge.ask(asking())
        seen = f"{reply!r} {judge!r} {vars(judge)!r}"
    assert reply.text == "[AWS secret key] [AWS session token]"
    assert SECRET not in seen
    assert TOKEN not in seen
