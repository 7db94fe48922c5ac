"""The settings of a run: completed, in the words of the project's domain, checked; and the rater they make a series of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from recjudge_tui.domain.domains import WORDS, dataset_of
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.protocols import PROTOCOLS, ProtocolFacts, decidable
from recjudge_tui.domain.roles import is_language_model
from recjudge_tui.domain.run import RunSettings, form_words
from recjudge_tui.domain.run_options import RUN_OPTIONS, settings_that
from recjudge_tui.errors import PromptError, RunError, UsageError
from recjudge_tui.judges.base import Judge
from recjudge_tui.protocols.base import Protocol
from recjudge_tui.protocols.lint import ambiguous
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.imports import imported_layouts
from recjudge_tui.store.projects import stated_domain
from recjudge_tui.store.prompts import domain_named
from recjudge_tui.store.raters import find_rater, judged_kinds
from recjudge_tui.store.runs import last_domain, prompt_label, stored_runs

# ---- settings ----------------------------------------------------------------------------------------------------


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
            "Set --sample to the number of users to draw.",
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


# ---- domain ------------------------------------------------------------------------------------------------------


def project_domain(db: Database, project_id: int) -> str:
    """The domain that was named for the project, else by the layouts of its imports, else the one that its newest run was
    given; empty if there is none."""
    if stated := stated_domain(db, project_id):
        return stated
    known = {dataset.domain for layout in imported_layouts(db, project_id) if (dataset := dataset_of(layout))}
    return known.pop() if len(known) == 1 else last_domain(db, project_id)


def domain_words(prompt: Prompt, domain: str, settings: RunSettings) -> dict[str, str]:
    """The variables that a run sets: those of the settings, and the domain's name and words that differ from the prompt's.

    Raises UsageError for an unknown domain, PromptError for a file that does not define a domain.
    """
    words = {"domain": domain, **domain_named(domain).words} if domain else {}
    own = {name: word for name, word in words.items() if prompt.variables.get(name, word) != word}
    return own | settings.variables


def in_words_of(db: Database, project_id: int, prompt: Prompt, settings: RunSettings) -> Prompt:
    """The prompt that a run with these settings would use, in the words of the project's domain."""
    words = domain_words(prompt, settings.domain or project_domain(db, project_id), settings)
    return prompt.with_variables({**form_words(settings), **words})


def left_out_examples_note(prompt: Prompt, domain: str) -> str:
    """The note that the examples, which are about other domains, are not shown; empty if some are shown.

    `prompt` has the variables of the run.
    """
    about = tuple(dict.fromkeys(example.domain for example in prompt.examples if example.domain))
    if not domain or not about or domain in about:
        return ""
    return (
        f"the examples of prompt {prompt.name} are about {', '.join(about)}: none of them is shown for {domain};"
        " “recjudge prompt copy” lets you add your own"
    )


def without_domain_words(variables: dict[str, str]) -> dict[str, str]:
    """The variables that no domain sets, and the domain's name where one is set."""
    return {name: word for name, word in variables.items() if "domain" not in variables or name not in WORDS}


# ---- series ------------------------------------------------------------------------------------------------------


class AlreadyJudgedError(RunError):
    """Every case of a run has a verdict of its rater. The same run with `again` would replace them."""

    def __init__(self, rater: str, cases: int) -> None:
        super().__init__(
            f"“{rater}” has already judged these {cases:,} cases"
            if cases > 1
            else f"“{rater}” has already judged this case",
            "Nothing is left to judge with the same judge, prompt and settings.",
            "Give another rater name, or judge again (--again): the new verdicts replace these.",
        )
        self.rater = rater


def series_name(
    db: Database, project_id: int, judge_name: str, judge: JudgeSpec, prompt_id: int, settings: RunSettings
) -> str:
    """The rater of an unnamed run: that of earlier runs with the same judge, prompt and settings; else the first free of
    the judge's own name, the name with the protocol, and the name with a number. `rater list` shows their settings.
    """
    same = _same_series(db, project_id, judge, prompt_id, settings)
    if same is not None:
        return same
    return next(
        name
        for name in _names(db, project_id, judge_name, settings)
        if (rater_id := find_rater(db, project_id, name)) is None
        or (
            _is_free(db, rater_id, protocol_named(settings.protocol))
            # another provider may serve a model of the same name
            and all(
                json.loads(run["judge"])["spec"] == judge.spec for run in stored_runs(db, rater_id=rater_id)
            )
        )
    )


