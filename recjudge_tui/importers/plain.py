"""Plain tables: one header row (or JSON, or Parquet), the columns of each kind, extra columns as attributes; and any table
with a mapping. The columns decide which kind of data a table contains, or may contain."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterator
from typing import NamedTuple

from recjudge_tui.domain.event_types import RATING
from recjudge_tui.domain.records import IMPORT_KINDS, ImportKind
from recjudge_tui.domain.text import one_line, unmarked
from recjudge_tui.errors import InputError
from recjudge_tui.importers.columns import (
    ALIASES,
    CASE,
    COLUMNS,
    ISBN,
    ITEM,
    KNOWN,
    NUMBERS,
    SYSTEM_KINDS,
    TASK,
    USER,
    WORDS,
    list_columns,
    named_by_length,
    numbered,
    uses,
    wanted_columns,
)
from recjudge_tui.importers.labels import holds_counts, two_game_columns
from recjudge_tui.importers.layout import (
    Choice,
    Declaration,
    Layout,
    Part,
    Request,
    beginning,
    declared_rows,
    missing_columns,
    with_points,
)
from recjudge_tui.importers.reader import (
    Dialect,
    Sample,
    Table,
    WantedColumns,
    chosen_rows,
    fields_of,
    header_of,
    read_table,
    sample_of,
    squashed,
)
from recjudge_tui.importers.values import Notes, Row, RowFault, number, timestamp
from recjudge_tui.store.exports import LABEL_COLUMNS

# ---- guess -------------------------------------------------------------------------------------------------------


_RANKED = Choice("lists", "ranked lists", "--system NAME")
_BY_SCORE = Choice("lists", "lists, ranked by score", "--system NAME")
_IN_ORDER = Choice("lists", "lists, ranked in the order of the rows", "--system NAME")
_RATINGS = Choice("events", "ratings that users gave")
_EVENTS = Choice("events", "events of a type that you name", "--type TYPE")
_EXPLANATIONS = Choice("explanations", "explanations that were shown", "--system NAME")
_USERS = Choice("users", "users with attributes")
_ANSWERS = Choice(
    "labels",
    "answers about systems; FILE.toml names their columns (recjudge docs mapping)",
    "--mapping FILE.toml",
)
_ITEMS = Choice("items", "items")
# a column whose name ends like this may not describe the user
_ABOUT_ITEMS = (
    "rating",
    "score",
    "rank",
    "prediction",
    "item",
    "product",
    "movie",
    "recommendation",
    "recommendations",
)
_BETWEEN_IDS, _DIGIT = re.compile(r"[|;,\s]+"), re.compile(r"\d")
_MOST_COLUMNS = 4


class Guess(NamedTuple):
    """The kind of data in a plain table, or, if uncertain, the `choices`.

    Both are empty if it is not a table we know.
    """

    kind: ImportKind | None = None
    choices: tuple[Choice, ...] = ()


def guess(sample: Sample, system: str | None = None) -> Guess:
    """The kind of data in the table, by its columns and, if these do not decide, by its rows.

    `system`: the system of all rows.
    """
    if rows := headerless_rows(sample):
        return _headerless(rows, system)
    everything = WantedColumns(
        {name for names in KNOWN.values() for name in names},
        {f"{kind} {name}": aliases for kind, names in ALIASES.items() for name, aliases in names.items()},
    )
    columns = header_of(sample.text, everything)
    roles = _roles(columns, system)
    as_labels = set(wanted_columns("labels").renamed(columns))
    if "system_b" in as_labels and (holds_counts(as_labels) or two_game_columns(as_labels)):
        return Guess("labels")
    if {"rater", "user_id", "value", "system_a", "system_b"} <= as_labels:
        return Guess("labels")
    if "rater" in roles and "value" in roles and ("user" in roles or {CASE, TASK} & set(columns)):
        return Guess("labels")
    if "user" in roles and ("item" in roles or "several" in roles):
        return _of_pairs(roles, sample, system)
    if "user" in roles:
        return _of_users(roles, columns, sample)
    if "several" in roles and "bare_id" in roles and not ("item" in roles or "title" in roles):
        return Guess("lists")
    if "title" in roles and ("item" in roles or "bare_name" not in roles):
        return Guess("items") if "item" in roles or "bare_id" in roles else Guess()
    return Guess(choices=(_USERS, _ITEMS)) if "bare_id" in roles and "item" not in roles else Guess()


# a role -> the squashed names of its columns; a `score` may be a rating, a `prediction` cannot
_ROLES: dict[str, Collection[str]] = {
    **{
        name: WORDS[name]
        for name in ("system", "rank", "rating", "time", "type", "title", "explanation", "rater")
    },
    "user": USER,
    "item": (*ITEM, *ISBN),
    "several": WORDS["list"],
    "score": ("score", "scores"),
    "prediction": (*WORDS["prediction"], *WORDS["distance"]),
    "text": ("text", "query", "searchquery", "searchterm"),
    "value": ("value", *ALIASES["labels"]["value"]),
    "bare_id": ("id",),
}


def _roles(columns: Collection[str], system: str | None) -> set[str]:
    """The roles that the columns of a table have. `bare_id` and `bare_name`: columns called `id` or `name` alone, which may
    be of users or of items."""
    names = {squashed(name) for name in columns}
    roles = {role for role, aliases in _ROLES.items() if not names.isdisjoint(aliases)}
    if "name" in names and names.isdisjoint(set(WORDS["title"]) - {"name"}):
        roles.add("bare_name")
    return roles | ({"several"} if numbered(columns) else set()) | ({"system"} if system else set())


def _of_pairs(roles: set[str], sample: Sample, system: str | None) -> Guess:
    """A table of users and items: lists, events or explanations."""
    if "several" in roles and "item" not in roles:
        return Guess("lists")
    if "rank" in roles and ("system" in roles or not ("type" in roles or "rating" in roles)):
        return Guess("lists")
    if "rank" in roles:
        return Guess(
            choices=(_RANKED, _EVENTS if "type" not in roles else _RATINGS._replace(meaning="events"))
        )
    if "explanation" in roles or ("text" in roles and "system" in roles and "type" not in roles):
        return Guess("explanations")
    if "type" in roles:
        return Guess("events")
    if "text" in roles and "rating" not in roles:
        return Guess(choices=(_EXPLANATIONS, _EVENTS))
    return _of_numbers(roles, sample, system)


def _of_numbers(roles: set[str], sample: Sample, system: str | None) -> Guess:
    """A table of users and items with no rank, type or text: scored lists or ratings."""
    if "prediction" in roles:
        return Guess("lists")
    if "rating" in roles and not ("score" in roles or "system" in roles):
        return Guess("events")
    if "score" in roles and "rating" not in roles and ("system" in roles or "time" not in roles):
        surely = "system" in roles or not _like_ratings(_column(sample, "score"))
        return Guess("lists") if surely else Guess(choices=(_BY_SCORE, _RATINGS))
    if "score" in roles or "rating" in roles:
        return Guess(choices=(_BY_SCORE, _RATINGS))
    if system:
        return Guess("lists")
    return Guess(choices=(_IN_ORDER, _EVENTS))


def _of_users(roles: set[str], columns: Collection[str], sample: Sample) -> Guess:
    """A table of users without a column of items; asks about columns that may be items under another name."""
    if "text" in roles and "type" in roles:
        return Guess("events")
    numbers = "rank" in roles or "score" in roles or "prediction" in roles or "rating" in roles
    in_cells = _in_cells(sample)
    if in_cells and named_by_length(columns):
        return Guess("lists")
    names_system = any(squashed(name) in WORDS["system"] for name in columns)
    about_items = any(squashed(name).endswith(_ABOUT_ITEMS) for name in columns)
    if not (
        numbers
        or "time" in roles
        or "text" in roles
        or "type" in roles
        or about_items
        or names_system
        or in_cells
    ) and not _repeats(sample):
        return Guess("users")
    searches = (Choice("events", "searches", "--type search"),) if "text" in roles else ()
    answers = (_ANSWERS,) if names_system else ()
    return Guess(choices=(_USERS, *searches, *answers, *in_cells))


def _in_cells(sample: Sample) -> tuple[Choice, ...]:
    """A choice for each column whose cells in the file's beginning all hold several ids."""
    try:
        table = read_table(sample.path, wanted_columns("users"), Dialect(), Notes(sample.path))
        rows = [row for _, (_, row) in zip(range(200), table.rows, strict=False)]
    except InputError:
        return ()
    if "user_id" not in table.columns or not rows:
        return ()
    user = table.original[table.columns.index("user_id")]
    columns = [
        name for name in table.columns if name != "user_id" and all(_holds_ids(row[name]) for row in rows)
    ]
    return tuple(_in_column(user, column) for column in columns[:_MOST_COLUMNS])


