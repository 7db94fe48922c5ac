"""`recjudge annotate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.app import open_adjudication, open_annotation, refuse_dumb_terminal
from recjudge_tui.cli.options import (
    FiniteRange,
    ProtocolChoice,
    db_option,
    names,
    narrate,
    open_db,
    output_option,
    project_option,
)
from recjudge_tui.cli.report_command import open_project, project_report
from recjudge_tui.domain.run_options import SEED

if TYPE_CHECKING:
    from recjudge_tui.annotation.task_files import TaskFormat
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.stats.combining import Rule
    from recjudge_tui.store.database import Database

_BESIDE = {"csv": "guidelines", "label-studio": "labelling interface", "argilla": "settings"}
_protocol = click.option(
    "--protocol", type=ProtocolChoice(), required=True, help="What the annotators judge."
)


@click.group()
def annotate() -> None:
    """Let people judge cases blind, and settle disagreements."""


@annotate.command()
@project_option
@_protocol
@click.option("--annotators", required=True, metavar="ANA,BEN,...", help="Annotator names.")
@click.option(
    "--prompt",
    metavar="NAME[@VERSION]",
    help="The prompt with the guidelines. Default: the prompt of the protocol's newest run.",
)
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Only N cases, of users drawn with --seed as in a run.",
)
@click.option("--per-case", type=click.IntRange(min=1), metavar="K", help="Annotators per case. Default: 2.")
@click.option(
    "--overlap",
    type=FiniteRange(0, 1),
    metavar="SHARE",
    help="All annotators judge this share of the cases. Each of the other cases goes to one annotator.",
)
@click.option(
    "--seed", type=int, default=SEED, show_default=True, help="Seed for drawing cases, annotators and orders."
)
@click.option("--systems", metavar="A,B,...", help="Only lists or texts of these systems.")
@db_option
def plan(
    project: str,
    protocol: str,
    annotators: str,
    prompt: str | None,
    sample: int | None,
    per_case: int | None,
    overlap: float | None,
    seed: int,
    systems: str | None,
    db: str | None,
) -> None:
    """Assign cases to annotators evenly. Earlier assignments stay.

    The same seed gives the same plan. Which list comes first is drawn once for each person and case. A person
    judges a case under one protocol only.

    \b
    Example:
      recjudge annotate plan -p movies --protocol pairwise --annotators ana,ben --sample 80
      recjudge annotate plan -p movies --protocol explanation --annotators ana,ben,cy --overlap 0.3
    """
    from recjudge_tui.annotation.assignment import AssignmentRequest, plan_annotation

    request = AssignmentRequest(
        protocol=protocol,
        annotators=tuple(annotators.split(",")),
        prompt=prompt or "",
        sample=sample,
        overlap=overlap,
        per_case=per_case,
        seed=seed,
        systems=names(systems),
    )
    with open_project(db, project) as (database, identity):
        planned = plan_annotation(database, identity, request)
    for line in planned.lines():
        narrate(line)
    narrate(
        f"each annotator starts with: recjudge annotate open -p {project} --as {next(iter(planned.assigned))}"
    )


@annotate.command()
@project_option
@project_report
def status(database: Database, project_id: int) -> Table:
    """Show each annotator's progress, the time per case, and the agreement on shared cases.

    The time runs from when the case is shown until the verdict, without pauses of more than two minutes.

    \b
    Example:
      recjudge annotate status -p movies
    """
    from recjudge_tui.reports.annotation import annotation_table

    return annotation_table(database, project_id)


@annotate.command("open")
@project_option
@click.option("--as", "annotator", required=True, metavar="NAME", help="Who judges.")
@click.option(
    "--protocol", type=ProtocolChoice(), help="Required if the person has tasks of several protocols."
)
@db_option
def open_(project: str, annotator: str, protocol: str | None, db: str | None) -> None:
    """Judge your cases in the app, which shows nothing else.

    \b
    Example:
      recjudge annotate open -p movies --as ana
    """
    from recjudge_tui.domain.text import quantity
    from recjudge_tui.settings import database_path
    from recjudge_tui.store.people import chosen_assignment, rater_assignment
    from recjudge_tui.store.projects import project_id

    with open_db(db) as database:
        identity = project_id(database, project)
        assignment = chosen_assignment(database, identity, annotator, protocol)
    _need_terminal()
    open_annotation(database_path(db), identity, assignment.rater_id, assignment.protocol)
    with open_db(db) as database:
        left = rater_assignment(database, assignment.rater_id, assignment.protocol).open
    narrate(f"{quantity(left, 'case')} left; your verdicts are stored")


@annotate.command("export")
@project_option
@click.option("--as", "annotator", required=True, metavar="NAME", help="Whose open tasks to export.")
@click.option("--protocol", type=ProtocolChoice(), help="Required if the person has tasks of several.")
@click.option(
    "--format",
    "fmt",
    type=click.Choice(tuple(_BESIDE)),
    default="csv",
    show_default=True,
    help="csv: a sheet with a row for each question. The others: tasks in the tool's own format.",
)
@output_option()
@db_option
def export_(
    project: str, annotator: str, protocol: str | None, fmt: TaskFormat, out: Path | None, db: str | None
) -> None:
    """Export an annotator's open tasks, to be judged in a spreadsheet or a labelling tool.

    As in the app, the names of systems are hidden, and lists come in the order of the assignment. A second file next
    to FILE has the guidelines (csv), the labelling interface (label-studio) or the settings (argilla). “recjudge
    import --as labels” reads the answers (docs/annotating.md).

    \b
    Example:
      recjudge annotate export -p movies --as ana -o ana.csv
      recjudge annotate export -p movies --as ana --format label-studio -o ana.json
    """
    from recjudge_tui.annotation.task_export import open_tasks
    from recjudge_tui.annotation.task_files import write_tasks

    with open_project(db, project) as (database, identity):
        tasks = open_tasks(database, identity, annotator, protocol)
    written = write_tasks(tasks, fmt, out or sys.stdout)
    narrate(
        f"{written.tasks:,} tasks of {annotator} ({tasks.protocol}) written" + (f" to {out}" if out else "")
    )
    if written.beside is not None:
        narrate(f"{_BESIDE[fmt]} written to {written.beside}")


@annotate.command()
@project_option
@_protocol
@click.option(
    "--rule",
    type=click.Choice(["strict", "conservative"]),
    help="strict: the harsher label (lists, texts); conservative: any disagreement is a tie (pairs). Without a rule,"
    " a third person decides in the app.",
)
@click.option("--name", default="adjudicated", show_default=True, metavar="NAME", help="The consensus rater.")
@db_option
def adjudicate(project: str, protocol: str, rule: Rule | None, name: str, db: str | None) -> None:
    """Settle disagreements between annotators: all at once by a rule, or one by one by a third person.

    The consensus also contains the verdicts on which two or more annotators agree. The third person does not see
    who gave which answer, and can stop and continue later.

    \b
    Example:
      recjudge annotate adjudicate -p movies --protocol pairwise --rule conservative --name people
      recjudge annotate adjudicate -p movies --protocol pairwise --name cy
    """
    from recjudge_tui.annotation.adjudication import adjudicate_by_rule, start_adjudication
    from recjudge_tui.settings import database_path

    if rule is not None:
        with open_project(db, project) as (database, identity):
            summary = adjudicate_by_rule(database, identity, protocol, rule, name)
        for line in summary.lines():
            narrate(line)
        return
    _need_terminal()
    with open_project(db, project) as (database, identity):
        rater_id = start_adjudication(database, identity, protocol, name)
    open_adjudication(database_path(db), identity, rater_id, protocol)


def _need_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        raise click.UsageError("annotating needs a terminal")
    refuse_dumb_terminal()
