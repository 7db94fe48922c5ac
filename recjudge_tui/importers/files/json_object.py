"""Reads one large JSON object entry by entry."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.packing import MAX_FIELD
from recjudge_tui.importers.files.reading import text_blocks

_BEFORE_KEY = re.compile(r"[\s,]*")
_COLON = re.compile(r"\s*:\s*")
_END = re.compile(r"[\s,]*\}\s*")
# objects become tuples of pairs, so that a repeated key is not lost
_DECODER = json.JSONDecoder(object_pairs_hook=tuple, parse_int=str, parse_float=str, parse_constant=str)


class Entry(NamedTuple):
    """`value`: an object is a tuple of (key, value), an array a list, a number its text. `end`: where the entry ends."""

    key: str
    value: Any
    end: int


def json_entries(path: Path) -> Iterator[Entry]:
    """The entries of the object in the file, in order; needs memory for the longest entry only. Raises InputError for
    anything but one complete object, and names the last entry that could be read.
    """
    last = "the beginning"
    with closing(text_blocks(path)) as blocks:
        text, at = next(blocks, "").lstrip(), 1
        if not text.startswith("{"):
            raise InputError(f"{path} is not a JSON object", "It does not begin with {.")
        more: str | None = ""
        while more is not None:
            text, at = text[at:] + more, 0
            while entry := _next_entry(text, at):
                yield entry
                last, at = f"“{one_line(entry.key, 60)}”", entry.end
            if len(text) - at > MAX_FIELD:
                raise _broken(path, last, f"The next entry is longer than {MAX_FIELD:,} characters.")
            more = next(blocks, None)
    if not _END.fullmatch(text, at):
        raise _broken(path, last, "The rest is not valid JSON; the file may be cut off.")


def _next_entry(text: str, start: int) -> Entry | None:
    """The entry of an object that begins at `start`; None if there is none, or if it is incomplete."""
    match = _BEFORE_KEY.match(text, start)
    try:
        key, at = _DECODER.raw_decode(text, match.end() if match else start)
        colon = _COLON.match(text, at)
        if colon is None or not isinstance(key, str):
            return None
        value, end = _DECODER.raw_decode(text, colon.end())
    except (json.JSONDecodeError, RecursionError):
        return None
    return Entry(key, value, end)


def _broken(path: Path, last: str, cause: str) -> InputError:
    return InputError(
        f"{path}: broken JSON after {last}",
        cause,
        "Write the file again, or check it with: jq empty FILE. Nothing was imported.",
    )
