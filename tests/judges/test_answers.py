from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from typing import Any

import httpx2 as httpx
import pytest

from recjudge_tui.domain.calls import Message, Request
from recjudge_tui.domain.judge import Capabilities, JudgeSpec
from recjudge_tui.errors import CallError, JudgeError
from recjudge_tui.judges.openai import OpenAIJudge
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.judges.replies import (
    CallTarget,
    ServerError,
    error_in_body,
    failure,
    label_confidence,
    retry_after,
)
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
        ({}, None), ({"Retry-After": "7"}, 7.0), ({"Retry-After": "0.5"}, 0.5), ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "soon"}, None), ({"Retry-After": "inf"}, None), ({"Retry-After": "7200"}, 3600.0),
        ({"Retry-After": "9" * 200}, 3600.0), ({"retry-after-ms": "99999999999"}, 3600.0),
        ({"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}, 3600.0),
        ({"retry-after-ms": "250", "Retry-After": "9"}, 0.25), ({"retry-after-ms": "?", "Retry-After": "9"}, 9.0),
        ({"Retry-After": formatdate(5000, usegmt=True), "Date": formatdate(4970, usegmt=True)}, 30.0),
        ({"Retry-After": formatdate(4000, usegmt=True), "Date": formatdate(4970, usegmt=True)}, 0.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "7m13s"}, 433.0),
        ({"x-ratelimit-remaining-tokens": "9", "x-ratelimit-reset-tokens": "7m13s"}, None),
        ({"x-ratelimit-reset": "12.5", "Retry-After": "?"}, 12.5),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "4102444800000"}, 3600.0),
    ],
)  # fmt: skip
def test_retry_after_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(httpx.Headers(headers)) == seconds


@pytest.mark.parametrize(
    ("status", "said", "kind", "retry"),
    [
        (429, ServerError("slow down"), "rate_limit", True),
        (503, ServerError("no slot"), "overloaded", True),
        (498, ServerError("Flex tier capacity exceeded"), "overloaded", True),
        (502, ServerError("bad gateway"), "server_error", True),
        (504, ServerError("upstream timed out"), "timeout", True),
        (302, ServerError(""), "redirect", False),
        (413, ServerError("too large"), "overflow", False),
        (400, ServerError("x", code="context_length_exceeded"), "overflow", False),
        (400, ServerError("x", kind="exceed_context_size_error"), "overflow", False),
        (400, ServerError("This model's maximum context length is 4096 tokens."), "overflow", False),
        (400, ServerError("input length and `max_tokens` exceed context limit: 19 + 2 > 20"), "overflow", False),
        (400, ServerError("The maximum prompt length is 10 but the request contains 13 tokens."), "overflow", False),
        (400, ServerError("The input token count (13) exceeds the maximum number of tokens"), "overflow", False),
        (422, ServerError("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000"), "overflow", False),
        (400, ServerError("filtered", code="content_filter"), "refusal", False),
        (400, ServerError("Output blocked by content filtering policy"), "refusal", False),
        (400, ServerError("Invalid prompt: your prompt was flagged as potentially violating"), "refusal", False),
        (403, ServerError("Your input was flagged by moderation"), "refusal", False),
        (422, ServerError("messages: wrong"), "bad_request", False),
    ],
)  # fmt: skip
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
        (400, ServerError("The model `x` has been decommissioned"), "no model “a-model”"),
        (400, ServerError("Model Not Exist"), "no model “a-model”"),
        (400, ServerError('Failed to load model "a-model". Error: insufficient resources'), "cannot load"),
        (400, ServerError("This organization has been disabled."), "does not serve this account"),
        (429, ServerError("used all available credits or reached its spending limit"), "no credit"),
        (502, ServerError("Unexpected endpoint or method. (POST /chat)"), "nothing at this address"),
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
        ({"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": "plain"}}},
         ServerError("plain", code="400")),
        ({"error": {"message": "p", "code": 400, "metadata": {"raw": '{"error": {"message": "m", "code": "C"}}'}}},
         ServerError("m", code="c")),
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


def test_scores_are_labels_too_and_one_digit_may_be_another() -> None:
    schema = {"properties": {"score": {"type": "integer", "enum": [1, 2, 10]}}}
    request = Request(messages=(), reply_schema=schema, label_field="score")
    text = '{"score": 1}'
    first = entry("1", {"1": 0.6, "2": 0.2})
    closing = entry("}", {"}": 0.7, "0": 0.1})
    assert label_confidence(request, text, [entry('{"score": '), first, closing]) == pytest.approx(
        (0.6 / 0.8) * (0.7 / 0.8)
    )


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


async def test_a_real_server_gives_logprobs_that_fit_its_text(
    llama_server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    # its whole vocabulary: the grammar's choice is among it
    monkeypatch.setattr("recjudge_tui.judges.replies.TOP_LOGPROBS", 5000)
    judge = OpenAIJudge(JudgeSpec(spec="openai:tiny-stair", base_urls=(llama_server.url,)))
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


@contextmanager
def answering(*bodies: object) -> Iterator[OpenAIJudge]:
    """A judge whose server sends these bodies in turn."""
    with serving(lambda line, n: answer(201, bodies[n])) as stub:
        yield OpenAIJudge(JudgeSpec(spec="openai:m", base_urls=(stub.url,)))


@pytest.mark.parametrize(
    ("body", "kind", "retry"),
    [
        (completion("", finish="length", reasoning_content="hm"), "thinking", False),
        (completion("<think>hm, hm", finish="length"), "thinking", False),
        (completion('{"reasoning": "', finish="length"), "length", False),
        (completion('{"reasoning": "', finish="MAX_TOKENS"), "length", False),
        (completion('{"reasoning": "', finish="model_length"), "overflow", False),
        (completion(None), "empty", True),
        (completion(None, refusal="I can't."), "refusal", False),
        ({"choices": [{"finish_reason": "content_filter: PROHIBITED_CONTENT"}]}, "refusal", False),
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
