"""Several runs planned, resumed and paid for as one: SAER, which judges every list alone, then lists in pairs, as a group of
runs of one rater (Liu et al., SIGIR 2026); the combinations of protocols, judges and prompts that a file names; and what a
form asks for, as a run or as SAER's two stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo, field_validator

from recjudge_tui.domain.address import AddressError
from recjudge_tui.domain.base import Model
from recjudge_tui.domain.calls import Message
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.protocols import SAER, offered, protocol_facts
from recjudge_tui.domain.run import Estimate, RunSettings
from recjudge_tui.domain.run_options import RUN_OPTIONS, SAER_NAME, RunOption
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import RecjudgeError, RunError, UsageError
from recjudge_tui.files import parse_toml, small_file
from recjudge_tui.judges.registry import check_trust, server_urls, takes_address
from recjudge_tui.runs.batch import refuse_when_away
from recjudge_tui.runs.cases import Chooser
from recjudge_tui.runs.lease import is_active, refuse_when_active
from recjudge_tui.runs.plan import (
    CaseCounter,
    Draft,
    Plan,
    RunRequest,
    arms_of,
    default_prompt,
    draft_run,
    store_draft,
)
from recjudge_tui.runs.settings import (
    OPERATION,
    AlreadyJudgedError,
    Series,
    is_free_or_same,
    series_name,
    settings_for,
    stored_run,
)
from recjudge_tui.runs.start import check_judge, leave_rest_of_budget, plan, start_detached
from recjudge_tui.store import runs as run_store
from recjudge_tui.store.database import Database, StoredRow, read_cell
from recjudge_tui.store.prompts import get_prompt, load_shipped, prompt_by_id
from recjudge_tui.store.raters import find_rater
from recjudge_tui.store.runs import stored_runs

# ---- plan --------------------------------------------------------------------------------------------------------


FIRST, SECOND = SAER


class SaerRequest(Model):
    """Both stages as the user requests them. `settings` and `prompts` (NAME[@VERSION]) are by stage; the budget is that of
    both stages together. Systems whose share of the lowest label in the first stage is larger than `drop_poor_over` are
    left out of the second."""

    judge: JudgeSpec
    settings: dict[str, RunSettings]
    prompts: dict[str, str]
    drop_poor_over: float | None = None

    def waits(self, stage: str) -> bool:
        """Whether the stage can only be planned when the first has ended."""
        return stage == SECOND and self.drop_poor_over is not None

    def run(self, project_id: int, stage: str, rater: str) -> RunRequest:
        return RunRequest(project_id, self.judge, self.settings[stage], rater, self.prompts[stage])


def saer_request(
    db: Database,
    project_id: int,
    judge: JudgeSpec,
    *,
    prompts: tuple[str, ...] = (),
    drop_poor_over: float | None = None,
    **options: object,
) -> SaerRequest:
    """The request from `options` as `settings_for` takes them. `until` and `baseline` belong to the second stage; the
    baseline's lists are judged alone too. Raises UsageError for a prompt of another protocol, and as `Chooser.systems`."""
    load_shipped(db)
    named: dict[str, str] = {}
    for prompt in prompts:
        protocol = get_prompt(db, prompt)[2].protocol
        if protocol not in SAER or protocol in named:
            raise UsageError(
                f"prompt “{prompt}” is for {protocol}",
                "SAER takes one prompt for pointwise and one for pairwise.",
            )
        named[protocol] = prompt
    settings = {stage: settings_for(stage, **options) for stage in SAER}
    Chooser(db, project_id, settings[SECOND]).systems("pair")
    alone = settings[FIRST]
    systems = dict.fromkeys((*alone.systems, *filter(None, (alone.baseline,)))) if alone.systems else ()
    update = {"until": "", "margin": None, "baseline": "", "systems": tuple(systems)}
    return SaerRequest(
        judge=judge,
        settings={**settings, FIRST: alone.model_copy(update=update)},
        prompts={
            stage: named.get(stage) or default_prompt(db, project_id, stage, settings[stage].domain)
            for stage in SAER
        },
        drop_poor_over=drop_poor_over,
    )


def total_of(estimates: Sequence[Estimate]) -> Estimate:
    """One estimate of several runs; cost and time are None where one of them is not known."""
    pairs = {name: [getattr(each, name) for each in estimates] for name in Estimate.model_fields}
    added = ("calls", "cases", "tokens_in_low", "tokens_in_high", "tokens_out", "images", "stored",
             "tokens_reused", "cost_usd_low", "cost_usd_high", "seconds")  # fmt: skip
    return Estimate.model_validate(
        {name: None if None in pairs[name] else sum(pairs[name]) for name in added}
        | {
            "longest_prompt_tokens": max(pairs["longest_prompt_tokens"]),
            "price_note": "; ".join(dict.fromkeys(filter(None, pairs["price_note"]))),
        }
    )


