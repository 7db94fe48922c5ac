"""SAER as one request: every list alone, then lists in pairs, as a group of runs of one rater (Liu et al., SIGIR 2026)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.calls import Message
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.protocols import SAER
from recjudge_tui.domain.run import Estimate, RunSettings
from recjudge_tui.domain.run_options import settings_that
from recjudge_tui.domain.text import money
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.judges.registry import check_trust
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.runs.batch import refuse_when_away
from recjudge_tui.runs.lease import is_active, refuse_when_active
from recjudge_tui.runs.plan import (
    CaseCounter,
    Draft,
    Plan,
    RunRequest,
    default_prompt,
    draft_run,
    store_draft,
)
from recjudge_tui.runs.selection import chosen_systems
from recjudge_tui.runs.settings import AlreadyJudgedError, is_free_or_same, series_name, settings_for
from recjudge_tui.runs.start import change_settings, check_judge, start_detached
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import get_prompt, load_shipped, prompt_by_id
from recjudge_tui.store.raters import find_rater
from recjudge_tui.store.runs import (
    changed_since,
    create_group,
    group_by_id,
    groups_of_rater,
    join_group,
    label_counts,
    lease_owner,
    mark_ended,
    prompt_label,
    run_progress,
    run_row,
    run_systems,
    set_request,
    set_settings,
    set_wanted_concurrency,
    stored_runs,
)

# ---- request -----------------------------------------------------------------------------------------------------


STAGES = SAER
FIRST, SECOND = SAER
# how a run is worked on, not what it asks: a request that differs only in these resumes the same runs
OPERATION = settings_that("work") - {"use_cache"} | {"again"}


class SaerRequest(Model):
    """Both stages as the user requests them.

    `settings` and `prompts` (NAME[@VERSION]) are by stage; the budget is that of both stages together. Systems whose
    share of the lowest label in the first stage is larger than `drop_poor_over` are left out of the second.
    """

    judge: JudgeSpec
    settings: dict[str, RunSettings]
    prompts: dict[str, str]
    drop_poor_over: float | None = None


def saer_request(
    db: Database,
    project_id: int,
    judge: JudgeSpec,
    *,
    prompts: tuple[str, ...] = (),
    drop_poor_over: float | None = None,
    **options: object,
) -> SaerRequest:
    """The request from `options` as `settings_for` takes them.

    `until` and `baseline` belong to the second stage. Raises UsageError for a prompt of another protocol, and what
    `chosen_systems` raises.
    """
    load_shipped(db)
    named: dict[str, str] = {}
    for prompt in prompts:
        protocol = get_prompt(db, prompt)[2].protocol
        if protocol not in STAGES or protocol in named:
            raise UsageError(
                f"prompt “{prompt}” is for {protocol}",
                "SAER takes one prompt for pointwise and one for pairwise.",
            )
        named[protocol] = prompt
    settings = {stage: settings_for(stage, **options) for stage in STAGES}
    chosen_systems(db, project_id, settings[SECOND], "pair")
    return SaerRequest(
        judge=judge,
        settings={
            FIRST: _single_lists(settings[FIRST]),
            SECOND: settings[SECOND],
        },
        prompts={
            stage: named.get(stage)
            or default_prompt(db, project_id, protocol_named(stage), settings[stage].domain)
            for stage in STAGES
        },
        drop_poor_over=drop_poor_over,
    )


def _single_lists(settings: RunSettings) -> RunSettings:
    """The settings without options that only pairs have; the baseline becomes one of the systems."""
    systems = tuple(dict.fromkeys((*settings.systems, settings.baseline))) if settings.systems else ()
    return settings.model_copy(
        update={"until": "", "margin": None, "baseline": "", "systems": tuple(filter(None, systems))}
    )


def with_versions(db: Database, request: SaerRequest) -> SaerRequest:
    """The request with the current version of each prompt that has none."""
    labels = {stage: prompt_label(db, get_prompt(db, name)[0]) for stage, name in request.prompts.items()}
    return request.model_copy(update={"prompts": labels})


def same_question(first: SaerRequest, second: SaerRequest) -> bool:
    """Whether two requests ask the same question, even with different operation settings. Prompts must have versions."""
    return _question(first) == _question(second)


def _question(request: SaerRequest) -> dict[str, object]:
    return request.model_dump(exclude={"settings": {stage: set(OPERATION) for stage in STAGES}})


# ---- shares ------------------------------------------------------------------------------------------------------


class PoorShare(NamedTuple):
    """How many of a system's judged lists got the lowest label; `share` is None if none was judged."""

    system: str
    poor: int
    n: int

    @property
    def share(self) -> float | None:
        return self.poor / self.n if self.n else None


class Exclusion(NamedTuple):
    """The systems left out of the second stage with their shares of the lowest label, and those kept, by name.

    `why_none` is the reason why there can be no second stage, or empty.
    """

    left_out: dict[str, float]
    kept: tuple[str, ...]
    why_none: str


def poor_shares(db: Database, run_id: int) -> list[PoorShare]:
    """How often each system of the first stage got the lowest label of the prompt's scale, by system."""
    prompt = prompt_by_id(db, run_row(db, run_id)["prompt_id"])
    aspect = prompt.aspects[0].name
    lowest = min(label.value for label in prompt.labels_of(aspect))
    counts = label_counts(db, run_id, aspect)
    return [
        PoorShare(
            system,
            sum(n for name, value, n in counts if name == system and value == lowest),
            sum(n for name, _, n in counts if name == system),
        )
        for system in run_systems(db, run_id)
    ]


