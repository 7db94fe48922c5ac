"""RecBole's atomic files: tables whose header gives each column a type, `name:type`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from recjudge_tui.domain.event_types import RATING
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.column_names import squashed
from recjudge_tui.importers.files.layout import Choice, Layout, LocatedRecord, Request, Sample
from recjudge_tui.importers.files.notes import Row
from recjudge_tui.importers.files.tables import Dialect, header_of, read_table
from recjudge_tui.importers.plain.lists import system_of
from recjudge_tui.importers.plain.tables import records_of

_TYPED = re.compile(r"(?P<name>[^:\t]+):(?P<type>token|token_seq|float|float_seq)")
_USERS = ("user_id", "uid", "session_id", "userid")
_ITEMS = ("item_id", "iid", "itemid", "business_id", "movie_id")
_TITLES = ("title", "movie_title", "name", "item_name", "product_name", "business_name", "book_title")
_CATEGORIES = ("class", "genre", "genres", "category", "categories", "tags")
_VALUES = ("rating", "stars", "label")
_TIMES = ("timestamp", "time", "date")
# where a person lives, which no judge needs to know
_ZIP_CODES = ("zip", "zipcode", "postalcode", "postcode")
_SCORES = ("score", "prediction", "predict")
_RANKS = ("rank",)
_CHOICES = (
    Choice("lists", "lists that a system recommended", "--system NAME"),
    Choice("events", "what users did"),
)


class _Columns(NamedTuple):
    """The column for each field, by its name in the header without the type; empty if the file has none."""

    user: str
    item: str
    title: str
    category: str
    value: str
    time: str
    score: str
    rank: str


def read_recbole(request: Request) -> Iterator[LocatedRecord]:
    """`.inter` as events or lists, `.item` as items, `.user` as users; other columns of the last two are attributes.

    An event is a `rating` if the file has ratings (or labels), else an `interaction`. Raises InputError for a file
    without the columns that the kind needs.
    """
    table = read_table(request.path, (), Dialect(delimiter="\t", quote=""), request.notes)
    types = {name: match["type"] for name in table.columns if (match := _TYPED.fullmatch(name))}
    if len(types) < len(table.columns):
        untyped = next(name for name in table.columns if name not in types)
        raise InputError(
            f"{request.path}:1: column “{one_line(untyped, 60)}” has no type",
            "RecBole's columns are name:token, name:token_seq, name:float or name:float_seq, separated by tabs.",
            "Add the type to the name, or describe the file in a mapping (docs/mapping.md).",
        )
    names = {column: column.rpartition(":")[0] for column in types}
    columns = _columns(list(names.values()))
    _check(request, columns, list(names.values()))
    rows = _bare_rows(table.rows, names, types)
    yield from records_of(request, _CONVERT[request.kind](rows, columns, request))


def _columns(names: list[str]) -> _Columns:
    def first(wanted: tuple[str, ...]) -> str:
        return next((name for want in wanted for name in names if name.lower() == want), "")

    return _Columns(*map(first, (_USERS, _ITEMS, _TITLES, _CATEGORIES, _VALUES, _TIMES, _SCORES, _RANKS)))


def _check(request: Request, columns: _Columns, names: list[str]) -> None:
    needed = {
        "events": (columns.user and columns.item, "user_id and item_id"),
        "items": (columns.item and columns.title, f"item_id and a title ({', '.join(_TITLES)})"),
        "users": (columns.user, "user_id"),
        "lists": (
            columns.user and columns.item and (columns.score or columns.rank),
            "user_id, item_id and score or rank",
        ),
    }
    has_columns, what = needed[request.kind]
    if not has_columns:
        raise InputError(
            f"{request.path} does not have {what}",
            f"Found: {one_line(', '.join(names), 300)}.",
            "Rename the columns, or describe the file in a mapping (docs/mapping.md).",
        )


def _bare_rows(rows: Iterator[Row], names: dict[str, str], types: dict[str, str]) -> Iterator[Row]:
    """Rows by name without type, without sequences of numbers. Sequences of tokens keep their spaces: a title is one."""
    kept = [column for column, kind in types.items() if kind != "float_seq"]
    for line, row in rows:
        yield line, {names[column]: row[column].strip() for column in kept}


def _events(rows: Iterator[Row], columns: _Columns, _request: Request) -> Iterator[Row]:
    kind = RATING if columns.value else "interaction"
    for line, row in rows:
        yield (
            line,
            {
                "user_id": row.get(columns.user, ""),
                "item_id": row.get(columns.item, ""),
                "type": kind,
                "value": row.get(columns.value, ""),
                "timestamp": row.get(columns.time, ""),
            },
        )


def _lists(rows: Iterator[Row], columns: _Columns, request: Request) -> Iterator[Row]:
    system, order = system_of(request), "rank" if columns.rank else "score"
    for line, row in rows:
        fixed = {"user_id": row[columns.user], "item_id": row[columns.item], "system": system}
        yield line, {**fixed, order: row[columns.rank or columns.score]}


def _items(rows: Iterator[Row], columns: _Columns, _request: Request) -> Iterator[Row]:
    own = {columns.item, columns.title, columns.category}
    for line, row in rows:
        rest = {name: value for name, value in row.items() if name not in own}
        fixed = {"item_id": row[columns.item], "title": row[columns.title]}
        yield line, {**rest, **fixed, "category": sequence(row.get(columns.category, ""))}


def _users(rows: Iterator[Row], columns: _Columns, _request: Request) -> Iterator[Row]:
    for line, row in rows:
        rest = {n: value for n, value in row.items() if n != columns.user and squashed(n) not in _ZIP_CODES}
        yield line, {**rest, "user_id": row[columns.user]}


def sequence(text: str) -> str:
    """The tokens of a sequence as `a|b`. They are separated by commas or bars if there are any, else by spaces."""
    mark = next((mark for mark in ("|", ",") if mark in text), None)
    parts = (part.strip().strip("'\"") for part in text.strip("[]").split(mark))
    return "|".join(dict.fromkeys(part for part in parts if part))


_CONVERT = {"events": _events, "lists": _lists, "items": _items, "users": _users}


def _fits(sample: Sample, kind: ImportKind) -> bool:
    first = next((line for line in sample.text.splitlines() if line.strip()), "")
    fields = [field.strip() for field in first.split("\t")]
    if len(header_of(sample.text)) != len(fields) or not all(map(_TYPED.fullmatch, fields)):
        return False
    columns = _columns([field.rpartition(":")[0] for field in fields])
    if kind == "events":
        return bool(columns.user and columns.item)
    if kind == "lists":
        return bool(columns.user and columns.item and (columns.score or columns.rank))
    if kind == "items":
        return bool(columns.item and not columns.user)
    return kind == "users" and bool(columns.user and not columns.item)


def _choices(sample: Sample) -> tuple[Choice, ...]:
    """The choices for a table of users and items with a score, which may also be the top k of a model, written like a
    history.
    """
    return _CHOICES if _fits(sample, "lists") else ()


RECBOLE = Layout(
    name="recbole",
    kinds=("events", "lists", "items", "users"),
    about="RecBole's .inter, .item and .user files (typed headers)",
    fits=_fits,
    read=read_recbole,
    names=("*.inter", "*.item", "*.user"),
    choices=_choices,
)
