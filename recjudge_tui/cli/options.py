"""Options that many commands share, and what most commands do: open the database and write a table."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from recjudge_tui.cli.names import (
    PROJECT_VARIABLE,
    default_project,
)
from recjudge_tui.domain.address import ADDRESS_OPTIONS
from recjudge_tui.domain.run_options import TIMEOUT_S
from recjudge_tui.domain.text import safe_text
from recjudge_tui.errors import JudgeError, UsageError

if TYPE_CHECKING:
    from recjudge_tui.reports.common.page import Page
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database

FORMATS = ("text", "json", "csv", "md", "latex", "html", "plain")
_PLAIN = "recjudge.plain"
_STDOUT = "recjudge.stdout"
_COLUMNS = "recjudge.columns"
Command = TypeVar("Command", bound=Callable[..., Any])


class FiniteRange(click.FloatRange):
    """A number within bounds. NaN is refused because it passes every bound, infinity because JSON cannot store it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


def db_option(command: Command) -> Command:
    """`--db FILE`, passed on as `db` (text or None); a value given before the command's name is its default."""
    return click.option(
        "--db",
        metavar="FILE",
        default=_db_before_command,
        help="The database file. Default: RECJUDGE_DB, else the platform's data folder.",
    )(command)


def _db_before_command() -> str | None:
    before: str | None = click.get_current_context().find_root().params.get("db")
    return before


def project_option(command: Command) -> Command:
    """`-p PROJECT`, passed on as `project`; without it RECJUDGE_PROJECT, else the only project there is."""
    return _project_option(
        f"The project's name. Default: {PROJECT_VARIABLE}, else the only project there is.",
        default=default_project,
    )(command)


def new_project_option(command: Command) -> Command:
    """`-p PROJECT` of a command that makes the project: without it RECJUDGE_PROJECT, and no guess."""
    return _project_option(
        f"The project's name; a new one is created. Default: {PROJECT_VARIABLE}.", envvar=PROJECT_VARIABLE
    )(command)


def _project_option(explanation: str, **attributes: Any) -> Callable[[Command], Command]:
    return click.option(
        "-p",
        "--project",
        required=True,
        metavar="PROJECT",
        help=explanation,
        **attributes,
    )


def server_options(command: Command) -> Command:
    """`address_options`, and `--timeout` as `timeout_s`."""
    command = click.option(
        "--timeout",
        "timeout_s",
        type=FiniteRange(min=0, min_open=True),
        default=TIMEOUT_S,
        show_default=True,
        metavar="S",
        help="Timeout of each call, in seconds.",
    )(command)
    return address_options(command)


def trust_option(command: Command) -> Command:
    """`--trust-host HOST`: what the command may send to servers that a database names. It is asked for on a terminal.

    A command that was refused for want of trust has sent nothing, and is called again when the user has confirmed.
    """

    @wraps(command)
    def run(*arguments: Any, trust_hosts: tuple[str, ...], **options: Any) -> Any:
        while True:
            try:
                return command(*arguments, **options)
            except JudgeError as error:
                _confirm_trust(error, trust_hosts)

    return cast(
        Command,
        click.option(
            "--trust-host",
            "trust_hosts",
            metavar="HOST",
            multiple=True,
            help="Send to this server the keys that the run names, and remember that; repeat for several. Needed once for"
            " judges that you did not type yourself.",
        )(run),
    )


def _confirm_trust(error: JudgeError, hosts: Sequence[str]) -> None:
    """Trust what the user trusts; on a terminal, ask for the rest. Raises what is left, and any other error."""
    from recjudge_tui.judges.trust import UntrustedError, remember

    if not isinstance(error, UntrustedError):
        raise error
    remember(pair for pair in error.sent if any(map(pair.is_at, hosts)))
    left = tuple(pair for pair in error.sent if not any(map(pair.is_at, hosts)))
    if not left:
        return
    rest = UntrustedError(left)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        flags = " ".join(dict.fromkeys(f"--trust-host {shlex.quote(pair.place)}" for pair in left))
        rest.next_step = f"Nothing was sent. If you trust the server with this, add: {flags}"
        raise rest
    narrate("The judge was not typed here, and you have not confirmed this before.")
    click.confirm(safe_text(f"Send {rest.listed}?"), abort=True, err=True)
    remember(left)


def address_options(command: Command) -> Command:
    """Where a judge answers (`domain.address`), passed on as `address` (a JudgeAddress); and `--trust-host`."""

    @trust_option
    @wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        from recjudge_tui.domain.judge import JudgeAddress

        given = {name: options.pop(name) for name in ADDRESS_OPTIONS}
        words = {name: [value] if isinstance(value, str) else value for name, value in given.items()}
        return command(*arguments, address=JudgeAddress.of_words(words), **options)

    for option in reversed(ADDRESS_OPTIONS.values()):
        default = {"multiple": True} if option.many else {"default": ""}
        run = click.option(option.flag, option.name, metavar=option.metavar, help=option.help, **default)(run)
    return cast(Command, run)


