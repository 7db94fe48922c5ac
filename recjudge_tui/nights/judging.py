"""Judges the cases without a verdict, within the budget of a night."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import NoCasesError
from recjudge_tui.nights.watch_file import JudgeEntry
from recjudge_tui.runs import start
from recjudge_tui.runs.plan.plan import RunRequest
from recjudge_tui.runs.plan.settings import settings_for
from recjudge_tui.runs.start import WorkResult
from recjudge_tui.store.cases.snapshots import FirstShown
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters.raters import find_rater
from recjudge_tui.store.runs.runs import run_progress, runs_of_rater

# settings that determine which cases per run judges, and how many
_CHOICE = ("limit", "sample", "stratify", "until", "margin", "systems", "baseline")
Work = Callable[[Database, int], WorkResult]


class Task(NamedTuple):
    """The work of one judge under one protocol: the cases without a verdict of `rater`, or again the cases
    `shown_before`.
    """

    entry: JudgeEntry
    protocol: str
    rater: str
    shown_before: tuple[FirstShown, ...] | None = None


class JudgedTask(NamedTuple):
    """The result of a task. `run_id` is None if there was nothing to judge.

    `spent` is the cost of this night in US dollars.
    """

    run_id: int | None = None
    spent: float = 0.0
    judged: int = 0
    failed: int = 0
    reason: str = ""
    is_resumed: bool = False
    is_unfinished: bool = False

    @property
    def is_interrupted(self) -> bool:
        """Whether somebody stopped the run; a run stopped by the budget has a reason."""
        return self.is_unfinished and not self.reason


def unfinished_run(db: Database, project_id: int, task: Task) -> int | None:
    """The task's run that has outstanding calls, if its judge is still the one of the task."""
    rater_id = find_rater(db, project_id, task.rater)
    rows = [] if rater_id is None else runs_of_rater(db, rater_id)
    for row in reversed(rows):
        same = (
            row["protocol"] == task.protocol
            and JudgeSpec.model_validate_json(row["judge"]) == task.entry.judge
        )
        if same and row["state"] != "done":
            return int(row["id"])
    return None


def dry_cases(db: Database, project_id: int, task: Task) -> int:
    """How many cases a night would judge now; nothing is stored."""
    try:
        (plan,) = start.plan(db, [_request(project_id, task, None)], dry_run=True)
    except NoCasesError:
        return 0
    return plan.estimate.cases


def judge_task(db: Database, project_id: int, task: Task, left: float | None, work: Work) -> JudgedTask:
    """Resume the task's unfinished run, or start one on the cases without a verdict. `left` is the remaining budget.
    A run that the budget stopped does not count as interrupted. Raises JudgeError when the judge cannot be used, and
    what `start.plan` raises.
    """
    run_id = unfinished_run(db, project_id, task)
    resumed = run_id is not None
    if run_id is None:
        try:
            (plan,) = start.plan(db, [_request(project_id, task, left)], must_answer=True)
        except NoCasesError:
            return JudgedTask()
        run_id = plan.run_id
        assert run_id is not None
    before = run_progress(db, run_id)
    if resumed:
        start.prepare_resume(db, run_id, None if left is None else left + before.spent_usd)
    result = work(db, run_id)
    after = result.progress
    return JudgedTask(
        run_id,
        after.spent_usd - before.spent_usd,
        after.done - before.done,
        after.failed - before.failed,
        result.reason,
        resumed,
        result.is_interrupted,
    )


def _request(project_id: int, task: Task, left: float | None) -> RunRequest:
    options = {**task.entry.settings, "budget_usd": left}
    if task.shown_before is not None:
        options = {name: value for name, value in options.items() if name not in _CHOICE}
        options["use_cache"] = False
    settings = settings_for(task.protocol, **options)
    return RunRequest(
        project_id,
        task.entry.judge,
        settings,
        task.rater,
        task.entry.prompt,
        outstanding=True,
        shown_before=task.shown_before,
    )
