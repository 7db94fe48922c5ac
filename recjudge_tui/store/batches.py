"""Calls sent in batches: their names in the batch, and the batches at a provider."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from typing import Literal

from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.calls import CallKey
from recjudge_tui.store.database import Database, StoredRow, now

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
    rows = db.tuples(sql, (run_id, after_id, limit))
    return [(custom_id, CallKey(*key)) for custom_id, *key in rows]


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
    names = db.column(sql, (run_id, LOOKED_AT_CALLS))
    return tuple(dict.fromkeys(names))


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