def _in_column(user: str, column: str) -> Choice:
    fields = (
        f"user_id = {json.dumps(user, ensure_ascii=False)}, items = {json.dumps(column, ensure_ascii=False)}"
    )
    return Choice(
        "lists",
        f"lists in the cells of “{one_line(column, 60)}”, with a FILE.toml that says: lists = {{ {one_line(fields, 300)} }}",
        f"--system {shlex.quote(one_line(column, 60))} --mapping FILE.toml",
    )


def _holds_ids(cell: str) -> bool:
    """Whether the cell has at least two words with a digit in them, with separators between, or is a list of objects."""
    if cell.startswith("[{"):
        return True
    parts = [part for part in _BETWEEN_IDS.split(cell.strip("[]() ")) if part]
    return len(parts) > 1 and all(_DIGIT.search(part) for part in parts)


def _headerless(rows: list[list[str]], system: str | None) -> Guess:
    like_ratings = _like_ratings([row[2] for row in rows])
    if len(rows[0]) == 4:
        return Guess("events") if like_ratings and not system else Guess(choices=(_RATINGS,))
    surely = system or not like_ratings
    return Guess("lists") if surely else Guess(choices=(_BY_SCORE, _RATINGS))


def _column(sample: Sample, name: str) -> list[str]:
    """The cells of a column in the file's beginning."""
    table = read_table(sample.path, wanted_columns("lists"), Dialect(), Notes(sample.path))
    return [row.get(name, "") for _, (_, row) in zip(range(200), table.rows, strict=False)]


