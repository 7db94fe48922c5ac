"""Commands that list, show, rename, decide or delete what is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import default_project
from recjudge_tui.cli.output import how_to_resume, narrate
from recjudge_tui.config_file import reader_name
from recjudge_tui.domain.text import quantity
from recjudge_tui.project import Project
from recjudge_tui.runs import lease
from recjudge_tui.store import projects, raters, runs, triage
from recjudge_tui.store.cases import case_row
from recjudge_tui.store.imports import undo_import

if TYPE_CHECKING:
    from recjudge_tui.domain.roles import RaterKind
    from recjudge_tui.reports.common.table import Page, Table
    from recjudge_tui.store.database import Database


def project_new(database: Database, name: str) -> None:
    projects.create_project(database, name)
    narrate(f"project “{name}” created; next, import data: recjudge import FILE -p {name} --as items")


def project_show(database: Database, name: str | None, project: str | None) -> Table:
    from recjudge_tui.reports.listings import project as contents

    return contents(Project.named(database, _one_name(name, project)))


def project_delete(database: Database, name: str | None, project: str | None, yes: bool) -> None:
    if not (name or project):
        raise click.UsageError("name the project")
    name = _one_name(name, project)
    projects.project_id(database, name)
    _confirm(yes, f"Delete “{name}” with all its data, runs and verdicts?")
    projects.delete_project(database, name)
    narrate(f"project “{name}” deleted")


def _one_name(name: str | None, project: str | None) -> str:
    """The one that is given, else the default project."""
    if name and project and name != project:
        raise click.UsageError(f"“{name}” and “{project}” are two projects; name one")
    return name or project or default_project() or ""


def _confirm(yes: bool, question: str) -> None:
    if not yes:
        click.confirm(question, abort=True, err=True)


def imports_undo(database: Database, import_id: int) -> None:
    undone = undo_import(database, import_id)
    both = (undone.removed, undone.kept)
    removed, kept = (", ".join(f"{n:,} {what}" for what, n in counts.items()) for counts in both)
    of = f"({undone.kind}, {undone.path})"
    narrate(f"import {undone.import_id} {of} undone; removed: {removed or 'nothing'}")
    if kept:
        narrate(f"kept, because calls or labels refer to it: {kept}")


def cases_show(database: Database, case_id: int, project: str | None) -> Page:
    from recjudge_tui.reports.cases import case_page

    if project and case_row(database, case_id)["project_id"] != projects.project_id(database, project):
        raise click.UsageError(f"case {case_id} is not of project “{project}”")
    return case_page(database, case_id)


def outcome_delete(project: Project, name: str) -> None:
    projects.delete_outcome(project.db, project.id, name)
    narrate(f"experiment “{name}” deleted")


def verdicts_decide(
    database: Database, verdict_id: int, action: triage.Action, label: str | None, text: str
) -> None:
    if (action == "override") != (label is not None):
        raise click.UsageError("override needs --to LABEL, and no other action takes it")
    chosen, value = ("", None) if label is None else triage.parse_choice(database, verdict_id, label)
    triage.record(database, verdict_id, reader_name(), action, text=text, label=chosen, value=value)
    narrate(f"done: {action} verdict {verdict_id}; to undo: recjudge verdicts undo -p PROJECT")


def verdicts_undo(project: Project) -> None:
    entry = triage.undo_last(project.db, project.id, reader_name())
    if entry is None:
        narrate(f"“{reader_name()}” has nothing to undo")
    else:
        narrate(f"undone: {entry.action}, case {entry.case_id}, rater {entry.rater}")


def rater_delete(project: Project, name: str, yes: bool) -> None:
    _refuse_active_rater(project, name)
    _confirm(yes, f"Delete rater “{name}” with its runs and verdicts?")
    deleted = raters.delete_rater(project.db, project.id, name)
    narrate(f"rater “{name}” deleted with {quantity(deleted, 'verdict')}")


def rater_rename(project: Project, name: str, new_name: str) -> None:
    _refuse_active_rater(project, name)
    raters.rename_rater(project.db, project.id, name, new_name)
    narrate(f"rater “{name}” is now called “{new_name.strip()}”")


def _refuse_active_rater(project: Project, name: str) -> None:
    for run in runs.stored_runs(project.db, rater_id=raters.rater_row(project.db, project.id, name)["id"]):
        lease.refuse_when_active(project.db, run["id"])


def rater_kind(project: Project, name: str, kind: RaterKind) -> None:
    raters.change_kind(project.db, project.id, name, kind)
    narrate(f"rater “{name}” is of kind {kind}")


def runs_list(database: Database, project: str | None) -> Table:
    from recjudge_tui.reports.common.table import Note
    from recjudge_tui.reports.listings import runs as listed

    table = listed(database, Project.named(database, project) if project else None)
    running = [int(str(row["id"])) for row in table.rows if row["state"] == "running"]
    alone = [run for run in running if not lease.is_active(database, run)]
    notes = [Note(f"run {run}: no process works on it; {how_to_resume(run)}", "warning") for run in alone]
    return replace(table, notes=(*table.notes, *notes))


def runs_show(database: Database, run_id: int, project: str | None) -> Table:
    from recjudge_tui.reports.listings import run

    if project and runs.run_row(database, run_id)["project"] != project:
        raise click.UsageError(f"run {run_id} is not of project “{project}”")
    return run(database, run_id)


def runs_stop(database: Database, run_id: int, pause: bool) -> None:
    narrate(lease.stop_and_wait(database, run_id, "pause" if pause else "stop"))


def runs_take_over(database: Database, run_id: int) -> None:
    owner = lease.take_over(database, run_id)
    narrate(f"run {run_id} is released; it was held by: {owner}" if owner else f"nobody held run {run_id}")
    narrate(how_to_resume(run_id))


def runs_concurrency(database: Database, run_id: int, calls: int) -> None:
    from recjudge_tui.runs.start import change_concurrency

    change_concurrency(database, run_id, calls)
    when = "from now on" if lease.is_active(database, run_id) else "when it is resumed"
    click.echo(f"run {run_id}: {calls} call{'s' if calls > 1 else ''} at once, {when}")


def runs_rename(database: Database, run_id: int, name: str) -> None:
    runs.rename_run(database, run_id, name)
    narrate(f"run {run_id} is called “{name.strip()}”" if name.strip() else f"run {run_id} has no name")


def runs_delete(database: Database, run_id: int, yes: bool) -> None:
    row = runs.run_summary(database, run_id)
    lease.refuse_when_active(database, run_id)
    _confirm(yes, f"Delete run {run_id} with {row['done']} answers?")
    runs.delete_run(database, run_id)
    narrate(f"run {run_id} deleted")
