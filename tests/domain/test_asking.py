"""What is asked and where: requests and their hashes, addresses, options of runs and of servers."""

from __future__ import annotations

import pytest

from recjudge_tui.domain.address import AddressError, sending_options
from recjudge_tui.domain.judge import JudgeAddress
from recjudge_tui.errors import UsageError

# ---- addresses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [("header_env", ("sk-planted-1",)), ("header_env", ("x=",)), ("api_key_env", ("sk-planted-1", "b"))],
)
def test_words_that_do_not_fit_are_not_repeated(name: str, words: tuple[str, ...]) -> None:
    with pytest.raises(AddressError) as error:
        JudgeAddress.of_words({name: words})
    assert error.value.option == name
    assert "planted" not in str(error.value)


# ---- options that are sent along ------------------------------------------------------------------------------------


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
