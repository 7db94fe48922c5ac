"""Calls: planned, sent, answered; what they took and cost."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from recjudge_tui.domain.calls import PROFILE, Answer, CallResult, Order, Reply, Usage, VerdictDraft
from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.database import Database, StoredRow, named_cells, now, read_cell

# ---- calls -------------------------------------------------------------------------------------------------------


# characters kept of an answer that could not be used, where the call was asked again
MOST_EARLIER = 20_000
_write_json = json.JSONEncoder(ensure_ascii=False).encode


_SET = "content_hash request_hash cached_from reply thinking model stop_reason parsed_by structured latency_s sent".split()
_ADDED = "tokens_in tokens_out tokens_cached tokens_cache_written cost_usd unknown_usd".split()
_FINISHED = f"""UPDATE calls SET {", ".join(f"{name} = :{name}" for name in _SET)},
  {", ".join(f"{name} = ifnull({name} + :{name}, ifnull(:{name}, {name}))" for name in _ADDED)},
  attempts = attempts + :attempts, reserved_usd = NULL, state = :state, error_kind = :error_kind, error = :error,
  finished_at = :finished_at WHERE id = :id AND state = 'planned'"""


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
    sql = """SELECT k.*, c.system_a, c.system_b FROM verdicts v
             JOIN calls k ON k.run_id = v.run_id AND k.case_id = v.case_id JOIN cases c ON c.id = v.case_id
             WHERE v.id = ? AND k.aspect IN ('', v.aspect, ?) ORDER BY k.id"""
    rows = db.rows(sql, (verdict_id, PROFILE))
    for row in rows:
        if row["sent"]:
            read_cell(dict[str, dict[str, Any] | list[Any]], row["sent"], "calls", row["id"], "sent")
    return rows


class CaseCall(NamedTuple):
    """A call of one case with its answers by aspect, for adjudication."""

    order: Order
    aspect: str
    sample: int
    state: str
    answers: dict[str, Answer]


def outstanding(db: Database, run_id: int, after_id: int, limit: int) -> list[UserCall]:
    """The next planned calls after `after_id`, in the order of the plan."""
    sql = """SELECT rc.user_snapshot, k.id, k.case_id, k.list_order, k.aspect, k.sample FROM calls k
             JOIN run_cases rc ON rc.run_id = k.run_id AND rc.case_id = k.case_id
             WHERE k.run_id = ? AND k.state = 'planned' AND k.id > ? ORDER BY k.id LIMIT ?"""
    return [UserCall(user, CallKey(*key)) for user, *key in db.tuples(sql, (run_id, after_id, limit))]


def stored_reply(db: Database, request_hash: str) -> tuple[int, Reply] | None:
    """(call id, reply) of a finished call with this request hash, or None."""
    sql = """SELECT id, ifnull(reply, '') AS text, ifnull(thinking, '') AS thinking, ifnull(model, '') AS model,
               ifnull(stop_reason, '') AS stop, ifnull(structured, 0) AS structured, tokens_in AS input,
               tokens_out AS output, tokens_cached AS cached_input, tokens_cache_written AS cache_written,
               (SELECT max(confidence) FROM answers WHERE call_id = calls.id) AS confidence
             FROM calls WHERE request_hash = ? AND state = 'done' AND cached_from IS NULL LIMIT 1"""
    row = db.row(sql, (request_hash,))
    if row is None:
        return None
    return row["id"], Reply(
        **named_cells(row, ("text", "thinking", "model", "stop", "structured"), ("structured",)),
        usage=Usage(**named_cells(row, Usage.model_fields)),
        logprobs=row["confidence"] is not None,
        label_confidence=row["confidence"],
    )


def save_outcomes(db: Database, outcomes: Iterable[CallOutcome]) -> list[CallOutcome]:
    """Store calls that ended with their answers and flags, and return those stored: a call that had ended before stays as
    it is. Attempts, tokens and cost are added to those of an earlier failed try. A call without an end, whose next batch
    asks once more, stays planned."""
    stored = [outcome for outcome in outcomes if db.execute(_FINISHED, _cells(outcome)).rowcount == 1]
    read = [(each.key.id, each.result.parsed) for each in stored if each.result.parsed]
    db.insert_many(
        "INSERT INTO answers (call_id, aspect, value, label, reasoning, confidence)",
        (
            (call_id, a.aspect, a.value, a.label, a.reasoning, a.confidence)
            for call_id, parsed in read
            for a in parsed.answers
        ),
    )
    db.insert_many(
        "INSERT INTO flags (call_id, item_id, issue, reason, refuted)",
        (
            (call_id, f.item_id, f.issue, f.reason, f.refuted)
            for call_id, parsed in read
            for f in parsed.flags
        ),
    )
    return stored


def _cells(outcome: CallOutcome) -> dict[str, Any]:
    """What `_FINISHED` sets and adds."""
    result, reply = outcome.result, outcome.result.reply or Reply(text="")
    return {
        "id": outcome.key.id,
        "state": "done" if result.parsed else "failed" if result.error_kind else "planned",
        "content_hash": outcome.content_hash,
        "request_hash": outcome.request_hash,
        "cached_from": result.cached_from,
        "reply": reply.text if result.reply else None,
        "thinking": reply.thinking or None,
        "model": reply.model or None,
        "stop_reason": reply.stop or None,
        "parsed_by": result.parsed.parsed_by if result.parsed else None,
        "structured": reply.structured if result.reply else None,
        "latency_s": reply.latency_s,
        "sent": _sent(reply, result.earlier),
        "error_kind": result.error_kind,
        "error": result.error,
        "finished_at": now() if result.parsed or result.error_kind else None,
        "attempts": result.attempts,
        "tokens_in": reply.usage.input,
        "tokens_out": reply.usage.output,
        "tokens_cached": reply.usage.cached_input,
        "tokens_cache_written": reply.usage.cache_written,
        "cost_usd": result.cost_usd,
        "unknown_usd": result.unknown_usd or None,
    }


def reserve_call(db: Database, call_id: int, dollars: float) -> None:
    """Store the most that a call can have cost once the attempt about to be sent has ended."""
    db.execute("UPDATE calls SET reserved_usd = ? WHERE id = ? AND state = 'planned'", (dollars, call_id))


def settle_call(db: Database, call_id: int, cost: float | None, unknown: float) -> None:
    """Replace the reserved cost of a call that is still planned by the actual cost of its attempts."""
    sql = """UPDATE calls SET reserved_usd = NULL, cost_usd = ifnull(cost_usd + ?1, ifnull(?1, cost_usd)),
               unknown_usd = ifnull(unknown_usd + ?2, ifnull(?2, unknown_usd)) WHERE id = ?3 AND state = 'planned'"""
    db.execute(sql, (cost, unknown or None, call_id))


def _sent(reply: Reply, earlier: tuple[tuple[str, str], ...]) -> str | None:
    if not reply.sent and not reply.dropped and not earlier:
        return None
    said = {"earlier": [(kind, text[:MOST_EARLIER]) for kind, text in earlier]} if earlier else {}
    return _write_json({"sent": reply.sent, "dropped": reply.dropped, **said})


def profile_reply(db: Database, run_id: int, case_id: int) -> str | None:
    """The reply with the profile that the run asked for of the case's user, as of the case. None if there is none yet."""
    sql = """SELECT k.reply FROM cases me
             JOIN cases c ON c.project_id = me.project_id AND c.kind = me.kind AND c.user_id = me.user_id
             JOIN run_cases mine ON mine.run_id = ?1 AND mine.case_id = me.id
             JOIN run_cases its ON its.run_id = ?1 AND its.case_id = c.id AND its.user_snapshot = mine.user_snapshot
             JOIN calls k ON k.run_id = ?1 AND k.case_id = c.id AND k.list_order = '' AND k.aspect = ?2 AND k.sample = 0
             WHERE me.id = ?3 AND k.state = 'done'"""
    reply: str | None = db.value(sql, (run_id, PROFILE, case_id))
    return reply


