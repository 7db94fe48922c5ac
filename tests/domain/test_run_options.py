"""The options of a run are declared once: the settings, the command and the form agree with the declaration."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from recjudge_tui.cli.command import command_named
from recjudge_tui.domain.protocols import offered, protocol_facts
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.domain.run_options import RUN_OPTIONS, RunOption
from recjudge_tui.runs.settings import settings_for

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
