"""Keeps connections for reuse: opening one reads the whole schema, which takes longer than reading a case."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from recjudge_tui.errors import RecjudgeError
from recjudge_tui.store.database import Database, file_identity
from recjudge_tui.store.schema import connect

_KEPT = 2
FileIdentity = tuple[int, int] | None
# the file and the number of closings when a connection was lent
Lent = tuple[FileIdentity, int]


class SpareConnections:
    """Lends connections to one file to threads, each to one thread at a time, and keeps a few for the next."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._spare: list[Database] = []
        self._file: FileIdentity = None
        # a connection lent before the last closing is not kept
        self._closings = 0

    @contextmanager
    def lend(self) -> Iterator[Database]:
        """Raises StoreError if the file cannot be opened, or is gone."""
        lent, db = self._take()
        try:
            yield db
        except RecjudgeError:
            self._take_back(lent, db)
            raise
        except BaseException:
            db.close()
            raise
        self._take_back(lent, db)

    def close(self) -> None:
        """Close the spare connections now, and lent ones as soon as they come back."""
        with self._lock:
            self._closings += 1
            self._close_spare()

    def _take(self) -> tuple[Lent, Database]:
        file = file_identity(self._path)
        with self._lock:
            if file != self._file:
                self._close_spare()
                self._file = file
            lent = file, self._closings
            if self._spare:
                return lent, self._spare.pop()
        return lent, connect(self._path, must_exist=True, one_thread=False)

    def _take_back(self, lent: Lent, db: Database) -> None:
        with self._lock:
            same = lent == (self._file, self._closings)
            if same and len(self._spare) < _KEPT and not db.connection.in_transaction:
                self._spare.append(db)
                return
        db.close()

    def _close_spare(self) -> None:
        while self._spare:
            self._spare.pop().close()