def profiles_outstanding(db: Database, run_id: int) -> bool:
    """Whether the run has an outstanding call for a profile."""
    sql = "SELECT 1 FROM calls WHERE run_id = ? AND state = 'planned' AND aspect = ?"
    return db.any(sql, (run_id, PROFILE))


def calls_of_cases(db: Database, run_id: int, case_ids: Iterable[int]) -> dict[int, list[CaseCall]]:
    """All calls of these cases in a run with their answers, by case in a fixed order."""
    sql = """SELECT k.case_id, k.id, k.list_order, k.aspect, k.sample, k.state,
               a.aspect, a.value, a.label, a.reasoning, a.confidence
             FROM json_each(?) j CROSS JOIN calls k ON k.run_id = ? AND k.case_id = j.value
             LEFT JOIN answers a ON a.call_id = k.id
             ORDER BY j.key, k.list_order, k.aspect, k.sample"""
    cases: dict[int, dict[int, CaseCall]] = {}
    for case_id, call_id, order, of, sample, state, aspect, value, label, reasoning, confidence in db.tuples(
        sql, (json.dumps(list(case_ids)), run_id)
    ):
        calls = cases.setdefault(case_id, {})
        call = calls.setdefault(call_id, CaseCall(order, of, sample, state, {}))
        if aspect is not None:
            call.answers[aspect] = Answer(
                aspect=aspect, value=value, label=label, reasoning=reasoning, confidence=confidence
            )
    return {case_id: list(calls.values()) for case_id, calls in cases.items()}


