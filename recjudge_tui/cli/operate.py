"""Commands about the program itself: `demo`, `config`, `doctor`, `db`."""

from __future__ import annotations

import os
import shutil
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from recjudge_tui.cli.command import in_database
from recjudge_tui.cli.options import db_option, table_options
from recjudge_tui.cli.output import command, narrate, open_db, put
from recjudge_tui.domain.protocols import OVERALL

if TYPE_CHECKING:
    from recjudge_tui.config_file import Fault, KeyRow, SettingsFile
    from recjudge_tui.domain.records import ImportKind
    from recjudge_tui.reports.common.table import Row, Table
    from recjudge_tui.stats.combining import Rule
    from recjudge_tui.store.database import Database
    from recjudge_tui.store.schema import RunningRun


PROJECTS = {"synthetic-shop": "shop", "synthetic-films": "films"}
ANNOTATORS = ("annotator_1", "annotator_2")
_EXAMPLE = "synthetic-shop"
# the pairs that another judge is asked about, each in both orders
_ASKED = 5
_NEXT = """
next:
  recjudge                                 the app; ? lists the keys of a screen
  recjudge demo --tables                   every leaderboard and agreement table
  recjudge import FILE... -p NAME          your own data
  recjudge project delete synthetic-shop   and synthetic-films: delete the demo"""


class _ProtocolSummary(NamedTuple):
    """How the demo shows a protocol: the consensus of its labels, the rater of its run (empty: the judge's name), the
    aspect of its leaderboard (None: all), and how much history its run shows (None: the protocol's default)."""

    consensus: str = ""
    rater: str = ""
    aspect: str | None = None
    history: int | None = None


# a rater gives one verdict per case, and pairs are judged twice; all aspects of two projects would fill the screen,
# “recjudge leaderboard” prints them; the built-in judge reads no meaning: without a history it has no evidence
_SHOWN = {
    "pointwise": _ProtocolSummary("people-strict"),
    "pairwise": _ProtocolSummary("people-conservative"),
    "arena": _ProtocolSummary("people-conservative", rater="rules-arena", aspect=OVERALL),
    "absolute": _ProtocolSummary(),
    "explanation": _ProtocolSummary(aspect="satisfaction", history=100),
}
# consensus -> its rule
_CONSENSUS: dict[str, Rule] = {"people-strict": "strict", "people-conservative": "conservative"}
_FILES: tuple[tuple[ImportKind, tuple[str, ...]], ...] = (
    ("items", ("items.csv",)),
    ("users", ("users.csv",)),
    ("events", ("events.csv", "heldout_events.csv")),
    ("lists", ("lists_cooccurrence.csv", "lists_text.csv")),
    ("explanations", ("explanations.csv",)),
    ("labels", ("labels_pointwise.csv", "labels_pairwise.csv", "labels_explanations.csv")),
)


@click.command()
@in_database
@click.option(
    "--judge", "spec", metavar="SPEC", help="Ask this model about a few pairs too, such as gguf:FILE."
)
@click.option("--tables", is_flag=True, help="Print every leaderboard and agreement table.")
@click.option("--no-tui", is_flag=True, help="Only print, even on a terminal.")
def demo(database: Database, spec: str | None, tables: bool, no_tui: bool) -> None:
    """Judge the sample data, then open the app.

    The data is synthetic and the judge is built in. The results are printed first.

    Creates the projects synthetic-shop and synthetic-films. If you run it again, nothing is judged twice. The built-in
    judge “rules” is not a language model; it is the published list guidelines written as code.

    \b
    Example:
      recjudge demo
      recjudge demo --judge gguf:model.gguf
    """
    for project, folder in PROJECTS.items():
        narrate(f"{project}: importing and judging …")
        _load(database, project, folder)
        _judge(database, project)
    if spec is not None:
        _ask_model(database, spec)
    if tables:
        for project in PROJECTS:
            _print_tables(database, project)
    else:
        _print_summary(database)
    from recjudge_tui.cli.app import has_terminal, open_app

    if not no_tui and has_terminal():
        open_app(str(database.path))


