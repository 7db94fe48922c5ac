"""Reads CSV (comma, tab, semicolon or bar) and JSON as a stream of rows of text by column."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.column_names import WantedColumns
from recjudge_tui.importers.files.json_records import (
    JsonRecord,
    cell,
    json_keys,
    json_records,
    storable_cells,
)
from recjudge_tui.importers.files.notes import Notes, Row
from recjudge_tui.importers.files.packing import MAX_FIELD
from recjudge_tui.importers.files.parquet import is_parquet
from recjudge_tui.importers.files.reading import UTF8, text_lines

_EMPTY_CELLS = " \t\r\n,;|\ufeff"
_DELIMITERS = (",", "\t", ";", "|")
_SWALLOWED_LINES = 20


class Dialect(NamedTuple):
    """How a table is written.

    `delimiter` empty: guessed from the first line; `quote` empty: no quoting; `header`: the columns of a file without
    a header row.
    """

    encoding: str = UTF8
    delimiter: str = ""
    quote: str = '"'
    header: tuple[str, ...] = ()


class Table(NamedTuple):
    """`columns` in the file's order; wanted columns have the wanted names. `original`: the names in the file."""

    columns: tuple[str, ...]
    original: tuple[str, ...]
    rows: Iterator[Row]
    json: bool = False