_KEPT = (
    "rater_id, case_id, aspect, protocol, run_id, state, value, label, rule, order_consistent, confidence, flag_count, note,"
    " created_at"
)


def save_verdicts(
    db: Database, rater_id: int, run_id: int, protocol: str, drafts: Mapping[int, Sequence[VerdictDraft]]
) -> None:
    """Store the verdicts of these cases. They replace the verdicts of the rater's earlier runs, but a failed verdict never
    replaces a valid one. Verdicts of later runs and of imports are not changed. Replaced verdicts are kept as superseded."""
    sql = """SELECT j.value,
               (SELECT count(*) FROM flags f JOIN calls k ON k.id = f.call_id WHERE k.run_id = ?1 AND k.case_id = j.value),
               EXISTS (SELECT 1 FROM verdicts WHERE rater_id = ?2 AND case_id = j.value AND run_id IS NOT ?1)
             FROM json_each(?3) j"""
    found = list(db.tuples(sql, (run_id, rater_id, json.dumps(list(drafts)))))
    # most cases have no verdict of others, and need neither of the statements on superseded verdicts
    replaced = [
        (rater_id, case_id, d.aspect, run_id, d.state)
        for case_id, _, of_others in found
        if of_others
        for d in drafts[case_id]
    ]
    if replaced:
        which = """WHERE rater_id = ? AND case_id = ? AND aspect = ? AND run_id < ? AND (state = 'failed' OR ? = 'ok')"""
        sql = f"INSERT OR REPLACE INTO superseded_verdicts ({_KEPT}) SELECT {_KEPT} FROM verdicts {which}"
        db.execute_many(sql, replaced)
        # a reader's decision on an earlier verdict does not apply to this one
        db.execute_many(f"DELETE FROM verdicts {which}", replaced)
    rows = [
        (
            *(rater_id, case_id, d.aspect, protocol, run_id, d.state, d.value, d.label, d.rule),
            *(d.order_consistent, d.confidence, flags, d.note, now()),
        )
        for case_id, flags, _ in found
        for d in drafts[case_id]
    ]
    values = ", ".join(f"?{place}" for place in range(1, 15))
    sql = f"""INSERT INTO verdicts ({_KEPT}, project_id)
              VALUES ({values}, (SELECT project_id FROM raters WHERE id = ?1))
              ON CONFLICT (rater_id, case_id, aspect) DO NOTHING"""
    db.execute_many(sql, rows)
    if replaced:
        sql = f"""INSERT OR REPLACE INTO superseded_verdicts ({_KEPT}) SELECT {values}
                  WHERE NOT EXISTS (
                    SELECT 1 FROM verdicts WHERE rater_id = ?1 AND case_id = ?2 AND aspect = ?3 AND run_id = ?5)"""
        db.execute_many(sql, rows)


def restore_superseded(db: Database, rater_id: int) -> None:
    """Restore the newest superseded verdict wherever the rater has no verdict any more; valid ones take precedence."""
    sql = f"""INSERT INTO verdicts ({_KEPT}, project_id)
              SELECT {_KEPT}, (SELECT project_id FROM raters WHERE id = ?1) FROM superseded_verdicts
              WHERE rater_id = ?1 ORDER BY state = 'failed', run_id DESC
              ON CONFLICT (rater_id, case_id, aspect) DO NOTHING"""
    db.execute(sql, (rater_id,))
    sql = """DELETE FROM superseded_verdicts AS s WHERE rater_id = ? AND EXISTS (
               SELECT 1 FROM verdicts v WHERE v.rater_id = s.rater_id AND v.case_id = s.case_id AND v.aspect = s.aspect
                 AND v.run_id = s.run_id)"""
    db.execute(sql, (rater_id,))


