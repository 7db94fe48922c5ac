"""The findings about a file's rows, and the numbers, times and texts in their cells."""

from __future__ import annotations

import html
import math
import re
import string
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import InputError, UsageError
from recjudge_tui.files import parse_toml

SHOWN = 20
# ---- findings ----------------------------------------------------------------------------------------------------

# the line a row began on, and its cells by column
Row = tuple[int, dict[str, str]]


class RowFault(Exception):  # noqa: N818 - a finding about one row, which is left out and counted
    """A row that cannot be used. `kind` is a short fixed phrase for counting; without a text, that of words.toml with these
    facts tells more, if necessary by what follows a “:” in the kind."""

    def __init__(self, kind: str, text: str = "", /, **facts: object) -> None:
        super().__init__(kind, text)
        self.kind, self.said = kind.partition(":")[0], (kind, text, facts)

    @property
    def text(self) -> str:
        kind, text, facts = self.said
        return text or _words("rows", kind, facts)

    def __str__(self) -> str:
        return self.text


def refuse(wrong: object, kind: str, text: str = "", /, **facts: object) -> None:
    """Raise RowFault if something is wrong with the row."""
    if wrong:
        raise RowFault(kind, text, **facts)


class Notes:
    """Collects the warnings of one file. All are counted by kind; the first 20 are kept as `file:line: text`.

    `unit` precedes the number if it is not a line number (`file:record 3: text`). `columns` says how each column was
    read, `remarks` how the file was read where there was a choice.
    """

    def __init__(self, path: Path | str) -> None:
        self.file = one_line(path)
        self.kinds: Counter[str] = Counter()
        self.first: list[str] = []
        self.skipped = 0
        self.unit = ""
        self.columns = ""
        self.remarks: list[str] = []

    def warn(self, line: int, kind: str, text: str = "", /, **facts: object) -> None:
        """Note a problem in a row that is kept, by its kind and text as of `RowFault`."""
        self.kinds[kind if text else kind.partition(":")[0]] += 1
        if len(self.first) < SHOWN:
            text = text or _words("rows", kind, facts)
            self.first.append(f"{self.file}:{self.unit}{line}: {one_line(text, 300)}")

    def skip(self, line: int, kind: str, text: str = "", /, rows: int = 1, **facts: object) -> None:
        """Count a row, or a group of rows, as left out."""
        self.skipped += rows
        self.warn(line, kind, text, **facts)

    def skip_row(self, line: int, fault: RowFault, what: str = "row left out") -> None:
        text = fault.text if len(self.first) < SHOWN else "left out"
        self.skip(line, fault.kind, text if "left out" in text else f"{text}; {what}")

    def remark(self, text: str, /, **facts: object) -> None:
        """Say once how the file was read: a text, or that of this name in words.toml."""
        text = _words("remarks", text, facts) if text in _WORDS["remarks"] else text
        if text not in self.remarks:
            self.remarks.append(text)


def shown(value: object) -> str:
    """A value from the file, quoted for a message."""
    return f"“{one_line(value, 60)}”"


