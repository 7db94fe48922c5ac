"""The one type of table that reports return, the page of several, and the functions that write them."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar, cast

from recjudge_tui.domain.text import safe_text
from recjudge_tui.errors import StoreError, UsageError, check_known
from recjudge_tui.files import whole_file
from recjudge_tui.stats.defaults import LEVEL, level_text

if TYPE_CHECKING:
    from recjudge_tui.steps import Step

Kind = Literal["text", "prose", "int", "float", "share", "ci", "usd", "seconds", "time", "statistic"]
Row = dict[str, object]
Format = TypeVar("Format", bound=str)
# warning: why the figures may mislead; data: about these data; definition: what a figure is, shown by --explain
NoteKind = Literal["warning", "data", "definition"]


class Note(str):
    """A sentence below a table, its kind, and the next step it calls for (`domain.steps`), if any."""

    kind: NoteKind
    step: Step | None

    def __new__(cls, text: str, kind: NoteKind = "data", step: Step | None = None) -> Note:
        note = super().__new__(cls, text)
        note.kind, note.step = kind, step
        return note


def definition(text: str) -> Note:
    """A note that defines a figure."""
    return Note(text, "definition")


def definitions(text: str) -> tuple[Note, ...]:
    """A definition for each line."""
    return tuple(map(definition, text.strip().splitlines()))


def note_kind(note: str) -> NoteKind:
    """The kind of a note; that of a plain sentence is data."""
    return note.kind if isinstance(note, Note) else "data"


@dataclass(frozen=True)
class Column:
    """`name` is the key in a row and in JSON, `label` what people read. Ids are of kind text, even if they are
    numbers; prose is never cut. A cell of kind statistic holds the statistic's name; people read its label. `minor`
    columns may be hidden on a narrow screen, the last one first. `decimals` is for floats; `trimmed` leaves out the
    zeros at their end. `level`: the confidence of the interval of which the column is an end."""

    name: str
    label: str
    kind: Kind = "text"
    minor: bool = False
    decimals: int = 3
    trimmed: bool = False
    level: float = LEVEL

    @property
    def interval_label(self) -> str:
        """The heading of both ends in one column."""
        return f"{level_text(self.level)} CI"


# columns that many reports have
_SHARED = {
    column.name: column
    for column in (
        *(Column(name, name.capitalize()) for name in (
            "rater", "protocol", "aspect", "system", "label", "figure", "metric", "issue", "prompt", "note",
        )),
        Column("opponent", "Against"), Column("rater_a", "Rater"), Column("rater_b", "Against"),
        Column("stat", "Statistic", "statistic"), Column("value", "Value", "float"), Column("share", "Share", "share"),
        Column("ci_low", "CI low", "ci"), Column("ci_high", "CI high", "ci"), Column("rank", "Rank", "int"),
        Column("n", "n", "int"), Column("users", "Users", "int"), Column("count", "Count", "int"),
        Column("failed", "Failed", "int"), Column("p", "p", "float", decimals=4),
        Column("p_holm", "p (Holm)", "float", decimals=4),
    )
}  # fmt: skip


def columns(*parts: str | Column) -> tuple[Column, ...]:
    """Columns in order: shared ones by name, as in `"rater protocol? aspect"` (`?`: minor), own ones as
    `name|Label|kind|decimals` (a label in brackets: minor), others as they are. `ci_*` stands for `ci_low` and
    `ci_high`."""
    out: list[Column] = []
    for part in parts:
        if isinstance(part, Column):
            out.append(part)
            continue
        if "|" in part:
            name, label, kind, decimals = (*part.split("|"), *("text", "3")[part.count("|") - 1 :])
            minor = label.startswith("(")
            label = label[1:-1] if minor else label
            ends = [(name.replace("*", end), f"{label} {end}") for end in ("low", "high")]
            both = ends if name.endswith("*") else [(name, label)]
            out += [Column(name, label, cast(Kind, kind), minor, int(decimals)) for name, label in both]
            continue
        for name in part.replace("ci_*", "ci_low ci_high").split():
            shared = _SHARED[name.removesuffix("?")]
            out.append(replace(shared, minor=True) if name.endswith("?") else shared)
    return tuple(out)


@dataclass(frozen=True)
class Table:
    """The content of a report. A cell is a text, a number, a truth value or None (undefined; the reason is in `note`).
    `answer`: what the table says, in one sentence, made from its cells. `brief`: the few columns that people read first;
    `whole` has every column and row, as JSON and CSV do. `facts` are results that are not about one row, by name; of the
    formats only JSON has them. Raises ValueError for a cell that is NaN or infinite, or that has no column."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    facts: Mapping[str, object] = field(default_factory=dict)
    answer: str = ""
    brief: Table | None = None

    def __post_init__(self) -> None:
        names = {column.name for column in self.columns}
        for row in self.rows:
            if not row.keys() <= names:
                raise ValueError(f"no column for {sorted(row.keys() - names)}")
            for name, value in row.items():
                if isinstance(value, float) and not math.isfinite(value):
                    raise ValueError(f"{name} is {value}: an undefined figure is None")