# ---- call statistics ---------------------------------------------------------------------------------------------


def one_order_counts(db: Database, project_id: int) -> list[tuple[str, str, str, str, int]]:
    """(rater, protocol, system shown first, the other, calls), for runs that asked about each pair in one order only and
    imported verdicts given in one order."""
    # begins with the games, which most projects do not have; SQLite would begin with every verdict
    sql = """SELECT * FROM (SELECT r.name, ru.protocol, iif(k.list_order = 'ab', c.system_a, c.system_b) AS first,
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
        ORDER BY 1, 2, 3, 4"""
    return list(db.tuples(sql, (project_id, project_id)))


def call_counts(db: Database, rater_id: int) -> list[tuple[str, str, int, int]]:
    """(user, error kind or empty, finished calls, answers taken from earlier runs), the last not among the calls."""
    sql = """SELECT c.user_id, ifnull(k.error_kind, ''), sum(k.cached_from IS NULL), count(k.cached_from)
             FROM calls k JOIN cases c ON c.id = k.case_id
             WHERE k.run_id IN (SELECT id FROM runs WHERE rater_id = ?) AND k.state <> 'planned'
             GROUP BY 1, 2 ORDER BY 1, 2"""
    return list(db.tuples(sql, (rater_id,)))


def latencies(db: Database, rater_id: int) -> list[tuple[str, float]]:
    """(user, seconds) of every call that was sent and answered."""
    sql = """SELECT c.user_id, k.latency_s FROM calls k JOIN cases c ON c.id = k.case_id
             WHERE k.state = 'done' AND k.cached_from IS NULL AND k.latency_s IS NOT NULL
               AND k.run_id IN (SELECT id FROM runs WHERE rater_id = ?)"""
    return list(db.tuples(sql, (rater_id,)))


def repeated_answers(
    db: Database, project_id: int, runs: list[StoredRow]
) -> list[tuple[str, str, str, int, float]]:
    """(rater, protocol, user, question, value) of the answers of all runs of the project that use a judge and prompt of
    `runs` and repeat every call; `question` is the same number for all repeats."""
    alike = json.dumps(sorted({(run["judge"], run["prompt_id"]) for run in runs}))
    sql = """SELECT r.name, ru.protocol, c.user_id,
          dense_rank() OVER (ORDER BY ru.id, k.case_id, k.list_order, k.aspect, a.aspect), a.value
        FROM runs ru JOIN raters r ON r.id = ru.rater_id JOIN calls k ON k.run_id = ru.id AND k.state = 'done'
        JOIN cases c ON c.id = k.case_id JOIN answers a ON a.call_id = k.id
        WHERE ru.project_id = ? AND json_extract(ru.settings, '$.repeats') > 1
          AND EXISTS (SELECT 1 FROM json_each(?) j WHERE json_extract(j.value, '$[0]') = ru.judge
            AND json_extract(j.value, '$[1]') = ru.prompt_id)"""
    return list(db.tuples(sql, (project_id, alike)))


# ---- costs -------------------------------------------------------------------------------------------------------


