"""The type of the fixture `load`, which writes a file and imports it; what is stored, in short."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from recjudge_tui.domain.imports import ImportSummary
from recjudge_tui.store.database import Database

Load = Callable[..., ImportSummary]


def rows_of(db: Database, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """The rows of a query as tuples."""
    return [tuple(row) for row in db.rows(sql, values)]


def verdicts_of(db: Database, columns: str = "rater, aspect, label") -> list[tuple[Any, ...]]:
    return rows_of(db, f"SELECT {columns} FROM v_verdicts ORDER BY verdict_id")


def lists_of(db: Database) -> dict[tuple[str, str], list[str]]:
    """(user, system) -> the items of the list, each list in the order of its import."""
    lists: dict[tuple[str, str], list[str]] = {}
    for user, system, item in db.rows(
        """SELECT c.user_id, c.system, i.item_id FROM v_current_slates c
           JOIN slate_items i USING (slate_id) ORDER BY c.slate_id, i.rank"""
    ):
        lists.setdefault((user, system), []).append(item)
    return lists
