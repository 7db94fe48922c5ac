"""The options of commands: those that many share, and those declared for reports and runs."""

from __future__ import annotations

import math
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from recjudge_tui.cli.output import STDOUT, names, narrate
from recjudge_tui.domain.address import ADDRESS_OPTIONS, sending_options
from recjudge_tui.domain.occasions import occasion_filter
from recjudge_tui.domain.options import OCCASIONS, Option
from recjudge_tui.domain.protocols import offered
from recjudge_tui.domain.run_options import RUN_OPTIONS, TIMEOUT_S, RunOption
from recjudge_tui.domain.text import safe_text
from recjudge_tui.errors import JudgeError

if TYPE_CHECKING:
    from recjudge_tui.domain.judge import JudgeAddress, JudgeSpec

FORMATS = ("text", "json", "csv", "md", "latex", "html", "plain")
PROJECT_VARIABLE = "RECJUDGE_PROJECT"
Command: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[Command], Command]


def function_of(place: str) -> Callable[..., Any]:
    """The function at `module:name` of this room, or at `room.module:name`."""
    module, _, name = place.partition(":")
    module = module if "." in module else f"cli.{module}"
    found: Callable[..., Any] = getattr(import_module(f"recjudge_tui.{module}"), name)
    return found


def later(place: str) -> Callable[..., Any]:
    """The function at a place, which is imported when it is called."""
    return lambda *about, **given: function_of(place)(*about, **given)


class FiniteRange(click.FloatRange):
    """A number within bounds. NaN is refused because it passes every bound, infinity because JSON cannot store it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number

    def _describe_range(self) -> str:
        # click writes `x<=None` for a range without bounds
        return "" if self.min is None and self.max is None else super()._describe_range()


def db_option(command: Command) -> Command:
    """`--db FILE`, passed on as `db` (text or None); a value given before the command's name is its default."""
    explained = "The database file. Default: RECJUDGE_DB, else the platform's data folder."
    return click.option("--db", metavar="FILE", default=_db_before_command, help=explained)(command)


def _db_before_command() -> str | None:
    before: str | None = click.get_current_context().find_root().params.get("db")
    return before


def _project_option(explained: str, **attributes: Any) -> Decorator:
    return click.option("-p", "--project", metavar="PROJECT", help=explained, **attributes)


def default_project() -> str | None:
    """RECJUDGE_PROJECT, else the only project, whose name is then printed on stderr. Raises click.UsageError if there
    is no project, or several, which it names."""
    ctx = click.get_current_context()
    if named := os.environ.get(PROJECT_VARIABLE):
        return named
    if ctx.resilient_parsing:
        return None
    projects = _projects(ctx)
    if len(projects) > 1:
        raise click.UsageError(
            f"name the project with -p, or in {PROJECT_VARIABLE}; available: {', '.join(projects)}", ctx
        )
    if not projects:
        none = "there is no project yet; “recjudge import FILE -p NAME --as items” creates one"
        raise click.UsageError(none, ctx)
    click.echo(f"project: {safe_text(projects[0])}, the only one", err=True)
    return projects[0]


def _projects(ctx: click.Context) -> list[str]:
    """The projects of the database that the command line names; nothing where there is no file."""
    from recjudge_tui.settings import database_path
    from recjudge_tui.store.projects import project_names
    from recjudge_tui.store.schema import connect

    path = database_path(ctx.params.get("db") or ctx.find_root().params.get("db"))
    if not path.exists():
        return []
    with connect(path) as db:
        return [name for _, name in project_names(db)]


# `-p PROJECT`, passed on as `project`
project_option = _project_option(
    f"The project's name. Default: {PROJECT_VARIABLE}, else the only project there is.",
    default=default_project,
)
new_project_option = _project_option(
    f"The project's name; a new one is created. Default: {PROJECT_VARIABLE}.",
    envvar=PROJECT_VARIABLE,
    required=True,
)


def server_options(command: Command) -> Command:
    """`address_options`, and `--timeout` as `timeout_s`."""
    return address_options(click.option(
        "--timeout", "timeout_s", type=FiniteRange(min=0, min_open=True), default=TIMEOUT_S, show_default=True, metavar="S",
        help="Timeout of each call, in seconds.",
    )(command))  # fmt: skip


