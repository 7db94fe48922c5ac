"""Several protocols, judges and prompts from one file: their combinations planned, resumed and paid for as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from recjudge_tui.domain.address import AddressError
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.protocols import offered, protocol_facts
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.domain.run_options import RUN_OPTIONS, RunOption
from recjudge_tui.domain.text import money
from recjudge_tui.errors import RecjudgeError, RunError, UsageError
from recjudge_tui.files import parse_toml, small_file
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.runs.plan import CaseCounter, Plan, RunRequest, arms_of, default_prompt
from recjudge_tui.runs.saer import existing_stage
from recjudge_tui.runs.settings import AlreadyJudgedError, series_name, settings_for, stored_run
from recjudge_tui.runs.start import change_settings, plan
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import get_prompt, load_shipped
from recjudge_tui.store.raters import find_rater
from recjudge_tui.store.runs import run_progress, run_row, stored_runs

_KEYS = ("protocols", "judges", "prompts", "truth", "budget", "options")


class Experiment(NamedTuple):
    """What a file asks for: a request for each combination; the rater to compare with (empty: the best there is), and the
    most that all may cost together, with the runs `spent_by` that were made for it before."""

    requests: tuple[RunRequest, ...]
    truth: str = ""
    budget: float | None = None
    spent_by: tuple[int, ...] = ()


def read_experiment(db: Database, project_id: int, path: Path) -> Experiment:
    """Raises UsageError that names the file and the key for what cannot be read, is unknown or does not fit."""
    try:
        data = parse_toml(small_file(path).decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read", f"{getattr(error, 'strerror', None) or error}.") from error
    if unknown := [name for name in data if name not in _KEYS]:
        raise _wrong(path, unknown[0], f"is unknown; there are {', '.join(_KEYS)}")
    protocols = _texts(path, data, "protocols")
    for name in protocols:
        if name not in offered():
            raise _wrong(path, "protocols", f"names {name}; there are {', '.join(offered())}")
    judges = [_judge(path, each) for each in _listed(path, data, "judges")]
    options = data.get("options", {})
    if not isinstance(options, dict):
        raise _wrong(path, "options", "is not a table")
    budget, truth = data.get("budget"), data.get("truth", "")
    if budget is not None and (
        isinstance(budget, bool) or not isinstance(budget, int | float) or not budget > 0
    ):
        raise _wrong(path, "budget", "is not a number of dollars above 0")
    if not isinstance(truth, str):
        raise _wrong(path, "truth", "is not the name of a rater")
    load_shipped(db)
    named: dict[str, list[str]] = {}
    for prompt in _texts(path, data, "prompts") if "prompts" in data else []:
        named.setdefault(get_prompt(db, prompt)[2].protocol, []).append(prompt)
    settings = {name: _settings(path, name, options, budget, protocols) for name in protocols}
    if spare := named.keys() - {protocol_facts(name).prompt_protocol for name in protocols}:
        raise _wrong(path, "prompts", f"names one for {min(spare)}, which is none of the protocols")
    requests = [
        RunRequest(project_id, judge, settings[name], "", prompt or _usual(db, project_id, settings[name]))
        for name, judge in product(protocols, judges)
        for prompt in named.get(protocol_facts(name).prompt_protocol, [""])
    ]
    return Experiment(tuple(requests), truth, None if budget is None else float(budget))


def _wrong(path: Path, key: str, what: str) -> UsageError:
    return UsageError(f"{path}: “{key}” {what}", next_step="“recjudge run --save FILE” writes such a file.")


def _listed(path: Path, data: Mapping[str, Any], key: str) -> list[Any]:
    values = data.get(key)
    values = values if isinstance(values, list) else [] if values is None else [values]
    if not values:
        raise _wrong(path, key, "is missing or empty")
    return values


def _texts(path: Path, data: Mapping[str, Any], key: str) -> list[str]:
    values = _listed(path, data, key)
    if not all(isinstance(value, str) and value for value in values) or len({*values}) < len(values):
        raise _wrong(path, key, "is not a list of different names")
    return values


def _judge(path: Path, given: object) -> JudgeSpec:
    try:
        judge = JudgeSpec.model_validate({"spec": given} if isinstance(given, str) else given)
        judge.check()
    except (ValidationError, AddressError) as error:
        raise _wrong(path, "judges", f"has {given!r}, which is no judge ({_first(error)})") from error
    return judge


def _first(error: Exception) -> str:
    return str(error.errors()[0]["msg"]) if isinstance(error, ValidationError) else str(error)


def _usual(db: Database, project_id: int, settings: RunSettings) -> str:
    return default_prompt(db, project_id, protocol_named(settings.protocol), settings.domain)


def _settings(
    path: Path, protocol: str, options: Mapping[str, Any], budget: float | None, protocols: list[str]
) -> RunSettings:
    """The options for all protocols that this one has, and those for it alone."""
    given: dict[str, Any] = {}
    alone = options.get(protocol, {})
    for table, of_all in ((options, True), (alone, False)):
        for key, value in table.items():
            if of_all and key in protocols and isinstance(value, dict):
                continue
            option, said = _option(path, key, value)
            if option.name == "budget_usd":
                raise _wrong(path, key, "stands among the options; it is one for all runs, above them")
            if option.is_taken_by(protocol):
                given[option.name] = said
            elif not of_all or not any(option.is_taken_by(name) for name in protocols):
                raise _wrong(path, key, f"is no option of {protocol}")
    try:
        # a list is a tuple here, a whole number may stand for another
        return settings_for(protocol, **given, budget_usd=budget)
    except ValidationError as error:
        fault = error.errors()[0]
        raise _wrong(path, str((fault["loc"] or ("options",))[0]), f"does not fit: {fault['msg']}") from error


def _option(path: Path, key: str, value: Any) -> tuple[RunOption, Any]:
    """An option by its name in the settings or its flag without dashes in front, and the value of the setting."""
    word = key.replace("_", "-")
    for option in RUN_OPTIONS.values():
        flags = [flag.removeprefix("--") for flag in option.flag.split("/")]
        if key == option.name:
            return option, value
        if word in flags:
            negates = option.type is bool and word.startswith("no-") and not option.name.startswith("no_")
            return option, not value if negates else value
    raise _wrong(path, key, "is no option of a run (recjudge run --help-all)")


def paper_experiment(
    db: Database, project_id: int, runs: Sequence[Mapping[str, Any]], judge: JudgeSpec, *, baseline: str = "",
    sample: int | None = None, budget: float | None = None,
) -> tuple[Experiment, list[str]]:  # fmt: skip
    """The runs of a paper (`protocol`, `prompts` of an ablation, `options`, where a list is tried value by value), and why
    some are left out: the project cannot feed them. Raises the reason where it can feed none."""
    load_shipped(db)
    requests: list[RunRequest] = []
    left_out: list[str] = []
    fault: RecjudgeError | None = None
    for run in runs:
        options = dict(run.get("options", {}))
        options |= {"baseline": baseline} if "baseline" in options else {}
        options |= {"sample": sample} if sample is not None else {}
        several = [name for name, value in options.items() if isinstance(value, list)]
        for values in product(*(options[name] for name in several)):
            try:
                settings = settings_for(
                    run["protocol"],
                    **{**options, **dict(zip(several, values, strict=True))},
                    budget_usd=budget,
                )
                arms = arms_of(db, project_id, judge, tuple(run["prompts"])) if "prompts" in run else [None]
                asked = [
                    RunRequest(
                        project_id, judge, settings, arm.rater if arm else "", arm.prompt if arm else ""
                    )
                    for arm in arms
                ]
                asked = [replace(one, prompt=one.prompt or _usual(db, project_id, settings)) for one in asked]
                for one in asked:
                    if _existing(db, one) is None:
                        with suppress(AlreadyJudgedError):
                            plan(db, [one], dry_run=True)
            except RecjudgeError as error:
                fault = error
                how = f" ({', '.join(map(str, values))})" if values else ""
                left_out.append(f"{run['protocol']}{how}: {error.title}. {error.cause}".rstrip())
                continue
            requests += asked
    if not requests and fault is not None:
        raise fault
    return Experiment(tuple(requests), budget=budget), left_out


def saved_experiment(request: RunRequest) -> str:
    """The file that asks for one run: TOML."""
    import tomlkit

    judge = request.judge.model_dump(mode="json", exclude_defaults=True)
    usual = settings_for(request.settings.protocol)
    changed = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in request.settings.model_dump().items()
        if name not in ("protocol", "budget_usd") and value != getattr(usual, name) and value is not None
    }
    budget = request.settings.budget_usd
    data = {
        "protocols": [request.settings.protocol],
        "judges": [judge["spec"] if list(judge) == ["spec"] else judge],
        **({"prompts": [request.prompt]} if request.prompt else {}),
        **({"budget": budget} if budget is not None else {}),
        **({"options": changed} if changed else {}),
    }
    return tomlkit.dumps(TypeAdapter(dict[str, Any]).dump_python(data))


def plan_experiment(
    db: Database, experiment: Experiment, *, dry_run: bool, progress: CaseCounter | None = None
) -> list[Plan]:
    """A plan for each request: the run that asks the same, if there is one, else planned now, once all of them fit. Raises
    what `start.plan` raises."""
    found = [_existing(db, request) for request in experiment.requests]
    for at, request in enumerate(experiment.requests):
        if found[at] is None:
            try:
                (drafted,) = plan(db, [request], dry_run=True, progress=progress)
                found[at] = drafted if dry_run else None
            except AlreadyJudgedError as judged:
                # by runs that chose the cases otherwise
                rater = find_rater(db, request.project_id, judged.rater)
                rows = [] if rater is None else stored_runs(db, rater_id=rater)
                same = [row["id"] for row in rows if row["protocol"] == request.settings.protocol]
                if not same:
                    raise
                found[at] = existing_stage(db, same[-1])
    # one after the other, because each run of a judge decides how the rater of the next is called
    return [
        known if known is not None else plan(db, [request])[0]
        for request, known in zip(experiment.requests, found, strict=True)
    ]


def _existing(db: Database, request: RunRequest) -> Plan | None:
    series = request.judge, get_prompt(db, request.prompt)[0], request.settings
    name = request.rater or series_name(db, request.project_id, request.judge.rater, *series)
    rater = find_rater(db, request.project_id, name)
    if rater is None:
        return None
    row = stored_run(db, request.project_id, rater, request.judge, request.prompt, request.settings)
    return None if row is None else existing_stage(db, row["id"])


def with_rest_of_budget(db: Database, experiment: Experiment, runs: Iterable[int], run_id: int) -> None:
    """Give a run what the others have left of the budget for all. Raises RunError when nothing is left."""
    if experiment.budget is None:
        return
    beside = {*runs, *experiment.spent_by} - {run_id}
    others = sum(run_progress(db, other).spent_usd for other in beside)
    if (left := experiment.budget - others) <= 0:
        raise RunError(
            "the budget is spent",
            f"The runs cost {money(others)} of {money(experiment.budget)}.",
            "Repeat the command with a larger budget in the file: it goes on where it stopped.",
        )
    if RunSettings.model_validate_json(run_row(db, run_id)["settings"]).budget_usd != left:
        change_settings(db, run_id, budget_usd=left)
