"""The layout of a file: its name, the kinds it can hold, how to recognise it, how to read it.

A layout turns one file into a stream of model objects. Other packages add layouts through the entry point group
`recjudge.importers`, with a `Layout` as the object. A layout that needs a second file looks for it in
`Request.beside` or in the folder of `Request.path`; `Layout.names` are patterns of its file names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.domain.records import Event, Explanation, ImportKind, Item, Label, Slate, User
from recjudge_tui.domain.scales import Scale
from recjudge_tui.importers.files.mapping import FileMapping
from recjudge_tui.importers.files.notes import Notes

Record = Item | User | Event | Slate | Explanation | Label


class LocatedRecord(NamedTuple):
    """One record and the line it begins on; a slate has the lines of all its items, in order."""

    line: int
    record: Record
    lines: tuple[int, ...] = ()


class Sample(NamedTuple):
    """The beginning of a file: at most 64 KB of complete lines, unpacked and decoded."""

    path: Path
    text: str


def no_case(_case_id: str) -> Mapping[str, str] | None:
    return None


class Request(NamedTuple):
    """One file to read, and the options of the command. Warnings go to `notes`.

    `beside` are the other files of the command, for layouts that need two files. `event_type` is the type of all its
    events. `case_of` gives the columns of a label that describe a case of the project, by its id; `scales` are the
    scales that the project's aspects already have. `where`: only the rows with one of these values in each of these
    columns.
    """

    path: Path
    kind: ImportKind
    notes: Notes
    system: str | None = None
    mapping: FileMapping | None = None
    beside: tuple[Path, ...] = ()
    event_type: str = ""
    case_of: Callable[[str], Mapping[str, str] | None] = no_case
    scales: Mapping[tuple[str, str], Scale] = {}
    where: Mapping[str, frozenset[str]] = {}


class Choice(NamedTuple):
    """One of the kinds of data that a file may contain: what it would mean, and the options that select it besides
    `--as`.
    """

    kind: ImportKind
    meaning: str
    options: str = ""


def no_choices(_sample: Sample) -> tuple[Choice, ...]:
    return ()


class Layout(NamedTuple):
    """`fits` decides from a file's beginning alone; `read` yields records in constant memory, except for lists.

    `read` notes each row it leaves out and raises InputError when the file as a whole cannot be used.
    `names` are patterns (as in `fnmatch`, without `.gz`) of the files to import from a folder; without
    patterns, every file that fits. `beside` are kinds that need a second file of the layout which does not contain
    them itself: such a file may be given in the same command and is not imported. `choices` are the kinds that a file
    may contain if its beginning does not decide; then the user must name the kind. `split_by_name`: events of a file
    whose name says that it is for testing (`u1.test`, `valid.csv`) are held out; False for layouts that mark held-out
    events themselves. `takes_where`: supports reading only the rows that a command chooses. `has_header`: a table's
    first line names its columns.
    """

    name: str
    kinds: tuple[ImportKind, ...]
    about: str
    fits: Callable[[Sample, ImportKind], bool]
    read: Callable[[Request], Iterator[LocatedRecord]]
    names: tuple[str, ...] = ()
    beside: tuple[ImportKind, ...] = ()
    choices: Callable[[Sample], tuple[Choice, ...]] = no_choices
    split_by_name: bool = True
    takes_where: bool = False
    has_header: bool = True
