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
from recjudge_tui.runs.groups import next_stage, plan_saer, saer_request, total_of
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

    def plan(self, db: Database, project_id: int, **how: Any) -> tuple[int | None, tuple[Plan, ...]]:
        """Its runs, planned `how` it is said, and the group of SAER's two."""
        if self.is_saer:
            stages = saer_request(db, project_id, self.judge, **self.options)
            return plan_saer(db, project_id, stages, rater=self.rater, **how)
        return None, start.plan(db, [self.run(project_id)], **how)


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
    db: Database, project_id: int, request: LaunchRequest, progress: Callable[[int], None]
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
    db: Database, project_id: int, request: LaunchRequest, progress: Callable[[int], None]
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
        start.start_detached(db, run.run_id, group_id)
    except RecjudgeError as error:
        return run.run_id, error
    return run.run_id, None
