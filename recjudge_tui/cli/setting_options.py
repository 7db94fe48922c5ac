"""The options of a run as `domain.run_options` declares them, as options of the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

import click

from recjudge_tui.cli.options import Command, FiniteRange, split_names

if TYPE_CHECKING:
    from recjudge_tui.domain.run_options import RunOption


def setting_options(
    *wanted: str, protocols: Sequence[str] = (), **helps: str
) -> Callable[[Command], Command]:
    """These options of a run, passed on under the names of the settings.

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


def _setting_option(
    option: RunOption, protocols: Sequence[str], own_help: str
) -> Callable[[Command], Command]:
    text = own_help or " ".join(filter(None, (option.help, option.details)))
    if option.by_protocol:
        text += f"  [default: {option.defaults_text(protocols)}]"
    settled = option.default not in (None, "", ()) and not option.by_protocol
    attributes: dict[str, Any] = {"metavar": option.metavar or None, "help": text}
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
        attributes["callback"] = split_names
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
