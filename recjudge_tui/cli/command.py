"""How a click command is made of a row of the table or of a declared report: the file and the project opened, the report
written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import click

from recjudge_tui.cli.commands import COMMANDS, GROUPS, Command
from recjudge_tui.cli.options import (
    FORMATS,
    PROJECT_VARIABLE,
    Decorator,
    db_option,
    function_of,
    later,
    project_option,
    table_options,
    with_help_all,
    with_options,
)
from recjudge_tui.cli.output import format_of, narrate, open_db, put, with_commands, working
from recjudge_tui.domain.options import Option
from recjudge_tui.reports.declare import REPORTS, Report

if TYPE_CHECKING:
    from recjudge_tui.cli.output import Output
    from recjudge_tui.store.database import Database

    # a command may choose what it prints by the format; it returns None where there is nothing to write
    Printed: TypeAlias = "Output | Callable[[str], Output] | PrintedWithExit | None"


class PrintedWithExit(NamedTuple):
    """What a command prints, then a message on stderr (unless empty) and the exit code of the command."""

    printed: Output | Callable[[str], Output] | None
    exit_code: int = 0
    message: str = ""


def command_named(name: str) -> click.Command | None:
    """The command or group of this name, with all that it contains; None if there is none."""
    word = name.rpartition(" ")[2]
    if name in GROUPS:
        inside = dict.fromkeys(
            known for known in (*GROUPS, *COMMANDS, *REPORTS) if known.rpartition(" ")[0] == name
        )
        group = click.Group(word, help=GROUPS[name])
        for known in inside:
            if (found := command_named(known)) is not None:
                group.add_command(found)
        return group
    if name in REPORTS:
        return _of_report(REPORTS[name], COMMANDS.get(name))
    if (row := COMMANDS.get(name)) is None:
        return None
    run = _run(later(row.place), row.needs, row.prints)
    last = (*([db_option] if row.needs else ()), *([table_options] if row.prints else ()))
    options = (*([project_option] if row.needs == "project" else ()), *row.options, *last)
    made = click.command(word, help=_help(row.help, examples=row.examples), hidden=row.hidden)(
        with_options(options)(run)
    )
    return with_help_all(made, *row.rare) if row.rare else made


def _run(
    call: Callable[..., Any], needs: Literal["", "file", "project"], prints: bool
) -> Callable[..., None]:
    """The callback of a command: `call` with what it needs and the values of its options."""

    def run(**given: Any) -> None:
        with ExitStack() as opened:
            about: list[Any] = []
            if needs:
                about = [database := opened.enter_context(open_db(given.pop("db")))]
            if needs == "project":
                from recjudge_tui.project import Project

                about = [Project.named(database, given.pop("project"))]
            if not prints:
                call(*about, **given)
                return
            fmt, out = given.pop("fmt"), given.pop("out")
            with working(click.get_current_context().command_path.partition(" ")[2]):
                made = call(*about, **given)
                made = made if isinstance(made, PrintedWithExit) else PrintedWithExit(made)
                printed = made.printed(format_of(fmt, out)) if callable(made.printed) else made.printed
            if printed is not None:
                put(printed, fmt, out)
        if made.message:
            narrate(made.message)
        if made.exit_code:
            raise click.exceptions.Exit(made.exit_code)

    return run


def _of_report(report: Report, before: Command | None) -> click.Command:
    """The command of a declared report. The function of `before` is called with the report's name, the project and the
    values of all options before it is made, and returns the report's; None where there is nothing to report yet."""

    def call(database: Database, project: str | None, **given: Any) -> Printed:
        from recjudge_tui.project import Project
        from recjudge_tui.reports.common.table import Table
        from recjudge_tui.reports.declare import function, make

        opened = Project.named(database, project) if project else None
        values = given if before is None else function_of(before.place)(report.name, opened, given)
        if values is None:
            return None
        made = make(opened, report, **values)
        code, said = function(report.ends)(made) if report.ends else (0, "")

        def written(fmt: str) -> Any:
            meta = click.get_current_context().meta
            # a file holds all of it
            whole = bool(meta.get("recjudge.all") or meta.get("recjudge.file"))
            text = function(report.written)(
                with_commands(made) if isinstance(made, Table) else made, fmt, whole
            )
            return made if text is None else text

        return PrintedWithExit(written if report.written else made, code, said)

    first: Sequence[Option | Decorator] = (
        _chosen_project if report.alone else project_option,
        *(before.options if before else ()),
    )
    last = (db_option, partial(table_options, formats=(*FORMATS, *report.formats)))
    run = with_options((*first, *report.options, *last))(_run(call, "file", prints=True))
    help_text = _help(report.summary, report.about, examples=report.examples)
    return click.command(report.name.rpartition(" ")[2], help=help_text, short_help=report.summary)(run)


_chosen_project = click.option(
    "-p", "--project", metavar="PROJECT", envvar=PROJECT_VARIABLE,
    help=f"Measure the values that you leave out in this project. Default: {PROJECT_VARIABLE}, else none.",
)  # fmt: skip


def _help(*paragraphs: str, examples: Iterable[str]) -> str:
    """The help of a command; an example is what follows `recjudge`, or a whole line with it."""
    lines = [f"  {line}" if "recjudge " in line else f"  recjudge {line}" for line in examples]
    return "\n\n".join(filter(None, (*paragraphs, "\n".join(["\b", "Example:", *lines]) if lines else "")))
