"""Runs: their record, groups, progress, judges and conditions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeVar, get_args

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.roles import RUN_RATERS
from recjudge_tui.errors import LeaseLostError, NotFoundError, StoreError
from recjudge_tui.steps import Step
from recjudge_tui.store.cases import OF_SEVERAL_OCCASIONS, ShownCase
from recjudge_tui.store.database import (
    Database,
    StoredRow,
    empty_log,
    is_time,
    merge_search_index,
    now,
    odd_cell,
    read_cell,
)
from recjudge_tui.store.facts import sane_name, sql_list

if TYPE_CHECKING:
    from recjudge_tui.domain.base import Model
    from recjudge_tui.domain.calls import Order
    from recjudge_tui.domain.judge import Capabilities, Identity, JudgeSpec
    from recjudge_tui.domain.run import Estimate, Progress, RunSettings, RunState, Wanted
    from recjudge_tui.store.prompts import UsedPrompt

M = TypeVar("M", bound="Model")


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
    cells = {name: getattr(run, name).model_dump_json() for name in ("judge", "settings", "estimate")}
    return db.add(
        "runs", id=db.number("SELECT last FROM run_numbers"), project_id=run.project_id, rater_id=run.rater_id,
        prompt_id=run.prompt_id, protocol=run.settings.protocol, state="planned", created_at=now(), **cells,
    )  # fmt: skip


def add_cases(db: Database, run_id: int, cases: Iterable[tuple[int, ShownCase]]) -> None:
    db.insert_many(
        """INSERT INTO run_cases (run_id, case_id, user_snapshot, slate_a_snapshot, slate_b_snapshot, explanation_snapshot,
             example_snapshot)""",
        ((run_id, case_id, *shown) for case_id, shown in cases),
    )


def add_calls(db: Database, run_id: int, calls: Iterable[PlannedCall]) -> None:
    db.insert_many(
        "INSERT INTO calls (run_id, case_id, list_order, aspect, sample)", ((run_id, *call) for call in calls)
    )


# host, process id, start time and a random word
_OWNER = re.compile(r"[^|]*\|\d{1,9}\|[^|]*\|[^|]*", re.ASCII)
_RUNS = """SELECT ru.*, p.name AS project, r.name AS rater, r.kind AS rater_kind,
    pr.name || '@' || pr.version AS prompt, pr.digest AS prompt_digest
  FROM runs ru JOIN projects p ON p.id = ru.project_id JOIN raters r ON r.id = ru.rater_id
  JOIN prompts pr ON pr.id = ru.prompt_id"""


def run_row(db: Database, run_id: int) -> StoredRow:
    """The run as stored, with `project`, `rater`, `rater_kind`, `prompt` (NAME@VERSION) and `prompt_digest`. Raises
    NotFoundError, and StoreError where its JSON is not what recjudge stores."""
    return _read(db.only(f"{_RUNS} WHERE ru.id = ?", (run_id,), _no_run(run_id)))


def _no_run(run_id: int) -> NotFoundError:
    return NotFoundError(f"no run {run_id}", step=Step("list runs"))


def _read(row: StoredRow) -> StoredRow:
    """The row of a run, once its cells are known to hold what they should: a file may come from anybody."""
    from recjudge_tui.domain.judge import Identity, JudgeSpec
    from recjudge_tui.domain.run import Estimate, RunSettings

    for column, kind in (
        ("judge", JudgeSpec),
        ("settings", RunSettings),
        ("identity", Identity),
        ("estimate", Estimate),
    ):
        if row[column] is not None and (column, row[column]) != ("estimate", "{}"):
            read_cell(kind, row[column], "runs", row["id"], column)
    return row


def stored_runs(
    db: Database, *, project_id: int | None = None, rater_id: int | None = None
) -> list[StoredRow]:
    """The runs of a project or of a rater, oldest first, as in `run_row`."""
    sql = f"{_RUNS} WHERE ifnull(?1, ru.project_id) = ru.project_id AND ifnull(?2, ru.rater_id) = ru.rater_id"
    return list(map(_read, db.rows(f"{sql} ORDER BY ru.id", (project_id, rater_id))))


_LISTED = "SELECT v.*, ru.judge AS stored_judge FROM v_runs v JOIN runs ru ON ru.id = v.id WHERE ru.id = ?"


def last_domain(db: Database, project_id: int) -> str:
    """The domain that the project's newest run with one was given; empty without such a run."""
    sql = """SELECT json_extract(settings, '$.domain') FROM runs
             WHERE project_id = ? AND json_extract(settings, '$.domain') <> '' ORDER BY id DESC LIMIT 1"""
    domain: str | None = db.value(sql, (project_id,))
    return domain or ""


