"""The command `import`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recjudge_tui.cli.commands import KINDS
from recjudge_tui.cli.output import command, narrate, open_db, reading
from recjudge_tui.domain.scales import ends_of, values_of
from recjudge_tui.files import scratch_folder
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.importers.layout import shipped_file
from recjudge_tui.importers.reader import STDIN_NAME, parse_where, saved_input
from recjudge_tui.importers.registry import layouts
from recjudge_tui.reports.imports import first_rows, summary_lines
from recjudge_tui.runs.settings import project_domain
from recjudge_tui.settings import database_path
from recjudge_tui.store.projects import project_id, set_domain
from recjudge_tui.store.prompts import domain_named, domain_names

if TYPE_CHECKING:
    from recjudge_tui.domain.imports import ImportSummary
    from recjudge_tui.domain.records import ImportKind
    from recjudge_tui.store.database import Database


def show_layout(context: click.Context, _parameter: click.Parameter, name: str | None) -> None:
    """Print the file of a shipped layout."""
    if name is None:
        return
    if (path := shipped_file(name)) is None:
        known = [layout.name for layout in layouts() if shipped_file(layout.name) is not None]
        raise click.UsageError(f"no layout “{name}” is written as a file; these are: {', '.join(known)}")
    click.echo(path.read_text("utf-8"), nl=False)
    context.exit()


def _values(text: str | None) -> dict[str, str]:
    """The meanings of `--values`."""
    if (values := values_of(text or "")) is None:
        raise click.UsageError(f"--values {text}: write OLD=NEW once for each answer, such as 1=A,2=B")
    return values


def _ends(text: str | None) -> tuple[float, float] | None:
    """The two ends of `--scale`."""
    if text is not None and ends_of(text) is None:
        raise click.UsageError(f"--scale {text}: write its two ends, such as 1..7")
    return None if text is None else ends_of(text)


STDIN = Path("-")


def import_(
    paths: tuple[Path, ...],
    project: str,
    db: str | None,
    kind: ImportKind | None,
    domain: str | None,
    dry_run: bool,
    conditions: tuple[str, ...],
    values: str | None,
    scale: str | None,
    **given: Any,
) -> None:
    if domain:
        domain_named(domain)
    meant = {"where": parse_where(conditions), "values": _values(values), "scale": _ends(scale)}
    with (
        _input_files(paths) as (files, names),
        _database(db, dry_run) as database,
        reading(kind or "files") as advance,
    ):
        summaries = import_paths(
            database, project, files, kind, names=names, dry_run=dry_run, progress=advance, **meant, **given
        )
    _tell(summaries, dry_run)
    if not dry_run:
        with open_db(db) as database:
            _name_domain(database, summaries[0], domain)


def _name_domain(database: Database, summary: ImportSummary, domain: str | None) -> None:
    """Keep the domain that is given. On a terminal, ask for that of a new project where its data does not tell."""
    if domain is None and summary.new_project and sys.stdin.isatty() and sys.stderr.isatty():
        if project_domain(database, project_id(database, summary.project)):
            return
        names = ("other", *domain_names())
        choice = click.Choice(names)
        domain = click.prompt("What is it about, for the words of prompts?", "other", type=choice, err=True)
        domain = "" if domain == "other" else domain
    if domain:
        set_domain(database, summary.project, domain)


def _tell(summaries: Sequence[ImportSummary], dry_run: bool) -> None:
    """Print what was stored and left out to stderr; for a dry run, also print the first rows to stdout."""
    for line in (*summary_lines(summaries, dry_run=dry_run), *_next(summaries[0])):
        narrate(line)
    if dry_run:
        click.echo("\n".join((*first_rows(summaries), "This was a dry run: nothing was stored.")))


def _next(summary: ImportSummary) -> Iterator[str]:
    """The next command."""
    facts = summary.facts
    if facts is None:
        return
    if summary.step is None:
        words = f"recjudge agreement -p {shlex.quote(summary.project)}"
    else:
        protocol = "explanation" if facts.texts and not facts.lists else "pairwise"
        step = replace(summary.step, about={"protocol": protocol, "judge": "rules"})
        words = command(step, summary.project)
    if (kind := words.rpartition(" --as ")[2]) in KINDS and (near := _near(summary, kind)):
        words = words.replace("FILE", shlex.quote(near), 1)
    yield f"next: {words}"


def _near(summary: ImportSummary, kind: str) -> str:
    """The only other file beside the imported ones whose name says that it holds this kind of data; else empty."""
    done = {Path(file.path) for file in summary.files}
    files: list[Path] = []
    with suppress(OSError):
        inside = [found for folder in {p.parent for p in done if p.is_file()} for found in folder.iterdir()]
        files = [path for path in inside if path.is_file() and path not in done]
    named = [str(path) for path in files if kind[:-1] in path.name.lower()]
    return named[0] if len(named) == 1 else ""


@contextmanager
def _input_files(paths: Sequence[Path]) -> Iterator[tuple[Sequence[Path], dict[Path, str]]]:
    """The files to read, and names that replace paths in messages: `-` is read into a temporary file."""
    if STDIN not in paths:
        yield paths, {}
        return
    with saved_input(sys.stdin.buffer) as saved:
        yield [saved if path == STDIN else path for path in dict.fromkeys(paths)], {saved: STDIN_NAME}


@contextmanager
def _database(db: str | None, dry_run: bool) -> Iterator[Database]:
    """The database; a dry run without one uses a temporary one."""
    with ExitStack() as opened:
        if dry_run and not database_path(db).exists():
            db = str(opened.enter_context(scratch_folder()) / "dry_run.db")
        yield opened.enter_context(open_db(db))
