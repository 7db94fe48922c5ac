"""Opens a database file: makes the schema of a new one, and refuses a file whose schema is not exactly ours. Constraints
and triggers act whenever a table is written, and views determine what is read. All come with the file, and the file may
come from anybody."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.errors import StoreError
from recjudge_tui.settings import data_dir
from recjudge_tui.steps import Step
from recjudge_tui.store.database import (
    Database,
    StoredRow,
    distrust,
    explained,
    is_read_only,
    now,
    odd_json,
    open_file,
    use_wal,
)

_VERSION, _NAME = 1, "0001_initial"
_ELSE = "or choose another file. This one is unchanged."
_COPY = f"Undo the change with an SQLite tool, use a copy from before it, {_ELSE}"
_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL"
_WAIT_S = 5.0
_SHOWN_FAULTS = 3
_CREATE = re.compile(r"(?:--.*\n|\s)*(CREATE (?:UNIQUE |VIRTUAL )?(\w+) (\w+)\s[\s\S]*);\n")
_ON = re.compile(r"\bON (\w+)")
# spaces and comments, or what SQL means
_PARTS = re.compile(
    r"""\s+|--[^\n]*|/\*.*?\*/|('[^']*'|"[^"]*"|`[^`]*`|\[[^]]*\]|[^\s'"`\[/-]+|.)""", re.DOTALL
)


def connect(
    path: Path,
    *,
    must_exist: bool = False,
    one_thread: bool = True,
    notify: Callable[[str], None] | None = None,
    read_only: bool = False,
    wait_s: float | None = None,
) -> Database:
    """Open the file, and make the schema if it is new. With `read_only`, or if it cannot be written (`notify` is told),
    nothing is changed and a missing or empty file is an error. Without `one_thread` threads may take turns. `wait_s`: see
    `open_file`. Raises StoreError when the file cannot be opened, is damaged, or does not have exactly our schema."""
    if (must_exist or read_only) and not path.exists():
        raise StoreError(f"no database at {path}", step=Step("other file"))
    if not read_only and is_read_only(path):
        read_only = True
        if notify:
            notify(f"{path} cannot be written, so it is opened read-only")
    if not read_only:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"the folder {path.parent} cannot be created", f"{error.strerror}.", step=Step("other file")
            ) from error
    database = open_file(path, one_thread=one_thread, read_only=read_only, wait_s=wait_s)
    try:
        is_empty = check_schema(database)
        if read_only and is_empty:
            raise StoreError(f"{path} is empty", "It is opened read-only.", f"Fill it first, {_ELSE}")
        if not read_only:
            use_wal(database, wait_s)
        if is_empty:
            _make(database)
    except BaseException:
        database.close()
        raise
    return database


def _make(database: Database) -> None:
    """Make the schema, whole or not at all, unless another process has made it in the meantime."""
    with database.transaction():
        if check_schema(database):
            # `executescript` would commit the transaction
            for statement in _statements():
                database.execute(statement)
            sql = "INSERT INTO migrations (version, name, sha256, applied_at) VALUES (?, ?, ?, ?)"
            database.execute(sql, (_VERSION, _NAME, hashlib.sha256(_sql().encode()).hexdigest(), now()))


@cache
def _sql() -> str:
    return (data_dir("migrations") / f"{_NAME}.sql").read_text(encoding="utf-8")


def _statements() -> Iterator[str]:
    statement = ""
    for line in _sql().splitlines(keepends=True):
        statement += line
        if line.endswith(";\n") and sqlite3.complete_statement(statement):
            yield statement
            statement = ""


# ---- what a file may hold -----------------------------------------------------------------------------------------------


class _Object(NamedTuple):
    """A row of sqlite_master."""

    type: str
    name: str
    table: str
    sql: str


def check_schema(database: Database) -> bool:
    """Whether the file is empty. Raises StoreError if it is not ours. Our tables, indexes, triggers and views must be
    exactly those of the migration. What a reader added is left alone, except for triggers and indexes on our tables, and
    triggers on tables whose rows SQLite changes along with ours because of a foreign key."""
    # one statement, because another process may be creating the file right now
    found = {_Object(*row) for row in database.rows(_OBJECTS) if not row["name"].startswith("sqlite_")}
    if not found:
        return True
    _refuse_other_versions(database, found)
    ours = _ours()
    if found != ours:
        _refuse_changes(database, found - ours, ours - found)
    return False


def _refuse_other_versions(database: Database, found: set[_Object]) -> None:
    versions = {}
    if any((thing.type, thing.name) == ("table", "migrations") for thing in found):
        columns = {row["name"] for row in database.rows("PRAGMA table_info(migrations)")}
        if {"version", "name", "sha256"} <= columns:
            versions = {row[0]: row[1] for row in database.rows("SELECT version, name FROM migrations")}
    if versions.get(_VERSION) != _NAME:
        raise StoreError(
            f"{database.path} contains tables that are not recjudge's", next_step=f"Use a new file, {_ELSE}"
        )
    if len(versions) > 1:
        raise StoreError(
            f"{database.path} was made by another version of recjudge",
            f"Its schema is {max(versions)}; this version knows only schema {_VERSION}.",
            f"Use that version, {_ELSE}",
        )


