"""Commands about data: `project`, `import`, `imports`, `cases`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.command import database_report, in_database, in_project, report_commands
from recjudge_tui.cli.options import (
    Command,
    db_option,
    default_project,
    new_project_option,
)
from recjudge_tui.cli.output import narrate, open_db, reading

if TYPE_CHECKING:
    from recjudge_tui.cli.output import Output
    from recjudge_tui.domain.records import ImportKind
    from recjudge_tui.importers.summary import ImportSummary
    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database


def _named(command: Command) -> Command:
    """The project's name, by its place or with -p."""
    option = click.option("-p", "--project", metavar="PROJECT", help="The same as NAME.")
    return click.argument("name", required=False)(option(command))


def _one_name(name: str | None, project: str | None) -> str:
    """The one that is given, else the default project."""
    if name and project and name != project:
        raise click.UsageError(f"“{name}” and “{project}” are two projects; name one")
    return name or project or default_project() or ""


@click.group()
def project() -> None:
    """List, create, show or delete projects."""


@project.command("list")
@database_report
def project_list(database: Database) -> Table:
    """List all projects and what they contain.

    Example:
      recjudge project list
    """
    from recjudge_tui.reports.listings import projects

    return projects(database)


@project.command("new")
@in_database
@click.argument("name")
def project_new(database: Database, name: str) -> None:
    """Create an empty project.

    Example:
      recjudge project new movies
    """
    from recjudge_tui.store.projects import create_project

    create_project(database, name)
    narrate(f"project “{name}” created; next, import data: recjudge import FILE -p {name} --as items")


@project.command("show")
@database_report
@_named
def project_show(database: Database, name: str | None, project: str | None) -> Table:
    """Show what a project contains: data, systems, raters, runs.

    Example:
      recjudge project show movies
    """
    from recjudge_tui.project import Project
    from recjudge_tui.reports.listings import project as contents

    return contents(Project.named(database, _one_name(name, project)))


@project.command("delete")
@in_database
@_named
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def project_delete(database: Database, name: str | None, project: str | None, yes: bool) -> None:
    """Delete a project and everything in it.

    Example:
      recjudge project delete movies --yes
    """
    from recjudge_tui.store.projects import delete_project, project_id

    if not (name or project):
        raise click.UsageError("name the project")
    name = _one_name(name, project)
    project_id(database, name)
    if not yes:
        click.confirm(f"Delete “{name}” with all its data, runs and verdicts?", abort=True, err=True)
    delete_project(database, name)
    narrate(f"project “{name}” deleted")


def _show_layout(context: click.Context, _parameter: click.Parameter, name: str | None) -> None:
    """Print the file of a shipped layout."""
    from recjudge_tui.importers.layout import shipped_file
    from recjudge_tui.importers.registry import layouts

    if name is None:
        return
    if (path := shipped_file(name)) is None:
        known = [layout.name for layout in layouts() if shipped_file(layout.name) is not None]
        raise click.UsageError(f"no layout “{name}” is written as a file; these are: {', '.join(known)}")
    click.echo(path.read_text("utf-8"), nl=False)
    context.exit()


def _values(text: str | None) -> dict[str, str]:
    """The meanings of `--values`; a comma or an equals sign inside an answer is written with a backslash before it."""
    import re

    pairs = [
        re.split(r"(?<!\\)=", part, maxsplit=1) for part in re.split(r"(?<!\\),", text or "") if part.strip()
    ]
    if any(len(pair) < 2 or not pair[0].strip() for pair in pairs):
        raise click.UsageError(f"--values {text}: write OLD=NEW for each answer, such as 1=A,2=B")
    return {re.sub(r"\\([,=])", r"\1", old).strip(): new.strip() for old, new in pairs}


