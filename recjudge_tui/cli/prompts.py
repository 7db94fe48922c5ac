"""`recjudge prompt`."""

from __future__ import annotations

from pathlib import Path

import click

from recjudge_tui.cli.options import db_option, narrate, open_db, put_table, table_options


@click.group()
def prompt() -> None:
    """Prompts: list, show, copy, diff, lint, add."""


@prompt.command("list")
@db_option
@table_options
def list_(db: str | None, fmt: str | None, out: Path | None) -> None:
    """All prompts with their versions.

    \b
    Example:
      recjudge prompt list
    """
    from recjudge_tui.reports.overview import prompts_table
    from recjudge_tui.store.prompts import load_shipped

    with open_db(db) as database:
        load_shipped(database)
        put_table(prompts_table(database), fmt, out)


@prompt.command()
@click.argument("name", metavar="NAME[@VERSION]")
@click.option("--case", "case_id", type=int, metavar="ID", help="Render it for this case.")
@db_option
def show(name: str, case_id: int | None, db: str | None) -> None:
    """A prompt as a TOML file, or the text that a judge would get for one case.

    \b
    Example:
      recjudge prompt show pairwise-media --case 12
    """
    from recjudge_tui.model.text import safe_text
    from recjudge_tui.running.preview import request_now
    from recjudge_tui.store.prompts import get_prompt, load_shipped, prompt_text

    with open_db(db) as database:
        load_shipped(database)
        if case_id is None:
            click.echo(safe_text(prompt_text(database, name)))
            return
        for message in request_now(database, get_prompt(database, name)[2], case_id).messages:
            click.echo(f"--- {message.role}")
            click.echo(safe_text(message.content))


@prompt.command()
@click.argument("name", metavar="NAME[@VERSION]")
@click.argument("file", type=click.Path(path_type=Path))
@db_option
def copy(name: str, file: Path, db: str | None) -> None:
    """Write a prompt to a file, to make your own from it.

    \b
    Example:
      recjudge prompt copy pairwise-shopping mine.toml
    """
    from recjudge_tui.store.prompts import copy_prompt, load_shipped

    with open_db(db) as database:
        load_shipped(database)
        copy_prompt(database, name, file)
    narrate(f"written to {file}; edit it, then: recjudge prompt add {file}")


@prompt.command()
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@db_option
def diff(first: str, second: str, db: str | None) -> None:
    """What changed between two prompts or versions.

    \b
    Example:
      recjudge prompt diff pairwise-media@1 pairwise-media@2
    """
    import difflib

    from recjudge_tui.model.text import safe_text
    from recjudge_tui.store.prompts import load_shipped, prompt_text

    with open_db(db) as database:
        load_shipped(database)
        before, after = (prompt_text(database, name).splitlines() for name in (first, second))
    for line in difflib.unified_diff(before, after, first, second, lineterm=""):
        click.echo(safe_text(line))


@prompt.command()
@click.argument("file", type=click.Path(path_type=Path))
def lint(file: Path) -> None:
    """Check a prompt file: that it reads, renders, and that its examples are valid replies.

    \b
    Example:
      recjudge prompt lint mine.toml
    """
    from recjudge_tui.protocols.lint import lint as findings_of
    from recjudge_tui.store.prompts import read_prompt

    findings = findings_of(read_prompt(file))
    for finding in findings:
        click.echo(f"{file}: {finding}")
    if findings:
        raise click.exceptions.Exit(1)
    narrate(f"{file}: nothing to complain about")


@prompt.command()
@click.argument("file", type=click.Path(path_type=Path))
@db_option
def add(file: Path, db: str | None) -> None:
    """Store a prompt file; a changed text under a known name becomes its next version.

    \b
    Example:
      recjudge prompt add mine.toml
    """
    from recjudge_tui.protocols.lint import lint as findings_of
    from recjudge_tui.store.prompts import add_prompt, read_prompt

    for finding in findings_of(read_prompt(file)):
        narrate(f"{file}: {finding}")
    with open_db(db) as database:
        name, version = add_prompt(database, file)
    click.echo(f"{name}@{version}")
