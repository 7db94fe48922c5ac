"""The columns of plain tables, and their other names in people's files."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.domain.records import IMPORT_KINDS, ImportKind
from recjudge_tui.domain.text import one_line
from recjudge_tui.files import parse_toml
from recjudge_tui.importers.reader import WantedColumns, squashed


class Columns(NamedTuple):
    """The required and optional columns of a kind; `ids` are stripped, `filled` must not be empty in any row."""

    required: tuple[str, ...]
    optional: tuple[str, ...]
    ids: tuple[str, ...]
    filled: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        return self.required + self.optional


# an exported annotation task, which replaces the rater and all columns that name a case
TASK = "task_id"
# a case of the project, which replaces all columns that name a case
CASE = "case_id"
# columns of labels that say what was judged
_SAY_WHAT = {"shown_first", "system", "system_a", "item_id", "aspect", "protocol", "scale", TASK, CASE}
# columns that hold a number
NUMBERS = ("rank", "score", "distance", "value")
SYSTEM_KINDS: tuple[ImportKind, ...] = ("lists", "explanations")
# kinds whose other columns become attributes
_WITH_ATTRIBUTES: tuple[ImportKind, ...] = ("items", "users", "explanations")
_DATA = parse_toml(Path(__file__).with_name("columns.toml").read_text("utf-8"))


def expanded(spec: list[str]) -> tuple[str, ...]:
    """The names, with those of a word for `$word`."""
    parts = (expanded(_DATA["words"][name[1:]]) if name.startswith("$") else (name,) for name in spec)
    return tuple(chain.from_iterable(parts))


# a word -> its squashed names, such as those of the user's column
WORDS: Mapping[str, tuple[str, ...]] = {word: expanded(spec) for word, spec in _DATA["words"].items()}
COLUMNS: Mapping[ImportKind, Columns] = {
    kind: Columns(*(tuple(_DATA[kind][part]) for part in Columns._fields)) for kind in IMPORT_KINDS
}
KNOWN: Mapping[ImportKind, tuple[str, ...]] = {kind: columns.all for kind, columns in COLUMNS.items()}
# kind -> its columns, each with its squashed aliases, most likely first
ALIASES: Mapping[ImportKind, Mapping[str, tuple[str, ...]]] = {
    kind: {name: expanded(spec) for name, spec in _DATA[kind].get("aliases", {}).items()}
    for kind in IMPORT_KINDS
}
ISBN, ITEM, USER, RANK, SCORE = (WORDS[word] for word in ("isbn", "item", "user", "rank", "score"))


def wanted_columns(kind: ImportKind) -> WantedColumns:
    return WantedColumns(KNOWN[kind], ALIASES[kind])


def missing_of(
    kind: ImportKind, given: Collection[str], system: str | None = None, event_type: str = ""
) -> list[str]:
    """The columns that the kind still needs, where the command names the system or the type."""
    given = set(given) | ({"system"} if system else set()) | ({"type"} if event_type else set())
    if kind == "labels":
        if holds_counts(given):
            return [name for name in ("system_a", "system_b") if not {name, name.removesuffix("_a")} & given]
        given |= {"value"} if two_game_columns(given) else set()
        given |= {"user_id"} if CASE in given else set()
        if TASK in given and "user_id" not in given:
            return [name for name in ("protocol", "value") if name not in given]
    if kind == "lists" and ("items" in given or numbered(given)):
        given.add("item_id")
    missing = [name for name in COLUMNS[kind].required if name not in given]
    if kind == "events" and not given & {"item_id", "text"}:
        return [*missing, "item_id"]
    about_nothing = kind == "labels" and not missing and not given & _SAY_WHAT
    return ["item_id, system or system_a"] if about_nothing else missing


def holds_counts(columns: Collection[str]) -> bool:
    """Whether these plain columns are those of counts, not of one label per row."""
    return "wins" in columns and "losses" in columns and not ("user_id" in columns and "value" in columns)


def two_game_columns(columns: Collection[str]) -> bool:
    """Whether these are the columns of rows with the answers in both orders."""
    return "verdict_1" in columns and "verdict_2" in columns


_NUMBERED = re.compile(r"(|recs?|item|itemid|top|rank|pos|position|recommendation|recommended|iid)(\d{1,6})")


def _series(columns: Collection[str]) -> list[dict[int, str]]:
    """The columns that differ only in their number, by it."""
    series: dict[str, dict[int, str]] = {}
    for column in columns:
        if match := _NUMBERED.fullmatch(squashed(column)):
            series.setdefault(match[1], {})[int(match[2])] = column
    return list(series.values())


def numbered(columns: Collection[str]) -> list[str]:
    """The columns of a wide table in order (`rec1`, `rec2`, ...), numbered from 0 or 1 without a gap; empty for any
    other table.
    """
    for places in _series(columns):
        first = min(places)
        if len(places) > 1 and first in (0, 1) and max(places) == first + len(places) - 1:
            return [places[place] for place in sorted(places)]
    return []


_LENGTH = re.compile(r"(top|recs?|recommendations?|recommended)\d+(items|recs|recommendations)?")


def named_by_length(columns: Collection[str]) -> str:
    """The only column whose name is a length of lists (`top_5`, `recs10`); empty if there are none or several."""
    names = [column for column in columns if _LENGTH.fullmatch(squashed(column))]
    return names[0] if len(names) == 1 else ""


def list_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """The columns of a table of lists, where a column named by the length of lists holds them, and `id` beside whole lists
    is that of the user.
    """
    names = list(columns)
    if not {"items", "item_id"} & set(names) and (holder := named_by_length(names)):
        names[names.index(holder)] = "items"
    if "user_id" not in names and "item_id" not in names and ("items" in names or numbered(names)):
        names = ["user_id" if name.lower() == "id" else name for name in names]
    return tuple(names)


def gap(columns: Collection[str]) -> str:
    """The gap that keeps the numbered columns from being a wide table, in words; empty if there is none."""
    gaps = (
        f"“{one_line(places[last], 60)}” is followed by “{one_line(places[following], 60)}”"
        for places in _series(columns)
        for last, following in pairwise(sorted(places))
        if following > last + 1
    )
    return next(gaps, "")


def uses(kind: ImportKind, original: Collection[str], plain: Collection[str]) -> str:
    """One line that says how each column of a file was read: `uid as user_id, rank; ignored: x`."""
    known, wide = KNOWN[kind], set(numbered(plain)) if kind == "lists" else set()
    pairs = list(zip(original, plain, strict=True))
    taken = [new if old == new else f"{old} as {new}" for old, new in pairs if new in known]
    if wide:
        first, *_, last = (dict(zip(plain, original, strict=True))[name] for name in numbered(plain))
        taken.append(f"{first} to {last} as the positions of the list")
    rest = [old for old, new in pairs if old and new not in known and new not in wide]
    others = "attributes" if kind in _WITH_ATTRIBUTES else "ignored"
    return ", ".join(taken) + (f"; {others}: {', '.join(rest)}" if rest else "")
