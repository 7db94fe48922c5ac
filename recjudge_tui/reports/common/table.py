"""The one type of table that reports return, and the functions that write it."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from recjudge_tui.domain.text import safe_text
from recjudge_tui.errors import StoreError, UsageError, check_known
from recjudge_tui.files import whole_file
from recjudge_tui.stats.defaults import LEVEL, level_text

if TYPE_CHECKING:
    from recjudge_tui.steps import Step

Kind = Literal["text", "prose", "int", "float", "share", "ci", "usd", "seconds", "time", "statistic"]
Row = dict[str, object]
# warning: why the figures may mislead; data: about these data; definition: what a figure is, shown by --explain
NoteKind = Literal["warning", "data", "definition"]
# unless more is asked for: notes about the data, and rows
MOST_NOTES, MOST_ROWS = 3, 40


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


def real(row: Row, name: str) -> float:
    """A cell that is known to be a number."""
    return float(cast(float, row[name]))


def reals(rows: Iterable[Row], name: str) -> list[float]:
    """The cells of a column that are numbers."""
    return [cell for row in rows if isinstance(cell := row.get(name), float)]


def whole(row: Row, name: str) -> int:
    """A cell that is known to be a whole number."""
    return int(cast(int, row[name]))


@dataclass(frozen=True)
class Table:
    """The content of a report. A cell is a text, a number, a truth value or None (undefined; the reason is in
    `note`). `answer`: what the table says, in one sentence, made from its cells. `brief`: the few columns that people
    read first; `whole` has every column and row, as JSON and CSV do. `facts` are results that are not about one row,
    by name; of the formats only JSON has them. Raises ValueError for a cell that is NaN or infinite, or that has no
    column."""

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


def readable(
    table: Table, *, whole: bool = False, explain: bool = False, notes: str = "some", most: int = MOST_ROWS
) -> tuple[Table, bool]:
    """The table as people read it, and whether something was left out. Its brief form and the first `most` rows
    unless `whole`; definitions only with `explain`; `notes`: all, some (the warnings, and MOST_NOTES in all) or
    none."""
    seen = table
    if table.brief is not None and table.rows and not whole:
        seen = replace(table.brief, answer=table.answer, notes=table.notes)
    by_kind: dict[NoteKind, list[str]] = {"warning": [], "data": [], "definition": []}
    for note in table.notes:
        by_kind[note_kind(note)].append(note)
    said = [*by_kind["warning"], *by_kind["data"]]
    kept = {"all": said, "none": []}.get(notes, said[: max(MOST_NOTES, len(by_kind["warning"]))])
    kept = [*kept, *(by_kind["definition"] if explain else [])]
    rows = seen.rows if whole else seen.rows[:most]
    # a narrow screen hides minor columns
    seen = replace(seen, columns=tuple(replace(c, minor=False) for c in seen.columns)) if whole else seen
    if len(rows) < len(seen.rows):
        kept.append(f"{len(rows)} of {len(seen.rows):,} rows")
    left_out = (seen is not table and not whole) or len(kept) < len(table.notes) or len(rows) < len(seen.rows)
    return replace(seen, rows=rows, notes=tuple(kept), brief=None), left_out


def cells_of(columns: Sequence[Column], rows: Iterable[Row]) -> tuple[Row, ...]:
    """The rows with only those of their cells that have a column."""
    return tuple({c.name: row[c.name] for c in columns if c.name in row} for row in rows)


def seen_first(table: Table, names: str | Sequence[str], rows: Sequence[Row] | None = None) -> Table:
    """The table with a brief form: those of these columns (`"rater aspect"`) that it has, and these rows (by default all).
    An empty table has none."""
    if not table.rows:
        return table
    brief = table if rows is None else replace(table, rows=tuple(rows))
    return replace(table, brief=_with_columns(brief, names.split() if isinstance(names, str) else names))


def titled(table: Table, title: str) -> Table:
    """The table under another title, in its brief form too."""
    brief = None if table.brief is None else replace(table.brief, title=title)
    return replace(table, title=title, brief=brief)


def with_columns(tables: Sequence[Table], names: Sequence[str]) -> tuple[Table, ...]:
    """The tables with only these columns, in this order; a table that has none of them is unchanged. A column may be
    given by its name or its label. Raises UsageError for a column that no table has, naming the existing ones."""
    known = list(dict.fromkeys(column.name for table in tables for column in table.columns))
    labels = {column.label.lower(): column.name for table in tables for column in table.columns}
    wanted = list(dict.fromkeys(name if name in known else labels.get(name.lower(), name) for name in names))
    check_known("column", wanted, known)
    return tuple(_with_columns(table, wanted) for table in tables)


def _with_columns(table: Table, names: Sequence[str]) -> Table:
    by_name = {column.name: column for column in table.columns}
    chosen = tuple(replace(by_name[name], minor=False) for name in names if name in by_name)
    if not chosen:
        return table
    left_out = {column.label for column in table.columns} - {column.label for column in chosen}
    rows, notes = cells_of(chosen, table.rows), notes_without(table, left_out)
    return replace(table, columns=chosen, rows=rows, notes=notes, brief=None)


def notes_without(table: Table, left_out: Collection[str]) -> tuple[str, ...]:
    """The notes of the table without those that explain a column left out, that is, begin with its label and a colon."""
    return tuple(note for note in table.notes if note.partition(":")[0] not in left_out)


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
    "text": "plain:write",
    "json": "data:json_text",
    "csv": "data:csv_text",
    "md": "documents:markdown",
    "latex": "latex:write",
    "html": "documents:html",
    "plain": "documents:records",
}
FORMATS = tuple(_WRITERS)
PARQUET = "parquet"
# the format for each file ending
ENDINGS = {
    ".csv": "csv", ".json": "json", ".md": "md", ".tex": "latex", ".html": "html", ".txt": "text", ".parquet": PARQUET,
}  # fmt: skip
_ALIKE = {".htm": "html", ".latex": "latex", ".text": "text", ".diff": "text", ".patch": "text"}


def format_of_file(path: Path) -> str:
    """The format for the ending of the file: one of FORMATS, or PARQUET. Raises UsageError for an unknown ending."""
    ending = path.suffix.lower()
    fmt = ENDINGS.get(ending) or _ALIKE.get(ending)
    if fmt is None:
        cause = "The format follows the ending of the file name."
        raise UsageError(f"no format for “{path.name}”", cause, f"Use {' '.join(ENDINGS)}.")
    return fmt


def render(table: Table, fmt: str, screen: Screen | None = None) -> TableText:
    """The table in a format of FORMATS; raises UsageError for another."""
    check_known("format", [fmt], FORMATS)
    module, name = _WRITERS[fmt].split(":")
    found = getattr(import_module(f"recjudge_tui.reports.common.writers.{module}"), name)
    write = cast(Callable[[Table, Screen], TableText], found)
    return write(table, screen or Screen())


def write_table(table: Table, fmt: str = "text", out: Path | None = None) -> None:
    """Write a table as `put_written` does, its notes to stderr if the format has no place for them. Raises UsageError for an
    unknown format."""
    put_written(lambda screen: render(table, fmt, screen), out)


def put_written(write: Callable[[Screen], TableText], out: Path | None = None) -> None:
    """Write the output of `write` to a file (whole or not at all) or to stdout; notes go to stderr. Raises StoreError
    when the file cannot be written."""
    written = write(stdout_screen() if out is None else Screen(width=100))
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
    import shutil

    if not sys.stdout.isatty():
        # the reader is another program: as wide as the cells need, unless COLUMNS is set
        wanted = os.environ.get("COLUMNS", "")
        across = int(wanted) if wanted.isdecimal() else 0
        return Screen(max(40, across) if across else UNBOUNDED, unicode=unicode)
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") in ("dumb", "unknown")
    across, down = shutil.get_terminal_size()
    return Screen(max(40, across), not plain, unicode, max(24, down))