def _load(database: Database, project: str, folder: str) -> None:
    from recjudge_tui.importers.load import import_files
    from recjudge_tui.settings import data_dir

    home: Path = data_dir("sample_data") / folder
    for kind, files in _FILES:
        paths = [home / file for file in files]
        import_files(database, project, paths, kind, layout=None, mapping=None, system=None)


def _judge(database: Database, project: str) -> None:
    from recjudge_tui.domain.judge import JudgeSpec
    from recjudge_tui.people.raters import combine
    from recjudge_tui.runs import start
    from recjudge_tui.runs.plan import RunRequest
    from recjudge_tui.runs.settings import settings_for
    from recjudge_tui.store.projects import project_id
    from recjudge_tui.store.runs import list_runs

    identity = project_id(database, project)
    done = {row["protocol"] for row in list_runs(database, identity) if row["state"] == "done"}
    for name, shown in _SHOWN.items():
        if name not in done:
            settings = settings_for(name, history=shown.history)
            request = RunRequest(identity, JudgeSpec(spec="rules"), settings, shown.rater)
            (plan,) = start.plan(database, [request])
            assert plan.run_id is not None
            start.work(database, plan.run_id)
    for consensus, rule in _CONSENSUS.items():
        combine(database, identity, consensus, rule, ANNOTATORS)


def _ask_model(database: Database, spec: str) -> None:
    """Ask a model about a few pairs with short lists, and show it beside the built-in judge and people."""
    from recjudge_tui.cli.options import chosen_judge
    from recjudge_tui.cli.running import plan_and_print, work_on
    from recjudge_tui.domain.judge import JudgeAddress
    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.table import write_table
    from recjudge_tui.reports.declare import table_of
    from recjudge_tui.runs.plan import RunRequest
    from recjudge_tui.runs.settings import AlreadyJudgedError, settings_for
    from recjudge_tui.store.projects import project_id

    identity = project_id(database, _EXAMPLE)
    judge = chosen_judge(spec, JudgeAddress())
    settings = settings_for("pairwise", sample=_ASKED, history=5, top_k=5, max_tokens=400)
    try:
        (plan,) = plan_and_print(database, [RunRequest(identity, judge, settings)], dry_run=False)
    except AlreadyJudgedError as error:
        narrate(error.title)
        return
    assert plan.run_id is not None
    work_on(database, plan.run_id, narrate)
    opened, people = Project(database, identity, _EXAMPLE), _SHOWN["pairwise"].consensus
    asked = {"protocol": "pairwise", "aspect": OVERALL, "raters": (plan.rater, "rules"), "truth": people}
    write_table(table_of(opened, "agreement", **asked))


def _print_summary(database: Database) -> None:
    """Print what was judged, a leaderboard, the agreement of the judge and of people, and the next steps."""
    from dataclasses import replace

    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.table import readable, write_table
    from recjudge_tui.reports.declare import table_of
    from recjudge_tui.store.projects import project_id
    from recjudge_tui.store.runs import list_runs

    click.echo("Synthetic data, judged by “rules”, which is not a language model.")
    for project in PROJECTS:
        runs = list_runs(database, project_id(database, project))
        names = ", ".join(run["protocol"] for run in reversed(runs))
        click.echo(f"  {project}: {sum(run['calls'] for run in runs):,} calls ({names})")
    click.echo()
    opened, people = Project.named(database, _EXAMPLE), _SHOWN["pairwise"].consensus
    board = table_of(opened, "leaderboard", protocol="pairwise", rater="rules")
    shown, _ = readable(board, notes="none")
    write_table(replace(shown, title=f"{shown.title} · {_EXAMPLE}"))
    asked = {"protocol": "pairwise", "aspect": OVERALL, "raters": ("rules",), "truth": people}
    click.echo(click.wrap_text(f"\n{table_of(opened, 'agreement', **asked).answer}", 80))
    click.echo(_NEXT)


