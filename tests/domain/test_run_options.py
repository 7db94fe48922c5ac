"""The options of a run are declared once: the settings, the command and the form agree with the declaration."""

from __future__ import annotations

import click
import pytest
from pydantic import ValidationError

from recjudge_tui.cli.judging.run import run
from recjudge_tui.domain.protocols import offered, protocol_facts
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.domain.run_options import RUN_OPTIONS, RunOption
from recjudge_tui.runs.plan.settings import settings_for
from recjudge_tui.tui.runs.launch_form import FIELD_BY_NAME

WITH_FLAG = [option for option in RUN_OPTIONS.values() if option.flag]
BOUNDED = [option for option in RUN_OPTIONS.values() if option.bounds]


def test_the_settings_are_the_declared_options() -> None:
    fields = RunSettings.model_fields
    assert set(fields) == {"protocol", *RUN_OPTIONS}
    for name, option in RUN_OPTIONS.items():
        assert (fields[name].default, fields[name].description) == (option.default, option.help)


@pytest.mark.parametrize("option", BOUNDED, ids=lambda option: option.name)
def test_the_record_refuses_what_lies_outside_the_bounds(option: RunOption) -> None:
    bounds = option.bounds
    outside = [bounds[name] - 1 for name in ("ge", "gt") if name in bounds]
    outside += [bounds[name] + 1 for name in ("le", "lt") if name in bounds]
    outside += [bounds[name] for name in ("gt", "lt") if name in bounds]
    for value in outside:
        with pytest.raises(ValidationError, match=option.name):
            RunSettings.model_validate({"protocol": "pairwise", option.name: value})


@pytest.mark.parametrize("option", WITH_FLAG, ids=lambda option: option.name)
def test_the_command_offers_each_option_with_its_help(option: RunOption) -> None:
    (parameter,) = [p for p in run.params if p.name == option.name]
    assert isinstance(parameter, click.Option)
    assert "/".join([*parameter.opts, *parameter.secondary_opts]) == option.flag
    assert (parameter.help or "").startswith(option.help)


def test_the_form_asks_for_every_option() -> None:
    labels = {name: option.label for name, option in RUN_OPTIONS.items()}
    assert all(labels.values())
    assert {name: field.label for name, field in FIELD_BY_NAME.items() if name in RUN_OPTIONS} == labels


def test_the_command_alone_gives_the_settings_of_the_protocol() -> None:
    """Without any option the command stores what the protocol's facts say."""
    context = run.make_context("run", ["arena", "-p", "films", "--judge", "rules"])
    given = {name: value for name, value in context.params.items() if name in RUN_OPTIONS}
    for protocol in offered():
        settings, facts = settings_for(protocol, **given), protocol_facts(protocol)
        assert settings == settings_for(protocol)
        assert (settings.top_k, settings.history, settings.profile) == (
            facts.top_k,
            facts.history,
            facts.profile,
        )


def test_the_defaults_shown_are_those_of_the_facts() -> None:
    assert RUN_OPTIONS["top_k"].defaults_text(offered()) == "10; arena and absolute: 5"
    assert RUN_OPTIONS["history"].defaults_text(offered()) == "100; arena and absolute: 50; explanation: 0"
    assert RUN_OPTIONS["profile"].defaults_text(("pairwise", "arena")) == "attributes"
