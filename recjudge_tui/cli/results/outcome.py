"""`recjudge outcome`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import FiniteRange, db_option, names, narrate, project_option
from recjudge_tui.cli.report_command import open_project, project_report
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.stats.defaults import ALPHA

if TYPE_CHECKING:
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database
    from recjudge_tui.store.projects.experiments import Outcome

_MOST = 10**15


@click.group()
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
@click.option("--clicks", required=True, metavar="N,N", help="How many of those were clicked.")
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
    name: str | None,
) -> Table:
    """Record the result of a live experiment with two systems, and compare it with the judges' verdicts.

    Rates have the exact interval of Clopper and Pearson. The lift, rate A / rate B - 1, has the log interval of Katz
    et al. (1978). z and the two-sided p are those of two pooled proportions (Fleiss, Levin and Paik 2003). All assume
    independent impressions. A system that is not in the project yet is accepted with a warning.

    \b
    Example:
      recjudge outcome add -p shop --systems new,old --impressions 5000000,5000000 --clicks 30950,26150 --name june
    """
    from recjudge_tui.reports.projects.experiments import OutcomeOptions, outcomes_table
    from recjudge_tui.store.projects.experiments import add_outcome

    shown, clicked = _counts("--impressions", impressions), _counts("--clicks", clicks)
    experiment = _outcome(names(systems), shown, clicked, name)
    add_outcome(database, project_id, experiment)
    _warn_of_unknown(database, project_id, experiment)
    narrate(f"experiment “{experiment.name}” recorded")
    return outcomes_table(database, project_id, OutcomeOptions(experiment.name))


def _counts(option: str, text: str) -> list[int]:
    try:
        counts = [int(part) for part in names(text)]
    except ValueError as error:
        raise click.UsageError(f"{option} {text}: expected whole numbers, as in 5000000,5000000") from error
    if len(counts) != 2 or not all(0 <= count <= _MOST for count in counts):
        raise click.UsageError(
            f"{option} {text}: expected two numbers from 0 to {_MOST:,}, one for each system"
        )
    return counts


def _outcome(systems: tuple[str, ...], shown: list[int], clicked: list[int], name: str | None) -> Outcome:
    from recjudge_tui.store.projects.experiments import Outcome

    if len(systems) != 2 or systems[0] == systems[1]:
        raise click.UsageError("--systems: expected two different systems, as in new,old")
    for system, impressions, clicks in zip(systems, shown, clicked, strict=True):
        if impressions == 0:
            raise click.UsageError(f"{system} was never shown; a rate needs impressions")
        if clicks > impressions:
            raise click.UsageError(
                f"{system} cannot have more clicks ({clicks:,}) than impressions ({impressions:,})"
            )
    title = f"{systems[0]} vs {systems[1]}" if name is None else name.strip()
    if not title:
        raise click.UsageError("--name is empty")
    return Outcome(title, systems[0], systems[1], shown[0], shown[1], clicked[0], clicked[1])


def _warn_of_unknown(database: Database, project_id: int, experiment: Outcome) -> None:
    from recjudge_tui.store.data.catalogue import known_systems

    known = known_systems(database, project_id)
    for system in (experiment.system_a, experiment.system_b):
        if system not in known:
            narrate(f"system “{system}” is not in the project, so no rater has judged it")


@outcome.command()
@project_option
@click.option("--name", metavar="EXPERIMENT", help="Only this experiment.")
@click.option(
    "--judges",
    is_flag=True,
    help="Show the log: one row per experiment and rater, with the running hit rate.",
)
@click.option(
    "--aspect",
    default=OVERALL,
    show_default=True,
    metavar="A",
    help="Use the raters' verdicts on this aspect.",
)
@click.option(
    "--alpha", type=FiniteRange(0, 1, min_open=True, max_open=True), default=ALPHA, show_default=True,
    help="An experiment with p below this counts as decided.",
)  # fmt: skip
@project_report
def show(
    database: Database,
    project_id: int,
    name: str | None,
    judges: bool,
    aspect: str,
    alpha: float,
) -> Table:
    """Show the experiments with lift and p, and how often each rater predicted the winner.

    A rater of pairs predicts the winner by its win rate (ties count half), a rater of lists or texts by the
    difference of mean values. Only decided experiments count (p below --alpha). The hit rate has Clopper and
    Pearson's interval.

    \b
    Example:
      recjudge outcome show -p shop
      recjudge outcome show -p shop --judges --format csv -o log.csv
    """
    from recjudge_tui.reports.projects.experiments import OutcomeOptions, outcomes_table, prediction_log_table

    options = OutcomeOptions(name, aspect=aspect, alpha=alpha)
    report = prediction_log_table if judges else outcomes_table
    return report(database, project_id, options)


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
    from recjudge_tui.store.projects.experiments import delete_outcome

    with open_project(db, project) as (database, identity):
        delete_outcome(database, identity, name)
    narrate(f"experiment “{name}” deleted")