def _print_tables(database: Database, project: str) -> None:
    from dataclasses import replace

    from recjudge_tui.domain.protocols import with_unit
    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.table import write_table
    from recjudge_tui.reports.declare import table_of
    from recjudge_tui.store.projects import project_id

    opened = Project(database, project_id(database, project), project)
    tables = [
        table_of(opened, "leaderboard", protocol=name, aspect=shown.aspect) for name, shown in _SHOWN.items()
    ]
    for name, shown in _SHOWN.items():
        if shown.consensus:
            raters = (*ANNOTATORS, shown.consensus, shown.rater or "rules")
            tables.append(table_of(opened, "agreement", protocol=name, aspect=OVERALL, raters=raters))
    explained = with_unit("explanation")[0]
    tables.append(
        table_of(opened, "agreement", protocol=explained, truth="user", raters=(*ANNOTATORS, "rules"))
    )
    for table in tables:
        write_table(
            replace(table, title=f"{table.title} · {project} (synthetic data; rules is not a language model)")
        )
        click.echo()


@click.group()
def config() -> None:
    """Show your settings: theme, name, judge and keys."""


@config.command("path")
def config_path() -> None:
    """Print the path of the settings file.

    \b
    Example:
      recjudge config path
    """
    from recjudge_tui.config_file import config_path

    click.echo(config_path())


@config.command("show")
@table_options
def config_show(fmt: str | None, out: Path | None) -> None:
    """Show the settings in effect and where each comes from. Exit 1 if the file has a mistake.

    \b
    Example:
      recjudge config show
    """
    loaded, rows, theme, faults = _checked()
    put(_settings_table(loaded, rows, theme), fmt, out)
    _tell(loaded.path, faults)


@config.command("keys")
@click.option("--changed", is_flag=True, help="Only bindings that the settings file changes.")
@table_options
def config_keys(changed: bool, fmt: str | None, out: Path | None) -> None:
    """List the app's key bindings: ids, keys, and the file to change them in. Exit 1 if that file has a mistake.

    \b
    Example:
      recjudge config keys
    """
    loaded, rows, _, faults = _checked()
    shown = tuple(row for row in rows if row.line is not None or row.keys != row.shipped or not changed)
    put(_keys_table(loaded, shown), fmt, out)
    _tell(loaded.path, faults)


def _checked() -> tuple[SettingsFile, tuple[KeyRow, ...], str, tuple[Fault, ...]]:
    from recjudge_tui.cli.app import checked_settings
    from recjudge_tui.config_file import read_preferences

    loaded = read_preferences()
    return loaded, *checked_settings(loaded)


def _tell(path: Path, faults: tuple[Fault, ...]) -> None:
    for fault in faults:
        narrate(fault.sentence(path))
    if faults:
        raise click.exceptions.Exit(1)


def _settings_table(loaded: SettingsFile, rows: tuple[KeyRow, ...], theme: str) -> Table:
    from recjudge_tui.config_file import reader_name
    from recjudge_tui.reports.common.table import Column, Table

    preferences = loaded.preferences
    file, chosen, reader = loaded.path.name, preferences.theme, reader_name()
    named = "RECJUDGE_READER" if os.environ.get("RECJUDGE_READER") else file
    judge = preferences.judge
    spec = " ".join((judge.judge.spec, *chain(*judge.judge.words.values()))) if judge else "none"
    told = (
        ("theme", theme, f"{file}:{chosen.line}" if chosen and chosen.value == theme else "shipped"),
        ("reader", reader, "shipped" if reader == "reader" else named),
        ("judge", spec, f"{file}:{judge.line}" if judge else "shipped"),
        *((row.id, ", ".join(row.keys), f"{file}:{row.line}") for row in rows if row.keys != row.shipped),
    )
    names = ("setting", "value", "from")
    settings: tuple[Row, ...] = tuple(dict(zip(names, row, strict=True)) for row in told)
    columns = tuple(Column(name, name) for name in names)
    missing = "" if loaded.path.exists() else ", which does not exist yet"
    return Table("Settings", columns, settings, notes=(f"The settings file is {loaded.path}{missing}.",))


