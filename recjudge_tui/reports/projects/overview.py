"""The content of the database: projects, imports, cases, raters, judges, prompts, runs."""

from __future__ import annotations

import json
from collections.abc import Iterable

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.text import money, quantity
from recjudge_tui.reports.common.scales import rater_notes
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.early_stopping import stop_lines
from recjudge_tui.reports.projects.estimate import reused_words
from recjudge_tui.reports.projects.run_settings import failure_lines
from recjudge_tui.reports.verdicts.case_page import case_page
from recjudge_tui.store.cases.cases import case_count, list_cases
from recjudge_tui.store.clock import now
from recjudge_tui.store.data.catalogue import event_counts, heldout_types, repeated_events, systems
from recjudge_tui.store.data.held_out_copies import held_out_copies
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.imports.imports import list_imports
from recjudge_tui.store.projects.projects import project_counts, project_names, project_overview
from recjudge_tui.store.prompts.prompts import list_prompts
from recjudge_tui.store.raters.raters import list_raters
from recjudge_tui.store.runs.runs import list_runs, run_progress, run_row, run_summary
from recjudge_tui.store.verdicts.ratings import project_raters

__all__ = [
    "case_page", "cases_table", "imports_table", "project_table", "projects_table",
    "prompts_table", "raters_table", "run_table", "runs_table",
]  # fmt: skip

_RUN_COLUMNS = (
    Column("id", "Run"),
    Column("name", "Name", minor=True),
    Column("project", "Project"),
    Column("rater", "Rater"),
    Column("protocol", "Protocol"),
    Column("judge", "Judge", minor=True),
    Column("address", "Address", minor=True),
    Column("prompt", "Prompt"),
    Column("state", "State"),
    Column("calls", "Calls", "int"),
    Column("done", "Done", "int"),
    Column("failed", "Failed", "int"),
    Column("cached", "Cached", "int", minor=True),
    Column("tokens_in", "Tokens in", "int", minor=True),
    Column("tokens_out", "Tokens out", "int", minor=True),
    Column("cost_usd", "Cost", "usd"),
    Column("unknown_usd", "Not known", "usd", minor=True),
    Column("seconds", "Time", "seconds"),
)


def projects_table(db: Database) -> Table:
    """One row per project."""
    columns = (
        Column("name", "Project"),
        Column("cases", "Cases", "int"),
        Column("verdicts", "Verdicts", "int"),
        Column("flagged", "Flagged", "int"),
        Column("runs", "Runs", "int"),
        Column("state", "Newest run"),
        Column("last_run", "Last run", "time"),
        Column("created_at", "Made", "time"),
    )
    rows = _rows(project_overview(db), columns)
    notes = () if rows else ("no project yet: create one with “recjudge import FILE -p NAME --as items”",)
    return Table("Projects", columns, rows, notes)


def project_table(db: Database, project_id: int) -> Table:
    """The content of one project, one row per kind of thing, with names if there are few."""
    counts = dict(project_counts(db, project_id))
    raters = list_raters(db, project_id)
    details = {
        "events": ", ".join(f"{name} {count:,}" for name, count in event_counts(db, project_id).items()),
        "heldout": ", ".join(heldout_types(db, project_id)),
        "slates": ", ".join(systems(db, project_id)),
    }
    rows: list[Row] = [
        {"what": what, "count": count, "details": details.get(what, "")} for what, count in counts.items()
    ]
    rows.append({"what": "cases", "count": case_count(db, project_id), "details": ""})
    rows.append({"what": "raters", "count": len(raters), "details": ", ".join(row["name"] for row in raters)})
    rows.append({"what": "verdicts", "count": sum(row["verdicts"] for row in raters), "details": ""})
    runs = list_runs(db, project_id)
    states = ", ".join(f"{row['id']} {row['state']}" for row in runs[:5])
    rows.append({"what": "runs", "count": len(runs), "details": states})
    columns = (Column("what", "What"), Column("count", "Count", "int"), Column("details", "Details"))
    notes = list(held_out_copies(db, project_id).sentences)
    if repeated := repeated_events(db, project_id):
        notes.append(
            f"{quantity(repeated, 'event')} imported more than once: judges and metrics count each only once"
        )
    return Table(f"Project {dict(project_names(db))[project_id]}", columns, tuple(rows), tuple(notes))


def imports_table(db: Database, project_id: int) -> Table:
    """One row per import, newest first."""
    columns = (
        Column("id", "Import"),
        Column("kind", "Kind"),
        Column("layout", "Layout", minor=True),
        Column("path", "File"),
        Column("rows_read", "Read", "int"),
        Column("rows_stored", "Stored", "int"),
        Column("rows_skipped", "Skipped", "int"),
        Column("warnings", "Warnings", "int", minor=True),
        Column("created_at", "When", "time"),
        Column("undone_at", "Undone", "time"),
    )
    imports = _rows(reversed(list_imports(db, project_id)), columns)
    rows = tuple(row | {"warnings": len(json.loads(str(row["warnings"])))} for row in imports)
    return Table("Imports", columns, rows)


