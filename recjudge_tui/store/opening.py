"""Opens a database file and brings its schema up to date."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from recjudge_tui.errors import StoreError
from recjudge_tui.store.database import Database, is_read_only, open_file
from recjudge_tui.store.migrations import is_current, migrate


def connect(
    path: Path,
    *,
    must_exist: bool = False,
    one_thread: bool = True,
    notify: Callable[[str], None] | None = None,
    read_only: bool = False,
) -> Database:
    """Open the file, create it when new, and bring its schema up to date.

    With `read_only`, or if the file cannot be written, nothing is changed: a missing file and an older schema
    are errors. `notify` receives a line of text if the file could not be written, and when an update takes
    long. Without `one_thread`, several threads may use the connection, but the caller must make sure that
    only one does at a time. Raises StoreError when the file cannot be opened, is damaged, or comes from a
    newer version.
    """
    if (must_exist or read_only) and not path.exists():
        raise StoreError(f"no database at {path}", next_step="Name it with --db or RECJUDGE_DB.")
    if read_only or is_read_only(path):
        if notify and not read_only:
            notify(f"{path} cannot be written, so it is opened read-only")
        return _to_read(path, one_thread)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the folder {path.parent} cannot be created", f"{error.strerror}.", "Choose another with --db."
        ) from error
    database = open_file(path, one_thread=one_thread)
    try:
        migrate(database, notify=notify)
    except BaseException:
        database.close()
        raise
    return database


def _to_read(path: Path, one_thread: bool) -> Database:
    database = open_file(path, one_thread=one_thread, read_only=True)
    try:
        if not is_current(database):
            raise StoreError(
                f"{path} has the schema of an older recjudge",
                "It must be brought up to date, but it is opened read-only.",
                "Run any command on it, or on a copy that can be written.",
            )
    except BaseException:
        database.close()
        raise
    return database


def file_identity(path: Path) -> tuple[int, int] | None:
    """The identity of this file, which differs for another file put in its place; None if there is no
    file.
    """
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def file_is_gone(path: Path) -> StoreError:
    """The error for a file that was deleted or replaced while it was open."""
    what = "replaced by another file" if path.exists() else "deleted or moved"
    return StoreError(
        f"{path} was {what} while it was open",
        "Everything saved before that is in the original file.",
        "Put it back, or open the new one with --db.",
    )
