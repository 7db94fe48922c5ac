"""The settings of each run of a project, and why its calls failed."""

from __future__ import annotations

import json

from recjudge_tui.domain.run import RunSettings, sampling_of
from recjudge_tui.domain.run_options import RUN_OPTIONS
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.runs.conditions import RunConditions, run_conditions
from recjudge_tui.store.runs.progress import run_failures
from recjudge_tui.store.runs.runs import list_runs, run_row

_COLUMNS = (
    Column("id", "Run"),
    Column("rater", "Rater"),
    Column("protocol", "Protocol"),
    Column("judge", "Judge"),
    Column("model", "Model"),
    Column("digest", "Digest"),
    Column("prompt", "Prompt"),
    Column("prompt_digest", "Prompt SHA-256"),
    Column("top_k", "Top k", "int"),
    Column("history", "History", "int"),
    Column("history_days", "Days", "int"),
    Column("swap", "Both orders"),
    Column("repeats", "Repeats", "int"),
    Column("temperature", "Temperature", "float"),
    Column("seed", "Seed"),
    Column("aspects", "Aspects"),
    Column("shots", "Shots"),
    Column("profile", "Profile"),
    Column("other", "Other settings"),
    Column("created_at", "Planned", "time"),
)
# as JSON has them
_USUAL = json.loads(json.dumps({name: option.default for name, option in RUN_OPTIONS.items()}))
_SHOWN = {column.name for column in _COLUMNS} | {"protocol"}
_FAILURES = (
    Column("id", "Run"),
    Column("rater", "Rater"),
    Column("protocol", "Protocol"),
    Column("error_kind", "Failure"),
    Column("failed", "Calls", "int"),
    Column("calls", "Of", "int"),
    Column("example", "For instance"),
)


def run_settings_table(db: Database, project_id: int) -> Table:
    """One row per run, oldest first: judge, served model, prompt, and the settings that change what is judged."""
    rows = tuple(_row(run_row(db, run.id), run) for run in run_conditions(db, project_id))
    notes = () if rows else ("no run yet",)
    return Table("Settings of the runs", _COLUMNS, rows, notes)


def _row(run: StoredRow, of: RunConditions) -> Row:
    settings, judge = json.loads(of.settings), json.loads(of.judge)
    served = json.loads(of.identity or "{}")
    sampling = sampling_of(RunSettings.model_validate_json(of.settings), 0)
    other = {
        name: value for name, value in settings.items() if name not in _SHOWN and value != _USUAL.get(name)
    }
    return {
        **{name: settings.get(name) for name in ("top_k", "history", "history_days", "swap", "repeats")},
        **{name: settings.get(name, "") for name in ("aspects", "shots", "profile")},
        "temperature": sampling.temperature,
        "seed": str(settings.get("seed", "")),
        "id": str(run["id"]),
        "rater": of.rater,
        "protocol": of.protocol,
        "judge": judge.get("spec", ""),
        "model": served.get("name", ""),
        "digest": served.get("digest", ""),
        "prompt": of.prompt.name,
        "prompt_digest": of.prompt.digest,
        "other": ", ".join(f"{name} {_plain(value)}" for name, value in other.items()),
        "created_at": run["created_at"],
    }


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "/".join(f"{name}={one_line(part, 60)}" for name, part in value.items())
    return "/".join(map(str, value)) if isinstance(value, list) else str(value)


def failures_table(db: Database, project_id: int) -> Table:
    """One row per run and kind of failure, with one error as an example. Failures are not verdicts."""
    rows: list[Row] = []
    for run in reversed(list_runs(db, project_id)):
        who = {
            "id": str(run["id"]),
            "rater": run["rater"],
            "protocol": run["protocol"],
            "calls": run["calls"],
        }
        rows += [
            who
            | {
                "error_kind": failure["error_kind"],
                "failed": failure["calls"],
                "example": one_line(failure["example"] or "", 300),
            }
            for failure in run_failures(db, run["id"])
        ]
    return Table("Failed calls", _FAILURES, tuple(rows), () if rows else ("no call failed",))


def failure_lines(db: Database, run_id: int) -> list[str]:
    """Why calls of a run failed, a line for each kind of error, most frequent first; its example is nearly whole."""
    return [
        f"{quantity(failure['calls'], 'call')} failed ({failure['error_kind']}), for instance:"
        f" {one_line(failure['example'] or '', 300 if at else 2000)}"
        for at, failure in enumerate(run_failures(db, run_id))
    ]