def dropped_systems(shares: Sequence[PoorShare], over: float | None) -> tuple[str, ...]:
    """Those whose share is known and larger than `over`; none where `over` is None."""
    if over is None:
        return ()
    return tuple(s.system for s in shares if s.share is not None and s.share > over)


def exclusion(db: Database, request: SaerRequest, first_run: int) -> Exclusion:
    """The systems left out of the second stage, by the verdicts that the first has now."""
    shares = poor_shares(db, first_run)
    dropped = dropped_systems(shares, request.drop_poor_over)
    left_out = {s.system: s.share for s in shares if s.system in dropped and s.share is not None}
    kept = tuple(s.system for s in shares if s.system not in dropped)
    baseline, why = request.settings[SECOND].baseline, ""
    if len(kept) < 2:
        why = f"fewer than two systems are left ({', '.join(kept) or 'none'})"
    elif baseline in dropped:
        why = f"the baseline {baseline} was left out"
    return Exclusion(left_out, kept, why)


def systems_of_pairs(db: Database, request: SaerRequest, first_run: int) -> tuple[str, ...]:
    """The systems as the settings of the second stage name them: those asked for where none is left out."""
    out = exclusion(db, request, first_run)
    return out.kept if out.left_out else request.settings[SECOND].systems


# ---- plan --------------------------------------------------------------------------------------------------------


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

    sums = (
        "calls",
        "cases",
        "tokens_in_low",
        "tokens_in_high",
        "tokens_out",
        "images",
        "stored",
        "tokens_reused",
    )
    return Estimate.model_validate(
        {name: total(name) for name in (*sums, "cost_usd_low", "cost_usd_high", "seconds")}
        | {"longest_prompt_tokens": max(estimate.longest_prompt_tokens for estimate in estimates)}
        | {
            name: "; ".join(dict.fromkeys(filter(None, (getattr(estimate, name) for estimate in estimates))))
            for name in ("price_note",)
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


# ---- work --------------------------------------------------------------------------------------------------------


class SaerResult(NamedTuple):
    """The runs of both stages. `second` is None where there was none, `why_none` says why; `left_out` are the systems
    kept out of it with their shares of the lowest label, over `drop_poor_over`."""

    project_id: int
    rater: str
    first: int
    second: int | None
    left_out: dict[str, float]
    drop_poor_over: float | None
    why_none: str


def next_stage(db: Database, group_id: int) -> Stage | None:
    """The stage to work on next, ready for it; None when both are done.

    The second stage is planned here where that had to wait for the first, and gets what is left of the budget.
    Raises RunError when nothing is left, or when calls of the run are in a batch at a provider.
    """
    group, request = group_by_id(db, group_id), _request(db, group_id)
    if FIRST not in group.runs:
        raise RunError(
            "the first stage was deleted", "The second one needs it.", "Start again with “recjudge run saer”."
        )
    first = group.runs[FIRST]
    if not is_finished(db, first):
        refuse_when_away(db, first)
        return existing_stage(db, first)
    _close(db, first)
    out = exclusion(db, request, first)
    if out.why_none:
        return None
    if SECOND in group.runs:
        stage = existing_stage(db, group.runs[SECOND])
    else:
        systems = out.kept if out.left_out else request.settings[SECOND].systems
        stage = plan_second(db, group.project_id, request, group.rater, group_id, systems)
    assert stage.run_id is not None
    if is_finished(db, stage.run_id):
        _close(db, stage.run_id)
        return None
    refuse_when_away(db, stage.run_id)
    _leave_budget(db, request, first, stage.run_id)
    return stage


def result_of(db: Database, group_id: int) -> SaerResult:
    """The runs of both stages, once `next_stage` returns None."""
    group, request = group_by_id(db, group_id), _request(db, group_id)
    first = group.runs[FIRST]
    left_out, _, why_none = exclusion(db, request, first)
    second = None if why_none else group.runs[SECOND]
    return SaerResult(
        group.project_id, group.rater, first, second, left_out, request.drop_poor_over, why_none
    )


def detach_saer(db: Database, group_id: int, run_id: int, words: Sequence[str] = ()) -> None:
    """Work through the stages in another process, beginning with run `run_id`.

    `words` are further arguments of its command. Raises RunError if it does not start.
    """
    start_detached(db, run_id, ("runs", "work-group", str(group_id), *words))


def _request(db: Database, group_id: int) -> SaerRequest:
    text = group_by_id(db, group_id).request
    if text is None:
        raise RunError("these runs have no stored request", next_step="Start again with “recjudge run saer”.")
    return SaerRequest.model_validate_json(text)


def _close(db: Database, run_id: int) -> None:
    """Mark a run done if its process was killed after the last answer, before it could do so."""
    owner, _ = lease_owner(db, run_id)
    if owner is not None and not is_active(db, run_id):
        mark_ended(db, run_id, owner, "done")


def _leave_budget(db: Database, request: SaerRequest, first: int, second: int) -> None:
    """Give the second stage the rest of the common budget. Raises RunError if nothing is left."""
    budget = request.settings[SECOND].budget_usd
    if budget is None:
        return
    left = budget - run_progress(db, first).spent_usd
    if left <= 0:
        raise RunError(
            "the budget is spent",
            f"The first stage cost {money(budget - left)} of {money(budget)}.",
            "To resume, repeat the command with a larger --budget.",
        )
    change_settings(db, second, budget_usd=left)