def list_runs(db: Database, project_id: int | None = None) -> list[StoredRow]:
    """Rows of v_runs with the `stored_judge` (JSON), newest first, without those that cannot be read (`odd_runs`). Takes
    seconds for millions of calls."""
    return list(db.kept((list_runs, project_id), lambda: _read_runs(db, project_id, _LISTED)[0]))


def odd_runs(db: Database, project_id: int | None = None) -> list[StoreError]:
    """What is wrong with the cells of runs, newest first."""
    return _read_runs(db, project_id, f"{_RUNS} WHERE ru.id = ?", _read)[1]


def _read_runs(
    db: Database, project_id: int | None, sql: str, check: Callable[[StoredRow], StoredRow] = lambda row: row
) -> tuple[list[StoredRow], list[StoreError]]:
    ids = db.column("SELECT id FROM runs WHERE ?1 IS NULL OR project_id = ?1 ORDER BY id DESC", (project_id,))
    rows: list[StoredRow] = []
    odd: list[StoreError] = []
    for run_id in ids:
        try:
            rows += map(check, db.rows(sql, (run_id,)))
        except StoreError as error:
            odd.append(error)
    return rows, odd


def case_count(db: Database, run_id: int) -> int:
    return db.number("SELECT count(*) FROM run_cases WHERE run_id = ?", (run_id,))


def has_runs(db: Database, project_id: int) -> bool:
    return db.any("SELECT 1 FROM runs WHERE project_id = ?", (project_id,))


def run_summary(db: Database, run_id: int) -> StoredRow:
    """One row of v_runs with the `stored_judge` (JSON). Raises NotFoundError."""
    return db.only(_LISTED, (run_id,), _no_run(run_id))


def run_progress(db: Database, run_id: int) -> Progress:
    """The counts of the run's committed calls, and what its process last said of those in flight. Raises NotFoundError."""
    from recjudge_tui.domain.run import Progress, RunState

    sql = """SELECT count(*) AS calls, ifnull(sum(state = 'done'), 0) AS done, ifnull(sum(state = 'failed'), 0) AS failed,
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
             FROM calls WHERE run_id = ?"""
    counts = db.only(sql, (run_id,))
    sql = "SELECT state, in_flight, attempts, left_s FROM runs WHERE id = ?"
    run = db.only(sql, (run_id,), _no_run(run_id))
    if run["state"] not in get_args(RunState):
        raise odd_cell("runs", run_id, "state", "no state of a run")
    active = run["state"] == "running"
    return Progress(
        **dict(counts),
        state=run["state"],
        in_flight=run["in_flight"] if active else 0,
        attempts=run["attempts"],
        left_s=run["left_s"] if active else None,
    )


def wanted(db: Database, run_id: int) -> Wanted | None:
    """The requested state; None when the run no longer exists."""
    state: Wanted | None = db.value("SELECT wanted FROM runs WHERE id = ?", (run_id,))
    return state


def run_control(db: Database, run_id: int) -> StoredRow | None:
    """What is asked of the process that works on a run: `wanted`, and `wanted_concurrency` (None: as planned). None when
    the run no longer exists."""
    return db.row("SELECT wanted, wanted_concurrency FROM runs WHERE id = ?", (run_id,))


def lease_owner(db: Database, run_id: int) -> tuple[str | None, str | None]:
    """(owner, time of its last heartbeat) or (None, None). Raises StoreError for an owner that no process of ours was."""
    row = db.row("SELECT lease_owner, heartbeat_at FROM runs WHERE id = ?", (run_id,))
    owner, heartbeat = tuple(row) if row else (None, None)
    if owner is not None and not _OWNER.fullmatch(owner):
        raise odd_cell("runs", run_id, "lease_owner", "It names no process")
    if heartbeat is not None and not is_time(heartbeat):
        raise odd_cell("runs", run_id, "heartbeat_at", "It is no time")
    return owner, heartbeat