def _ends(text: str | None) -> tuple[float, float] | None:
    """The two ends of `--scale`."""
    import re

    if text is None:
        return None
    number = r"\s*([+-]?\d+(?:\.\d+)?)\s*"
    match = re.fullmatch(rf"{number}\.\.{number}", text)
    if match is None or float(match[1]) == float(match[2]):
        raise click.UsageError(f"--scale {text}: write its two ends, such as 1..7")
    return float(match[1]), float(match[2])


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
    help="A file that maps columns to fields (recjudge docs mapping).",
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
    "--values",
    metavar="OLD=NEW,...",
    help="What the answers of labels mean: 1=A,2=B. An empty meaning (x=) leaves an answer out.",
)
@click.option(
    "--scale",
    metavar="FROM..TO",
    help="The scale of labels: 1..7. For pairs it goes from A to B; the higher end first turns it round.",
)
@click.option("--keep-fitting", is_flag=True, help="Keep the labels that fit, and leave the others out.")
@click.option(
    "--domain", metavar="NAME", help="What the project is about: films, books, music, news, places, shop."
)
@click.option(
    "--show-layout",
    metavar="NAME",
    is_eager=True,
    expose_value=False,
    callback=_show_layout,
    help="Print a shipped layout, to copy and change for --mapping.",
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
    values: str | None,
    scale: str | None,
    keep_fitting: bool,
    domain: str | None,
    dry_run: bool,
    db: str | None,
) -> None:
    """Import files or folders into a project. A new project is created.

    An import is stored as a whole or not at all (recjudge docs importing). The path - is the standard input.

    \b
    Example:
      recjudge import items.csv -p movies --as items
      recjudge import lists_a.csv lists_b.csv -p movies --as lists
      recjudge import ml-1m/ -p movies
      recjudge import esci/examples.parquet -p search --as events --where product_locale=us --where split=test
      recjudge import preferences.csv -p movies --as labels --values 1=A,2=B
      zcat lists.csv.gz | recjudge import - -p movies --as lists --system als --dry-run
    """
    from recjudge_tui.importers.folders import import_paths
    from recjudge_tui.importers.reader import parse_where
    from recjudge_tui.store.prompts import domain_named

    if domain:
        domain_named(domain)
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
            values=_values(values),
            scale=_ends(scale),
            keep_fitting=keep_fitting,
            names=names,
            dry_run=dry_run,
            progress=advance,
        )
    _tell(summaries, dry_run)
    if not dry_run:
        with open_db(db) as database:
            _name_domain(database, summaries[0], domain)


def _name_domain(database: Database, summary: ImportSummary, domain: str | None) -> None:
    """Keep the domain that is given. On a terminal, ask for that of a new project where its data does not tell."""
    from recjudge_tui.runs.settings import project_domain
    from recjudge_tui.store.projects import project_id, set_domain
    from recjudge_tui.store.prompts import domain_names

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
    for line in summaries[0].aside:
        narrate(line)
    for summary in summaries:
        for line in _summary_lines(summary, dry_run):
            narrate(line if len(summaries) == 1 else f"{summary.kind}: {line}")
    for line in _facts(summaries[0]):
        narrate(line)
    if dry_run:
        _put_examples(summaries)


def _facts(summary: ImportSummary) -> Iterator[str]:
    """What matters next about the project, and the next command."""
    facts = summary.facts
    if facts is None:
        return
    known = [
        (facts.users, f"{facts.ready:,} of {facts.users:,} users with lists have a history"),
        (facts.lists, f"{facts.untitled:,} of {facts.lists:,} lists have items without a title"),
        (facts.labels, f"{facts.on_lists:,} of {facts.labels:,} labels are on a case with its lists or text"),
    ]
    if parts := [text for count, text in known if count]:
        yield f"project {summary.project}: {' · '.join(parts)}"
    project = shlex.quote(summary.project)
    protocol = "explanation" if facts.texts and not facts.lists else "pairwise"
    commands = {
        None: f"recjudge agreement -p {project}",
        "import lists": f"recjudge import FILE -p {project} --as lists",
        "import items": f"recjudge import FILE -p {project} --as items",
        "import events": f"recjudge import FILE -p {project} --as events",
        "judge": f"recjudge run {protocol} -p {project} --judge rules",
    }
    command = commands[summary.step.action if summary.step else None]
    if (kind := command.rpartition(" --as ")[2]) in KINDS and (near := _near(summary, kind)):
        command = command.replace("FILE", shlex.quote(near), 1)
    yield f"next: {command}"


