"""Known faults: which faults can be planted into a list, and which items of a list certainly have none. Both are cautious:
a planted item is faulty by any reading of the guidelines, and an item counts as faultless only if nothing hints at a
fault. The names of durables and consumables are those of the rules."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from recjudge_tui.domain.event_types import owned
from recjudge_tui.domain.made_lists import FaultKind, variant_title
from recjudge_tui.domain.material import ItemView, ShownEvent, UserView
from recjudge_tui.judges.rules.issues import (
    AHEAD_DAYS,
    DURABLE,
    OFF_CATEGORY,
    OWNED,
    PACING,
    VARIATION,
    Holdings,
    holdings_of,
)
from recjudge_tui.judges.rules.profile import latest, moment, traits
from recjudge_tui.judges.rules.text import (
    categories,
    consumable_kind,
    durable_kind,
    same_title,
    variant_key,
    words,
)

ISSUE_OF: dict[FaultKind, str] = {
    "variant": VARIATION,
    "owned": OWNED,
    "refill": PACING,
    "durable": DURABLE,
    "off-category": OFF_CATEGORY,
}
# at least this share of a pack must be left; at most this share of a durable's lifetime may have passed
_PACK_LEFT = 0.75
_LIFE_PASSED = 0.5
# events with a category needed before an item can be off-category
_KNOWN_TASTE = 5
# items of a catalogue that are tried to find one that is off-category
_LOOKED_AT = 2000


class Catalogue(NamedTuple):
    """The items that can be planted, and the durables among them by their kind."""

    items: tuple[ItemView, ...]
    durables: dict[str, list[ItemView]]


def catalogue_of(items: Iterable[ItemView]) -> Catalogue:
    catalogue = Catalogue(tuple(items), {})
    for item in catalogue.items:
        if kind := durable_kind(item):
            catalogue.durables.setdefault(kind.kind, []).append(item)
    return catalogue


class Fault(NamedTuple):
    """An item that replaces the one at a position (from 0) of the list."""

    place: int
    item: ItemView


@dataclass(frozen=True)
class Shopper:
    """A user and the facts derived from their events. `hidden`: items held out from judges."""

    user: UserView
    holdings: Holdings
    hidden: frozenset[str]
    domain: str

    @property
    def events(self) -> tuple[ShownEvent, ...]:
        return (*self.user.history, *self.user.clicks, *self.user.others, *self.user.searches)


def shopper_of(user: UserView, hidden: Collection[str] = (), domain: str = "") -> Shopper:
    return Shopper(user, holdings_of(user), frozenset(hidden), domain)


def fault(
    kind: FaultKind, shopper: Shopper, items: Sequence[ItemView], catalogue: Catalogue, rng: random.Random
) -> Fault | None:
    """A fault of this kind for this list, drawn by `rng`; None if the user's history or the list does not allow one."""
    if not items or kind == "variant":
        return _variant(shopper, items, rng) if items else None
    listed = {key for item in items for key in (item.item_id, same_title(item))}
    candidates = _CANDIDATES[kind](shopper, catalogue, rng)
    fresh = [item for item in candidates if not listed.intersection((item.item_id, same_title(item)))]
    return Fault(rng.randrange(len(items)), rng.choice(fresh)) if fresh else None


def free_places(kind: FaultKind, shopper: Shopper, items: Sequence[ItemView]) -> set[int]:
    """The positions (from 0) of the items that certainly have no fault of this kind."""
    return {place for place in range(len(items)) if _is_free(kind, shopper, items, place)}


# ---- what can be planted


def _variant(shopper: Shopper, items: Sequence[ItemView], rng: random.Random) -> Fault | None:
    """A variant of an item further up that the user does not own, and of a kind that the user neither owns nor compares."""
    upper = enumerate(items[:-1])
    originals = [place for place, item in upper if words(item.title) and not _is_had(shopper, item)]
    if not originals:
        return None
    original = items[first := rng.choice(originals)]
    title = variant_title(original.title, shopper.domain, media=shopper.holdings.media)
    # an unknown item is shown under its id
    made = original.model_copy(update={"item_id": title, "title": title})
    return Fault(rng.randrange(first + 1, len(items)), made)


def _is_had(shopper: Shopper, item: ItemView) -> bool:
    """Whether the user has the item, or has or compares something of its kind."""
    holdings = shopper.holdings
    if _is_owned(holdings, item):
        return True
    durable, consumable = durable_kind(item), consumable_kind(item)
    if holdings.media:
        return False
    if durable is not None:
        return durable.kind in holdings.durables or durable.kind in holdings.compared
    return consumable is not None and consumable.kind in _bought_consumables(shopper)