def plan_saer(
    db: Database,
    project_id: int,
    request: SaerRequest,
    *,
    rater: str = "",
    dry_run: bool = False,
    must_answer: bool = False,
    progress: CaseCounter = lambda _: None,
) -> tuple[int | None, tuple[Plan, Plan]]:
    """The group of both stages (None for a dry run), and these: those that exist already, the others planned now, all or
    none. `rater` empty: the judge's own name, extended by the differences if it is taken. With `drop_poor_over` the second
    stage is only estimated, as if no system were left out; `next_stage` plans it. Raises as `start.plan`, and RunError when
    a process works on a run."""
    labels = {
        stage: run_store.prompt_label(db, get_prompt(db, name)[0]) for stage, name in request.prompts.items()
    }
    request = request.model_copy(update={"prompts": labels})
    rater, found, done = _match(db, project_id, request, rater)
    group_id: int | None = next(filter(None, (row["group_id"] for row in found.values())), None)
    drafts: dict[str, Draft] = {}
    for stage in SAER:
        if stage not in found:
            store = not dry_run and not request.waits(stage)
            run = request.run(project_id, stage, rater)
            try:
                drafts[stage] = draft_run(db, run, store=store, progress=progress)
            except AlreadyJudgedError:
                # other data changed, the lists did not
                if stage not in done:
                    raise
                found[stage] = done[stage]
    stages = {stage: existing_plan(row) for stage, row in found.items()}
    stages |= {stage: draft.plan for stage, draft in drafts.items()}
    if dry_run:
        return None, (stages[FIRST], stages[SECOND])
    check_trust(request.judge)
    if must_answer:
        whole = total_of([stages[stage].estimate for stage in SAER])
        check_judge(request.judge, request.settings[SECOND], whole)
    with db.transaction():
        for stage, row in found.items():
            _update_operation(db, row["id"], request.settings[stage])
        for stage, draft in drafts.items():
            if not request.waits(stage):
                stages[stage] = store_draft(db, draft)
        runs = {stage: planned.run_id for stage, planned in stages.items() if planned.run_id is not None}
        known = {} if group_id is None else run_store.group_by_id(db, group_id).runs
        # a first stage that other pairs follow goes with the newest request
        if group_id is None or any(known.get(stage, run_id) != run_id for stage, run_id in runs.items()):
            group_id = run_store.create_group(db, "saer", request.model_dump_json(), runs)
        else:
            db.change("run_groups", group_id, request=request.model_dump_json())
            for stage, run_id in runs.items():
                db.change("runs", run_id, group_id=group_id, stage=stage)
    return group_id, (stages[FIRST], stages[SECOND])


def existing_plan(run: StoredRow) -> Plan:
    estimate = Estimate.model_validate_json(run["estimate"])
    return Plan(run["id"], run["rater"], run["prompt"], estimate, protocol=run["protocol"], existing=True)


def is_finished(db: Database, run_id: int) -> bool:
    """Whether the run is finished: all calls have ended, or it stopped because it was decided."""
    row, outstanding = run_store.run_row(db, run_id), run_store.run_progress(db, run_id).outstanding
    decided = row["state"] == "done" and RunSettings.model_validate_json(row["settings"]).until
    return bool(decided) or not outstanding


def _update_operation(db: Database, run_id: int, settings: RunSettings) -> None:
    """Apply the operation settings of the request to an unfinished run."""
    if is_finished(db, run_id):
        return
    refuse_when_active(db, run_id)
    stored = RunSettings.model_validate_json(run_store.run_row(db, run_id)["settings"])
    now = stored.model_copy(update={name: getattr(settings, name) for name in OPERATION})
    if now != stored:
        asked = {} if now.concurrency == stored.concurrency else {"wanted_concurrency": None}
        db.change("runs", run_id, settings=now.model_dump_json(), **asked)


Stages = dict[str, StoredRow]


