from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from typing import Any

import httpx2 as httpx
import pytest

from recjudge_tui.domain.calls import Message, Request, Sampling
from recjudge_tui.domain.judge import Capabilities, JudgeSpec
from recjudge_tui.errors import CallError, JudgeError
from recjudge_tui.judges import anthropic as anthropic_judge
from recjudge_tui.judges import openai as openai_judge
from recjudge_tui.judges.openai import OpenAIJudge, make
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.judges.replies import (
    CallTarget,
    ServerError,
    error_in_body,
    failure,
    label_confidence,
    retry_after,
)
from recjudge_tui.judges.servers import without_bounds
from recjudge_tui.protocols.registry import protocol
from tests.support.cases import SHIPPED, material_for, shipped
from tests.support.judge_calls import LABELS, SCHEMA, asking, call_error, workload
from tests.support.servers.counts import request_count
from tests.support.servers.process import ServerProcess, start
from tests.support.stub_server import answer, completion, serving

ASKED = CallTarget(
    "http://server/v1", "a-model", "MY_KEY", lambda text: text.replace("planted-key", "[MY_KEY]")
)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "7200"}, 3600.0),
        ({"Retry-After": "1e9"}, 3600.0),
        ({"Retry-After": "9" * 200}, 3600.0),
        ({"retry-after-ms": "99999999999"}, 3600.0),
        ({"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}, 3600.0),
        ({"retry-after-ms": "250", "Retry-After": "9"}, 0.25),
        ({"retry-after-ms": "?", "Retry-After": "9"}, 9.0),
        ({"Retry-After": formatdate(5000, usegmt=True), "Date": formatdate(4970, usegmt=True)}, 30.0),
        ({"Retry-After": formatdate(4000, usegmt=True), "Date": formatdate(4970, usegmt=True)}, 0.0),
    ],
)
def test_retry_after_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(httpx.Headers(headers)) == seconds


def test_a_date_without_the_servers_clock_is_read_against_ours() -> None:
    wait = retry_after(httpx.Headers({"Retry-After": formatdate(time.time() + 60, usegmt=True)}))
    assert wait is not None
    assert 55 < wait <= 60


@pytest.mark.parametrize(
    ("status", "said", "kind", "retry"),
    [
        (429, ServerError("slow down"), "rate_limit", True),
        (503, ServerError("no slot"), "overloaded", True),
        (529, ServerError("Overloaded"), "overloaded", True),
        (500, ServerError("oops"), "server_error", True),
        (502, ServerError("bad gateway"), "server_error", True),
        (504, ServerError("upstream timed out"), "timeout", True),
        (408, ServerError("slow"), "timeout", True),
        (400, ServerError("messages: wrong"), "bad_request", False),
        (422, ServerError("wrong"), "bad_request", False),
        (302, ServerError(""), "redirect", False),
        (413, ServerError("too large"), "overflow", False),
        (400, ServerError("x", code="context_length_exceeded"), "overflow", False),
        (400, ServerError("x", kind="exceed_context_size_error"), "overflow", False),
        (400, ServerError("This model's maximum context length is 4096 tokens."), "overflow", False),
        (400, ServerError("the input length exceeds the context length"), "overflow", False),
        (400, ServerError("filtered", code="content_filter"), "refusal", False),
        (403, ServerError("Your input was flagged by moderation"), "refusal", False),
    ],
)
def test_errors_that_end_one_call(status: int, said: ServerError, kind: str, retry: bool) -> None:
    error = failure(status, httpx.Headers({"Retry-After": "3"}), said, ASKED)
    assert isinstance(error, CallError)
    assert (error.kind, error.retry, error.retry_after) == (kind, retry, 3.0 if retry else None)


@pytest.mark.parametrize(
    ("status", "said", "names"),
    [
        (401, ServerError("Incorrect API key: planted-key"), "refused the key in MY_KEY"),
        (403, ServerError("no access"), "refused the key in MY_KEY"),
        (402, ServerError("pay"), "no credit"),
        (429, ServerError("quota", code="insufficient_quota"), "no credit"),
        (404, ServerError("The model `a-model` does not exist"), "no model “a-model”"),
        (400, ServerError("gone", code="model_not_found"), "no model “a-model”"),
        (404, ServerError("page not found"), "has nothing at this address"),
        (404, ServerError("gone", code="deploymentnotfound"), "no such deployment"),
    ],
)
def test_errors_that_end_the_run(status: int, said: ServerError, names: str) -> None:
    error = failure(status, httpx.Headers(), said, ASKED)
    assert isinstance(error, JudgeError)
    assert names in error.title
    assert error.next_step
    assert "planted-key" not in str(error)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "m", "type": "T", "code": "C", "param": "p"}}, ServerError("m", "t", "c", "p")),
        ({"error": {"message": "m", "code": 400, "n_prompt_tokens": 9, "n_ctx": 5}}, ServerError("m", "", "400", "", 9, 5)),
        ({"error": "plain"}, ServerError("plain")),
        ({"object": "error", "message": "vllm says"}, ServerError("vllm says")),
        ({"detail": [{"msg": "x"}]}, ServerError('[{"msg": "x"}]')),
        (["x"], ServerError('["x"]')),
    ],
)  # fmt: skip
def test_the_servers_words_are_found_in_every_shape(body: object, said: ServerError) -> None:
    assert error_in_body(body) == said


