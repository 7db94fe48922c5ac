"""Detects triggers and views in a database file that are not recjudge's.

A trigger acts whenever its table is written, and a view determines what reports read. Both come with the file, and the
file may come from anybody.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from functools import lru_cache

from recjudge_tui.errors import StoreError
from recjudge_tui.store.database import Database

_CREATED = re.compile(r"^CREATE (VIRTUAL TABLE|TABLE|VIEW) (?:IF NOT EXISTS )?(\w+)", re.MULTILINE)


def refuse_foreign_objects(database: Database, shipped: tuple[str, ...]) -> None:
    """Raise StoreError for a trigger or a view that would act in recjudge's place; changes nothing.

    `shipped` is the SQL with which recjudge creates its tables. Triggers and views created by any version of
    recjudge are accepted. Other triggers are refused if they are on our tables or on tables that SQLite
    changes along with ours through foreign keys, and so is anything else with the name of one of our tables
    or views. Objects with other names are left alone.
    """
    ours = _created(shipped)
    foreign = [
        row
        for row in database.rows(
            "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL AND type <> 'index'"
        )
        if not _is_shipped(row["sql"], shipped)
    ]
    for row in foreign:
        expected = ours.get(row["name"].lower())
        # the SQL of a plain table cannot be compared: SQLite rewrites it when a column is added
        if expected and not expected == _kind(row) == "TABLE":
            raise StoreError(
                f"{database.path} holds a {_kind(row).lower()} “{row['name']}” that is not recjudge's",
                "Reports would show its content instead of the real data.",
                "Use a copy from before it was changed, or choose another file with --db. This one is unchanged.",
            )
    triggers = [row for row in foreign if _kind(row) == "TRIGGER"]
    written = _written(database, ours) if triggers else set()
    for row in triggers:
        if row["tbl_name"].lower() in written:
            raise StoreError(
                f"{database.path} holds a trigger “{row['name']}” that is not recjudge's",
                f"It would act whenever recjudge changes “{row['tbl_name']}”.",
                "If it is yours, drop it with an SQLite tool; else choose another file with --db. "
                "This one is unchanged.",
            )


@lru_cache(maxsize=8)
def _created(shipped: tuple[str, ...]) -> dict[str, str]:
    """The kind of each table and view that this SQL creates, by its name in lower case."""
    return {name.lower(): kind for kind, name in _CREATED.findall("\n".join(shipped))}


@lru_cache(maxsize=2048)
def _is_shipped(statement: str, shipped: tuple[str, ...]) -> bool:
    """Whether one of these texts holds the statement, from the beginning of a line to its semicolon."""
    return any(f"\n{statement};" in f"\n{text}" for text in shipped)


def _kind(row: sqlite3.Row) -> str:
    kind = str(row["type"]).upper()
    return "VIRTUAL TABLE" if kind == "TABLE" and row["sql"].upper().startswith("CREATE VIRTUAL") else kind


def _written(database: Database, ours: Mapping[str, str]) -> set[str]:
    """Tables and views, in lower case, that change when recjudge writes: ours, those in which a full-text index keeps
    its words, and those whose rows a foreign key deletes or updates along with them."""
    indexes = tuple(f"{name}_" for name, kind in ours.items() if kind == "VIRTUAL TABLE")
    names = {row[0].lower() for row in database.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
    references = [
        (row[0].lower(), row[1].lower())
        for row in database.rows(
            """SELECT m.name, f."table" FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f
               WHERE m.type = 'table' AND NOT (f.on_delete IN ('NO ACTION', 'RESTRICT')
                 AND f.on_update IN ('NO ACTION', 'RESTRICT'))"""
        )
    ]
    written = {*ours, *(name for name in names if name.startswith(indexes))}
    while more := {child for child, parent in references if parent in written} - written:
        written |= more
    return written
