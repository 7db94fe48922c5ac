"""`recjudge judge`."""

from __future__ import annotations

from pathlib import Path

import click

from recjudge_tui.cli.options import db_option, open_db, put_table, table_options


@click.group()
def judge() -> None:
    """Judges: list."""


@judge.command("list")
@click.option("--base-url", metavar="URL", default="", help="The Ollama server to look at.")
@db_option
@table_options
def list_(base_url: str, db: str | None, fmt: str, out: Path | None) -> None:
    """What can judge here: built-in judges, the models of the Ollama server, judges used before.

    \b
    Example:
      recjudge judge list
    """
    from recjudge_tui.reports.overview import judges_table

    with open_db(db) as database:
        put_table(judges_table(database, base_url), fmt, out)