# the working time of a process that died before recording it: up to its last heartbeat
_UNRECORDED_SECONDS = """max(0, ifnull(CASE WHEN lease_owner IS NOT NULL THEN
  (julianday(heartbeat_at) - julianday(attempt_started_at)) * 86400 END, 0))"""


def take_lease(db: Database, run_id: int, owner: str, instead_of: str | None) -> bool:
    """Take the run's lease if it still belongs to `instead_of` (None: to no process); True on success. The working time
    of `instead_of` is added to the run's."""
    with db.transaction():
        sql = f"""UPDATE runs SET lease_owner = ?1, heartbeat_at = ?2, state = 'running', wanted = 'run', error = '',
              started_at = ifnull(started_at, ?2), attempt_started_at = ?2, seconds = seconds + {_UNRECORDED_SECONDS},
              finished_at = NULL, waiting_until = NULL, retry_why = NULL, retry_at = NULL
            WHERE id = ?3 AND lease_owner IS ?4"""
        cursor = db.execute(sql, (owner, now(), run_id, instead_of))
        if cursor.rowcount == 1:
            # in flight when the last process was killed: nobody knows what was billed for them
            sql = """UPDATE calls SET unknown_usd = ifnull(unknown_usd, 0) + reserved_usd, reserved_usd = NULL
                     WHERE run_id = ? AND reserved_usd IS NOT NULL"""
            db.execute(sql, (run_id,))
    return cursor.rowcount == 1


class Pulse(NamedTuple):
    """What a process that works on a run says of it: its concurrent calls, the attempts in flight and since it was planned,
    and about how many seconds are left."""

    concurrency: int
    in_flight: int
    attempts: int
    left_s: float | None


def heartbeat(db: Database, run_id: int, owner: str, pulse: Pulse | None = None) -> None:
    """Record that the run is alive, and how. Raises LeaseLostError when another process has taken the lease."""
    sql = """UPDATE runs SET heartbeat_at = ?1, concurrency = ifnull(?2, concurrency), in_flight = ifnull(?3, in_flight),
               attempts = ifnull(?4, attempts), left_s = ?5 WHERE id = ?6 AND lease_owner = ?7"""
    cursor = db.execute(sql, (now(), *(pulse or (None, None, None, None)), run_id, owner))
    if cursor.rowcount != 1:
        gone = f"run {run_id} was taken over by another process or deleted"
        raise LeaseLostError(gone, step=Step("list runs"))


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
        sql = """UPDATE runs SET state = ?, error = ?, seconds = seconds + ?, finished_at = ?, lease_owner = NULL,
                   heartbeat_at = NULL WHERE id = ? AND lease_owner = ?"""
        db.execute(sql, (state, error, seconds, now(), run_id, owner))


def mark_ended(db: Database, run_id: int, owner: str | None, state: RunState) -> None:
    """Mark a running run as ended after its process `owner` died; other runs are not changed."""
    with db.transaction():
        sql = f"""UPDATE runs SET state = ?, seconds = seconds + {_UNRECORDED_SECONDS}, lease_owner = NULL,
                   heartbeat_at = NULL, finished_at = ? WHERE id = ? AND state = 'running' AND lease_owner IS ?"""
        db.execute(sql, (state, now(), run_id, owner))


def reset_failed(db: Database, run_id: int) -> int:
    """Set the failed calls of a run back to planned and delete its failed verdicts; returns the number of calls.
    Attempts, tokens and cost stay, because they were spent."""
    with db.transaction():
        for table in ("verdicts", "superseded_verdicts"):
            db.execute(f"DELETE FROM {table} WHERE run_id = ? AND state = 'failed'", (run_id,))
        sql = """UPDATE calls SET state = 'planned', error = NULL, error_kind = NULL, reply = NULL,
                   thinking = NULL, finished_at = NULL WHERE run_id = ? AND state = 'failed'"""
        cursor = db.execute(sql, (run_id,))
    return cursor.rowcount


