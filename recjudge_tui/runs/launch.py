"""What a form asks for, as a run or as SAER's two stages: what it would cost, and its start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from recjudge_tui.domain.calls import Message
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.protocols import SAER
from recjudge_tui.domain.run import Estimate, RunSettings
from recjudge_tui.domain.run_options import RUN_OPTIONS, SAER_NAME
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import RecjudgeError, RunError
from recjudge_tui.judges.registry import server_urls, takes_address
from recjudge_tui.runs import start
from recjudge_tui.runs.groups import SaerRequest, detach_saer, next_stage, plan_saer, saer_request
from recjudge_tui.runs.plan import Plan, RunRequest
from recjudge_tui.runs.settings import AlreadyJudgedError, settings_for
from recjudge_tui.store.database import Database


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

    def stages(self, db: Database, project_id: int) -> SaerRequest:
        return saer_request(db, project_id, self.judge, **self.options)


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


class StartResult(NamedTuple):
    """`run_id` is the run to watch. With an error, it was planned but not started."""

    run_id: int
    error: RecjudgeError | None


def expected_run(
    db: Database, project_id: int, request: LaunchRequest, progress: Callable[[int], None]
) -> ExpectedRun | RecjudgeError:
    """The estimate of the run, without storing anything, or why it cannot be planned."""
    judge, again = request.judge, ""
    plans: tuple[Plan, ...]
    notes = [f"asks {judge.where}"] if judge.api_key_env or judge.header_env else []
    try:
        if request.is_saer:
            stages = request.stages(db, project_id)
            both = plan_saer(db, project_id, stages, rater=request.rater, dry_run=True, progress=progress)
            plans, estimate = both.stages, both.total
            for stage in plans:
                existing = (
                    f": run {stage.run_id} already exists and will be resumed" if stage.existing else ""
                )
                counted = f"{stage.estimate.calls:,} calls on {stage.estimate.cases:,} cases"
                notes.append(f"{stage.protocol}: {counted}{existing}")
        else:
            try:
                plans = start.plan(db, [request.run(project_id)], dry_run=True, progress=progress)
            except AlreadyJudgedError as error:
                again = error.title
                plans = start.plan(db, [request.again().run(project_id)], dry_run=True, progress=progress)
                notes.append(f"{again}. Starting it again replaces these verdicts.")
            estimate = plans[0].estimate
        place = _destination(judge)
    except RecjudgeError as error:
        return error
    if request.settings.until and not request.is_saer:
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
    db: Database, project_id: int, request: LaunchRequest, progress: Callable[[int], None]
) -> StartResult:
    """Plan the run, check the judge, store the plan, and start a process that works on it."""
    run_id: int | None = None
    try:
        if request.is_saer:
            stages = request.stages(db, project_id)
            plan = plan_saer(db, project_id, stages, rater=request.rater, must_answer=True, progress=progress)
            assert plan.group_id is not None
            stage = next_stage(db, plan.group_id)
            if stage is None or stage.run_id is None:
                raise RunError(
                    "both stages are already done",
                    f"Runs {plan.first.run_id} and {plan.second.run_id} of {plan.first.rater} already judged this.",
                    "Change a setting, or give the rater another name.",
                )
            run_id = stage.run_id
            detach_saer(db, plan.group_id, run_id)
        else:
            run_id = start.plan(db, [request.run(project_id)], must_answer=True, progress=progress)[0].run_id
            assert run_id is not None
            start.start_detached(db, run_id)
    except RecjudgeError as error:
        if run_id is None:
            raise
        return StartResult(run_id, error)
    return StartResult(run_id, None)
