"""Options that many commands share, and what most commands do: open the database and write a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.shell_completion import CompletionItem

from recjudge_tui.cli.names import (
    PROJECT_VARIABLE,
    complete_project,
    complete_raters,
    complete_systems,
    default_project,
)
from recjudge_tui.errors import UsageError

if TYPE_CHECKING:
    from recjudge_tui.domain.run_options import RunOption
    from recjudge_tui.reports.common.page import Page
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database

FORMATS = ("text", "json", "csv", "md", "latex", "html", "plain")
_PLAIN = "recjudge.plain"
_STDOUT = "recjudge.stdout"
Command = TypeVar("Command", bound=Callable[..., Any])


def db_option(command: Command) -> Command:
    """`--db FILE`, passed on as `db` (text or None); what stands before the command's name is its default."""
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
    return click.option(
        "-p",
        "--project",
        required=True,
        default=default_project,
        metavar="PROJECT",
        shell_complete=complete_project,
        help=f"The project's name. Default: {PROJECT_VARIABLE}, else the only project there is.",
    )(command)


def new_project_option(command: Command) -> Command:
    """`-p PROJECT` of a command that makes the project: without it RECJUDGE_PROJECT, and no guess."""
    return click.option(
        "-p",
        "--project",
        required=True,
        envvar=PROJECT_VARIABLE,
        metavar="PROJECT",
        shell_complete=complete_project,
        help=f"The project's name; a new one is created. Default: {PROJECT_VARIABLE}.",
    )(command)


def server_options(command: Command) -> Command:
    """`address_options`, and `--timeout` as `timeout_s`."""
    command = click.option(
        "--timeout",
        "timeout_s",
        type=click.FloatRange(min=0, min_open=True),
        default=120.0,
        show_default=True,
        metavar="S",
        help="Timeout of each call, in seconds.",
    )(command)
    return address_options(command)


def address_options(command: Command) -> Command:
    """Where a judge answers: `--base-url` as `base_urls`, and `--api-key-env`."""
    command = click.option(
        "--api-key-env", metavar="NAME", default="", help="The environment variable that holds the key."
    )(command)
    return click.option(
        "--base-url", "base_urls", multiple=True, metavar="URL", help="A server; repeat for several."
    )(command)


def setting_options(
    *wanted: str, protocols: Sequence[str] = (), **helps: str
) -> Callable[[Command], Command]:
    """The options of a run as `domain.run_options` declares them, passed on under the names of the settings.

    Without `wanted`, all of them. The help shows the defaults of `protocols` (empty: of all). `helps` replaces the
    help of an option by name.
    """
    from recjudge_tui.domain.protocols import offered
    from recjudge_tui.domain.run_options import RUN_OPTIONS

    shown = [o for o in RUN_OPTIONS.values() if o.flag and (not wanted or o.name in wanted)]

    def decorate(command: Command) -> Command:
        for option in reversed(shown):
            declared = _setting_option(option, protocols or offered(), helps.get(option.name, ""))
            command = declared(command)
        return command

    return decorate


def occasion_options(command: Command) -> Command:
    """`--context`, `--from` and `--to` as a run has them, passed on as `occasions` (an OccasionFilter)."""
    from recjudge_tui.domain.run_options import OCCASION_SETTINGS

    @wraps(command)
    def run(
        *arguments: Any, contexts: tuple[str, ...], served_from: str, served_to: str, **options: Any
    ) -> Any:
        from recjudge_tui.domain.occasions import occasion_filter

        chosen = occasion_filter(contexts, served_from, served_to)
        return command(*arguments, occasions=chosen, **options)

    return setting_options(*OCCASION_SETTINGS)(cast(Command, run))


def systems_option(command: Command) -> Command:
    """`--systems A,B,...`, passed on as `systems` (a tuple, empty for all)."""
    return click.option(
        "--systems",
        metavar="A,B,...",
        callback=_names,
        shell_complete=complete_systems,
        help="Only these systems; for pairs, both must be among them. Default: all.",
    )(command)


def raters_option(command: Command) -> Command:
    """`--raters A,B,...`, passed on as `raters` (a tuple, empty for all)."""
    return click.option(
        "--raters",
        metavar="A,B,...",
        callback=_names,
        shell_complete=complete_raters,
        help="Only these raters. Default: all.",
    )(command)


def interval_options(resamples: int, none: str = "", seeds: str = "") -> Callable[[Command], Command]:
    """`--resamples` and `--seed`; `none` is what else 0 leaves out, `seeds` what else the seed decides."""

    def decorate(command: Command) -> Command:
        seeded = click.option(
            "--seed",
            type=int,
            default=0,
            show_default=True,
            help=f"The seed for forming these groups{seeds}.",
        )(command)
        return click.option(
            "--resamples",
            type=click.IntRange(0),
            default=resamples,
            show_default=True,
            help="With more users than this, intervals that leave out one user at a time leave out groups of users instead;"
            f" 0: no intervals{none}.",
        )(seeded)

    return decorate


