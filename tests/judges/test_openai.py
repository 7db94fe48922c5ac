from __future__ import annotations

import json

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import JudgeError, UsageError
from recjudge_tui.judges.openai import OpenAIJudge
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.prompting.trial import curl_command
from tests.support.judge_calls import LABELS, SCHEMA, asking, call_error, judge_error, workload
from tests.support.servers.process import ServerProcess, start
from tests.support.stub_server import Script, answer, completion, in_turn, serving

PLANTED = "planted-key-0123456789"
GOOD = json.dumps({"reasoning": "r", "category": "Good Match"})
NO_LIST = answer(404, {"error": {"message": "not found"}})


def judge_at(*urls: str, model: str = "hash-judge", key: str = "") -> OpenAIJudge:
    return OpenAIJudge(JudgeSpec(spec=f"openai:{model}", base_urls=urls, api_key_env=key))


def scripted(*responses: bytes) -> Script:
    return in_turn(*responses, to_get=NO_LIST)


class TestRealServer:
    """llama.cpp with a tiny random model."""

    async def test_the_schema_is_enforced_and_usage_is_read(self, llama_server: ServerProcess) -> None:
        judge = judge_at(llama_server.url, model="tiny-stair")
        identity = await judge.prepare(workload())
        reply = await judge.ask(asking())
        value = json.loads(reply.text)
        assert list(value) == ["reasoning", "category"]
        assert value["category"] in LABELS
        assert (reply.structured, reply.stop, reply.model, reply.dropped) == (True, "stop", "tiny-stair", ())
        assert reply.usage.input
        assert reply.usage.output
        assert reply.sent["max_completion_tokens"] == 2048
        assert (identity.name, identity.context_length) == ("tiny-stair", 8192)
        assert identity.details == {"servers": ["llamacpp"]}

    async def test_a_model_it_does_not_serve_is_named_with_those_it_serves(
        self, llama_server: ServerProcess
    ) -> None:
        judge = judge_at(llama_server.url, model="other")
        error = await judge_error(judge)
        assert "“other”" in error.title
        assert "tiny-stair" in error.cause

    async def test_a_wrong_key_is_refused_and_not_shown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MY_KEY", PLANTED)
        with start("llama_cpp", "--api-key", "another-key") as server:
            judge = judge_at(server.url, model="tiny-stair", key="MY_KEY")
            early = await judge_error(judge)
            error = await judge_error(judge, in_ask=True)
        assert "MY_KEY" in early.title
        assert "MY_KEY" in error.title
        assert PLANTED not in f"{early} {early!r} {error} {error!r} {judge!r}"


async def test_what_is_sent() -> None:
    with serving(scripted(answer(200, completion(GOOD)))) as stub:
        judge = judge_at(stub.url)
        await judge.ask(asking("lone \ud800 ☃"))
    body = stub.sent()
    assert body["model"] == "hash-judge"
    assert body["messages"][1] == {"role": "user", "content": "lone ? ☃"}
    assert body["response_format"]["json_schema"] == {"name": "verdict", "schema": SCHEMA, "strict": True}
    assert (body["temperature"], body["seed"], body["max_completion_tokens"]) == (0.0, 7, 2048)
    assert set(body) == set("model messages response_format temperature seed max_completion_tokens".split())
    assert "authorization" not in stub.heads[-1].lower()


async def test_headers_of_the_users_own_are_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_KEY", PLANTED)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-vendor-itself")
    refusal = answer(401, {"error": {"message": f"who is {PLANTED}?"}})
    with serving(scripted(answer(200, completion(f"you sent {PLANTED}")), refusal)) as stub:
        spec = JudgeSpec(spec="openai:m", base_urls=(stub.url,), header_env=(("x-gateway", "GATEWAY_KEY"),))
        judge = make_judge(spec)
        assert isinstance(judge, OpenAIJudge)
        await judge.prepare(workload())
        reply = await judge.ask(asking())
        error = await judge_error(judge, in_ask=True)
        command = curl_command(judge.wire(asking(), {}, ()))
        seen = f"{reply!r} {error} {error!r} {judge!r} {vars(judge)!r} {command} {spec.model_dump_json()}"
    assert f"x-gateway: {PLANTED}" in stub.heads[-1]
    assert "vendor-itself" not in "".join(stub.heads), "a gateway is not sent the vendor's key"
    assert '-H "x-gateway: $GATEWAY_KEY"' in command
    assert "you sent [GATEWAY_KEY]" in reply.text
    assert PLANTED not in seen
    monkeypatch.delenv("GATEWAY_KEY")
    without = make_judge(spec)
    with pytest.raises(JudgeError) as missing:
        await without.prepare(workload())
    assert "GATEWAY_KEY is not set" in missing.value.cause


async def test_azures_address_keeps_its_version_and_its_own_header(monkeypatch: pytest.MonkeyPatch) -> None:
    address = "https://r.openai.azure.com/openai/deployments/d?api-version=2024-10-21"
    judge = judge_at(address, key="AZURE_KEY")
    call = judge.wire(asking(), {}, ())
    assert (
        call.url == "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21"
    )
    assert call.headers["api-key"] == "$AZURE_KEY"
    with serving(scripted(answer(200, completion(GOOD)))) as stub:
        local = judge_at(f"{stub.url}/openai/deployments/d?api-version=2024-10-21")
        await local.prepare(workload())
        await local.ask(asking())
    assert [head.split()[1] for head in stub.heads] == [
        "/openai/deployments/d/models?api-version=2024-10-21",
        "/openai/deployments/d/chat/completions?api-version=2024-10-21",
    ]
    for bad in (
        "http://h/d?api-version=2024&key=secret-1",
        "http://h/d?api-version=",
        "http://h/d?code=secret-1",
    ):
        with pytest.raises(UsageError, match=r"must not contain|may hold one api-version") as error:
            judge_at(bad)
        assert "secret-1" not in str(error.value)


@pytest.fixture
def gone() -> str:
    """An address where nothing listens."""
    with serving(scripted(b"")) as stub:
        return stub.url


async def test_no_server_says_what_to_start_and_in_a_call_it_is_worth_a_retry(gone: str) -> None:
    judge = judge_at(gone)
    error = await judge_error(judge)
    call = await call_error(judge)
    assert gone in error.title
    assert "Start it" in error.next_step
    assert (call.kind, call.retry) == ("connection", True)
