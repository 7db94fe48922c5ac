from __future__ import annotations

import time
from email.utils import formatdate

import httpx2 as httpx
import pytest

from recjudge_tui.errors import CallError, JudgeError
from recjudge_tui.judges.replies import (
    CallTarget,
    ServerError,
    error_in_body,
    failure,
    retry_after,
)

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