def trust_option(command: Command) -> Command:
    """`--trust-host HOST`: what the command may send to servers that a database names. It is asked for on a terminal.
    A command that was refused for want of trust has sent nothing, and is called again when the user has confirmed."""

    @wraps(command)
    def run(*arguments: Any, trust_hosts: tuple[str, ...], **options: Any) -> Any:
        while True:
            try:
                return command(*arguments, **options)
            except JudgeError as error:
                _confirm_trust(error, trust_hosts)

    return click.option(
        "--trust-host", "trust_hosts", metavar="HOST", multiple=True,
        help="Send to this server the keys that the run names, and remember that; repeat for several. Needed once for"
        " judges that you did not type yourself.",
    )(run)  # fmt: skip


def _confirm_trust(error: JudgeError, hosts: Sequence[str]) -> None:
    """Trust what the user trusts; on a terminal, ask for the rest. Raises what is left, and any other error."""
    from recjudge_tui.judges.keys import UntrustedError, remember

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
    return run


def chosen_judge(spec: str | None, address: JudgeAddress) -> JudgeSpec:
    """The judge at its address. The options of the command line replace those of the settings, each by itself. Either
    is this user's own word for sending its keys there. Raises UsageError if neither names a judge."""
    from recjudge_tui.config_file import config_path, default_judge
    from recjudge_tui.judges.registry import trust_typed

    if spec is not None:
        judge = address.judge_named(spec)
    else:
        default = default_judge()
        narrate(f"judge: {default.judge.spec} ({config_path().name}:{default.line})")
        judge = default.judge.model_copy(update={name: value for name, value in address if value})
    trust_typed(judge)
    return judge


def only_with_judge(given: Mapping[str, Any], *options: str) -> None:
    """Raises UsageError for one of these options, or one of an address, that is given though no judge is asked."""
    words = [name.removesuffix("_usd").replace("_", "-") for name in options if given[name]]
    words += [option.flag[2:] for name, option in ADDRESS_OPTIONS.items() if getattr(given["address"], name)]
    if words:
        raise click.UsageError(f"--{words[0]} needs --judge")


