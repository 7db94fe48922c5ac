"""`recjudge config`."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import narrate, put_table, table_options

if TYPE_CHECKING:
    from recjudge_tui.config_file import SettingsFile
    from recjudge_tui.domain.preferences import Fault, KeyRow
    from recjudge_tui.reports.common.table import Row, Table


@click.group()
def config() -> None:
    """Show your settings: theme, name, judge and keys."""


@config.command()
def path() -> None:
    """Print the path of the settings file.

    \b
    Example:
      recjudge config path
    """
    from recjudge_tui.config_file import config_path

    click.echo(config_path())


@config.command()
@table_options
def show(fmt: str | None, out: Path | None) -> None:
    """Show the settings in effect and where each comes from. Exit 1 if the file has a mistake.

    \b
    Example:
      recjudge config show
    """
    loaded, rows, theme, faults = _checked()
    put_table(_settings_table(loaded, rows, theme), fmt, out)
    _tell(loaded.path, faults)


@config.command()
@click.option("--changed", is_flag=True, help="Only bindings that the settings file changes.")
@table_options
def keys(changed: bool, fmt: str | None, out: Path | None) -> None:
    """List the app's key bindings: ids, keys, and the file to change them in. Exit 1 if that file has a mistake.

    \b
    Example:
      recjudge config keys
    """
    loaded, rows, _, faults = _checked()
    shown = tuple(row for row in rows if row.line is not None or row.keys != row.shipped or not changed)
    put_table(_keys_table(loaded, shown), fmt, out)
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
    file, moved = loaded.path.name, [row for row in rows if row.keys != row.shipped]
    chosen, reader = preferences.theme, reader_name()
    named = "RECJUDGE_READER" if os.environ.get("RECJUDGE_READER") else file
    settings: list[Row] = [
        {
            "setting": "theme",
            "value": theme,
            "from": f"{file}:{chosen.line}" if chosen and chosen.value == theme else "shipped",
        },
        {"setting": "reader", "value": reader, "from": "shipped" if reader == "reader" else named},
    ]
    judge = preferences.judge
    settings.append(
        {
            "setting": "judge",
            "value": " ".join((judge.judge.spec, *chain(*judge.judge.words.values()))) if judge else "none",
            "from": f"{file}:{judge.line}" if judge else "shipped",
        }
    )
    for row in moved:
        settings.append({"setting": row.id, "value": ", ".join(row.keys), "from": f"{file}:{row.line}"})
    columns = (Column("setting", "setting"), Column("value", "value"), Column("from", "from"))
    missing = "" if loaded.path.exists() else ", which does not exist yet"
    return Table(
        "Settings", columns, tuple(settings), notes=(f"The settings file is {loaded.path}{missing}.",)
    )


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