def segment_option(more: str = "") -> Callable[[Command], Command]:
    """`--by NAME`, passed on as `by`; `more` opens its help."""
    explanation = (
        "Any attribute of users, such as plan: the report for each of its values; “activity”: for thirds of the users by"
        " number of events; “context”: for the contexts with the most cases, and for the rest."
    )
    return click.option("--by", metavar="NAME", help=f"{more} {explanation}".strip())


def _setting_option(
    option: RunOption, protocols: Sequence[str], own_help: str
) -> Callable[[Command], Command]:
    text = own_help or " ".join(filter(None, (option.help, option.details)))
    if option.by_protocol:
        text += f"  [default: {option.defaults_text(protocols)}]"
    settled = option.default not in (None, "", ()) and not option.by_protocol
    attributes: dict[str, Any] = {"metavar": option.metavar or None, "help": text}
    if option.name in ("systems", "baseline"):
        attributes["shell_complete"] = complete_systems
    if option.type is bool:
        negates = option.flag.startswith("--no-") and option.default is True
        attributes |= {"is_flag": True, "default": False if negates else option.default}
        attributes |= {"show_default": "/" in option.flag}
        if negates:
            attributes["callback"] = _opposite
    elif option.type is dict:
        attributes |= {"multiple": True, "callback": _words}
    elif option.repeated:
        attributes["multiple"] = True
    elif option.type is tuple:
        attributes["callback"] = _names
    else:
        attributes |= {"type": _click_type(option), "show_default": settled}
        attributes |= {"default": option.default} if settled else {}
    return click.option(option.flag, option.name, **attributes)


def _click_type(option: RunOption) -> click.ParamType[Any] | type:
    if option.choices:
        return click.Choice(option.choices)
    bounds = option.bounds
    if not bounds:
        return option.type
    least, most = bounds.get("ge", bounds.get("gt")), bounds.get("le", bounds.get("lt"))
    if option.type is int:
        return click.IntRange(None if least is None else int(least), None if most is None else int(most))
    return click.FloatRange(least, most, min_open="gt" in bounds, max_open="lt" in bounds)


def _opposite(_: click.Context, __: click.Parameter, value: bool) -> bool:
    return not value


def _names(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    return names(value)


def _words(_: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    """NAME=WORD of each, as a mapping."""
    words = {}
    for text in value:
        name, sign, word = text.partition("=")
        if not sign or not name.strip() or not word.strip():
            raise click.UsageError(f"{parameter.opts[0]} {text}: write NAME=WORD, such as item=book")
        words[name.strip()] = word.strip()
    return words


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
    """Whether the command was given `-o -`, which commands that need a file by default must tell from no `-o`."""
    return bool(click.get_current_context().meta.get(_STDOUT))


def table_options(command: Command, formats: Sequence[str] = FORMATS) -> Command:
    """`--format` (or `--plain`) and `-o`, passed on as `fmt` and `out`."""
    command = output_option()(command)
    command = plain_option(command)
    return click.option(
        "--format",
        "fmt",
        type=click.Choice(formats),
        callback=_plain_or,
        help="Default: from the file name (.parquet too), else text.",
    )(command)


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
    from recjudge_tui.store.opening import connect

    return connect(database_path(db), notify=narrate)


def put_table(table: Table, fmt: str | None, out: Path | None) -> None:
    """Write a table to stdout, or to a file with a line on stderr. Without a format, the file's ending decides."""
    from recjudge_tui.reports.common.stream import save_table
    from recjudge_tui.reports.common.table import write_table

    if out is None:
        write_table(table, format_of(fmt, out))
        return
    for note in save_table(table, format_of(fmt, out), out):
        narrate(note)
    narrate(f"written to {out}")


def put_page(page: Page, fmt: str | None, out: Path | None) -> None:
    """Write a page as `put_table` writes a table. Raises click.UsageError for Parquet, which holds one table."""
    from recjudge_tui.reports.common.page import write_page

    known = format_of(fmt, out)
    if known == "parquet":
        raise click.UsageError(
            "this report has several parts, and Parquet holds one table; use .json or .html"
        )
    write_page(page, known, out)
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
    from recjudge_tui.domain.text import safe_text

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

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return self._choice().shell_complete(ctx, param, incomplete)

    def _choice(self) -> click.Choice[str]:
        from recjudge_tui.domain.protocols import offered, with_unit

        return click.Choice((*(with_unit("pair") if self.pairs else offered()), *self.more))
