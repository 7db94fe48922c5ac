"""Atomic file writing, never over a database, and reading files that a person wrote."""

from __future__ import annotations

import errno
import glob
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from recjudge_tui.errors import UsageError

_DATABASE = b"SQLite format 3\0"
# a write-ahead log begins with one of these, by the byte order of its checksums
_LOGS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_COMPANIONS = ("-wal", "-shm", "-journal")
_WRITTEN_BY_HAND = 1_000_000


def check_regular(path: Path) -> None:
    """Raise OSError for a pipe, a socket or a device, which may block or never end. Folders fail when they are opened."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        what = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
        raise OSError(errno.EINVAL, f"It is {what}, not a file")


def small_file(path: Path) -> bytes:
    """The bytes of a file that a person wrote, such as a mapping or a prompt. Raises OSError for one over 1 MB as well."""
    check_regular(path)
    with path.open("rb") as file:
        content = file.read(_WRITTEN_BY_HAND + 1)
    if len(content) > _WRITTEN_BY_HAND:
        raise OSError(errno.EFBIG, f"It is larger than {_WRITTEN_BY_HAND:,} bytes")
    return content


def parse_toml(text: str) -> dict[str, Any]:
    """What a TOML text says. Raises ValueError that names the line, RecursionError for one nested too deeply."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)


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
    _remove_abandoned_drafts(path)
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield draft
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _remove_abandoned_drafts(path: Path) -> None:
    """Delete the drafts of `path` that killed processes left behind, with SQLite's journals of them."""
    with suppress(OSError):
        for draft in path.parent.glob(f".{glob.escape(path.name)}.*.part*"):
            process = draft.name.removesuffix("-journal").removesuffix(".part").rpartition(".")[2]
            if process.isdecimal() and not _is_alive(int(process)):
                draft.unlink(missing_ok=True)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for temporary files, removed at the end. Those that killed processes left behind are removed first.

    Raises OSError where temporary files cannot be written.
    """
    from tempfile import TemporaryDirectory, gettempdir  # slow to load, and only needed here

    for folder in Path(gettempdir()).glob("recjudge-*-*"):
        process = folder.name.split("-")[1]
        with suppress(OSError):
            if process.isdecimal() and folder.stat().st_uid == os.getuid() and not _is_alive(int(process)):
                shutil.rmtree(folder, ignore_errors=True)
    with TemporaryDirectory(prefix=f"recjudge-{os.getpid()}-") as name:
        yield Path(name)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


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
