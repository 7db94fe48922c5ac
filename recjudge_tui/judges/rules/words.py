"""The word lists of the rules judge, from `words.toml` beside this file: units, variants, durables, consumables."""

from __future__ import annotations

import sys
from importlib.resources import files
from typing import NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class Durable(NamedTuple):
    """A product bought once in `years`. `phrases` are its names; the longest match among all kinds wins."""

    kind: str
    phrases: tuple[str, ...]
    years: float


class Consumable(NamedTuple):
    """A product that is used up: `per_day` of a base unit (ml, g, wash, piece) by one household. `days` is how long a pack
    lasts whose title names no amount. With `one_product` only the same product counts as a refill.
    """

    kind: str
    phrases: tuple[str, ...]
    per_day: dict[str, float]
    days: float
    one_product: bool = False


_DATA = tomllib.loads(files("recjudge_tui.judges.rules").joinpath("words.toml").read_text("utf-8"))


def _set(name: str) -> frozenset[str]:
    return frozenset(_DATA["words"][name].split())


COLOURS, SCENTS, PACKING, EDITIONS = map(_set, ("colours", "scents", "packing", "editions"))
STOPWORDS, ACCESSORIES, SPARES = map(_set, ("without_meaning", "accessories", "spares"))
FOR_OTHERS, HOLDERS, DIMENSIONS = map(_set, ("for_others", "holders", "dimensions"))
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
