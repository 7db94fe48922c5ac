"""Data that many tests begin with: made once in a process, and copied into the empty database of each."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Hashable

from recjudge_tui.store.database import Database

_KEPT: dict[Hashable, sqlite3.Connection] = {}
_EMPTY_AT_FIRST = ("projects", "prompts", "capabilities")


def fill(db: Database, key: Hashable, make: Callable[[Database], object]) -> None:
    """Fill the database by `make`. For empty databases, `make` runs once for each key and its result is copied."""
    if any(db.value(f"SELECT EXISTS (SELECT 1 FROM {table})") for table in _EMPTY_AT_FIRST):
        make(db)
    elif key in _KEPT:
        _KEPT[key].backup(db.connection)
    else:
        make(db)
        _KEPT[key] = sqlite3.connect(":memory:", check_same_thread=False)
        db.connection.backup(_KEPT[key])
