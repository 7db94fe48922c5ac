"""`recjudge verdicts`."""

from __future__ import annotations

from typing import Literal

import click

from recjudge_tui.cli.declared import report_commands
from recjudge_tui.cli.options import db_option, narrate, open_db, project_option
from recjudge_tui.cli.report_command import open_project


@click.group(commands=report_commands("verdicts"))
def verdicts() -> None:
    """List verdicts, or accept, override, note or tag them."""


@verdicts.command()
@click.argument("verdict_id", metavar="ID", type=int)
@click.argument("action", type=click.Choice(("accept", "dismiss", "override", "note", "tag")))
@click.option("--to", "label", metavar="LABEL", help="The label or number to use instead.")
@click.option("--text", default="", metavar="TEXT", help="The text of a note or tag.")
@db_option
def decide(
    verdict_id: int,
    action: Literal["accept", "dismiss", "override", "note", "tag"],
    label: str | None,
    text: str,
    db: str | None,
) -> None:
    """Accept, dismiss, override, note or tag one verdict, like the keys c x v w t of the app.

    An override makes you a rater. Your name comes from `recjudge config` or RECJUDGE_READER.

    \b
    Example:
      recjudge verdicts decide 812 override --to Tie
    """
    from recjudge_tui.config_file import reader_name
    from recjudge_tui.store.triage import parse_choice, record

    if (action == "override") != (label is not None):
        raise click.UsageError("override needs --to LABEL, and no other action takes it")
    with open_db(db) as database:
        chosen, value = ("", None) if label is None else parse_choice(database, verdict_id, label)
        record(database, verdict_id, reader_name(), action, text=text, label=chosen, value=value)
    narrate(f"done: {action} verdict {verdict_id}; to undo: recjudge verdicts undo -p PROJECT")


@verdicts.command()
@project_option
@db_option
def undo(project: str, db: str | None) -> None:
    """Undo your last action on a verdict of the project.

    \b
    Example:
      recjudge verdicts undo -p movies
    """
    from recjudge_tui.config_file import reader_name
    from recjudge_tui.store.triage import undo_last

    with open_project(db, project) as (database, identity):
        entry = undo_last(database, identity, reader_name())
    if entry is None:
        narrate(f"“{reader_name()}” has nothing to undo")
    else:
        narrate(f"undone: {entry.action}, case {entry.case_id}, rater {entry.rater}")
