"""Reads titles and categories: words, years, amounts, and a key shared by variants of one product."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from recjudge_tui.domain.material import ItemView
from recjudge_tui.judges.rules.words import (
    ACCESSORIES,
    COLOURS,
    CONSUMABLES,
    DIMENSIONS,
    DURABLES,
    EDITIONS,
    HOLDERS,
    NO_CATEGORY,
    PACKING,
    SCENTS,
    SPARES,
    UNITS,
    Consumable,
    Durable,
)

_READ = 400  # characters read of a title, so that a very long one costs nothing
_KEPT = 20_000  # entries in each of the caches below
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_YEAR = re.compile(r"\(((?:18|19|20)\d\d)\)")
_LEVELS = re.compile(r"[|,;]|[>/]")
_NUMBER = r"\d{1,6}(?:[.,]\d{1,3})?"
_UNIT = "|".join(sorted((u.replace(" ", r"\s") for u in UNITS), key=lambda u: (-len(u), u)))
_MULTIPLE = re.compile(rf"(\d{{1,4}})\s*[x×]\s*({_NUMBER})\s?-?({_UNIT})\b")
_MEASURE = re.compile(rf"\b({_NUMBER})\s?-?({_UNIT})\b")
_PACK_OF = re.compile(r"\b(?:pack|set|box|case|bundle|bag) of (\d{1,4})\b")
_FORM = re.compile(rf"\b{_NUMBER}\s?-?(?:{'|'.join(sorted(DIMENSIONS))})\b|\bsize [\w.]{{1,4}}\b")

_DURABLE_PHRASES = sorted(
    ((f" {phrase} ", kind) for kind in DURABLES for phrase in kind.phrases),
    key=lambda p: (-len(p[0]), p[0]),
)
_CONSUMABLE_PHRASES = sorted(
    ((f" {phrase} ", kind) for kind in CONSUMABLES for phrase in kind.phrases),
    key=lambda p: (-len(p[0]), p[0]),
)


class Categories(NamedTuple):
    """The tokens of a category. `leaf` is the last one; `parent` the one above it in a path of three."""

    tokens: tuple[str, ...]
    leaf: str = ""
    parent: str = ""


def plain(text: str) -> str:
    """The text in lower case and NFKC form; at most 400 characters."""
    return unicodedata.normalize("NFKC", text[:_READ]).casefold()


def words(text: str) -> tuple[str, ...]:
    """The words of a text in order, each in a rough singular."""
    return _words(text[:_READ])


@lru_cache(maxsize=_KEPT)
def _words(text: str) -> tuple[str, ...]:
    return tuple(singular(word) for word in _WORD.findall(plain(text)))


@lru_cache(maxsize=_KEPT)
def singular(word: str) -> str:
    """`brushes` → `brush`, `heads` → `head`, `batteries` → `battery`; other words stay."""
    if not word.endswith("s"):
        return word
    word = word.replace("’", "'").removesuffix("'s")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("shes", "ches", "sses", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def categories(text: str) -> Categories:
    """The tokens of `A|B`, `A, B`, `A > B > C` or `A/B`, each once, without meaningless ones."""
    return _categories(text[:_READ])


@lru_cache(maxsize=_KEPT)
def _categories(text: str) -> Categories:
    parts = [" ".join(part.split()) for part in _LEVELS.split(plain(text))]
    tokens = tuple(dict.fromkeys(part for part in parts if part not in NO_CATEGORY))
    if not tokens or not (">" in text or "/" in text):
        return Categories(tokens)
    return Categories(tokens, tokens[-1], tokens[-2] if len(tokens) > 2 else "")


def year(title: str) -> str:
    """The last year in brackets, `(1994)` → `1994`, or an empty string."""
    years = _YEAR.findall(title[:_READ])
    return years[-1] if years else ""


def same_title(item: ItemView) -> tuple[str, tuple[str, ...]]:
    """Brand and words of a title: equal for two entries of the same thing."""
    return _brand(item.brand[:_READ]), words(item.title)


@lru_cache(maxsize=_KEPT)
def _brand(text: str) -> str:
    return plain(text).strip()


def variant_key(item: ItemView, media: bool) -> tuple[str, str, tuple[str, ...]]:
    """(brand, year, sorted words) of an item without its size, colour, scent, count, pack and edition.

    Numbers without a unit stay, so `Heat` and `Heat 2`, or the models `S3` and `S7`, differ; so do two years. In a
    film title a colour is part of the name: for `media` only measures and words of editions are removed, and only the
    latter if the title has a year in brackets.
    """
    return (_brand(item.brand[:_READ]), *_bare(item.title[:_READ], media))


@lru_cache(maxsize=_KEPT)
def _bare(title: str, media: bool) -> tuple[str, tuple[str, ...]]:
    text = plain(title)
    when = year(text)
    bare = text
    if not when:
        bare = _FORM.sub(" ", _MEASURE.sub(" ", _PACK_OF.sub(" ", _MULTIPLE.sub(" ", text))))
    drop = EDITIONS if media or when else COLOURS | SCENTS | PACKING | EDITIONS
    kept = [word for word in words(bare) if word not in drop] or words(text)
    return when, tuple(sorted(set(kept)))


def amounts(title: str) -> dict[str, float]:
    """Amounts in base units (ml, g, m, wash, piece): `2 x 250 ml` → `{"ml": 500.0}`.

    A count next to a measure (`Pack of 3, 300 g`) does not multiply it. The title is ambiguous, and the smaller
    amount is the cautious reading.
    """
    text = plain(title)
    result: dict[str, float] = {}
    for count, number, unit in _MULTIPLE.findall(text):
        base, factor = UNITS[" ".join(unit.split())]
        result.setdefault(base, float(count) * float(number.replace(",", ".")) * factor)
    text = _MULTIPLE.sub(" ", text)
    for number, unit in _MEASURE.findall(text):
        base, factor = UNITS[" ".join(unit.split())]
        result.setdefault(base, float(number.replace(",", ".")) * factor)
    for count in _PACK_OF.findall(text):
        result.setdefault("piece", float(count))
    return {base: amount for base, amount in result.items() if amount > 0}


def durable_kind(item: ItemView) -> Durable | None:
    """The durable an item is, by its title, else by its last category; None for accessories."""
    return _durable(item.title[:_READ], item.category[:_READ])


@lru_cache(maxsize=_KEPT)
def _durable(name: str, category: str) -> Durable | None:
    title = words(name)
    if SPARES.intersection(title):
        return None
    text = f" {' '.join(title)} "
    for phrase, kind in _DURABLE_PHRASES:
        place = text.find(phrase)
        if place >= 0:
            after = text[place + len(phrase) :].split()
            return None if ACCESSORIES.intersection(after) else kind
    tokens = categories(category).tokens
    leaf = f" {' '.join(words(tokens[-1]))} " if tokens else ""
    if ACCESSORIES.intersection(title):
        return None
    return next((kind for phrase, kind in _DURABLE_PHRASES if leaf == phrase), None)


@lru_cache(maxsize=_KEPT)
def _named(text: str) -> tuple[Durable, ...]:
    searched = f" {' '.join(words(text))} "
    return tuple(kind for kind in DURABLES if any(f" {phrase} " in searched for phrase in kind.phrases))


def durables_named(text: str) -> tuple[Durable, ...]:
    """The durables named in a search."""
    return _named(text[:_READ]) if text else ()


def consumable_kind(item: ItemView) -> Consumable | None:
    """The consumable an item is; a title with an amount but no known name is a consumable `product`."""
    return _consumable(item.title[:_READ], item.category[:_READ])


@lru_cache(maxsize=_KEPT)
def _consumable(name: str, category: str) -> Consumable | None:
    title = words(name)
    if HOLDERS.intersection(title):
        return None
    text = f" {' '.join(title)} "
    for phrase, kind in _CONSUMABLE_PHRASES:
        if phrase in text:
            return kind
    tokens = categories(category).tokens
    leaf = f" {' '.join(words(tokens[-1]))} " if tokens else ""
    for phrase, kind in _CONSUMABLE_PHRASES:
        if leaf == phrase:
            return kind
    return Consumable("product", (), {}, 60, True) if amounts(name) else None


def days_of_supply(item: ItemView, kind: Consumable) -> float:
    """How long one pack lasts: amount over daily use, else the kind's default; between 1 and 730 days."""
    by_unit = amounts(item.title)
    for unit, per_day in kind.per_day.items():
        if unit in by_unit:
            return min(max(by_unit[unit] / per_day, 1.0), 730.0)
    return kind.days
