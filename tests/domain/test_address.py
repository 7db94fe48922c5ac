"""Where a judge answers: each option is declared once, and every place that asks for it has all of them."""

from __future__ import annotations

import pytest

from recjudge_tui.domain.address import AddressError
from recjudge_tui.domain.judge import JudgeAddress


def test_option_words_and_the_address_record_convert_into_each_other() -> None:
    words = {
        "base_urls": ("http://a/v1", "http://b/v1"),
        "api_key_env": ("MY_KEY",),
        "header_env": ("x-route=ROUTE", "x-key=KEY"),
    }
    address = JudgeAddress.of_words(words)
    assert address.words == words
    assert address.header_env == (("x-route", "ROUTE"), ("x-key", "KEY"))
    assert JudgeAddress.of_words(JudgeAddress().words) == JudgeAddress()


@pytest.mark.parametrize(
    ("name", "words"),
    [("header_env", ("sk-planted-1",)), ("header_env", ("x=",)), ("api_key_env", ("sk-planted-1", "b"))],
)
def test_words_that_do_not_fit_are_not_repeated(name: str, words: tuple[str, ...]) -> None:
    with pytest.raises(AddressError) as error:
        JudgeAddress.of_words({name: words})
    assert error.value.option == name
    assert "planted" not in str(error.value)
