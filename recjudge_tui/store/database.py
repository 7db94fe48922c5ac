"""A connection to the one SQLite file: transactions, errors in plain words, safe copies."""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from itertools import chain, compress, count, islice
from operator import not_
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import ConstraintError, RecjudgeError, StoreBusyError, StoreError, UsageError
from recjudge_tui.files import whole_file
from recjudge_tui.system import MORE_HANDLES, can_open_more

if TYPE_CHECKING:
    from sqlite_utils import Database as Tables


T = TypeVar("T")
# the only name of sqlite3 that others need
SQLITE_VERSION = sqlite3.sqlite_version
Parameters = Sequence[Any] | Mapping[str, Any]
BUSY_TIMEOUT_S = 30.0
_BULK_CACHE_KIB = 32_768
# more are refused by SQLite before 3.32
_PARAMETERS_A_STATEMENT = 999
_ROWS_AT_ONCE = 2_000


class StoredRow(sqlite3.Row):
    """A row of a query. A column is read by its name, as `row["name"]` or `row.name`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except IndexError:
            raise AttributeError(f"the row has no column {name}") from None


class Database:
    """A connection with short, explicit transactions. Only the thread that opened it may use it, unless `open_file` says
    otherwise. Every sqlite3 error is raised as a StoreError with a cause and a next step; the caller must explain a
    ConstraintError."""

    def __init__(self, connection: sqlite3.Connection, path: Path, *, read_only: bool = False) -> None:
        self.connection = connection
        self.path = path
        self.read_only = read_only
        self._kept: dict[Hashable, Any] | None = None

    @property
    def tables(self) -> Tables:
        """The same connection as a sqlite_utils.Database, for bulk loading and schema inspection."""
        import sqlite_utils

        return sqlite_utils.Database(self.connection, execute_plugins=False)

    def execute(self, sql: str, parameters: Parameters = ()) -> sqlite3.Cursor:
        return self._done(self.connection.execute, sql, parameters)

    def execute_many(self, sql: str, rows: Iterable[Parameters]) -> None:
        self._done(self.connection.executemany, sql, rows)

    def insert_many(
        self, sql: str, rows: Iterable[Sequence[object]], shared: Sequence[object] = (), *, end: str = ""
    ) -> int:
        """INSERT rows of equal length: `sql` up to VALUES, of which all rows share the first columns, and its `end`. Returns
        how many were stored. Several rows a statement, in which a value that all of them have stands once, take a third of
        the time of `execute_many`: to bind one takes as long as to store it. Call inside a transaction."""
        left, stored = iter(rows), 0
        while chunk := list(islice(left, _ROWS_AT_ONCE)):
            columns = list(zip(*chunk, strict=True))
            same = [column[0] == column[-1] and column.count(column[0]) == len(chunk) for column in columns]
            once = [*shared, *(column[0] for column in compress(columns, same))]
            cells = list(zip(*compress(columns, map(not_, same)), strict=True))
            own, fixed, free = same.count(False), count(len(shared) + 1), count(len(once) + 1)
            places = [*range(1, len(shared) + 1), *(next(fixed if one else free) for one in same)]
            first, later = (
                f"({', '.join(f'?{n}' if n <= most else '?' for n in places)})"
                for most in (own + len(once), len(once))
            )
            at_once = max((_PARAMETERS_A_STATEMENT - len(once)) // max(own, 1), 1)
            for start in range(0, len(chunk), at_once):
                some = min(at_once, len(chunk) - start)
                whole = f"{sql} VALUES {', '.join([first, *[later] * (some - 1)])} {end}"
                parameters = [*once, *chain.from_iterable(cells[start : start + some])]
                stored += self.execute(whole, parameters).rowcount
        return stored

    def rows(self, sql: str, parameters: Parameters = ()) -> list[StoredRow]:
        return self._done(self.execute(sql, parameters).fetchall)

    def row(self, sql: str, parameters: Parameters = ()) -> StoredRow | None:
        row: StoredRow | None = self._done(self.execute(sql, parameters).fetchone)
        return row

    def _done(self, action: Callable[..., T], *arguments: object) -> T:
        """The action's result, with its errors as in `explained`, without the cost of a context manager in every call."""
        try:
            return action(*arguments)
        except (sqlite3.DatabaseError, UnicodeEncodeError, OverflowError) as error:
            if "malformed JSON" in str(error):
                raise next(odd_json(self), _explanation(error, self.path)) from error
            raise _explanation(error, self.path) from error

    def only(self, sql: str, parameters: Parameters = (), missing: RecjudgeError | None = None) -> StoredRow:
        """The row of a query that always has one, such as of counts; raises `missing` where it may have none."""
        row = self.row(sql, parameters)
        if row is None and missing is not None:
            raise missing
        assert row is not None
        return row

    def value(self, sql: str, parameters: Parameters = ()) -> Any:
        """The first column of the first row, or None when there is no row."""
        row = self.row(sql, parameters)
        return None if row is None else row[0]

    def number(self, sql: str, parameters: Parameters = ()) -> int:
        """The first column of the only row, such as a count."""
        return int(self.value(sql, parameters))

    def found(self, sql: str, parameters: Parameters = ()) -> int | None:
        """The first column of the first row, such as an id; None without a row."""
        number: int | None = self.value(sql, parameters)
        return number

    def any(self, sql: str, parameters: Parameters = ()) -> bool:
        """Whether the query has a row."""
        return bool(self.value(f"SELECT EXISTS ({sql})", parameters))

    def tuples(self, sql: str, parameters: Parameters = ()) -> Iterator[tuple[Any, ...]]:
        """The rows as tuples, one after the other: for many rows."""
        cursor = self.execute(sql, parameters)
        cursor.row_factory = None
        with explained(self.path):
            yield from cursor

    def column(self, sql: str, parameters: Parameters = ()) -> list[Any]:
        """The first column of every row."""
        return [row[0] for row in self.rows(sql, parameters)]

    def pairs(self, sql: str, parameters: Parameters = ()) -> dict[Any, Any]:
        """The first column of every row -> the second."""
        return {row[0]: row[1] for row in self.rows(sql, parameters)}

    def records(self, make: Callable[..., T], sql: str, parameters: Parameters = ()) -> list[T]:
        """What `make` makes of the columns of each row."""
        return [make(*row) for row in self.rows(sql, parameters)]

    def add(self, table: str, **columns: object) -> int:
        """Insert a row of these columns and return its id."""
        marks = ", ".join("?" * len(columns))
        sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
        rowid = self.execute(sql, tuple(columns.values())).lastrowid
        assert rowid is not None
        return rowid

    def change(self, table: str, row_id: int, **columns: object) -> None:
        """Set columns of a row, in a transaction of its own unless one is open."""
        with self.transaction():
            names = ", ".join(f"{name} = ?" for name in columns)
            self.execute(f"UPDATE {table} SET {names} WHERE id = ?", (*columns.values(), row_id))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A write transaction, all or nothing. Takes the write lock at once; a nested one joins the outer one."""
        nested = self.connection.in_transaction
        if nested:
            yield
            return
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            # has no effect if a failed COMMIT (disk full) has already rolled back
            self.connection.rollback()
            raise

    @contextmanager
    def bulk_writing(self, cache_kib: int | None = None, *, temporary: str = "MEMORY") -> Iterator[None]:
        """Enlarge the page cache, so that the indexes of a large table fit into it (32 MiB, or `cache_kib`), and keep
        temporary files in memory, or in a FILE. For a statement with a trigger SQLite prepares such a file, which takes as
        long as to store a verdict."""
        before = self._bulk_settings(f"-{cache_kib or _BULK_CACHE_KIB}", temporary)
        try:
            yield
        except GeneratorExit:
            # an interrupt came between the block and its end, so the file may be closed by now
            raise
        except BaseException:
            self._bulk_settings(*before)
            raise
        self._bulk_settings(*before)

    @contextmanager
    def late_indexes(self, tables: Sequence[str], rows: int) -> Iterator[None]:
        """Make the indexes of the tables after the block, in a third of the time, if it adds more rows than there are; those
        that are unique stay. Call inside a transaction."""
        made = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql NOT LIKE '%UNIQUE%'"
        many = "SELECT 1 FROM {} LIMIT 1 OFFSET {}"
        small = [table for table in tables if rows >= 10_000 and not self.any(many.format(table, rows))]
        indexes = [index for table in small for index in self.rows(made, (table,))]
        for name, _ in indexes:
            self.execute(f"DROP INDEX {name}")
        yield
        for _, sql in indexes:
            self.execute(sql)

    def _bulk_settings(self, cache_size: str, temp_store: str) -> tuple[str, str]:
        """Set both; the values before. The second cannot change within a transaction, where it stays."""
        before = str(self.value("PRAGMA cache_size")), str(self.value("PRAGMA temp_store"))
        self.execute(f"PRAGMA cache_size = {cache_size}")
        if not self.connection.in_transaction:
            self.execute(f"PRAGMA temp_store = {temp_store}")
        return before

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """All reads inside the block see one state of the file, and `kept` reads each key once. A nested block joins the
        outer one; inside a transaction nothing is kept."""
        if self.connection.in_transaction:
            yield
            return
        self.execute("BEGIN")
        self._kept = {}
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            self.connection.rollback()
            raise
        finally:
            self._kept = None

    def kept(self, key: Hashable, read: Callable[[], T]) -> T:
        """The result of `read`, which is called only once for each key within `one_state`. The value is shared: never
        change it."""
        if self._kept is None:
            return read()
        if key not in self._kept:
            self._kept[key] = read()
        value: T = self._kept[key]
        return value

    def change_count(self) -> tuple[int, int]:
        """A value that differs after any change to the file, by this connection or by another one."""
        return self.value("PRAGMA data_version"), self.connection.total_changes

    def interrupt(self) -> None:
        """Stop the statement that another thread is running on this connection."""
        self.connection.interrupt()

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def named_cells(row: StoredRow, names: Collection[str], yes_no: Collection[str] = ()) -> dict[str, Any]:
    """The columns of the row that have one of these names; those of `yes_no` as booleans."""
    cells = zip(row.keys(), row, strict=True)
    return {name: bool(cell) if name in yes_no else cell for name, cell in cells if name in names}


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn sqlite3's errors into a StoreError that says what to do."""
    try:
        yield
    except (sqlite3.DatabaseError, UnicodeEncodeError) as error:
        raise _explanation(error, path) from error


