"""`recjudge export --figure`: its options, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from recjudge_tui.cli.options import narrate, open_db, stdout_asked
from recjudge_tui.domain.occasions import OccasionFilter
from recjudge_tui.reports.figures.registry import COMMON_OPTIONS, FIGURES, OPTIONS, figure_kind

Command = TypeVar("Command", bound=Callable[..., Any])
LIST = "list"


def figure_options(command: Command) -> Command:
    """Add `--figure` and its options to a command, which receives each as a keyword."""
    decorators = (
        click.option(
            "--figure",
            metavar="NAME",
            is_eager=True,
            callback=_list_figures,
            help="Draw this figure to the FILE (.svg, .png or .pdf). “list” lists the figures.",
        ),
        *(
            click.option(f"--{name}", metavar=option.metavar, help=option.help)
            for name, option in OPTIONS.items()
        ),
        click.option(
            "--columns",
            type=click.IntRange(1, 2),
            default=1,
            show_default=True,
            help="Figures: the width, in columns of a page.",
        ),
        click.option(
            "--caption/--no-caption",
            default=True,
            help="Figures: write n and the kind of interval below the figure (default), or only to stderr.",
        ),
    )
    for decorator in reversed(decorators):
        command = decorator(command)
    return command


def _list_figures(ctx: click.Context, _: click.Parameter, value: str | None) -> str | None:
    """Answer `--figure list`, which needs no project."""
    if value == LIST:
        for name, kind in FIGURES.items():
            options = " ".join(f"--{option}" for option in (*COMMON_OPTIONS, *kind.options))
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

    Raises what `figure_data` and `save_figure` raise.
    """
    from recjudge_tui.cli.progress import working
    from recjudge_tui.reports.common.table import put_text
    from recjudge_tui.reports.figures.loading import figure_data
    from recjudge_tui.reports.figures.options import FigureOptions
    from recjudge_tui.reports.figures.paper.files import PICTURES, draw_picture, picture_format, save_figure
    from recjudge_tui.store.projects.projects import project_id

    allowed = (*COMMON_OPTIONS, *figure_kind(name).options)
    given: dict[str, Any] = {option: value for option, value in values.items() if value}
    for option in given:
        if option not in allowed:
            options = ", ".join(f"--{known}" for known in allowed)
            raise click.UsageError(f"--figure {name} has no option --{option}; it has {options}")
    if out is None and not stdout_asked():
        raise click.UsageError(f"a figure needs a file: -o {name}.svg (or {', '.join(PICTURES)})")
    if out is not None:
        picture_format(out)
    with working(f"figure {name}"):
        with open_db(db) as database:
            chosen = FigureOptions(**given, occasions=occasions, systems=systems, raters=raters)
            data = figure_data(database, project_id(database, project), name, chosen)
        if out is None:
            picture = draw_picture(data, "svg", columns, caption=caption)
            notes = picture.notes
        else:
            notes = save_figure(data, out, columns, caption=caption)
    if out is None:
        put_text(picture.content.decode())
    narrate(f"{data.title}\n{data.caption}")
    for note in notes:
        narrate(note)
    if out is not None:
        narrate(f"written to {out}")


def refuse_figure_options(values: Mapping[str, str | None]) -> None:
    """Raise click.UsageError if an option of figures is given without --figure."""
    for option, value in values.items():
        if value:
            raise click.UsageError(f"--{option} needs --figure NAME")
