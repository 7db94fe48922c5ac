"""`recjudge export --figure`: its options, and what it does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from recjudge_tui.cli.declared import with_options
from recjudge_tui.cli.options import Command, narrate, open_db, stdout_asked
from recjudge_tui.domain.occasions import OccasionFilter
from recjudge_tui.reports.figures.declared import FIGURES, OPTIONS, options_of

LIST = "list"


def figure_options(command: Command) -> Command:
    """Add `--figure` and its options to a command, which receives each as a keyword."""
    command = click.option(
        "--caption/--no-caption",
        default=True,
        help="Figures: write n and the kind of interval below the figure (default), or only to stderr.",
    )(command)
    command = click.option(
        "--columns",
        type=click.IntRange(1, 2),
        default=1,
        show_default=True,
        help="Figures: the width, in columns of a page.",
    )(command)
    return click.option(
        "--figure",
        metavar="NAME",
        is_eager=True,
        callback=_list_figures,
        help="Draw this figure to the FILE (.svg, .png or .pdf). “list” lists the figures.",
    )(with_options(OPTIONS)(command))


def _list_figures(ctx: click.Context, _: click.Parameter, value: str | None) -> str | None:
    """Answer `--figure list`, which needs no project."""
    if value == LIST:
        for name, kind in FIGURES.items():
            options = " ".join(option.flag for option in options_of(name))
            click.echo(f"{name:<13} {kind.about}\n{'':<13} {options}")
        ctx.exit()
    return value


def put_figure(
    project: str,
    name: str,
    out: Path | None,
    db: str | None,
    values: Mapping[str, str | None],
    columns: int,
    caption: bool,
    occasions: OccasionFilter,
    systems: tuple[str, ...],
    raters: tuple[str, ...],
) -> None:
    """Draw a figure to a file; its caption and notes go to stderr. `values` are those of OPTIONS.

    Raises what `figure` and `save_figure` raise.
    """
    from recjudge_tui.cli.progress import working
    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.table import put_text
    from recjudge_tui.reports.figures.declared import figure
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
        with open_db(db) as database:
            about = Project.named(database, project)
            drawn = figure(about, name, given, occasions=occasions, systems=systems, raters=raters)
        if out is None:
            picture = draw_picture(drawn, "svg", columns, caption=caption)
            notes = picture.notes
        else:
            notes = save_figure(drawn, out, columns, caption=caption)
    if out is None:
        put_text(picture.content.decode())
    for line in (drawn.title, drawn.caption, *notes, *([f"written to {out}"] if out is not None else [])):
        narrate(line)


def refuse_figure_options(values: Mapping[str, str | None]) -> None:
    """Raise click.UsageError if an option of figures is given without --figure."""
    if option := next((option for option, value in values.items() if value), None):
        raise click.UsageError(f"--{option} needs --figure NAME")