_COPY = "Restore a backup"
# part of SQLite's message -> what is the matter with the file, and what to do
_CAUSES = {
    "not a database": ("is not a recjudge database", "Choose another file, or move this one away."),
    "malformed": ("is damaged", f"{_COPY}; keep the damaged file."),
    "disk I/O error": (
        "cannot be read or written", "Check the disk; network folders are not safe for a database.",
    ),
    "is full": (
        "cannot be written: no space left on the disk", "Free some space and run the command again; nothing was lost.",
    ),
    "readonly": (
        "is read-only", "Make the file and its folder writable, or choose another file.",
    ),
    "Could not decode": ("holds a text that is not valid UTF-8", f"{_COPY}, or correct that column in the file."),
    "unable to open": ("cannot be opened", "Check that the folder exists and is writable."),
}  # fmt: skip


def _explanation(error: sqlite3.DatabaseError | UnicodeEncodeError | OverflowError, path: Path) -> StoreError:
    if isinstance(error, sqlite3.IntegrityError):
        return ConstraintError("the database refused a change", f"SQLite says: {error}.")
    if isinstance(error, OverflowError):
        return StoreError("a number is too large for the database")
    if isinstance(error, UnicodeEncodeError):
        return StoreError(
            "a text that is not valid Unicode cannot be stored", f"{error.reason} at {error.start}."
        )
    text = str(error)
    if "locked" in text:
        return StoreBusyError(
            f"{path} is locked by another program",
            f"An import, a run or another program is writing to it. SQLite says: {text}.",
            "Nothing was changed; try again when it is done.",
        )
    if "unable to open" in text and not can_open_more():
        return StoreError(f"{path} cannot be opened", "Too many files are open.", MORE_HANDLES)
    for phrase, (title, step) in _CAUSES.items():
        if phrase in text:
            return StoreError(f"{path} {title}", f"SQLite says: {text}.", step)
    return StoreError(f"the database {path} refused a statement", f"SQLite says: {text}.")


