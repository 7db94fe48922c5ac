"""Notices files that change while they are read: another program may still be writing them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.errors import InputError


class Version(NamedTuple):
    """What changes when a file is written to or replaced."""

    size: int
    mtime_ns: int
    inode: int


def versions(paths: Iterable[Path]) -> dict[Path, Version | None]:
    """The version of each file now; None for one that is not there."""
    return {path: _version(path) for path in paths}


def refuse_changed(before: Mapping[Path, Version | None]) -> None:
    """Raise InputError if a file has another version than before."""
    for path, version in before.items():
        if _version(path) != version:
            raise InputError(
                f"{path} changed while it was being read",
                "Another program seems to be writing it, so it may be incomplete.",
                "Nothing was imported. Import it again when it is complete; a file that is written under another name and"
                " renamed at the end is never read too early.",
            )


def _version(path: Path) -> Version | None:
    with suppress(OSError):
        status = path.stat()
        return Version(status.st_size, status.st_mtime_ns, status.st_ino)
    return None
