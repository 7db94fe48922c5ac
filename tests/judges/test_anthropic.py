from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.calls import Message, Reply
from recjudge_tui.domain.judge import Capabilities, JudgeSpec
from recjudge_tui.errors import CallError
from recjudge_tui.judges.anthropic import AnthropicJudge, api_root, make
from tests.support.judge_calls import LABELS, SCHEMA, asking, call_error, judge_error, workload
from tests.support.servers.counts import request_count
from tests.support.servers.process import start
from tests.support.stub_server import Script, answer, serving

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
    """Nothing about the model; the responses in turn to the messages, the last one again and again."""
    turn = iter(range(1000))

    def script(line: str, number: int) -> bytes:
        unknown = answer(404, {"error": "no such page"})
        return unknown if line.startswith("GET") else responses[min(next(turn), len(responses) - 1)]

    return script


async def replies_to(*responses: bytes, count: int = 1) -> list[Reply]:
    with serving(scripted(*responses)) as stub:
        judge = judge_at(stub.url)
        found = [await judge.ask(asking()) for _ in range(count)]
        await judge.close()
    return found


async def one_error(*responses: bytes) -> CallError:
    with serving(scripted(*responses)) as stub:
        judge = judge_at(stub.url)
        error = await call_error(judge)
        await judge.close()
    return error


def logged(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line)["body"] for line in log.read_text(encoding="utf-8").splitlines()]


def test_the_address_comes_from_the_option_then_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = JudgeSpec(spec="anthropic:m")
    assert make(spec)._endpoints.urls == ("https://api.anthropic.com",)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://env:1/v1/")
    assert make(spec)._endpoints.urls == ("http://env:1",)
    assert judge_at("http://option:1")._endpoints.urls == ("http://option:1",)
    assert api_root("http://h/v1/messages") == "http://h"


