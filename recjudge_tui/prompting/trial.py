"""Trying a prompt on one case: the call that a run would make, which is not stored."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine

from recjudge_tui.domain.calls import CallResult, Order, Reply, Request, Trial, Usage
from recjudge_tui.domain.judge import Identity, JudgeSpec, Workload
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.roles import is_language_model
from recjudge_tui.domain.run_options import TIMEOUT_S
from recjudge_tui.domain.tokens import estimate_prompt_tokens
from recjudge_tui.errors import CallError, RunError
from recjudge_tui.judges.base import Judge
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.prompting.preview import question_now
from recjudge_tui.runs.control.limits import CallLimits, RunStopError
from recjudge_tui.runs.engine.bill import Bill, CostOf
from recjudge_tui.runs.engine.call import Question, ask
from recjudge_tui.runs.prices import cost_at, price_of
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import judge_capabilities

# somebody is waiting, so a busy server gets less time than in a run
PATIENCE_S = 30.0
LOOK_EVERY_S = 0.1


def try_prompt(
    db: Database,
    prompt: Prompt,
    case_id: int,
    spec: JudgeSpec,
    order: Order | None = None,
    *,
    timeout_s: float = TIMEOUT_S,
    cancelled: threading.Event | None = None,
) -> Trial:
    """Ask the judge about one case as a run with the protocol's default settings would, with the same retries.

    Nothing is stored, and no stored reply is used. A call that failed is a Trial with its error. Raises JudgeError when
    the judge cannot be used, UsageError for an unknown judge, what `question_now` raises, and RunError after
    `cancelled` was set.
    """
    question = question_now(db, prompt, case_id, order)
    judge = make_judge(spec)
    price = price_of(spec)

    def cost_of(usage: Usage) -> float | None:
        return cost_at(price, usage) if is_language_model(judge.rater_kind) else 0.0

    workload = _workload(db, spec, question, timeout_s)
    result = asyncio.run(_cancellable(_ask(judge, question, workload, cost_of), cancelled))
    return Trial(
        judge.name,
        judge.rater_kind,
        case_id,
        question.order,
        question.request,
        result.attempts,
        result.reply,
        result.parsed,
        result.cost_usd,
        result.error_kind or "",
        result.error or "",
    )


def _workload(db: Database, spec: JudgeSpec, question: Question, timeout_s: float) -> Workload:
    sampling = question.request.sampling
    return Workload(
        calls=1,
        longest_prompt_tokens=estimate_prompt_tokens(question.request.messages)[1],
        max_tokens=sampling.max_tokens,
        concurrency=1,
        timeout_s=timeout_s,
        known=judge_capabilities(db, spec),
    )


class _ObservedJudge:
    """The judge, with the number of attempts and the last error."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.name, self.rater_kind = judge.name, judge.rater_kind
        self.cacheable, self.concurrency = judge.cacheable, judge.concurrency
        self.attempts = 0
        self.error: CallError | None = None

    async def prepare(self, workload: Workload) -> Identity:
        return await self._judge.prepare(workload)

    async def ask(self, request: Request) -> Reply:
        self.attempts += 1
        try:
            return await self._judge.ask(request)
        except CallError as error:
            self.error = error
            raise

    async def close(self) -> None:
        await self._judge.close()


async def _ask(judge: Judge, question: Question, workload: Workload, cost_of: CostOf) -> CallResult:
    stopping, observed = asyncio.Event(), _ObservedJudge(judge)
    try:
        await observed.prepare(workload)
        asyncio.get_running_loop().call_later(PATIENCE_S, stopping.set)
        return await ask(observed, question, workload.timeout_s, CallLimits(stopping), cost_of, Bill())
    except RunStopError:
        error = observed.error or CallError("timeout", f"no answer within {workload.timeout_s:g} s")
        return CallResult(observed.attempts, error_kind=error.kind, error=str(error))
    finally:
        await observed.close()


async def _cancellable(
    asking: Coroutine[None, None, CallResult], cancelled: threading.Event | None
) -> CallResult:
    task = asyncio.create_task(asking)
    while not (await asyncio.wait({task}, timeout=LOOK_EVERY_S))[0]:
        if cancelled is not None and cancelled.is_set():
            task.cancel()
            await asyncio.wait({task})
            raise RunError("the trial was cancelled", "Nothing was stored.")
    return task.result()
