"""The prediction tables released with RecSys Arena: a row for each recommended item, with a column `predict`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from recjudge_tui.domain.records import ImportKind, Item, User
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.json_records import json_decoder
from recjudge_tui.importers.files.layout import Layout, LocatedRecord, Request, Sample
from recjudge_tui.importers.files.notes import Notes, Row, RowFault
from recjudge_tui.importers.files.reading import stem
from recjudge_tui.importers.files.tables import Dialect, header_of, read_table
from recjudge_tui.importers.files.values import number
from recjudge_tui.importers.plain.lists import ScoredRow, ranked_rows, slates_of

_COLUMNS = ("user_id", "item_id", "label", "predict")
_NEEDED = ("user_id", "item_id", "predict")
_DATASET = re.compile(r"[-_](ml-\d+[mk]|mind|yelp)(?=[-_.]|$)", re.IGNORECASE)

# MovieLens-1M's users with their codes counted from 0, as its README lists them
_AGES = ("under 18", "18-24", "25-34", "35-44", "45-49", "50-55", "56+")
_GENDERS = ("female", "male")
_OCCUPATIONS = (
    "other or not specified|academic/educator|artist|clerical/admin|college/grad student|customer service|"
    "doctor/health care|executive/managerial|farmer|homemaker|K-12 student|lawyer|programmer|retired|"
    "sales/marketing|scientist|self-employed|technician/engineer|tradesman/craftsman|unemployed|writer"
).split("|")
_CODES = {"gender": _GENDERS, "age": _AGES, "occupation": _OCCUPATIONS}


def read_recsys_arena(request: Request) -> Iterator[LocatedRecord]:
    """Lists sorted by descending `predict`; users with decoded attributes; items with category codes.

    The system is `--system`, else the file name without the name of the data set. An item that occurs twice in a list
    keeps its first position. The tables have no titles. Raises InputError for a table without these columns.
    """
    table = read_table(request.path, _COLUMNS, Dialect(), request.notes)
    if missing := [name for name in _NEEDED if name not in table.columns]:
        raise InputError(
            f"{request.path} has no column {missing[0]}",
            f"Found: {one_line(', '.join(table.columns), 300)}.",
            "RecSys Arena's predictions have user_id, item_id and predict.",
        )
    if request.kind == "lists":
        system = request.system or system_of(request.path)
        scored = _scored(table.rows, system, request.notes)
        yield from slates_of(ranked_rows(scored, "file"), request.notes)
    elif request.kind == "users":
        yield from _users(table.rows, request.notes)
    else:
        yield from _items(table.rows, request.notes)


def system_of(path: Path) -> str:
    """The system in a file's name: `nrms` for `nrms-ml-1m.csv`."""
    name = stem(path)
    return _DATASET.sub("", name) or name


def _scored(rows: Iterator[Row], system: str, notes: Notes) -> Iterator[ScoredRow]:
    for line, row in rows:
        user, items = row["user_id"].strip(), listed(row["item_id"])
        scores = listed(row["predict"])
        if not user or not items:
            name = "item_id" if user else "user_id"
            notes.skip(line, f"no {name}", f"{name} is empty; row left out")
            continue
        if len(items) != len(scores):
            text = f"{len(items)} items and {len(scores)} predictions; row left out"
            notes.skip(line, "items without a score", text)
            continue
        for item, score in zip(items, scores, strict=True):
            try:
                yield ScoredRow(line, user, system, item, number(score, "predict"))
            except RowFault as fault:
                notes.skip(line, fault.kind, f"{fault.text}; row left out")


def listed(text: str) -> list[str]:
    """The parts of a list written as text (`[2, 3]`, `['a', 'b']`); bare text is one part, empty text none."""
    bare = text.strip()
    if not bare.startswith("["):
        return [bare] if bare else []
    try:
        decoded = json_decoder().decode(bare.replace("'", '"'))
    except (json.JSONDecodeError, RecursionError):
        return [bare]
    return [str(part).strip() for part in decoded] if isinstance(decoded, list) else [bare]


def _users(rows: Iterator[Row], notes: Notes) -> Iterator[LocatedRecord]:
    seen: set[str] = set()
    for line, row in rows:
        user = row["user_id"].strip()
        if not user:
            notes.skip(line, "no user_id", "user_id is empty; row left out")
        elif user not in seen:
            seen.add(user)
            attributes = {name: _decoded(row.get(name, ""), words) for name, words in _CODES.items()}
            yield LocatedRecord(
                line, User(user_id=user, attributes={k: v for k, v in attributes.items() if v})
            )


def _decoded(code: str, words: Sequence[str]) -> str:
    text = code.strip()
    known = text.isascii() and text.isdigit() and len(text) < 3 and int(text) < len(words)
    return words[int(text)] if known else text


def _items(rows: Iterator[Row], notes: Notes) -> Iterator[LocatedRecord]:
    seen: set[str] = set()
    for line, row in rows:
        categories = listed(row.get("cate", "")) or row.get("genres", "").split("|")
        for item in listed(row["item_id"]):
            if item in seen:
                continue
            seen.add(item)
            title = row.get("title", "").strip()
            if not title:
                if len(seen) == 1:
                    text = (
                        "the table has no titles; items are named by their ids, which mean nothing to a judge"
                    )
                    notes.warn(line, "no titles", text)
                title = f"Item {item}"
            yield LocatedRecord(
                line, Item(item_id=item, title=title, category="|".join(filter(None, categories)))
            )


def _fits(sample: Sample, kind: ImportKind) -> bool:
    names = set(header_of(sample.text, _COLUMNS))
    known = set(_COLUMNS) <= names and not {"system", "rank", "rater", "type"} & names
    # the tables have no titles, so items are read only if the layout is named
    return known and (kind in ("lists", "users") or (kind == "items" and "title" in names))


RECSYS_ARENA = Layout(
    name="recsys-arena",
    kinds=("lists", "users", "items"),
    about="predictions released with RecSys Arena (user_id, item_id, label, predict)",
    fits=_fits,
    read=read_recsys_arena,
    names=("*.csv",),
)