# ---- what the cells of a file hold: it may come from anybody -----------------------------------------------------------


# the columns that hold JSON
_JSON = {
    "runs": ("judge", "settings", "identity", "estimate"), "run_groups": ("request",), "raters": ("recipe",),
    "imports": ("warnings",), "prompts": ("content",), "snapshots": ("content",), "calls": ("sent",),
    "users": ("attributes",), "items": ("attributes",), "explanations": ("attributes",), "capabilities": ("record",),
    "scales": ("words",),
}  # fmt: skip


# what names a row of the tables without an id
_NAMED = {"users": "user_id", "items": "item_id", "capabilities": "judge", "scales": "aspect"}


def read_cell(kind: type[T], text: str | None, table: str, row: object, column: str) -> T:
    """A stored JSON text as a value of this type. Raises StoreError for anything else, naming table, row and column."""
    from pydantic import ValidationError

    try:
        value: T = _reader(cast("Hashable", kind)).validate_json(text or "null")
        return value
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, fault["loc"]))
        raise odd_cell(table, row, column, f"{place}: {fault['msg']}" if place else fault["msg"]) from error
    except UsageError as error:
        raise odd_cell(table, row, column, error.title) from error


@lru_cache(maxsize=32)
def _reader(kind: Hashable) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(cast("type[Any]", kind))


