"""The Yelp Open Dataset: JSON Lines in files named .json, of any year."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from recjudge_tui.domain.records import Event, ImportKind, Item, User
from recjudge_tui.importers.files.json_records import cell, first_keys, json_records, storable
from recjudge_tui.importers.files.layout import Layout, LocatedRecord, Record, Request, Sample
from recjudge_tui.importers.files.notes import RowFault
from recjudge_tui.importers.files.values import number, timestamp

_BUSINESS = ("city", "state", "stars", "review_count", "price_range", "is_open")
# names, friends and compliments are left out
_USER = ("review_count", "average_stars", "fans", "yelping_since")
_PRICES = ("RestaurantsPriceRange2", "Price Range")


def read_yelp(request: Request) -> Iterator[LocatedRecord]:
    """Businesses as items, users with the attributes that concern taste, reviews as events with stars, tips as events
    without. The texts of reviews and tips are not kept.
    """
    convert: Callable[[dict[str, Any]], Record] = _event
    if request.kind in ("items", "users"):
        convert = _item if request.kind == "items" else _user
    for line, row in json_records(request.path, request.notes):
        try:
            yield LocatedRecord(line, convert(row))
        except RowFault as fault:
            request.notes.skip(line, fault.kind, f"{fault.text}; row left out")


def _item(row: dict[str, Any]) -> Item:
    price = row.get("attributes")
    price_range = next((price[key] for key in _PRICES if key in price), "") if isinstance(price, dict) else ""
    return Item(
        item_id=_filled(row, "business_id"),
        title=_filled(row, "name"),
        category=_categories(row.get("categories")),
        attributes=_attributes({**row, "price_range": price_range}, _BUSINESS),
    )


def _categories(value: Any) -> str:
    """The categories: a text with commas since 2018, a list before."""
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    names = (str(part).strip() for part in parts)
    return _sound("|".join(dict.fromkeys(name for name in names if name)), "categories")


def _user(row: dict[str, Any]) -> User:
    return User(user_id=_filled(row, "user_id"), attributes=_attributes(row, _USER))


def _event(row: dict[str, Any]) -> Event:
    stars = _text(row, "stars")
    tip = "review_id" not in row and not stars
    return Event(
        user_id=_filled(row, "user_id"),
        item_id=_filled(row, "business_id"),
        type="tip" if tip else "review",
        timestamp=timestamp(_text(row, "date")),
        value=number(stars, "stars") if stars else None,
    )


def _attributes(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    texts = {name: _text(row, name) for name in names}
    return {name: text for name, text in texts.items() if text}


def _filled(row: dict[str, Any], name: str) -> str:
    text = _text(row, name)
    if not text:
        raise RowFault(f"no {name}", f"{name} is empty")
    return text


def _text(row: dict[str, Any], name: str) -> str:
    return _sound(cell(name, row.get(name)).strip(), name)


def _sound(text: str, name: str) -> str:
    if not storable(text):
        raise RowFault("broken text", f"a lone surrogate or a NUL character in {name}")
    return text


def _fits(sample: Sample, kind: ImportKind) -> bool:
    keys = first_keys(sample)
    if "item_id" in keys or "rater" in keys:
        return False
    if kind == "items":
        return "business_id" in keys and "name" in keys and "user_id" not in keys
    if kind == "users":
        return "user_id" in keys and "yelping_since" in keys and "business_id" not in keys
    review = "stars" in keys or ("text" in keys and "date" in keys)
    return kind == "events" and "user_id" in keys and "business_id" in keys and review


YELP = Layout(
    name="yelp",
    kinds=("items", "users", "events"),
    about="Yelp Open Dataset (business, user, review or tip, in JSON Lines)",
    fits=_fits,
    read=read_yelp,
    names=("*business*.json", "*user*.json", "*review*.json", "*tip*.json"),
)
