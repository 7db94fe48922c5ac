"""Where a judge answers: each option is declared once, and every place that asks for it has all of them."""

from __future__ import annotations

import click
import pytest

from recjudge_tui.cli.judging.judges import judge
from recjudge_tui.cli.judging.prompts import prompt
from recjudge_tui.cli.judging.robustness import robustness
from recjudge_tui.cli.judging.run import run
from recjudge_tui.config_file import SECTIONS
from recjudge_tui.domain.address import ADDRESS_OPTIONS, AddressError
from recjudge_tui.domain.judge import JudgeAddress, JudgeSpec
from recjudge_tui.tui.prompts.trial import FIELDS as TRIAL_FIELDS
from recjudge_tui.tui.runs.launch_form import FIELD_BY_NAME

COMMANDS: tuple[click.Command, ...] = (
    run, judge.commands["test"], prompt.commands["try"], *robustness.commands.values(),
)  # fmt: skip


def test_every_place_has_every_option() -> None:
    names = set(ADDRESS_OPTIONS)
    assert set(JudgeAddress.model_fields) == names
    assert names <= set(FIELD_BY_NAME)
    assert names < {name for name, _, _ in TRIAL_FIELDS}
    assert {option.setting for option in ADDRESS_OPTIONS.values()} < set(SECTIONS["run"])


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command.name))
def test_every_command_that_asks_a_judge_has_every_option(command: click.Command) -> None:
    flags = {flag for parameter in command.params for flag in parameter.opts}
    assert {option.flag for option in ADDRESS_OPTIONS.values()} <= flags


def test_option_words_and_the_address_record_convert_into_each_other() -> None:
    words = {
        "base_urls": ("http://a/v1", "http://b/v1"),
        "api_key_env": ("MY_KEY",),
        "header_env": ("x-route=ROUTE", "x-key=KEY"),
    }
    address = JudgeAddress.of_words(words)
    assert address.words == words
    assert address.header_env == (("x-route", "ROUTE"), ("x-key", "KEY"))
    assert address == JudgeAddress.model_validate(
        {**words, "api_key_env": "MY_KEY", "header_env": {"x-route": "ROUTE", "x-key": "KEY"}}
    )
    assert JudgeAddress.of_words(JudgeAddress().words) == JudgeAddress()


def test_a_judge_is_stored_as_before_headers_came() -> None:
    stored = '{"spec":"openai:m","base_urls":["http://a"],"api_key_env":"MY_KEY"}'
    judge = JudgeAddress(base_urls=("http://a",), api_key_env="MY_KEY").judge_named("openai:m")
    assert judge.model_dump_json() == stored
    assert JudgeSpec.model_validate_json(stored) == judge


@pytest.mark.parametrize(
    ("name", "words"),
    [("header_env", ("sk-planted-1",)), ("header_env", ("x=",)), ("api_key_env", ("sk-planted-1", "b"))],
)
def test_words_that_do_not_fit_are_not_repeated(name: str, words: tuple[str, ...]) -> None:
    with pytest.raises(AddressError) as error:
        JudgeAddress.of_words({name: words})
    assert error.value.option == name
    assert "planted" not in str(error.value)