def _like_ratings(cells: Collection[str]) -> bool:
    """Whether all numbers look like half stars, marks or percentages: few distinct values, all of them halves between
    0 and 100.
    """
    try:
        values = [number(cell, "") for cell in cells if cell.strip()]
    except RowFault:
        return False
    return all(0 <= value <= 100 and value * 2 == int(value * 2) for value in values)


def _repeats(sample: Sample) -> bool:
    """Whether an id occurs twice in the file; reads the whole file.

    Errors are left to the import, which explains them.
    """
    seen: set[str] = set()
    try:
        table = read_table(sample.path, wanted_columns("users"), Dialect(), Notes(sample.path))
        for _, row in table.rows:
            user_id = row.get("user_id", "").strip()
            if user_id in seen:
                return True
            seen.add(user_id)
    except InputError:
        return False
    return False


# ---- tables without a header -------------------------------------------------------------------------------------

_ROWS = 50
# looks like a weight in a matrix, never like an id
_FRACTION = re.compile(r"-?\d*\.\d*[1-9]\d*(e-?\d+)?", re.ASCII | re.IGNORECASE)
# kind -> the columns by their number
_ORDERS: dict[ImportKind, dict[int, tuple[str, ...]]] = {
    "lists": {3: ("user_id", "item_id", "score")},
    "events": {3: ("user_id", "item_id", "value"), 4: ("user_id", "item_id", "value", "timestamp")},
}