def _match(db: Database, project_id: int, request: SaerRequest, rater: str) -> tuple[str, Stages, Stages]:
    """The rater of a request, with its runs that ask the same, and with those that ended before the data changed. The
    named rater; else the first of the judge's names that is new or has no runs with another prompt or other settings: its
    own name, then the name extended by the differences from that rater's runs."""
    series = {
        stage: Series(request.judge, get_prompt(db, request.prompts[stage])[0], request.settings[stage])
        for stage in SAER
    }
    own, usual = request.judge.rater, (series_name(db, project_id, series[stage]) for stage in reversed(SAER))
    for name in [rater] if rater else chain([own], usual, [f"{own} saer"]):
        rater_id = find_rater(db, project_id, name)
        if rater_id is None:
            return name, {}, {}
        runs, done = _stored(db, project_id, rater_id, request, series), {}
        if all(is_finished(db, row["id"]) for row in runs.values()):
            planned = [row["created_at"] for row in runs.values()]
            again = any(settings.again for settings in request.settings.values())
            if again or (planned and run_store.changed_since(db, project_id, min(planned))):
                runs, done = {}, runs
        # asked nothing else about the cases of the stages that have no run yet
        fresh = [asked for stage, asked in series.items() if stage not in runs]
        if rater or all(is_free_or_same(db, rater_id, asked) for asked in fresh):
            return name, runs, done
    raise UsageError(
        "all raters of this judge have other prompts or settings",
        next_step="Choose a name for this one with --name.",
    )


def _stored(
    db: Database, project_id: int, rater_id: int, request: SaerRequest, series: Mapping[str, Series]
) -> Stages:
    """The runs by stage that ask what the request asks: made by it, by an equal one, or a first stage run alone."""
    runs: Stages = {}
    for stage, asked in series.items():
        if request.waits(stage):
            # planned after the first stage had ended, perhaps without some of the systems
            if FIRST not in runs:
                continue
            systems = exclusion(db, request, runs[FIRST]["id"]).systems
            asked = asked._replace(settings=asked.settings.model_copy(update={"systems": systems}))
        if (row := stored_run(db, project_id, rater_id, asked)) is not None:
            runs[stage] = row
    return runs


# ---- work --------------------------------------------------------------------------------------------------------


class Exclusion(NamedTuple):
    """The systems left out of the second stage with their shares of the lowest label; `systems` are the others as the
    settings name them: those asked for where none is left out. `why_none`: why there can be no second stage, or empty."""

    left_out: dict[str, float]
    systems: tuple[str, ...]
    why_none: str


def exclusion(db: Database, request: SaerRequest, first_run: int) -> Exclusion:
    """The systems left out of the second stage: those whose share of the prompt's lowest label, by the verdicts that the
    first has now, is larger than `drop_poor_over`."""
    prompt, over = prompt_by_id(db, run_store.run_row(db, first_run)["prompt_id"]), request.drop_poor_over
    aspect, settings = prompt.aspects[0].name, request.settings[SECOND]
    lowest = min(label.value for label in prompt.labels_of(aspect))
    judged, poor = Counter[str](), Counter[str]()
    for count in run_store.verdict_counts(db, first_run, aspect):
        judged[count.system_a] += count.verdicts
        poor[count.system_a] += count.verdicts * (count.value == lowest)
    known = run_store.run_systems(db, first_run)
    shares = {system: poor[system] / judged[system] for system in known if judged[system]}
    left_out = {system: share for system, share in shares.items() if over is not None and share > over}
    kept, why = tuple(system for system in known if system not in left_out), ""
    if len(kept) < 2:
        why = f"fewer than two systems are left ({', '.join(kept) or 'none'})"
    elif settings.baseline in left_out:
        why = f"the baseline {settings.baseline} was left out"
    return Exclusion(left_out, kept if left_out else settings.systems, why)


def next_stage(db: Database, group_id: int) -> Plan | None:
    """The stage to work on next, ready for it; None when both are done. The second stage is planned here where that had to
    wait for the first, and gets what is left of the budget. Raises RunError when nothing is left, or when calls of the run
    are in a batch at a provider."""
    group, request = run_store.group_by_id(db, group_id), asked_in(db, group_id)
    if FIRST not in group.runs:
        raise RunError(
            "the first stage was deleted", "The second one needs it.", "Start again with “recjudge run saer”."
        )
    first = group.runs[FIRST]
    if _is_outstanding(db, first):
        return existing_plan(run_store.run_row(db, first))
    out = exclusion(db, request, first)
    if out.why_none:
        return None
    if SECOND in group.runs:
        stage = existing_plan(run_store.run_row(db, group.runs[SECOND]))
    else:
        run = request.run(group.project_id, SECOND, group.rater)
        run = replace(run, settings=run.settings.model_copy(update={"systems": out.systems}))
        draft = draft_run(db, run, store=True)
        with db.transaction():
            stage = store_draft(db, draft)
            assert stage.run_id is not None
            db.change("runs", stage.run_id, group_id=group_id, stage=SECOND)
    assert stage.run_id is not None
    if not _is_outstanding(db, stage.run_id):
        return None
    leave_rest_of_budget(db, request.settings[SECOND].budget_usd, [first], stage.run_id)
    return stage