@dataclass(frozen=True)
class Page:
    """Several tables under one title, in the formats that a table has. `lead` are sentences for people."""

    title: str
    lead: tuple[str, ...]
    tables: tuple[Table, ...]
    settings: Mapping[str, object] = field(default_factory=dict)


class TableText(NamedTuple):
    """A table as text, and the notes to show beside it."""

    text: str
    notes: tuple[str, ...] = ()


# the width of a table that is not limited by a screen
UNBOUNDED = 10_000


class Screen(NamedTuple):
    """The output: its size in cells, and whether it shows bold and dim text and non-ASCII characters."""

    width: int = 80
    styled: bool = False
    unicode: bool = True
    lines: int = 24


# "module:function" of the writers
_WRITERS = {
    "text": "plain:write", "json": "data:json_text", "csv": "data:csv_text", "md": "documents:markdown",
    "latex": "latex:write", "html": "documents:html", "plain": "documents:records",
}  # fmt: skip
FORMATS = tuple(_WRITERS)
PARQUET = "parquet"
# the format for each file ending
ENDINGS = {
    ".csv": "csv", ".json": "json", ".md": "md", ".tex": "latex", ".html": "html", ".txt": "text", ".parquet": PARQUET,
}  # fmt: skip
_ALIKE = {".htm": "html", ".latex": "latex", ".text": "text", ".diff": "text", ".patch": "text"}


def format_of_file(path: Path) -> str:
    """The format for the ending of the file: one of FORMATS, or PARQUET. Raises UsageError for an unknown ending."""
    return by_ending(path, "format", ENDINGS | _ALIKE, f"Use {' '.join(ENDINGS)}.")


def by_ending(path: Path, what: str, known: Mapping[str, Format], use: str) -> Format:
    """What is `known` for the ending of the file. Raises UsageError for another ending, with what to `use`."""
    if (ending := path.suffix.lower()) not in known:
        cause = "The format follows the ending of the file name."
        raise UsageError(f"no {what} for “{path.name}”", cause, use)
    return known[ending]


def render(made: Table | Page, fmt: str, screen: Screen | None = None) -> TableText:
    """A table or a page in a format of FORMATS; raises UsageError for another."""
    check_known("format", [fmt], FORMATS)
    screen = screen or Screen()
    if isinstance(made, Page):
        pages = import_module("recjudge_tui.reports.common.writers.pages")
        return cast(TableText, pages.write(made, fmt, screen))
    module, name = _WRITERS[fmt].split(":")
    found = getattr(import_module(f"recjudge_tui.reports.common.writers.{module}"), name)
    write = cast(Callable[[Table, Screen], TableText], found)
    return write(made, screen)


def write(made: Table | Page, fmt: str = "text", out: Path | None = None) -> None:
    """Write a table or a page to a file (whole or not at all) or to stdout, its notes to stderr if the format has no place
    for them. Raises UsageError for an unknown format, StoreError when the file cannot be written."""
    screen = stdout_screen() if out is None else Screen(width=100)
    written = render(made, fmt, screen)
    for note in written.notes:
        sys.stderr.write(f"{safe_text(note)}\n")
    if out is None:
        put_text(written.text)
    else:
        save_text(written.text, out)


def put_text(text: str) -> None:
    """Write to stdout; characters that its encoding lacks become `?`."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()


def save_text(text: str, out: Path) -> None:
    """Write a UTF-8 file beside its place and move it there; raises StoreError."""
    with writing(out), whole_file(out) as draft:
        draft.write_bytes(text.encode("utf-8", "backslashreplace"))


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Raises StoreError where the file cannot be written."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{out} cannot be written", f"{error.strerror}.", "Choose another place.") from error


def stdout_screen() -> Screen:
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    unicode = encoding.startswith(("utf", "gb18030"))
    if not sys.stdout.isatty():
        # the reader is another program: as wide as the cells need, unless COLUMNS is set
        wanted = os.environ.get("COLUMNS", "")
        across = int(wanted) if wanted.isdecimal() else 0
        return Screen(max(40, across) if across else UNBOUNDED, unicode=unicode)
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") in ("dumb", "unknown")
    across, down = shutil.get_terminal_size()
    return Screen(max(40, across), not plain, unicode, max(24, down))
