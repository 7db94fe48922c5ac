"""`recjudge prompt`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from recjudge_tui.cli.options import db_option, narrate, open_db, server_options
from recjudge_tui.cli.report_command import ReportWithExit, report_command

if TYPE_CHECKING:
    from recjudge_tui.domain.judge import JudgeAddress
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database


@click.group()
def prompt() -> None:
    """List, show, copy, check, try or delete prompts."""


@prompt.command("list")
@report_command
def list_(database: Database) -> Table:
    """List all prompts with their versions.

    \b
    Example:
      recjudge prompt list
    """
    from recjudge_tui.reports.listings import prompts
    from recjudge_tui.store.prompts import load_shipped

    load_shipped(database)
    return prompts(database)


@prompt.command()
@click.argument("name", metavar="NAME[@VERSION]")
@click.option("--case", "case_id", type=int, metavar="ID", help="Render the prompt for this case.")
@click.option(
    "--as-published", is_flag=True, help="With --case: in the form of “recjudge run --as-published”."
)
@db_option
def show(name: str, case_id: int | None, as_published: bool, db: str | None) -> None:
    """Print a prompt as TOML, or with --case as the text that a judge would receive for one case.

    \b
    Example:
      recjudge prompt show pairwise-media --case 12
      recjudge prompt show arena-media --case 12 --as-published
    """
    from recjudge_tui.domain.text import safe_text
    from recjudge_tui.prompting.preview import request_now
    from recjudge_tui.store.prompts import get_prompt, load_shipped, prompt_text

    if as_published and case_id is None:
        raise click.UsageError("--as-published needs --case ID: the form shows in the text of a case")
    with open_db(db) as database:
        load_shipped(database)
        if case_id is None:
            click.echo(safe_text(prompt_text(database, name)))
            return
        chosen = get_prompt(database, name)[2]
        for message in request_now(database, chosen, case_id, as_published=as_published).messages:
            click.echo(f"--- {message.role}")
            click.echo(safe_text(message.content))


@prompt.command()
@click.argument("name", metavar="NAME[@VERSION]")
@click.argument("file", type=click.Path(path_type=Path))
@db_option
def copy(name: str, file: Path, db: str | None) -> None:
    """Copy a prompt to a file, so that you can make your own. The copy gets the file's name.

    \b
    Example:
      recjudge prompt copy pairwise-shopping mine.toml
    """
    from recjudge_tui.store.prompts import copy_prompt, load_shipped

    with open_db(db) as database:
        load_shipped(database)
        own = copy_prompt(database, name, file)
    narrate(f"written to {file} under the name “{own}”; edit it, then: recjudge prompt add {file}")


@prompt.command()
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@db_option
def diff(first: str, second: str, db: str | None) -> None:
    """Show the differences between two prompts or versions.

    \b
    Example:
      recjudge prompt diff pairwise-media@1 pairwise-media@2
    """
    from recjudge_tui.domain.text import safe_text
    from recjudge_tui.reports.changes import prompt_diff
    from recjudge_tui.store.prompts import load_shipped, prompt_text

    with open_db(db) as database:
        load_shipped(database)
        before, after = (prompt_text(database, name) for name in (first, second))
    for line in prompt_diff(before, after, first, second):
        click.echo(safe_text(line))


@prompt.command()
@click.argument("file", type=click.Path(path_type=Path))
def lint(file: Path) -> None:
    """Check that a prompt file can be read and rendered, and that its examples are valid replies.

    \b
    Example:
      recjudge prompt lint mine.toml
    """
    from recjudge_tui.domain.text import safe_text
    from recjudge_tui.prompting.drafts import located_findings
    from recjudge_tui.store.prompts import read_prompt

    findings = located_findings(file, read_prompt(file))
    for finding in findings:
        click.echo(safe_text(finding))
    if findings:
        raise click.exceptions.Exit(1)
    narrate(f"{file}: OK")


@prompt.command()
@click.argument("file", type=click.Path(path_type=Path))
@db_option
def add(file: Path, db: str | None) -> None:
    """Store a prompt file. If the name exists and the text has changed, it becomes the next version.

    \b
    Example:
      recjudge prompt add mine.toml
    """
    from recjudge_tui.prompting.drafts import located_findings
    from recjudge_tui.store.prompts import add_prompt, read_prompt

    for finding in located_findings(file, read_prompt(file)):
        narrate(finding)
    with open_db(db) as database:
        name, version = add_prompt(database, file)
    click.echo(f"{name}@{version}")


@prompt.command()
@click.argument("name", metavar="NAME[@VERSION]")
@db_option
def delete(name: str, db: str | None) -> None:
    """Delete a prompt of your own, or one version of it. Versions that a run used are kept.

    \b
    Example:
      recjudge prompt delete mine@2
    """
    from recjudge_tui.store.prompts import delete_prompt, load_shipped

    with open_db(db) as database:
        load_shipped(database)
        versions = delete_prompt(database, name)
    deleted = ", ".join(f"{name.partition('@')[0]}@{version}" for version in versions)
    narrate(f"deleted: {deleted}")


@prompt.command("try")
@click.argument("name", metavar="NAME[@VERSION]")
@click.option("--case", "case_id", type=int, required=True, metavar="ID", help="The case to ask about.")
@click.option(
    "--judge",
    "spec",
    metavar="SPEC",
    help="The judge to ask, as in “recjudge run”. Default: the judge under [run] in the settings file.",
)
@click.option("--order", type=click.Choice(("ab", "ba")), help="Pairs: which system's list comes first.")
@server_options
@report_command
def try_(
    database: Database,
    name: str,
    case_id: int,
    spec: str | None,
    order: Literal["ab", "ba"] | None,
    address: JudgeAddress,
    timeout_s: float,
) -> ReportWithExit:
    """Ask a judge about one case and print the result. Nothing is stored.

    Sends the request that a run with the protocol's default settings would send. Prints the parsed answers and
    flags, and the tokens, time and cost of the call. Exits with 1 if there is no answer.

    \b
    Example:
      recjudge prompt try pairwise-media --case 12 --judge ollama:llama3.1:8b
    """
    from recjudge_tui.cli.judging.judge_choice import chosen_judge
    from recjudge_tui.prompting.trial import try_prompt
    from recjudge_tui.reports.judges import trial_table
    from recjudge_tui.store.prompts import get_prompt, load_shipped

    judge = chosen_judge(spec, address)
    load_shipped(database)
    _, version, chosen = get_prompt(database, name)
    trial = try_prompt(database, chosen, case_id, judge, order, timeout_s=timeout_s)
    table = trial_table(trial, f"{chosen.name}@{version}")
    return ReportWithExit(table, exit_code=1 if trial.parsed is None else 0)
