"""Issues with single items of a list: at most one finding per item, the most serious kind first. And known faults: which can
be planted into a list, and which items of a list certainly have none. Both are cautious: a planted item is faulty by any
reading of the guidelines, and an item counts as faultless only if nothing hints at a fault."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from recjudge_tui.domain.event_types import action_of, owned, past
from recjudge_tui.domain.made_lists import FaultKind, variant_title
from recjudge_tui.domain.material import ItemView, ShownEvent, SlateView, UserView
from recjudge_tui.domain.text import one_line
from recjudge_tui.judges.rules.profile import (
    FOR_OTHERS,
    Consumable,
    Durable,
    Profile,
    categories,
    consumable_kind,
    days_of_supply,
    durable_kind,
    durables_named,
    is_media,
    latest,
    moment,
    same_title,
    strength,
    traits,
    variant_key,
    words,
)

VARIATION = "minimum-variation redundancy"
DURABLE = "durable-goods redundancy"
PACING = "consumable pacing"
OFF_CATEGORY = "off-category"
OWNED = "already owned"
# what to call one such item, and several
NAMES = {
    OWNED: ("already owned", "already owned"),
    DURABLE: ("a second durable of a kind they have", "more durables of a kind they have"),
    PACING: ("a refill long before it is due", "refills long before they are due"),
    VARIATION: ("nearly the same as another", "nearly the same as others"),
    OFF_CATEGORY: ("foreign to this user", "foreign to this user"),
}
COMPARING_DAYS = 60  # the user is still comparing durables viewed within this time
COMPARED = 2  # ... if they viewed this many models; after a purchase one is enough
# A refill is too early while more than this share of the last pack is left, and more than three weeks' supply,
# since people buy ahead. Another product of the same kind is also a change, so a larger share may be left.
UNUSED_SHARE = 0.5
UNUSED_SHARE_OTHER = 0.75
AHEAD_DAYS = 21.0
PACE_GAP = 7.0  # purchases fewer days apart count as one when measuring the user's pace
_LONGER = 4  # a title needs this many words before the same title with one more word counts as its variant


@dataclass(frozen=True)
class Finding:
    """An issue with one item. `place` is the item's place in the list, from 1; `reason` is a sentence. `weight` counts
    towards the severity of the list's issues: 1, or 0.5 for another product of a consumable's kind."""

    place: int
    issue: str
    reason: str
    weight: float = 1.0


@dataclass(frozen=True)
class Holdings:
    """What a user has according to their events. `ids` and `titles` cover everything bought, used or rated; `works` are
    media by their titles without the edition; `durables` holds the latest purchase per kind, `supplies` the stock per
    consumable, and `compared` the kinds of durable that the user is still choosing from."""

    media: bool
    now: datetime | None
    ids: dict[str, ShownEvent]
    titles: dict[tuple[str, tuple[str, ...]], ShownEvent]
    works: dict[tuple[str, str, tuple[str, ...]], ShownEvent]
    durables: dict[str, ShownEvent]
    supplies: dict[object, Supply]
    compared: frozenset[str]

    def event_of(self, item: ItemView) -> ShownEvent | None:
        """How the user got this item, or other media of the same work."""
        same = self.ids.get(item.item_id) or self.titles.get(same_title(item))
        return same or (self.works.get(variant_key(item, True)) if self.media else None)


@dataclass(frozen=True)
class Supply:
    """The newest pack of a consumable: bought `days_ago`. A pack lasts `days`; the stock lasts `left` more days."""

    bought: ItemView
    days_ago: float
    days: float
    left: float


def quoted(item: ItemView) -> str:
    return f"“{one_line(item.title, 60) or one_line(item.item_id, 60)}”"


def holdings_of(user: UserView) -> Holdings:
    """The holdings of a user. Only purchases count for durables and consumables; a rating shows that an item is known."""
    now = latest(user)
    known = [e for e in reversed(user.history) if e.item and owned(e.type)]
    bought = [e for e in known if action_of(e.type) == "bought"]
    # the last entry wins, so a purchase replaces a rating
    named = sorted(known, key=lambda e: action_of(e.type) == "bought")
    media = is_media(user)
    durables = {kind.kind: e for e in bought if e.item and (kind := durable_kind(e.item))}
    return Holdings(
        media=media,
        now=now,
        ids={e.item.item_id: e for e in named if e.item},
        titles={key: e for e in named if e.item and (key := same_title(e.item))[1]},
        works={variant_key(e.item, True): e for e in named if e.item and words(e.item.title)}
        if media
        else {},
        durables=durables,
        supplies={} if media else _supplies(bought, now),
        compared=frozenset() if media else _compared(user, durables, now),
    )


def findings(slate: SlateView, user: UserView, profile: Profile) -> tuple[Finding, ...]:
    """The findings of a list in the order of its items. The first match counts: already owned, durable-goods redundancy,
    consumable pacing, minimum-variation redundancy (the later of two variants), off-category. A durable that the user is
    still choosing is never redundant."""
    holdings = holdings_of(user)
    keys = [variant_key(item, holdings.media) for item in slate.items]
    found = (
        _owned_or_stocked(place, item, holdings)
        or _variant(place, slate, keys, holdings)
        or _off_category(place, item, profile)
        for place, item in enumerate(slate.items, 1)
    )
    return tuple(filter(None, found))


def _owned_or_stocked(place: int, item: ItemView, holdings: Holdings) -> Finding | None:
    durable = None if holdings.media else durable_kind(item)
    consumable = None if holdings.media or durable else consumable_kind(item)
    if consumable:
        return _early_refill(place, item, consumable, holdings)
    if (had := holdings.event_of(item)) is None or had.item is None:
        return _second_durable(place, durable, holdings) if durable else None
    then = moment(had.timestamp)
    detail = f" on {then.date().isoformat()}" if then else ""
    if had.item.item_id != item.item_id and same_title(had.item) != same_title(item):
        detail = f", another edition of {quoted(item)}"
        item = had.item
    return Finding(place, OWNED, f"The user already {past(had.type)} {quoted(item)}{detail}.")


def _second_durable(place: int, kind: Durable, holdings: Holdings) -> Finding | None:
    """A second durable of a kind bought within its lifetime, unless the user kept comparing after the purchase."""
    event = holdings.durables.get(kind.kind)
    if event is None or event.item is None or kind.kind in holdings.compared:
        return None
    days = _age(event, holdings.now)
    if days is not None and days > kind.years * 365:
        return None
    when = "before" if days is None else _days_ago(days)
    reason = f"The user bought {quoted(event.item)} {when} and will hardly need a second {kind.kind} so soon."
    return Finding(place, DURABLE, reason)


def _age(event: ShownEvent, now: datetime | None) -> float | None:
    then = moment(event.timestamp)
    return max((now - then).total_seconds() / 86400, 0.0) if then and now else None


def _days_ago(days: float) -> str:
    whole = round(days)
    return ("today", "yesterday")[whole] if whole < 2 else f"{whole} days ago"


def _compared(user: UserView, durables: dict[str, ShownEvent], now: datetime | None) -> frozenset[str]:
    """Kinds of durable viewed or searched for within 60 days of the latest event. If one was bought, only later events
    count, and views of the bought item do not. If none was bought, the user must have viewed two different models or
    searched for the kind."""
    models: dict[str, set[str]] = {}
    compared: set[str] = set()
    for event in (*user.clicks, *user.searches):
        at = moment(event.timestamp)
        if at is None or now is None or (now - at).total_seconds() > COMPARING_DAYS * 86400:
            continue
        clicked = durable_kind(event.item) if event.item else None
        for kind in filter(None, (clicked, *durables_named(event.text))):
            purchase = durables.get(kind.kind)
            then = moment(purchase.timestamp) if purchase else None
            bought = purchase and purchase.item and event.item and purchase.item.item_id == event.item.item_id
            if purchase and (then is None or at <= then or bought):
                continue
            if event.item:
                models.setdefault(kind.kind, set()).add(event.item.item_id)
            if purchase or not event.item or len(models[kind.kind]) >= COMPARED:
                compared.add(kind.kind)
    return frozenset(compared)


def _supply_key(item: ItemView, kind: Consumable) -> object:
    """Identifies a stock: the kind, the member of the household, and for some kinds the product."""
    whose = FOR_OTHERS.intersection(words(item.title))
    return (kind.kind, whose, variant_key(item, False) if kind.one_product else None)


def _supplies(bought: list[ShownEvent], now: datetime | None) -> dict[object, Supply]:
    """The stock of each consumable from `bought`, oldest first. A pack is opened when the one before is used up. The
    user's own pace limits the estimate: with at least two gaps of a week or more between purchases of a kind, the stock
    lasts at most the median gap from the last purchase."""
    ends: dict[object, float] = {}
    ages: dict[object, list[float]] = {}
    supplies: dict[object, Supply] = {}
    for event in bought:
        ago = _age(event, now)
        if not event.item or ago is None or durable_kind(event.item):
            continue
        kind = consumable_kind(event.item)
        if not kind:
            continue
        key = _supply_key(event.item, kind)
        days = days_of_supply(event.item, kind)
        ends[key] = max(ends.get(key, -ago), -ago) + days
        ages.setdefault(key, []).append(ago)
        pace = _pace(ages[key])
        left = ends[key] if pace is None else min(ends[key], pace - ago)
        supplies[key] = Supply(event.item, ago, days, left)
    return supplies


def _pace(ages: list[float]) -> float | None:
    """The median gap in days between purchases, given their ages, oldest first; None for fewer than two long gaps."""
    gaps = [older - newer for older, newer in pairwise(ages) if older - newer >= PACE_GAP]
    return median(gaps) if len(gaps) >= 2 else None


def _early_refill(place: int, item: ItemView, kind: Consumable, holdings: Holdings) -> Finding | None:
    """A refill while most of the stock is left. It is too early if the stock lasts more than 21 days, and more than half a
    pack for the same product (of any size or scent), or three quarters for another product of the kind. The latter counts
    half, since people change brands."""
    supply = holdings.supplies.get(_supply_key(item, kind))
    if supply is None:
        return None
    refill = variant_key(item, False) == variant_key(supply.bought, False)
    share = UNUSED_SHARE if refill else UNUSED_SHARE_OTHER
    if supply.left <= max(share * supply.days, AHEAD_DAYS):
        return None
    what = "more of the same" if refill else f"more {kind.kind}"
    reason = (
        f"Too soon for {what}: {quoted(supply.bought)}, bought {_days_ago(supply.days_ago)}, should last "
        f"about {round(supply.left)} days more."
    )
    return Finding(place, PACING, reason, 1.0 if refill else 0.5)


def _variant(
    place: int, slate: SlateView, keys: list[tuple[str, str, tuple[str, ...]]], holdings: Holdings
) -> Finding | None:
    item, key = slate.items[place - 1], keys[place - 1]
    kind = durable_kind(item) if holdings.compared else None
    wanted = kind is not None and kind.kind in holdings.compared
    for earlier, other in enumerate(slate.items[: place - 1]):
        again = other.item_id == item.item_id
        if again or (key[2] and not wanted and _variants(key, keys[earlier])):
            same = "the same item as" if again else "nearly the same as"
            reason = f"{quoted(item)} is {same} {quoted(other)} at place {earlier + 1}."
            return Finding(place, VARIATION, reason)
    return None


def _variants(a: tuple[str, str, tuple[str, ...]], b: tuple[str, str, tuple[str, ...]]) -> bool:
    """Whether the keys are equal or, without a year, have the same brand and differ by one extra word without digits."""
    if a == b or a[:2] != b[:2] or not a[0] or a[1]:
        return a == b
    fewer, more = sorted((set(a[2]), set(b[2])), key=len)
    extra = "".join(more - fewer)
    one_more = fewer < more and len(more) == len(fewer) + 1
    return one_more and len(fewer) >= _LONGER and not any(map(str.isdigit, extra))


def _off_category(place: int, item: ItemView, profile: Profile) -> Finding | None:
    """An item without any connection to a user whose taste is clear and narrow."""
    its = traits(item)
    tokens = its.categories.tokens
    if not profile.clear or not tokens or strength(its, profile) > 0:
        return None
    if profile.categories.keys() & set(tokens) or its.brand in profile.brands:
        return None
    name = one_line(item.category, 60)
    return Finding(place, OFF_CATEGORY, f"Nothing the user did leads to {quoted(item)} ({name}).")


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


@dataclass(frozen=True)
class Catalogue:
    """The items that can be planted, and the durables among them by their kind."""

    items: tuple[ItemView, ...]

    @cached_property
    def durables(self) -> dict[str, list[ItemView]]:
        found: dict[str, list[ItemView]] = {}
        for item in self.items:
            if kind := durable_kind(item):
                found.setdefault(kind.kind, []).append(item)
        return found


class Fault(NamedTuple):
    """An item that replaces the one at a position (from 0) of the list."""

    place: int
    item: ItemView


@dataclass(frozen=True)
class Shopper:
    """A user and the facts derived from their events. `hidden`: items held out from judges."""

    user: UserView
    hidden: Collection[str] = ()
    domain: str = ""

    @cached_property
    def holdings(self) -> Holdings:
        return holdings_of(self.user)

    @property
    def events(self) -> tuple[ShownEvent, ...]:
        return (*self.user.history, *self.user.clicks, *self.user.others, *self.user.searches)


def fault(
    kind: FaultKind, shopper: Shopper, items: Sequence[ItemView], catalogue: Catalogue, rng: random.Random
) -> Fault | None:
    """A fault of this kind for this list, drawn by `rng`; None if the user's history or the list does not allow one."""
    if not items or kind == "variant":
        return _varied(shopper, items, rng) if items else None
    listed = {key for item in items for key in (item.item_id, same_title(item))}
    candidates = _CANDIDATES[kind](shopper, catalogue, rng)
    fresh = [item for item in candidates if not listed.intersection((item.item_id, same_title(item)))]
    return Fault(rng.randrange(len(items)), rng.choice(fresh)) if fresh else None


