"""Reads JSON objects one at a time, from JSON Lines or from one array of any size."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.layout import Sample
from recjudge_tui.importers.files.notes import Notes
from recjudge_tui.importers.files.packing import MAX_FIELD
from recjudge_tui.importers.files.parquet import is_parquet, parquet_records
from recjudge_tui.importers.files.reading import UTF8, sample_of, text_blocks, text_lines
from recjudge_tui.importers.files.values import shown

JsonRecord = tuple[int, dict[str, Any]]

# a string that is cut off matches up to the end, so that no part of it is scanned twice
_TOKEN = re.compile(r'"(?:[^"\\]+|\\.)*(?:"|\\?\Z)|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)
# columns whose readers expect a list as JSON
_IN_JSON = ("flags", "items", "scores")
_SEPARATORS = re.compile(r"[\s,]*")


def json_decoder() -> json.JSONDecoder:
    """A decoder that keeps numbers as text, so that ids of 19 digits stay exact."""
    return json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


def json_records(path: Path, notes: Notes, encoding: str = UTF8) -> Iterator[JsonRecord]:
    """The objects of the file with their line, or, in an array, with their number from 1; for Parquet, the rows.

    Lines that are not objects are left out and noted. An array that is cut off or not valid JSON raises InputError,
    because the rest cannot be read.
    """
    if is_parquet(path):
        notes.unit = "row "
        yield from parquet_records(path)
        return
    if sample_of(path).text.lstrip("\ufeff \t\r\n").startswith("["):
        notes.unit = "record "
        with closing(text_blocks(path)) as blocks:
            yield from _array(path, blocks, notes)
        return
    decoder = json_decoder()
    for number, line in enumerate(text_lines(path, encoding), start=1):
        text = line.strip()
        if not text:
            continue
        try:
            record = decoder.decode(text)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict):
            yield number, record
        else:
            what = "complete JSON object" if record is None else "JSON object"
            notes.skip(number, "broken JSON", f"not a {what}: {shown(text)}; left out")


def _array(path: Path, blocks: Iterator[str], notes: Notes) -> Iterator[JsonRecord]:
    """Read each element as soon as it is complete; the text before it is dropped with each new block."""
    decoder = json_decoder()
    text = next(blocks, "").lstrip()
    at, number, more = 1, 1, True
    while True:
        at = _separated(text, at)
        try:
            if text.startswith("]", at):
                return
            record, end = decoder.raw_decode(text, at)
        except RecursionError:
            _broken(path, number, "It is nested too deeply.")
        except json.JSONDecodeError as error:
            if not more:
                _broken(path, number, f"{error.msg}; the file may be cut off.")
            if len(text) - at > MAX_FIELD:
                _broken(path, number, f"{error.msg}, or it is longer than {MAX_FIELD:,} characters.")
            text, at = text[at:], 0
            wanted = 2 * len(text)
            more = False
            for block in blocks:
                more, text = True, text + block
                if len(text) >= wanted:
                    break
            continue
        if isinstance(record, dict):
            yield number, record
        else:
            notes.skip(number, "broken JSON", "not a JSON object; left out")
        number, at = number + 1, end


def _separated(text: str, at: int) -> int:
    match = _SEPARATORS.match(text, at)
    return match.end() if match else at


def _broken(path: Path, number: int, cause: str) -> NoReturn:
    raise InputError(
        f"{path}:record {number}: broken JSON",
        cause,
        "Export the file again, or check it with: jq empty FILE. Nothing was imported.",
    )


def first_keys(sample: Sample) -> dict[str, str]:
    """The keys of the first object in a file's beginning, each with its value's first word or bracket.

    Empty for a file that does not begin with an object or an array of them. The object may be cut off.
    """
    return json_keys(sample.text)


def json_keys(beginning: str) -> dict[str, str]:
    """`first_keys` of a text."""
    text = beginning.lstrip("\ufeff \t\r\n")
    start = text.removeprefix("[").lstrip()
    if not start.startswith("{"):
        return {}
    keys: dict[str, str] = {}
    depth, key, previous = 0, "", ""
    for token in _TOKEN.finditer(start):
        word = token[0]
        if depth == 1 and word == ":" and previous.startswith('"'):
            key = previous[1:-1]
        elif depth == 1 and key:
            keys[key], key = word, ""
        depth += word in "{["
        depth -= word in "}]"
        if depth == 0:
            break
        previous = word
    return keys


def plain_cells(*parts: Any) -> dict[str, str]:
    """The entries of several objects as text by key; the first object with a key wins, other values are ignored.

    Values are as in JSON Lines tables: numbers as written, a list of texts as `a|b`, null as an empty text.
    """
    cells: dict[str, str] = {}
    for part in parts:
        if isinstance(part, Mapping):
            for key, value in part.items():
                cells.setdefault(key.strip(), cell(key, value))
    return cells


def storable_cells(cells: Mapping[str, str]) -> bool:
    """Whether SQLite can hold all of them; see `storable`."""
    return storable("".join(cells.values()))


def cell(name: str, value: Any) -> str:
    """A value of a JSON object as the text of a cell: numbers as written, a list of texts as `a|b`, null as empty."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if name not in _IN_JSON and isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "|".join(value)
    return json.dumps(value, ensure_ascii=False)


def storable(text: str) -> bool:
    """Whether SQLite can store the text: a lone `\\ud800` and `\\u0000` are valid JSON but not text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text