def asked_in(db: Database, group_id: int) -> SaerRequest:
    """The request that made a group."""
    return read_cell(
        SaerRequest, run_store.group_by_id(db, group_id).request, "run_groups", group_id, "request"
    )


def _is_outstanding(db: Database, run_id: int) -> bool:
    """Whether the run is to be worked on. If not, and its process was killed after the last answer, before it could mark
    the run done, it is marked now. Raises RunError when its calls are in a batch."""
    if not is_finished(db, run_id):
        refuse_when_away(db, run_id)
        return True
    owner, _ = run_store.lease_owner(db, run_id)
    if owner is not None and not is_active(db, run_id):
        run_store.mark_ended(db, run_id, owner, "done")
    return False


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
        RunRequest(project_id, judge, settings[name], "", prompt)
        for name, judge in product(protocols, asked.judges)
        for prompt in named.get(protocol_facts(name).prompt_protocol)
        or [default_prompt(db, project_id, name, settings[name].domain)]
    ]
    return Experiment(tuple(requests), asked.truth, budget)


def _wrong(path: Path, key: str, what: str) -> UsageError:
    return UsageError(f"{path}: “{key}” {what}", next_step="“recjudge run --save FILE” writes such a file.")


def _misfit(path: Path, error: ValidationError) -> UsageError:
    """The first fault, by its key."""
    fault = error.errors()[0]
    return _wrong(path, str((fault["loc"] or ("options",))[0]), f"does not fit: {fault['msg']}")


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
                chosen = options | dict(zip(several, values, strict=True))
                settings = settings_for(run["protocol"], **chosen, budget_usd=budget)
                arms = [("", default_prompt(db, project_id, settings.protocol, settings.domain))]
                if "prompts" in run:
                    arms = arms_of(db, project_id, judge, tuple(run["prompts"]))
                asked = [RunRequest(project_id, judge, settings, *arm) for arm in arms]
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
    return tomlkit.dumps(data)


def plan_experiment(
    db: Database, experiment: Experiment, *, dry_run: bool, progress: CaseCounter = lambda _: None
) -> list[Plan]:
    """A plan for each request: the run that asks the same, if there is one, else planned now, once all of them fit. Raises
    what `start.plan` raises."""
    found = [_existing(db, request) for request in experiment.requests]
    # one that fits alone need not be tried first
    for dry in [True] if dry_run else [True, False] if found.count(None) > 1 else [False]:
        # one after the other, because each run of a judge decides how the rater of the next is called
        found = [
            known if known and known.run_id is not None else _fresh(db, request, dry, progress)
            for request, known in zip(experiment.requests, found, strict=True)
        ]
    return list(filter(None, found))


def _fresh(db: Database, request: RunRequest, dry_run: bool, progress: CaseCounter) -> Plan:
    """A new plan; the newest run of the protocol, if runs that chose the cases otherwise judged them all."""
    try:
        return plan(db, [request], dry_run=dry_run, progress=progress)[0]
    except AlreadyJudgedError as judged:
        rater = find_rater(db, request.project_id, judged.rater)
        rows = [] if rater is None else stored_runs(db, rater_id=rater)
        same = [row for row in rows if row["protocol"] == request.settings.protocol]
        if not same:
            raise
        return existing_plan(same[-1])


def _existing(db: Database, request: RunRequest) -> Plan | None:
    series = Series(request.judge, get_prompt(db, request.prompt)[0], request.settings)
    name = request.rater or series_name(db, request.project_id, series)
    rater = find_rater(db, request.project_id, name)
    row = None if rater is None else stored_run(db, request.project_id, rater, series)
    return None if row is None else existing_plan(row)


# ---- forms -------------------------------------------------------------------------------------------------------


