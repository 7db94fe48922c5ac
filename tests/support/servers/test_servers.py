"""Each server, as a real process, through the clients that meet it elsewhere."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import ollama
import pytest

from tests.support.servers.gate import allow, hold, wait_until_held
from tests.support.servers.process import ROOT, ServerProcess, start
from tests.support.waiting import HANG_S, wait_until

LABELS = ["Good Match", "Partial Match", "Poor Match"]
ISSUES = ["off_category", "already_owned", "other"]
FLAG = {
    "type": "object",
    "additionalProperties": False,
    "required": ["item", "issue"],
    "properties": {"item": {"type": "string"}, "issue": {"type": "string", "enum": ISSUES}},
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["reasoning", "category", "score", "flagged_items"],
    "properties": {
        "reasoning": {"type": "string"},
        "category": {"type": "string", "enum": LABELS},
        "score": {"type": "integer", "enum": [1, 2, 3, 4, 5]},
        "flagged_items": {"type": "array", "items": FLAG},
    },
}


def body(text: str, **more: object) -> dict[str, Any]:
    wanted = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA}}
    messages = [{"role": "user", "content": text}]
    return {"model": "any", "messages": messages, "response_format": wanted, "temperature": 0, **more}


def ask(url: str, text: str, **more: object) -> httpx.Response:
    # Loading certificates, which loopback does not need, would take most of the time: verify=False.
    return httpx.post(f"{url}/v1/chat/completions", json=body(text, **more), timeout=HANG_S, verify=False)


def said(response: httpx.Response) -> str:
    response.raise_for_status()
    content = response.json()["choices"][0]["message"]["content"]
    assert isinstance(content, str)
    return content


def assert_fits(text: str) -> None:
    answer = json.loads(text)
    assert list(answer) == SCHEMA["required"]
    assert isinstance(answer["reasoning"], str)
    assert answer["reasoning"]
    assert answer["category"] in LABELS
    assert answer["score"] in (1, 2, 3, 4, 5)
    for flag in answer["flagged_items"]:
        assert list(flag) == ["item", "issue"]
        assert flag["issue"] in ISSUES


# llama.cpp


def test_llama_answers_fit_the_schema_and_differ(llama_server: ServerProcess) -> None:
    answers = [said(ask(llama_server.url, f"Heat, Alien, case {i} " * (i + 1))) for i in range(6)]
    for answer in answers:
        assert_fits(answer)
    assert len(set(answers)) > 1
    assert said(ask(llama_server.url, "Heat, Alien, case 0 ")) == answers[0]


def test_llama_ends_its_turn_without_a_schema(llama_server: ServerProcess) -> None:
    reply = httpx.post(
        f"{llama_server.url}/v1/chat/completions",
        json={"model": "any", "messages": [{"role": "user", "content": "hello"}], "temperature": 0},
        timeout=HANG_S,
    ).json()
    assert reply["choices"][0]["finish_reason"] == "stop"
    assert reply["usage"]["completion_tokens"] < 100


def test_llama_options(tmp_path: Path) -> None:
    options = (
        "--ctx",
        256,
        "--parallel",
        1,
        "--api-key",
        "sesame",
        "--alias",
        "mini",
        "--model-dir",
        tmp_path,
    )
    with start("llama_cpp", *options) as server:
        assert ask(server.url, "hello").status_code == 401
        key = {"Authorization": "Bearer sesame"}
        models = httpx.get(f"{server.url}/v1/models", headers=key).json()
        assert [model["id"] for model in models["data"]] == ["mini"]
        long = httpx.post(
            f"{server.url}/v1/chat/completions", json=body("zebra " * 400), headers=key, timeout=30
        )
        assert long.status_code == 400
        assert long.json()["error"]["type"] == "exceed_context_size_error"
    assert len(list(tmp_path.iterdir())) == 1


# Ollama


@pytest.fixture
def client(ollama_server: ServerProcess) -> Iterator[ollama.Client]:
    with ollama.Client(host=ollama_server.url) as client:
        yield client


def test_ollama_lists_shows_and_answers(client: ollama.Client, ollama_server: ServerProcess) -> None:
    assert [model.model for model in client.list().models] == ["hash-judge:latest", "other:1b"]
    shown = client.show("hash-judge")
    assert shown.capabilities == ["completion"]
    assert shown.modelinfo is not None
    assert shown.modelinfo["llama.context_length"] == 32768
    messages = [{"role": "user", "content": "judge this"}]
    reply = client.chat("hash-judge", messages, format=SCHEMA, options={"num_ctx": 2048})
    assert reply.message.content is not None
    assert_fits(reply.message.content)
    assert (reply.done, reply.done_reason) == (True, "stop")
    assert reply.eval_count
    assert reply.prompt_eval_count == 7
    assert reply.total_duration is not None
    streamed = list(client.chat("hash-judge:latest", messages, format=SCHEMA, stream=True))
    assert "".join(part.message.content or "" for part in streamed) == reply.message.content
    assert [part.done for part in streamed] == [False] * (len(streamed) - 1) + [True]
    assert streamed[-1].eval_count == reply.eval_count
    assert httpx.get(f"{ollama_server.url}/api/version").json()["version"]


def test_ollama_errors(client: ollama.Client, ollama_server: ServerProcess) -> None:
    messages = [{"role": "user", "content": "word " * 400}]
    with pytest.raises(ollama.ResponseError, match="model 'absent' not found") as missing:
        client.chat("absent", messages)
    assert missing.value.status_code == 404
    with pytest.raises(ollama.ResponseError, match="not found"):
        client.show("absent")
    with pytest.raises(ollama.ResponseError, match="does not support thinking"):
        client.chat("hash-judge", messages, think=True)
    whole = {"model": "hash-judge", "messages": messages, "options": {"num_ctx": 100}, "truncate": False}
    refused = httpx.post(f"{ollama_server.url}/api/chat", json=whole)
    assert (refused.status_code, refused.json()) == (
        400,
        {"error": "the input length exceeds the context length"},
    )
    assert client.chat("hash-judge", messages, options={"num_ctx": 100}).prompt_eval_count == 100


def test_ollama_thinking_eats_the_budget(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    messages = [{"role": "user", "content": "judge this"}]
    with (
        start("ollama_api", "--thinking", "--no-structured", "--log", log) as server,
        ollama.Client(host=server.url) as client,
    ):
        prose = client.chat("hash-judge", messages, format=SCHEMA)
        assert prose.message.thinking
        assert (prose.message.content or "").startswith("My impression")
        short = client.chat("hash-judge", messages, options={"num_predict": 3})
        assert (short.done_reason, short.message.content, short.eval_count) == ("length", "", 3)
        assert client.chat("hash-judge", messages, think=False).message.thinking is None
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["path"] for line in lines] == ["/api/chat"] * 3
    assert lines[1]["body"]["options"] == {"num_predict": 3}


async def test_ollama_refuses_when_the_queue_is_full() -> None:
    with start("ollama_api", "--delay-ms", 200, "--max-queue", 1) as server:
        call = {"model": "hash-judge", "messages": [{"role": "user", "content": "x"}], "stream": False}
        async with httpx.AsyncClient() as client:
            asked = [client.post(f"{server.url}/api/chat", json=call) for _ in range(5)]
            replies = await asyncio.gather(*asked)
    assert sorted(reply.status_code for reply in replies) == [200, 200, 503, 503, 503]


# OpenAI


def test_openai_answers_fit_and_are_counted(openai_server: ServerProcess) -> None:
    url = openai_server.url
    httpx.post(f"{url}/reset")
    answers = [said(ask(url, f"case {i}")) for i in range(30)]
    for answer in answers:
        assert_fits(answer)
    assert {json.loads(answer)["category"] for answer in answers} == set(LABELS)
    reply = ask(url, "case 0").json()
    assert reply["choices"][0]["message"]["content"] == answers[0]
    usage = reply["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    stats = httpx.get(f"{url}/stats").json()
    assert stats == {
        "requests": 31,
        "distinct_bodies": 30,
        "max_concurrent": 1,
        "faults": {},
        "concurrent": 0,
        "held": False,
    }
    assert httpx.get(f"{url}/v1/models").json()["data"][0]["id"] == "hash-judge"


def test_openai_logprobs_and_token_limit(openai_server: ServerProcess) -> None:
    choice = ask(openai_server.url, "x", logprobs=True, top_logprobs=2).json()["choices"][0]
    content = choice["logprobs"]["content"]
    assert "".join(entry["token"] for entry in content) == choice["message"]["content"]
    assert {len(entry["top_logprobs"]) for entry in content} == {2}
    short = ask(openai_server.url, "x", max_completion_tokens=4).json()
    assert short["choices"][0]["finish_reason"] == "length"
    assert short["usage"]["completion_tokens"] == 4


@pytest.mark.parametrize(
    ("kind", "status"), [("401", 401), ("429", 429), ("500", 500), ("503", 503), ("529", 529)]
)
def test_openai_status_faults_pass_on_retry(kind: str, status: int) -> None:
    with start("openai_api", "--faults", f"{kind}:1", "--retry-after", "7") as server:
        first = ask(server.url, "x")
        assert first.status_code == status
        assert first.json()["error"]["message"]
        assert first.headers.get("retry-after") == ("7" if kind == "429" else None)
        assert_fits(said(ask(server.url, "x")))


def test_openai_faults_on_the_wire() -> None:
    with start("openai_api", "--faults", "reset:1") as server, pytest.raises(httpx.ReadError):
        ask(server.url, "x")
    with start("openai_api", "--faults", "cut:1") as server, pytest.raises(httpx.RemoteProtocolError):
        ask(server.url, "x")
    with start("openai_api", "--faults", "hang:1") as server:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(
                f"{server.url}/v1/chat/completions", json=body("x"), timeout=httpx.Timeout(HANG_S, read=0.2)
            )
        assert_fits(said(ask(server.url, "x")))


def test_openai_faults_in_the_answer() -> None:
    replies = {}
    for kind in ("garbage", "wrong_enum", "refusal", "empty_choices", "prose", "length"):
        with start("openai_api", "--faults", f"{kind}:1", "--fault-attempts", 2) as server:
            ask(server.url, "x")
            replies[kind] = ask(server.url, "x").json()
            assert httpx.get(f"{server.url}/stats").json()["faults"] == {kind: 2}
            assert_fits(said(ask(server.url, "x")))
    assert replies.pop("empty_choices")["choices"] == []
    choices = {kind: reply["choices"][0] for kind, reply in replies.items()}
    assert "{" not in choices["garbage"]["message"]["content"]
    assert json.loads(choices["wrong_enum"]["message"]["content"])["category"] not in LABELS
    assert choices["refusal"]["message"]["content"] is None
    assert choices["refusal"]["message"]["refusal"]
    assert_fits(choices["prose"]["message"]["content"].split("```json")[1].split("```")[0])
    assert choices["length"]["finish_reason"] == "length"
    with pytest.raises(json.JSONDecodeError):
        json.loads(choices["length"]["message"]["content"])


def test_openai_html_and_refused_parameters() -> None:
    with start("openai_api", "--faults", "html:1", "--refuse", "temperature") as server:
        refused = ask(server.url, "x")
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "temperature")
        bare = body("x")
        del bare["temperature"]
        page = httpx.post(f"{server.url}/v1/chat/completions", json=bare)
        assert page.headers["content-type"].startswith("text/html")


def test_openai_share_of_faults() -> None:
    with start("openai_api", "--faults", "500:0.2,prose:0.1") as server, httpx.Client() as client:
        for i in range(300):
            client.post(f"{server.url}/v1/chat/completions", json=body(f"case {i}"))
        faults = httpx.get(f"{server.url}/stats").json()["faults"]
    # Deterministic; four standard deviations around 60 and 30.
    assert 33 <= faults["500"] <= 87
    assert 10 <= faults["prose"] <= 50


async def test_openai_serves_128_at_once(tmp_path: Path) -> None:
    log, begun = tmp_path / "log.jsonl", time.time() - 0.001
    limits = httpx.Limits(max_connections=128, max_keepalive_connections=128)
    with start("openai_api", "--log", log) as server:
        hold(server)
        async with httpx.AsyncClient(limits=limits, timeout=HANG_S) as client:
            url = f"{server.url}/v1/chat/completions"
            asked = asyncio.gather(*(client.post(url, json=body(f"case {i}")) for i in range(128)))
            await asyncio.to_thread(wait_until_held, server, 128)
            allow(server)
            replies = await asked
            stats = (await client.get(f"{server.url}/stats")).json()
    assert {reply.status_code for reply in replies} == {200}
    assert stats["distinct_bodies"] == 128
    assert stats["max_concurrent"] == 128
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len({line["sha256"] for line in lines}) == 128
    assert all(begun <= line["time"] <= time.time() for line in lines)


# The processes


def test_stop_ends_that_process() -> None:
    server = start("openai_api")
    assert server.is_running()
    os.kill(server.pid, 0)
    server.stop()
    assert not server.is_running()
    with pytest.raises(ProcessLookupError):
        os.kill(server.pid, 0)
    server.stop()


def test_a_server_leaves_when_its_parent_is_killed() -> None:
    killed = (
        "import os, signal; from tests.support.servers.process import start; "
        "print(start('openai_api').url, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    parent = subprocess.run([sys.executable, "-c", killed], cwd=ROOT, capture_output=True, text=True)
    assert parent.returncode == -signal.SIGKILL
    address = ("127.0.0.1", int(parent.stdout.strip().rpartition(":")[2]))
    wait_until(lambda: not _accepts(address))


def _accepts(address: tuple[str, int]) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(address) == 0


def test_start_shows_why_it_failed(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="bogus:1"):
        start("openai_api", "--faults", "bogus:1")
    mute = tmp_path / "mute.py"
    mute.write_text("import time; time.sleep(30)")
    with pytest.raises(RuntimeError, match=r"did not listen within 0\.2 s"):
        start(mute, deadline=0.2)


def test_hostile_strings_survive_the_trip(
    openai_server: ServerProcess, hostile_strings: tuple[str, ...]
) -> None:
    for text in hostile_strings:
        assert_fits(said(ask(openai_server.url, text)))