def rename_run(db: Database, run_id: int, name: str) -> None:
    """Give a run a name; an empty name removes it. Raises NotFoundError, and UsageError if it is too long."""
    run_summary(db, run_id)
    db.change("runs", run_id, name=sane_name(name, "the run"))


def delete_run(db: Database, run_id: int) -> None:
    """Delete a run with its calls, answers and verdicts, and its rater if the rater has nothing else. Verdicts of the
    rater's earlier runs on the same cases replace the deleted ones. Nothing of its replies stays in the file."""
    from recjudge_tui.store.calls import restore_superseded

    (rater,) = db.only("SELECT rater_id FROM runs WHERE id = ?", (run_id,), _no_run(run_id))
    with db.transaction():
        db.execute("DELETE FROM runs WHERE id = ?", (run_id,))
        restore_superseded(db, rater)
        sql = f"""DELETE FROM raters WHERE id = ?1 AND kind IN {sql_list(RUN_RATERS)}
            AND NOT EXISTS (SELECT 1 FROM runs WHERE rater_id = ?1)
            AND NOT EXISTS (SELECT 1 FROM verdicts WHERE rater_id = ?1)"""
        db.execute(sql, (rater,))
        merge_search_index(db)
    empty_log(db)


# ---- groups ------------------------------------------------------------------------------------------------------


class RunGroup(NamedTuple):
    """A group of one rater's runs. `request` is JSON; `runs` has run ids by stage."""

    id: int
    project_id: int
    rater: str
    request: str
    runs: dict[str, int]


def group_by_id(db: Database, group_id: int) -> RunGroup:
    """The group with this id. Raises NotFoundError."""
    sql = """SELECT g.id, g.project_id, r.name, g.request FROM run_groups g JOIN raters r ON r.id = g.rater_id
             WHERE g.id = ?"""
    gone = NotFoundError(f"no group of runs {group_id}", step=Step("list runs"))
    runs = db.pairs("SELECT stage, id FROM runs WHERE group_id = ? ORDER BY id", (group_id,))
    return RunGroup._make((*db.only(sql, (group_id,), gone), runs))


def create_group(db: Database, kind: str, request: str, runs: dict[str, int]) -> int:
    """Create a group of these runs of one rater, by stage; returns its id."""
    with db.transaction():
        first = db.only("SELECT project_id, rater_id FROM runs WHERE id = ?", (min(runs.values()),))
        group_id = db.add("run_groups", **dict(first), kind=kind, request=request, created_at=now())
        for stage, run_id in runs.items():
            db.change("runs", run_id, group_id=group_id, stage=stage)
    return group_id


# ---- progress ----------------------------------------------------------------------------------------------------


# `state` is as stored: the process of a running run may have died
_LINES = """SELECT ru.id AS run_id, ru.project_id, r.name AS rater, ru.protocol, ru.state, ru.wanted, ru.created_at,
    ifnull(ru.attempt_started_at, '') AS attempt_started_at, ifnull(ru.finished_at, '') AS ended,
    (SELECT count(*) FROM calls k WHERE k.run_id = ru.id{counted}) AS calls,
    (SELECT count(*) FROM calls k WHERE k.run_id = ru.id AND k.state IN ('done', 'failed'){counted}) AS finished,
    (SELECT count(*) FROM calls k WHERE k.run_id = ru.id AND k.state = 'failed') AS failed
  FROM runs ru JOIN raters r ON r.id = ru.rater_id"""


def active_runs(db: Database) -> list[StoredRow]:
    """The running runs, oldest first, with the numbers of their calls; `attempt_started_at`, `ended`: empty for not yet."""
    return db.rows(f"{_LINES.format(counted='')} WHERE ru.state = 'running' ORDER BY ru.id")


def newest_runs(db: Database, project_id: int, limit: int) -> tuple[StoredRow, ...]:
    """The newest runs of a project as in `active_runs`, newest first. `calls` and `finished` are 0 if the run is done."""
    lines = _LINES.format(counted=" AND ru.state <> 'done'")
    return tuple(db.rows(f"{lines} WHERE ru.project_id = ? ORDER BY ru.id DESC LIMIT ?", (project_id, limit)))


