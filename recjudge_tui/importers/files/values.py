"""Numbers and times as files write them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone

from recjudge_tui.domain.occasions import NO_OCCASION, Occasion
from recjudge_tui.domain.text import one_line
from recjudge_tui.importers.files.notes import RowFault

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WITH_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_COMPACT_DAY = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])", re.ASCII)
_FRACTION = re.compile(r"\.(\d+)", re.ASCII)
_DAY_OR_MONTH_FIRST = re.compile(r"\d{1,2}([/.-])\d{1,2}\1\d{2,4}(?!\d)", re.ASCII)
_SHORT_ZONE = re.compile(r"([+-]\d\d)(\d\d)?$", re.ASCII)


def shown(value: str) -> str:
    """A value from the file, quoted for a message."""
    return f"“{one_line(value, 60)}”"


def number(value: str, column: str) -> float:
    """A finite number. Raises RowFault for anything else (`NaN`, `inf`, `1_000`, `3,5`)."""
    text = value.strip()
    try:
        parsed = float(text)
        # float() also reads nan, inf, 1_000 and the digits of other scripts
        if math.isfinite(parsed) and text.isascii() and "_" not in text:
            return parsed
    except ValueError:
        pass
    comma = (
        ' (write 0.95 and 1000, or “decimal = ","” in a mapping file)' if _WITH_COMMA.fullmatch(text) else ""
    )
    raise RowFault("not a finite number", f"{column} {shown(value)} is not a finite number{comma}") from None


def whole(value: str, column: str) -> int:
    """A whole number, also written `3.0`. Raises RowFault."""
    if value.isdigit() and value.isascii() and len(value) < 16:
        return int(value)
    parsed = number(value, column)
    if parsed != int(parsed) or abs(parsed) > 2**53:
        raise RowFault("not a whole number", f"{column} {shown(value)} is not a whole number")
    return int(parsed)


def plain_number(value: float) -> str:
    """The number as a person writes it: `4`, `3.5`."""
    return str(int(value)) if value == int(value) else repr(value)


def timestamp(value: str, column: str = "timestamp") -> str:
    """ISO 8601 in UTC (`2024-05-01T12:00:00+00:00`); an empty text stays empty.

    Accepts ISO 8601 with or without a time zone (without: UTC), `Z`, a date (midnight), `20240501`, and
    Unix time in seconds, milliseconds, microseconds or nanoseconds, distinguished by size. Raises RowFault.
    """
    text = value.strip()
    if not text:
        return ""
    try:
        # seconds from 1973 to 5138, the usual form in files of events
        if 8 < len(text) < 12 and text.isdigit() and text.isascii():
            return datetime.fromtimestamp(int(text), timezone.utc).isoformat()
        if len(text) == 25 and text[7] == "-" and text[10] == "T" and text.endswith("+00:00"):
            datetime.fromisoformat(text)
            return text
        time = _unix(text) if _NUMBER.fullmatch(text) else _iso(text)
        return time.astimezone(timezone.utc).isoformat()
    except (ValueError, OverflowError):
        raise RowFault("bad timestamp", f"{column} {shown(value)} is not a time ({_advice(text)})") from None


def _advice(text: str) -> str:
    """How to write a time that could not be read."""
    if _DAY_OR_MONTH_FIRST.match(text):
        return "is the day or the month first? Write 2024-05-31, or name the format in a mapping"
    return "write 2024-05-31, 2024-05-31T12:00:00Z or Unix time, or name the format in a mapping"


def occasion_of(row: Mapping[str, str]) -> Occasion:
    """The occasion named by a row of plain columns. Raises RowFault for a `served_at` that is not a time."""
    context, served_at = row.get("context", ""), row.get("served_at", "")
    return Occasion(context, timestamp(served_at, "served_at")) if context or served_at else NO_OCCASION


def formatted(value: str, form: str) -> str:
    """A time written in `form` (as `datetime.strptime` reads it) as ISO 8601 in UTC. Raises RowFault."""
    if not value.strip():
        return ""
    try:
        time = datetime.strptime(value.strip(), form)  # noqa: DTZ007 - the zone is added below
        return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).isoformat()
    except ValueError:
        raise RowFault("bad timestamp", f"timestamp {shown(value)} is not written as {form}") from None


def _unix(text: str) -> datetime:
    if _COMPACT_DAY.fullmatch(text):
        return datetime.strptime(text + "+0000", "%Y%m%d%z")
    if re.fullmatch(r"(19|20)\d\d", text):
        raise ValueError("a year alone")
    count = float(text)
    for unit in (1, 1_000, 1_000_000, 1_000_000_000):
        if abs(count) < 1e11 * unit:
            return _EPOCH + timedelta(milliseconds=round(count / unit * 1000))
    raise ValueError("out of range")


def _iso(text: str) -> datetime:
    """Parse ISO 8601. Python 3.10 accepts fewer forms than 3.11, so the text is first converted to one that both accept."""
    if text[-1] in "zZ":
        text = text[:-1] + "+00:00"
    elif text.endswith(" UTC"):
        text = text[:-4] + "+00:00"
    if len(text) > 10:
        head, tail = text[:10], text[10:].replace(" +", "+").replace(" -", "-")
        tail = _FRACTION.sub(lambda m: "." + m[1][:6].ljust(6, "0"), tail)
        text = head + _SHORT_ZONE.sub(lambda m: f"{m[1]}:{m[2] or '00'}", tail)
    time = datetime.fromisoformat(text.replace("/", "-"))
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)
