"""Shows records for people, one on each line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from recjudge_tui.domain.records import Event, Explanation, Item, Label, Slate, User
from recjudge_tui.domain.text import one_line
from recjudge_tui.importers.files.layout import Record
from recjudge_tui.importers.files.values import plain_number

SHOWN = 5
_ITEMS = 10
_WIDTH = 160


def rendered(record: Record) -> str:
    """The record on one line of at most 160 characters."""
    return one_line(" · ".join(part for part in _parts(record) if part), _WIDTH)


def _parts(record: Record) -> Iterator[str]:
    if isinstance(record, Item):
        yield from (f"item {record.item_id}", record.title, record.brand, record.category)
        yield _attributes(record.attributes)
        return
    yield f"user {record.user_id}" if record.user_id else ""
    if isinstance(record, User):
        yield _attributes(record.attributes)
        return
    if isinstance(record, Event):
        value = "" if record.value is None else f" {plain_number(record.value)}"
        yield f"{record.type}{value}"
        yield f"item {record.item_id}" if record.item_id else f"“{one_line(record.text, 60)}”"
        yield record.timestamp
    elif isinstance(record, Slate):
        names = [place.item_id for place in record.items]
        more = ", …" if len(names) > _ITEMS else ""
        yield f"system {record.system}"
        yield f"{len(names)} item{'s' if len(names) > 1 else ''}: {', '.join(names[:_ITEMS])}{more}"
    elif isinstance(record, Explanation):
        yield f"item {record.item_id}"
        yield f"system {record.system}"
        yield f"“{one_line(record.text, 60)}”"
    elif isinstance(record, Label):
        yield from _judged(record)
    yield f"context {record.context}" if record.context else ""
    yield f"served at {record.served_at}" if record.served_at else ""


def _judged(label: Label) -> Iterator[str]:
    yield f"item {label.item_id}" if label.item_id else ""
    yield f"{label.system_a} (A) against {label.system_b} (B)" if label.system_a else ""
    yield f"system {label.system}" if label.system else ""
    answer = "has no readable answer" if label.value is None else f"says {label.label}"
    yield f"{label.rater} {answer} on {label.aspect}"
    yield _order(label)
    yield label.protocol


def _order(label: Label) -> str:
    if len(label.games) > 1:
        differ = len({game.value for game in label.games}) > 1
        return "the two orders differ" if differ else "the same in both orders"
    return "".join(
        f"{label.system_a if game.first == 'a' else label.system_b} shown first" for game in label.games
    )


def _attributes(attributes: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in attributes.items())
