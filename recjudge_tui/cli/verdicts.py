"""`recjudge verdicts`."""

from __future__ import annotations

from pathlib import Path

import click

from recjudge_tui.cli.options import db_option, open_db, project_option, put_table, table_options


@click.group()
def verdicts() -> None:
    """Verdicts, one row each, as the app lists them: list."""


@verdicts.command("list")
@project_option
@click.option(
    "--filter",
    "filter_text",
    default="",
    metavar="TEXT",
    help="As on the screen: 'flag:any judge:qwen why:swap conf<.6 \"free text\"'.",
)
@click.option(
    "--sort",
    type=click.Choice(("id", "label", "confidence", "case")),
    default="id",
    show_default=True,
    help="Lowest confidence first.",
)
@click.option(
    "--limit", type=click.IntRange(1), default=1000, show_default=True, metavar="N", help="The first N only."
)
@db_option
@table_options
def list_(
    project: str, filter_text: str, sort: str, limit: int, db: str | None, fmt: str | None, out: Path | None
) -> None:
    """The verdicts of a project with what makes each worth a look; “export verdicts” writes all of them whole.

    \b
    Example:
      recjudge verdicts list -p movies --filter 'why:swap conf<.6' --sort confidence
      recjudge verdicts list -p movies --filter 'flag:any "two sequels"' --plain
    """
    from recjudge_tui.reports.verdict_list import verdicts_table
    from recjudge_tui.store.projects import project_id

    with open_db(db) as database:
        found = verdicts_table(database, project_id(database, project), filter_text, sort, limit)
        put_table(found, fmt, out)
