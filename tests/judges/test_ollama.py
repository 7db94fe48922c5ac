from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import ollama
import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import CallError, JudgeError
from recjudge_tui.judges.ollama import OllamaJudge, installed_models, server_urls
from tests.support.judge_calls import LABELS, SCHEMA, asking, call_error, judge_error, workload
from tests.support.servers.process import ServerProcess, start
from tests.support.stub_server import answer, in_turn, serving

GOOD = json.dumps({"reasoning": "r", "category": "Good Match"})


def judge_at(*urls: str, model: str = "hash-judge", key: str = "") -> OllamaJudge:
    return OllamaJudge(JudgeSpec(spec=f"ollama:{model}", base_urls=urls, api_key_env=key))


def chat(content: str | None = GOOD, reason: str = "stop", thinking: str = "", **counts: Any) -> bytes:
    message = {"role": "assistant", "content": content, **({"thinking": thinking} if thinking else {})}
    return answer(200, {"model": "m", "message": message, "done": True, "done_reason": reason, **counts})


async def one_error(*responses: bytes) -> CallError:
    with serving(in_turn(*responses)) as stub:
        return await call_error(judge_at(stub.url))


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://0.0.0.0:11434"),
        (":11500", "http://127.0.0.1:11500"),
        ("gpu-box:8000", "http://gpu-box:8000"),
        ("[::1]", "http://[::1]:11434"),
        ("https://ollama.example/", "https://ollama.example"),
    ],
)
def test_ollama_host_is_read_in_all_its_forms(monkeypatch: pytest.MonkeyPatch, host: str, url: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert server_urls(()) == (url,)
    assert server_urls(("http://option:1/v1/",)) == ("http://option:1",)


async def test_a_call_sends_the_schema_and_one_context_length_and_forbids_truncation(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with start("ollama_api", "--log", log) as server:
        judge = judge_at(server.url)
        identity = await judge.prepare(workload(longest_prompt_tokens=5000, max_tokens=1000))
        replies = [await judge.ask(asking(text, max_tokens=900)) for text in ("a", "b \ud800")]
    chats = [
        line["body"] for line in map(json.loads, log.read_text().splitlines()) if line["path"] == "/api/chat"
    ]
    options = {"num_ctx": 7168, "num_predict": 900, "temperature": 0.0, "seed": 7}
    assert [body["options"] for body in chats] == [options, options]
    sent = {k: chats[0][k] for k in ("format", "truncate", "shift", "stream", "keep_alive")}
    assert sent == {"format": SCHEMA, "truncate": False, "shift": False, "stream": False, "keep_alive": "10m"}
    assert chats[1]["messages"][1]["content"] == "b ?"
    assert json.loads(replies[0].text)["category"] in LABELS
    assert (replies[0].structured, replies[0].stop, replies[0].dropped) == (True, "stop", ())
    assert replies[0].usage.input
    assert replies[0].sent["format"] == "json_schema"
    assert (identity.name, identity.context_length, len(identity.digest)) == ("hash-judge", 32768, 64)
    assert identity.details["num_ctx"] == 7168
    assert identity.details["servers"] == ["ollama 0.13.5"]


async def test_a_model_not_pulled_is_named_with_those_that_are(ollama_server: ServerProcess) -> None:
    judge = judge_at(ollama_server.url, model="nope:7b")
    error, in_call = await judge_error(judge), await judge_error(judge, in_ask=True)
    assert "ollama pull nope:7b" in error.next_step
    assert "hash-judge:latest, other:1b" in error.cause
    assert "ollama pull nope:7b" in in_call.next_step


async def test_a_reply_that_ended_because_the_context_was_full_is_an_overflow_with_the_numbers() -> None:
    error = await one_error(chat('{"reasoning": "so', "length", prompt_eval_count=3000, eval_count=1096))
    assert error.kind == "overflow"
    assert "3000 tokens" in error.title
    assert "4096" in error.title


LONG = asking("x" * 8000)  # at least 1,000 tokens


@pytest.mark.parametrize(
    "counts",
    [
        {"prompt_eval_count": 4096},  # it fills the context
        {"prompt_eval_count": 700},  # fewer than the last message alone
        {"prompt_eval_count": 20, "prompt_eval_cached_count": 10},  # whole by its own word, and yet too few
    ],
)
async def test_a_prompt_that_was_cut_silently_is_an_overflow(counts: dict[str, int]) -> None:
    with serving(in_turn(chat(**counts))) as stub:
        error = await call_error(judge_at(stub.url), LONG)
    assert error.kind == "overflow"


async def test_a_model_too_big_for_the_memory_ends_the_run() -> None:
    with serving(in_turn(answer(500, {"error": "model requires more system memory (9 GiB)"}))) as stub:
        judge = judge_at(stub.url)
        error = await judge_error(judge, in_ask=True)
    assert "does not fit into memory" in error.title


async def test_several_servers_share_the_calls_and_must_hold_the_same_model() -> None:
    with start("ollama_api") as one, start("ollama_api") as two:
        judge = judge_at(one.url, two.url)
        identity = await judge.prepare(workload())
        one.stop()
        replies = [await judge.ask(asking(f"case {i}")) for i in range(3)]
    assert identity.endpoints == (one.url, two.url)
    assert len(replies) == 3
    shown = answer(200, {"model_info": {}})

    def other(line: str, n: int) -> bytes:
        tags = {"models": [{"name": "hash-judge:latest", "model": "hash-judge:latest", "digest": "f" * 64}]}
        return shown if "show" in line else answer(200, {"version": "1", **tags})

    with start("ollama_api") as real, serving(other) as stub:
        judge = judge_at(real.url, stub.url)
        error = await judge_error(judge)
    assert "different models" in error.title


async def test_a_call_equals_that_of_ollamas_client_except_that_the_prompt_may_not_be_cut(
    tmp_path: Path,
) -> None:
    log, request = tmp_path / "log", asking("é")
    with start("ollama_api", "--log", log) as server:
        judge = judge_at(server.url)
        await judge.ask(request)
        client = ollama.AsyncClient(host=server.url)
        await client.chat(
            "hash-judge",
            [message.model_dump() for message in request.messages],
            format=SCHEMA,
            options={"num_ctx": 4096, "num_predict": 2048, "temperature": 0.0, "seed": 7},
            keep_alive="10m",
        )
        await client.close()
    ours, theirs = (json.loads(line)["body"] for line in log.read_text().splitlines())
    assert ours.pop("truncate") is ours.pop("shift") is False
    assert ours == {key: value for key, value in theirs.items() if key in ours}
    assert not any(value for key, value in theirs.items() if key not in ours)


# ---- ollama models -------------------------------------------------------------------------------------------


def test_no_server_and_another_server_are_told_apart() -> None:
    with serving(lambda line, n: answer(200, b"<html>")) as stub:
        with pytest.raises(JudgeError, match="Something else"):
            asyncio.run(installed_models(stub.url))
        url = stub.url
    with pytest.raises(JudgeError, match="ollama serve"):
        asyncio.run(installed_models(url))
