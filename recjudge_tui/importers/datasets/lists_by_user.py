"""Items in one JSON object, each array under its user: `{user: [item, item]}`, a dictionary of recommendations or of what
users did."""

from __future__ import annotations

import re
from collections.abc import Iterator

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.importers.files.column_names import squashed
from recjudge_tui.importers.files.json_object import Entry, json_entries
from recjudge_tui.importers.files.json_records import first_keys, storable
from recjudge_tui.importers.files.layout import Choice, Layout, LocatedRecord, Request, Sample
from recjudge_tui.importers.files.notes import Notes, Row, RowFault
from recjudge_tui.importers.files.values import number, shown
from recjudge_tui.importers.plain.columns import ALIASES, KNOWN, has
from recjudge_tui.importers.plain.list_cells import Place, place_of
from recjudge_tui.importers.plain.lists import ListRow, slates_of, system_of
from recjudge_tui.importers.plain.tables import records_of

_FIRST_LIST = re.compile(r'\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[')
# a table column by column ({"user": [...], "item": [...]}) has arrays as well
_COLUMN_NAMES = {
    squashed(name)
    for kind in ("lists", "events", "items", "labels")
    for names in (KNOWN[kind], *ALIASES[kind].values())
    for name in names
} - {"u", "i"}
# a table as pandas writes it with orient="split"
_SPLIT = {"columns", "index", "data"}
_CHOICES = (
    Choice("lists", "lists, ranked in the order of each array", "--system NAME"),
    Choice("events", "what users did", "--type TYPE"),
)


def read_by_user(request: Request) -> Iterator[LocatedRecord]:
    """A list for each user, in the order of the array, or an event for each of its elements.

    The elements are ids, `[id, score]`, or objects with an item and a score. The system of lists is `--system`, else the
    file's name without its ending; the type of events is `--type`, else `interaction`.
    """
    request.notes.unit = "user "
    if request.kind == "events":
        request.notes.remark("each user has an array: an event for each of its elements")
        yield from records_of(request, _events(request))
        return
    system = system_of(request)
    request.notes.remark("each user has an array: a list, ranked in the order of the array")
    yield from slates_of(_lists(request, system), request.notes)


def _events(request: Request) -> Iterator[Row]:
    for place, user_id, items in _arrays(request):
        for item in items:
            event = {"user_id": user_id, "item_id": item.item_id, "type": "interaction", "value": item.score}
            yield place, event


def _lists(request: Request, system: str) -> Iterator[ListRow]:
    for place, user_id, items in _arrays(request):
        if not items:
            yield ListRow(place, user_id, system, "", None)
        for rank, item in enumerate(items, start=1):
            yield ListRow(place, user_id, system, item.item_id, rank, _score(item, place, request.notes))


def _arrays(request: Request) -> Iterator[tuple[int, str, list[Place]]]:
    """The place in the file, the user and what is in the array, of each user once."""
    users: set[str] = set()
    for place, entry in enumerate(json_entries(request.path), start=1):
        user_id = entry.key.strip()
        if user_id in users:
            request.notes.skip(place, "user twice", f"{shown(user_id)} occurs twice; the first array is kept")
            continue
        try:
            items = _places(entry)
        except RowFault as fault:
            request.notes.skip(place, fault.kind, f"{shown(entry.key)}: {fault.text}; left out")
            continue
        users.add(user_id)
        yield place, user_id, items


def _places(entry: Entry) -> list[Place]:
    """The items of one user's list. Raises RowFault for anything but a user with an array of items."""
    if not isinstance(entry.value, list):
        raise RowFault("not a list", "no array of items")
    items = [place_of(dict(part) if isinstance(part, tuple) else part) for part in entry.value]
    if not entry.key.strip() or not all(item.item_id for item in items):
        raise RowFault("no id", "the user or an item has no id")
    if not storable(entry.key + "".join(item.item_id for item in items)):
        raise RowFault("broken text", "a lone surrogate or a NUL character in an id")
    return items


def _score(item: Place, place: int, notes: Notes) -> float | None:
    try:
        return number(item.score, "score") if item.score else None
    except RowFault as fault:
        notes.warn(place, "bad score", f"{fault.text}; the item is kept without a score")
        return None


def _fits(sample: Sample, kind: ImportKind) -> bool:
    if kind not in ("lists", "events") or not _FIRST_LIST.match(sample.text.lstrip("\ufeff \t\r\n")):
        return False
    keys = first_keys(sample)
    if set(keys) <= _SPLIT:
        return False
    return set(keys.values()) == {"["} and not has([squashed(key) for key in keys], _COLUMN_NAMES)


LISTS_BY_USER = Layout(
    name="lists-by-user",
    kinds=("lists", "events"),
    about="lists, or what users did, in one JSON object ({user: [item, item, ...]})",
    fits=_fits,
    read=read_by_user,
    names=("*.json",),
    choices=lambda _sample: _CHOICES,
)
