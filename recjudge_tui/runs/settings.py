"""The settings of a run: completed, in the words of the project's domain, checked; and the rater they make a series of."""

from __future__ import annotations

import json
from itertools import chain, count
from typing import Any, NamedTuple

from recjudge_tui.domain.domains import WORDS, dataset_of
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.protocols import PROTOCOLS, ProtocolFacts, decidable
from recjudge_tui.domain.roles import is_language_model
from recjudge_tui.domain.run import RunSettings, form_words
from recjudge_tui.domain.run_options import RUN_OPTIONS, settings_that
from recjudge_tui.errors import PromptError, RunError, UsageError
from recjudge_tui.judges.registry import Judge
from recjudge_tui.protocols.lint import ambiguous
from recjudge_tui.protocols.registry import Protocol
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.imports import imported_layouts
from recjudge_tui.store.projects import stated_domain
from recjudge_tui.store.prompts import domain_named, prompt_by_id
from recjudge_tui.store.raters import find_rater, judged_kinds
from recjudge_tui.store.runs import last_domain, stored_runs

# ---- settings ----------------------------------------------------------------------------------------------------


# events for writing a profile if the protocol itself shows no history
PROFILE_HISTORY = 50


def settings_for(protocol: str, **options: Any) -> RunSettings:
    """The settings of a run; options that are absent or None have the protocol's default, or what `as_published` sets.
    Raises UsageError for an unknown protocol and for an option that contradicts `as_published`, and pydantic's
    ValidationError for a value out of bounds."""
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
    """Raises UsageError if the settings do not fit the protocol, the prompt or the judge, PromptError if a reply to the
    prompt could be read in two ways."""
    facts, name, stops = protocol.facts, protocol.name, bool(settings.until)
    is_model = is_language_model(judge.rater_kind)
    taken = {of: option.is_taken_by(name) for of, option in RUN_OPTIONS.items()}
    preset = facts.published if settings.as_published else None
    unknown = ", ".join(f"“{word}”" for word in sorted(set(settings.variables) - set(prompt.variables)))
    if prompt.protocol != facts.prompt_protocol:
        raise UsageError(f"prompt “{prompt.name}” is for {prompt.protocol}, not for {facts.prompt_protocol}")
    for fault in ambiguous(prompt):
        raise PromptError(
            f"replies to prompt “{prompt.name}” would be ambiguous",
            fault,
            "Give the aspect another field, name or alias.",
        )
    for cannot, *texts in (
        (settings.shots != "none" and not taken["shots"], f"{name} has no --shots",
         "Scored examples can only be shown with explanations.", "Leave it out."),
        (preset and preset.needs_baseline and not settings.baseline, f"{name} as published needs a baseline",
         f"{preset and preset.paper} shows each system as A and one baseline as B, in one order.",
         "Name it with --baseline."),
        (settings.baseline and not taken["baseline"] and not stops, f"{name} has no --baseline",
         "It does not compare systems in pairs.", "Name the systems with --systems."),
        (settings.aspects == "single" and len(prompt.aspects) == 1, "--aspects single has no effect here",
         f"Prompt “{prompt.name}” has only one aspect, {prompt.aspects[0].name}.", "Leave it out."),
        (settings.profile == "llm" and not is_model, f"judge “{judge.name}” cannot write profiles",
         "It is not a language model.", "Use --profile attributes."),
        (settings.profile == "llm" and prompt.profile is None,
         f"prompt “{prompt.name}” has no instructions for writing a profile", "",
         "Give it a [profile] table (“recjudge prompt copy”), or use --profile attributes."),
        (settings.stratify != "none" and settings.sample is None, "--stratify needs a sample",
         "Without one, all users are judged.", "Set --sample to the number of users to draw."),
        (settings.sending and not is_model, f"judge “{judge.name}” sends nothing, so it takes no --option",
         "It is not a language model.", "Leave it out."),
        (settings.margin is not None and not stops, "--margin is only for runs that stop early", "",
         "Add --until decided."),
        (stops and not taken["until"], f"{name} runs cannot stop when decided",
         "Their verdicts do not say which of two systems is better for a user.",
         f"Use {', '.join(decidable())}, or leave out --until."),
        (stops and settings.stratify != "none", "--stratify cannot be combined with --until",
         "Anytime-valid intervals need users in random order, and a stratified sample is not.",
         "Leave out one of them."),
        (unknown, f"prompt “{prompt.name}” has no variable {unknown}",
         f"It has: {', '.join(prompt.variables) or 'none'}."),
    ):  # fmt: skip
        if cannot:
            raise UsageError(*map(str, texts))
    _ = settings.occasions
    check_form(settings, prompt)


