"""Calls and what comes of them: finished once, never half."""

from __future__ import annotations

from typing import Any

import pytest

from recjudge_tui.domain.calls import Answer, CallResult, Flag, ParsedReply, Reply, Usage, VerdictDraft
from recjudge_tui.store.calls import (
    CallOutcome,
    calls_of_cases,
    outstanding,
    save_outcomes,
    save_verdicts,
)
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import reset_failed, run_progress, run_row
from tests.support.runs import calls, make_project, planned

PARSED = ParsedReply(
    answers=(Answer(aspect="overall", value=1.0, label="Partial", reasoning="why", confidence=0.5),),
    flags=(Flag(item_id="i1", issue="other", reason="so"),),
    parsed_by="schema",
)
USAGE = Usage(input=100, output=10, cached_input=40, cache_written=30)
REPLY = Reply(
    text="{}",
    thinking="hm",
    model="m",
    stop="stop",
    structured=True,
    usage=USAGE,
    latency_s=0.5,
    logprobs=True,
    label_confidence=0.5,
)


@pytest.fixture
def db(db: Database) -> Database:
    make_project(db, users=2)
    return db


def done(db: Database, run: int, **more: Any) -> CallOutcome:
    """How the first outstanding call of the run ended: well."""
    ((_, key),) = outstanding(db, run, 0, 1)
    return CallOutcome(key, "content", "request", CallResult(1, REPLY, PARSED, cost_usd=0.5)._replace(**more))


def failed(db: Database, run: int) -> CallOutcome:
    return done(db, run, parsed=None, error_kind="bad_reply", error="unreadable")


def test_a_call_is_finished_once(db: Database) -> None:
    run = planned(db)
    outcome = done(db, run)
    assert save_outcomes(db, [outcome]) == [outcome]
    before = [tuple(c) for c in calls(db, run)]
    other = REPLY.model_copy(update={"text": "other"})
    again = outcome._replace(result=outcome.result._replace(reply=other, attempts=7))
    assert not save_outcomes(db, [again])
    assert [tuple(c) for c in calls(db, run)] == before
    assert [k.id for _, k in outstanding(db, run, 0, 9)] == [k["id"] for k in calls(db, run)[1:]]
    assert db.value("SELECT count(*) FROM answers") == 1
    ((call,),) = calls_of_cases(db, run, [outcome.key.case_id]).values()
    assert (call.state, call.answers["overall"]) == ("done", PARSED.answers[0])
    flags = db.rows(
        "SELECT item_id, issue, reason FROM flags WHERE call_id = ? ORDER BY id", (outcome.key.id,)
    )
    assert [Flag(**dict(row)) for row in flags] == list(PARSED.flags)


def test_the_cost_of_a_failed_attempt_is_added_to_the_next_one(db: Database) -> None:
    run = planned(db, limit=1, systems=("als",))
    save_outcomes(db, [failed(db, run)])
    with db.transaction():
        case = calls(db, run)[0]["case_id"]
        draft = VerdictDraft(aspect="overall", state="failed", rule="as answered")
        save_verdicts(db, run_row(db, run)["rater_id"], run, "pointwise", {case: [draft]})
    assert (run_progress(db, run).failed, run_progress(db, run).cost_usd) == (1, 0.5)
    assert reset_failed(db, run) == 1
    assert db.value("SELECT count(*) FROM verdicts") == 0
    assert (run_progress(db, run).outstanding, run_progress(db, run).cost_usd) == (1, 0.5)
    save_outcomes(db, [done(db, run, attempts=2)])
    call = calls(db, run)[0]
    assert (call["state"], call["error"], call["error_kind"], call["attempts"]) == ("done", None, None, 3)
    counts = ("tokens_in", "tokens_out", "tokens_cached", "tokens_cache_written", "cost_usd")
    assert [call[name] for name in counts] == [200, 20, 80, 60, 1.0]