def _near(summary: ImportSummary, kind: str) -> str:
    """The only other file beside the imported ones whose name says that it holds this kind of data; else empty."""
    done = {Path(file.path) for file in summary.files}
    files: list[Path] = []
    with suppress(OSError):
        folders = {path.parent for path in done if path.is_file()}
        files = [
            path for folder in folders for path in folder.iterdir() if path.is_file() and path not in done
        ]
    named = [str(path) for path in files if kind[:-1] in path.name.lower()]
    return named[0] if len(named) == 1 else ""


@contextmanager
def _input_files(paths: Sequence[Path]) -> Iterator[tuple[Sequence[Path], dict[Path, str]]]:
    """The files to read, and names that replace paths in messages: `-` is read into a temporary file."""
    if STDIN not in paths:
        yield paths, {}
        return
    from recjudge_tui.importers.reader import STDIN_NAME, saved_input

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
    from recjudge_tui.importers.summary import EXAMPLES as SHOWN

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
            day = file.earlier_at[:10]
            yield f"{file.path}: already imported on {day} as import {file.earlier} of this project, nothing changed"
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


@imports.command("undo")
@in_database
@click.argument("import_id", metavar="ID", type=int)
def imports_undo(database: Database, import_id: int) -> None:
    """Undo an import: remove exactly what it added. Data that calls or labels refer to is kept.

    Example:
      recjudge imports undo 3
    """
    from recjudge_tui.store.imports import undo_import

    undone = undo_import(database, import_id)
    narrate(
        f"import {undone.import_id} ({undone.kind}, {undone.path}) undone; removed: {_counted(undone.removed) or 'nothing'}"
    )
    if undone.kept:
        narrate(f"kept, because calls or labels refer to it: {_counted(undone.kept)}")


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{n:,} {what}" for what, n in counts.items() if n)


@click.group(commands=report_commands("cases"))
def cases() -> None:
    """List or show cases, and manage saved filters. Cases are the things that are judged."""


@cases.command("show")
@database_report
@click.argument("case_id", metavar="ID", type=int)
@click.option("-p", "--project", metavar="PROJECT", help="The project of the case, whose id is enough.")
def cases_show(database: Database, case_id: int, project: str | None) -> Callable[[str], Output]:
    """Show one case: the user, the lists with their flagged items, and every verdict with its reasoning.

    Example:
      recjudge cases show 12
      recjudge cases show 12 --plain
    """
    from recjudge_tui.reports.cases import case_page, case_report
    from recjudge_tui.store.cases import case_row
    from recjudge_tui.store.projects import project_id

    if project and case_row(database, case_id)["project_id"] != project_id(database, project):
        raise click.UsageError(f"case {case_id} is not of project “{project}”")
    return lambda fmt: case_page(database, case_id) if fmt == "text" else case_report(database, case_id)


@cases.group(commands=report_commands("cases filters"))
def filters() -> None:
    """List, save or delete filters of the verdict list. In the app, press F to use them."""


@filters.command("save")
@in_project
@click.argument("name")
@click.argument("filter_text", metavar="FILTER")
def filters_save(project: Project, name: str, filter_text: str) -> None:
    """Save FILTER under NAME, replacing any filter of that name.

    Example:
      recjudge cases filters save -p movies doubtful 'why:swap conf<.6'
    """
    from recjudge_tui.store.projects import save_filter

    replaced = save_filter(project.db, project.id, name, filter_text)
    narrate(f"filter “{name.strip()}” {'replaced' if replaced else 'saved'}")


@filters.command("delete")
@in_project
@click.argument("name")
def filters_delete(project: Project, name: str) -> None:
    """Delete a saved filter.

    Example:
      recjudge cases filters delete -p movies doubtful
    """
    from recjudge_tui.store.projects import delete_filter

    delete_filter(project.db, project.id, name)
    narrate(f"filter “{name.strip()}” deleted")
