"""`recjudge watch`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recjudge_tui.cli.options import db_option, narrate, open_db, project_option, put_table, trust_option

if TYPE_CHECKING:
    from recjudge_tui.runs.start import WorkResult
    from recjudge_tui.store.database import Database


class WatchGroup(click.Group):
    """A group in which a word that is no command is the file of a watch: `recjudge watch FILE` is `watch run FILE`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] in self.commands:
            return super().resolve_command(ctx, args)
        return "run", self.commands["run"], args


@click.group(cls=WatchGroup, context_settings={"ignore_unknown_options": True})
def watch() -> None:
    """Import new files and judge new cases, nightly. Reports trend and gate, in one command for cron or CI.

    \b
    Example:
      recjudge watch init -p shop
      recjudge watch shop.watch.toml
    """


def _file_of(project: str) -> Path:
    return Path(f"{project.replace('/', '_')}.watch.toml")


@watch.command()
@project_option
@click.argument("file", type=click.Path(path_type=Path), required=False)
def init(project: str, file: Path | None) -> None:
    """Write a commented file for a project, by default PROJECT.watch.toml in this folder.

    \b
    Example:
      recjudge watch init -p shop
    """
    from recjudge_tui.nights.template import write_template

    path = file or _file_of(project)
    write_template(path, project)
    narrate(f"written to {path}; edit it, then run: recjudge watch {path}")


@watch.command()
@click.argument("file", metavar="FILE.toml", type=click.Path(path_type=Path), required=False)
@click.option("-p", "--project", metavar="PROJECT", help="Use PROJECT.watch.toml in this folder.")
@click.option("--dry-run", is_flag=True, help="Print what a night would do and stop.")
@trust_option
@db_option
def run(file: Path | None, project: str | None, dry_run: bool, db: str | None) -> None:
    """Do the outstanding work that FILE.toml describes (docs/nightly.md).

    Imports new and changed files, judges cases without a verdict, and writes the trend and the gate.
    Exit code: 0 the gate is met, 3 it is not, 1 something failed or the gate cannot be determined, 130 interrupted;
    the same command resumes. “run” may be left out.

    \b
    Example:
      recjudge watch run shop.watch.toml
      recjudge watch run -p shop --dry-run
    """
    from recjudge_tui.nights.watch import watch_night
    from recjudge_tui.nights.watch_file import read_watch

    if (file is None) == (project is None):
        raise click.UsageError("name the file of the watch, or its project with -p")
    described = read_watch(file or _file_of(project or ""))
    with open_db(db) as database:
        if dry_run:
            from recjudge_tui.nights.steps import dry_lines

            for line in dry_lines(database, described):
                click.echo(_safe(line))
            return
        night = watch_night(database, described, narrate, _work)
    if night.gate is not None:
        put_table(night.gate, None, None)
    if night.exit_code:
        raise click.exceptions.Exit(night.exit_code)


def _work(database: Database, run_id: int) -> WorkResult:
    from recjudge_tui.cli.judging.start import work_here

    return work_here(database, run_id)


def _safe(line: Any) -> str:
    from recjudge_tui.domain.text import safe_text

    return safe_text(line)