def _keys_table(loaded: SettingsFile, rows: tuple[KeyRow, ...]) -> Table:
    from recjudge_tui.reports.common.table import Column, Table

    columns: tuple[Column, ...] = (
        Column("id", "id"),
        Column("keys", "keys"),
        Column("does", "what it does"),
        Column("where", "where", minor=True),
    )
    if changed := any(row.line for row in rows):
        columns = (*columns, Column("changed", "changed"))
    cells = []
    for row in rows:
        cell: Row = {"id": row.id, "keys": ", ".join(row.keys), "does": row.does, "where": row.where}
        if changed:
            shipped = f"{loaded.path.name}:{row.line}, shipped {', '.join(row.shipped)}"
            cell["changed"] = shipped if row.line else ""
        cells.append(cell)
    return Table("Keys", columns, tuple(cells), notes=(f"Change them under [keys] in {loaded.path}.",))


@click.command()
@click.option("-p", "--project", metavar="PROJECT", help="Check the texts of this project instead.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    metavar="N",
    help="With -p: print at most N findings.",
)
@db_option
@table_options
def doctor(project: str | None, limit: int, db: str | None, fmt: str, out: Path | None) -> None:
    """Check the installation, servers, keys and runs.

    Also the database, the terminal, extras and abandoned runs. Exit 1 on a problem.

    With -p, list the texts in a project's data that try to give a judge instructions, close a frame, look like template
    syntax, hide characters or are very long, and how many cases show each. Nothing is changed.

    \b
    Example:
      recjudge doctor
      recjudge doctor -p movies --format csv -o texts.csv
    """
    if project is not None:
        from recjudge_tui.project import Project
        from recjudge_tui.reports.hostile_texts import hostile_texts_table

        with open_db(db) as database:
            opened = Project.named(database, project)
            put(hostile_texts_table(database, opened.id, opened.name, limit), fmt, out)
        return
    table = _installation(db)
    put(table, fmt, out)
    if any(row["state"] == "problem" for row in table.rows):
        raise click.exceptions.Exit(1)


def _installation(db: str | None) -> Table:
    from recjudge_tui.domain.judge import JudgeSpec
    from recjudge_tui.errors import StoreError, UsageError
    from recjudge_tui.reports import doctor as checks
    from recjudge_tui.runs.lease import is_alive
    from recjudge_tui.runs.prices import price_of
    from recjudge_tui.settings import config_dir, database_path
    from recjudge_tui.store.schema import FileReport, inspect_file
    from recjudge_tui.system import read_mounts

    path = database_path(db)
    looked: FileReport | StoreError | None
    try:
        looked = inspect_file(path)
    except StoreError as error:
        looked = error
    prices_fault = None
    try:
        price_of(JudgeSpec(spec="openai:any"))
    except UsageError as error:
        prices_fault = error
    running: tuple[RunningRun, ...] = getattr(looked, "running", ())
    screen = shutil.get_terminal_size()
    around = checks.Surroundings(
        path=path,
        stale=tuple(run for run in running if run.owner is None or not is_alive(run.owner, run.heartbeat)),
        prices=config_dir() / "prices.toml",
        prices_fault=prices_fault,
        environment=os.environ,
        encoding=sys.stdout.encoding or "",
        size=(screen.columns, screen.lines) if sys.stdout.isatty() else None,
        mounts=read_mounts(),
    )
    return checks.doctor_table([*checks.local_checks(around, looked), *checks.server_checks()], command)


@click.group()
def db() -> None:
    """Back up the database file."""


@db.command("backup")
@in_database
@click.argument("file", type=click.Path(path_type=Path))
def db_backup(database: Database, file: Path) -> None:
    """Copy the database to a new file; safe while runs are active.

    Example:
      recjudge db backup monday.db
    """
    from recjudge_tui.store.database import backup as copy

    copy(database, file)
    narrate(f"written to {file}")
