"""Data that many tests begin with: made once in a process, and copied into the empty database of each."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Hashable

from recjudge_tui.store.database import Database

_KEPT: dict[Hashable, sqlite3.Connection] = {}
_OF_PEOPLE = ("projects", "prompts", "watches", "capabilities")


def fill(db: Database, key: Hashable, make: Callable[[Database], object]) -> None:
    """Do what `make` does. In an empty database it is done once for each key, and then copied."""
    if any(db.value(f"SELECT EXISTS (SELECT 1 FROM {table})") for table in _OF_PEOPLE):
        make(db)
    elif key in _KEPT:
        _KEPT[key].backup(db.connection)
    else:
        make(db)
        _KEPT[key] = sqlite3.connect(":memory:", check_same_thread=False)
        db.connection.backup(_KEPT[key])