class LaunchRequest(NamedTuple):
    """What a form asks for. `options` are the chosen settings, as `settings_for` takes them; for SAER those of both
    stages, and `drop_poor_over`."""

    judge: JudgeSpec
    protocol: str
    rater: str
    prompt: str
    options: dict[str, Any]

    @property
    def is_saer(self) -> bool:
        return self.protocol == SAER_NAME

    @property
    def settings(self) -> RunSettings:
        """For SAER those of its pairs, before cases are counted."""
        options = {name: value for name, value in self.options.items() if name in RUN_OPTIONS}
        return settings_for(one_protocol(self.protocol), **options)

    def again(self) -> LaunchRequest:
        """The request to judge again and replace the existing verdicts."""
        return self._replace(options=self.options | {"again": True})

    def run(self, project_id: int) -> RunRequest:
        return RunRequest(project_id, self.judge, self.settings, self.rater, self.prompt)

    def plan(self, db: Database, project_id: int, **how: Any) -> tuple[int | None, tuple[Plan, ...]]:
        """Its runs, planned `how` it is said, and the group of SAER's two."""
        if self.is_saer:
            stages = saer_request(db, project_id, self.judge, **self.options)
            return plan_saer(db, project_id, stages, rater=self.rater, **how)
        return None, plan(db, [self.run(project_id)], **how)


def one_protocol(name: str) -> str:
    """The protocol itself; for SAER its second stage, which has all settings of the first one."""
    return SAER[1] if name == SAER_NAME else name


class ExpectedRun(NamedTuple):
    """The estimate of a run; for two stages, of both together. `notes` are lines for the user, `first` the messages of
    the first call. `place` is the server that is asked, empty for none. `again` says that all of this was judged before,
    and that the estimate is that of judging it again."""

    rater: str
    prompt: str
    estimate: Estimate
    notes: tuple[str, ...] = ()
    first: tuple[Message, ...] = ()
    place: str = ""
    again: str = ""


def expected_run(
    db: Database, project_id: int, request: LaunchRequest, progress: CaseCounter
) -> ExpectedRun | RecjudgeError:
    """The estimate of the run, without storing anything, or why it cannot be planned."""
    judge, again = request.judge, ""
    notes = [f"asks {judge.where}"] if judge.api_key_env or judge.header_env else []
    try:
        try:
            _, plans = request.plan(db, project_id, dry_run=True, progress=progress)
        except AlreadyJudgedError as error:
            if request.is_saer:
                raise
            again = error.title
            _, plans = request.again().plan(db, project_id, dry_run=True, progress=progress)
            notes.append(f"{again}. Starting it again replaces these verdicts.")
        place = _destination(judge)
    except RecjudgeError as error:
        return error
    estimate = plans[0].estimate
    if request.is_saer:
        estimate = total_of([stage.estimate for stage in plans])
        for stage in plans:
            existing = f": run {stage.run_id} already exists and will be resumed" if stage.existing else ""
            counted = f"{stage.estimate.calls:,} calls on {stage.estimate.cases:,} cases"
            notes.append(f"{stage.protocol}: {counted}{existing}")
    elif request.settings.until:
        notes.append("This is the upper bound: the run stops as soon as the comparison is decided.")
    prompts = " and ".join(plan.prompt for plan in plans)
    first = next((plan.first for plan in plans if plan.first), ())
    return ExpectedRun(plans[0].rater, prompts, estimate, tuple(notes), first, place, again)


def _destination(judge: JudgeSpec) -> str:
    """`localhost:9100`, `gw.example with MY_KEY`; empty for a judge that asks no server."""
    from recjudge_tui.judges.local_servers import place_of

    if not takes_address(judge):
        return ""
    servers = one_line(", ".join(map(place_of, server_urls(judge))) or judge.provider, 60)
    named = ", ".join(filter(None, (judge.api_key_env, *(variable for _, variable in judge.header_env))))
    return f"{servers} with {one_line(named, 300)}" if named else servers


def start_run(
    db: Database, project_id: int, request: LaunchRequest, progress: CaseCounter
) -> tuple[int, RecjudgeError | None]:
    """Plan the run, check the judge, store the plan, and start a process that works on it. Returns the run to watch; with
    an error, it was planned but not started."""
    group_id, plans = request.plan(db, project_id, must_answer=True, progress=progress)
    run = plans[0] if group_id is None else next_stage(db, group_id)
    if run is None or run.run_id is None:
        raise RunError(
            "both stages are already done",
            f"Runs {' and '.join(str(plan.run_id) for plan in plans)} of {plans[0].rater} already judged this.",
            "Change a setting, or give the rater another name.",
        )
    try:
        start_detached(db, run.run_id, group_id)
    except RecjudgeError as error:
        return run.run_id, error
    return run.run_id, None
