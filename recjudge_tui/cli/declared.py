"""Options and reports as they are declared, as options and commands of the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

import click

from recjudge_tui.cli.names import PROJECT_VARIABLE
from recjudge_tui.cli.options import (
    FORMATS,
    Command,
    FiniteRange,
    names,
    project_option,
    split_names,
    with_commands,
)
from recjudge_tui.cli.report_command import ReportWithExit
from recjudge_tui.cli.report_command import report_command as database_report

if TYPE_CHECKING:
    from recjudge_tui.cli.report_command import Output
    from recjudge_tui.domain.options import Option
    from recjudge_tui.reports.declare import Report
    from recjudge_tui.store.database import Database

    Before = Callable[[Database, int, dict[str, Any]], dict[str, Any] | None]


def report_commands(group: str = "") -> dict[str, click.Command]:
    """The commands of all declared reports of a group (`robustness`), or of those in none."""
    from recjudge_tui.reports.declare import REPORTS

    found = {}
    for report in REPORTS.values():
        of, _, name = report.name.rpartition(" ")
        if of == group:
            found[name] = report_command(report)
    return found


def report_command(
    report: Report, options: Callable[[Command], Command] | None = None, first: Before | None = None
) -> click.Command:
    """The command of a declared report. `first` is called with the values of `options` and of the report's before it is
    made, and returns the report's; None where there is nothing to report yet."""

    def run(database: Database, project: str | None, **given: Any) -> Output:
        from recjudge_tui.project import Project
        from recjudge_tui.reports.common.table import Table
        from recjudge_tui.reports.declare import function, make

        opened = Project.named(database, project) if project else None
        values = given if first is None or opened is None else first(database, opened.id, given)
        if values is None:
            return None
        made = make(opened, report, **values)
        code, said = function(report.ends)(made) if report.ends else (0, "")
        if not report.written:
            return ReportWithExit(made, code, said)

        def written(fmt: str) -> Any:
            text = function(report.written)(with_commands(made) if isinstance(made, Table) else made, fmt)
            return made if text is None else text

        return ReportWithExit(written, code, said)

    command: Callable[..., Any] = database_report(run, (*FORMATS, *report.formats))
    command = with_options(report.options)(command)
    command = command if options is None else options(cast(Command, command))
    command = (_chosen_project if report.alone else project_option)(command)
    lines = [report.summary, report.about, _examples(report.examples)]
    help_text = "\n\n".join(filter(None, lines))
    return click.command(report.name.rpartition(" ")[2], help=help_text, short_help=report.summary)(command)


_chosen_project = click.option(
    "-p", "--project", metavar="PROJECT", envvar=PROJECT_VARIABLE,
    help=f"Measure the values that you leave out in this project. Default: {PROJECT_VARIABLE}, else none.",
)  # fmt: skip


def _examples(examples: Iterable[str]) -> str:
    lines = [f"  recjudge {example}" for example in examples]
    return "\n".join(["\b", "Example:", *lines]) if lines else ""


def with_options(
    options: Sequence[Option], protocols: Sequence[str] = (), **helps: str
) -> Callable[[Command], Command]:
    """The options on a command, in this order; those without a flag are not offered. `helps` replaces a help by name."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            if option.flag or option.argument:
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
    explained = "Show every option and exit."
    command.params.append(
        click.Option(
            ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=show, help=explained
        )
    )
    return command


def setting_options(
    *wanted: str, protocols: Sequence[str] = (), **helps: str
) -> Callable[[Command], Command]:
    """These options of a run, passed on under the names of the settings.

    Without `wanted`, all of them. The help shows the defaults of `protocols` (empty: of all). `helps` replaces the
    help of an option by name.
    """
    from recjudge_tui.domain.protocols import offered
    from recjudge_tui.domain.run_options import RUN_OPTIONS

    shown = [
        option.but(rare=option.rare and not wanted)
        for option in RUN_OPTIONS.values()
        if not wanted or option.name in wanted
    ]
    return with_options(shown, protocols or offered(), **helps)


def occasion_options(command: Command) -> Command:
    """`--context`, `--from` and `--to`, passed on as `occasions` (an OccasionFilter)."""
    from recjudge_tui.domain.options import OCCASIONS

    @wraps(command)
    def run(
        *arguments: Any, contexts: tuple[str, ...], served_from: str, served_to: str, **options: Any
    ) -> Any:
        from recjudge_tui.domain.occasions import occasion_filter

        chosen = occasion_filter(contexts, served_from, served_to)
        return command(*arguments, occasions=chosen, **options)

    return with_options(OCCASIONS)(cast(Command, run))


def _click_option(option: Option, protocols: Sequence[str], own_help: str) -> Callable[[Command], Command]:
    from recjudge_tui.domain.run_options import RunOption

    if option.argument:
        return click.argument(
            option.name, metavar=option.metavar or option.name.upper(), required=option.required
        )
    text = own_help or " ".join(filter(None, (option.help, option.details)))
    by_protocol = isinstance(option, RunOption) and option.by_protocol
    if isinstance(option, RunOption) and option.by_protocol:
        text += f"  [default: {option.defaults_text(protocols)}]"
    settled = option.default not in (None, "", ()) and not by_protocol
    attributes: dict[str, Any] = {
        "metavar": option.metavar or None,
        "help": text,
        "required": option.required,
        "hidden": option.rare,
    }
    if option.type is bool:
        negates = option.flag.startswith("--no-") and option.default is True
        attributes |= {"is_flag": True, "default": False if negates else option.default}
        attributes |= {"show_default": "/" in option.flag}
        if negates:
            attributes["callback"] = _opposite
    elif option.type is dict:
        attributes |= {"multiple": True, "callback": _json if option.as_json else _words}
    elif option.repeated:
        attributes["multiple"] = True
    elif option.type is tuple:
        attributes |= {"callback": split_names if not option.choices else _chosen_names(option)}
        attributes |= {"default": ",".join(option.default), "show_default": True} if settled else {}
    else:
        attributes |= {"type": _click_type(option), "show_default": settled}
        attributes |= {"default": option.default} if settled else {}
    return click.option(*option.flag.split(","), option.name, **attributes)


def _chosen_names(option: Option) -> Callable[[click.Context, click.Parameter, str | None], tuple[str, ...]]:
    def check(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
        given = names(value)
        for name in given:
            if name not in option.choices:
                raise click.BadParameter(
                    f"“{name}” is not one of {', '.join(option.choices)}", ctx, parameter
                )
        return given

    return check


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


def _opposite(_: click.Context, __: click.Parameter, value: bool) -> bool:
    return not value


def _json(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> dict[str, Any]:
    """KEY=JSON of each, as a mapping."""
    from recjudge_tui.domain.sending import sending_options

    return sending_options(value)


def _words(_: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    """NAME=WORD of each, as a mapping."""
    words = {}
    for text in value:
        name, sign, word = text.partition("=")
        if not sign or not name.strip() or not word.strip():
            raise click.UsageError(f"{parameter.opts[0]} {text}: write NAME=WORD, such as item=book")
        words[name.strip()] = word.strip()
    return words
