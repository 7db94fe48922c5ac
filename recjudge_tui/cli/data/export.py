"""`recjudge export`."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.data.figure import figure_options, put_figure, refuse_figure_options
from recjudge_tui.cli.declared import occasion_options
from recjudge_tui.cli.options import db_option, names, narrate, open_db, output_option, project_option

if TYPE_CHECKING:
    from recjudge_tui.domain.occasions import OccasionFilter
    from recjudge_tui.reports.common.stream import ExportFormat
    from recjudge_tui.reports.exports import RankingFormat

EXPORTS = ("verdicts", "calls", "flags", "cases", "labels", "images", "lists", "qrels")
_FORMATS = ("csv", "jsonl", "json", "parquet", "trec", "ranx")


@click.command()
@project_option
@click.argument("what", type=click.Choice(EXPORTS), required=False)
@click.option(
    "--format",
    "fmt",
    type=click.Choice(_FORMATS),
    help="Default: from the file name, else csv. parquet needs the extra “parquet”; trec and ranx are for lists and"
    " qrels.",
)
@output_option()
@click.option(
    "--systems",
    metavar="A,B,...",
    help="Lists and figures: only these systems; for pairs, both must be among them. trec and ranx: lists of one system.",
)
@click.option(
    "--raters",
    metavar="A,B,...",
    help="Figures: only these raters. Default: all.",
)
@click.option(
    "--filter",
    "filter_text",
    default="",
    metavar="TEXT",
    help="Only these verdicts, with a filter as in the app: “label:poor flag:any”.",
)
@occasion_options
@figure_options
@db_option
def export(
    project: str,
    what: str | None,
    fmt: ExportFormat | RankingFormat | None,
    out: Path | None,
    systems: str | None,
    raters: str | None,
    filter_text: str,
    occasions: OccasionFilter,
    figure: str | None,
    columns: int,
    caption: bool,
    db: str | None,
    **values: str | None,
) -> None:
    """Export rows, or a figure for a paper.

    The judge “replay:FILE” reads calls exported as jsonl; “import” reads exported labels, lists, qrels (the held-out
    events) and images (as items). Cases come with the contents and titles of their lists. As trec or ranx, lists are a run.
    --figure draws confusion, q-matrix, q-metric, ensembles, runs, calibration, label-shares or
    leaderboard; “--figure list” describes them. It needs the extra “figures” (pip install 'recjudge[figures]').

    \b
    Example:
      recjudge export -p movies verdicts -o verdicts.csv
      recjudge export -p movies verdicts --context home --from 2024-05-01 --to 2024-05-31 -o may.csv
      recjudge export -p movies lists --systems als --format trec -o als.run
      recjudge export -p movies --figure leaderboard --systems als,bpr -o leaderboard.pdf
      recjudge export -p movies --figure confusion --rater qwen --truth anna -o confusion.svg
    """
    if figure is not None:
        if what or fmt or filter_text:
            raise click.UsageError(
                "--figure draws a picture and exports no rows: leave out WHAT, --format and --filter"
            )
        put_figure(
            project, figure, out, db, values, columns, caption, occasions, names(systems), names(raters)
        )
        return
    refuse_figure_options({**values, "raters": raters})
    if what is None:
        raise click.UsageError(f"say what to export: {', '.join(EXPORTS)}, or --figure NAME")
    _put_rows(project, what, fmt, out, filter_text, names(systems), occasions, db)


def _put_rows(
    project: str,
    what: str,
    fmt: ExportFormat | RankingFormat | None,
    out: Path | None,
    filter_text: str,
    systems: tuple[str, ...],
    occasions: OccasionFilter,
    db: str | None,
) -> None:
    from recjudge_tui.cli.progress import working
    from recjudge_tui.domain.text import quantity
    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.stream import format_of
    from recjudge_tui.reports.exports import export as write
    from recjudge_tui.reports.exports import left_out

    if fmt is None:
        fmt = format_of(out) if out and out.suffix else "csv"
    if fmt == "parquet" and out is None and sys.stdout.isatty():
        raise click.UsageError("Parquet is not text for a terminal: add -o FILE.parquet")
    with open_db(db) as database:
        chosen = Project.named(database, project)
        # rows on a terminal are progress themselves, and a line among them would spoil them
        with nullcontext() if out is None and sys.stdout.isatty() else working(f"export {what}"):
            written = write(chosen, what, fmt, out or sys.stdout, filter_text, systems, occasions)
        untimed = left_out(chosen, what, fmt, occasions)
    narrate(f"{quantity(written.rows, 'row')} written" + (f" to {out}" if out else ""))
    for note in filter(None, (untimed, written.message())):
        narrate(note)