def _is_owned(holdings: Holdings, item: ItemView) -> bool:
    return (
        item.item_id in holdings.ids
        or same_title(item) in holdings.titles
        or (holdings.media and variant_key(item, True) in holdings.works)
    )


def _bought_consumables(shopper: Shopper) -> set[str]:
    known = (event.item for event in shopper.user.history if event.item and owned(event.type))
    return {kind.kind for item in known if (kind := consumable_kind(item))}


def _owned_items(shopper: Shopper, _: Catalogue, __: random.Random) -> list[ItemView]:
    """Items that the user has, except consumables and items they still compare."""
    holdings = shopper.holdings
    items = [event.item for event in holdings.ids.values() if event.item]
    if holdings.media:
        return items
    return [
        item
        for item in items
        if not consumable_kind(item) and not ((kind := durable_kind(item)) and kind.kind in holdings.compared)
    ]


def _early_refills(shopper: Shopper, _: Catalogue, __: random.Random) -> list[ItemView]:
    return [
        supply.bought
        for supply in shopper.holdings.supplies.values()
        if supply.left >= max(_PACK_LEFT * supply.days, AHEAD_DAYS)
    ]


def _second_durables(shopper: Shopper, catalogue: Catalogue, _: random.Random) -> list[ItemView]:
    """Other products of the kinds that the user bought not long ago and does not compare."""
    holdings, now = shopper.holdings, latest(shopper.user)
    seen = {event.item.item_id for event in shopper.events if event.item}
    fitting: list[ItemView] = []
    for kind, event in holdings.durables.items():
        then = moment(event.timestamp)
        durable = durable_kind(event.item) if event.item else None
        if holdings.media or durable is None or kind in holdings.compared or then is None or now is None:
            continue
        if (now - then).days <= _LIFE_PASSED * durable.years * 365:
            alike = catalogue.durables.get(kind, ())
            fitting += [item for item in alike if item.item_id not in seen and not _is_owned(holdings, item)]
    return fitting


def _strangers(shopper: Shopper, catalogue: Catalogue, rng: random.Random) -> list[ItemView]:
    """One item that shares no category, brand or title word with anything the user did."""
    known = [event.item for event in shopper.events if event.item]
    fields = {token for item in known for token in traits(item).categories.tokens}
    if sum(bool(traits(item).categories.tokens) for item in known) < _KNOWN_TASTE:
        return []
    fields |= {token for name in shopper.user.browsed for token in categories(name).tokens}
    brands = {traits(item).brand for item in known}
    terms = {word for item in known for word in traits(item).words}
    terms |= {word for event in shopper.events for word in words(event.text)}
    looked_at = min(len(catalogue.items), _LOOKED_AT)
    for item in rng.sample(catalogue.items, looked_at):
        its = traits(item)
        if (
            item.item_id in shopper.hidden
            or not its.categories.tokens
            or fields.intersection(its.categories.tokens)
        ):
            continue
        if (its.brand and its.brand in brands) or terms.intersection((*its.words, *words(item.category))):
            continue
        if not _is_had(shopper, item):
            return [item]
    return []


_CANDIDATES: dict[FaultKind, Callable[[Shopper, Catalogue, random.Random], list[ItemView]]] = {
    "owned": _owned_items,
    "refill": _early_refills,
    "durable": _second_durables,
    "off-category": _strangers,
}


# ---- what certainly has no fault


def _is_free(kind: FaultKind, shopper: Shopper, items: Sequence[ItemView], place: int) -> bool:
    item, holdings = items[place], shopper.holdings
    if kind == "variant":
        others = (other for at, other in enumerate(items) if at != place)
        return not any(_alike(item, other) for other in others)
    if kind == "owned":
        return not any(_alike(item, event.item) for event in holdings.ids.values() if event.item)
    if kind == "off-category":
        liked = (event.item for event in shopper.user.history if event.item and owned(event.type))
        own = set(traits(item).categories.tokens)
        return any(own.intersection(traits(other).categories.tokens) for other in liked)
    if holdings.media:
        # other versions of a story and other parts of a series share a word of the title
        return not any(_alike(item, event.item) for event in shopper.events if event.item)
    if kind == "durable":
        durable = durable_kind(item)
        return durable is None or durable.kind not in holdings.durables
    consumable = consumable_kind(item)
    return consumable is None or consumable.kind not in _bought_consumables(shopper)


def _alike(item: ItemView, other: ItemView) -> bool:
    """Whether the two may be the same or variants of one: they share a meaningful word of their titles, or any word where
    none is."""
    first, second = (traits(each).words or words(each.title) for each in (item, other))
    return item.item_id == other.item_id or bool(set(first).intersection(second))
