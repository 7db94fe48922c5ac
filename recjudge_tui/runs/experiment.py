"""Several protocols, judges and prompts from one file: their combinations planned, resumed and paid for as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import (
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from recjudge_tui.domain.address import AddressError
from recjudge_tui.domain.base import Model
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.protocols import offered, protocol_facts
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.domain.run_options import RUN_OPTIONS, RunOption
from recjudge_tui.errors import RecjudgeError, UsageError
from recjudge_tui.files import parse_toml, small_file
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.runs.plan import CaseCounter, Plan, RunRequest, arms_of, default_prompt
from recjudge_tui.runs.saer import existing_stage
from recjudge_tui.runs.settings import AlreadyJudgedError, series_name, settings_for, stored_run
from recjudge_tui.runs.start import plan
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import get_prompt, load_shipped
from recjudge_tui.store.raters import find_rater
from recjudge_tui.store.runs import stored_runs

Several = BeforeValidator(lambda value: value if isinstance(value, list) else [value])
Spec = BeforeValidator(lambda value: {"spec": value} if isinstance(value, str) else value)


class _File(Model):
    """What stands in a file; one value may stand for a list of one."""

    protocols: Annotated[list[str], Several, Field(min_length=1)]
    judges: Annotated[list[Annotated[JudgeSpec, Spec]], Several, Field(min_length=1)]
    prompts: Annotated[list[str], Several] = []
    truth: str = ""
    budget: Annotated[float, Field(gt=0, strict=True)] | None = None
    options: dict[str, Any] = {}

    @field_validator("protocols", "prompts")
    @classmethod
    def _once(cls, names: list[str], info: ValidationInfo) -> list[str]:
        known = offered() if info.field_name == "protocols" else names
        if unknown := [name for name in names if name not in known]:
            raise ValueError(f"it names {unknown[0]}; there are {', '.join(known)}")
        if len(set(names)) < len(names):
            raise ValueError("it names one twice")
        return names


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
        asked = _File.model_validate(parse_toml(small_file(path).decode("utf-8")))
        for judge in asked.judges:
            judge.check()
    except ValidationError as error:
        raise _misfit(path, error) from error
    except AddressError as error:
        raise _wrong(path, "judges", f"does not fit: {error}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read", f"{getattr(error, 'strerror', None) or error}.") from error
    protocols, options, budget = asked.protocols, asked.options, asked.budget
    load_shipped(db)
    named: dict[str, list[str]] = {}
    for prompt in asked.prompts:
        named.setdefault(get_prompt(db, prompt)[2].protocol, []).append(prompt)
    settings = {name: _settings(path, name, options, budget, protocols) for name in protocols}
    if spare := named.keys() - {protocol_facts(name).prompt_protocol for name in protocols}:
        raise _wrong(path, "prompts", f"names one for {min(spare)}, which is none of the protocols")
    requests = [
        RunRequest(project_id, judge, settings[name], "", prompt or _usual(db, project_id, settings[name]))
        for name, judge in product(protocols, asked.judges)
        for prompt in named.get(protocol_facts(name).prompt_protocol, [""])
    ]
    return Experiment(tuple(requests), asked.truth, budget)


def _wrong(path: Path, key: str, what: str) -> UsageError:
    return UsageError(f"{path}: “{key}” {what}", next_step="“recjudge run --save FILE” writes such a file.")


def _misfit(path: Path, error: ValidationError) -> UsageError:
    """The first fault, by its key."""
    fault = error.errors()[0]
    return _wrong(path, str((fault["loc"] or ("options",))[0]), f"does not fit: {fault['msg']}")


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
        raise _misfit(path, error) from error


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
    """The runs of a paper (`protocol`, `prompts` of an ablation, `options`, where a list is tried value by value; `times`
    that one is repeated, by a rater of its own each time and without stored replies), and why some are left out: the
    project cannot feed them. Raises the reason where it can feed none."""
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
                fresh = settings.model_copy(update={"use_cache": False})
                asked += [
                    replace(one, settings=fresh, rater=f"{judge.rater} run {number}")
                    for number in range(2, run.get("times", 1) + 1)
                    for one in asked
                ]
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
