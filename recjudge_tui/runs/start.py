"""Start runs, for the app and for every command: plan, check the judge, store, then work here or in another process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from recjudge_tui.domain.judge import JudgeSpec, Workload
from recjudge_tui.domain.run import Estimate, Progress, RunSettings
from recjudge_tui.errors import JudgeError
from recjudge_tui.judges.http.deadline import within
from recjudge_tui.judges.registry import check_trust, make_judge
from recjudge_tui.runs.batches.hosted import refuse_when_away
from recjudge_tui.runs.control.detach import start_detached
from recjudge_tui.runs.control.lease import refuse_when_active
from recjudge_tui.runs.engine.engine import OnProgress
from recjudge_tui.runs.engine.engine import work as judge_outstanding
from recjudge_tui.runs.plan.plan import CaseCounter, Plan, RunRequest, draft_run, store_draft
from recjudge_tui.runs.prices import require_price
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import reset_failed, run_row, set_settings

CHECK_WITHIN_S = 15.0


class WorkResult(NamedTuple):
    """How work on a run ended; `reason` says why unless a user requested it."""

    run_id: int
    progress: Progress
    reason: str

    @property
    def is_interrupted(self) -> bool:
        """Whether the run was stopped or paused before its last call."""
        return self.progress.state in ("stopped", "paused")


def plan(
    db: Database,
    requests: Sequence[RunRequest],
    *,
    dry_run: bool = False,
    must_answer: bool = False,
    progress: CaseCounter | None = None,
) -> tuple[Plan, ...]:
    """Plan runs and store them, all or none; a dry run stores nothing at all.

    With `must_answer` the judge of each must answer before anything is stored. `progress` gets the number of cases
    read so far. Raises UsageError or RunError when a request does not fit its project, JudgeError when a judge cannot
    be reached, UntrustedError when one would send a secret to a server that nobody confirmed.
    """
    drafts = [draft_run(db, request, store=not dry_run, progress=progress) for request in requests]
    if dry_run:
        return tuple(draft.plan for draft in drafts)
    for request in requests:
        check_trust(request.judge)
    if must_answer:
        for draft in drafts:
            check_judge(draft.request.judge, draft.request.settings, draft.plan.estimate)
    with db.transaction():
        return tuple(store_draft(db, draft) for draft in drafts)


def work(db: Database, run_id: int, on_progress: OnProgress | None = None) -> WorkResult:
    """Work on a run in this process until it is done, stopped or broken; see `engine.work` for signals and errors."""
    progress = judge_outstanding(db.path, run_id, on_progress)
    return WorkResult(run_id, progress, run_row(db, run_id)["error"])


def detach(db: Database, run_id: int) -> None:
    """Work on a run in another process, which needs neither this terminal nor this app. Raises RunError if it does
    not start, UntrustedError as the other process would."""
    start_detached(db, run_id)


def prepare_resume(db: Database, run_id: int, budget_usd: float | None = None) -> None:
    """Make sure that a stored run can be worked on, with another budget if one is given.

    Raises RunError when a process works on the run or its calls are in a batch at a provider, UntrustedError when its
    judge, which may be somebody else's choice, would send a secret to a server that this user has not confirmed.
    """
    judge = _judge_of(db, run_id)
    refuse_when_active(db, run_id)
    refuse_when_away(db, run_id)
    check_trust(judge)
    if budget_usd is not None:
        change_budget(db, run_id, budget_usd)


def prepare_retry(db: Database, run_id: int, budget_usd: float | None = None) -> int:
    """Make the failed calls of a run outstanding again and return how many there were; raises as `prepare_resume`."""
    prepare_resume(db, run_id, budget_usd)
    return reset_failed(db, run_id)


def change_budget(db: Database, run_id: int, usd: float) -> None:
    """Give a run another budget, which includes what it has spent already.

    Raises RunError when a process works on the run or the price of its judge is not known.
    """
    row = run_row(db, run_id)
    refuse_when_active(db, run_id)
    require_price(JudgeSpec.model_validate_json(row["judge"]))
    settings = RunSettings.model_validate_json(row["settings"])
    set_settings(db, run_id, settings.model_copy(update={"budget_usd": usd}))


def _judge_of(db: Database, run_id: int) -> JudgeSpec:
    return JudgeSpec.model_validate_json(run_row(db, run_id)["judge"])


def check_judge(judge: JudgeSpec, settings: RunSettings, estimate: Estimate) -> None:
    """Reach a judge once, so that a wrong model or a missing server shows before anything is stored.

    Raises JudgeError saying what to start, pull or set.
    """
    asyncio.run(_prepare_once(judge, settings, estimate))


async def _prepare_once(spec: JudgeSpec, settings: RunSettings, estimate: Estimate) -> None:
    judge = make_judge(spec)
    workload = Workload(
        calls=estimate.calls,
        longest_prompt_tokens=estimate.longest_prompt_tokens,
        max_tokens=settings.max_tokens,
        images=settings.images,
        concurrency=settings.concurrency or judge.concurrency,
        timeout_s=settings.timeout_s,
    )
    try:
        await within(CHECK_WITHIN_S, judge.prepare(workload))
    except asyncio.TimeoutError:
        raise JudgeError(
            f"“{spec.spec}” did not answer", f"There was no answer within {CHECK_WITHIN_S:g} s."
        ) from None
    finally:
        await judge.close()