def case_costs(db: Database, project_id: int) -> list[StoredRow]:
    """What each case of each run took, by rater, protocol, prompt and form of the prompt; without cases that still have a
    call outstanding. `calls` were sent, `cached` were answered from an earlier run. `priced` of the `done` calls have a
    known cost; `cost_usd` is the known spending, including failed calls. `uncounted` are the done calls whose tokens the
    server did not count. `impossible` calls have an impossible stored cost or number of tokens, which is left out."""
    sql = """SELECT r.name AS rater, json_extract(ru.judge, '$.spec') AS judge, ru.protocol,
               p.name || '@' || p.version AS prompt, ifnull(json_extract(ru.settings, '$.aspects'), '') AS aspects,
               ifnull(json_extract(ru.settings, '$.shots'), '') AS shots, c.user_id, k.*
             FROM (
               SELECT run_id, case_id, sum(cached_from IS NULL) AS calls, sum(cached_from IS NOT NULL) AS cached,
                 sum(cached_from IS NULL AND state = 'done') AS done,
                 sum(cached_from IS NULL AND state = 'done' AND ifnull(cost_usd BETWEEN 0 AND 1e9, 0)) AS priced,
                 total(CASE WHEN cached_from IS NULL AND cost_usd BETWEEN 0 AND 1e9 THEN cost_usd END) AS cost_usd,
                 ifnull(sum(CASE WHEN cached_from IS NULL AND tokens_in BETWEEN 0 AND 1e12 THEN tokens_in END), 0)
                   AS tokens_in,
                 ifnull(sum(CASE WHEN cached_from IS NULL AND tokens_out BETWEEN 0 AND 1e12 THEN tokens_out END), 0)
                   AS tokens_out,
                 sum(cached_from IS NULL AND state = 'done' AND (tokens_in IS NULL OR tokens_out IS NULL)) AS uncounted,
                 ifnull(sum(cached_from IS NULL AND (tokens_in NOT BETWEEN 0 AND 1e12
                   OR tokens_out NOT BETWEEN 0 AND 1e12 OR cost_usd NOT BETWEEN 0 AND 1e9)), 0) AS impossible
               FROM calls WHERE run_id IN (SELECT id FROM runs WHERE project_id = ?)
               GROUP BY run_id, case_id HAVING sum(state = 'planned') = 0
             ) k
             JOIN runs ru ON ru.id = k.run_id JOIN raters r ON r.id = ru.rater_id
             JOIN prompts p ON p.id = ru.prompt_id JOIN cases c ON c.id = k.case_id
             ORDER BY ru.protocol, r.name, 4, 5, 6, k.run_id, k.case_id"""
    return db.rows(sql, (project_id,))


# ---- batches ---------------------------------------------------------------------------------------------------------


BatchState = Literal["planned", "submitted", "collected", "failed"]
LOOKED_AT_CALLS = 20


def name_calls(db: Database, run_id: int) -> None:
    """Give every planned call of the run a name, unless it has an unanswered one. Names are unique across databases: at
    most 64 letters, digits and dashes."""
    mark = f"r{run_id}-{secrets.token_hex(8)}"
    with db.transaction():
        sql = """INSERT INTO batch_calls (custom_id, call_id)
                 SELECT ? || '-' || k.id, k.id FROM calls k WHERE k.run_id = ? AND k.state = 'planned'
                   AND NOT EXISTS (SELECT 1 FROM batch_calls b WHERE b.call_id = k.id AND b.answered_at IS NULL)"""
        db.execute(sql, (mark, run_id))


def waiting_calls(db: Database, run_id: int, after_id: int, limit: int) -> list[tuple[str, CallKey]]:
    """The next planned calls with a name but without a batch, each after its name, in the order of the plan."""
    sql = """SELECT b.custom_id, k.id, k.case_id, k.list_order, k.aspect, k.sample
             FROM calls k JOIN batch_calls b ON b.call_id = k.id AND b.answered_at IS NULL
             WHERE k.run_id = ? AND k.state = 'planned' AND k.id > ? AND b.batch_id IS NULL ORDER BY k.id LIMIT ?"""
    return [(custom_id, CallKey(*key)) for custom_id, *key in db.tuples(sql, (run_id, after_id, limit))]


def find_calls(db: Database, run_id: int, custom_ids: Sequence[str]) -> dict[str, tuple[bool, CallKey]]:
    """name -> the call of the run with this name, and before it whether it still waits for an answer under this name;
    unknown names are left out."""
    sql = """SELECT b.custom_id, k.state = 'planned' AND b.answered_at IS NULL,
               k.id, k.case_id, k.list_order, k.aspect, k.sample
             FROM json_each(?) j CROSS JOIN batch_calls b ON b.custom_id = j.value CROSS JOIN calls k ON k.id = b.call_id
             WHERE k.run_id = ?"""
    rows = db.rows(sql, (json.dumps(list(custom_ids)), run_id))
    return {custom_id: (bool(waits), CallKey(*key)) for custom_id, waits, *key in rows}


def earlier_answers(db: Database, call_ids: Sequence[int]) -> dict[int, list[tuple[str, str]]]:
    """Call -> kind and text of the answers after which it is to be asked once more; without calls that were not asked."""
    sql = """SELECT k.id, json_extract(e.value, '$[0]'), json_extract(e.value, '$[1]')
             FROM json_each(?) j CROSS JOIN calls k ON k.id = j.value,
               json_each(iif(json_valid(k.sent), k.sent, '{}'), '$.earlier') e
             WHERE k.state = 'planned' AND k.reply IS NOT NULL ORDER BY k.id, e.key"""
    rows = db.tuples(sql, (json.dumps(list(call_ids)),))
    earlier: dict[int, list[tuple[str, str]]] = {}
    for call_id, kind, text in rows:
        earlier.setdefault(call_id, []).append((str(kind), str(text)))
    return earlier