def check_form(settings: RunSettings, prompt: Prompt) -> None:
    """Raises UsageError if the settings require a form that the prompt does not have."""
    for name in form_words(settings):
        if name not in prompt.variables:
            form = "as published" if name == "published" else "without reasoning"
            raise UsageError(
                f"prompt “{prompt.name}” cannot be run {form}",
                f"Its texts do not use the variable “{name}”.",
                "Use a shipped prompt, or see “The form of a run” in “recjudge docs prompts”.",
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
    Raises UsageError for an unknown domain, PromptError for a file that does not define a domain."""
    words = {"domain": domain, **domain_named(domain).words} if domain else {}
    own = {name: word for name, word in words.items() if prompt.variables.get(name, word) != word}
    return own | settings.variables


def in_words_of(db: Database, project_id: int, prompt: Prompt, settings: RunSettings) -> Prompt:
    """The prompt that a run with these settings would use, in the words of the project's domain."""
    words = domain_words(prompt, settings.domain or project_domain(db, project_id), settings)
    return prompt.with_variables({**form_words(settings), **words})


def left_out_examples_note(prompt: Prompt, domain: str) -> str:
    """The note that the examples, which are about other domains, are not shown; empty if some are shown. `prompt` has the
    variables of the run."""
    about = tuple(dict.fromkeys(example.domain for example in prompt.examples if example.domain))
    if not domain or not about or domain in about:
        return ""
    return (
        f"the examples of prompt {prompt.name} are about {', '.join(about)}: none of them is shown for {domain};"
        " “recjudge prompt copy” lets you add your own"
    )


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


class Series(NamedTuple):
    """What a rater is asked, about whatever cases; `prompt_id` is that of the prompt."""

    judge: JudgeSpec
    prompt_id: int
    settings: RunSettings


def series_name(db: Database, project_id: int, series: Series) -> str:
    """The rater of an unnamed run: that of earlier runs with the same judge, prompt and settings; else the first free of
    the judge's own name, the name with the protocol, and the name with a number. `rater list` shows their settings."""
    for row in reversed(stored_runs(db, project_id=project_id)):
        if not _differences(row, series):
            return str(row["rater"])
    own, protocol = series.judge.rater, series.settings.protocol
    rater_id = find_rater(db, project_id, own)
    runs = [] if rater_id is None else _runs_on(db, rater_id, protocol)
    names = [own]
    if not runs or runs[-1]["protocol"] != protocol:
        names.append(f"{own} {protocol}")
    # `rules`, `rules arena` if the name belongs to another protocol, `rules #2`, `rules #3`, ...
    for name in chain(names, (f"{own} #{number}" for number in count(2))):
        rater_id = find_rater(db, project_id, name)
        if rater_id is None:
            break
        # another provider may serve a model of the same name
        others = [run for run in stored_runs(db, rater_id=rater_id) if _spec(run) != series.judge.spec]
        if not others and is_free_or_same(db, rater_id, series):
            break
    return name


def check_series(db: Database, project_id: int, rater: str, series: Series) -> None:
    """Raises UsageError when a rater's verdicts on such cases come from another judge, prompt or settings."""
    rater_id = find_rater(db, project_id, rater)
    if rater_id is None or is_free_or_same(db, rater_id, series):
        return
    why = "The verdicts were imported."
    if runs := _runs_on(db, rater_id, series.settings.protocol):
        why = f"It was asked with other settings: {', '.join(_differences(runs[-1], series))}."
    raise UsageError(
        f"rater “{rater}” has already judged such cases",
        why,
        "Choose another --name, or delete the earlier run or import.",
    )


def is_free_or_same(db: Database, rater_id: int, series: Series) -> bool:
    """Whether a run may belong to this rater: it judged no such cases, or was asked the same."""
    protocol = series.settings.protocol
    if runs := _runs_on(db, rater_id, protocol):
        return not _differences(runs[-1], series)
    return protocol_named(protocol).facts.subject not in judged_kinds(db, rater_id)


# how a run is worked on, not what it asks: a request that differs only in these resumes the same run
OPERATION = settings_that("work") - {"use_cache"} | {"again"}


def stored_run(db: Database, project_id: int, rater_id: int, series: Series) -> StoredRow | None:
    """The rater's newest run that asks the same of the same cases, however it is worked on; None if there is none."""
    judge, prompt_id, settings = series
    domain = settings.domain or project_domain(db, project_id)
    words = domain_words(prompt_by_id(db, prompt_id), domain, settings)
    wanted = settings.model_copy(update={"variables": words}).model_dump(exclude=set(OPERATION))
    for row in reversed(stored_runs(db, rater_id=rater_id)):
        stored = RunSettings.model_validate_json(row["settings"]).model_dump(exclude=set(OPERATION))
        same_judge = JudgeSpec.model_validate_json(row["judge"]) == judge
        if row["prompt_id"] == prompt_id and same_judge and stored == wanted:
            return row
    return None


def _runs_on(db: Database, rater_id: int, protocol: str) -> list[StoredRow]:
    """The rater's runs on the same subject, oldest first."""
    subject = protocol_named(protocol).facts.subject
    runs = stored_runs(db, rater_id=rater_id)
    return [row for row in runs if protocol_named(row["protocol"]).facts.subject == subject]


def _spec(run: StoredRow) -> str:
    return str(json.loads(run["judge"])["spec"])


def _differences(run: StoredRow, series: Series) -> list[str]:
    """What a stored run asked otherwise; of a domain's words, only its name. What chooses its cases, and how it is worked
    on, is no difference."""
    judge, prompt_id, settings = series
    changes = [] if _spec(run) == judge.spec else [f"judge {_spec(run)}"]
    changes += [] if run["protocol"] == settings.protocol else [str(run["protocol"])]
    changes += [] if run["prompt_id"] == prompt_id else [f"prompt {run['prompt']}"]
    # the domain's words are among the variables
    hidden = {*settings_that("cases", "draw", "work"), "protocol", "domain", "reading"}
    stored = RunSettings.model_validate_json(run["settings"])
    old, new = (one.model_dump(mode="json", exclude=hidden) for one in (stored, settings))
    words, own = old.pop("variables"), new.pop("variables")
    changed = {name: words.get(name, "") for name in {**own, **words} if own.get(name) != words.get(name)}
    if "domain" in changed:  # its words follow from it
        changed = {name: word for name, word in changed.items() if name not in WORDS}
    before = {name: old[name] for name in old if new[name] != old[name]} | changed
    return changes + [f"{name}={_word(value)}" for name, value in before.items()]


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    # commas separate raters on the command line
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
    return text.replace(",", ";")
