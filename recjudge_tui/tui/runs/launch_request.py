"""The run that the launch form describes: its estimate, and its start. Contains no widget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from recjudge_tui.domain.calls import Message
from recjudge_tui.domain.judge import Capabilities, JudgeSpec
from recjudge_tui.domain.run import Estimate, RunSettings
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import RecjudgeError, RunError
from recjudge_tui.judges.registry import server_urls, takes_address
from recjudge_tui.runs import start
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.runs.saer import SaerPlan, SaerRequest, detach_saer, next_stage, plan_saer, saer_request
from recjudge_tui.runs.settings import AlreadyJudgedError
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import judge_capabilities, save_capabilities

TEST_WITHIN_S = 30.0


class LaunchRequest(NamedTuple):
    """The content of the form. `options` are the chosen settings, as `settings_for` takes them; `settings` is the
    result, for SAER the settings of its pairs before cases are counted."""

    judge: JudgeSpec
    settings: RunSettings
    rater: str
    prompt: str
    options: dict[str, Any]
    saer: bool = False
    drop_poor_over: float | None = None


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


class StartResult(NamedTuple):
    """`run_id` is the run to watch. With an error, it was planned but not started."""

    run_id: int
    error: RecjudgeError | None


def expected_run(
    db: Database, project_id: int, request: LaunchRequest, progress: Callable[[int], None]
) -> ExpectedRun | RecjudgeError:
    """The estimate of the run, without storing anything, or why it cannot be planned."""
    notes: tuple[str, ...] = ()
    if request.judge.api_key_env or request.judge.header_env:
        notes = (f"asks {request.judge.where}",)
    try:
        place = _destination(request.judge)
        if request.saer:
            stages = _saer_request(db, project_id, request)
            saer = plan_saer(db, project_id, stages, rater=request.rater, dry_run=True, progress=progress)
            both = _both_stages(saer)
            return both._replace(place=place, notes=(*notes, *both.notes))
        again = ""
        try:
            (plan,) = start.plan(db, [_run_request(project_id, request)], dry_run=True, progress=progress)
        except AlreadyJudgedError as error:
            again = error.title
            repeated = _run_request(project_id, judged_again(request))
            (plan,) = start.plan(db, [repeated], dry_run=True, progress=progress)
    except RecjudgeError as error:
        return error
    if again:
        notes = (*notes, f"{again}. Starting it again replaces these verdicts.")
    if request.settings.until:
        notes = (*notes, "This is the upper bound: the run stops as soon as the comparison is decided.")
    return ExpectedRun(plan.rater, plan.prompt, plan.estimate, notes, plan.first, place, again)


def judged_again(request: LaunchRequest) -> LaunchRequest:
    """The request to judge again and replace the existing verdicts."""
    again = {"again": True}
    return request._replace(
        settings=request.settings.model_copy(update=again), options=request.options | again
    )


def _destination(judge: JudgeSpec) -> str:
    """`localhost:9100`, `gw.example with MY_KEY`; empty for a judge that asks no server."""
    from recjudge_tui.judges.local_servers import place_of

    if not takes_address(judge):
        return ""
    servers = one_line(", ".join(map(place_of, server_urls(judge))) or judge.provider, 60)
    named = ", ".join(filter(None, (judge.api_key_env, *(variable for _, variable in judge.header_env))))
    return f"{servers} with {one_line(named, 300)}" if named else servers


def _both_stages(plan: SaerPlan) -> ExpectedRun:
    notes = []
    for stage in plan.stages:
        existing = f": run {stage.run_id} already exists and will be resumed" if stage.existing else ""
        notes.append(
            f"{stage.protocol}: {stage.estimate.calls:,} calls on {stage.estimate.cases:,} cases{existing}"
        )
    prompts = " and ".join(stage.prompt for stage in plan.stages)
    first = next((stage.first for stage in plan.stages if stage.first), ())
    return ExpectedRun(plan.first.rater, prompts, plan.total, tuple(notes), first)


def tested_judge(db: Database, judge: JudgeSpec) -> Capabilities:
    """Ask the judge three small questions and store what it supports; the stored result on images is kept."""
    from recjudge_tui.prompting.trial import probe

    capabilities = probe(judge, TEST_WITHIN_S, images=False)
    known = judge_capabilities(db, judge)
    if known is not None:
        capabilities = capabilities.model_copy(update={"images": known.images})
    save_capabilities(db, judge, capabilities)
    return capabilities


def start_run(
    db: Database, project_id: int, request: LaunchRequest, progress: Callable[[int], None]
) -> StartResult:
    """Plan the run, check the judge, store the plan, and start a process that works on it."""
    run_id: int | None = None
    try:
        if request.saer:
            stages = _saer_request(db, project_id, request)
            plan = plan_saer(db, project_id, stages, rater=request.rater, must_answer=True, progress=progress)
            assert plan.group_id is not None
            stage = next_stage(db, plan.group_id)
            if stage is None or stage.run_id is None:
                raise _done_already(plan)
            run_id = stage.run_id
            detach_saer(db, plan.group_id, run_id)
        else:
            requests = [_run_request(project_id, request)]
            run_id = start.plan(db, requests, must_answer=True, progress=progress)[0].run_id
            assert run_id is not None
            start.detach(db, run_id)
    except RecjudgeError as error:
        if run_id is None:
            raise
        return StartResult(run_id, error)
    return StartResult(run_id, None)


def _done_already(plan: SaerPlan) -> RunError:
    return RunError(
        "both stages are already done",
        f"Runs {plan.first.run_id} and {plan.second.run_id} of {plan.first.rater} already judged this.",
        "Change a setting, or give the rater another name.",
    )


def _run_request(project_id: int, request: LaunchRequest) -> RunRequest:
    return RunRequest(project_id, request.judge, request.settings, request.rater, request.prompt)


def _saer_request(db: Database, project_id: int, request: LaunchRequest) -> SaerRequest:
    return saer_request(
        db, project_id, request.judge, drop_poor_over=request.drop_poor_over, **request.options
    )
