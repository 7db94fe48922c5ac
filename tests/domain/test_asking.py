"""What is asked and where: requests and their hashes, addresses, options of runs and of servers."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from recjudge_tui.cli.command import command_named
from recjudge_tui.domain.address import AddressError, sending_options, with_options
from recjudge_tui.domain.calls import Message, Request, Sampling
from recjudge_tui.domain.judge import JudgeAddress
from recjudge_tui.domain.material import ItemView, Material, SlateView, UserView
from recjudge_tui.domain.protocols import offered, protocol_facts
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.domain.run_options import RUN_OPTIONS, RunOption
from recjudge_tui.errors import UsageError
from recjudge_tui.runs.settings import settings_for

MATERIAL = Material(
    kind="pair",
    user=UserView(user_id="u"),
    slates=tuple(SlateView(items=(ItemView(item_id=i, title=i),)) for i in "ab"),
)
REQUEST = Request(
    messages=(Message(role="system", content="Judge."), Message(role="user", content="Zoë\udcff漢字")),
    reply_schema={"type": "object", "properties": {"b": {}, "a": {}}},
    material=MATERIAL,
)


def test_everything_that_the_judge_sees_is_part_of_the_hash() -> None:
    one, two = REQUEST.messages
    changes: list[dict[str, Any]] = [
        {"messages": (one,)}, {"messages": (two, one)}, {"reply_schema": {"type": "object"}}, {"sample": 1}
    ]  # fmt: skip
    for change in changes:
        other = REQUEST.model_copy(update=change)
        assert other.content_hash() != REQUEST.content_hash()
        assert other.request_hash("m") != REQUEST.request_hash("m")


def test_settings_that_the_judge_does_not_see_are_not_part_of_the_hash() -> None:
    same = REQUEST.model_copy(update={"material": None, "schema_name": "other"})
    turned = REQUEST.model_copy(update={"reply_schema": {"properties": {"a": {}, "b": {}}, "type": "object"}})
    assert same.content_hash() == REQUEST.content_hash() == turned.content_hash()
    warmer = REQUEST.model_copy(update={"sampling": Sampling(temperature=0.5)})
    assert warmer.content_hash() == REQUEST.content_hash()
    assert warmer.request_hash("m") != REQUEST.request_hash("m") != REQUEST.request_hash("n")


# ---- addresses ------------------------------------------------------------------------------------------------------


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


# ---- options of a run -----------------------------------------------------------------------------------------------


BOUNDED = [option for option in RUN_OPTIONS.values() if option.bounds]


@pytest.mark.parametrize("option", BOUNDED, ids=lambda option: option.name)
def test_the_record_refuses_what_lies_outside_the_bounds(option: RunOption) -> None:
    bounds = option.bounds
    outside = [bounds[name] - 1 for name in ("ge", "gt") if name in bounds]
    outside += [bounds[name] + 1 for name in ("le", "lt") if name in bounds]
    outside += [bounds[name] for name in ("gt", "lt") if name in bounds]
    for value in outside:
        with pytest.raises(ValidationError, match=option.name):
            RunSettings.model_validate({"protocol": "pairwise", option.name: value})


def test_the_command_alone_gives_the_settings_of_the_protocol() -> None:
    """Without any option the command stores what the protocol's facts say."""
    context = command_named("run").make_context("run", ["arena", "-p", "films", "--judge", "rules"])
    given = {name: value for name, value in context.params.items() if name in RUN_OPTIONS}
    for protocol in offered():
        settings, facts = settings_for(protocol, **given), protocol_facts(protocol)
        assert settings == settings_for(protocol)
        for name in ("top_k", "history", "profile"):
            assert getattr(settings, name) == getattr(facts, name)


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
