from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.judges.openai import OpenAIJudge, make
from tests.support.judge_calls import asking, call_error
from tests.support.stub_server import answer, completion, serving

GOOD = json.dumps({"reasoning": "r", "category": "Good Match"})


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
        await judge.close()
    assert (error.kind, error.retry) == (kind, retry)


async def test_usage_is_read_with_its_details_and_nonsense_is_none() -> None:
    details = {
        "prompt_tokens_details": {"cached_tokens": 80},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    good = {"prompt_tokens": 100, "completion_tokens": 9, "cost": 0.002, **details}
    bad = {"prompt_tokens": "100", "completion_tokens": -1, "cost": True, "prompt_tokens_details": None}
    with answering(*({**completion(GOOD), "usage": usage} for usage in (good, bad, None))) as judge:
        first, second, third = [(await judge.ask(asking())).usage for _ in range(3)]
        await judge.close()
    expected = {"input": 100, "output": 9, "cached_input": 80, "reasoning": 5, "cost_usd": 0.002}
    assert first.model_dump(exclude_none=True) == expected
    assert set(second.model_dump().values()) == set(third.model_dump().values()) == {None}