def check_series(
    db: Database, project_id: int, rater: str, judge: JudgeSpec, prompt_id: int, settings: RunSettings
) -> None:
    """Raises UsageError when a rater's verdicts on such cases come from another judge, prompt or settings."""
    rater_id = find_rater(db, project_id, rater)
    protocol = protocol_named(settings.protocol)
    if rater_id is None or _is_free(db, rater_id, protocol):
        return
    runs = _runs_on(db, rater_id, protocol)
    if runs and _asked_the_same(runs[-1], judge, prompt_id, settings):
        return
    why = "The verdicts were imported."
    if runs:
        why = f"It was asked with other settings: {', '.join(_differences(db, runs[-1], judge, prompt_id, settings))}."
    raise UsageError(
        f"rater “{rater}” has already judged such cases",
        why,
        "Choose another --name, or delete the earlier run or import.",
    )


def is_free_or_same(
    db: Database, rater_id: int, judge: JudgeSpec, prompt_id: int, settings: RunSettings
) -> bool:
    """Whether a run may belong to this rater: it judged no such cases, or was asked the same."""
    protocol = protocol_named(settings.protocol)
    runs = _runs_on(db, rater_id, protocol)
    if runs:
        return _asked_the_same(runs[-1], judge, prompt_id, settings)
    return _is_free(db, rater_id, protocol)


def _same_series(
    db: Database, project_id: int, judge: JudgeSpec, prompt_id: int, settings: RunSettings
) -> str | None:
    """The rater of the newest run with the same judge, prompt and settings."""
    rows = db.rows(
        """SELECT r.name, ru.* FROM runs ru JOIN raters r ON r.id = ru.rater_id
           WHERE ru.project_id = ? AND ru.protocol = ? AND ru.prompt_id = ? ORDER BY ru.id DESC""",
        (project_id, settings.protocol, prompt_id),
    )
    return next((row["name"] for row in rows if _asked_the_same(row, judge, prompt_id, settings)), None)


def _names(db: Database, project_id: int, judge_name: str, settings: RunSettings) -> Iterator[str]:
    """`rules`, `rules arena` if the name belongs to another protocol, `rules #2`, `rules #3`, ..."""
    yield judge_name
    rater_id = find_rater(db, project_id, judge_name)
    runs = [] if rater_id is None else _runs_on(db, rater_id, protocol_named(settings.protocol))
    if not runs or runs[-1]["protocol"] != settings.protocol:
        yield f"{judge_name} {settings.protocol}"
    yield from (f"{judge_name} #{number}" for number in count(2))


def _runs_on(db: Database, rater_id: int, protocol: Protocol) -> list[StoredRow]:
    """The rater's runs on the same subject, oldest first."""
    subject = protocol.facts.subject
    return [
        row
        for row in stored_runs(db, rater_id=rater_id)
        if protocol_named(row["protocol"]).facts.subject == subject
    ]


def _is_free(db: Database, rater_id: int, protocol: Protocol) -> bool:
    return not _runs_on(db, rater_id, protocol) and protocol.facts.subject not in judged_kinds(db, rater_id)


def _asked_the_same(run: StoredRow, judge: JudgeSpec, prompt_id: int, settings: RunSettings) -> bool:
    stored = RunSettings.model_validate_json(run["settings"])
    return (
        run["protocol"] == settings.protocol
        and run["prompt_id"] == prompt_id
        and json.loads(run["judge"])["spec"] == judge.spec
        and not _changed_settings(stored, settings)
    )


def _differences(
    db: Database, run: StoredRow, judge: JudgeSpec, prompt_id: int, settings: RunSettings
) -> list[str]:
    stored = RunSettings.model_validate_json(run["settings"])
    spec = str(json.loads(run["judge"])["spec"])
    changes = [] if spec == judge.spec else [f"judge {spec}"]
    changes += [] if run["protocol"] == settings.protocol else [str(run["protocol"])]
    changes += [] if run["prompt_id"] == prompt_id else [f"prompt {prompt_label(db, run['prompt_id'])}"]
    return changes + _changed_settings(settings, stored)


def _changed_settings(before: RunSettings, after: RunSettings) -> list[str]:
    """The settings of `after` that ask something else than `before`, as `NAME=VALUE`."""
    # the domain's words are among the variables
    hidden = {*settings_that("cases", "draw", "work"), "protocol", "domain"}
    old, new = (settings.model_dump(mode="json", exclude=hidden) for settings in (before, after))
    words, other_words = new.pop("variables"), old.pop("variables")
    changed = [f"{name}={_word(new[name])}" for name in new if new[name] != old[name]]
    return changed + _changed_words(other_words, words)


def _changed_words(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """The variables that differ; for a domain's words, only its name if that differs."""
    changed = {
        name: after.get(name, "") for name in {**before, **after} if before.get(name) != after.get(name)
    }
    return [f"{name}={_word(word)}" for name, word in without_domain_words(changed).items()]


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    # commas separate raters on the command line
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
    return text.replace(",", ";")
