"""`recjudge doctor`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import db_option, put_table, table_options
from recjudge_tui.cli.report_command import open_project

if TYPE_CHECKING:
    from recjudge_tui.errors import UsageError
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.schema import RunningRun


@click.command()
@click.option("-p", "--project", metavar="PROJECT", help="Check the texts of this project instead.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    metavar="N",
    help="With -p: print at most N findings.",
)
@db_option
@table_options
def doctor(project: str | None, limit: int, db: str | None, fmt: str, out: Path | None) -> None:
    """Check the installation, servers, keys and runs.

    Also the database, the terminal, extras and abandoned runs. Exit 1 on a problem.

    With -p, list the texts in a project's data that try to give a judge instructions, close a frame, look like template
    syntax, hide characters or are very long, and how many cases show each. Nothing is changed.

    \b
    Example:
      recjudge doctor
      recjudge doctor -p movies --format csv -o texts.csv
    """
    if project is not None:
        from recjudge_tui.reports.hostile_texts import hostile_texts_table

        with open_project(db, project) as (database, identity):
            put_table(hostile_texts_table(database, identity, project.strip(), limit), fmt, out)
        return
    table = _installation(db)
    put_table(table, fmt, out)
    if any(row["state"] == "problem" for row in table.rows):
        raise click.exceptions.Exit(1)


def _installation(db: str | None) -> Table:
    from recjudge_tui.reports import doctor as checks
    from recjudge_tui.settings import config_dir, database_path
    from recjudge_tui.system import read_mounts

    path = database_path(db)
    looked, screen = checks.inspected_file(path), shutil.get_terminal_size()
    around = checks.Surroundings(
        path=path,
        stale=_stale(getattr(looked, "running", ())),
        prices=config_dir() / "prices.toml",
        prices_fault=_prices_fault(),
        environment=os.environ,
        encoding=sys.stdout.encoding or "",
        size=(screen.columns, screen.lines) if sys.stdout.isatty() else None,
        mounts=read_mounts(),
    )
    return checks.doctor_table([*checks.local_checks(around, looked), *checks.server_checks()])


def _stale(running: tuple[RunningRun, ...]) -> tuple[RunningRun, ...]:
    from recjudge_tui.runs.control.lease import is_alive

    return tuple(run for run in running if run.owner is None or not is_alive(run.owner, run.heartbeat))


def _prices_fault() -> UsageError | None:
    from recjudge_tui.domain.judge import JudgeSpec
    from recjudge_tui.errors import UsageError
    from recjudge_tui.runs.prices import price_of

    try:
        price_of(JudgeSpec(spec="openai:any"))
    except UsageError as error:
        return error
    return None
