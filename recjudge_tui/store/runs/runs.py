"""Runs: their settings, their state, and the lease of the process that works on them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from recjudge_tui.domain.calls import Order
from recjudge_tui.domain.judge import Identity, JudgeSpec
from recjudge_tui.domain.roles import RUN_RATERS
from recjudge_tui.domain.run import Estimate, Progress, RunSettings, RunState, Wanted
from recjudge_tui.errors import LeaseLostError, NotFoundError
from recjudge_tui.store.cases.snapshots import ShownCase
from recjudge_tui.store.database import Database, empty_log, merge_search_index, now
from recjudge_tui.store.facts import sql_list
from recjudge_tui.store.names import sane_name
from recjudge_tui.store.runs.calls import restore_superseded


class NewRun(NamedTuple):
    project_id: int
    rater_id: int
    prompt_id: int
    judge: JudgeSpec
    settings: RunSettings
    estimate: Estimate


class PlannedCall(NamedTuple):
    case_id: int
    order: Order
    aspect: str = ""
    sample: int = 0


def create_run(db: Database, run: NewRun) -> int:
    """Store a planned run and return its number. No other run, not even a deleted one, ever had that number."""
    db.execute("UPDATE run_numbers SET last = max(last, (SELECT ifnull(max(id), 0) FROM runs)) + 1")
    return db.insert(
        """INSERT INTO runs (id, project_id, rater_id, prompt_id, protocol, judge, settings, estimate, state, created_at)
           VALUES ((SELECT last FROM run_numbers), ?, ?, ?, ?, ?, ?, ?, 'planned', ?)""",
        (
            run.project_id,
            run.rater_id,
            run.prompt_id,
            run.settings.protocol,
            run.judge.model_dump_json(),
            run.settings.model_dump_json(),
            run.estimate.model_dump_json(),
            now(),
        ),
    )


def add_cases(db: Database, run_id: int, cases: Iterable[tuple[int, ShownCase]]) -> None:
    db.insert_many(
        """INSERT INTO run_cases (run_id, case_id, user_snapshot, slate_a_snapshot, slate_b_snapshot, explanation_snapshot,
             example_snapshot)""",
        ((run_id, case_id, *shown) for case_id, shown in cases),
    )


def add_calls(db: Database, run_id: int, calls: Iterable[PlannedCall]) -> None:
    db.insert_many(
        "INSERT INTO calls (run_id, case_id, list_order, aspect, sample)",
        ((run_id, *call) for call in calls),
    )


def run_row(db: Database, run_id: int) -> sqlite3.Row:
    """The run as stored, with `project` and `rater` by name. Raises NotFoundError."""
    row = db.row(
        """SELECT ru.*, p.name AS project, r.name AS rater, r.kind AS rater_kind FROM runs ru
           JOIN projects p ON p.id = ru.project_id JOIN raters r ON r.id = ru.rater_id WHERE ru.id = ?""",
        (run_id,),
    )
    if row is None:
        raise NotFoundError(f"no run {run_id}", next_step="“recjudge runs list” shows the runs.")
    return row


def list_runs(db: Database, project_id: int | None = None) -> list[sqlite3.Row]:
    """Rows of v_runs with the `stored_judge` (JSON), newest first. Takes seconds for millions of calls."""

    def read() -> list[sqlite3.Row]:
        return db.rows(
            """SELECT v.*, ru.judge AS stored_judge FROM v_runs v JOIN runs ru ON ru.id = v.id
               WHERE ?1 IS NULL OR ru.project_id = ?1 ORDER BY v.id DESC""",
            (project_id,),
        )

    return list(db.kept((list_runs, project_id), read))


def run_setups(db: Database, project_id: int) -> list[sqlite3.Row]:
    """The protocol, settings and prompt of each run of a project, oldest first.

    Columns: id, protocol, settings (JSON), prompt.
    """
    return db.rows(
        """SELECT ru.id, ru.protocol, ru.settings, p.name || '@' || p.version AS prompt
           FROM runs ru JOIN prompts p ON p.id = ru.prompt_id WHERE ru.project_id = ? ORDER BY ru.id""",
        (project_id,),
    )


def has_runs(db: Database, project_id: int) -> bool:
    return bool(db.value("SELECT EXISTS (SELECT 1 FROM runs WHERE project_id = ?)", (project_id,)))


def run_summary(db: Database, run_id: int) -> sqlite3.Row:
    """One row of v_runs with the `stored_judge` (JSON). Raises NotFoundError."""
    run_row(db, run_id)
    row = db.row(
        "SELECT v.*, ru.judge AS stored_judge FROM v_runs v JOIN runs ru ON ru.id = v.id WHERE v.id = ?",
        (run_id,),
    )
    assert row is not None
    return row


def run_progress(db: Database, run_id: int) -> Progress:
    """The counts of the run's committed calls. Raises NotFoundError."""
    row = db.row(
        """SELECT count(*) AS calls, ifnull(sum(state = 'done'), 0) AS done, ifnull(sum(state = 'failed'), 0) AS failed,
             ifnull(sum(cached_from IS NOT NULL), 0) AS cached,
             ifnull(sum(CASE WHEN cached_from IS NULL AND tokens_in BETWEEN 0 AND 1e12 THEN tokens_in END), 0)
               AS tokens_in,
             ifnull(sum(CASE WHEN cached_from IS NULL AND tokens_out BETWEEN 0 AND 1e12 THEN tokens_out END), 0)
               AS tokens_out,
             ifnull(sum(CASE WHEN cached_from IS NULL AND tokens_cached IS NOT NULL AND tokens_in BETWEEN 0 AND 1e12
                        THEN min(tokens_cached, tokens_in) END), 0) AS tokens_reused,
             ifnull(sum(CASE WHEN cached_from IS NULL AND tokens_cached IS NOT NULL AND tokens_in BETWEEN 0 AND 1e12
                        THEN tokens_in END), 0) AS tokens_counted,
             sum(CASE WHEN cached_from IS NULL AND cost_usd BETWEEN 0 AND 1e9 THEN cost_usd END) AS cost_usd,
             total(unknown_usd) + total(reserved_usd) AS unknown_usd,
             ifnull(sum(cached_from IS NULL AND cost_usd NOT BETWEEN 0 AND 1e9), 0) AS impossible_costs
           FROM calls WHERE run_id = ?""",
        (run_id,),
    )
    state: RunState | None = db.value("SELECT state FROM runs WHERE id = ?", (run_id,))
    if row is None or state is None:
        raise NotFoundError(f"no run {run_id}", next_step="“recjudge runs list” shows the runs.")
    return Progress(**dict(row), state=state)


