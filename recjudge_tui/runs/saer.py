"""SAER as one request: every list alone, then lists in pairs, as a group of runs of one rater (Liu et al., SIGIR 2026)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.protocols import SAER
from recjudge_tui.domain.run import Estimate, RunSettings
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
from recjudge_tui.runs.selection import Chooser
from recjudge_tui.runs.settings import (
    OPERATION,
    AlreadyJudgedError,
    is_free_or_same,
    series_name,
    settings_for,
    stored_run,
)
from recjudge_tui.runs.start import check_judge, leave_rest_of_budget, start_detached
from recjudge_tui.store.database import Database, read_cell
from recjudge_tui.store.prompts import get_prompt, load_shipped, prompt_by_id
from recjudge_tui.store.raters import find_rater
from recjudge_tui.store.runs import (
    changed_since,
    create_group,
    group_by_id,
    lease_owner,
    mark_ended,
    prompt_label,
    run_progress,
    run_row,
    run_systems,
    verdict_counts,
)

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
    baseline's lists are judged alone too. Raises UsageError for a prompt of another protocol, and what `Chooser.systems`
    raises."""
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
            stage: named.get(stage)
            or default_prompt(db, project_id, protocol_named(stage), settings[stage].domain)
            for stage in SAER
        },
        drop_poor_over=drop_poor_over,
    )


class SaerPlan(NamedTuple):
    """Both stages; `group_id` is None for a dry run."""

    group_id: int | None
    first: Plan
    second: Plan

    @property
    def stages(self) -> tuple[Plan, Plan]:
        return self.first, self.second

    @property
    def total(self) -> Estimate:
        return total_of([stage.estimate for stage in self.stages])


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
    progress: CaseCounter | None = None,
) -> SaerPlan:
    """Both stages: those that exist already, the others planned now, all or none. `rater` empty: the judge's own name,
    extended by the differences if it is taken. With `drop_poor_over` the second stage is only estimated, as if no system
    were left out; `next_stage` plans it. Raises what `start.plan` raises, and RunError when a process works on one of the
    runs."""
    labels = {stage: prompt_label(db, get_prompt(db, name)[0]) for stage, name in request.prompts.items()}
    request = request.model_copy(update={"prompts": labels})
    match = _match(db, project_id, request, rater)
    drafts: dict[str, Draft] = {}
    for stage in SAER:
        if stage not in match.runs:
            store = not dry_run and not request.waits(stage)
            run = _run_request(project_id, request, stage, match.rater)
            try:
                drafts[stage] = draft_run(db, run, store=store, progress=progress)
            except AlreadyJudgedError:
                # other data changed, the lists did not
                if stage not in match.done:
                    raise
                match.runs[stage] = match.done[stage]
    stages = {stage: existing_stage(db, run_id) for stage, run_id in match.runs.items()}
    stages |= {stage: draft.plan for stage, draft in drafts.items()}
    plan = SaerPlan(None, stages[FIRST], stages[SECOND])
    if dry_run:
        return plan
    check_trust(request.judge)
    if must_answer:
        check_judge(request.judge, request.settings[SECOND], plan.total)
    with db.transaction():
        for stage, run_id in match.runs.items():
            _update_operation(db, run_id, request.settings[stage])
        for stage, draft in drafts.items():
            if not request.waits(stage):
                stages[stage] = store_draft(db, draft)
        runs = {stage: planned.run_id for stage, planned in stages.items() if planned.run_id is not None}
        group_id = match.group_id
        known = {} if group_id is None else group_by_id(db, group_id).runs
        # a first stage that other pairs follow goes with the newest request
        if group_id is None or any(known.get(stage, run_id) != run_id for stage, run_id in runs.items()):
            group_id = create_group(db, "saer", request.model_dump_json(), runs)
        else:
            db.change("run_groups", group_id, request=request.model_dump_json())
            for stage, run_id in runs.items():
                db.change("runs", run_id, group_id=group_id, stage=stage)
    return SaerPlan(group_id, stages[FIRST], stages[SECOND])


def _run_request(project_id: int, request: SaerRequest, stage: str, rater: str) -> RunRequest:
    return RunRequest(project_id, request.judge, request.settings[stage], rater, request.prompts[stage])


def existing_stage(db: Database, run_id: int) -> Plan:
    row = run_row(db, run_id)
    estimate, prompt = Estimate.model_validate_json(row["estimate"]), prompt_label(db, row["prompt_id"])
    return Plan(run_id, row["rater"], prompt, estimate, protocol=row["protocol"], existing=True)


def is_finished(db: Database, run_id: int) -> bool:
    """Whether the run is finished: all calls have ended, or it stopped because it was decided."""
    row, outstanding = run_row(db, run_id), run_progress(db, run_id).outstanding
    decided = row["state"] == "done" and RunSettings.model_validate_json(row["settings"]).until
    return bool(decided) or not outstanding


def _update_operation(db: Database, run_id: int, settings: RunSettings) -> None:
    """Apply the operation settings of the request to an unfinished run."""
    if is_finished(db, run_id):
        return
    refuse_when_active(db, run_id)
    stored = RunSettings.model_validate_json(run_row(db, run_id)["settings"])
    now = stored.model_copy(update={name: getattr(settings, name) for name in OPERATION})
    if now != stored:
        db.change("runs", run_id, settings=now.model_dump_json())
    if now.concurrency != stored.concurrency:
        db.change("runs", run_id, wanted_concurrency=None)


# ---- match -------------------------------------------------------------------------------------------------------