def headerless_columns(sample: Sample, kind: ImportKind) -> tuple[str, ...]:
    """The columns of a file of this kind that has no header; empty if its first row may be one.

    Every row of the file's beginning has two ids, a number in the third field, and a number of nine digits or more or a
    date in the fourth.
    """
    rows = headerless_rows(sample)
    return _ORDERS.get(kind, {}).get(len(rows[0]), ()) if rows else ()


def headerless_rows(sample: Sample) -> list[list[str]]:
    """The first rows of a file without a header, all of three or four fields; empty for any other file."""
    lines = [line.rstrip("\r") for line in sample.text.split("\n", _ROWS)[:_ROWS] if line.strip()]
    rows = [fields_of(line) for line in lines]
    if not rows or len({len(row) for row in rows}) != 1 or len(rows[0]) not in (3, 4):
        return []
    return rows if all(map(_is_data, rows)) else []


def _is_data(row: list[str]) -> bool:
    if any(not name.strip() or _FRACTION.fullmatch(name.strip()) for name in row[:2]):
        return False
    try:
        number(row[2], "")
        return len(row) == 3 or (len(row[3].strip()) > 8 and bool(timestamp(row[3])))
    except RowFault:
        return False


def only_a_header(sample: Sample) -> bool:
    """Whether the file is one line of column names."""
    lines = [line for line in sample.text.splitlines() if line.strip()]
    return len(lines) == 1 and lines[0].lstrip()[:1] not in ("{", "[") and not headerless_rows(sample)


# ---- tables with a header ----------------------------------------------------------------------------------------


def names_no_system(sample: Sample, kind: ImportKind, mapping: Declaration | None = None) -> bool:
    """Whether a table of lists or explanations, read with this mapping, lacks a column for the system."""
    if kind not in SYSTEM_KINDS:
        return False
    if mapping is not None and mapping.kinds:
        return all("system" not in part.fields for part in mapping.kinds.get(kind, ()))
    wanted = wanted_columns(kind)
    header = mapping.dialect.header if mapping else ()
    return "system" not in wanted.renamed(header or header_of(sample.text, wanted))


def plain_kinds(sample: Sample, system: str | None = None) -> tuple[ImportKind, ...]:
    """The kinds whose required columns are in the header under their plain names; the kind with most of these columns
    comes first. `system` replaces a column of that name.
    """
    header = header_of(sample.text, {name for names in KNOWN.values() for name in names})
    given = {name.lower() for name in header} | ({"system"} if system else set())
    fit = [kind for kind, c in COLUMNS.items() if given.issuperset(c.required) and on_something(kind, given)]
    return tuple(sorted(fit, key=lambda kind: -len(COLUMNS[kind].required)))


def on_something(kind: ImportKind, given: Collection[str]) -> bool:
    """Whether the columns of events say what the event was about."""
    return kind != "events" or "item_id" in given or "text" in given


# ---- plain -------------------------------------------------------------------------------------------------------


def plain_rows(request: Request) -> Iterator[Row]:
    """The rows of a plain table, or of any table with the request's mapping."""
    if request.mapping is not None and request.mapping.kinds:
        rows = _mapped(request, request.mapping)
    else:
        table = plain_table(request)
        request.notes.columns = uses(request.kind, table.original, table.columns)
        rows = _completed(request, table)
        if request.kind == "labels" and is_our_export(table):
            # without the apostrophes that protect formulas
            rows = ((line, {name: unmarked(cell) for name, cell in row.items()}) for line, row in rows)
    if request.mapping is not None and request.mapping.decimal == ",":
        rows = with_points(rows, NUMBERS)
    return rows


def plain_table(request: Request) -> Table:
    """The table with plain column names."""
    dialect = request.mapping.dialect if request.mapping else Dialect()
    if not dialect.header:
        usual = headerless_columns(sample_of(request.path, dialect.encoding), request.kind)
        if usual:
            dialect = dialect._replace(header=usual)
            request.notes.remark("no header: the columns are taken in the usual order")
    table = read_table(request.path, wanted_columns(request.kind), dialect, request.notes, request.contents)
    table = chosen_rows(table, request.where, request.path, request.notes)
    if request.kind != "lists":
        return table
    columns = list_columns(table.columns)
    new = {old: name for old, name in zip(table.columns, columns, strict=True) if old != name}
    if not new:
        return table
    rows = ((line, {new.get(name, name): cell for name, cell in row.items()}) for line, row in table.rows)
    return table._replace(columns=columns, rows=rows)