def first_few(names: Iterable[str], most: int) -> str:
    """The names, of which only the first few are written."""
    every = list(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return f"{', '.join(every[:most])}{more}"


class _Form(string.Formatter):
    def format_field(self, value: Any, spec: str) -> Any:
        if spec in ("l", "and"):
            return one_line((", " if spec == "l" else " and ").join(map(str, value)), 300)
        if spec == "s":
            return value.described()
        return shown(value) if spec == "q" else super().format_field(value, spec)


_WORDS = parse_toml(Path(__file__).with_name("words.toml").read_text("utf-8"))
_FORM = _Form()
_format = _FORM.vformat
LOSSES: Collection[str] = _WORDS["advice"]


def _words(table: str, name: str, facts: Mapping[str, object]) -> str:
    return _format(_WORDS[table][name], (), facts)


def filled(record: str, facts: Mapping[str, object]) -> list[str]:
    """The parts of a record of this type (words.toml) whose first field is not empty."""
    fields = {part: next(f for _, f, _, _ in _FORM.parse(part) if f) for part in _WORDS["records"][record]}
    return [_format(part, (), facts) for part, field in fields.items() if facts[field]]


def advice(lost: Mapping[str, int]) -> str:
    """What to do about the most frequent reason; empty if there is none."""
    return str(_WORDS["advice"].get(max(lost, key=lambda kind: lost[kind], default=""), "")).format()


def refusal(name: str, /, **facts: object) -> InputError:
    """The error of this name in words.toml."""
    return InputError(*(_format(part, (), facts) for part in _WORDS["errors"][name]))


def misuse(name: str, /, **facts: object) -> UsageError:
    """The error of this name about a command."""
    return UsageError(*(_format(part, (), facts) for part in _WORDS["usage"][name]))


def stop_if(wrong: object, name: str, /, **facts: object) -> None:
    """Raise the error of this name if something is wrong with the file."""
    if wrong:
        raise refusal(name, **facts)


def storable(text: str) -> bool:
    """Whether SQLite can store the text: a lone `\\ud800` and `\\u0000` are valid JSON but not text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


# ---- missing values and numbers ----------------------------------------------------------------------------------

# what programs write for a missing value
MISSING = frozenset(("", *_WORDS["missing"]))
# in free text, none is a word
NO_TEXT = MISSING - {"None", "none", "NONE"}
# the kind of a fault: a number that may have a comma before its fraction, or one between its thousands
COMMA = "number with a comma"
_WITH_COMMA = re.compile(r"[+-]?[\d.]*\d,\d[\d,]*(\.\d+)?([eE][+-]?\d+)?", re.ASCII)

_FLOAT = re.compile(r"-?\d+\.0", re.ASCII)
# in place of one id: what stands for the middle of a list, a program's name of a value, a number that a spreadsheet rounded
_NO_ID = re.compile(
    r"\.\.\.|…|Ellipsis|<.+ at 0x\w+>|(?:\w+\.)?(?:array|tensor|Index|Series|list|set)\(.*\)|\d(?:\.\d+)?[eE]\+\d+"
)
_SEVERAL = re.compile(r",|\.\.\.|…|\d\s+\d")
# the most different cells of a column that are remembered
_MOST_KEPT = 100_000


class Ids:
    """The ids in these columns of a file, without the spaces around them; a missing one is empty. `12.0` is `12` where
    `known` (the ids that the project names, by column) has only that: pandas writes whole numbers so where a value of the
    column is missing. A cell that holds an object, a list or a rounded number is a RowFault.
    """

    def __init__(
        self, notes: Notes, names: Iterable[str], known: Callable[[str], Collection[str]] = lambda _column: ()
    ) -> None:
        self.notes, self.known, self.remarked = notes, known, set[str]()
        # column -> cell -> its id
        self.read_before: dict[str, dict[str, str]] = {name: {} for name in names}
        # the columns of the last row, and those of ids among them
        self.columns: tuple[str, ...] = ()
        self._there: list[tuple[str, dict[str, str]]] = []

    def read(self, line: int, name: str, raw: str) -> str:
        """The id in a cell. Raises RowFault for a cell that holds something else."""
        before = self.read_before[name]
        if (found := before.get(raw)) is not None:
            return found
        bare = raw.strip()
        if bare[:2] == '="' and bare[-1] == '"':
            # how a spreadsheet is kept from taking a text for a number
            bare = raw = bare[2:-1].strip()
        if bare in (NO_TEXT if name == "context" else MISSING):
            return ""
        ends = bare[0] + bare[-1]
        several = (ends == "{}" and ":" in bare) or (ends == "[]" and _SEVERAL.search(bare))
        no_id = several or _NO_ID.fullmatch(bare[:200])
        refuse(no_id and name != "context", "not an id", name=name, text=bare)
        if bare != raw:
            self.notes.warn(line, "spaces around an id", name=name, text=bare)
            return bare
        if len(before) > _MOST_KEPT:
            before.clear()
        if bare[-2:] == ".0" and name in ("user_id", "item_id") and _FLOAT.fullmatch(bare):
            bare = self._whole(name, bare)
        before[raw] = bare
        return bare

    def _whole(self, name: str, bare: str) -> str:
        """The id, without its `.0` if the project knows only that."""
        known, whole = self.known(name), bare[:-2]
        fits = whole in known and bare not in known
        # a table of items or users has one column of ids
        remark = "whole-ids" if fits else "" if known or len(self.read_before) == 1 else "ids-first"
        if remark and name not in self.remarked:
            self.remarked.add(name)
            what = f"{name}s such as {shown(bare)}"
            self.notes.remark(remark, what=what, whole=whole, kind=name[:4])
        return whole if fits else bare

    def filled(self, line: int, name: str, raw: str) -> str:
        """The id in a cell. Raises RowFault for a missing one."""
        if bare := self.read(line, name, raw):
            return bare
        bare = raw.strip()
        raise RowFault(f"no {name}", f"{name} is {shown(bare) if bare else 'empty'}")

    def tidy(self, line: int, row: dict[str, str]) -> None:
        """Read the ids of a row in place."""
        if (columns := tuple(row)) != self.columns:
            self.columns = columns
            self._there = [(name, before) for name, before in self.read_before.items() if name in row]
        for name, before in self._there:
            if (raw := row[name]) and before.get(raw) != raw:
                row[name] = self.read(line, name, raw)


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
    kind = COMMA if _WITH_COMMA.fullmatch(text) else "not a finite number"
    raise RowFault(kind, column=column, text=value) from None


def whole(value: str, column: str) -> int:
    """A whole number, also written `3.0`. Raises RowFault."""
    if value.isdigit() and value.isascii() and len(value) < 16:
        return int(value)
    parsed = number(value, column)
    if parsed != int(parsed) or abs(parsed) > 2**53:
        raise RowFault("not a whole number", column=column, text=value)
    return int(parsed)


def plain_number(value: float) -> str:
    """The number as a person writes it: `4`, `3.5`."""
    return str(int(value)) if value == int(value) else repr(value)


# ---- times -------------------------------------------------------------------------------------------------------

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_SPREADSHEET = datetime(1899, 12, 30, tzinfo=timezone.utc)
_DAY = r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"
_COMPACT_DAY = re.compile(_DAY, re.ASCII)
_COMPACT_HOUR = re.compile(rf"{_DAY}([01]\d|2[0-3])([0-5]\d)?", re.ASCII)
_FRACTION = re.compile(r"\.(\d+)", re.ASCII)
_DAY_OR_MONTH_FIRST = re.compile(r"\d{1,2}([/.-])\d{1,2}\1\d{2,4}(?!\d)", re.ASCII)
_SHORT_ZONE = re.compile(r"([+-]\d\d)(\d\d)?$", re.ASCII)
# unit -> its numbers from 1973 to 2286; between these ranges a number may be of two units
_UNIX = {"seconds": 1e8, "milliseconds": 1e11, "microseconds": 1e14, "nanoseconds": 1e17}
_MINUTES = tuple(f"{minute // 60:02}:{minute % 60:02}" for minute in range(1440))
_SECONDS = tuple(f":{second:02}+00:00" for second in range(60))
# a spreadsheet's days from 1954 to 2119
_DAYS = (20_000, 80_000)


class Times:
    """Reads the times of one file, and counts the numbers by what they were taken for; `unfit` are those that may be of
    several units, but for 0 and -1, which stand for a missing time."""

    def __init__(self) -> None:
        self.units: Counter[str] = Counter()
        self.unfit: Counter[str] = Counter()
        self._last = ("", "")
        self._days: dict[int, str] = {}

    def read(self, value: str, column: str = "timestamp") -> str:
        """ISO 8601 in UTC (`2024-05-01T12:00:00+00:00`); empty for a missing one.

        Reads ISO 8601 with or without a time zone (without: UTC), `Z`, a date (midnight), `20240501`, and numbers whose size
        leaves no doubt: Unix time in seconds, milliseconds, microseconds or nanoseconds, and a spreadsheet's days. Raises
        RowFault.
        """
        # seconds from 1973 to 2030, the usual form in files of events
        plain = 8 < len(value) < 11 and value.isdigit() and value.isascii()
        if plain and 100_000_000 <= (count := int(value)) < 1_900_000_000:
            self.units["seconds"] += 1
            day, second = divmod(count, 86_400)
            if (date := self._days.get(day)) is None:
                date = self._days[day] = (_EPOCH + timedelta(days=day)).isoformat()[:11]
            return date + _MINUTES[second // 60] + _SECONDS[second % 60]
        if value == self._last[0]:
            return self._last[1]
        text = value.strip()
        if text in MISSING:
            return ""
        try:
            if _NUMBER.fullmatch(text):
                unit, time = _of_number(text)
                self.units[unit] += unit != ""
            else:
                time = _iso(text)
            read = time.astimezone(timezone.utc).isoformat()
        except (ValueError, OverflowError):
            form = "day" if _DAY_OR_MONTH_FIRST.match(text) else "other"
            form = "number" if _NUMBER.fullmatch(text) else form
            if form == "number" and text not in ("0", "-1") and len(self.unfit) < _MOST_KEPT:
                self.unfit[text] += 1
            raise RowFault("bad timestamp", column=column, text=value, advice=_WORDS["times"][form]) from None
        if not self.units:
            self._last = value, read
        return read

    def described(self) -> str:
        """What the numbers were taken for; empty if there were none."""
        names = {unit: f"Unix time in {unit}" for unit in _UNIX} | {"days": "a spreadsheet’s days"}
        counts = ((names[unit], quantity(count, "time")) for unit, count in self.units.items() if count)
        return " and ".join(f"{name} ({times})" for name, times in counts)


def formatted(value: str, form: str, fault: str = "bad timestamp:form") -> str:
    """A time written in `form` (as `datetime.strptime` reads it) as ISO 8601 in UTC. Raises RowFault."""
    if value.strip() in MISSING:
        return ""
    try:
        time = datetime.strptime(value.strip(), form)  # noqa: DTZ007 - the zone is added below
        time = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
        return time.astimezone(timezone.utc).isoformat()
    except (ValueError, OverflowError):
        raise RowFault(fault, text=value, form=form) from None


def _of_number(text: str) -> tuple[str, datetime]:
    """The unit of a number, and its time. Raises ValueError for one that may be of two units."""
    if _COMPACT_DAY.fullmatch(text):
        return "", datetime.strptime(text + "+0000", "%Y%m%d%z")
    if _COMPACT_HOUR.fullmatch(text):
        raise ValueError("perhaps a day and its hour")
    count = float(text)
    if _DAYS[0] <= count < _DAYS[1]:
        return "days", _SPREADSHEET + timedelta(seconds=round(count * 86_400))
    for unit, least in _UNIX.items():
        if least <= count < 100 * least:
            return unit, _EPOCH + timedelta(milliseconds=round(count / least * 1e8 * 1000))
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


# ---- HTML --------------------------------------------------------------------------------------------------------

_BREAKS = frozenset("br p div li ul ol tr table h1 h2 h3 h4 h5 h6 blockquote section".split())
# the rest of a tag; a `>` in quotation marks does not end it
_REST = r"""(?:"[^"]*"|'[^']*'|[^>])*(?:>|\Z)"""
# comments, elements that are not shown, tags, declarations
_MARKUP = re.compile(
    rf"<!--.*?(?:-->|\Z)|<(script|style|template|head)(?=[\s/>]){_REST}.*?(?=</\1|\Z)"
    rf"|</?([a-z][^\s/>]*){_REST}|<[!?/][^>]*(?:>|\Z)",
    re.DOTALL | re.IGNORECASE,
)


def html_text(markup: str) -> str:
    """The visible text, one line per block; without scripts, styles and attributes."""
    text = _MARKUP.sub(lambda tag: "\n" if (tag[2] or "").lower() in _BREAKS else "", markup)
    lines = (" ".join(line.split()) for line in html.unescape(text).splitlines())
    return "\n".join(line for line in lines if line)
