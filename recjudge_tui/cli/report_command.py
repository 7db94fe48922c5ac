"""A command that prints a report: its options, the opened database, and writing what the command returns.

Both decorators stand directly above the function, below its own options. The function takes the open database
instead of `--db`, and returns the report instead of writing it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import click

from recjudge_tui.cli.options import (
    FORMATS,
    db_option,
    format_of,
    narrate,
    open_db,
    put_page,
    put_plain_text,
    put_table,
    table_options,
)

if TYPE_CHECKING:
    from recjudge_tui.reports.common.page import Page
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database

    Report = Table | Page | str
    # a command may choose the report by the format; it returns None where there is nothing to write
    Output: TypeAlias = "Report | Callable[[str], Report] | ReportWithExit | None"


class ReportWithExit(NamedTuple):
    """A report, then a message on stderr (unless empty) and the exit code of the command."""

    report: Report | Callable[[str], Report]
    exit_code: int
    message: str = ""


def report_command(command: Callable[..., Output], formats: Sequence[str] = FORMATS) -> Callable[..., None]:
    """Add `--db`, `--format`, `--plain` and `-o`; call `command(database, **options)` and write its report.

    `formats` beyond FORMATS are for the command, which returns a function of the format.
    """

    @db_option
    @partial(table_options, formats=formats)
    @wraps(command)
    def run(db: str | None, fmt: str | None, out: Path | None, **options: Any) -> None:
        from recjudge_tui.cli.progress import working

        with open_db(db) as database:
            with working(_command_name(click.get_current_context().command_path)):
                output = _resolved(command(database, **options), fmt, out)
            _put(output, fmt, out)

    return run


def _command_name(path: str) -> str:
    """A command without the name of the program: `imports list`."""
    return path.partition(" ")[2] or path


def project_report(command: Callable[..., Output], formats: Sequence[str] = FORMATS) -> Callable[..., None]:
    """Like `report_command`, for a command that has `project_option`: calls `command(database, project_id, **options)`."""

    @partial(report_command, formats=formats)
    @wraps(command)
    def run(database: Database, project: str, **options: Any) -> Output:
        from recjudge_tui.store.projects import project_id

        return command(database, project_id(database, project), **options)

    return run


@contextmanager
def open_project(db: str | None, project: str) -> Iterator[tuple[Database, int]]:
    """The open database and the id of a project. Raises NotFoundError for an unknown name."""
    from recjudge_tui.store.projects import project_id

    with open_db(db) as database:
        yield database, project_id(database, project)


def _resolved(output: Output, fmt: str | None, out: Path | None) -> Report | ReportWithExit | None:
    """The report itself where it is chosen by the format."""
    if isinstance(output, ReportWithExit):
        return output._replace(report=_of_format(output.report, fmt, out))
    return None if output is None else _of_format(output, fmt, out)


def _of_format(report: Report | Callable[[str], Report], fmt: str | None, out: Path | None) -> Report:
    return report(format_of(fmt, out)) if callable(report) else report


def _put(output: Report | ReportWithExit | None, fmt: str | None, out: Path | None) -> None:
    if output is None:
        return
    if not isinstance(output, ReportWithExit):
        _put_report(output, fmt, out)
        return
    assert not callable(output.report)
    _put_report(output.report, fmt, out)
    if output.message:
        narrate(output.message)
    if output.exit_code:
        raise click.exceptions.Exit(output.exit_code)


def _put_report(report: Report, fmt: str | None, out: Path | None) -> None:
    from recjudge_tui.reports.common.table import Table

    if isinstance(report, str):
        put_plain_text(report, out)
    elif isinstance(report, Table):
        put_table(report, fmt, out)
    else:
        put_page(report, fmt, out)