# ---- confidence ----------------------------------------------------------------------------------------------


CONFIDENCE_ASKED = asking().model_copy(update={"label_field": "category"})
Alternatives = dict[str, float]  # token -> probability


def entry(token: str, alternatives: Alternatives | None = None, **more: Any) -> dict[str, Any]:
    """One token as servers list it; by default it was the only possibility."""
    listed = {token: 0.99} if alternatives is None else alternatives
    top = [{"token": t, "logprob": math.log(p), "bytes": list(t.encode())} for t, p in listed.items()]
    return {"token": token, "logprob": -0.1, "bytes": list(token.encode()), "top_logprobs": top, **more}


def entries(text: str, place: str, *tokens: dict[str, Any]) -> list[dict[str, Any]]:
    """The text before `place` and what comes after `tokens` as one token each, `tokens` in between."""
    start = text.index(place)
    middle = "".join(t["token"] for t in tokens)
    assert text.startswith(middle, start)
    return [entry(text[:start]), *tokens, entry(text[start + len(middle) :])]


GOOD = json.dumps({"reasoning": "so", "category": "Good Match"})


def test_one_deciding_token_is_normalised_over_the_labels_that_were_seen() -> None:
    deciding = entry("Good", {"Good": 0.6, "Poor": 0.2, "Partial": 0.1, "Great": 0.05})
    found = label_confidence(CONFIDENCE_ASKED, GOOD, entries(GOOD, "Good", deciding, entry(" Match")))
    assert found == pytest.approx(0.6 / 0.9)


def test_scores_are_labels_too_and_one_digit_may_be_another() -> None:
    schema = {"properties": {"score": {"type": "integer", "enum": [1, 2, 10]}}}
    request = Request(messages=(), reply_schema=schema, label_field="score")
    text = '{"score": 1}'
    first = entry("1", {"1": 0.6, "2": 0.2})
    closing = entry("}", {"}": 0.7, "0": 0.1})
    assert label_confidence(request, text, [entry('{"score": '), first, closing]) == pytest.approx(
        (0.6 / 0.8) * (0.7 / 0.8)
    )


def test_thinking_before_the_answer_and_the_same_words_inside_it_are_passed_over() -> None:
    text = json.dumps({"reasoning": 'not "category": "Poor Match"', "category": "Good Match"})
    deciding = entry("Good", {"Good": 0.9, "Poor": 0.1})
    listed = [entry("<think>Poor Match? Good Match!</think>"), *entries(text, "Good", deciding)]
    assert label_confidence(CONFIDENCE_ASKED, text, listed) == pytest.approx(0.9)


DECIDED = entry("Good", {"Good": 0.9, "Poor": 0.1})


@pytest.mark.parametrize(
    ("request_", "text", "listed"),
    [
        (CONFIDENCE_ASKED, GOOD, []),
        (CONFIDENCE_ASKED, GOOD, None),
        (CONFIDENCE_ASKED, GOOD, [{"token": 1}]),
        (CONFIDENCE_ASKED, GOOD, entries(GOOD, "Good", {**DECIDED, "top_logprobs": []})),  # no alternatives
        (CONFIDENCE_ASKED, GOOD, entries(GOOD, "Good", entry("Good", {"Poor": 0.9}))),  # a grammar chose it
        (CONFIDENCE_ASKED, GOOD, [entry("something else")]),
        (CONFIDENCE_ASKED, "Good Match", [DECIDED, entry(" Match")]),  # not JSON
        (CONFIDENCE_ASKED, '{"category": "Fine"}', [entry('{"category": "Fine"}')]),
        (CONFIDENCE_ASKED, '{"reasoning": "Good Match"}', [entry('{"reasoning": "Good Match"}')]),
        (CONFIDENCE_ASKED, GOOD[:-1], entries(GOOD[:-1], "Good", DECIDED)),  # cut off
        (asking(), GOOD, entries(GOOD, "Good", DECIDED)),  # no label was named
        (
            CONFIDENCE_ASKED.model_copy(update={"label_field": "reasoning"}),
            GOOD,
            entries(GOOD, "Good", DECIDED),
        ),
    ],
)
def test_where_nothing_follows_there_is_none(request_: Request, text: str, listed: object) -> None:
    assert label_confidence(request_, text, listed) is None


