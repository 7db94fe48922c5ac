"""Calls: planned, sent, answered; what they took and cost."""

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
    """The calls from which a verdict was made, in the order of the plan, with the systems of its case. Empty for a
    verdict without a run."""
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
    return db.records(
        CallKey,
        """SELECT id, case_id, list_order, aspect, sample FROM calls
           WHERE run_id = ? AND state = 'planned' AND id > ? ORDER BY id LIMIT ?""",
        (run_id, after_id, limit),
    )


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
    """Store a finished call with its answers and flags. False if the call was finished already. Attempts, tokens and cost
    are added to those of an earlier failed try of the call."""
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
    """The reply with the profile that the run asked for of the case's user, as of the case. None if that call failed or
    is outstanding."""
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
    """Store the verdicts of one case. They replace the verdicts of the rater's earlier runs, but a failed verdict never
    replaces a valid one. Verdicts of later runs and of imports are not changed. Replaced verdicts are kept as superseded."""
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
    """Restore the newest superseded verdict wherever the rater has no verdict any more; valid ones take precedence."""
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


# ---- call statistics ---------------------------------------------------------------------------------------------


class CallCount(NamedTuple):
    """The number of finished calls about one user that ended with `error_kind`, empty for success."""

    user_id: str
    error_kind: str
    calls: int


class RepeatedAnswer(NamedTuple):
    """One answer to a repeated question; `question` is the same number for all repeats."""

    rater: str
    protocol: str
    user_id: str
    question: int
    aspect: str
    value: float


class OrderCount(NamedTuple):
    """How many calls of runs in one order showed the list of `first` before that of `second`."""

    rater: str
    protocol: str
    first: str
    second: str
    calls: int


def one_order_counts(db: Database, project_id: int) -> list[OrderCount]:
    """Counts by rater, protocol and systems. Covers the runs that asked about each pair in one order only, and imported
    verdicts given in one order."""
    # begins with the games, which most projects do not have; SQLite would begin with every verdict
    return db.records(
        OrderCount,
        """SELECT * FROM (SELECT r.name, ru.protocol, iif(k.list_order = 'ab', c.system_a, c.system_b) AS first,
             iif(k.list_order = 'ab', c.system_b, c.system_a) AS second, count(*)
           FROM runs ru JOIN raters r ON r.id = ru.rater_id
           JOIN calls k ON k.run_id = ru.id JOIN cases c ON c.id = k.case_id
           WHERE ru.project_id = ? AND json_extract(ru.settings, '$.swap') = 0 AND k.list_order <> ''
           GROUP BY r.name, ru.protocol, first, second
           UNION ALL
           SELECT r.name, v.protocol, iif(g.list_order = 'ab', c.system_a, c.system_b) AS first,
             iif(g.list_order = 'ab', c.system_b, c.system_a) AS second, count(*)
           FROM games g CROSS JOIN verdicts v ON v.id = g.verdict_id JOIN raters r ON r.id = v.rater_id
           JOIN cases c ON c.id = v.case_id
           WHERE v.project_id = ? AND v.rule = 'one order'
           GROUP BY r.name, v.protocol, first, second)
           ORDER BY 1, 2, 3, 4""",
        (project_id, project_id),
    )


def call_counts(db: Database, rater_id: int) -> list[CallCount]:
    """Finished calls by user and error kind; without answers taken from earlier runs."""
    return db.records(
        CallCount,
        """SELECT c.user_id, ifnull(k.error_kind, ''), count(*) FROM calls k JOIN cases c ON c.id = k.case_id
               WHERE k.run_id IN (SELECT id FROM runs WHERE rater_id = ?) AND k.state <> 'planned'
                 AND k.cached_from IS NULL
               GROUP BY 1, 2 ORDER BY 1, 2""",
        (rater_id,),
    )


def cached_calls(db: Database, rater_id: int) -> int:
    """The number of answers taken from earlier runs."""
    return db.number(
        """SELECT count(*) FROM calls WHERE cached_from IS NOT NULL
             AND run_id IN (SELECT id FROM runs WHERE rater_id = ?)""",
        (rater_id,),
    )


def latencies(db: Database, rater_id: int) -> list[float]:
    """The latency in seconds of every call that was sent and answered."""
    return db.column(
        """SELECT latency_s FROM calls WHERE state = 'done' AND cached_from IS NULL AND latency_s IS NOT NULL
                 AND run_id IN (SELECT id FROM runs WHERE rater_id = ?)""",
        (rater_id,),
    )


