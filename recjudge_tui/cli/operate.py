"""Commands about the program itself: `config`, `doctor`, `db`."""

from __future__ import annotations

import os
import shutil
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.app import checked_settings
from recjudge_tui.cli.command import PrintedWithExit
from recjudge_tui.cli.output import command, narrate, open_db
from recjudge_tui.config_file import Fault, KeyRow, SettingsFile, read_preferences, reader_name
from recjudge_tui.config_file import config_path as settings_path
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import StoreError, UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports import doctor as checks
from recjudge_tui.reports.common.table import Table, columns
from recjudge_tui.reports.hostile_texts import hostile_texts_table
from recjudge_tui.runs.estimate import price_of
from recjudge_tui.runs.lease import is_alive
from recjudge_tui.settings import config_dir, database_path
from recjudge_tui.store.database import backup
from recjudge_tui.store.schema import FileReport, inspect_file
from recjudge_tui.system import read_mounts

if TYPE_CHECKING:
    from recjudge_tui.reports.common.table import Row
    from recjudge_tui.store.database import Database
    from recjudge_tui.store.schema import RunningRun


def config_path() -> None:
    click.echo(settings_path())


def config_show() -> PrintedWithExit:
    loaded, rows, theme, faults = _checked()
    return _with_faults(_settings_table(loaded, rows, theme), loaded, faults)


def config_keys(changed: bool) -> PrintedWithExit:
    loaded, rows, _, faults = _checked()
    shown = tuple(row for row in rows if row.line is not None or row.keys != row.shipped or not changed)
    return _with_faults(_keys_table(loaded, shown), loaded, faults)


def _checked() -> tuple[SettingsFile, tuple[KeyRow, ...], str, tuple[Fault, ...]]:
    loaded = read_preferences()
    return loaded, *checked_settings(loaded)


def _with_faults(table: Table, loaded: SettingsFile, faults: tuple[Fault, ...]) -> PrintedWithExit:
    said = "\n".join(fault.sentence(loaded.path) for fault in faults)
    return PrintedWithExit(table, 1 if faults else 0, said)


def _settings_table(loaded: SettingsFile, rows: tuple[KeyRow, ...], theme: str) -> Table:
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
    heads = columns(*(f"{name}|{name}" for name in names))
    missing = "" if loaded.path.exists() else ", which does not exist yet"
    return Table("Settings", heads, settings, notes=(f"The settings file is {loaded.path}{missing}.",))


def _keys_table(loaded: SettingsFile, rows: tuple[KeyRow, ...]) -> Table:
    changed = any(row.line for row in rows)
    heads = columns(
        "id|id", "keys|keys", "does|what it does", "where|(where)", *(["changed|changed"] if changed else ())
    )
    cells = []
    for row in rows:
        cell: Row = {"id": row.id, "keys": ", ".join(row.keys), "does": row.does, "where": row.where}
        if changed:
            shipped = f"{loaded.path.name}:{row.line}, shipped {', '.join(row.shipped)}"
            cell["changed"] = shipped if row.line else ""
        cells.append(cell)
    return Table("Keys", heads, tuple(cells), notes=(f"Change them under [keys] in {loaded.path}.",))


def doctor(project: str | None, limit: int, db: str | None) -> PrintedWithExit:
    if project is not None:
        with open_db(db) as database:
            return PrintedWithExit(hostile_texts_table(Project.named(database, project), limit))
    table = _installation(db)
    return PrintedWithExit(table, int(any(row["state"] == "problem" for row in table.rows)))


def _installation(db: str | None) -> Table:
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


def db_backup(database: Database, file: Path) -> None:
    backup(database, file)
    narrate(f"written to {file}")
