"""Start a run as its own process, which outlives the terminal and the app that started it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from bisect import bisect, bisect_left
from collections.abc import Iterable, Sequence
from typing import Any

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import Estimate, RunSettings
from recjudge_tui.domain.run_options import MOST_AT_ONCE
from recjudge_tui.domain.text import money
from recjudge_tui.errors import JudgeError, RunError, UsageError
from recjudge_tui.judges.registry import check_trust, make_judge
from recjudge_tui.runs.batch import refuse_when_away
from recjudge_tui.runs.engine import workload_of
from recjudge_tui.runs.estimate import require_price
from recjudge_tui.runs.lease import refuse_when_active
from recjudge_tui.runs.plan import CaseCounter, Plan, RunRequest, draft_run, store_draft
from recjudge_tui.store.cases import shorten_histories
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import reset_failed, run_progress, run_row
from recjudge_tui.system import within

# ---- detach ------------------------------------------------------------------------------------------------------


START_WITHIN_S = 60.0


def start_detached(db: Database, run_id: int, group_id: int | None = None, words: Sequence[str] = ()) -> int:
    """Work on the run in a new process, in the same way as `recjudge runs resume`, and with `group_id` on the others of
    its group after it; returns its pid. `words` are further arguments of the command.

    Waits until the process has leased the run or the run has ended. Raises RunError with the process's last output when it
    ended without leasing the run, UntrustedError as that process would: it has nobody to ask."""
    check_trust(JudgeSpec.model_validate_json(run_row(db, run_id)["judge"]))

    def marks() -> tuple[object, ...]:
        """The fields that change when a process takes the run or releases it."""
        row = run_row(db, run_id)
        return row["lease_owner"], row["finished_at"], row["error"]

    log = db.path.with_name(f"{db.path.name}.runs.log")
    before, offset = marks(), log.stat().st_size if log.exists() else 0
    work = ("resume", str(run_id)) if group_id is None else ("work-group", str(group_id))
    # in its own session, so that no terminal's hang-up reaches it
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "recjudge_tui", "runs", *work, *words, "--db", str(db.path)],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    deadline = time.monotonic() + START_WITHIN_S
    while time.monotonic() < deadline and marks() == before:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            if marks() == before and os.waitstatus_to_exitcode(status) != 0:
                with log.open("rb") as text:
                    text.seek(offset)
                    tail = text.read(4000).decode("utf-8", "replace").strip()
                raise RunError(f"run {run_id} did not start", tail, f"Read its log, {log}.")
            break
        time.sleep(0.02)
    return pid


# ---- start -------------------------------------------------------------------------------------------------------


CHECK_WITHIN_S = 15.0


def plan(
    db: Database,
    requests: Sequence[RunRequest],
    *,
    dry_run: bool = False,
    must_answer: bool = False,
    progress: CaseCounter = lambda _: None,
) -> tuple[Plan, ...]:
    """Plan runs and store them, all or none; a dry run stores nothing at all. With `must_answer` the judge of each must
    answer before anything is stored. `progress` gets the number of cases read so far. Raises UsageError or RunError when a
    request does not fit its project, JudgeError when a judge cannot be reached, UntrustedError when one would send a
    secret to a server that nobody confirmed."""
    drafts = [draft_run(db, request, store=not dry_run, progress=progress) for request in requests]
    if dry_run:
        return tuple(draft.plan for draft in drafts)
    for request in requests:
        check_trust(request.judge)
    if must_answer:
        for draft in drafts:
            check_judge(draft.setup.spec, draft.setup.settings, draft.plan.estimate)
    with db.transaction():
        return tuple(store_draft(db, draft) for draft in drafts)


def prepare_resume(db: Database, run_id: int, **changes: Any) -> None:
    """Make sure that a stored run can be worked on, with other settings if some are given (None: as they are). Raises
    RunError when a process works on the run or its calls are in a batch at a provider, UntrustedError when its judge,
    which may be somebody else's choice, would send a secret to a server that this user has not confirmed."""
    judge = JudgeSpec.model_validate_json(run_row(db, run_id)["judge"])
    refuse_when_active(db, run_id)
    refuse_when_away(db, run_id)
    check_trust(judge)
    change_settings(db, run_id, **changes)


def prepare_retry(db: Database, run_id: int, **changes: Any) -> int:
    """Make the failed calls of a run outstanding again and return how many there were; raises as `prepare_resume`."""
    prepare_resume(db, run_id, **changes)
    return reset_failed(db, run_id)


