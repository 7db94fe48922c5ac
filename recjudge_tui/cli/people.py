"""Commands about people and raters made from others: `rater combine`, `rater metric`, `annotate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recjudge_tui.cli.app import has_terminal, open_annotation, refuse_dumb_terminal
from recjudge_tui.cli.output import narrate
from recjudge_tui.domain.text import quantity
from recjudge_tui.people import annotation, task_files
from recjudge_tui.people.raters import combine, make_metric_raters
from recjudge_tui.reports import listings
from recjudge_tui.store.people import chosen_assignment, rater_assignment
from recjudge_tui.store.raters import list_raters

if TYPE_CHECKING:
    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.stats.combining import Rule
    from recjudge_tui.stats.text import Tokens


def rater_combine(
    project: Project, name: str, raters: tuple[str, ...], rule: Rule, quorum: int | None
) -> None:
    people = [row["name"] for row in list_raters(project.db, project.id) if row["kind"] == "annotator"]
    for line in combine(project.db, project.id, name, rule, raters or people, quorum).lines():
        narrate(line)


def rater_metric(project: Project, names: tuple[str, ...], k: int, tokens: Tokens) -> None:
    for summary in make_metric_raters(project.db, project.id, names, k=k, tokens=tokens):
        for line in summary.lines():
            narrate(line)


def annotate_plan(project: Project, annotators: str, **chosen: Any) -> None:
    request = annotation.AssignmentRequest(annotators=tuple(annotators.split(",")), **chosen)
    planned = annotation.plan_annotation(project.db, project.id, request)
    for line in planned.lines():
        narrate(line)
    narrate(
        f"each annotator starts with: recjudge annotate open -p {project.name} --as {next(iter(planned.assigned))}"
    )


def annotate_status(project: Project) -> Table:
    return listings.annotation(project)


def annotate_open(project: Project, annotator: str, protocol: str | None) -> None:
    assignment = chosen_assignment(project.db, project.id, annotator, protocol)
    _need_terminal()
    open_annotation(project.db.path, project.id, assignment.rater_id, assignment.protocol)
    left = rater_assignment(project.db, assignment.rater_id, assignment.protocol).open
    narrate(f"{quantity(left, 'case')} left; your verdicts are stored")


_BESIDE = {"csv": "guidelines", "label-studio": "labelling interface", "argilla": "settings"}


def annotate_export(
    project: Project, annotator: str, protocol: str | None, fmt: task_files.TaskFormat, out: Path | None
) -> None:
    tasks = task_files.open_tasks(project.db, project.id, annotator, protocol)
    beside = task_files.write_tasks(tasks, fmt, out or sys.stdout)
    where = f" to {out}" if out else ""
    narrate(f"{len(tasks.tasks):,} tasks of {annotator} ({tasks.protocol}) written{where}")
    if beside is not None:
        narrate(f"{_BESIDE[fmt]} written to {beside}")


def annotate_adjudicate(project: Project, protocol: str, rule: Rule | None, name: str) -> None:
    if rule is not None:
        for line in annotation.adjudicate_by_rule(project.db, project.id, protocol, rule, name).lines():
            narrate(line)
        return
    _need_terminal()
    rater_id = annotation.start_adjudication(project.db, project.id, protocol, name)
    open_annotation(project.db.path, project.id, rater_id, protocol, adjudicate=True)


def _need_terminal() -> None:
    if not has_terminal():
        raise click.UsageError("annotating needs a terminal")
    refuse_dumb_terminal()
