"""Reads titles and categories: words, years, amounts, kinds of products, and a key shared by variants of one product. The
word lists are in `words.toml` beside this file."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable
from functools import lru_cache, wraps
from importlib.resources import files
from typing import NamedTuple, TypeVar

from recjudge_tui.domain.material import ItemView

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")
_READ = 400  # characters read of a title, so that a very long one costs nothing


class Durable(NamedTuple):
    """A product bought once in `years`. `phrases` are its names; the longest match among all kinds wins."""

    kind: str
    phrases: tuple[str, ...]
    years: float


class Consumable(NamedTuple):
    """A product that is used up: `per_day` of a base unit (ml, g, wash, piece) by one household. `days` is how long a pack
    lasts whose title names no amount. With `one_product` only the same product counts as a refill."""

    kind: str
    phrases: tuple[str, ...]
    per_day: dict[str, float]
    days: float
    one_product: bool = False


_DATA = tomllib.loads(files("recjudge_tui.judges.rules").joinpath("words.toml").read_text("utf-8"))
(COLOURS, SCENTS, PACKING, EDITIONS, STOPWORDS, ACCESSORIES, SPARES, FOR_OTHERS, HOLDERS, DIMENSIONS) = (
    frozenset(_DATA["words"][name].split())
    for name in (
        "colours", "scents", "packing", "editions", "without_meaning", "accessories", "spares", "for_others", "holders",
        "dimensions",
    )
)  # fmt: skip
NO_CATEGORY = frozenset(_DATA["words"]["no_category"])
# unit -> (base unit, factor)
UNITS: dict[str, tuple[str, float]] = {
    unit: (base, factor) for base, units in _DATA["units"].items() for unit, factor in units.items()
}
DURABLES = tuple(Durable(kind, tuple(of["names"]), of["years"]) for kind, of in _DATA["durables"].items())
CONSUMABLES = tuple(
    Consumable(of["kind"], tuple(of["names"]), of["per_day"], of["days"], of.get("one_product", False))
    for of in _DATA["consumables"]
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_YEAR = re.compile(r"\(((?:18|19|20)\d\d)\)")
_LEVELS = re.compile(r"[|,;]|[>/]")
_NUMBER = r"\d{1,6}(?:[.,]\d{1,3})?"
_UNIT = "|".join(sorted((u.replace(" ", r"\s") for u in UNITS), key=lambda u: (-len(u), u)))
_MULTIPLE = re.compile(rf"(\d{{1,4}})\s*[x×]\s*({_NUMBER})\s?-?({_UNIT})\b")
_MEASURE = re.compile(rf"\b({_NUMBER})\s?-?({_UNIT})\b")
_PACK_OF = re.compile(r"\b(?:pack|set|box|case|bundle|bag) of (\d{1,4})\b")
_FORM = re.compile(rf"\b{_NUMBER}\s?-?(?:{'|'.join(sorted(DIMENSIONS))})\b|\bsize [\w.]{{1,4}}\b")
K = TypeVar("K", Durable, Consumable)


def _phrases(kinds: tuple[K, ...]) -> list[tuple[str, K]]:
    """The names of all kinds between spaces, the longest first."""
    named = [(f" {phrase} ", kind) for kind in kinds for phrase in kind.phrases]
    return sorted(named, key=lambda p: (-len(p[0]), p[0]))


_DURABLE_PHRASES, _CONSUMABLE_PHRASES = _phrases(DURABLES), _phrases(CONSUMABLES)


def of_text(function: Callable[..., T]) -> Callable[..., T]:
    """The function of the first 400 characters of each text, with a cache: the same items are in many lists."""
    cached = lru_cache(maxsize=20_000)(function)

    @wraps(function)
    def short(*parts: str | bool) -> T:
        return cached(*[part[:_READ] if isinstance(part, str) else part for part in parts])

    return short


class Categories(NamedTuple):
    """The tokens of a category. `leaf` is the last one; `parent` the one above it in a path of three."""

    tokens: tuple[str, ...]
    leaf: str = ""
    parent: str = ""


@of_text
def plain(text: str) -> str:
    """The text in lower case and NFKC form; at most 400 characters."""
    return unicodedata.normalize("NFKC", text).casefold()


@of_text
def words(text: str) -> tuple[str, ...]:
    """The words of a text in order, each in a rough singular."""
    return tuple(map(singular, _WORD.findall(plain(text))))


@of_text
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


@of_text
def categories(text: str) -> Categories:
    """The tokens of `A|B`, `A, B`, `A > B > C` or `A/B`, each once, without meaningless ones."""
    parts = [" ".join(part.split()) for part in _LEVELS.split(plain(text))]
    tokens = tuple(dict.fromkeys(part for part in parts if part not in NO_CATEGORY))
    if not tokens or not (">" in text or "/" in text):
        return Categories(tokens)
    return Categories(tokens, tokens[-1], tokens[-2] if len(tokens) > 2 else "")


def same_title(item: ItemView) -> tuple[str, tuple[str, ...]]:
    """Brand and words of a title: equal for two entries of the same thing."""
    return plain(item.brand).strip(), words(item.title)


def variant_key(item: ItemView, media: bool) -> tuple[str, str, tuple[str, ...]]:
    """(brand, year, sorted words) of an item without its size, colour, scent, count, pack and edition. Numbers without a
    unit stay, so `Heat` and `Heat 2`, or the models `S3` and `S7`, differ; so do two years. In a film title a colour is
    part of the name: for `media` only measures and words of editions are removed, and only the latter if the title has a
    year in brackets."""
    return (plain(item.brand).strip(), *_bare(item.title, media))


@of_text
def _bare(title: str, media: bool) -> tuple[str, tuple[str, ...]]:
    text = plain(title)
    when = next(reversed(_YEAR.findall(text)), "")
    bare = text
    for pattern in () if when else (_MULTIPLE, _PACK_OF, _MEASURE, _FORM):
        bare = pattern.sub(" ", bare)
    drop = EDITIONS if media or when else COLOURS | SCENTS | PACKING | EDITIONS
    kept = [word for word in words(bare) if word not in drop] or words(text)
    return when, tuple(sorted(set(kept)))


def amounts(title: str) -> dict[str, float]:
    """Amounts in base units (ml, g, m, wash, piece): `2 x 250 ml` → `{"ml": 500.0}`. A count next to a measure (`Pack of
    3, 300 g`) does not multiply it. The title is ambiguous, and the smaller amount is the cautious reading."""
    text = plain(title)
    found = [(float(count), number, unit) for count, number, unit in _MULTIPLE.findall(text)]
    found += [(1.0, number, unit) for number, unit in _MEASURE.findall(_MULTIPLE.sub(" ", text))]
    result: dict[str, float] = {}
    for count, number, unit in found:
        base, factor = UNITS[" ".join(unit.split())]
        result.setdefault(base, count * float(number.replace(",", ".")) * factor)
    for pack in _PACK_OF.findall(text):
        result.setdefault("piece", float(pack))
    return {base: amount for base, amount in result.items() if amount > 0}


def _leaf(category: str) -> str:
    tokens = categories(category).tokens
    return f" {' '.join(words(tokens[-1]))} " if tokens else ""


def durable_kind(item: ItemView) -> Durable | None:
    """The durable an item is, by its title, else by its last category; None for accessories."""
    return _durable(item.title, item.category)


@of_text
def _durable(name: str, category: str) -> Durable | None:
    title = words(name)
    if SPARES.intersection(title):
        return None
    text = f" {' '.join(title)} "
    for phrase, kind in _DURABLE_PHRASES:
        _, found, after = text.partition(phrase)
        if found:
            return None if ACCESSORIES.intersection(after.split()) else kind
    leaf = "" if ACCESSORIES.intersection(title) else _leaf(category)
    return next((kind for phrase, kind in _DURABLE_PHRASES if leaf == phrase), None)


@of_text
def durables_named(text: str) -> tuple[Durable, ...]:
    """The durables named in a search."""
    searched = f" {' '.join(words(text))} "
    return tuple(kind for kind in DURABLES if any(f" {phrase} " in searched for phrase in kind.phrases))


def consumable_kind(item: ItemView) -> Consumable | None:
    """The consumable an item is; a title with an amount but no known name is a consumable `product`."""
    return _consumable(item.title, item.category)


@of_text
def _consumable(name: str, category: str) -> Consumable | None:
    title = words(name)
    if HOLDERS.intersection(title):
        return None
    text, leaf = f" {' '.join(title)} ", _leaf(category)
    named = [kind for phrase, kind in _CONSUMABLE_PHRASES if phrase in text]
    named += [kind for phrase, kind in _CONSUMABLE_PHRASES if leaf == phrase]
    return named[0] if named else Consumable("product", (), {}, 60, True) if amounts(name) else None


def days_of_supply(item: ItemView, kind: Consumable) -> float:
    """How long one pack lasts: amount over daily use, else the kind's default; between 1 and 730 days."""
    by_unit = amounts(item.title)
    for unit, per_day in kind.per_day.items():
        if unit in by_unit:
            return min(max(by_unit[unit] / per_day, 1.0), 730.0)
    return kind.days
