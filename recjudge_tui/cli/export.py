"""`recjudge export`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import db_option, narrate, open_db, project_option

if TYPE_CHECKING:
    from recjudge_tui.reports.stream import ExportFormat


@click.command()
@project_option
@click.argument("what", type=click.Choice(("verdicts", "calls", "flags", "cases", "labels")))
@click.option(
    "--format",
    "fmt",
    type=click.Choice(("csv", "jsonl", "json")),
    help="Default: by the file's name, else csv.",
)
@click.option("-o", "out", metavar="FILE", type=click.Path(path_type=Path), help="Write to this file.")
@click.option(
    "--filter",
    "filter_text",
    default="",
    metavar="TEXT",
    help="Verdicts only, as on screen: “label:poor flag:any”.",
)
@db_option
def export(
    project: str, what: str, fmt: ExportFormat | None, out: Path | None, filter_text: str, db: str | None
) -> None:
    """Write what a project holds to a file, whole or not at all.

    Calls as jsonl are what the judge “replay:FILE” reads; labels are what “import --as labels” reads.

    \b
    Example:
      recjudge export -p movies verdicts -o verdicts.csv
    """
    from recjudge_tui.reports.data_export import export as write
    from recjudge_tui.reports.stream import format_of
    from recjudge_tui.store.projects import project_id

    if fmt is None:
        fmt = format_of(out) if out and out.suffix else "csv"
    with open_db(db) as database:
        written = write(database, project_id(database, project), what, fmt, out or sys.stdout, filter_text)
    narrate(f"{written.rows:,} rows written" + (f" to {out}" if out else ""))
    if written.says():
        narrate(written.says())