def is_our_export(table: Table) -> bool:
    """Whether the table is our own export of labels, whose numbers are ours."""
    return table.original == LABEL_COLUMNS and not table.json


def _completed(request: Request, table: Table) -> Iterator[Row]:
    """The rows; ratings get their event type. Raises InputError for a table that lacks a column."""
    given = set(table.columns)
    rated = request.kind == "events" and "type" not in given and not request.event_type and "value" in given
    if rated:
        request.notes.remark("no column for the type: the events are ratings")
    if missing := missing_of(request, given | ({"type"} if rated else set())):
        raise missing_columns(request, table, missing)
    if not rated:
        return table.rows
    return ((line, {**row, "type": RATING}) for line, row in table.rows)


def _mapped(request: Request, mapping: Declaration) -> Iterator[Row]:
    part = mapped_part(request, mapping)
    given = set(part.fields).union(*({*about, "value"} for about, _ in part.answers()[:1]))
    if part.case_pattern:
        given |= {CASE, "value"}
    if missing := missing_of(request, given):
        rows = "".join(f"\n  {line}" for line in mapped_beginning(request))
        raise InputError(
            f"the mapping {mapping.name} has no field “{missing[0]}” for {request.kind}",
            f"Needed: {', '.join(COLUMNS[request.kind].required)}.{rows}",
            "See “recjudge docs mapping”.",
        )
    return declared_rows(request, part, mapping.name, must=not mapping.shipped)


def mapped_part(request: Request, mapping: Declaration) -> Part:
    """The table of the mapping that reads the file. Raises InputError if there is none."""
    part = mapping.part_of(sample_of(request.path, mapping.encoding), request.kind)
    if part is None:
        raise InputError(
            f"the mapping {mapping.name} has no table"
            f" [{request.kind}]{' that fits the file' * bool(mapping.kinds.get(request.kind))}",
            f"It describes: {', '.join(mapping.kinds) or 'nothing'}.",
            "See “recjudge docs mapping”.",
        )
    return part


def mapped_beginning(request: Request) -> list[str]:
    """The first three rows as the mapping reads them, each on a line."""
    assert request.mapping is not None
    quiet = request._replace(notes=Notes(request.notes.file))
    rows = declared_rows(quiet, mapped_part(quiet, request.mapping), request.mapping.name, must=True)
    return beginning(rows, "as the mapping reads them")


def missing_of(request: Request, given: set[str]) -> list[str]:
    """The columns that the kind still needs."""
    kind = request.kind
    instead = {"system": request.system, "type": request.event_type}
    if kind == "labels" and holds_counts(given):
        return [name for name in ("system_a", "system_b") if not {name, name.removesuffix("_a")} & given]
    if kind == "labels" and two_game_columns(given):
        given = {*given, "value"}
    if kind == "labels" and CASE in given:
        given = {*given, "user_id"}
    if kind == "labels" and TASK in given and "user_id" not in given:
        return [name for name in ("protocol", "value") if name not in given]
    missing = [name for name in COLUMNS[kind].required if name not in given and not instead.get(name)]
    if kind == "lists" and (given & {"items", *numbered(given)}) and "item_id" in missing:
        missing.remove("item_id")
    if not on_something(kind, given):
        missing.append("item_id")
    return missing


PLAIN = Layout(
    name="plain",
    kinds=IMPORT_KINDS,
    about="CSV, TSV or JSON Lines with the columns of “recjudge docs mapping”; any table with --mapping",
    fits=lambda _sample, _kind: True,
    rows=plain_rows,
    takes_where=True,
)
