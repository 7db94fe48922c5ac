"""The settings of a run: completed with the protocol's defaults, and checked against prompt and judge."""

from __future__ import annotations

from typing import Any

from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.protocols import PROTOCOLS, ProtocolFacts, decidable
from recjudge_tui.domain.roles import is_language_model
from recjudge_tui.domain.run import RunSettings, form_words
from recjudge_tui.domain.run_options import RUN_OPTIONS
from recjudge_tui.errors import PromptError, UsageError
from recjudge_tui.judges.base import Judge
from recjudge_tui.protocols.base import Protocol
from recjudge_tui.protocols.lint import ambiguous
from recjudge_tui.protocols.registry import protocol as protocol_named

# events for writing a profile if the protocol itself shows no history
PROFILE_HISTORY = 50


def settings_for(protocol: str, **options: Any) -> RunSettings:
    """The settings of a run; options that are absent or None have the protocol's default, or what `as_published` sets.

    Raises UsageError for an unknown protocol and for an option that contradicts `as_published`, and pydantic's
    ValidationError for a value out of bounds.
    """
    facts = protocol_named(protocol).facts
    given = {name: value for name, value in options.items() if value is not None}
    if given.get("as_published"):
        given |= _preset(facts, given)
    defaults = {name: getattr(facts, name) for name, option in RUN_OPTIONS.items() if option.by_protocol}
    if given.get("profile") == "llm":
        defaults["history"] = facts.history or PROFILE_HISTORY
    return RunSettings.model_validate({"protocol": facts.name, **defaults, **given})


def _preset(facts: ProtocolFacts, given: dict[str, Any]) -> dict[str, Any]:
    preset = facts.published
    if preset is None:
        known = (name for name, other in PROTOCOLS.items() if other.published)
        raise UsageError(
            f"{facts.name} has no published form",
            f"Protocols with one: {', '.join(known)}.",
            "Leave out --as-published.",
        )
    for name, value in preset.settings.items():
        option = RUN_OPTIONS[name]
        usual = None if option.by_protocol else option.default
        if given.get(name, value) not in (value, usual):
            raise UsageError(
                f"--as-published sets {option.label or option.flag} to {value}, and it was set to {given[name]}",
                f"This is the setting in {preset.paper}.",
                "Leave out one of the two.",
            )
    return dict(preset.settings)


def check_settings(settings: RunSettings, protocol: Protocol, prompt: Prompt, judge: Judge) -> None:
    """Raises UsageError if the settings do not fit the protocol, the prompt or the judge, PromptError if a reply to
    the prompt could be read in two ways.
    """
    facts = protocol.facts
    if prompt.protocol != facts.prompt_protocol:
        raise UsageError(f"prompt “{prompt.name}” is for {prompt.protocol}, not for {facts.prompt_protocol}")
    for fault in ambiguous(prompt):
        raise PromptError(
            f"replies to prompt “{prompt.name}” would be ambiguous",
            fault,
            "Give the aspect another field, name or alias.",
        )
    if settings.shots != "none" and not RUN_OPTIONS["shots"].is_taken_by(facts.name):
        raise UsageError(
            f"{facts.name} has no --shots",
            "Scored examples can only be shown with explanations.",
            "Leave it out.",
        )
    preset = facts.published if settings.as_published else None
    if preset is not None and preset.needs_baseline and not settings.baseline:
        raise UsageError(
            f"{facts.name} as published needs a baseline",
            f"{preset.paper} shows each system as A and one baseline as B, in one order.",
            "Name it with --baseline.",
        )
    if settings.baseline and not RUN_OPTIONS["baseline"].is_taken_by(facts.name) and not settings.until:
        raise UsageError(
            f"{facts.name} has no --baseline",
            "It does not compare systems in pairs.",
            "Name the systems with --systems.",
        )
    if settings.aspects == "single" and len(prompt.aspects) == 1:
        raise UsageError(
            "--aspects single has no effect here",
            f"Prompt “{prompt.name}” has only one aspect, {prompt.aspects[0].name}.",
            "Leave it out.",
        )
    if settings.profile == "llm":
        _check_profile(prompt, judge)
    if settings.stratify != "none" and settings.sample is None:
        raise UsageError(
            "--stratify needs a sample",
            "Without one, all users are judged.",
            "Set --sample to the number of cases to draw.",
        )
    if settings.sending and not is_language_model(judge.rater_kind):
        raise UsageError(
            f"judge “{judge.name}” sends nothing, so it takes no --option",
            "It is not a language model.",
            "Leave it out.",
        )
    _check_until(settings)
    _ = settings.occasions
    check_form(settings, prompt)
    unknown = sorted(set(settings.variables) - set(prompt.variables))
    if unknown:
        raise UsageError(
            f"prompt “{prompt.name}” has no variable {', '.join(f'“{name}”' for name in unknown)}",
            f"It has: {', '.join(prompt.variables) or 'none'}.",
        )


def check_form(settings: RunSettings, prompt: Prompt) -> None:
    """Raises UsageError if the settings require a form that the prompt does not have."""
    for name in form_words(settings):
        if name not in prompt.variables:
            form = "as published" if name == "published" else "without reasoning"
            raise UsageError(
                f"prompt “{prompt.name}” cannot be run {form}",
                f"Its texts do not use the variable “{name}”.",
                "Use a shipped prompt, or see “The form of a run” in docs/prompts.md.",
            )


def _check_until(settings: RunSettings) -> None:
    if not settings.until:
        if settings.margin is not None:
            raise UsageError("--margin is only for runs that stop early", next_step="Add --until decided.")
        return
    if not RUN_OPTIONS["until"].is_taken_by(settings.protocol):
        raise UsageError(
            f"{settings.protocol} runs cannot stop when decided",
            "Their verdicts do not say which of two systems is better for a user.",
            f"Use {', '.join(decidable())}, or leave out --until.",
        )
    if settings.stratify != "none":
        raise UsageError(
            "--stratify cannot be combined with --until",
            "Anytime-valid intervals need users in random order, and a stratified sample is not.",
            "Leave out one of them.",
        )


def _check_profile(prompt: Prompt, judge: Judge) -> None:
    if not is_language_model(judge.rater_kind):
        raise UsageError(
            f"judge “{judge.name}” cannot write profiles",
            "It is not a language model.",
            "Use --profile attributes.",
        )
    if prompt.profile is None:
        raise UsageError(
            f"prompt “{prompt.name}” has no instructions for writing a profile",
            next_step="Give it a [profile] table (“recjudge prompt copy”), or use --profile attributes.",
        )