def split_names(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    """The callback of an option whose value is `A,B,...`."""
    return names(value)


def output_option(metavar: str = "FILE", *, required: bool = False) -> Decorator:
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
    ctx.meta[STDOUT] = str(value) == "-"
    ctx.meta["recjudge.file"] = value is not None and not ctx.meta[STDOUT]
    return None if ctx.meta[STDOUT] else value


def table_options(command: Command, formats: Sequence[str] = FORMATS) -> Command:
    """`--format` and `-o`, passed on as `fmt` and `out`; the others, such as `--columns`, are kept for `put`."""
    command = output_option()(command)
    for name, attributes in _READING.items():
        command = click.option(f"--{name}", expose_value=False, callback=_keep, **attributes)(command)
    about: dict[str, Any] = {"type": click.Choice(formats), "callback": _plain_or}
    return click.option("--format", "fmt", help=_FORMAT, **about)(command)


_FORMAT = "Default: from the file name (.parquet too), else text."
# what of a table people read, and how; kept in click's `meta`
_READING: dict[str, dict[str, Any]] = {
    "columns": {
        "metavar": "A,B,...", "help": "Only these columns, in this order, by the names that JSON has or by their headings.",
    },
    "plain": {
        "is_flag": True, "is_eager": True,
        "help": "Output for screen readers: one paragraph per row, “label: value” lines, words instead of symbols.",
    },
    "notes": {"type": click.Choice(("all", "some", "none")), "default": "some", "help": "Which notes to print."},
    "explain": {"is_flag": True, "help": "Print what the figures mean and how they are tested."},
    "all": {"is_flag": True, "help": "Print every column and row; CSV and JSON have them in any case."},
}  # fmt: skip


def _keep(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
    ctx.meta[f"recjudge.{parameter.name}"] = value


def _plain_or(ctx: click.Context, _: click.Parameter, value: str | None) -> str | None:
    if not ctx.meta.get("recjudge.plain"):
        return value
    if value not in (None, "plain"):
        raise click.UsageError(f"--plain and --format {value} contradict each other; use one of them")
    return "plain"


class ProtocolChoice(click.ParamType[str]):
    """A protocol that is registered when the command runs, one of `more`, or the name of a file that ends in `file`."""

    name = "protocol"

    def __init__(self, *more: str, file: str = "") -> None:
        self.more, self.file = more, file

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if self.file and str(value).endswith(self.file):
            return str(value)
        return self._choice().convert(value, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return self._choice().get_metavar(param, ctx)

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str | None:
        return self._choice().get_missing_message(param, ctx)

    def _choice(self) -> click.Choice[str]:
        return click.Choice((*offered(), *self.more))


def with_options(
    options: Sequence[Option | Decorator], protocols: Sequence[str] = (), **helps: str
) -> Decorator:
    """The options on a command, in this order; those without a flag are not offered. `helps` replaces a help by name."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            if callable(option):
                command = option(command)
            elif option.flag or option.argument:
                command = _click_option(option, protocols, helps.get(option.name, ""))(command)
        return command

    return decorate


def with_help_all(command: click.Command, *rare: str) -> click.Command:
    """The command, whose --help leaves out its rare options and those named here; --help-all shows every one."""

    def show(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted:
            for parameter in command.params:
                if isinstance(parameter, click.Option):
                    parameter.hidden = False
            click.echo(ctx.get_help())
            ctx.exit()

    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.name in rare:
            parameter.hidden = True
    about: dict[str, Any] = {"help": "Show every option and exit.", "callback": show, "expose_value": False}
    command.params.append(click.Option(["--help-all"], is_flag=True, is_eager=True, **about))
    return command


def setting_options(*wanted: str, protocols: Sequence[str] = (), **helps: str) -> Decorator:
    """These options of a run, passed on under the names of the settings. Without `wanted`, all of them. The help
    shows the defaults of `protocols` (empty: of all). `helps` replaces the help of an option by name."""
    chosen = (option for option in RUN_OPTIONS.values() if not wanted or option.name in wanted)
    shown = [option.but(rare=option.rare and not wanted) for option in chosen]
    return with_options(shown, protocols or offered(), **helps)


def occasion_options(command: Command) -> Command:
    """`--context`, `--from` and `--to`, passed on as `occasions` (an OccasionFilter)."""

    @wraps(command)
    def run(*arguments: Any, context: tuple[str, ...], from_: str, to: str, **options: Any) -> Any:
        chosen = occasion_filter(context, from_, to)
        return command(*arguments, occasions=chosen, **options)

    return with_options(OCCASIONS)(run)


def _click_option(option: Option, protocols: Sequence[str], own_help: str) -> Decorator:
    if option.argument:
        metavar = option.metavar or option.name.upper()
        return click.argument(option.name, metavar=metavar, required=option.required)
    text = own_help or " ".join(filter(None, (option.help, option.details)))
    by_protocol = isinstance(option, RunOption) and option.by_protocol
    if isinstance(option, RunOption) and option.by_protocol:
        text += f"  [default: {option.defaults_text(protocols)}]"
    settled = option.default not in (None, "", ()) and not by_protocol
    attributes: dict[str, Any] = {"metavar": option.metavar or None, "required": option.required}
    attributes |= {"help": text, "hidden": option.rare}
    if option.type is bool:
        negates = option.flag.startswith("--no-") and option.default is True
        attributes |= {"is_flag": True, "default": False if negates else option.default}
        attributes |= {"show_default": "/" in option.flag}
        if negates:
            attributes["callback"] = lambda _, __, value: not value
    elif option.type is dict:
        attributes |= {"multiple": True, "callback": _words}
        if option.as_json:
            attributes["callback"] = lambda _, __, value: sending_options(value)
    elif option.repeated:
        attributes["multiple"] = True
    elif option.type is tuple:
        attributes["callback"] = split_names
        attributes |= {"default": ",".join(option.default), "show_default": True} if settled else {}
    else:
        attributes |= {"type": _click_type(option), "show_default": settled}
        # a setting of a run that is not given is left to the protocol
        attributes |= {"default": option.default} if settled or not isinstance(option, RunOption) else {}
    return click.option(*option.flag.split(","), option.name, **attributes)


def _click_type(option: Option) -> click.ParamType[Any] | type:
    if option.choices:
        return click.Choice(option.choices)
    bounds = option.bounds
    if not bounds:
        return option.type if option.type is not float else FiniteRange()
    least, most = bounds.get("ge", bounds.get("gt")), bounds.get("le", bounds.get("lt"))
    if option.type is int:
        return click.IntRange(None if least is None else int(least), None if most is None else int(most))
    return FiniteRange(least, most, min_open="gt" in bounds, max_open="lt" in bounds)


def _words(_: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    """NAME=WORD of each, as a mapping."""
    words = {}
    for text in value:
        name, sign, word = text.partition("=")
        if not sign or not name.strip() or not word.strip():
            raise click.UsageError(f"{parameter.opts[0]} {text}: write NAME=WORD, such as item=book")
        words[name.strip()] = word.strip()
    return words
