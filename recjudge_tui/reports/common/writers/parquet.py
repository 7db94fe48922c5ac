"""Parquet: a column of one type for each name. Needs the extra `parquet`; pyarrow is loaded when a file is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from recjudge_tui.errors import RecjudgeError

_BATCH = 20_000


def write_parquet(columns: Sequence[str], rows: Iterable[Sequence[Any]], target: Path | BinaryIO) -> int:
    """Write rows of texts, numbers and None under these column names; returns their number. A column without a value
    has the type text. The whole table is held in memory in Arrow's compact form. Raises RecjudgeError without
    pyarrow."""
    pa, parquet = _pyarrow()
    stream = iter(rows)
    parts = []
    while batch := list(islice(stream, _BATCH)):
        arrays = [_array(pa, values) for values in zip(*batch, strict=True)]
        parts.append(pa.Table.from_arrays(arrays, names=list(columns)))
    table = pa.concat_tables(parts, promote_options="permissive") if parts else None
    types = [pa.null()] * len(columns) if table is None else table.schema.types
    schema = pa.schema([
        (name, pa.string() if pa.types.is_null(kind) else kind)
        for name, kind in zip(columns, types, strict=True)
    ])  # fmt: skip
    table = schema.empty_table() if table is None else table.cast(schema)
    parquet.write_table(table, target)
    return int(table.num_rows)


def arrow_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Any:
    """A pyarrow.Table of these rows, a column of one type for each name. Raises RecjudgeError without pyarrow."""
    pa, _ = _pyarrow()
    values = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    return pa.table({name: _array(pa, column) for name, column in zip(columns, values, strict=True)})


def _array(pa: ModuleType, values: Sequence[Any]) -> Any:
    """An Arrow array; of texts if the values have several types."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])


def _pyarrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise RecjudgeError(
            "Parquet and Arrow need pyarrow, which is not installed",
            next_step="Install the extra “parquet”: pip install 'recjudge[parquet]', or choose .csv or .jsonl.",
        ) from error
    return pyarrow, pyarrow.parquet
