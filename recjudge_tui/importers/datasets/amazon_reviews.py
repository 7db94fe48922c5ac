"""Amazon Reviews 2023 (McAuley Lab): reviews and product metadata in JSON Lines, and the benchmark's tables of ratings.

Fields as described at https://amazon-reviews-2023.github.io and in the dataset card of McAuley-Lab/Amazon-Reviews-2023.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.json_records import cell, json_decoder
from recjudge_tui.importers.files.layout import Layout, LocatedRecord, Request, Sample
from recjudge_tui.importers.files.notes import Row
from recjudge_tui.importers.files.tables import Dialect, header_of, read_table
from recjudge_tui.importers.plain.tables import records_of

_REVIEW = ("user_id", "parent_asin", "rating", "timestamp")
_PRODUCT = ("parent_asin", "title")
_PRODUCT_ONLY = ("main_category", "store", "average_rating", "features")
_KEPT = ("main_category", "price", "average_rating", "rating_number", "subtitle", "features", "description")


def read_amazon_reviews(request: Request) -> Iterator[LocatedRecord]:
    """Reviews as events, products as items; the item is the `parent_asin`, which the metadata describes.

    A review is a `purchase` if it is verified, else a `review`; the rating is its value. Its text is not kept.
    A product's store is its brand; its details become attributes.
    Raises InputError for a file without the columns that the kind needs.
    """
    needed = _REVIEW if request.kind == "events" else _PRODUCT
    table = read_table(request.path, needed, Dialect(), request.notes)
    if missing := [name for name in needed if name not in table.columns]:
        raise InputError(
            f"{request.path} has no field {missing[0]}",
            f"Found: {one_line(', '.join(table.columns), 300)}.",
            f"In Amazon Reviews 2023, {'reviews' if needed is _REVIEW else 'products'} have {', '.join(needed)}.",
        )
    rows = _events(table.rows) if request.kind == "events" else _items(table.rows)
    yield from records_of(request, rows)


def _events(rows: Iterator[Row]) -> Iterator[Row]:
    for line, row in rows:
        kind = "purchase" if row.get("verified_purchase", "").lower() in ("true", "1") else "review"
        yield (
            line,
            {
                "user_id": row.get("user_id", ""),
                "item_id": row.get("parent_asin", ""),
                "type": kind,
                "value": row.get("rating", ""),
                "timestamp": row.get("timestamp", ""),
            },
        )


def _items(rows: Iterator[Row]) -> Iterator[Row]:
    for line, row in rows:
        fixed = {
            "item_id": row.get("parent_asin", ""),
            "title": row.get("title", ""),
            "brand": _listed(row.get("store", "")),
            "category": _listed(row.get("categories", "")) or row.get("main_category", ""),
        }
        kept = {name: _listed(row.get(name, "")) for name in _KEPT}
        yield line, {**_details(row.get("details", "")), **kept, **fixed}


def _details(text: str) -> dict[str, str]:
    """The entries of `details`: an object, in some copies of the data written as text; empty if it cannot be read."""
    decoded = _decoded(text) if text.lstrip().startswith("{") else None
    if not isinstance(decoded, dict):
        return {}
    texts = {name.strip(): cell(name, value).strip() for name, value in decoded.items()}
    return {name: value for name, value in texts.items() if name and value}


def _listed(text: str) -> str:
    """A list as `a|b`; an empty one, or null written as text, as an empty text."""
    if text in ("[]", "None"):
        return ""
    decoded = _decoded(text) if text.startswith("[") else None
    return "|".join(map(str, decoded)) if isinstance(decoded, list) else text


def _decoded(text: str) -> object:
    try:
        return json_decoder().decode(text)
    except (json.JSONDecodeError, RecursionError):
        return None


def _fits(sample: Sample, kind: ImportKind) -> bool:
    names = set(header_of(sample.text))
    if not names.isdisjoint(("item_id", "system", "rater")):
        return False
    if kind == "events":
        return names.issuperset(_REVIEW)
    product = names.issuperset(_PRODUCT) and not names.isdisjoint(_PRODUCT_ONLY)
    return kind == "items" and product and "user_id" not in names


AMAZON_REVIEWS = Layout(
    name="amazon-reviews",
    kinds=("items", "events"),
    about="Amazon Reviews 2023 (reviews, meta or the benchmark's ratings)",
    fits=_fits,
    read=read_amazon_reviews,
    names=("*.jsonl", "*.csv"),
)
