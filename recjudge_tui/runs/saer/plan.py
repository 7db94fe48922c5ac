"""Plan SAER's two stages as one group of runs of one rater, or find the group that the same request made before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from recjudge_tui.domain.calls import Message
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import Estimate, RunSettings
from recjudge_tui.errors import UsageError
from recjudge_tui.judges.registry import check_trust
from recjudge_tui.runs.control.lease import refuse_when_active
from recjudge_tui.runs.plan.plan import CaseCounter, Draft, Plan, RunRequest, draft_run, store_draft
from recjudge_tui.runs.plan.series import AlreadyJudgedError, is_free_or_same, series_name
from recjudge_tui.runs.saer.request import (
    FIRST,
    OPERATION,
    SECOND,
    STAGES,
    SaerRequest,
    same_question,
    with_versions,
)
from recjudge_tui.runs.saer.shares import systems_of_pairs
from recjudge_tui.runs.start import check_judge
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import get_prompt
from recjudge_tui.store.raters import find_rater
from recjudge_tui.store.runs import (
    changed_since,
    create_group,
    groups_of_rater,
    join_group,
    prompt_label,
    run_progress,
    run_row,
    set_request,
    set_settings,
    set_wanted_concurrency,
    stored_runs,
)


@dataclass(frozen=True)
class Stage:
    """One of the two stages; `run_id` is None where it is not planned yet, `existing` where it was planned before.
    `first` are the messages of its first call, where it is planned now."""

    protocol: str
    run_id: int | None
    rater: str
    prompt: str
    estimate: Estimate
    existing: bool = False
    first: tuple[Message, ...] = ()


@dataclass(frozen=True)
class SaerPlan:
    """Both stages; `group_id` is None for a dry run."""

    group_id: int | None
    first: Stage
    second: Stage

    @property
    def stages(self) -> tuple[Stage, Stage]:
        return self.first, self.second

    @property
    def total(self) -> Estimate:
        return total_estimate(self.stages)


@dataclass(frozen=True)
class _Match:
    """The rater of a request with the stored group and its runs by stage. `done` are runs that ended before the data
    changed."""

    rater: str
    group_id: int | None
    runs: dict[str, int]
    done: dict[str, int] = field(default_factory=dict)


def plan_saer(
    db: Database,
    project_id: int,
    request: SaerRequest,
    *,
    rater: str = "",
    dry_run: bool = False,
    must_answer: bool = False,
    progress: CaseCounter | None = None,
) -> SaerPlan:
    """Both stages: those that exist already, the others planned now, all or none.

    `rater` empty: the judge's own name, extended by the differences if it is taken. With `drop_poor_over` the second
    stage is only estimated, as if no system were left out; `plan_second` plans it. Raises what `start.plan` raises, and
    RunError when a process works on one of the runs.
    """
    request = with_versions(db, request)
    match = _match(db, project_id, request, rater)
    drafts: dict[str, Draft] = {}
    for stage in STAGES:
        if stage not in match.runs:
            later = stage == SECOND and request.drop_poor_over is not None
            run = _run_request(project_id, request, stage, match.rater)
            try:
                drafts[stage] = draft_run(db, run, store=not (dry_run or later), progress=progress)
            except AlreadyJudgedError:
                # other data changed, the lists did not
                if stage not in match.done:
                    raise
                match.runs[stage] = match.done[stage]
    stages = {stage: _new_stage(stage, draft.plan) for stage, draft in drafts.items()}
    stages |= {stage: existing_stage(db, run_id) for stage, run_id in match.runs.items()}
    dry = SaerPlan(None, stages[FIRST], stages[SECOND])
    if dry_run:
        return dry
    check_trust(request.judge)
    if must_answer:
        check_judge(request.judge, request.settings[SECOND], dry.total)
    return _store(db, request, match, drafts)


def _store(db: Database, request: SaerRequest, match: _Match, drafts: dict[str, Draft]) -> SaerPlan:
    stages: dict[str, Stage] = {}
    with db.transaction():
        for stage, run_id in match.runs.items():
            _update_operation(db, run_id, request.settings[stage])
            stages[stage] = existing_stage(db, run_id)
        for stage, draft in drafts.items():
            later = stage == SECOND and request.drop_poor_over is not None
            stages[stage] = _new_stage(stage, draft.plan if later else store_draft(db, draft))
        runs = {name: stage.run_id for name, stage in stages.items() if stage.run_id is not None}
        group_id = match.group_id
        if group_id is None:
            group_id = create_group(db, "saer", request.model_dump_json(), runs)
        else:
            set_request(db, group_id, request.model_dump_json())
            for name, run_id in runs.items():
                join_group(db, group_id, name, run_id)
    return SaerPlan(group_id, stages[FIRST], stages[SECOND])


def plan_second(
    db: Database, project_id: int, request: SaerRequest, rater: str, group_id: int, systems: tuple[str, ...]
) -> Stage:
    """Plan the second stage among `systems`, after the first one has ended."""
    settings = request.settings | {SECOND: request.settings[SECOND].model_copy(update={"systems": systems})}
    narrowed = request.model_copy(update={"settings": settings})
    draft = draft_run(db, _run_request(project_id, narrowed, SECOND, rater), store=True)
    with db.transaction():
        plan = store_draft(db, draft)
        assert plan.run_id is not None
        join_group(db, group_id, SECOND, plan.run_id)
    return _new_stage(SECOND, plan)


def _run_request(project_id: int, request: SaerRequest, stage: str, rater: str) -> RunRequest:
    return RunRequest(project_id, request.judge, request.settings[stage], rater, request.prompts[stage])


def _new_stage(protocol: str, plan: Plan) -> Stage:
    return Stage(protocol, plan.run_id, plan.rater, plan.prompt, plan.estimate, first=plan.first)


def existing_stage(db: Database, run_id: int) -> Stage:
    row = run_row(db, run_id)
    estimate = Estimate.model_validate_json(row["estimate"])
    return Stage(
        row["protocol"], run_id, row["rater"], prompt_label(db, row["prompt_id"]), estimate, existing=True
    )


def is_finished(db: Database, run_id: int) -> bool:
    """Whether the run is finished: all calls have ended, or it stopped because it was decided."""
    row, outstanding = run_row(db, run_id), run_progress(db, run_id).outstanding
    decided = row["state"] == "done" and RunSettings.model_validate_json(row["settings"]).until
    return bool(decided) or not outstanding


def total_estimate(stages: tuple[Stage, ...]) -> Estimate:
    """One estimate of all stages; cost and time are None where one of them is not known."""
    estimates = [stage.estimate for stage in stages]

    def total(name: str) -> float | None:
        values = [getattr(estimate, name) for estimate in estimates]
        return None if None in values else sum(values)

    sums = ("calls", "cases", "tokens_in_low", "tokens_in_high", "tokens_out", "images", "tokens_reused")
    return Estimate.model_validate(
        {name: total(name) for name in (*sums, "cost_usd_low", "cost_usd_high", "seconds")}
        | {"longest_prompt_tokens": max(estimate.longest_prompt_tokens for estimate in estimates)}
        | {
            name: "; ".join(dict.fromkeys(filter(None, (getattr(estimate, name) for estimate in estimates))))
            for name in ("price_note", "reuse_note")
        }
    )


def _match(db: Database, project_id: int, request: SaerRequest, rater: str) -> _Match:
    """The named rater; else the first of the judge's names that is new or has no runs with another prompt or other
    settings.
    """
    for name in [rater] if rater else _names(db, project_id, request):
        rater_id = find_rater(db, project_id, name)
        if rater_id is None:
            return _Match(name, None, {})
        match = _recorded(db, rater_id, name, request) or _alike(db, rater_id, name, request)
        finished = all(is_finished(db, run_id) for run_id in match.runs.values())
        again = any(settings.again for settings in request.settings.values())
        if finished and (again or _is_stale(db, project_id, match.runs)):
            match = _Match(name, None, {}, match.runs)
        if rater or _is_usable(db, rater_id, request, match.runs):
            return match
    raise UsageError(
        "all raters of this judge have other prompts or settings",
        next_step="Choose a name for this one with --name.",
    )


def _names(db: Database, project_id: int, request: SaerRequest) -> Iterator[str]:
    """The judge's own name, then the name extended by the differences from that rater's runs."""
    name = request.judge.rater
    yield name
    for stage in reversed(STAGES):
        prompt = get_prompt(db, request.prompts[stage])[0]
        yield series_name(db, project_id, name, request.judge, prompt, request.settings[stage])
    yield f"{name} saer"


def _recorded(db: Database, rater_id: int, rater: str, request: SaerRequest) -> _Match | None:
    """The group that the same request made."""
    for group in reversed(groups_of_rater(db, rater_id)):
        if group.request and same_question(SaerRequest.model_validate_json(group.request), request):
            return _Match(rater, group.id, group.runs)
    return None


def _alike(db: Database, rater_id: int, rater: str, request: SaerRequest) -> _Match:
    """Runs that match the request although it did not create them: a first stage that was run alone, runs of an
    equivalent request, and runs older than the table of groups.
    """
    runs: dict[str, int] = {}
    groups: list[int] = []
    for stage in STAGES:
        settings = request.settings[stage]
        if stage == SECOND and request.drop_poor_over is not None:
            # planned after the first stage had ended, perhaps without some of the systems
            if FIRST not in runs:
                continue
            systems = systems_of_pairs(db, request, runs[FIRST])
            settings = settings.model_copy(update={"systems": systems})
        wanted = settings.model_dump(exclude=set(OPERATION))
        prompt_id = get_prompt(db, request.prompts[stage])[0]
        for row in reversed(stored_runs(db, rater_id=rater_id)):
            same_judge = JudgeSpec.model_validate_json(row["judge"]) == request.judge
            stored = RunSettings.model_validate_json(row["settings"]).model_dump(exclude=set(OPERATION))
            if (row["protocol"], row["prompt_id"]) == (stage, prompt_id) and same_judge and stored == wanted:
                runs[stage] = row["id"]
                groups += [row["group_id"]] if row["group_id"] is not None else []
                break
    return _Match(rater, groups[0] if groups else None, runs)


def _is_usable(db: Database, rater_id: int, request: SaerRequest, runs: dict[str, int]) -> bool:
    """Whether the rater was asked nothing else about the cases of the stages that have no run yet."""
    return all(
        is_free_or_same(
            db, rater_id, request.judge, get_prompt(db, request.prompts[stage])[0], request.settings[stage]
        )
        for stage in STAGES
        if stage not in runs
    )


def _is_stale(db: Database, project_id: int, runs: dict[str, int]) -> bool:
    """Whether the project's data changed since the first of these runs was planned."""
    planned = [run_row(db, run_id)["created_at"] for run_id in runs.values()]
    return bool(planned) and changed_since(db, project_id, min(planned))


def _update_operation(db: Database, run_id: int, settings: RunSettings) -> None:
    """Apply the operation settings of the request to an unfinished run."""
    if is_finished(db, run_id):
        return
    refuse_when_active(db, run_id)
    stored = RunSettings.model_validate_json(run_row(db, run_id)["settings"])
    now = stored.model_copy(update={name: getattr(settings, name) for name in OPERATION})
    if now != stored:
        set_settings(db, run_id, now)
    if now.concurrency != stored.concurrency:
        set_wanted_concurrency(db, run_id, None)
