"""Removes what deletions leave of texts: SQLite overwrites deleted rows, but its search index and its log keep words."""

from __future__ import annotations

from recjudge_tui.store.database import Database


def merge_search_index(db: Database) -> None:
    """Merge the parts of the search index: until then it keeps the words of deleted texts. Call it in the transaction of
    the deletion.
    """
    db.execute("INSERT INTO reasoning_search (reasoning_search) VALUES ('optimize')")


def empty_log(db: Database) -> None:
    """Copy the write-ahead log into the file and empty it, unless another process is reading. Call it after the commit."""
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