def runs_of_rater(db: Database, rater_id: int) -> list[sqlite3.Row]:
    return db.rows("SELECT * FROM runs WHERE rater_id = ? ORDER BY id", (rater_id,))


def set_settings(db: Database, run_id: int, settings: RunSettings) -> None:
    """Replace the run's settings; they take effect when it is next started."""
    with db.transaction():
        db.execute("UPDATE runs SET settings = ? WHERE id = ?", (settings.model_dump_json(), run_id))


def set_wanted(db: Database, run_id: int, wanted: Wanted) -> None:
    """Ask the process that works on the run to continue, pause or stop."""
    with db.transaction():
        db.execute("UPDATE runs SET wanted = ? WHERE id = ?", (wanted, run_id))


def wanted(db: Database, run_id: int) -> Wanted | None:
    """The requested state; None when the run no longer exists."""
    state: Wanted | None = db.value("SELECT wanted FROM runs WHERE id = ?", (run_id,))
    return state


class RunControl(NamedTuple):
    """Requests to the process that works on a run; `concurrency` None: as planned."""

    wanted: Wanted
    concurrency: int | None


def run_control(db: Database, run_id: int) -> RunControl | None:
    """The requested state and concurrency; None when the run no longer exists."""
    row = db.row("SELECT wanted, wanted_concurrency FROM runs WHERE id = ?", (run_id,))
    return RunControl(*row) if row else None


def set_wanted_concurrency(db: Database, run_id: int, calls: int | None) -> None:
    """Set the number of concurrent calls, now and whenever the run is resumed; None: as planned."""
    with db.transaction():
        db.execute("UPDATE runs SET wanted_concurrency = ? WHERE id = ?", (calls, run_id))


def set_waiting(db: Database, run_id: int, seconds: float) -> None:
    """Store until when the run waits because its server asked for a pause."""
    with db.transaction():
        db.execute("UPDATE runs SET waiting_until = ? WHERE id = ?", (now(seconds), run_id))


def set_retry(db: Database, run_id: int, why: str | None, seconds: float = 0.0) -> None:
    """Store why the server cannot be reached and in how many seconds the next call tries again.

    None: the server is reachable.
    """
    with db.transaction():
        moment = None if why is None else now(seconds)
        db.execute("UPDATE runs SET retry_why = ?, retry_at = ? WHERE id = ?", (why, moment, run_id))


def lease_owner(db: Database, run_id: int) -> tuple[str | None, str | None]:
    """(owner, time of its last heartbeat) or (None, None)."""
    row = db.row("SELECT lease_owner, heartbeat_at FROM runs WHERE id = ?", (run_id,))
    return (row["lease_owner"], row["heartbeat_at"]) if row else (None, None)


# the working time of a process that died before recording it: up to its last heartbeat
_UNRECORDED_SECONDS = """max(0, ifnull(CASE WHEN lease_owner IS NOT NULL THEN
  (julianday(heartbeat_at) - julianday(attempt_started_at)) * 86400 END, 0))"""