def mark_answered(db: Database, call_ids: Sequence[int]) -> None:
    """Mark the open names of these calls as answered. Call it in the transaction that stores the answers."""
    sql = "UPDATE batch_calls SET answered_at = ? WHERE call_id = ? AND answered_at IS NULL"
    db.execute_many(sql, [(now(), call_id) for call_id in call_ids])


def refused_parameters(db: Database, run_id: int) -> tuple[str, ...]:
    """The parameters that the server refused in the newest calls of the same judge, in any run."""
    sql = """SELECT d.value FROM (SELECT k.sent FROM calls k WHERE k.state = 'done' AND k.sent IS NOT NULL
               AND k.run_id IN (SELECT r.id FROM runs r JOIN runs mine ON mine.judge = r.judge WHERE mine.id = ?)
               ORDER BY k.id DESC LIMIT ?) s, json_each(s.sent, '$.dropped') d WHERE d.type = 'text'"""
    return tuple(dict.fromkeys(db.column(sql, (run_id, LOOKED_AT_CALLS))))


def plan_batch(
    db: Database, run_id: int, server: str, call_ids: Sequence[int], reserved_usd: float | None = None
) -> int:
    """Record a batch of these calls, to be sent to `server`; returns its id."""
    with db.transaction():
        batch_id = db.add(
            "batches", run_id=run_id, mark=f"recjudge-{secrets.token_hex(12)}", server=server, state="planned",
            calls=len(call_ids), reserved_usd=reserved_usd, created_at=now(),
        )  # fmt: skip
        sql = "UPDATE batch_calls SET batch_id = ? WHERE call_id = ? AND answered_at IS NULL"
        db.execute_many(sql, [(batch_id, call_id) for call_id in call_ids])
    return batch_id


def batch_row(db: Database, batch_id: int) -> StoredRow:
    """One batch as stored. Raises NotFoundError."""
    sql = "SELECT * FROM batches WHERE id = ?"
    return db.only(sql, (batch_id,), NotFoundError(f"no batch {batch_id}"))


def batches_of(db: Database, run_id: int, *states: BatchState) -> list[StoredRow]:
    """The run's batches, oldest first; all of them, or only those in one of `states`."""
    rows = db.rows("SELECT * FROM batches WHERE run_id = ? ORDER BY id", (run_id,))
    return [row for row in rows if not states or row["state"] in states]


def known_remote_ids(db: Database, server: str) -> set[str]:
    """The remote ids of the batches at `server` that belong to a run."""
    sql = "SELECT remote_id FROM batches WHERE server = ? AND remote_id IS NOT NULL"
    return set(db.column(sql, (server,)))


def calls_in_batch(db: Database, batch_id: int, custom_ids: Sequence[str]) -> int:
    """The number of these names that belong to the batch."""
    sql = """SELECT count(*) FROM json_each(?) j CROSS JOIN batch_calls b ON b.custom_id = j.value
             WHERE b.batch_id = ?"""
    return db.number(sql, (json.dumps(list(custom_ids)), batch_id))


def set_submitted(db: Database, batch_id: int, remote_id: str) -> None:
    db.change("batches", batch_id, remote_id=remote_id, state="submitted", submitted_at=now())


def end_batch(db: Database, batch_id: int, state: BatchState, error: str = "") -> None:
    """End the batch; its unanswered calls may be sent again."""
    with db.transaction():
        db.change("batches", batch_id, state=state, error=error, collected_at=now())
        _let_go(db, batch_id)


def forget_batch(db: Database, batch_id: int) -> None:
    """Delete a batch that the server never accepted."""
    with db.transaction():
        _let_go(db, batch_id)
        db.execute("DELETE FROM batches WHERE id = ?", (batch_id,))


def _let_go(db: Database, batch_id: int) -> None:
    sql = "UPDATE batch_calls SET batch_id = NULL WHERE batch_id = ? AND answered_at IS NULL"
    db.execute(sql, (batch_id,))