async def test_a_call_sends_the_schema_and_marks_the_shared_prefix(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with start("anthropic_api", "--log", log) as server:
        judge = judge_at(server.url)
        identity = await judge.prepare(workload())
        reply = await judge.ask(asking("lone \ud800 ☃", max_tokens=900))
        await judge.close()
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
        await judge.close()
        heads = [body.partition(b'"messages"')[0] for body in stub.bodies]
        blocks = stub.sent()["system"]
    assert heads[0] == heads[1]
    assert ["cache_control" in block for block in blocks] == [False, True]


async def test_usage_counts_all_input_and_what_came_from_the_cache() -> None:
    with start("anthropic_api") as server:
        judge = judge_at(server.url)
        first, second = [(await judge.ask(asking(f"case {n}"))).usage for n in (1, 2)]
        await judge.close()
    assert (first.cached_input, first.input) == (0, second.input)
    assert second.cached_input
    assert second.input
    assert 0 < second.cached_input < second.input
    assert first.output


async def test_a_prefix_too_short_to_be_cached_shows_in_the_counters() -> None:
    with start("anthropic_api", "--cache-min", 1000) as server:
        judge = judge_at(server.url)
        usages = [(await judge.ask(asking(f"case {n}"))).usage for n in (1, 2)]
        await judge.close()
    assert [usage.cached_input for usage in usages] == [0, 0]


@pytest.mark.parametrize(
    ("fault", "kind", "retry", "after"),
    [
        ("429", "rate_limit", True, 3.0),
        ("500", "server_error", True, None),
        ("503", "overloaded", True, None),
        ("529", "overloaded", True, 3.0),
        ("reset", "connection", True, None),
        ("cut", "bad_body", True, None),
        ("html", "bad_body", True, None),
        ("empty_choices", "empty", True, None),
        ("refusal", "refusal", False, None),
        ("length", "length", False, None),
    ],
)
async def test_each_fault_has_its_own_error(fault: str, kind: str, retry: bool, after: float | None) -> None:
    with start("anthropic_api", "--faults", f"{fault}:1", "--retry-after", "3") as server:
        judge = judge_at(server.url)
        await judge.prepare(workload())
        error = await call_error(judge)
        reply = await judge.ask(asking())
        await judge.close()
    assert (error.kind, error.retry, error.retry_after) == (kind, retry, after)
    assert json.loads(reply.text)["category"] in LABELS


async def test_thinking_is_kept_apart_and_may_take_the_whole_cap() -> None:
    with start("anthropic_api", "--thinking") as server:
        judge = judge_at(server.url)
        reply = await judge.ask(asking())
        error = await call_error(judge, asking(max_tokens=2))
        await judge.close()
    assert reply.thinking.startswith("First impression")
    assert json.loads(reply.text)["category"] in LABELS
    assert (error.kind, error.retry) == ("thinking", False)


@pytest.mark.parametrize("parameter", ["temperature", "output_config", "cache_control"])
async def test_a_refused_parameter_is_dropped_once_and_recorded(parameter: str) -> None:
    with start("anthropic_api", "--refuse", parameter) as server:
        judge = judge_at(server.url)
        replies = [await judge.ask(asking()) for _ in range(3)]
        asked = request_count(server)
        await judge.close()
    assert asked == 4
    assert {reply.dropped for reply in replies} == {(parameter,)}
    assert parameter not in replies[0].sent


@pytest.mark.parametrize(
    "said",
    [
        "`temperature` is deprecated for this model.",
        "temperature: Extra inputs are not permitted",
        "`temperature` may only be set to 1 for this model",
    ],
)
async def test_a_refusal_is_known_in_several_words(said: str) -> None:
    (reply,) = await replies_to(refused(400, "invalid_request_error", said), message())
    assert reply.dropped == ("temperature",)


async def test_a_parameter_refused_before_is_not_sent_again() -> None:
    with start("anthropic_api", "--refuse", "temperature") as server:
        judge = judge_at(server.url)
        await judge.prepare(workload(known=Capabilities(refused=("temperature",), endpoints=(server.url,))))
        reply = await judge.ask(asking())
        asked = request_count(server)
        await judge.close()
    assert asked == 1
    assert reply.dropped == ("temperature",)


async def test_what_is_known_of_another_server_is_not_believed() -> None:
    with start("anthropic_api") as server:
        judge = judge_at(server.url)
        known = Capabilities(refused=("temperature",), endpoints=("http://elsewhere:1",))
        await judge.prepare(workload(known=known))
        reply = await judge.ask(asking())
        await judge.close()
    assert reply.dropped == ()


@pytest.mark.parametrize(
    ("response", "kind", "retry"),
    [
        (
            refused(400, "invalid_request_error", "prompt is too long: 9 tokens > 5 maximum"),
            "overflow",
            False,
        ),
        (refused(413, "request_too_large", "Request exceeds the maximum size"), "overflow", False),
        (refused(400, "invalid_request_error", "messages: roles must alternate"), "bad_request", False),
        (refused(200, "overloaded_error", "Overloaded"), "overloaded", True),
        (answer(307, b"", "Location: http://127.0.0.1:1/"), "redirect", False),
        (answer(200, b"[1]"), "bad_body", True),
        (answer(200, {"content": None}), "bad_body", True),
        (message("", "model_context_window_exceeded"), "overflow", False),
        (message("I will not.", "refusal"), "refusal", False),
        (message('{"reasoning": "so', "max_tokens"), "length", False),
    ],
)
async def test_each_failure_is_classified(response: bytes, kind: str, retry: bool) -> None:
    error = await one_error(response)
    assert (error.kind, error.retry) == (kind, retry)


@pytest.mark.parametrize(
    ("status", "kind", "said", "title"),
    [
        (401, "authentication_error", f"invalid x-api-key {PLANTED}", "refused the key in MY_KEY"),
        (403, "permission_error", f"no access with {PLANTED}", "refused the key in MY_KEY"),
        (404, "not_found_error", "model: hash-judge", "no model “hash-judge”"),
        (400, "invalid_request_error", "Your credit balance is too low to access the API.", "no credit"),
        (402, "billing_error", "billing", "no credit"),
    ],
)
async def test_an_error_that_every_call_would_meet_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, status: int, kind: str, said: str, title: str
) -> None:
    monkeypatch.setenv("MY_KEY", PLANTED)
    with serving(scripted(refused(status, kind, said))) as stub:
        judge = judge_at(stub.url, key="MY_KEY")
        await judge.prepare(workload())
        fault = await judge_error(judge, in_ask=True)
        await judge.close()
    assert title in fault.title
    head = stub.heads[-1].lower()
    assert f"x-api-key: {PLANTED}" in head
    assert "anthropic-version: 2023-06-01" in head
    assert "authorization" not in head
    assert PLANTED not in f"{fault} {fault!r} {judge!r} {vars(judge)!r}"


