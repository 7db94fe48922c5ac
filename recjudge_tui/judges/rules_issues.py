"""What is wrong with single items of a list: one finding an item at most, the gravest kind first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from recjudge_tui.judges.rules_products import Consumable, Durable
from recjudge_tui.judges.rules_profile import Profile, is_media, latest, moment, strength, traits
from recjudge_tui.judges.rules_text import (
    consumable_kind,
    days_of_supply,
    durable_kind,
    names_durable,
    same_title,
    variant_key,
)
from recjudge_tui.model.material import ItemView, ShownEvent, SlateView, UserView
from recjudge_tui.model.text import one_line

VARIATION = "minimum-variation redundancy"
DURABLE = "durable-goods redundancy"
PACING = "consumable pacing"
OFF_CATEGORY = "off-category"
OWNED = "already owned"

COMPARING_DAYS = 60  # how recent a look at other durables must be to say that the user still compares
UNUSED_SHARE = 0.5  # a refill is too early while more than this share of the last pack must be left
_LONGER = 4  # words a title needs before one more word counts as a variant of it


@dataclass(frozen=True)
class Finding:
    """One item at fault: its place in the list from 1, the issue, the reason in words."""

    place: int
    issue: str
    reason: str
    severe: bool = False


@dataclass(frozen=True)
class Holdings:
    """What a user has, as far as the events show it.

    `ids` and `titles` of everything bought or rated; `durables` the latest purchase of each kind;
    `supplies` by consumable the newest pack and the day and span it lasts to, all its purchases added.
    """

    media: bool
    now: datetime | None
    ids: dict[str, ShownEvent]
    titles: dict[tuple[str, tuple[str, ...]], ShownEvent]
    durables: dict[str, ShownEvent]
    supplies: dict[object, Supply]


@dataclass(frozen=True)
class Supply:
    bought: ItemView
    days_ago: float
    days: float
    left: float


def quoted(item: ItemView) -> str:
    return f"“{one_line(item.title, 60) or one_line(item.item_id, 60)}”"


def holdings_of(user: UserView) -> Holdings:
    """Only purchases make one own a durable or stock a consumable; a rating says that an item is known."""
    now = latest(user)
    known = [e for e in reversed(user.history) if e.item]
    bought = [e for e in known if e.type == "purchase"]
    durables: dict[str, ShownEvent] = {}
    for event in bought:
        kind = durable_kind(event.item) if event.item else None
        if kind:
            durables[kind.kind] = event
    return Holdings(
        media=is_media(user),
        now=now,
        ids={e.item.item_id: e for e in known if e.item},
        titles={same_title(e.item): e for e in known if e.item and same_title(e.item)[1]},
        durables=durables,
        supplies=_supplies(bought, now),
    )


def findings(slate: SlateView, user: UserView, profile: Profile) -> tuple[Finding, ...]:
    """The findings of a list in its order.

    Looked for in this order, the first one counting: already owned, durable-goods redundancy, consumable
    pacing, minimum-variation redundancy (the later of two variants), off-category.
    """
    holdings = holdings_of(user)
    keys = [variant_key(item, holdings.media) for item in slate.items]
    found = []
    for index, item in enumerate(slate.items):
        finding = (
            _owned_or_stocked(index + 1, item, user, holdings)
            or _variant(index + 1, slate, keys)
            or _foreign(index + 1, item, profile)
        )
        if finding:
            found.append(finding)
    return tuple(found)


def _owned_or_stocked(place: int, item: ItemView, user: UserView, holdings: Holdings) -> Finding | None:
    had = holdings.ids.get(item.item_id) or holdings.titles.get(same_title(item))
    if holdings.media:
        return _had(place, item, had, False) if had else None
    durable = durable_kind(item)
    if durable:
        return _had(place, item, had, True) if had else _second_durable(place, durable, user, holdings)
    consumable = consumable_kind(item)
    if consumable:
        return _too_early(place, item, consumable, holdings)
    return _had(place, item, had, False) if had else None


def _had(place: int, item: ItemView, event: ShownEvent, severe: bool) -> Finding:
    verb = "rated" if event.type == "rating" else "bought"
    then = moment(event.timestamp)
    day = f" on {then.date().isoformat()}" if then else ""
    return Finding(place, OWNED, f"The user already {verb} {quoted(item)}{day}.", severe)


def _second_durable(place: int, kind: Durable, user: UserView, holdings: Holdings) -> Finding | None:
    """Another of a durable bought within its years, unless the user is still comparing after the purchase."""
    event = holdings.durables.get(kind.kind)
    if event is None or event.item is None:
        return None
    then = moment(event.timestamp)
    when = "before"
    if then and holdings.now:
        days = (holdings.now - then).total_seconds() / 86400
        if days > kind.years * 365:
            return None
        when = f"{max(round(days), 0)} days ago"
        if _comparing(kind, event.item, then, holdings.now, user):
            return None
    reason = (
        f"The user bought {quoted(event.item)} {when}, and a {kind.kind} is usually "
        f"replaced after {kind.years:g} years."
    )
    return Finding(place, DURABLE, reason)


def _comparing(kind: Durable, bought: ItemView, then: datetime, now: datetime, user: UserView) -> bool:
    """Whether another item of the kind was clicked, or the kind searched for, after the purchase and lately."""
    for event in (*user.clicks, *user.searches):
        at = moment(event.timestamp)
        if at is None or at <= then or (now - at).total_seconds() > COMPARING_DAYS * 86400:
            continue
        if event.item and event.item.item_id != bought.item_id and durable_kind(event.item) == kind:
            return True
        if event.text and names_durable(event.text, kind):
            return True
    return False


def _supply_key(item: ItemView, kind: Consumable) -> object:
    return (kind.kind, variant_key(item, False)) if kind.one_product else kind.kind


def _supplies(bought: list[ShownEvent], now: datetime | None) -> dict[object, Supply]:
    """The stock of each consumable: purchases oldest first, each pack begun when the one before is used up."""
    ends: dict[object, float] = {}
    supplies: dict[object, Supply] = {}
    for event in bought:
        then = moment(event.timestamp)
        if not event.item or not then or not now or durable_kind(event.item):
            continue
        kind = consumable_kind(event.item)
        if not kind:
            continue
        key = _supply_key(event.item, kind)
        ago = max((now - then).total_seconds() / 86400, 0.0)
        days = days_of_supply(event.item, kind)
        ends[key] = max(ends.get(key, -ago), -ago) + days
        supplies[key] = Supply(event.item, ago, days, ends[key])
    return supplies


def _too_early(place: int, item: ItemView, kind: Consumable, holdings: Holdings) -> Finding | None:
    """A refill while more than half of the last pack, or any earlier one, must still be there."""
    supply = holdings.supplies.get(_supply_key(item, kind))
    if supply is None or supply.left <= UNUSED_SHARE * supply.days:
        return None
    what = "the same product" if kind.one_product else f"another {kind.kind}"
    reason = (
        f"This is {what}: {quoted(supply.bought)} was bought {round(supply.days_ago)} days ago "
        f"and lasts about {round(supply.days)} days, so some {round(supply.left)} days of supply are left."
    )
    return Finding(place, PACING, reason)


def _variant(place: int, slate: SlateView, keys: list[tuple[str, str, tuple[str, ...]]]) -> Finding | None:
    item, key = slate.items[place - 1], keys[place - 1]
    for earlier in range(place - 1):
        other = slate.items[earlier]
        if other.item_id == item.item_id or (key[2] and _variants(key, keys[earlier])):
            same = "the same item as" if other.item_id == item.item_id else "a near-identical variant of"
            return Finding(place, VARIATION, f"{quoted(item)} is {same} item {earlier + 1}, {quoted(other)}.")
    return None


def _variants(a: tuple[str, str, tuple[str, ...]], b: tuple[str, str, tuple[str, ...]]) -> bool:
    """Equal keys; or, without a year, the same brand and one more word on one side, none of it a number."""
    if a == b:
        return True
    if a[:2] != b[:2] or not a[0] or a[1]:
        return False
    fewer, more = sorted((set(a[2]), set(b[2])), key=len)
    extra = more - fewer
    return (
        len(fewer) >= _LONGER
        and fewer < more
        and len(extra) == 1
        and not any(letter.isdigit() for word in extra for letter in word)
    )


def _foreign(place: int, item: ItemView, profile: Profile) -> Finding | None:
    """Nothing of the item was ever met by a user whose profile is clear."""
    what = traits(item)
    if not profile.clear or not what.categories.tokens or strength(what, profile) > 0:
        return None
    if any(token in profile.seen for token in what.categories.tokens) or what.brand in profile.brands:
        return None
    name = one_line(item.category, 60)
    return Finding(place, OFF_CATEGORY, f"Nothing the user did has to do with {quoted(item)} ({name}).")
