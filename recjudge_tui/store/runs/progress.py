"""The progress of a run: its newest calls, its pace, and its failures."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from recjudge_tui.domain.occasions import NO_OCCASION, Occasion
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.store.database import Database
from recjudge_tui.store.occasions import of_several_occasions

if TYPE_CHECKING:
    from recjudge_tui.domain.calls import Order


class FinishedCall(NamedTuple):
    """A finished call. `label` joins the answers of all aspects; `error_kind` is set if it failed. `occasion` is empty
    unless the user has several."""

    id: int
    case_id: int
    user_id: str
    system_a: str
    system_b: str
    order: Order
    label: str
    flags: int
    attempts: int
    latency_s: float | None
    cached: bool
    error_kind: str
    error: str
    occasion: Occasion = NO_OCCASION


class CallTroubles(NamedTuple):
    """`retried` calls succeeded after more than one attempt; `kinds`: the failed calls by kind, most frequent first."""

    retried: int
    kinds: tuple[tuple[str, int], ...]


class MarkedCounts(NamedTuple):
    """The numbers of verdicts with flagged items, of verdicts that flip when the order is swapped, and of verdicts
    asked in both orders.
    """

    flagged: int
    flips: int
    both_orders: int


class VerdictCount(NamedTuple):
    """How many verdicts of a run on a system or a pair of systems have this label; `value` is the label's value."""

    system_a: str
    system_b: str
    label: str
    value: float
    verdicts: int


class ActiveRun(NamedTuple):
    run_id: int
    project_id: int
    calls: int
    finished: int


class NewestRun(NamedTuple):
    """A run as one line of a list.

    `calls` and `finished` count its calls, but are 0 if the run is done. `state` is as stored: the process of a
    running run may have died. `ended` is empty until the run is over.
    """

    run_id: int
    rater: str
    protocol: str
    state: str
    calls: int
    finished: int
    failed: int
    created_at: str
    ended: str


def newest_runs(db: Database, project_id: int, limit: int) -> tuple[NewestRun, ...]:
    """The newest runs of a project, newest first. Counts calls only for runs that are not done."""
    rows = db.rows(
        """SELECT ru.id, r.name, ru.protocol, ru.state,
             CASE WHEN ru.state = 'done' THEN 0 ELSE (SELECT count(*) FROM calls k WHERE k.run_id = ru.id) END,
             CASE WHEN ru.state = 'done' THEN 0 ELSE
               (SELECT count(*) FROM calls k WHERE k.run_id = ru.id AND k.state IN ('done', 'failed')) END,
             (SELECT count(*) FROM calls k WHERE k.run_id = ru.id AND k.state = 'failed'),
             ru.created_at, ifnull(ru.finished_at, '')
           FROM runs ru JOIN raters r ON r.id = ru.rater_id WHERE ru.project_id = ? ORDER BY ru.id DESC LIMIT ?""",
        (project_id, limit),
    )
    return tuple(NewestRun(*row) for row in rows)


def newest_calls(db: Database, run_id: int, state: str, limit: int) -> list[FinishedCall]:
    """The calls in `state` (done or failed) that finished last, newest first."""
    # choose the newest before joining anything
    rows = db.rows(
        f"""SELECT k.id, k.case_id, c.user_id, c.system_a, c.system_b, k.list_order,
             ifnull((SELECT group_concat(a.label, ', ') FROM answers a WHERE a.call_id = k.id), '') AS label,
             (SELECT count(*) FROM flags f WHERE f.call_id = k.id) AS flags, k.attempts, k.latency_s,
             k.cached_from IS NOT NULL AS cached, ifnull(k.error_kind, '') AS error_kind, ifnull(k.error, '') AS error,
             c.context, c.served_at, {of_several_occasions("c")} AS several
           FROM calls k JOIN cases c ON c.id = k.case_id
           WHERE k.id IN (SELECT id FROM calls WHERE run_id = ? AND state = ? ORDER BY finished_at DESC, id DESC LIMIT ?)
           ORDER BY k.finished_at DESC, k.id DESC""",
        (run_id, state, limit),
    )
    return [
        FinishedCall(*row[:13])._replace(
            cached=bool(row["cached"]), occasion=Occasion(*row[13:15]) if row["several"] else NO_OCCASION
        )
        for row in rows
    ]


def newest_times(db: Database, run_id: int, limit: int, since: str = "") -> list[tuple[str, float | None]]:
    """(finish time, latency in seconds or None if cached) of the newest calls that finished at `since` or later,
    oldest first."""
    rows = db.rows(
        """SELECT finished_at, CASE WHEN cached_from IS NULL THEN latency_s END FROM calls
           WHERE run_id = ? AND state IN ('done', 'failed') AND finished_at >= ? ORDER BY finished_at DESC LIMIT ?""",
        (run_id, since, limit),
    )
    return [(row[0], row[1]) for row in reversed(rows)]


def call_troubles(db: Database, run_id: int) -> CallTroubles:
    retried = db.value(
        "SELECT count(*) FROM calls WHERE run_id = ? AND state = 'done' AND attempts > 1", (run_id,)
    )
    kinds = db.rows(
        """SELECT error_kind, count(*) AS n FROM calls WHERE run_id = ? AND state = 'failed'
           GROUP BY error_kind ORDER BY n DESC, error_kind""",
        (run_id,),
    )
    return CallTroubles(retried, tuple((row[0], row[1]) for row in kinds))


def marked_counts(db: Database, run_id: int) -> MarkedCounts:
    row = db.row(
        """SELECT ifnull(sum(flag_count > 0), 0), ifnull(sum(order_consistent = 0), 0), count(order_consistent)
           FROM verdicts WHERE run_id = ?""",
        (run_id,),
    )
    assert row is not None
    return MarkedCounts(*row)


def verdict_counts(db: Database, run_id: int) -> list[VerdictCount]:
    """The valid verdicts of a run so far, by systems and label. With several aspects, only the overall one."""
    rows = db.rows(
        f"""SELECT c.system_a, c.system_b, v.label, v.value, count(*) FROM verdicts v JOIN cases c ON c.id = v.case_id
           WHERE v.run_id = ? AND v.state = 'ok' AND v.aspect = '{OVERALL}' GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 4 DESC""",
        (run_id,),
    )
    return [VerdictCount(*row) for row in rows]


def prompt_label(db: Database, prompt_id: int) -> str:
    """`NAME@VERSION`."""
    label: str = db.value("SELECT name || '@' || version FROM prompts WHERE id = ?", (prompt_id,))
    return label


def run_failures(db: Database, run_id: int) -> list[sqlite3.Row]:
    """Why calls of a run failed, most frequent first. Columns: error_kind, calls, example (one error)."""
    return db.rows(
        """SELECT error_kind, count(*) AS calls, max(error) AS example FROM calls
           WHERE run_id = ? AND state = 'failed' GROUP BY error_kind ORDER BY calls DESC, error_kind""",
        (run_id,),
    )


def active_runs(db: Database) -> list[ActiveRun]:
    """The running runs and their progress, oldest first."""
    return [
        ActiveRun(*row)
        for row in db.rows("""
            SELECT ru.id, ru.project_id, (SELECT count(*) FROM calls k WHERE k.run_id = ru.id),
              (SELECT count(*) FROM calls k WHERE k.run_id = ru.id AND k.state IN ('done', 'failed'))
            FROM runs ru WHERE ru.state = 'running' ORDER BY ru.id""")
    ]
