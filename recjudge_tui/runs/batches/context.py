"""A run whose calls are sent in batches: leased while its calls are written or its results are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from recjudge_tui.domain.calls import Request
from recjudge_tui.domain.judge import Capabilities, Identity, JudgeSpec
from recjudge_tui.domain.run import RunState
from recjudge_tui.errors import UsageError
from recjudge_tui.judges.providers.vendor import BatchJudge
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.runs.control.lease import acquire
from recjudge_tui.runs.control.limits import most_tokens
from recjudge_tui.runs.engine.bill import CostOf
from recjudge_tui.runs.engine.held_run import HeldRun, prepare_call
from recjudge_tui.runs.engine.recorder import store_outcomes
from recjudge_tui.runs.plan.requests import setup_of
from recjudge_tui.runs.prices import cost_of, price_of
from recjudge_tui.store.batches import NamedCall, refused_parameters, waiting_calls
from recjudge_tui.store.calls import outstanding
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import judge_capabilities, release_lease, run_row, set_identity

WINDOW = 256

Tell = Callable[[str], None]


BatchRun = HeldRun[BatchJudge[Any]]


@contextmanager
def held_run(db: Database, run_id: int) -> Iterator[BatchRun]:
    """Lease the run, and release it in its former state, or done when nothing is outstanding.

    Raises UsageError for a judge that cannot be asked in batches, RunError when another process works on the run.
    """
    row = run_row(db, run_id)
    setup = setup_of(db, row)
    spec, settings, _, _ = setup
    if settings.profile == "llm":
        raise UsageError(
            f"run {run_id} cannot be sent in batches",
            "Its calls show user profiles that other calls of the run write first.",
        )
    if settings.until:
        raise UsageError(
            f"run {run_id} cannot be sent in batches",
            "It stops when it is decided, and a batch cannot be stopped.",
        )
    judge = batch_judge(spec)
    owner = acquire(db, run_id)
    try:
        identity = judge.batch_identity(_known(db, run_id, spec))
        identity = identity.model_copy(update={"headers": spec.headers})
        if row["identity"]:
            identity = Identity.model_validate_json(row["identity"])
        else:
            set_identity(db, run_id, owner, identity)
        yield HeldRun(db, run_id, row["rater_id"], owner, setup, judge, identity)
    finally:
        state, error = _state_after(db, run_id, row["state"], row["error"])
        release_lease(db, run_id, owner, state, 0.0, error)


def batch_judge(spec: JudgeSpec) -> BatchJudge[Any]:
    """The judge named by `spec`; no call is made. Raises UsageError for a judge that does not support batches."""
    judge = make_judge(spec)
    if not isinstance(judge, BatchJudge):
        raise UsageError(
            f"“{spec.spec}” cannot be asked in batches",
            "Batches are for openai:MODEL and anthropic:MODEL.",
            "Plan the run with openai:MODEL and the --base-url of a server that speaks its API (vLLM, llama.cpp, Ollama).",
        )
    return judge


def _known(db: Database, run_id: int, spec: JudgeSpec) -> Capabilities:
    """The parameters that the server refused in a probe and in earlier calls. A batch cannot try parameters."""
    known = judge_capabilities(db, spec) or Capabilities()
    refused = dict.fromkeys((*known.refused, *refused_parameters(db, run_id)))
    return known.model_copy(update={"refused": tuple(refused)})


def _state_after(db: Database, run_id: int, before: RunState, error: str) -> tuple[RunState, str]:
    if not outstanding(db, run_id, 0, 1):
        return "done", ""
    # a running run's process died; a done run repeats a failed call
    return ("stopped", "") if before in ("running", "done") else (before, error)


def outgoing(run: BatchRun, cached: list[int]) -> Iterator[tuple[NamedCall, bytes]]:
    """The calls to send, without those in a submitted batch, and the bodies of their requests.

    A call with a stored reply is answered from it; its id is added to `cached`.
    """
    last = 0
    while calls := waiting_calls(run.db, run.id, last, WINDOW):
        last = calls[-1].key.id
        outcomes = []
        for call in calls:
            prepared = prepare_call(run, call.key)
            if prepared.result is None:
                assert prepared.question is not None, "a run in batches writes no profiles"
                yield call, run.judge.batch_body(prepared.question.request)
            else:
                outcomes.append(prepared.outcome(prepared.result))
        cached += [outcome.key.id for outcome in store_outcomes(run.db, run, outcomes)]


def batch_cost(run: BatchRun) -> CostOf:
    """The cost of a reply in a batch."""
    return partial(cost_of, run.setup.spec, batch=True)


def most_of_batch_call(run: BatchRun, request: Request) -> float:
    """The most dollars that a call in a batch can have cost; 0 where the price is not known."""
    price = price_of(run.setup.spec)
    return 0.0 if price is None else price.in_batch().most(most_tokens(request), request.sampling.max_tokens)