def free_places(kind: FaultKind, shopper: Shopper, items: Sequence[ItemView]) -> set[int]:
    """The positions (from 0) of the items that certainly have no fault of this kind."""
    return {place for place in range(len(items)) if _is_free(kind, shopper, items, place)}


# ---- what can be planted


def _varied(shopper: Shopper, items: Sequence[ItemView], rng: random.Random) -> Fault | None:
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
    if holdings.event_of(item):
        return True
    durable, consumable = durable_kind(item), consumable_kind(item)
    if holdings.media:
        return False
    if durable is not None:
        return durable.kind in holdings.durables or durable.kind in holdings.compared
    return consumable is not None and consumable.kind in _bought_consumables(shopper)


def _bought_consumables(shopper: Shopper) -> set[str]:
    known = (event.item for event in shopper.user.history if event.item and owned(event.type))
    return {kind.kind for item in known if (kind := consumable_kind(item))}


def _owned_items(shopper: Shopper, _: Catalogue, __: random.Random) -> list[ItemView]:
    """Items that the user has, except consumables and items they still compare."""
    holdings = shopper.holdings
    items = [event.item for event in holdings.ids.values() if event.item]
    if holdings.media:
        return items
    items = [item for item in items if not consumable_kind(item)]
    return [i for i in items if not ((kind := durable_kind(i)) and kind.kind in holdings.compared)]


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
            fitting += [item for item in alike if item.item_id not in seen and not holdings.event_of(item)]
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
        its, own = traits(item), traits(item).categories.tokens
        if item.item_id in shopper.hidden or not own or fields.intersection(own):
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
        return not any(_alike(item, other) for at, other in enumerate(items) if at != place)
    if kind == "off-category":
        liked = (event.item for event in shopper.user.history if event.item and owned(event.type))
        own = set(traits(item).categories.tokens)
        return any(own.intersection(traits(other).categories.tokens) for other in liked)
    if kind == "owned" or holdings.media:
        # other versions of a story and other parts of a series share a word of the title
        events = holdings.ids.values() if kind == "owned" else shopper.events
        return not any(_alike(item, event.item) for event in events if event.item)
    if kind == "durable":
        durable = durable_kind(item)
        return durable is None or durable.kind not in holdings.durables
    consumable = consumable_kind(item)
    return consumable is None or consumable.kind not in _bought_consumables(shopper)


def _alike(item: ItemView, other: ItemView) -> bool:
    """Whether the two may be variants of one: they share a meaningful word of their titles, or any word where none is."""
    first, second = (traits(each).words or words(each.title) for each in (item, other))
    return item.item_id == other.item_id or bool(set(first).intersection(second))