def other_stage(db: Database, run_id: int) -> StoredRow | None:
    """The other run of the group as in `active_runs`; None if there is none."""
    sql = f"""{_LINES.format(counted="")} WHERE ru.id <> ?1 AND ru.group_id = (SELECT group_id FROM runs WHERE id = ?1)
              ORDER BY ru.id LIMIT 1"""
    return db.row(sql, (run_id,))


def newest_calls(db: Database, run_id: int, state: str, limit: int) -> list[StoredRow]:
    """The calls in `state` (done or failed) that finished last, newest first. `label`: those of all aspects; `context` and
    `served_at` are empty unless the user has several occasions."""
    # choose the newest before joining anything
    sql = f"""SELECT k.id, k.case_id, c.user_id, c.system_a, c.system_b, k.list_order AS "order",
          ifnull((SELECT group_concat(a.label, ', ') FROM answers a WHERE a.call_id = k.id), '') AS label,
          (SELECT count(*) FROM flags f WHERE f.call_id = k.id) AS flags, k.attempts, k.latency_s,
          k.cached_from IS NOT NULL AS cached, ifnull(k.error_kind, '') AS error_kind, ifnull(k.error, '') AS error,
          iif({OF_SEVERAL_OCCASIONS}, c.context, '') AS context,
          iif({OF_SEVERAL_OCCASIONS}, c.served_at, '') AS served_at
        FROM calls k JOIN cases c ON c.id = k.case_id
        WHERE k.id IN (SELECT id FROM calls WHERE run_id = ? AND state = ? ORDER BY finished_at DESC, id DESC LIMIT ?)
        ORDER BY k.finished_at DESC, k.id DESC"""
    return db.rows(sql, (run_id, state, limit))


def newest_times(db: Database, run_id: int, limit: int, since: str = "") -> list[tuple[str, float | None]]:
    """(finish time, latency in seconds or None if cached) of the newest calls that finished at `since` or later,
    oldest first."""
    sql = """SELECT finished_at, CASE WHEN cached_from IS NULL THEN latency_s END FROM calls
             WHERE run_id = ? AND state IN ('done', 'failed') AND finished_at >= ? ORDER BY finished_at DESC LIMIT ?"""
    return [*db.tuples(sql, (run_id, since, limit))][::-1]


def marked_counts(db: Database, run_id: int) -> StoredRow:
    """How many verdicts of a run have flagged items (`flagged`), of those asked in `both_orders` how many `flips`, and how
    many calls succeeded after more than one attempt (`retried`)."""
    sql = """SELECT ifnull(sum(flag_count > 0), 0) AS flagged, ifnull(sum(order_consistent = 0), 0) AS flips,
               count(order_consistent) AS both_orders,
               (SELECT count(*) FROM calls WHERE run_id = ?1 AND state = 'done' AND attempts > 1) AS retried
             FROM verdicts WHERE run_id = ?1"""
    return db.only(sql, (run_id,))


def verdict_counts(db: Database, run_id: int, aspect: str = OVERALL) -> list[StoredRow]:
    """How many `verdicts` of a run on a system or a pair (system_a, system_b) have a `label` and its `value`, failed ones
    left out."""
    sql = """SELECT c.system_a, c.system_b, v.label, v.value, count(*) AS verdicts
        FROM verdicts v JOIN cases c ON c.id = v.case_id
        WHERE v.run_id = ? AND v.state = 'ok' AND v.aspect = ? GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 4 DESC"""
    return db.rows(sql, (run_id, aspect))


def prompt_label(db: Database, prompt_id: int) -> str:
    """`NAME@VERSION`."""
    return str(db.value("SELECT name || '@' || version FROM prompts WHERE id = ?", (prompt_id,)))


def run_failures(db: Database, run_id: int) -> list[StoredRow]:
    """Why calls of a run failed, most frequent first. Columns: error_kind, calls, example (one error)."""
    sql = """SELECT error_kind, count(*) AS calls, max(error) AS example FROM calls
             WHERE run_id = ? AND state = 'failed' GROUP BY error_kind ORDER BY calls DESC, error_kind"""
    return db.rows(sql, (run_id,))


# ---- conditions --------------------------------------------------------------------------------------------------


