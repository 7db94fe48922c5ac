"""`recjudge outcome`."""

from __future__ import annotations

from datetime import time
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.declared import report_commands
from recjudge_tui.cli.options import db_option, names, narrate, project_option
from recjudge_tui.cli.report_command import open_project, project_report

if TYPE_CHECKING:
    from recjudge_tui.cli.report_command import Report
    from recjudge_tui.store.database import Database

_USERS = click.IntRange(1)


@click.group(commands=report_commands("outcome"))
def outcome() -> None:
    """Record live experiments, and compare judges with them. Shows whether the judges predicted their results."""


@outcome.command()
@project_option
@click.option(
    "--systems", required=True, metavar="A,B", help="The two systems; the lift is that of A over B."
)
@click.option(
    "--impressions", required=True, metavar="N,N", help="How often each was shown, in the same order."
)
@click.option(
    "--clicks",
    required=True,
    metavar="N,N",
    help="How many of those were clicked, or the rates: 0.619%,0.523%.",
)
@click.option("--from", "began", default="", metavar="T", help="The day (UTC) or time when it began.")
@click.option("--to", "ended", default="", metavar="T", help="The day (UTC) or time when it ended.")
@click.option("--users-a", type=_USERS, metavar="N", help="How many customers were shown A.")
@click.option("--users-b", type=_USERS, metavar="N", help="How many customers were shown B.")
@click.option(
    "--name", metavar="EXPERIMENT", help="A name not used before in the project. Default: “A vs B”."
)
@project_report
def add(
    database: Database,
    project_id: int,
    systems: str,
    impressions: str,
    clicks: str,
    began: str,
    ended: str,
    users_a: int | None,
    users_b: int | None,
    name: str | None,
) -> Report:
    """Record the result of a live experiment with two systems, and compare it with the judges' verdicts.

    Rates have the exact interval of Clopper and Pearson. The lift, rate A / rate B - 1, has the log interval of Katz
    et al. (1978). z and the two-sided p are those of two pooled proportions (Fleiss, Levin and Paik 2003). All assume
    independent impressions. A system that is not in the project yet is accepted with a warning.

    \b
    Example:
      recjudge outcome add -p shop --systems new,old --impressions 5000000,5000000 --clicks 30950,26150 --name june
      recjudge outcome add -p shop --systems new,old --impressions 5e6,5e6 --clicks 0.619%,0.523% --from 2025-06-01
        --to 2025-06-28 --users-a 410000 --users-b 408000
    """
    from recjudge_tui.domain.occasions import parse_time
    from recjudge_tui.project import Project
    from recjudge_tui.reports.declare import make
    from recjudge_tui.reports.outcomes import outcome_of
    from recjudge_tui.store.data import known_systems
    from recjudge_tui.store.projects import add_outcome

    start = parse_time(began, of_day=time.min) if began else ""
    end = parse_time(ended) if ended else ""
    if start and end and start > end:
        raise click.UsageError(f"--from {began} is after --to {ended}")
    experiment = outcome_of(names(systems), impressions, clicks, name, start, end, (users_a, users_b))
    add_outcome(database, project_id, experiment)
    known = known_systems(database, project_id)
    for system in (experiment.system_a, experiment.system_b):
        if system not in known:
            narrate(f"system “{system}” is not in the project, so no rater has judged it")
    narrate(f"experiment “{experiment.name}” recorded")
    return make(Project.numbered(database, project_id), "outcome show", name=experiment.name)


@outcome.command()
@click.argument("name")
@project_option
@db_option
def delete(name: str, project: str, db: str | None) -> None:
    """Delete an experiment that was recorded by mistake.

    \b
    Example:
      recjudge outcome delete june -p shop
    """
    from recjudge_tui.store.projects import delete_outcome

    with open_project(db, project) as (database, identity):
        delete_outcome(database, identity, name)
    narrate(f"experiment “{name}” deleted")