def take_lease(db: Database, run_id: int, owner: str, instead_of: str | None) -> bool:
    """Take the run's lease if it still belongs to `instead_of` (None: to no process); True on success.

    The working time of `instead_of` is added to the run's.
    """
    with db.transaction():
        cursor = db.execute(
            f"""UPDATE runs SET lease_owner = ?1, heartbeat_at = ?2, state = 'running', wanted = 'run', error = '',
                 started_at = ifnull(started_at, ?2), attempt_started_at = ?2, seconds = seconds + {_UNRECORDED_SECONDS},
                 finished_at = NULL, waiting_until = NULL, retry_why = NULL, retry_at = NULL
               WHERE id = ?3 AND lease_owner IS ?4""",
            (owner, now(), run_id, instead_of),
        )
        if cursor.rowcount == 1:
            # in flight when the last process was killed: nobody knows what was billed for them
            db.execute(
                """UPDATE calls SET unknown_usd = ifnull(unknown_usd, 0) + reserved_usd, reserved_usd = NULL
                   WHERE run_id = ? AND reserved_usd IS NOT NULL""",
                (run_id,),
            )
    return cursor.rowcount == 1


def heartbeat(db: Database, run_id: int, owner: str, concurrency: int | None = None) -> None:
    """Record that the run is alive, and its number of concurrent calls. Raises LeaseLostError when another process has
    taken the lease."""
    cursor = db.execute(
        """UPDATE runs SET heartbeat_at = ?, concurrency = ifnull(?, concurrency)
           WHERE id = ? AND lease_owner = ?""",
        (now(), concurrency, run_id, owner),
    )
    if cursor.rowcount != 1:
        raise LeaseLostError(
            f"run {run_id} was taken over by another process or deleted",
            next_step="“recjudge runs list” shows it.",
        )


def set_identity(db: Database, run_id: int, owner: str, identity: Identity) -> None:
    """Store which model answers. Raises LeaseLostError when another process has taken the lease."""
    with db.transaction():
        heartbeat(db, run_id, owner)
        db.execute("UPDATE runs SET identity = ? WHERE id = ?", (identity.model_dump_json(), run_id))


def release_lease(
    db: Database, run_id: int, owner: str, state: RunState, seconds: float, error: str = ""
) -> None:
    """Release the lease and set a final or resumable state; does nothing if another process has taken the lease."""
    with db.transaction():
        db.execute(
            """UPDATE runs SET state = ?, error = ?, seconds = seconds + ?, finished_at = ?, lease_owner = NULL,
                 heartbeat_at = NULL WHERE id = ? AND lease_owner = ?""",
            (state, error, seconds, now(), run_id, owner),
        )


def mark_ended(db: Database, run_id: int, owner: str | None, state: RunState) -> None:
    """Mark a running run as ended after its process `owner` died; other runs are not changed."""
    with db.transaction():
        db.execute(
            f"""UPDATE runs SET state = ?, seconds = seconds + {_UNRECORDED_SECONDS}, lease_owner = NULL,
                 heartbeat_at = NULL, finished_at = ? WHERE id = ? AND state = 'running' AND lease_owner IS ?""",
            (state, now(), run_id, owner),
        )


def reset_failed(db: Database, run_id: int) -> int:
    """Set the failed calls of a run back to planned and delete its failed verdicts; returns the number of calls.

    Attempts, tokens and cost stay, because they were spent.
    """
    with db.transaction():
        for table in ("verdicts", "superseded_verdicts"):
            db.execute(f"DELETE FROM {table} WHERE run_id = ? AND state = 'failed'", (run_id,))
        cursor = db.execute(
            """UPDATE calls SET state = 'planned', error = NULL, error_kind = NULL, reply = NULL,
                 thinking = NULL, finished_at = NULL WHERE run_id = ? AND state = 'failed'""",
            (run_id,),
        )
    return cursor.rowcount


def rename_run(db: Database, run_id: int, name: str) -> None:
    """Give a run a name; an empty name removes it. Raises NotFoundError, and UsageError if it is too long."""
    run_row(db, run_id)
    with db.transaction():
        db.execute("UPDATE runs SET name = ? WHERE id = ?", (sane_name(name, "the run"), run_id))


def delete_run(db: Database, run_id: int) -> None:
    """Delete a run with its calls, answers and verdicts, and its rater if the rater has nothing else. Verdicts of the
    rater's earlier runs on the same cases replace the deleted ones. Nothing of its replies stays in the file.
    """
    row = run_row(db, run_id)
    with db.transaction():
        db.execute("DELETE FROM runs WHERE id = ?", (run_id,))
        restore_superseded(db, row["rater_id"])
        db.execute(
            f"""DELETE FROM raters WHERE id = ?1 AND kind IN {sql_list(RUN_RATERS)}
               AND NOT EXISTS (SELECT 1 FROM runs WHERE rater_id = ?1)
               AND NOT EXISTS (SELECT 1 FROM verdicts WHERE rater_id = ?1)""",
            (row["rater_id"],),
        )
        merge_search_index(db)
    empty_log(db)