def repeated_answers(db: Database, project_id: int, runs: list[StoredRow]) -> list[RepeatedAnswer]:
    """The answers of all runs of the project that use a judge and prompt of `runs` and repeat every call."""
    alike = json.dumps(sorted({(run["judge"], run["prompt_id"]) for run in runs}))
    return db.records(
        RepeatedAnswer,
        """SELECT r.name, ru.protocol, c.user_id,
             dense_rank() OVER (ORDER BY ru.id, k.case_id, k.list_order, k.aspect, a.aspect), a.aspect, a.value
           FROM runs ru JOIN raters r ON r.id = ru.rater_id JOIN calls k ON k.run_id = ru.id AND k.state = 'done'
           JOIN cases c ON c.id = k.case_id JOIN answers a ON a.call_id = k.id
           WHERE ru.project_id = ? AND json_extract(ru.settings, '$.repeats') > 1
             AND EXISTS (SELECT 1 FROM json_each(?) j WHERE json_extract(j.value, '$[0]') = ru.judge
               AND json_extract(j.value, '$[1]') = ru.prompt_id)""",
        (project_id, alike),
    )


# ---- costs -------------------------------------------------------------------------------------------------------


class CaseCost(NamedTuple):
    """One case of one run whose calls have all ended, and the form of the run's prompt. `aspects` and `shots` are empty
    for runs from before these settings existed. `calls` were sent, `cached` were answered from an earlier run. `priced`
    of the `done` calls have a known cost; `cost_usd` is the known spending, including failed calls. `impossible` calls
    have an impossible stored cost or number of tokens, which is left out."""

    rater: str
    judge: str
    protocol: str
    prompt: str
    aspects: str
    shots: str
    user_id: str
    calls: int
    cached: int
    done: int
    priced: int
    cost_usd: float
    tokens_in: int
    tokens_out: int
    impossible: int


def case_costs(db: Database, project_id: int) -> list[CaseCost]:
    """Costs by rater, protocol, prompt and form; without cases that still have a call outstanding."""
    return db.records(
        CaseCost,
        """SELECT r.name, json_extract(ru.judge, '$.spec'), ru.protocol, p.name || '@' || p.version,
             ifnull(json_extract(ru.settings, '$.aspects'), ''), ifnull(json_extract(ru.settings, '$.shots'), ''),
             c.user_id, k.calls, k.cached, k.done, k.priced, k.cost_usd, k.tokens_in, k.tokens_out,
             k.impossible
           FROM (
             SELECT run_id, case_id, sum(cached_from IS NULL) AS calls, sum(cached_from IS NOT NULL) AS cached,
               sum(cached_from IS NULL AND state = 'done') AS done,
               sum(cached_from IS NULL AND state = 'done' AND ifnull(cost_usd BETWEEN 0 AND 1e9, 0)) AS priced,
               total(CASE WHEN cached_from IS NULL AND cost_usd BETWEEN 0 AND 1e9 THEN cost_usd END) AS cost_usd,
               ifnull(sum(CASE WHEN cached_from IS NULL AND tokens_in BETWEEN 0 AND 1e12 THEN tokens_in END), 0)
                 AS tokens_in,
               ifnull(sum(CASE WHEN cached_from IS NULL AND tokens_out BETWEEN 0 AND 1e12 THEN tokens_out END), 0)
                 AS tokens_out,
               ifnull(sum(cached_from IS NULL AND (tokens_in NOT BETWEEN 0 AND 1e12
                 OR tokens_out NOT BETWEEN 0 AND 1e12 OR cost_usd NOT BETWEEN 0 AND 1e9)), 0) AS impossible
             FROM calls WHERE run_id IN (SELECT id FROM runs WHERE project_id = ?)
             GROUP BY run_id, case_id HAVING sum(state = 'planned') = 0
           ) k
           JOIN runs ru ON ru.id = k.run_id JOIN raters r ON r.id = ru.rater_id
           JOIN prompts p ON p.id = ru.prompt_id JOIN cases c ON c.id = k.case_id
           ORDER BY ru.protocol, r.name, 4, 5, 6, k.run_id, k.case_id""",
        (project_id,),
    )