class CallTotals(NamedTuple):
    """The calls of some runs. `calls` have ended, `open` have not; `reused` took an earlier answer. `first`, `last`: when
    the calls that were sent ended. `failures`: kind of error -> calls, most frequent first; `models`: those that replies
    name; `refused`: parameters that a server refused."""

    calls: int
    failed: int
    reused: int
    open: int
    first: str
    last: str
    cases: int
    users: int
    occasions: int
    failures: dict[str, int]
    models: tuple[str, ...]
    refused: tuple[str, ...]


def run_conditions(db: Database, project_id: int) -> list[tuple[StoredRow, UsedPrompt]]:
    """The runs of a project as in `run_row`, oldest first, each with which text its prompt is."""
    from recjudge_tui.store.prompts import used_prompt

    runs = stored_runs(db, project_id=project_id)
    prompts = {number: used_prompt(db, number) for number in {run["prompt_id"] for run in runs}}
    return [(run, prompts[run["prompt_id"]]) for run in runs]


def call_totals(db: Database, runs: Collection[int]) -> CallTotals:
    """The calls of these runs together."""
    chosen = (json.dumps(sorted(runs)),)
    among = "IN (SELECT value FROM json_each(?))"
    sql = f"""SELECT ifnull(sum(state <> 'planned'), 0), ifnull(sum(state = 'failed'), 0),
          ifnull(sum(cached_from IS NOT NULL), 0), ifnull(sum(state = 'planned'), 0),
          ifnull(min(CASE WHEN cached_from IS NULL THEN finished_at END), ''),
          ifnull(max(CASE WHEN cached_from IS NULL THEN finished_at END), '')
        FROM calls WHERE run_id {among}"""
    calls = db.only(sql, chosen)
    sql = f"""SELECT count(*), count(DISTINCT user_id), count(DISTINCT json_array(user_id, context, served_at)) FROM cases
              WHERE id IN (SELECT case_id FROM run_cases WHERE run_id {among})"""
    cases = db.only(sql, chosen)
    sql = f"""SELECT error_kind, count(*) FROM calls WHERE run_id {among} AND state = 'failed'
              GROUP BY 1 ORDER BY 2 DESC, 1"""
    failures = db.pairs(sql, chosen)
    sql = f"SELECT DISTINCT model FROM calls WHERE run_id {among} AND model <> '' ORDER BY 1"
    models = db.column(sql, chosen)
    sql = f"""SELECT DISTINCT d.value FROM calls k, json_each(k.sent, '$.dropped') d
              WHERE k.run_id {among} AND k.sent IS NOT NULL ORDER BY 1"""
    return CallTotals._make((*calls, *cases, failures, tuple(models), tuple(db.column(sql, chosen))))


# ---- early stopping ----------------------------------------------------------------------------------------------


def case_statuses(db: Database, run_id: int, aspect: str) -> list[StoredRow]:
    """Every case of a run in the order of its calls: case_id, user_id, system_a, system_b, how many of its calls are `open`,
    and the `value` of its verdict on `aspect`, None without a valid one."""
    from recjudge_tui.domain.calls import PROFILE

    sql = """SELECT k.case_id, c.user_id, c.system_a, c.system_b, sum(k.state = 'planned') AS open, max(v.value) AS value
             FROM calls k JOIN cases c ON c.id = k.case_id
             LEFT JOIN verdicts v ON v.case_id = k.case_id AND v.aspect = ?2 AND v.run_id = k.run_id
             WHERE k.run_id = ?1 GROUP BY k.case_id ORDER BY min(CASE WHEN k.aspect <> ?3 THEN k.id END)"""
    return db.rows(sql, (run_id, aspect, PROFILE))


def case_values(db: Database, run_id: int, aspect: str, case_ids: Collection[int]) -> dict[int, float]:
    """case id -> the value of the run's verdict on `aspect`, for cases that have one."""
    sql = """SELECT case_id, value FROM verdicts WHERE case_id IN (SELECT value FROM json_each(?)) AND aspect = ?
               AND run_id = ? AND value IS NOT NULL"""
    return db.pairs(sql, (json.dumps(list(case_ids)), aspect, run_id))


# ---- saer --------------------------------------------------------------------------------------------------------


