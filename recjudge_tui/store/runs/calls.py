"""Calls with their answers, flags and verdicts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from recjudge_tui.domain.calls import (
    PROFILE,
    Answer,
    CallResult,
    Order,
    ParsedReply,
    Reply,
    Usage,
    VerdictDraft,
)
from recjudge_tui.store.database import Database, StoredRow, now

_write_json = json.JSONEncoder(ensure_ascii=False).encode


class CallKey(NamedTuple):
    """One outstanding call."""

    id: int
    case_id: int
    order: Order
    aspect: str
    sample: int


class UserCall(NamedTuple):
    """An outstanding call, and the snapshot of the user whom it shows."""

    user: int
    key: CallKey


class CallOutcome(NamedTuple):
    """A call that ended, as it is stored."""

    key: CallKey
    content_hash: str
    request_hash: str | None
    result: CallResult


def calls_of_verdict(db: Database, verdict_id: int) -> list[StoredRow]:
    """The calls from which a verdict was made, in the order of the plan, with the systems of its case.

    Empty for a verdict without a run.
    """
    return db.rows(
        """SELECT k.*, c.system_a, c.system_b FROM verdicts v
           JOIN calls k ON k.run_id = v.run_id AND k.case_id = v.case_id JOIN cases c ON c.id = v.case_id
           WHERE v.id = ? AND k.aspect IN ('', v.aspect, ?) ORDER BY k.id""",
        (verdict_id, PROFILE),
    )


class CaseCall(NamedTuple):
    """A call of one case with its answers by aspect, for adjudication."""

    order: Order
    aspect: str
    sample: int
    state: str
    answers: dict[str, Answer]


def outstanding(db: Database, run_id: int, after_id: int, limit: int) -> list[CallKey]:
    """The next planned calls after `after_id`, in the order of the plan."""
    rows = db.rows(
        """SELECT id, case_id, list_order, aspect, sample FROM calls
           WHERE run_id = ? AND state = 'planned' AND id > ? ORDER BY id LIMIT ?""",
        (run_id, after_id, limit),
    )
    return [CallKey(*row) for row in rows]


def outstanding_by_user(db: Database, run_id: int, after_id: int, limit: int) -> list[UserCall]:
    """`outstanding`, with the user whom each call shows."""
    rows = db.rows(
        """SELECT rc.user_snapshot, k.id, k.case_id, k.list_order, k.aspect, k.sample FROM calls k
           JOIN run_cases rc ON rc.run_id = k.run_id AND rc.case_id = k.case_id
           WHERE k.run_id = ? AND k.state = 'planned' AND k.id > ? ORDER BY k.id LIMIT ?""",
        (run_id, after_id, limit),
    )
    return [UserCall(user, CallKey(*key)) for user, *key in rows]


def stored_reply(db: Database, request_hash: str) -> tuple[int, Reply] | None:
    """(call id, reply) of a finished call with this request hash, or None."""
    row = db.row(
        """SELECT id, reply, thinking, model, stop_reason, structured, tokens_in, tokens_out, tokens_cached,
             tokens_cache_written, (SELECT max(confidence) FROM answers WHERE call_id = calls.id) AS confidence
           FROM calls WHERE request_hash = ? AND state = 'done' AND cached_from IS NULL LIMIT 1""",
        (request_hash,),
    )
    if row is None:
        return None
    usage = Usage(
        input=row["tokens_in"],
        output=row["tokens_out"],
        cached_input=row["tokens_cached"],
        cache_written=row["tokens_cache_written"],
    )
    reply = Reply(
        text=row["reply"] or "",
        thinking=row["thinking"] or "",
        model=row["model"] or "",
        stop=row["stop_reason"] or "",
        structured=bool(row["structured"]),
        usage=usage,
        logprobs=row["confidence"] is not None,
        label_confidence=row["confidence"],
    )
    return row["id"], reply


def save_outcome(db: Database, outcome: CallOutcome) -> bool:
    """Store a finished call with its answers and flags. False if the call was finished already.

    Attempts, tokens and cost are added to those of an earlier failed try of the call.
    """
    result = outcome.result
    reply = result.reply or Reply(text="")
    cursor = db.execute(
        """UPDATE calls SET state = :state, attempts = attempts + :attempts, content_hash = :content_hash,
             request_hash = :request_hash, cached_from = :cached_from, reply = :reply, thinking = :thinking,
             model = :model, stop_reason = :stop, parsed_by = :parsed_by, structured = :structured,
             tokens_in = ifnull(tokens_in + :tokens_in, ifnull(:tokens_in, tokens_in)),
             tokens_out = ifnull(tokens_out + :tokens_out, ifnull(:tokens_out, tokens_out)),
             tokens_cached = ifnull(tokens_cached + :tokens_cached, ifnull(:tokens_cached, tokens_cached)),
             tokens_cache_written =
               ifnull(tokens_cache_written + :cache_written, ifnull(:cache_written, tokens_cache_written)),
             cost_usd = ifnull(cost_usd + :cost_usd, ifnull(:cost_usd, cost_usd)),
             unknown_usd = ifnull(unknown_usd + :unknown_usd, ifnull(:unknown_usd, unknown_usd)), reserved_usd = NULL,
             latency_s = :latency_s, sent = :sent, error_kind = :error_kind, error = :error, finished_at = :now
           WHERE id = :id AND state = 'planned'""",
        {
            "state": "done" if result.parsed else "failed",
            "attempts": result.attempts,
            "content_hash": outcome.content_hash,
            "request_hash": outcome.request_hash,
            "cached_from": result.cached_from,
            "reply": reply.text if result.reply else None,
            "thinking": reply.thinking or None,
            "model": reply.model or None,
            "stop": reply.stop or None,
            "parsed_by": result.parsed.parsed_by if result.parsed else None,
            "structured": reply.structured if result.reply else None,
            "tokens_in": reply.usage.input,
            "tokens_out": reply.usage.output,
            "tokens_cached": reply.usage.cached_input,
            "cache_written": reply.usage.cache_written,
            "cost_usd": result.cost_usd,
            "unknown_usd": result.unknown_usd or None,
            "latency_s": reply.latency_s,
            "sent": _sent(reply),
            "error_kind": result.error_kind,
            "error": result.error,
            "now": now(),
            "id": outcome.key.id,
        },
    )
    if cursor.rowcount != 1:
        return False
    if result.parsed:
        _save_reading(db, outcome.key.id, result.parsed)
    return True


def reserve_call(db: Database, call_id: int, dollars: float) -> None:
    """Store the most that a call can have cost once the attempt about to be sent has ended."""
    db.execute("UPDATE calls SET reserved_usd = ? WHERE id = ? AND state = 'planned'", (dollars, call_id))


def settle_call(db: Database, call_id: int, cost: float | None, unknown: float) -> None:
    """Replace the reserved cost of a call that is still planned by the actual cost of its attempts."""
    db.execute(
        """UPDATE calls SET reserved_usd = NULL, cost_usd = ifnull(cost_usd + ?1, ifnull(?1, cost_usd)),
             unknown_usd = ifnull(unknown_usd + ?2, ifnull(?2, unknown_usd)) WHERE id = ?3 AND state = 'planned'""",
        (cost, unknown or None, call_id),
    )


def _sent(reply: Reply) -> str | None:
    if not reply.sent and not reply.dropped:
        return None
    return _write_json({"sent": reply.sent, "dropped": reply.dropped})


def _save_reading(db: Database, call_id: int, parsed: ParsedReply) -> None:
    db.execute_many(
        "INSERT INTO answers (call_id, aspect, value, label, reasoning, confidence) VALUES (?, ?, ?, ?, ?, ?)",
        [(call_id, a.aspect, a.value, a.label, a.reasoning, a.confidence) for a in parsed.answers],
    )
    if parsed.flags:
        db.execute_many(
            "INSERT INTO flags (call_id, item_id, issue, reason) VALUES (?, ?, ?, ?)",
            [(call_id, f.item_id, f.issue, f.reason) for f in parsed.flags],
        )


def profile_reply(db: Database, run_id: int, case_id: int) -> str | None:
    """The reply with the profile that the run asked for of the case's user, as of the case.

    None if that call failed or is outstanding.
    """
    reply: str | None = db.value(
        """SELECT k.reply FROM cases me
           JOIN cases c ON c.project_id = me.project_id AND c.kind = me.kind AND c.user_id = me.user_id
           JOIN run_cases mine ON mine.run_id = ?1 AND mine.case_id = me.id
           JOIN run_cases its ON its.run_id = ?1 AND its.case_id = c.id AND its.user_snapshot = mine.user_snapshot
           JOIN calls k ON k.run_id = ?1 AND k.case_id = c.id AND k.list_order = '' AND k.aspect = ?2 AND k.sample = 0
           WHERE me.id = ?3 AND k.state = 'done'""",
        (run_id, PROFILE, case_id),
    )
    return reply


def profiles_outstanding(db: Database, run_id: int) -> bool:
    """Whether the run has an outstanding call for a profile."""
    sql = "SELECT EXISTS (SELECT 1 FROM calls WHERE run_id = ? AND state = 'planned' AND aspect = ?)"
    return bool(db.value(sql, (run_id, PROFILE)))


def case_calls(db: Database, run_id: int, case_id: int) -> list[CaseCall]:
    """All calls of one case in a run with their answers, in a fixed order."""
    rows = db.rows(
        """SELECT k.id, k.list_order, k.aspect, k.sample, k.state,
             a.aspect AS of, a.value, a.label, a.reasoning, a.confidence
           FROM calls k LEFT JOIN answers a ON a.call_id = k.id
           WHERE k.run_id = ? AND k.case_id = ? ORDER BY k.list_order, k.aspect, k.sample""",
        (run_id, case_id),
    )
    calls: dict[int, CaseCall] = {}
    for row in rows:
        call = calls.setdefault(
            row["id"], CaseCall(row["list_order"], row["aspect"], row["sample"], row["state"], {})
        )
        if row["of"] is not None:
            call.answers[row["of"]] = Answer(
                aspect=row["of"],
                value=row["value"],
                label=row["label"],
                reasoning=row["reasoning"],
                confidence=row["confidence"],
            )
    return list(calls.values())


_KEPT = (
    "rater_id, case_id, aspect, protocol, run_id, state, value, label, rule, order_consistent, confidence, flag_count, note,"
    " created_at"
)


def save_verdicts(
    db: Database, rater_id: int, case_id: int, run_id: int, protocol: str, drafts: Sequence[VerdictDraft]
) -> None:
    """Store the verdicts of one case.

    They replace the verdicts of the rater's earlier runs, but a failed verdict never replaces a valid one. Verdicts
    of later runs and of imports are not changed. Replaced verdicts are kept as superseded.
    """
    flags = db.value(
        """SELECT count(*) FROM flags f JOIN calls k ON k.id = f.call_id WHERE k.run_id = ? AND k.case_id = ?""",
        (run_id, case_id),
    )
    # none for most calls, which then need neither of the statements on superseded verdicts
    of_others = db.value(
        "SELECT EXISTS (SELECT 1 FROM verdicts WHERE rater_id = ? AND case_id = ? AND run_id IS NOT ?)",
        (rater_id, case_id, run_id),
    )
    if of_others:
        _supersede(db, rater_id, case_id, run_id, drafts)
    rows = [
        (
            *(rater_id, case_id, d.aspect, protocol, run_id, d.state, d.value, d.label, d.rule),
            *(d.order_consistent, d.confidence, flags, d.note, now()),
        )
        for d in drafts
    ]
    values = ", ".join(f"?{place}" for place in range(1, 15))
    db.execute_many(
        f"""INSERT INTO verdicts ({_KEPT}, project_id)
            VALUES ({values}, (SELECT project_id FROM raters WHERE id = ?1))
            ON CONFLICT (rater_id, case_id, aspect) DO NOTHING""",
        rows,
    )
    if of_others:
        db.execute_many(
            f"""INSERT OR REPLACE INTO superseded_verdicts ({_KEPT}) SELECT {values}
                WHERE NOT EXISTS (
                  SELECT 1 FROM verdicts WHERE rater_id = ?1 AND case_id = ?2 AND aspect = ?3 AND run_id = ?5)""",
            rows,
        )


def _supersede(
    db: Database, rater_id: int, case_id: int, run_id: int, drafts: Sequence[VerdictDraft]
) -> None:
    """Move the verdicts that these drafts replace to the superseded ones."""
    replaced = [(rater_id, case_id, d.aspect, run_id, d.state) for d in drafts]
    db.execute_many(
        f"""INSERT OR REPLACE INTO superseded_verdicts ({_KEPT}) SELECT {_KEPT} FROM verdicts
            WHERE rater_id = ? AND case_id = ? AND aspect = ? AND run_id < ? AND (state = 'failed' OR ? = 'ok')""",
        replaced,
    )
    # a reader's decision on an earlier verdict does not apply to this one
    db.execute_many(
        """DELETE FROM verdicts WHERE rater_id = ? AND case_id = ? AND aspect = ? AND run_id < ?
             AND (state = 'failed' OR ? = 'ok')""",
        replaced,
    )


def restore_superseded(db: Database, rater_id: int) -> None:
    """Restore the newest superseded verdict wherever the rater has no verdict any more; valid ones take
    precedence.
    """
    db.execute(
        f"""INSERT INTO verdicts ({_KEPT}, project_id)
            SELECT {_KEPT}, (SELECT project_id FROM raters WHERE id = ?1) FROM superseded_verdicts
            WHERE rater_id = ?1 ORDER BY state = 'failed', run_id DESC
            ON CONFLICT (rater_id, case_id, aspect) DO NOTHING""",
        (rater_id,),
    )
    db.execute(
        """DELETE FROM superseded_verdicts AS s WHERE rater_id = ? AND EXISTS (
             SELECT 1 FROM verdicts v WHERE v.rater_id = s.rater_id AND v.case_id = s.case_id AND v.aspect = s.aspect
               AND v.run_id = s.run_id)""",
        (rater_id,),
    )