class _Match(NamedTuple):
    """The rater of a request with the stored group and its runs by stage. `done` are runs that ended before the data
    changed."""

    rater: str
    group_id: int | None
    runs: dict[str, int]
    done: dict[str, int]


def _match(db: Database, project_id: int, request: SaerRequest, rater: str) -> _Match:
    """The named rater; else the first of the judge's names that is new or has no runs with another prompt or other
    settings."""
    for name in [rater] if rater else _names(db, project_id, request):
        rater_id = find_rater(db, project_id, name)
        if rater_id is None:
            return _Match(name, None, {}, {})
        match = _Match(name, *_stored(db, project_id, rater_id, request), {})
        runs = match.runs
        if all(is_finished(db, run_id) for run_id in runs.values()):
            planned = [run_row(db, run_id)["created_at"] for run_id in runs.values()]
            again = any(settings.again for settings in request.settings.values())
            if again or (planned and changed_since(db, project_id, min(planned))):
                match = _Match(name, None, {}, runs)
        # asked nothing else about the cases of the stages that have no run yet
        if rater or all(
            is_free_or_same(
                db, rater_id, request.judge, _prompt_id(db, request, stage), request.settings[stage]
            )
            for stage in SAER
            if stage not in match.runs
        ):
            return match
    raise UsageError(
        "all raters of this judge have other prompts or settings",
        next_step="Choose a name for this one with --name.",
    )


def _prompt_id(db: Database, request: SaerRequest, stage: str) -> int:
    return get_prompt(db, request.prompts[stage])[0]


def _names(db: Database, project_id: int, request: SaerRequest) -> Iterator[str]:
    """The judge's own name, then the name extended by the differences from that rater's runs."""
    name, judge = request.judge.rater, request.judge
    yield name
    for stage in reversed(SAER):
        prompt_id = _prompt_id(db, request, stage)
        yield series_name(db, project_id, name, judge, prompt_id, request.settings[stage])
    yield f"{name} saer"


def _stored(
    db: Database, project_id: int, rater_id: int, request: SaerRequest
) -> tuple[int | None, dict[str, int]]:
    """The group and the runs by stage that ask what the request asks: made by it, by an equivalent one, or a first stage
    that was run alone."""
    runs: dict[str, int] = {}
    groups: list[int] = []
    for stage in SAER:
        settings = request.settings[stage]
        if request.waits(stage):
            # planned after the first stage had ended, perhaps without some of the systems
            if FIRST not in runs:
                continue
            settings = settings.model_copy(update={"systems": exclusion(db, request, runs[FIRST]).systems})
        row = stored_run(db, project_id, rater_id, request.judge, request.prompts[stage], settings)
        if row is not None:
            runs[stage] = row["id"]
            groups += [row["group_id"]] if row["group_id"] is not None else []
    return groups[0] if groups else None, runs


# ---- work --------------------------------------------------------------------------------------------------------


class Exclusion(NamedTuple):
    """The systems left out of the second stage with their shares of the lowest label; `systems` are the others as the
    settings name them: those asked for where none is left out. `why_none` is the reason why there can be no second stage,
    or empty."""

    left_out: dict[str, float]
    systems: tuple[str, ...]
    why_none: str


def exclusion(db: Database, request: SaerRequest, first_run: int) -> Exclusion:
    """The systems left out of the second stage: those whose share of the prompt's lowest label, by the verdicts that the
    first has now, is larger than `drop_poor_over`."""
    prompt, over = prompt_by_id(db, run_row(db, first_run)["prompt_id"]), request.drop_poor_over
    aspect, settings = prompt.aspects[0].name, request.settings[SECOND]
    lowest = min(label.value for label in prompt.labels_of(aspect))
    judged, poor = Counter[str](), Counter[str]()
    for count in verdict_counts(db, first_run, aspect):
        judged[count.system_a] += count.verdicts
        poor[count.system_a] += count.verdicts * (count.value == lowest)
    known = run_systems(db, first_run)
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
    group, request = group_by_id(db, group_id), asked_in(db, group_id)
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
        run = _run_request(group.project_id, request, SECOND, group.rater)
        run = replace(run, settings=run.settings.model_copy(update={"systems": out.systems}))
        draft = draft_run(db, run, store=True)
        with db.transaction():
            stage = store_draft(db, draft)
            assert stage.run_id is not None
            db.change("runs", stage.run_id, group_id=group_id, stage=SECOND)
    assert stage.run_id is not None
    if is_finished(db, stage.run_id):
        _close(db, stage.run_id)
        return None
    refuse_when_away(db, stage.run_id)
    leave_rest_of_budget(db, request.settings[SECOND].budget_usd, [first], stage.run_id)
    return stage


def asked_in(db: Database, group_id: int) -> SaerRequest:
    """The request that made a group."""
    return read_cell(SaerRequest, group_by_id(db, group_id).request, "run_groups", group_id, "request")


def detach_saer(db: Database, group_id: int, run_id: int, words: Sequence[str] = ()) -> None:
    """Work through the stages in another process, beginning with run `run_id`. `words` are further arguments of its
    command. Raises RunError if it does not start."""
    start_detached(db, run_id, ("runs", "work-group", str(group_id), *words))


def _close(db: Database, run_id: int) -> None:
    """Mark a run done if its process was killed after the last answer, before it could do so."""
    owner, _ = lease_owner(db, run_id)
    if owner is not None and not is_active(db, run_id):
        mark_ended(db, run_id, owner, "done")