def cases_table(db: Database, project_id: int, limit: int | None = None) -> Table:
    """One row per case with its number of verdicts; only the first `limit` cases."""
    columns = (
        Column("case_id", "Case"),
        Column("kind", "Kind"),
        Column("user_id", "User"),
        Column("context", "Context"),
        Column("served_at", "Served", "time"),
        Column("item_id", "Item"),
        Column("system_a", "System A"),
        Column("system_b", "System B"),
        Column("verdicts", "Verdicts", "int"),
    )
    rows = _rows(list_cases(db, project_id, limit), columns)
    total = case_count(db, project_id)
    notes = (f"{len(rows):,} of {total:,} cases",) if len(rows) < total else ()
    return Table("Cases", columns, rows, notes)


def raters_table(db: Database, project_id: int) -> Table:
    """One row per rater: its kind, its verdicts, and the raters it is derived from."""
    columns = (
        Column("name", "Rater"),
        Column("kind", "Kind"),
        Column("protocols", "Protocols"),
        Column("verdicts", "Verdicts", "int"),
        Column("failed", "Failed", "int", minor=True),
        Column("recipe", "Derived from"),
        Column("created_at", "Made", "time", minor=True),
    )
    raters = _rows(list_raters(db, project_id), columns)
    rows = tuple(
        row | {"recipe": _recipe(str(row["recipe"])), "protocols": str(row["protocols"]).replace(",", ", ")}
        for row in raters
    )
    return Table("Raters", columns, rows, tuple(rater_notes(project_raters(db, project_id).values())))


def _recipe(text: str) -> str:
    recipe = json.loads(text)
    if "rule" in recipe and "raters" in recipe:
        return f"{recipe['rule']} of {', '.join(recipe['raters'])}"
    return "; ".join(f"{key}: {value}" for key, value in recipe.items())


def prompts_table(db: Database) -> Table:
    """One row per version of a prompt."""
    columns = (
        Column("name", "Prompt"),
        Column("version", "Version", "int"),
        Column("protocol", "Protocol"),
        Column("domain", "Domain"),
        Column("origin", "Origin"),
        Column("runs", "Runs", "int"),
        Column("description", "Description"),
    )
    return Table("Prompts", columns, _rows(list_prompts(db), columns))


def runs_table(db: Database, project_id: int | None = None) -> Table:
    """One row per run, newest first; tokens and cost of new calls only, not of cached answers."""
    runs = list_runs(db, project_id)
    notes = tuple(note for run in runs for note in run_notes(run))
    if not runs:
        notes = ("no run yet: start one with “recjudge run”",)
    return Table("Runs", _RUN_COLUMNS, tuple(map(_run_cells, runs)), notes)


def _run_cells(run: StoredRow) -> Row:
    cells = {column.name: run[column.name] for column in _RUN_COLUMNS if column.name != "address"}
    return {**cells, "address": _address(run)}


def _address(run: StoredRow) -> str:
    """The servers and the names of the variables that the run's judge has, where they are not its provider's own."""
    try:
        return JudgeSpec.model_validate_json(run["stored_judge"]).where
    except ValueError:
        return "cannot be read"


def run_notes(run: StoredRow) -> tuple[str, ...]:
    """Sentences on what the figures of a row of v_runs do not include, and on a pause requested by its server."""
    notes = []
    if run["impossible"]:
        notes.append(
            f"run {run['id']}: {quantity(run['impossible'], 'call')} with an impossible stored cost or number of"
            " tokens (negative or beyond any bound), so there is no sum"
        )
    if run["unknown_usd"]:
        notes.append(
            f"run {run['id']}: up to {money(run['unknown_usd'])} more may have been billed, for answers without a count"
            " of tokens, lost answers and calls in flight; a budget counts it as spent"
        )
    if run["state"] == "running" and (run["waiting_until"] or "") > now():
        notes.append(
            f"run {run['id']}: waits until {run['waiting_until']}, because its server asked for a pause"
        )
    return tuple(notes)


def run_table(db: Database, run_id: int) -> Table:
    """One run, with its settings; notes have its error and why calls failed."""
    summary, stored = run_summary(db, run_id), run_row(db, run_id)
    row, stands = _run_cells(summary), stop_lines(db, run_id)
    # if a stopping rule ended the run, these lines give the reason
    named = ("error",) if not stands or summary["state"] != "done" else ()
    notes = [
        *stands,
        *(
            f"{key}: {summary[key]}"
            for key in (*named, "created_at", "started_at", "finished_at")
            if summary[key]
        ),
    ]
    notes += run_notes(summary)
    notes += failure_lines(db, run_id)
    progress = run_progress(db, run_id)
    notes += filter(None, [reused_words(progress)])
    settings = {
        key: value for key, value in json.loads(stored["settings"]).items() if value not in ("", [], None)
    }
    shown = ", ".join(f"{key} {_plain(value)}" for key, value in settings.items())
    reused = progress.tokens_reused if progress.tokens_counted else None
    return Table(
        f"Run {run_id}",
        (*_RUN_COLUMNS, Column("tokens_reused", "Reused", "int", minor=True)),
        ({**row, "tokens_reused": reused},),
        (*notes, f"settings: {shown}"),
        settings,
    )


def _plain(value: object) -> str:
    if isinstance(value, list):
        return "/".join(map(str, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _rows(stored: Iterable[StoredRow], columns: tuple[Column, ...]) -> tuple[Row, ...]:
    return tuple({column.name: row[column.name] for column in columns} for row in stored)