def changed_since(db: Database, project_id: int, time: str) -> bool:
    """Whether lists, items, users or events were imported after a time, or an import of them was undone."""
    sql = """SELECT 1 FROM imports WHERE project_id = ?1 AND kind IN ('items', 'users', 'events', 'lists')
               AND (created_at > ?2 OR ifnull(undone_at, '') > ?2)"""
    return db.any(sql, (project_id, time))


def run_systems(db: Database, run_id: int) -> list[str]:
    """The systems whose lists a run contains, by name."""
    sql = """WITH judged AS (SELECT c.* FROM run_cases rc JOIN cases c ON c.id = rc.case_id WHERE rc.run_id = ?)
             SELECT system_a FROM judged WHERE system_a <> '' UNION SELECT system_b FROM judged WHERE system_b <> ''
             ORDER BY 1"""
    return db.column(sql, (run_id,))


# ---- judges ------------------------------------------------------------------------------------------------------


class ServedModel(NamedTuple):
    """The model that answered one run. `name` and `digest` come from the server, empty if it did not say; `models` are
    those named in the replies. `replies` of the `calls` were answered, `cached` of them from an earlier run."""

    run_id: int
    judge: str
    prompt: str
    name: str
    digest: str
    models: tuple[str, ...]
    calls: int
    cached: int
    created_at: str
    replies: int


def judges_used(db: Database) -> list[StoredRow]:
    """Every judge used in this database, most recently used first. Columns: spec, runs, last_used."""
    sql = """SELECT json_extract(judge, '$.spec') AS spec, count(*) AS runs, max(created_at) AS last_used
             FROM runs WHERE json_valid(judge) GROUP BY 1 ORDER BY last_used DESC"""
    return db.rows(sql)


def project_judges(db: Database, project_id: int) -> tuple[JudgeSpec, ...]:
    """The judges used in a project, most recently used first, each at the address of its last run."""
    from recjudge_tui.domain.judge import JudgeSpec

    sql = """SELECT judge, max(id) FROM runs WHERE project_id = ? AND json_valid(judge)
             GROUP BY json_extract(judge, '$.spec') ORDER BY 2 DESC"""
    rows = db.tuples(sql, (project_id,))
    return tuple(read_cell(JudgeSpec, judge, "runs", run_id, "judge") for judge, run_id in rows)


def save_capabilities(db: Database, judge: JudgeSpec, record: Capabilities) -> None:
    """Store the result of a probe; it replaces that of an earlier one."""
    with db.transaction():
        sql = """INSERT INTO capabilities (judge, base_urls, record, probed_at) VALUES (?, ?, ?, ?)
                 ON CONFLICT (judge, base_urls) DO UPDATE SET record = excluded.record, probed_at = excluded.probed_at"""
        db.execute(sql, (judge.spec, _servers(judge), record.model_dump_json(), now()))


def judge_capabilities(db: Database, judge: JudgeSpec) -> Capabilities | None:
    """The result of the last probe of this judge at these servers; None without a probe. A record that this version
    cannot read is ignored."""
    from recjudge_tui.domain.judge import Capabilities

    sql = "SELECT record FROM capabilities WHERE judge = ? AND base_urls = ?"
    return _readable(Capabilities, db.value(sql, (judge.spec, _servers(judge))))


def _readable(kind: type[M], text: str | None) -> M | None:
    with suppress(ValueError):
        return None if text is None else kind.model_validate_json(text)
    return None


def _servers(judge: JudgeSpec) -> str:
    """The base URLs as JSON, in a fixed order."""
    return json.dumps(sorted({url.rstrip("/") for url in judge.base_urls}))


class JudgePast(NamedTuple):
    """What earlier runs of a judge showed: which model answered, the newest calls of the last run that asked any, and its
    seconds per call at its concurrency. `calls`: tokens_in, tokens_cached, tokens_out and latency_s."""

    identity: Identity | None
    calls: list[StoredRow]
    seconds_a_call: float | None