def readers_option(command: Command) -> Command:
    return click.option(
        "--readers",
        is_flag=True,
        help="Include readers, who overrode single verdicts in the app, and people with only a few labels.",
    )(command)


def systems_option(command: Command) -> Command:
    """`--systems A,B,...`, passed on as `systems` (a tuple, empty for all)."""
    return click.option(
        "--systems",
        metavar="A,B,...",
        callback=split_names,
        help="Only these systems; for pairs, both must be among them. Default: all.",
    )(command)


def raters_option(command: Command) -> Command:
    """`--raters A,B,...`, passed on as `raters` (a tuple, empty for all)."""
    return click.option(
        "--raters",
        metavar="A,B,...",
        callback=split_names,
        help="Only these raters. Default: all.",
    )(command)


def segment_option(more: str = "") -> Callable[[Command], Command]:
    """`--by NAME`, passed on as `by`; `more` opens its help."""
    explanation = (
        "Any attribute of users, such as plan: the report for each of its values; “activity”: for thirds of the users by"
        " number of events; “context”: for the contexts with the most cases, and for the rest."
    )
    return click.option("--by", metavar="NAME", help=f"{more} {explanation}".strip())


def split_names(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    """The callback of an option whose value is `A,B,...`."""
    return names(value)


def output_option(metavar: str = "FILE", *, required: bool = False) -> Callable[[Command], Command]:
    """`-o FILE`, passed on as `out`: a path, or None for stdout, which is also what `-o -` asks for."""
    return click.option(
        "-o",
        "out",
        metavar=metavar,
        type=click.Path(path_type=Path, allow_dash=True),
        required=required,
        callback=_file_or_stdout,
        help="Write to this file; - is stdout." if required else "Write to this file instead of stdout (-).",
    )


def _file_or_stdout(ctx: click.Context, _: click.Parameter, value: Path | None) -> Path | None:
    ctx.meta[_STDOUT] = str(value) == "-"
    return None if ctx.meta[_STDOUT] else value


def stdout_asked() -> bool:
    """Whether the command was given `-o -`: commands that write a file by default must distinguish it from no `-o`."""
    return bool(click.get_current_context().meta.get(_STDOUT))


def table_options(command: Command, formats: Sequence[str] = FORMATS) -> Command:
    """`--format` (or `--plain`) and `-o`, passed on as `fmt` and `out`; `--columns` is for `put_table` and `put_page`."""
    command = output_option()(command)
    command = click.option(
        "--columns",
        metavar="A,B,...",
        expose_value=False,
        callback=_keep_columns,
        help="Only these columns, in this order, by the names that JSON has or by their headings.",
    )(command)
    command = plain_option(command)
    for name, attributes in _READING.items():
        command = click.option(f"--{name}", expose_value=False, callback=_keep_reading, **attributes)(command)
    return click.option(
        "--format",
        "fmt",
        type=click.Choice(formats),
        callback=_plain_or,
        help="Default: from the file name (.parquet too), else text.",
    )(command)


# what of a table people read, unless they ask for more
_READING: dict[str, dict[str, Any]] = {
    "notes": {"type": click.Choice(("all", "some", "none")), "default": "some", "help": "Which notes to print."},
    "explain": {"is_flag": True, "help": "Print what the figures mean and how they are tested."},
    "all": {"is_flag": True, "help": "Print every column and row; CSV and JSON have them in any case."},
}  # fmt: skip


def _keep_reading(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
    ctx.meta[f"recjudge.{parameter.name}"] = value


def _as_read(table: Table, fmt: str, *, whole: bool = False) -> Table:
    """The part of a table that people asked to read, with the options that show the rest; data formats have it all."""
    from recjudge_tui.reports.common.table import definition, note_kind, readable

    meta = click.get_current_context().meta
    if fmt not in ("text", "plain", "md", "latex", "html"):
        return table
    whole = whole or bool(meta.get("recjudge.all") or meta.get(_COLUMNS))
    explain, notes = bool(meta.get("recjudge.explain")), str(meta.get("recjudge.notes", "all"))
    seen, left_out = readable(table, whole=whole, explain=explain, notes=notes)
    seen = with_commands(seen)
    if not left_out or fmt not in ("text", "plain"):
        return seen
    kinds = [note_kind(note) for note in table.notes]
    more = [
        *([] if whole or (table.brief is None and len(table.rows) == len(seen.rows)) else ["--all"]),
        *(["--explain"] if "definition" in kinds and not explain else []),
        *(
            ["--notes all"]
            if notes != "all" and len(seen.notes) < len(kinds) - kinds.count("definition")
            else []
        ),
    ]
    return replace(seen, notes=(*seen.notes, definition(f"more: {' '.join(more)}"))) if more else seen


def with_commands(table: Table) -> Table:
    """The table, whose notes name the commands that take their next steps."""
    return replace(table, notes=tuple(_with_command(note) for note in table.notes))


def _with_command(note: str) -> str:
    """The note with the command that takes its next step, if it calls for one."""
    from recjudge_tui.cli.words import command
    from recjudge_tui.reports.common.table import Note

    if not isinstance(note, Note) or note.step is None:
        return note
    project = click.get_current_context().params.get("project") or ""
    return Note(f"{note}: {command(note.step, project)}", note.kind)


def plain_option(command: Command) -> Command:
    """`--plain`, which is `--format plain`."""
    return click.option(
        "--plain",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_keep_plain,
        help="Output for screen readers: one paragraph per row, “label: value” lines, words instead of "
        "symbols.",
    )(command)


def _keep_columns(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    ctx.meta[_COLUMNS] = names(value)


def _chosen_columns(*tables: Table) -> tuple[Table, ...]:
    from recjudge_tui.reports.common.table import with_columns

    context = click.get_current_context(silent=True)
    wanted: tuple[str, ...] = context.meta.get(_COLUMNS, ()) if context else ()
    return with_columns(tables, wanted) if wanted else tables


def _keep_plain(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta[_PLAIN] = value


def _plain_or(ctx: click.Context, _: click.Parameter, value: str | None) -> str | None:
    if not ctx.meta.get(_PLAIN):
        return value
    if value not in (None, "plain"):
        raise click.UsageError(f"--plain and --format {value} contradict each other; use one of them")
    return "plain"


def open_db(db: str | None) -> Database:
    """The database that `--db` or the environment names; a missing file is created. Use it in a `with` block."""
    from recjudge_tui.settings import database_path
    from recjudge_tui.store.schema import connect

    return connect(database_path(db), notify=narrate)


def put_table(table: Table, fmt: str | None, out: Path | None) -> None:
    """Write a table to stdout, or to a file with a line on stderr. Without a format, the file's ending decides."""
    from recjudge_tui.reports.common.stream import save_table
    from recjudge_tui.reports.common.table import write_table

    (table,) = _chosen_columns(table)
    known = format_of(fmt, out)
    table = _as_read(table, known)
    if out is None:
        write_table(table, known)
        return
    for note in save_table(table, known, out):
        narrate(note)
    narrate(f"written to {out}")


def put_page(page: Page, fmt: str | None, out: Path | None, *, whole: bool = False) -> None:
    """Write a page as `put_table` writes a table, with all rows if `whole`. Raises click.UsageError for Parquet, which holds
    one table."""
    from recjudge_tui.reports.common.page import write_page

    known = format_of(fmt, out)
    if known == "parquet":
        raise click.UsageError(
            "this report has several parts, and Parquet holds one table; use .json or .html"
        )
    tables = [
        _as_read(table, known, whole=whole and table.brief is None) for table in _chosen_columns(*page.tables)
    ]
    write_page(replace(page, tables=tuple(tables)), known, out)
    if out is not None:
        narrate(f"written to {out}")


def put_plain_text(text: str, out: Path | None) -> None:
    """Write text that is already safe to show, and a line end unless it is empty, to stdout or a file."""
    from recjudge_tui.reports.common.table import put_text, save_text

    content = f"{text}\n" if text else ""
    if out is None:
        put_text(content)
        return
    save_text(content, out)
    narrate(f"written to {out}")


def format_of(fmt: str | None, out: Path | None) -> str:
    """The requested format, else the one of the file's ending, text without one. Raises UsageError for an unknown ending."""
    if fmt or out is None or not out.suffix:
        return fmt or "text"
    from recjudge_tui.reports.common.table import format_of_file

    try:
        return format_of_file(out)
    except UsageError as error:
        raise UsageError(error.title, error.cause, f"{error.next_step[:-1]}, or --format.") from error


def narrate(text: str) -> None:
    """Print one line on stderr; text from the data is made safe for the terminal."""
    from recjudge_tui.cli.progress import clear_line

    clear_line()
    click.echo(safe_text(text), err=True)


def names(text: str | None) -> tuple[str, ...]:
    """`A,B,C` as a tuple; () for nothing."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


class ProtocolChoice(click.ParamType[str]):
    """A protocol that is registered when the command runs, or one of `more`. With `pairs`, only those that compare lists."""

    name = "protocol"

    def __init__(self, *more: str, pairs: bool = False) -> None:
        self.more, self.pairs = more, pairs

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return self._choice().convert(value, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return self._choice().get_metavar(param, ctx)

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str | None:
        return self._choice().get_missing_message(param, ctx)

    def _choice(self) -> click.Choice[str]:
        from recjudge_tui.domain.protocols import offered, with_unit

        return click.Choice((*(with_unit("pair") if self.pairs else offered()), *self.more))