def change_settings(db: Database, run_id: int, **changes: Any) -> None:
    """Give the outstanding calls of a run other settings. A budget includes what the run has spent already; a shorter
    `history` shows the newest of the events that were planned. Raises RunError when a process works on the run, the price
    of its judge is not known, or the history would be longer."""
    given = {name: value for name, value in changes.items() if value not in (None, {})}
    if not given:
        return
    row = run_row(db, run_id)
    refuse_when_active(db, run_id)
    if "budget_usd" in given:
        require_price(JudgeSpec.model_validate_json(row["judge"]))
    settings = RunSettings.model_validate_json(row["settings"])
    if given.get("history", 0) > settings.history:
        raise RunError(
            f"run {run_id} was planned with at most {settings.history} events of each user",
            "What it shows is stored, so it can only show fewer.",
            "Plan a new run to show more.",
        )
    if "sending" in given:
        given["sending"] = settings.sending | given["sending"]
    with db.transaction():
        if "history" in given:
            shorten_histories(db, run_id, given["history"])
        changed = RunSettings.model_validate({**settings.model_dump(), **given})
        db.change("runs", run_id, settings=changed.model_dump_json())


def leave_rest_of_budget(db: Database, budget: float | None, beside: Iterable[int], run_id: int) -> None:
    """Give a run what the others have left of the budget for all. Raises RunError when nothing is left."""
    if budget is None:
        return
    spent = sum(run_progress(db, other).spent_usd for other in beside)
    if spent >= budget:
        raise RunError(
            "the budget is spent",
            f"The other runs cost {money(spent)} of {money(budget)}.",
            "Repeat the command with a larger budget: it goes on where it stopped.",
        )
    if RunSettings.model_validate_json(run_row(db, run_id)["settings"]).budget_usd != budget - spent:
        change_settings(db, run_id, budget_usd=budget - spent)


def check_judge(spec: JudgeSpec, settings: RunSettings, estimate: Estimate) -> None:
    """Reach a judge once, so that a wrong model or a missing server shows before anything is stored. Raises JudgeError
    saying what to start, pull or set."""

    async def reach() -> None:
        judge = make_judge(spec)
        try:
            await within(CHECK_WITHIN_S, judge.prepare(workload_of(judge, settings, estimate)))
        except asyncio.TimeoutError:
            raise JudgeError(
                f"“{spec.spec}” did not answer", f"There was no answer within {CHECK_WITHIN_S:g} s."
            ) from None
        finally:
            await judge.close()

    asyncio.run(reach())


# ---- concurrency -------------------------------------------------------------------------------------------------


def requested_concurrency(db: Database, run_id: int) -> int:
    """The run's number of concurrent calls: as last requested, else as planned, else as it last was, else the judge's
    default. Raises NotFoundError."""
    row = run_row(db, run_id)
    requested: int | None = row["wanted_concurrency"]
    if requested is not None:
        return requested
    settings = RunSettings.model_validate_json(row["settings"])
    if (known := settings.concurrency or row["concurrency"]) is not None:
        return int(known)
    return make_judge(JudgeSpec.model_validate_json(row["judge"])).concurrency


def change_concurrency(db: Database, run_id: int, calls: int) -> None:
    """Request this number of concurrent calls. A process that works on the run follows within half a second. No call is
    dropped or repeated. Raises NotFoundError, and UsageError for a number out of range."""
    run_row(db, run_id)
    if not 1 <= calls <= MOST_AT_ONCE:
        raise UsageError(
            f"a run cannot make {calls} calls at once", f"The number can be from 1 to {MOST_AT_ONCE:,}."
        )
    db.change("runs", run_id, wanted_concurrency=calls)


# each is a quarter of the power of two below from the next one
_STEPS = [*range(1, 8), *(n << power for power in range(8) for n in (8, 10, 12, 14))]


def step_concurrency(db: Database, run_id: int, up: bool) -> int:
    """Change the calls at once by one step and return the new number: 1 to 8, then 10, 12, 14, 16, 20, 24, ..."""
    with db.transaction():  # two key presses at the same moment both count
        now = requested_concurrency(db, run_id)
        at = bisect(_STEPS, now) if up else max(bisect_left(_STEPS, now) - 1, 0)
        then = min(_STEPS[at], MOST_AT_ONCE) if at < len(_STEPS) else MOST_AT_ONCE
        if then != now:
            change_concurrency(db, run_id, then)
    return then
