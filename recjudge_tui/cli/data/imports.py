"""`recjudge import` and `recjudge imports`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.declared import report_commands
from recjudge_tui.cli.options import db_option, narrate, new_project_option, open_db

if TYPE_CHECKING:
    from recjudge_tui.domain.records import ImportKind
    from recjudge_tui.importers.summary import ImportSummary
    from recjudge_tui.store.database import Database

STDIN = Path("-")
KINDS = ("items", "users", "events", "lists", "explanations", "labels")


@click.command("import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@new_project_option
@click.option(
    "--as",
    "kind",
    type=click.Choice(KINDS),
    help="What the files contain. Default: everything that is recognised.",
)
@click.option("--layout", metavar="NAME", help="The layout of the files. Default: detected.")
@click.option(
    "--mapping",
    type=click.Path(path_type=Path),
    metavar="FILE.toml",
    help="A file that maps columns to fields (docs/mapping.md).",
)
@click.option(
    "--system", metavar="NAME", help="The system, for lists or explanations without a system column."
)
@click.option(
    "--type", "event_type", metavar="TYPE", help="The type of events without a type column: click, ..."
)
@click.option(
    "--where",
    "conditions",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="Only rows with this value. Repeat it: values of one column are alternatives, and all columns must match.",
)
@click.option(
    "--dry-run", is_flag=True, help="Show what would be stored, with the first rows, and store nothing."
)
@db_option
def import_(
    paths: tuple[Path, ...],
    project: str,
    kind: ImportKind | None,
    layout: str | None,
    mapping: Path | None,
    system: str | None,
    event_type: str | None,
    conditions: tuple[str, ...],
    dry_run: bool,
    db: str | None,
) -> None:
    """Import files or folders into a project. A new project is created.

    An import is stored as a whole or not at all (docs/importing.md). The path - is the standard input.

    \b
    Example:
      recjudge import items.csv -p movies --as items
      recjudge import lists_a.csv lists_b.csv -p movies --as lists
      recjudge import ml-1m/ -p movies
      recjudge import esci/examples.parquet -p search --as events --where product_locale=us --where split=test
      zcat lists.csv.gz | recjudge import - -p movies --as lists --system als --dry-run
    """
    from recjudge_tui.cli.progress import reading
    from recjudge_tui.importers.files.chosen_rows import parse_where
    from recjudge_tui.importers.folders import import_paths

    with (
        _input_files(paths) as (files, names),
        _database(db, dry_run) as database,
        reading(kind or "files") as advance,
    ):
        summaries = import_paths(
            database,
            project,
            files,
            kind,
            layout=layout,
            mapping=mapping,
            system=system,
            event_type=event_type,
            where=parse_where(conditions),
            names=names,
            dry_run=dry_run,
            progress=advance,
        )
    _tell(summaries, dry_run)


def _tell(summaries: Sequence[ImportSummary], dry_run: bool) -> None:
    """Print what was stored and left out to stderr; for a dry run, also print the first rows to stdout."""
    for line in summaries[0].aside:
        narrate(line)
    for summary in summaries:
        for line in _summary_lines(summary, dry_run):
            narrate(line if len(summaries) == 1 else f"{summary.kind}: {line}")
    if dry_run:
        _put_examples(summaries)


@contextmanager
def _input_files(paths: Sequence[Path]) -> Iterator[tuple[Sequence[Path], dict[Path, str]]]:
    """The files to read, and names that replace paths in messages: `-` is read into a temporary file."""
    if STDIN not in paths:
        yield paths, {}
        return
    from recjudge_tui.importers.files.reading import STDIN_NAME, saved_input

    with saved_input(sys.stdin.buffer) as saved:
        yield [saved if path == STDIN else path for path in dict.fromkeys(paths)], {saved: STDIN_NAME}


@contextmanager
def _database(db: str | None, dry_run: bool) -> Iterator[Database]:
    """The database; a dry run without one uses a temporary one."""
    from recjudge_tui.files import scratch_folder
    from recjudge_tui.settings import database_path

    if dry_run and not database_path(db).exists():
        with scratch_folder() as folder, open_db(str(folder / "dry_run.db")) as database:
            yield database
        return
    with open_db(db) as database:
        yield database


def _put_examples(summaries: Sequence[ImportSummary]) -> None:
    from recjudge_tui.importers.preview import SHOWN

    for summary in summaries:
        examples = [example for file in summary.files for example in file.examples][:SHOWN]
        click.echo(
            f"{summary.kind}, the first {len(examples)}:" if examples else f"{summary.kind}: nothing new"
        )
        for example in examples:
            click.echo(f"  {example}")
    click.echo("This was a dry run: nothing was stored.")


def _summary_lines(summary: ImportSummary, dry_run: bool) -> Iterator[str]:
    """The counts of rows of each file, then the first warnings, then the number of warnings of each kind."""
    verb = "would be stored" if dry_run else "stored"
    for file in summary.files:
        if file.earlier is not None:
            yield f"{file.path}: already imported as import {file.earlier} of this project"
        else:
            number = "" if dry_run else f" · import {file.import_id}"
            yield (
                f"{file.path}: {file.read:,} row{'' if file.read == 1 else 's'} read, {file.stored:,} {verb},"
                f" {file.skipped:,} skipped, {file.unchanged:,} unchanged · layout {file.layout}{number}"
            )
            if file.columns:
                yield f"  columns: {file.columns}"
            yield from (f"  {remark}" for remark in file.remarks)
    yield from summary.warnings
    total = summary.warning_count
    if total > len(summary.warnings):
        yield f"… and {total - len(summary.warnings):,} more warnings"
    for kind, count in summary.warning_kinds.items():
        yield f"{count:,} × {kind}"
    yield from summary.notes


@click.group(commands=report_commands("imports"))
def imports() -> None:
    """List or undo imports."""


@imports.command()
@click.argument("import_id", metavar="ID", type=int)
@db_option
def undo(import_id: int, db: str | None) -> None:
    """Undo an import: remove exactly what it added. Data that calls or labels refer to is kept.

    \b
    Example:
      recjudge imports undo 3
    """
    from recjudge_tui.store.imports import undo_import

    with open_db(db) as database:
        undone = undo_import(database, import_id)
    narrate(
        f"import {undone.import_id} ({undone.kind}, {undone.path}) undone; removed: {_counted(undone.removed) or 'nothing'}"
    )
    if undone.kept:
        narrate(f"kept, because calls or labels refer to it: {_counted(undone.kept)}")


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{n:,} {what}" for what, n in counts.items() if n)
