"""Options that are sent along: what is understood, what is refused, and what becomes of a body and of a hash."""

from __future__ import annotations

from typing import Any

import pytest

from recjudge_tui.domain.address import sending_options, with_options
from recjudge_tui.domain.calls import Message, Request, Sampling
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import UsageError
from recjudge_tui.judges.providers.vendor import HttpJudge
from recjudge_tui.judges.registry import make_judge


def test_values_are_json_and_a_bare_word_is_text() -> None:
    words = [
        "think=false",
        "reasoning_effort=low",
        'stop=["a", "b"]',
        'options={"top_k": 20}',
        "top_p=0.9",
        "min_p=null",
    ]
    assert sending_options(words) == {
        "think": False, "reasoning_effort": "low", "stop": ["a", "b"], "options": {"top_k": 20}, "top_p": 0.9, "min_p": None,
    }  # fmt: skip
    assert sending_options(["a=b=c".replace("b=c", '"b=c"')]) == {"a": "b=c"}


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("think", "KEY=JSON"), ("=1", "KEY=JSON"), ("a=", "KEY=JSON"), ("a={", "not JSON"), ("a=NaN b", "not JSON"),
        ("a=" + "[" * 100_000, "not JSON"), ("temperature=1", "set by recjudge"), ("max_tokens=9", "set by recjudge"),
        ('options={"num_predict": 9}', "set by recjudge"), ("n=5", "set by recjudge"), ("stream=true", "set by recjudge"),
        ('api_key="sk-123"', "looks like a secret"), ('extra={"Authorization": "x"}', "looks like a secret"),
    ],
)  # fmt: skip
def test_options_that_cannot_be_sent_are_refused(word: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        sending_options([word])


def test_objects_are_merged_and_null_takes_a_parameter_out() -> None:
    body = {"a": {"x": 1}, "b": 2, "c": 3}
    assert with_options(body, {"a": {"y": 2}, "b": None, "d": False}) == {
        "a": {"x": 1, "y": 2},
        "c": 3,
        "d": False,
    }
    assert body["a"] == {"x": 1}


def request(**extra: Any) -> Request:
    return Request(
        messages=(Message(role="user", content="hi"),),
        reply_schema={"type": "object"},
        sampling=Sampling(extra=extra),
    )


@pytest.mark.parametrize(
    ("spec", "extra", "expected"),
    [
        ("openai:m", {"reasoning_effort": "low"}, {"reasoning_effort": "low", "seed": 7}),
        ("openai:m", {"chat_template_kwargs": {"x": 1}}, {"chat_template_kwargs": {"x": 1}}),
        ("ollama:m", {"think": False, "options": {"top_k": 20}}, {"think": False, "truncate": False}),
        ("anthropic:m", {"thinking": {"type": "disabled"}}, {"thinking": {"type": "disabled"}, "max_tokens": 2048}),
    ],
)  # fmt: skip
def test_every_api_gets_them_in_its_body(spec: str, extra: dict[str, Any], expected: dict[str, Any]) -> None:
    judge = make_judge(JudgeSpec(spec=spec))
    assert isinstance(judge, HttpJudge)
    body = judge.wire(request(**extra), {}, ()).body
    assert {name: body.get(name) for name in expected} == expected
    if spec.startswith("ollama"):
        assert (body["options"]["top_k"], body["options"]["seed"]) == (20, 7)
    if spec.startswith("anthropic"):
        merged = judge.wire(request(output_config={"effort": "low"}), {}, ()).body["output_config"]
        assert merged["effort"] == "low"
        assert merged["format"]["type"] == "json_schema"
