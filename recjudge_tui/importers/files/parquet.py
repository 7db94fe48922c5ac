"""Reads Parquet as a stream of records. Needs the extra `parquet`; pyarrow is loaded when a file needs it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.packing import MAX_FIELD, check_unpacked

MAGIC = b"PAR1"
# a text repeated in many rows is stored once, so a few rows can be large; rows compressed this densely are read one
# by one
_ROWS = 250
_DENSE_ROWS = 4
_DENSE_BYTES = 10_000_000
_DENSE_RATIO = 50
# the size of the shortest value in a table that is not Parquet
_BYTES_A_CELL = 4
_SAMPLE_ROWS = 200
# read a column in pieces, not at once
_BUFFER = 1 << 16


def is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def parquet_length(path: Path) -> int:
    """The number of rows. Raises InputError for a damaged file, and if pyarrow is missing."""
    with _opened(path) as file:
        rows = int(file.metadata.num_rows)
        check_unpacked(path, _BYTES_A_CELL * rows * file.metadata.num_columns, path.stat().st_size)
        return rows


def parquet_beginning(path: Path, limit: int) -> str:
    """The first rows as JSON Lines, at most `limit` characters unless the first row alone is longer."""
    text = ""
    for _, record in islice(parquet_records(path), _SAMPLE_ROWS):
        line = json.dumps(record, ensure_ascii=False) + "\n"
        if text and len(text) + len(line) > limit:
            break
        text += line
    return text


def parquet_records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each row's number from 1 and its values as JSON has them: numbers as text, missing values as None.

    A whole number in a column of fractions is written without its `.0`; NaN is a missing value; the index that pandas
    adds is left out.
    """
    number = unpacked = 0
    packed = path.stat().st_size
    with _opened(path) as file:
        names = [name for name in file.schema_arrow.names if not name.startswith("__index_level_")]
        for batch in file.iter_batches(batch_size=_rows_at_once(file), columns=names, use_threads=False):
            columns = []
            for column in batch.columns:
                column = _plain(column)
                unpacked += column.nbytes
                check_unpacked(path, unpacked, packed)
                _check_longest(path, column)
                columns.append(_values(column))
            for values in zip(*columns, strict=True):
                number += 1
                yield number, dict(zip(names, values, strict=True))


def _rows_at_once(file: Any) -> int:
    groups = (file.metadata.row_group(number) for number in range(file.metadata.num_row_groups))
    chunks = (group.column(place) for group in groups for place in range(group.num_columns))
    dense = any(
        chunk.total_uncompressed_size > max(_DENSE_BYTES, _DENSE_RATIO * chunk.total_compressed_size)
        for chunk in chunks
    )
    return _DENSE_ROWS if dense else _ROWS


def _plain(column: Any) -> Any:
    """The column as text, unless its values have parts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_nested(column.type):
        return column
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    return column.cast(pa.string())


def _check_longest(path: Path, column: Any) -> None:
    if column.nbytes > MAX_FIELD and any(
        column.slice(place, 1).nbytes > MAX_FIELD for place in range(len(column))
    ):
        raise InputError(f"{path} holds a value of more than {MAX_FIELD:,} bytes")


def _values(column: Any) -> list[Any]:
    import pyarrow as pa

    values: list[Any] = column.to_pylist()
    return [_as_json(value) for value in values] if pa.types.is_nested(column.type) else values


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str), parse_int=str, parse_float=str)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise InputError(
            f"{path} is a Parquet file, and the package pyarrow is not installed",
            next_step="Install it with: pip install 'recjudge[parquet]'; or export the table as CSV.",
        ) from error
    try:
        with pq.ParquetFile(path, buffer_size=_BUFFER) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{path} is a damaged Parquet file",
            f"{str(error).splitlines()[0].rstrip('.')}.",
            "Write it again; nothing was imported.",
        ) from error
