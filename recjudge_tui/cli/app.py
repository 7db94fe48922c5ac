"""The command `recjudge`: its subcommands, and how errors are shown."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any

import click

from recjudge_tui.cli.commands import COMMANDS, GROUPS, SECTIONS
from recjudge_tui.cli.output import command
from recjudge_tui.domain.text import safe_text
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.reports.declare import REPORTS
from recjudge_tui.system import drop_output, explained, forbid_core_dumps, open_streams
from recjudge_tui.version import VERSION

if TYPE_CHECKING:
    from pathlib import Path

    from recjudge_tui.config_file import Fault, KeyRow, SettingsFile


# the commands in the order of the help
NAMES = tuple(name for section in SECTIONS.values() for name in section)
INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group whose commands are made on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(NAMES)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands under their headings, each with one line; none of them is made."""
        widest = max(map(len, NAMES))
        for heading, section in SECTIONS.items():
            lines = [
                (name, click.Command(name, help=_help(name)).get_short_help_str(formatter.width - 6 - widest))
                for name in section
            ]
            with formatter.section(heading):
                formatter.write_dl(lines, col_max=widest)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from recjudge_tui.cli.command import command_named

        return command_named(cmd_name) if cmd_name in NAMES else None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            # what is still in the buffer goes out here, where a reader that has left is expected
            sys.stdout.flush()
            return result
        except BrokenPipeError as gone:
            # the reader of the output (head, less) has closed it: not an error, although click would report one
            drop_output()
            raise click.exceptions.Exit(0) from gone


def _help(name: str) -> str:
    if name in GROUPS:
        return GROUPS[name]
    return REPORTS[name].summary if name in REPORTS else COMMANDS[name].help


@click.group(
    cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option("--db", metavar="FILE", help="The database file, for the app and for every command.")
@click.version_option(VERSION, prog_name="recjudge")
@click.pass_context
def recjudge(ctx: click.Context, db: str | None) -> None:
    """Let language models judge recommendations, and measure how far to trust them.

    Without a command, recjudge opens the app. Every command has --help with an example. Add --debug to any
    command to see the traceback of an error.

    \b
    Example:
      recjudge demo
    """
    if ctx.invoked_subcommand is None:
        open_app(db)


def open_app(db: str | None) -> None:
    """Open the app. Raises UsageError without a terminal that can show it."""
    if not has_terminal():
        raise click.UsageError(
            "the app needs a terminal; “recjudge --help” lists the commands that work without one"
        )
    refuse_dumb_terminal()
    from recjudge_tui.settings import database_path
    from recjudge_tui.tui.app import run_app

    run_app(database_path(db))


def has_terminal() -> bool:
    """Whether the app can be shown; it draws on stderr."""
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def refuse_dumb_terminal() -> None:
    """Raises UsageError if TERM says that the terminal cannot position text."""
    if os.environ.get("TERM") == "dumb":
        raise click.UsageError(
            "the app cannot be shown with TERM=dumb; set TERM to the type of the terminal, such as xterm-256color"
        )


def open_annotation(
    path: Path, project_id: int, rater_id: int, protocol: str, *, adjudicate: bool = False
) -> None:
    """Open the app with one annotator's cases and nothing else, or with those that annotators disagree about."""
    from recjudge_tui.tui.annotation_app import run_annotation

    run_annotation(path, project_id, rater_id, protocol, adjudicate=adjudicate)


def checked_settings(loaded: SettingsFile) -> tuple[tuple[KeyRow, ...], str, tuple[Fault, ...]]:
    """A settings file as the app applies it: the key of each binding, the theme, and the mistakes."""
    from recjudge_tui.tui.keys import checked_settings

    return checked_settings(loaded)


def main(argv: list[str] | None = None) -> None:
    """Entry point of the console script; ends the process with the exit code."""
    if sys.platform == "win32":
        sys.exit(
            "recjudge needs Linux, macOS or WSL. On Windows, install WSL (“wsl --install”) and recjudge in it."
        )
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words
    open_streams()
    forbid_core_dumps()
    try:
        code = _run([word for word in words if word != "--debug"], debug)
    except OSError:
        if debug:
            raise
        code = 1  # the error could not be shown
    sys.exit(code)


def _run(words: list[str], debug: bool) -> int:
    try:
        result = recjudge.main(args=words, prog_name="recjudge", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except RecjudgeError as error:
        if debug:
            raise
        _show(error)
        said = set(re.findall(r"--[a-z][a-z-]+", error.next_step)) & _OF_A_NEW_RUN
        for name in sorted(said - _options_of(words)):
            click.echo(f"  {name} is an option of a new run: recjudge run PROTOCOL", err=True)
        return error.exit_code
    except Exception as error:
        if debug:
            raise
        if isinstance(error, OSError) and (fault := explained(error)):
            drop_output()
            _show(fault)
            return fault.exit_code
        click.echo(f"error: unexpected error: {type(error).__name__}: {safe_text(error)}", err=True)
        click.echo("  Run the same command with --debug and report what it prints.", err=True)
        return 1


# what a run that is stored does not take again
_OF_A_NEW_RUN = {"--base-url", "--api-key-env", "--header-env", "--images"}


def _options_of(words: list[str]) -> set[str]:
    """The options of the command that these words name."""
    command: click.Command = recjudge
    for word in words:
        if isinstance(command, click.Group):
            command = command.get_command(click.Context(command), word) or command
    return {name for parameter in command.params for name in parameter.opts}


def _show(error: RecjudgeError) -> None:
    click.echo(f"error: {safe_text(error.title)}", err=True)
    for line in (error.cause, error.next_step):
        if line:
            click.echo(f"  {safe_text(line)}", err=True)
    if error.step is not None:
        click.echo(f"  Next: {safe_text(command(error.step))}", err=True)
