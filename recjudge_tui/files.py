"""Atomic file writing, never over a database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recjudge_tui.errors import UsageError

_DATABASE = b"SQLite format 3\0"
# a write-ahead log begins with one of these, by the byte order of its checksums
_LOGS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_COMPANIONS = ("-wal", "-shm", "-journal")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield the path of a draft next to `path`; it replaces `path` when the block ends, and is deleted on an error.

    Two processes may write the same file. A device or a pipe is written directly. The caller handles OSError. Raises
    UsageError as `refuse_database` does.
    """
    refuse_database(path)
    if path.exists() and not path.is_file():
        yield path
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield draft
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def refuse_database(path: Path) -> None:
    """Raise UsageError if `path` is a database, one of its backups, or a file that SQLite keeps beside one.

    The file's content decides, so links and other names do not matter. Raises OSError for a file that cannot be read.
    """
    real = path.resolve()
    beside = next((real.name.removesuffix(end) for end in _COMPANIONS if real.name.endswith(end)), "")
    if _is_database(real):
        what = "It is a database, or a backup of one."
    elif beside and _is_database(real.with_name(beside)):
        what = f"It belongs to the database {beside}."
    else:
        return
    raise UsageError(f"{path} is not overwritten", what, "Choose another file.")


def _is_database(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        begin = file.read(len(_DATABASE))
    return begin == _DATABASE or begin[:4] in _LOGS
