"""`recjudge runs`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.declared import report_commands
from recjudge_tui.cli.judging.start import work_and_print
from recjudge_tui.cli.names import PROJECT_VARIABLE
from recjudge_tui.cli.options import FiniteRange, db_option, narrate, open_db, table_options, trust_option
from recjudge_tui.cli.report_command import report_command

if TYPE_CHECKING:
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database

budget_option = click.option(
    "--budget",
    type=FiniteRange(min=0, min_open=True),
    metavar="USD",
    help="A new budget for the whole run, including what it has spent.",
)


@click.group(commands=report_commands("runs"))
def runs() -> None:
    """List, resume, retry, rename, stop or delete runs."""


@runs.command("list")
@click.option("-p", "--project", metavar="PROJECT", envvar=PROJECT_VARIABLE, help="Only this project's runs.")
@report_command
def list_(database: Database, project: str | None) -> Table:
    """List all runs with their cost, newest first.

    \b
    Example:
      recjudge runs list -p movies
    """
    from recjudge_tui.project import Project
    from recjudge_tui.reports.listings import runs as listed

    return listed(database, Project.named(database, project) if project else None)


@runs.command()
@click.argument("run_id", metavar="ID", type=int)
@click.option("-p", "--project", metavar="PROJECT", help="The project of the run, whose id is enough.")
@report_command
def show(database: Database, run_id: int, project: str | None) -> Table:
    """Show one run: its settings, counts and latest errors.

    \b
    Example:
      recjudge runs show 3
    """
    from recjudge_tui.reports.listings import run
    from recjudge_tui.store.runs import run_row

    if project and run_row(database, run_id)["project"] != project:
        raise click.UsageError(f"run {run_id} is not of project “{project}”")
    return run(database, run_id)


@runs.command()
@click.argument("run_id", metavar="ID", type=int)
@budget_option
@click.option("--detach", is_flag=True, help="Run in the background.")
@trust_option
@db_option
def resume(run_id: int, budget: float | None, detach: bool, db: str | None) -> None:
    """Resume a run that was stopped, paused, interrupted or killed. Answered calls are not repeated.

    \b
    Example:
      recjudge runs resume 3
      recjudge runs resume 3 --budget 20
    """
    from recjudge_tui.runs.start import prepare_resume

    with open_db(db) as database:
        prepare_resume(database, run_id, budget)
        _work(database, run_id, detach=detach)


@runs.command()
@click.argument("run_id", metavar="ID", type=int)
@budget_option
@click.option("--detach", is_flag=True, help="Run in the background.")
@trust_option
@db_option
def retry(run_id: int, budget: float | None, detach: bool, db: str | None) -> None:
    """Ask the failed calls of a run again.

    \b
    Example:
      recjudge runs retry 3
    """
    from recjudge_tui.runs.start import prepare_retry

    with open_db(db) as database:
        failed = prepare_retry(database, run_id, budget)
        if not failed:
            narrate(f"run {run_id} has no failed calls")
        else:
            narrate(f"asking {failed:,} failed {'call' if failed == 1 else 'calls'} again")
        _work(database, run_id, detach=detach)


def _work(database: Database, run_id: int, *, detach: bool) -> None:
    from recjudge_tui.runs import start

    if detach:
        start.detach(database, run_id)
        click.echo(f"run {run_id} started in the background")
    else:
        work_and_print(database, run_id)


@runs.command("work-group", hidden=True)
@click.argument("group_id", metavar="GROUP", type=int)
@trust_option
@db_option
@table_options
def work_group(group_id: int, db: str | None, fmt: str | None, out: Path | None) -> None:
    """Work through the stages of a SAER run and print its page. “recjudge run saer --detach” starts this command.

    \b
    Example:
      recjudge runs work-group 1
    """
    from recjudge_tui.cli.judging.saer import work_on_group

    with open_db(db) as database:
        work_on_group(database, group_id, fmt, out)


@runs.command()
@click.argument("run_id", metavar="ID", type=int)
@click.option("--pause", is_flag=True, help="Mark it as paused instead of stopped.")
@db_option
def stop(run_id: int, pause: bool, db: str | None) -> None:
    """Stop a run: let the calls in flight finish, and wait for them.

    \b
    Example:
      recjudge runs stop 3
    """
    from recjudge_tui.runs.control.lease import stop_and_wait

    with open_db(db) as database:
        narrate(stop_and_wait(database, run_id, "pause" if pause else "stop"))


@runs.command()
@click.argument("run_id", metavar="ID", type=int)
@click.argument("calls", metavar="N", type=click.IntRange(1, 1024))
@db_option
def concurrency(run_id: int, calls: int, db: str | None) -> None:
    """Set how many calls a run makes at once. An active run follows within a second.

    No call is dropped or repeated. The new number also applies when the run is resumed.

    \b
    Example:
      recjudge runs concurrency 3 16
    """
    from recjudge_tui.runs.control.concurrency import change_concurrency
    from recjudge_tui.runs.control.lease import is_active

    with open_db(db) as database:
        change_concurrency(database, run_id, calls)
        when = "from now on" if is_active(database, run_id) else "when it is resumed"
    click.echo(f"run {run_id}: {calls} call{'s' if calls > 1 else ''} at once, {when}")


@runs.command()
@click.argument("run_id", metavar="ID", type=int)
@click.argument("name", metavar="NAME")
@db_option
def rename(run_id: int, name: str, db: str | None) -> None:
    """Give a run a name of your own, shown beside its number. An empty NAME removes it.

    \b
    Example:
      recjudge runs rename 3 "before the new prompt"
    """
    from recjudge_tui.store.runs import rename_run

    with open_db(db) as database:
        rename_run(database, run_id, name)
    narrate(f"run {run_id} is called “{name.strip()}”" if name.strip() else f"run {run_id} has no name")


@runs.command()
@click.argument("run_id", metavar="ID", type=int)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@db_option
def delete(run_id: int, yes: bool, db: str | None) -> None:
    """Delete a run with its calls, answers and verdicts.

    \b
    Example:
      recjudge runs delete 3 --yes
    """
    from recjudge_tui.runs.control.lease import refuse_when_active
    from recjudge_tui.store.runs import delete_run, run_summary

    with open_db(db) as database:
        row = run_summary(database, run_id)
        refuse_when_active(database, run_id)
        if not yes:
            click.confirm(f"Delete run {run_id} with {row['done']} answers?", abort=True, err=True)
        delete_run(database, run_id)
    narrate(f"run {run_id} deleted")