def judge_past(db: Database, judge: JudgeSpec) -> JudgePast:
    """What earlier runs of this judge at these servers showed. A stored identity that cannot be read counts as none."""
    from recjudge_tui.domain.judge import Identity

    same = "json_extract(judge, '$.spec') = ? AND json_extract(judge, '$.base_urls') = json(?)"
    who = (judge.spec, json.dumps(judge.base_urls))
    sql = f"SELECT identity FROM runs WHERE {same} AND identity <> '' ORDER BY id DESC LIMIT 1"
    identity = _readable(Identity, db.value(sql, who))
    asked = "state = 'done' AND cached_from IS NULL"
    sql = f"""SELECT id, seconds / (SELECT count(*) FROM calls WHERE run_id = runs.id AND {asked}) AS pace FROM runs
              WHERE {same} AND seconds > 0 AND EXISTS (SELECT 1 FROM calls WHERE run_id = runs.id AND {asked})
              ORDER BY id DESC LIMIT 1"""
    row = db.row(sql, who)
    if row is None:
        return JudgePast(identity, [], None)
    sql = f"""SELECT tokens_in, tokens_cached, tokens_out, latency_s FROM calls
              WHERE run_id = ? AND {asked} AND attempts = 1 AND tokens_in > 0 AND tokens_out > 0 AND latency_s > 0
              ORDER BY id DESC LIMIT 400"""
    return JudgePast(identity, db.rows(sql, (row["id"],)), row["pace"])


def answered_calls(db: Database, judge: JudgeSpec, prompt_id: int) -> int:
    """How many calls of this judge with this prompt have an answer of their own."""
    sql = """SELECT count(*) FROM calls k JOIN runs r ON r.id = k.run_id
             WHERE json_extract(r.judge, '$.spec') = ? AND r.prompt_id = ? AND k.state = 'done'
               AND k.cached_from IS NULL"""
    return db.number(sql, (judge.spec, prompt_id))


def served_models(db: Database, project_id: int, rater: str, protocols: Collection[str]) -> list[ServedModel]:
    """The model behind each of the rater's runs of these protocols, oldest first; empty for a rater without runs."""
    sql = """SELECT ru.id, json_extract(ru.judge, '$.spec'), p.name || '@' || p.version,
               ifnull(json_extract(ru.identity, '$.name'), ''), ifnull(json_extract(ru.identity, '$.digest'), ''),
               json_group_array(DISTINCT k.model) FILTER (WHERE k.model IS NOT NULL), count(k.id),
               count(k.cached_from), ru.created_at, ifnull(sum(k.state = 'done'), 0)
             FROM runs ru JOIN raters r ON r.id = ru.rater_id JOIN prompts p ON p.id = ru.prompt_id
             LEFT JOIN calls k ON k.run_id = ru.id
             WHERE ru.project_id = ? AND r.name = ? AND ru.protocol IN (SELECT value FROM json_each(?))
             GROUP BY ru.id ORDER BY ru.id"""
    rows = db.rows(sql, (project_id, rater, json.dumps(sorted(protocols))))
    return [ServedModel(*row)._replace(models=tuple(sorted(json.loads(row[5])))) for row in rows]


def prompt_match(db: Database, later: list[ServedModel], earlier: list[ServedModel]) -> tuple[int, int]:
    """How many finished calls the two raters' runs share (case, order, aspect, sample), and how many of them have a changed
    prompt, by the hash of texts and schema."""
    sql = """SELECT count(*), ifnull(sum(a.content_hash <> b.content_hash), 0) FROM calls a
             JOIN calls b ON b.case_id = a.case_id AND b.list_order = a.list_order AND b.aspect = a.aspect
               AND b.sample = a.sample AND b.run_id IN (SELECT value FROM json_each(?2))
             WHERE a.run_id IN (SELECT value FROM json_each(?1))
               AND a.content_hash IS NOT NULL AND b.content_hash IS NOT NULL"""
    [(calls, changed)] = db.tuples(
        sql, tuple(json.dumps([run.run_id for run in runs]) for runs in (later, earlier))
    )
    return calls, changed


def newest_judges(db: Database, project_id: int) -> dict[str, str]:
    """rater -> the judge (SPEC) of its newest run; without raters that have no run."""
    sql = """SELECT r.name, json_extract(ru.judge, '$.spec') FROM runs ru JOIN raters r ON r.id = ru.rater_id
             WHERE ru.project_id = ? ORDER BY ru.id"""
    return db.pairs(sql, (project_id,))