async def test_a_model_that_is_not_there_and_a_wrong_key_show_before_the_first_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with start("anthropic_api", "--api-key", "right-key-123") as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", PLANTED)
        wrong = await judge_error(judge := judge_at(server.url))
        await judge.close()
        monkeypatch.setenv("ANTHROPIC_API_KEY", "right-key-123")
        missing = await judge_error(judge := judge_at(server.url, model="other"))
        await judge.close()
    assert "ANTHROPIC_API_KEY" in wrong.title
    assert PLANTED not in str(wrong)
    assert "“other”" in missing.title


async def test_anthropic_itself_wants_a_key_and_a_named_one_must_be_there() -> None:
    assert "ANTHROPIC_API_KEY" in (await judge_error(make(JudgeSpec(spec="anthropic:m")))).cause
    assert "MY_KEY" in (await judge_error(judge_at("http://127.0.0.1:1", key="MY_KEY"))).cause


async def test_a_key_sent_back_by_the_server_reaches_no_reply_and_no_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", PLANTED)
    blocks = [{"type": "thinking", "thinking": PLANTED}, {"type": "text", "text": f"you sent {PLANTED}"}]
    echo = answer(200, {"model": PLANTED, "content": blocks, "stop_reason": PLANTED})
    faults = [refused(status, PLANTED, PLANTED) for status in (400, 429, 500, 529, 413)]
    faults += [answer(200, PLANTED.encode()), message(PLANTED, "refusal")]
    with serving(scripted(echo, *faults)) as stub:
        judge = judge_at(stub.url)
        await judge.prepare(workload())
        reply = await judge.ask(asking())
        errors = [await call_error(judge) for _ in faults]
        seen = repr(reply) + repr(vars(judge)) + "".join(str(e) + repr(e) for e in errors)
        await judge.close()
    assert "you sent [ANTHROPIC_API_KEY]" in reply.text
    assert PLANTED not in seen


async def test_the_deadline_ends_a_call_that_hangs() -> None:
    with start("anthropic_api", "--faults", "hang:1") as server:
        judge = judge_at(server.url)
        await judge.prepare(workload())
        judge._timeout_s = 0.2
        error = await call_error(judge)
        await judge.close()
    assert (error.kind, error.retry) == ("timeout", True)


async def test_a_missing_server_is_reported_and_several_share_the_calls() -> None:
    with serving(scripted(b"")) as stub:
        gone = stub.url
    judge = judge_at(gone)
    error, call = await judge_error(judge), await call_error(judge)
    await judge.close()
    assert gone in error.title
    assert (call.kind, call.retry) == ("connection", True)
    with start("anthropic_api", "--delay-ms", 20) as one, start("anthropic_api", "--delay-ms", 20) as two:
        judge = judge_at(gone, one.url, two.url)
        await judge.prepare(workload())
        await asyncio.gather(*(judge.ask(asking(f"case {n}")) for n in range(10)))
        asked = [request_count(s) for s in (one, two)]
        await judge.close()
    assert sum(asked) == 10
    assert min(asked) > 0