@cache
def _ours() -> frozenset[_Object]:
    """What `_make` leaves in a file. It is read from the text, because making it in memory takes 10 ms."""
    objects = []
    for statement in _statements():
        if created := _CREATE.fullmatch(statement):
            sql, kind, name = created.groups()
            on = _ON.search(sql) if kind in ("INDEX", "TRIGGER") else None
            objects.append(_Object(kind.lower(), name, on[1] if on else name, sql))
            if sql.startswith("CREATE VIRTUAL"):
                # what the full-text index keeps depends on SQLite
                with closing(sqlite3.connect(":memory:")) as memory:
                    memory.execute(sql)
                    objects += (_Object(*row) for row in memory.execute(_OBJECTS) if row[1] != name)
    return frozenset(objects)


def _refuse_changes(database: Database, theirs: set[_Object], lost: frozenset[_Object]) -> None:
    def normal(things: Iterable[_Object]) -> dict[_Object, _Object]:
        return {
            thing._replace(sql=" ".join(part[1] for part in _PARTS.finditer(thing.sql) if part[1])): thing
            for thing in things
        }

    expected, present = normal(lost), normal(theirs)
    names = {thing.name.lower(): thing for thing in expected.keys() - present.keys()}
    ours = {thing.name.lower() for thing in _ours()}
    for thing in sorted(present.keys() - expected.keys()):
        if thing.name.lower() in ours:
            cause = "There is another one."
            if mine := names.get(thing.name.lower()):
                # both texts from shortly before the place where they part
                both = enumerate(zip(thing.sql, mine.sql, strict=False))
                same = next((at for at, (a, b) in both if a != b), min(len(thing.sql), len(mine.sql)))
                start = thing.sql.rfind(" ", 0, max(same - 40, 0)) + 1
                cause = f"It says “{thing.sql[start : start + 90]}”; recjudge's says “{mine.sql[start : start + 90]}”."
            raise _not_ours(database, thing, cause)
    for thing in sorted(names.values()):
        raise StoreError(
            f"{database.path} lacks recjudge's {thing.type} “{thing.name}”",
            "Results could be lost or wrong.",
            _COPY,
        )
    written = _written(database, ours)
    for thing in sorted(present.keys() - expected.keys()):
        if thing.type in ("trigger", "index") and thing.table.lower() in (
            written if thing.type == "trigger" else ours
        ):
            raise _not_ours(database, thing, f"It would act whenever recjudge changes “{thing.table}”.")


def _not_ours(database: Database, thing: _Object, cause: str) -> StoreError:
    title = f"{database.path} holds a {thing.type} “{thing.name}” that is not recjudge's"
    return StoreError(title.replace("a index", "an index"), cause, _COPY)


def _written(database: Database, ours: set[str]) -> set[str]:
    """Tables, in lower case, that change when recjudge writes: ours, and those whose rows a foreign key deletes or
    updates along with them."""
    sql = """SELECT lower(m.name), lower(f."table") FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f
             WHERE m.type = 'table' AND NOT (f.on_delete IN ('NO ACTION', 'RESTRICT')
               AND f.on_update IN ('NO ACTION', 'RESTRICT'))"""
    references = database.rows(sql)
    written = set(ours)
    while more := {child for child, parent in references if parent in written} - written:
        written |= more
    return written


# ---- doctor's look at a file --------------------------------------------------------------------------------------------


class RunningRun(NamedTuple):
    """A run in state `running`. `owner` and `heartbeat` come from its lease."""

    id: int
    project: str
    rater: str
    outstanding: int
    owner: str | None
    heartbeat: str | None


class FileReport(NamedTuple):
    """The state of the file. `size` in bytes, including the WAL."""

    size: int
    journal: str
    faults: tuple[str, ...]
    running: tuple[RunningRun, ...]
    key_names: tuple[str, ...]


def inspect_file(path: Path) -> FileReport | None:
    """Check the file without changing it; None if it does not exist. `faults` are the first three that SQLite's
    quick_check reports. `key_names` are the environment variables from which runs take their API keys and headers. Raises
    StoreError when the file cannot be read or `check_schema` refuses it."""
    if not path.exists():
        return None
    with explained(path):
        connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=_WAIT_S, isolation_level=None
        )
    connection.row_factory = StoredRow
    with Database(connection, path) as db:
        distrust(connection)
        is_empty = check_schema(db)
        checked = [str(row[0]) for row in db.rows(f"PRAGMA quick_check({_SHOWN_FAULTS})")]
        files = (path, path.with_name(f"{path.name}-wal"))
        running: list[RunningRun] = []
        keys: list[str] = []
        if not is_empty:
            checked += [error.sentences for error in islice(odd_json(db), _SHOWN_FAULTS)]
            sql = """SELECT ru.id, p.name AS project, r.name AS rater,
                       (SELECT count(*) FROM calls k WHERE k.run_id = ru.id AND k.state = 'planned') AS outstanding,
                       ru.lease_owner, ru.heartbeat_at
                     FROM runs ru JOIN projects p ON p.id = ru.project_id JOIN raters r ON r.id = ru.rater_id
                     WHERE ru.state = 'running' ORDER BY ru.id"""
            running = db.records(RunningRun, sql)
            sql = """WITH judges AS (SELECT judge FROM runs WHERE json_valid(judge))
                     SELECT json_extract(judge, '$.api_key_env') FROM judges UNION
                     SELECT json_extract(h.value, '$[1]') FROM judges, json_each(judge, '$.header_env') h ORDER BY 1"""
            keys = db.column(sql)
        return FileReport(
            size=sum(part.stat().st_size for part in files if part.exists()),
            journal=str(db.value("PRAGMA journal_mode")),
            faults=tuple(line for line in checked if line != "ok"),
            running=tuple(running),
            key_names=tuple(name for name in keys if name and isinstance(name, str)),
        )