def odd_cell(table: str, row: object, column: str, fault: str) -> StoreError:
    return StoreError(
        f"row {row} of the table {table} cannot be read: its “{column}” is not what recjudge stores",
        f"{one_line(fault, 200)}.",
        "Correct it with an SQLite tool, delete that row, or use a copy from before it was changed.",
    )


def odd_json(db: Database) -> Iterator[StoreError]:
    """An error for each cell that should hold JSON and does not. Reads every such cell."""
    for table, columns in _JSON.items():
        for column in columns:
            named = _NAMED.get(table, "id")
            for row in db.column(
                f"SELECT {named} FROM {table} WHERE {column} <> '' AND NOT json_valid({column})"
            ):
                yield odd_cell(table, row, column, "It is not JSON")


# ---- opening and copying -------------------------------------------------------------------------------------------------


def open_file(
    path: Path, *, one_thread: bool = True, read_only: bool = False, wait_s: float | None = None
) -> Database:
    """A connection to the file; the schema is not updated. Without `one_thread`, threads may take turns to use it. `wait_s`:
    how long a statement waits while another process has locked the file, BUSY_TIMEOUT_S unless given."""
    address: Path | str = path
    if read_only:
        # if nobody can write to it, SQLite needs no log and no locks
        log = path.with_name(f"{path.name}-wal")
        is_still = is_read_only(path) and not (log.exists() and log.stat().st_size > 0)
        address = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if is_still else ''}"
    with explained(path):
        if not read_only:
            _own_file(path)
        connection = sqlite3.connect(
            address,
            timeout=BUSY_TIMEOUT_S if wait_s is None else wait_s,
            isolation_level=None,
            check_same_thread=one_thread,
            uri=read_only,
        )
        connection.row_factory = StoredRow
        try:
            distrust(connection)
            if read_only:
                connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA foreign_keys = ON")
            # a finished call has been paid for: it must survive a power cut, not only a killed process
            connection.execute("PRAGMA synchronous = FULL")
            # what is deleted is overwritten; not every build of SQLite does so by default
            connection.execute("PRAGMA secure_delete = ON")
        except BaseException:
            connection.close()
            raise
    return Database(connection, path, read_only=read_only)


