"""`recjudge export`: rows to a file, or a figure."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recjudge_tui.cli.commands import EXPORTS
from recjudge_tui.cli.output import narrate, stdout_asked, working
from recjudge_tui.domain.occasions import OccasionFilter
from recjudge_tui.domain.text import quantity
from recjudge_tui.reports import exports
from recjudge_tui.reports.common.table import put_text
from recjudge_tui.reports.common.writers.data import format_of
from recjudge_tui.reports.figures import declared, files

if TYPE_CHECKING:
    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.writers.data import ExportFormat


def list_figures(ctx: click.Context, _: click.Parameter, value: str | None) -> str | None:
    """Answer `--figure list`, which needs no project."""
    if value == "list":
        for name, kind in declared.FIGURES.items():
            options = " ".join(option.flag for option in declared.options_of(name))
            click.echo(f"{name:<13} {kind.about}\n{'':<13} {options}")
        ctx.exit()
    return value


def export(
    project: Project,
    what: str | None,
    fmt: ExportFormat | exports.RankingFormat | None,
    out: Path | None,
    systems: tuple[str, ...],
    filter_text: str,
    occasions: OccasionFilter,
    figure: str | None,
    **drawn: Any,
) -> None:
    if figure is not None:
        if what or fmt or filter_text:
            rows = "leave out WHAT, --format and --filter"
            raise click.UsageError(f"--figure draws a picture and exports no rows: {rows}")
        put_figure(project, figure, out, occasions, systems, **drawn)
        return
    for option, value in drawn.items():
        if value and option not in ("columns", "caption"):
            raise click.UsageError(f"--{option} needs --figure NAME")
    if what is None:
        raise click.UsageError(f"say what to export: {', '.join(EXPORTS)}, or --figure NAME")
    if fmt is None:
        fmt = format_of(out) if out and out.suffix else "csv"
    if fmt == "parquet" and out is None and sys.stdout.isatty():
        raise click.UsageError("Parquet is not text for a terminal: add -o FILE.parquet")
    # rows on a terminal are progress themselves, and a line among them would spoil them
    with nullcontext() if out is None and sys.stdout.isatty() else working(f"export {what}"):
        written = exports.export(project, what, fmt, out or sys.stdout, filter_text, systems, occasions)
    untimed = exports.left_out(project, what, fmt, occasions)
    narrate(f"{quantity(written.rows, 'row')} written" + (f" to {out}" if out else ""))
    for note in filter(None, (untimed, written.message())):
        narrate(note)


def put_figure(
    project: Project,
    name: str,
    out: Path | None,
    occasions: OccasionFilter,
    systems: tuple[str, ...],
    raters: tuple[str, ...],
    columns: int = 1,
    caption: bool = True,
    **values: str | None,
) -> None:
    """Draw a figure to a file; its caption and notes go to stderr. `values` are those of its options. Raises what
    `figure` and `save_figure` raise."""
    flags = [option.flag for option in declared.options_of(name)]
    given: Mapping[str, str] = {option: value for option, value in values.items() if value}
    if unknown := next((option for option in given if f"--{option}" not in flags), None):
        raise click.UsageError(f"--figure {name} has no option --{unknown}; it has {', '.join(flags)}")
    if out is None and not stdout_asked():
        raise click.UsageError(f"a figure needs a file: -o {name}.svg (or {', '.join(files.PICTURES)})")
    if out is not None:
        files.picture_format(out)
    with working(f"figure {name}"):
        drawn = declared.figure(project, name, given, occasions=occasions, systems=systems, raters=raters)
        if out is None:
            content, notes = files.draw_picture(drawn, "svg", columns, caption=caption)
        else:
            notes = files.save_figure(drawn, out, columns, caption=caption)
    if out is None:
        put_text(content.decode())
    for line in (drawn.title, drawn.caption, *notes, *([f"written to {out}"] if out is not None else [])):
        narrate(line)