async def test_logprobs_are_asked_for_only_where_they_are_known_to_work() -> None:
    choice = completion(GOOD)
    choice["choices"][0]["logprobs"] = {"content": entries(GOOD, "Good", DECIDED)}
    with serving(lambda line, n: answer(200, choice) if "POST" in line else answer(404, {})) as stub:
        replies = []
        for known in (None, Capabilities(), Capabilities(logprobs=True)):
            judge = make(JudgeSpec(spec="openai:m", base_urls=(stub.url,)))
            await judge.prepare(workload(known=known))
            replies.append(await judge.ask(CONFIDENCE_ASKED))
        sent = [json.loads(body) for body in stub.bodies if body]
    assert ["logprobs" in body for body in sent] == [False, False, True]
    assert sent[-1]["top_logprobs"] == 5
    assert replies[-1].label_confidence == pytest.approx(0.9)


async def test_a_real_server_gives_logprobs_that_fit_its_text(
    llama_server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        openai_judge, "TOP_LOGPROBS", 5000
    )  # its whole vocabulary: the grammar's choice is among it
    judge = make(JudgeSpec(spec="openai:tiny-stair", base_urls=(llama_server.url,)))
    await judge.prepare(workload(known=Capabilities(logprobs=True)))
    request = Request(
        messages=(Message(role="system", content="x"), Message(role="user", content="which?")),
        reply_schema=SCHEMA,
        label_field="category",
    )
    replies = [
        await judge.ask(request.model_copy(update={"messages": (Message(role="user", content=f"{n}?"),)}))
        for n in range(3)
    ]
    assert all(reply.logprobs for reply in replies)
    found = [reply.label_confidence for reply in replies]
    assert all(confidence is not None and 0 < confidence <= 1 for confidence in found), found
    assert len(set(found)) > 1


# ---- openai reply --------------------------------------------------------------------------------------------


OPENAI_REPLY_GOOD = json.dumps({"reasoning": "r", "category": "Good Match"})


@contextmanager
def answering(*bodies: object) -> Iterator[OpenAIJudge]:
    """A judge whose server sends these bodies in turn, with status 200."""
    with serving(lambda line, n: answer(200, bodies[n])) as stub:
        yield make(JudgeSpec(spec="openai:m", base_urls=(stub.url,)))


@pytest.mark.parametrize(
    ("body", "kind", "retry"),
    [
        (completion("", finish="length", reasoning_content="hm"), "thinking", False),
        (completion("<think>hm, hm", finish="length"), "thinking", False),
        (completion('{"reasoning": "', finish="length"), "length", False),
        (completion(""), "empty", True),
        (completion(None), "empty", True),
        (completion(None, refusal="I can't."), "refusal", False),
        (completion("", finish="content_filter"), "refusal", False),
        ([], "bad_body", True),
        ({"ok": True}, "bad_body", True),
        ({"choices": [{}]}, "bad_body", True),
        (b'{"choices": [{"mess', "bad_body", True),
        (b"", "bad_body", True),
        pytest.param(b"[" * 100_000, "bad_body", True, id="deeply nested"),
        ({"error": {"message": "upstream broke", "code": 502}}, "server_error", True),
        ({"error": {"message": "slow down", "code": 429}}, "rate_limit", True),
    ],
)
async def test_an_invalid_answer_fails_with_its_kind_of_error(body: object, kind: str, retry: bool) -> None:
    with answering(body) as judge:
        error = await call_error(judge)
    assert (error.kind, error.retry) == (kind, retry)


async def test_usage_is_read_with_its_details_and_nonsense_is_none() -> None:
    details = {
        "prompt_tokens_details": {"cached_tokens": 80},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    good = {"prompt_tokens": 100, "completion_tokens": 9, "cost": 0.002, **details}
    bad = {"prompt_tokens": "100", "completion_tokens": -1, "cost": True, "prompt_tokens_details": None}
    with answering(
        *({**completion(OPENAI_REPLY_GOOD), "usage": usage} for usage in (good, bad, None))
    ) as judge:
        first, second, third = [(await judge.ask(asking())).usage for _ in range(3)]
    expected = {"input": 100, "output": 9, "cached_input": 80, "reasoning": 5, "cost_usd": 0.002}
    assert first.model_dump(exclude_none=True) == expected
    assert set(second.model_dump().values()) == set(third.model_dump().values()) == {None}


# ---- schemas -------------------------------------------------------------------------------------------------


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


# ---- vendors -------------------------------------------------------------------------------------------------


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
    assert (error.kind, error.retry) == FAULTS[fault]
    # an answer that is cut early may not have known the name of the cap
    assert asked == (2 if (server, fault) == ("openai_api", "length") else 1)
    assert error.retry_after == (3.0 if fault == "429" and delay else error.retry_after)
    assert json.loads(reply.text)["category"] in LABELS
