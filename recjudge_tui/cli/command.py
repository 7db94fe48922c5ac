"""How a command is made of a function or a declared report: the file and the project opened, the report written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import click

from recjudge_tui.cli.options import (
    FORMATS,
    PROJECT_VARIABLE,
    Command,
    db_option,
    project_option,
    table_options,
    with_options,
)
from recjudge_tui.cli.output import format_of, narrate, open_db, put, with_commands, working

if TYPE_CHECKING:
    from recjudge_tui.cli.output import Output
    from recjudge_tui.project import Project
    from recjudge_tui.reports.declare import Report
    from recjudge_tui.store.database import Database

    # a command may choose what it prints by the format; it returns None where there is nothing to write
    Printed: TypeAlias = "Output | Callable[[str], Output] | PrintedWithExit | None"
    Before = Callable[[Project, dict[str, Any]], dict[str, Any] | None]


class PrintedWithExit(NamedTuple):
    """What a command prints, then a message on stderr (unless empty) and the exit code of the command."""

    printed: Output | Callable[[str], Output] | None
    exit_code: int = 0
    message: str = ""


def in_database(command: Callable[..., object]) -> Callable[..., None]:
    """`--db`; the command gets the open database instead."""

    def run(db: str | None, **options: Any) -> None:
        with open_db(db) as database:
            command(database, **options)

    return _framed(command, run, last=db_option)


def in_project(command: Callable[..., object]) -> Callable[..., None]:
    """`-p` and `--db`; the command gets the project, whose file is open, instead."""
    return _framed(command, in_database(_of_project(command)), first=project_option)


def database_report(command: Callable[..., Printed], formats: Sequence[str] = FORMATS) -> Callable[..., None]:
    """`--db`, `--format`, `--plain` and `-o`; the command gets the open database, and returns what is to be written.
    `formats` beyond FORMATS are for the command, which returns a function of the format."""

    def run(db: str | None, fmt: str | None, out: Path | None, **options: Any) -> None:
        with open_db(db) as database:
            with working(click.get_current_context().command_path.partition(" ")[2]):
                made = command(database, **options)
                made = made if isinstance(made, PrintedWithExit) else PrintedWithExit(made)
                printed = made.printed(format_of(fmt, out)) if callable(made.printed) else made.printed
            if printed is not None:
                put(printed, fmt, out)
        if made.message:
            narrate(made.message)
        if made.exit_code:
            raise click.exceptions.Exit(made.exit_code)

    return _framed(command, run, last=lambda command: db_option(table_options(command, formats)))


def project_report(command: Callable[..., Printed]) -> Callable[..., None]:
    """Like `database_report`, with `-p`: the command gets the project."""
    return _framed(command, database_report(_of_project(command)), first=project_option)


def _of_project(command: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(command)
    def run(database: Database, project: str, **options: Any) -> Any:
        from recjudge_tui.project import Project

        return command(Project.named(database, project), **options)

    return run


def _framed(
    command: Callable[..., Any],
    run: Callable[..., None],
    first: Callable[[Callable[..., None]], Callable[..., None]] = lambda run: run,
    last: Callable[[Callable[..., None]], Callable[..., None]] = lambda run: run,
) -> Callable[..., None]:
    """`run` in the command's place, with the options of `first` above the command's own and those of `last` below them."""
    if run.__dict__.get("__click_params__") is None:
        own = command.__dict__.get("__click_params__", [])
        doc = (command.__doc__ or "").replace("\n    Example:\n", "\n    \b\n    Example:\n")
        run.__name__, run.__doc__ = command.__name__, doc
        last(run)
        run.__dict__["__click_params__"] = [*run.__dict__.get("__click_params__", []), *own]
    return first(run)


def report_commands(group: str = "") -> dict[str, click.Command]:
    """The commands of all declared reports of a group (`robustness`), or of those in none."""
    from recjudge_tui.reports.declare import REPORTS

    named = ((report, report.name.rpartition(" ")) for report in REPORTS.values())
    return {name: report_command(report) for report, (of, _, name) in named if of == group}


def report_command(
    report: Report, options: Callable[[Command], Command] | None = None, first: Before | None = None
) -> click.Command:
    """The command of a declared report. `first` is called with the values of `options` and of the report's before it is
    made, and returns the report's; None where there is nothing to report yet."""

    def run(database: Database, project: str | None, **given: Any) -> Printed:
        from recjudge_tui.project import Project
        from recjudge_tui.reports.common.table import Table
        from recjudge_tui.reports.declare import function, make

        opened = Project.named(database, project) if project else None
        values = given if first is None or opened is None else first(opened, given)
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

    command: Callable[..., Any] = database_report(run, (*FORMATS, *report.formats))
    command = with_options(report.options)(command)
    command = command if options is None else options(cast(Command, command))
    command = (_chosen_project if report.alone else project_option)(command)
    help_text = "\n\n".join(filter(None, (report.summary, report.about, _examples(report.examples))))
    return click.command(report.name.rpartition(" ")[2], help=help_text, short_help=report.summary)(command)


_chosen_project = click.option(
    "-p", "--project", metavar="PROJECT", envvar=PROJECT_VARIABLE,
    help=f"Measure the values that you leave out in this project. Default: {PROJECT_VARIABLE}, else none.",
)  # fmt: skip


def _examples(examples: Iterable[str]) -> str:
    lines = [f"  recjudge {example}" for example in examples]
    return "\n".join(["\b", "Example:", *lines]) if lines else ""