@contextmanager
def long_fields() -> Iterator[None]:
    """Temporarily raise the csv module's limit per field, which is global, to 10 MB."""
    before = csv.field_size_limit(MAX_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def read_table(path: Path, wanted: Collection[str] | WantedColumns, dialect: Dialect, notes: Notes) -> Table:
    """Open a table as CSV, JSON (an object on each line, or one array) or Parquet, as its beginning shows, regardless of
    the file name.

    A column is matched as `WantedColumns` does. Numbers in JSON keep their text, a list of plain values becomes `a|b`.
    Rows that cannot be read go to `notes`. Raises InputError for a table that cannot be used at all.
    """
    if not isinstance(wanted, WantedColumns):
        wanted = WantedColumns(wanted)
    if is_parquet(path):
        return _json_table(path, wanted, dialect, notes)
    lines = text_lines(path, dialect.encoding)
    blank = []
    for line in lines:
        # includes rows of empty cells, as spreadsheets write them
        if line.strip(_EMPTY_CELLS):
            break
        blank.append(line)
    else:
        raise InputError(f"{path} is empty")
    if line.lstrip().startswith(("{", "[")):
        return _json_table(path, wanted, dialect, notes)
    if dialect.header:
        return _headerless_table(path, chain(blank, [line], lines), wanted, dialect, line, notes)
    return _csv_table(path, chain(blank, [line], lines), line, wanted, dialect, notes)


def header_of(text: str, wanted: Collection[str] | WantedColumns = ()) -> list[str]:
    """The column names in the beginning of a table in CSV or JSON; empty if there are none."""
    if not isinstance(wanted, WantedColumns):
        wanted = WantedColumns(wanted)
    if keys := json_keys(text):
        return [name.strip() for name in keys]
    first = next((line for line in text.splitlines() if line.strip(_EMPTY_CELLS)), "").strip()
    return [name.strip() for name in fields_of(first, wanted)]


def fields_of(line: str, wanted: WantedColumns) -> list[str]:
    """The fields of one line of CSV, split at the most likely delimiter; empty if it cannot be read."""
    delimiter = delimiter_of(line, wanted)
    try:
        return next(csv.reader(_unspaced(iter([line]), delimiter, '"'), delimiter=delimiter), [])
    except csv.Error:
        return []


def _csv_table(
    path: Path, lines: Iterator[str], header: str, wanted: WantedColumns, dialect: Dialect, notes: Notes
) -> Table:
    reader = _reader(lines, dialect.delimiter or delimiter_of(header, wanted, dialect.quote), dialect.quote)
    try:
        names = next(fields for fields in reader if any(field.strip(_EMPTY_CELLS) for field in fields))
    except csv.Error as error:
        raise InputError(
            f"{path}:{reader.line_num}: the header cannot be read",
            f"It is: {one_line(header, 200)}. The reader says: {error}.",
            'Write quotation marks inside a field twice (""), or write “quote = ""” in a mapping file if they are plain'
            " characters; nothing was imported.",
        ) from error
    original = tuple(name.strip() for name in names)
    columns = wanted.renamed(original)
    twice = [name for name, count in Counter(columns).items() if name and count > 1]
    if twice:
        raise InputError(
            f"{path}:{reader.line_num}: column “{twice[0]}” occurs more than once",
            f"The header is: {', '.join(columns)}.",
            "Rename one of them; nothing was imported.",
        )
    return Table(columns, original, _csv_rows(path, reader, columns, notes, names))


def _headerless_table(
    path: Path, lines: Iterator[str], wanted: WantedColumns, dialect: Dialect, first: str, notes: Notes
) -> Table:
    delimiter = dialect.delimiter or delimiter_of(first, WantedColumns(), dialect.quote)
    width = len(next(_reader(iter([first]), delimiter, dialect.quote), []))
    if width != len(dialect.header):
        raise InputError(
            f"{path}: the first row has {width} fields, but the header {len(dialect.header)}",
            f"The header in the mapping is: {', '.join(dialect.header)}.",
            "Name every column of the file, in its order.",
        )
    columns = wanted.renamed(dialect.header)
    rows = _csv_rows(path, _reader(lines, delimiter, dialect.quote), columns, notes)
    return Table(columns, dialect.header, rows)


def _reader(lines: Iterator[str], delimiter: str, quote: str) -> Any:
    return csv.reader(
        _unspaced(lines, delimiter, quote) if quote else lines,
        delimiter=delimiter,
        quotechar=quote or None,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        strict=True,
    )


def _unspaced(lines: Iterator[str], delimiter: str, quote: str) -> Iterator[str]:
    """The lines without the spaces around quoted fields, which the csv module does not take for quoted otherwise."""
    before, after, mark, end = f" {quote}", f"{quote} ", re.escape(quote), re.escape(delimiter)
    field = re.compile(rf"(^|{end}) *({mark}(?:[^{mark}]|{mark}{mark})*{mark}) *(?={end}|$)")
    for line in lines:
        yield field.sub(r"\1\2", line) if before in line or after in line else line


def _csv_rows(
    path: Path, reader: Any, columns: tuple[str, ...], notes: Notes, header: Collection[str] = ()
) -> Iterator[Row]:
    width = len(columns)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            _bad_quotes(path, line, reader.line_num, str(error), notes)
            continue
        if len(fields) != width:
            if not any(fields):
                continue
            while len(fields) > width and not fields[-1].strip():
                fields.pop()
            if len(fields) != width:
                text = f"{len(fields)} fields, but the header has {width}; row left out"
                notes.skip(line, "wrong number of fields", text)
                continue
        elif not any(fields):
            continue
        if fields == header:
            notes.skip(
                line, "repeated header", "the header again, as in files that were joined; row left out"
            )
            continue
        yield line, dict(zip(columns, fields, strict=True))


def _bad_quotes(path: Path, first: int, last: int, error: str, notes: Notes) -> None:
    endless = "unexpected end" in error or "field limit" in error
    if endless or last - first >= _SWALLOWED_LINES:
        raise InputError(
            f"{path}:{first}: a quotation mark in this row is not closed",
            f"The field continues to line {last}.",
            'Write quotation marks inside a field twice (""), or write “quote = ""” in a mapping file if '
            "they are plain characters; nothing was imported.",
        )
    where = f"lines {first} to {last}" if last > first else "the row"
    notes.skip(first, "unbalanced quotes", f"unbalanced quotation marks; {where} left out")


def delimiter_of(line: str, wanted: WantedColumns, quote: str = '"') -> str:
    """The delimiter that splits a line into the most wanted columns, then into the most columns."""

    def fit(delimiter: str) -> tuple[int, int]:
        names = [name.strip().strip(quote or None) for name in line.strip().split(delimiter)]
        return wanted.count(names), len(names)

    return max(_DELIMITERS, key=fit)


def _json_table(path: Path, wanted: WantedColumns, dialect: Dialect, notes: Notes) -> Table:
    records = json_records(path, notes, dialect.encoding)
    first = next(records, None)
    if first is None:
        raise InputError(
            f"{path} has no line with a JSON object",
            next(iter(notes.first), ""),
            "Write one complete object on each line (jq -c . does), or one array of objects; nothing was imported.",
        )
    original = tuple(key.strip() for key in first[1])
    columns = wanted.renamed(original)
    for name, own, value in zip(columns, original, first[1].values(), strict=True):
        if name == "user_id" and isinstance(value, list | dict):
            raise _no_user(path, own, value)
    rows = _json_rows(chain([first], records), wanted, notes)
    return Table(columns, original, rows, json=True)


def _no_user(path: Path, key: str, value: list[Any] | dict[str, Any]) -> InputError:
    """The error for JSON that has no single user where one is expected."""
    # an index as its keys: how pandas writes a column
    if isinstance(value, list) or all(index.isdigit() for index in value):
        return InputError(
            f"{path} holds its rows column by column",
            f"“{key}” contains the users of all rows.",
            "Write an object for each row (pandas: orient='records'); nothing was imported.",
        )
    return InputError(
        f"{path} holds an object where the id of the user is expected",
        f"“{key}” is {one_line(json.dumps(value, ensure_ascii=False), 100)}.",
        f'Write the id itself: {{"{key}": "u1", ...}}; nothing was imported.',
    )


def _json_rows(records: Iterator[JsonRecord], wanted: WantedColumns, notes: Notes) -> Iterator[Row]:
    names: dict[tuple[str, ...], tuple[str, ...]] = {}
    for number, record in records:
        keys = tuple(record)
        if keys not in names:
            names[keys] = wanted.renamed([key.strip() for key in keys])
        pairs = zip(names[keys], record.values(), strict=True)
        cells = {name: value if type(value) is str else cell(name, value) for name, value in pairs}
        if not storable_cells(cells):
            notes.skip(number, "broken text", "a lone surrogate or a NUL character; row left out")
            continue
        yield number, cells
