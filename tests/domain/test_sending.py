"""Options that are sent along: what is understood, what is refused, and what becomes of a body and of a hash."""

from __future__ import annotations

import pytest

from recjudge_tui.domain.address import sending_options, with_options
from recjudge_tui.errors import UsageError
from recjudge_tui.runs.settings import settings_for


def test_values_are_json_and_a_bare_word_is_text() -> None:
    words = ["think=false", "reasoning_effort=low", 'stop=["a", "b"]', 'options={"top_k": 20}', "min_p=null"]
    assert sending_options(words) == {
        "think": False, "reasoning_effort": "low", "stop": ["a", "b"], "options": {"top_k": 20}, "min_p": None,
    }  # fmt: skip
    assert sending_options(["a=b=c".replace("b=c", '"b=c"')]) == {"a": "b=c"}


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("think", "KEY=JSON"), ("=1", "KEY=JSON"), ("a=", "KEY=JSON"), ("a={", "not JSON"), ("a=NaN b", "not JSON"),
        ("a=" + "[" * 100_000, "not JSON"), ("temperature=1", "set by recjudge"), ("max_tokens=9", "from 16"),
        ('options={"num_predict": 9}', "set by recjudge"), ("n=5", "set by recjudge"), ("stream=true", "set by recjudge"),
        ('api_key="sk-123"', "looks like a secret"), ('extra={"Authorization": "x"}', "looks like a secret"),
    ],
)  # fmt: skip
def test_options_that_cannot_be_sent_are_refused(word: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        sending_options([word])


def test_objects_are_merged_and_null_takes_a_parameter_out() -> None:
    body = {"a": {"x": 1}, "b": 2, "c": 3}
    sent = with_options(body, {"a": {"y": 2}, "b": None, "d": False})
    assert sent == {"a": {"x": 1, "y": 2}, "c": 3, "d": False}
    assert body["a"] == {"x": 1}


@pytest.mark.parametrize(
    "options", [{"max_tokens": 4000}, {"max_completion_tokens": None, "max_tokens": 4000}]
)
def test_a_cap_among_the_options_is_that_of_the_run(options: dict[str, object]) -> None:
    settings = settings_for("pointwise", sending={**options, "think": False})
    assert (settings.max_tokens, settings.sending) == (4000, {"think": False})