def is_read_only(path: Path) -> bool:
    """Whether the file exists and this process may not write it, or cannot create the log beside it."""
    return path.is_file() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def _own_file(path: Path) -> None:
    """Create a missing file, empty and readable by its owner only; SQLite gives its logs the same permissions."""
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


class WaitingRuns:
    """Runs of rows in a temporary file of their own, of which 16 MiB are in memory; gone when it is closed. A run has the
    line it begins on, its owner and, packed, what its rows hold."""

    def __init__(self, owner: Sequence[str]) -> None:
        connection = sqlite3.connect("", isolation_level=None)
        connection.row_factory = StoredRow
        for setting in (
            "journal_mode = OFF",
            "synchronous = OFF",
            "temp_store = FILE",
            "cache_size = -16384",
        ):
            connection.execute(f"PRAGMA {setting}")
        self._db, self._owner = Database(connection, Path("the temporary file")), ", ".join(owner)
        self._db.execute(f"CREATE TABLE runs (line INTEGER, {self._owner}, elements BLOB)")
        self.close = connection.close

    def add(self, runs: Iterable[Sequence[object]]) -> None:
        self._db.insert_many("INSERT INTO runs", runs)

    def by_owner(self) -> Iterator[tuple[Any, ...]]:
        """A number for the owner, the line, the owner and what the rows hold: owners in the order of their first runs, the
        runs of one in the order in which they were added."""
        return self._db.tuples(
            f"""SELECT min(rowid) OVER (PARTITION BY {self._owner}) AS place, line, {self._owner}, elements
                FROM runs ORDER BY place, rowid"""
        )


def distrust(connection: sqlite3.Connection) -> None:
    """Let nothing in the file (triggers, views, checks, indexes) use a function or table with side effects."""
    # before SQLite 3.44 the full-text index counted as one, and our own triggers write to it
    connection.execute(f"PRAGMA trusted_schema = {'OFF' if sqlite3.sqlite_version_info >= (3, 44) else 'ON'}")
    if sys.version_info >= (3, 12):
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)


def use_wal(database: Database, wait_s: float | None = None) -> None:
    """Turn on the write-ahead log, so that readers do not wait for a writer. The setting is stored in the file, so call
    this only for a file that is known to be ours."""
    deadline = time.monotonic() + (BUSY_TIMEOUT_S if wait_s is None else wait_s)
    while True:
        try:
            if database.value("PRAGMA journal_mode") != "wal":
                database.execute("PRAGMA journal_mode = WAL")
            return
        except StoreBusyError:
            # SQLite does not wait when another process is creating the same file
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def backup(database: Database, target: Path) -> None:
    """Copy the database safely while others use it, all or nothing. Raises StoreError when the target exists or cannot be
    written."""
    if target.exists():
        raise StoreError(f"{target} exists already", next_step="Name a file that does not exist yet.")
    try:
        with explained(target), whole_file(target) as draft:
            _own_file(draft)
            copy = sqlite3.connect(draft)
            try:
                database.connection.backup(copy)
            finally:
                copy.close()
                with suppress(OSError):
                    draft.with_name(f"{draft.name}-journal").unlink()
    except OSError as error:
        raise StoreError(f"{target} cannot be written", f"{error.strerror}.") from error


def now(later_s: float = 0.0) -> str:
    """The current time, or one so many seconds later, ISO 8601 in UTC, with milliseconds."""
    return (datetime.now(timezone.utc) + timedelta(seconds=later_s)).isoformat(timespec="milliseconds")


def is_time(text: str) -> bool:
    """Whether the text is a time as `now` writes it."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def merge_search_index(db: Database) -> None:
    """Merge the parts of the search index: until then it keeps the words of deleted texts. Call it in the transaction of
    the deletion."""
    db.execute("INSERT INTO reasoning_search (reasoning_search) VALUES ('optimize')")


def empty_log(db: Database) -> None:
    """Copy the write-ahead log into the file and empty it, unless another process is reading. Call it after the commit."""
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def file_identity(path: Path) -> tuple[int, int] | None:
    """The identity of this file, which differs for another file put in its place; None if there is no file."""
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
        "Put it back, or open the new one.",
    )
