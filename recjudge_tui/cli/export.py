"""`recjudge export`: rows to a file, or a figure."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.command import in_project
from recjudge_tui.cli.options import occasion_options, output_option, with_options
from recjudge_tui.cli.output import narrate, stdout_asked, working
from recjudge_tui.domain.occasions import OccasionFilter
from recjudge_tui.domain.options import RATERS, SYSTEMS, Option
from recjudge_tui.reports.figures import OPTIONS as FIGURE_OPTIONS

if TYPE_CHECKING:
    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.stream import ExportFormat
    from recjudge_tui.reports.exports import RankingFormat


EXPORTS = ("verdicts", "calls", "flags", "cases", "labels", "images", "lists", "qrels")
_FORMATS = ("csv", "jsonl", "json", "parquet", "trec", "ranx")


def _list_figures(ctx: click.Context, _: click.Parameter, value: str | None) -> str | None:
    """Answer `--figure list`, which needs no project."""
    if value == "list":
        from recjudge_tui.reports.figures.declared import FIGURES, options_of

        for name, kind in FIGURES.items():
            options = " ".join(option.flag for option in options_of(name))
            click.echo(f"{name:<13} {kind.about}\n{'':<13} {options}")
        ctx.exit()
    return value


_CHOSEN = (
    SYSTEMS.but(
        help="Lists and figures: only these systems; for pairs, both must be among them. trec and ranx: lists of one system."
    ),
    RATERS.but(help="Figures: only these raters. Default: all."),
    Option(
        "filter_text", str, "Only these verdicts, with a filter as in the app: “label:poor flag:any”.", "", flag="--filter",
        metavar="TEXT",
    ),
)  # fmt: skip
_DRAWN = (
    Option("columns", int, "Figures: the width, in columns of a page.", 1, {"ge": 1, "le": 2}, flag="--columns"),
    Option(
        "caption", bool, "Figures: write n and the kind of interval below the figure (default), or only to stderr.", True,
        flag="--caption/--no-caption",
    ),
)  # fmt: skip


@click.command()
@in_project
@click.argument("what", type=click.Choice(EXPORTS), required=False)
@click.option(
    "--format",
    "fmt",
    type=click.Choice(_FORMATS),
    help="Default: from the file name, else csv. parquet needs the extra “parquet”; trec and ranx are for lists and"
    " qrels.",
)
@output_option()
@with_options(_CHOSEN)
@occasion_options
@click.option(
    "--figure",
    metavar="NAME",
    is_eager=True,
    callback=_list_figures,
    help="Draw this figure to the FILE (.svg, .png or .pdf). “list” lists the figures.",
)
@with_options((*FIGURE_OPTIONS, *_DRAWN))
def export(
    project: Project,
    what: str | None,
    fmt: ExportFormat | RankingFormat | None,
    out: Path | None,
    systems: tuple[str, ...],
    raters: tuple[str, ...],
    filter_text: str,
    occasions: OccasionFilter,
    figure: str | None,
    columns: int,
    caption: bool,
    **values: str | None,
) -> None:
    """Export rows, or a figure for a paper.

    The judge “replay:FILE” reads calls exported as jsonl; “import” reads exported labels, lists, qrels (the held-out
    events) and images (as items). Cases come with the contents and titles of their lists. As trec or ranx, lists are a run.
    --figure draws confusion, q-matrix, q-metric, ensembles, runs, calibration, label-shares or
    leaderboard; “--figure list” describes them. It needs the extra “figures” (pip install 'recjudge[figures]').

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
        put_figure(project, figure, out, values, columns, caption, occasions, systems, raters)
        return
    for option, value in {**values, "raters": raters}.items():
        if value:
            raise click.UsageError(f"--{option} needs --figure NAME")
    if what is None:
        raise click.UsageError(f"say what to export: {', '.join(EXPORTS)}, or --figure NAME")
    from recjudge_tui.domain.text import quantity
    from recjudge_tui.reports.common.stream import format_of
    from recjudge_tui.reports.exports import export as write
    from recjudge_tui.reports.exports import left_out

    if fmt is None:
        fmt = format_of(out) if out and out.suffix else "csv"
    if fmt == "parquet" and out is None and sys.stdout.isatty():
        raise click.UsageError("Parquet is not text for a terminal: add -o FILE.parquet")
    # rows on a terminal are progress themselves, and a line among them would spoil them
    with nullcontext() if out is None and sys.stdout.isatty() else working(f"export {what}"):
        written = write(project, what, fmt, out or sys.stdout, filter_text, systems, occasions)
    untimed = left_out(project, what, fmt, occasions)
    narrate(f"{quantity(written.rows, 'row')} written" + (f" to {out}" if out else ""))
    for note in filter(None, (untimed, written.message())):
        narrate(note)


def put_figure(
    project: Project,
    name: str,
    out: Path | None,
    values: Mapping[str, str | None],
    columns: int,
    caption: bool,
    occasions: OccasionFilter,
    systems: tuple[str, ...],
    raters: tuple[str, ...],
) -> None:
    """Draw a figure to a file; its caption and notes go to stderr. `values` are those of OPTIONS. Raises what
    `figure` and `save_figure` raise."""
    from recjudge_tui.reports.common.table import put_text
    from recjudge_tui.reports.figures.declared import figure, options_of
    from recjudge_tui.reports.figures.files import PICTURES, draw_picture, picture_format, save_figure

    flags = [option.flag for option in options_of(name)]
    given = {option: value for option, value in values.items() if value}
    if unknown := next((option for option in given if f"--{option}" not in flags), None):
        raise click.UsageError(f"--figure {name} has no option --{unknown}; it has {', '.join(flags)}")
    if out is None and not stdout_asked():
        raise click.UsageError(f"a figure needs a file: -o {name}.svg (or {', '.join(PICTURES)})")
    if out is not None:
        picture_format(out)
    with working(f"figure {name}"):
        drawn = figure(project, name, given, occasions=occasions, systems=systems, raters=raters)
        if out is None:
            content, notes = draw_picture(drawn, "svg", columns, caption=caption)
        else:
            notes = save_figure(drawn, out, columns, caption=caption)
    if out is None:
        put_text(content.decode())
    for line in (drawn.title, drawn.caption, *notes, *([f"written to {out}"] if out is not None else [])):
        narrate(line)
