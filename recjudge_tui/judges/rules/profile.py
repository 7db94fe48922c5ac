"""A user's taste as weights of categories, title words and brands, and how well an item matches it."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import NamedTuple

from recjudge_tui.domain.event_types import Action, action_of
from recjudge_tui.domain.material import ItemView, ShownEvent, UserView
from recjudge_tui.judges.rules.text import (
    COLOURS,
    PACKING,
    STOPWORDS,
    Categories,
    categories,
    of_text,
    plain,
    words,
)

LIKING = 0.75  # added to an event's weight per standard deviation above the user's mean rating
LEAST, MOST = -0.5, 3.0  # bounds of an event's weight
HALF_LIFE_DAYS = 180.0
LOOK, BROWSED = 0.3, 0.3  # weights of a click and of a browsed category
SEARCHED = 1.5  # weight of a search, which has only words
WORD, BRAND = 0.15, 0.3  # weights of a shared title word and brand; a shared category has weight 1
CLEAR = 3  # minimum number of events with a category before an item can be off-category
CLEAR_MEDIA = 10
# ... and, for shoppers, the most fields they may shop in: nothing is off-category for someone who buys in many fields
NARROW = 4.0
SEARCH_WORDS = 2  # an item with all words of a search matches it if the search has this many words
# weight of one event in the profile; a wish is weaker than a purchase, and the meaning of an unknown type is unclear
WEIGHTS: dict[Action, float] = {
    "bought": 1.0, "consumed": 1.0, "rated": 1.0, "wanted": 0.5, "refused": -0.5, "shown": 0.0, "other": 0.5,
}  # fmt: skip
_PLAIN_WORDS = STOPWORDS | COLOURS | PACKING


class Traits(NamedTuple):
    """The features of an item that are compared."""

    categories: Categories
    words: tuple[str, ...]
    brand: str


@dataclass(frozen=True)
class Profile:
    """Weights by category, word and brand, each the sum of the weights of the events that show it. `total` is the weight
    of all events (above 0). New items are compared with `liked_strengths`: the strengths, by category alone, of the items
    the user liked (all but ratings below their mean), each measured against the rest of the history, in ascending order.
    `seen` are all categories of the events, liked or not; `leading` the liked ones, best first; `kinds` counts the
    different categories of the history; `searches` holds the words of each search. `clear`: the taste is known well
    enough, and narrow enough, to call an item off-category (see `profile_of`)."""

    media: bool
    empty: bool
    clear: bool
    total: float
    categories: dict[str, float]
    words: dict[str, float]
    brands: dict[str, float]
    seen: frozenset[str]
    kinds: int
    leading: tuple[str, ...]
    liked_strengths: tuple[float, ...]
    searches: tuple[frozenset[str], ...] = ()


def traits(item: ItemView) -> Traits:
    return _traits(item.title, item.category, item.brand)


@of_text
def _traits(title: str, category: str, brand: str) -> Traits:
    kept = dict.fromkeys(w for w in words(title) if len(w) > 2 and not w.isdigit())
    return Traits(categories(category), tuple(w for w in kept if w not in _PLAIN_WORDS), plain(brand).strip())


@of_text
def moment(text: str) -> datetime | None:
    """An ISO 8601 time, in UTC if it has no zone; None if empty or unreadable."""
    try:
        parsed = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=timezone.utc)


def latest(user: UserView) -> datetime | None:
    """The end of the window: `as_of`, else the newest event that has a time."""
    given = moment(user.as_of)
    if given:
        return given
    times = (moment(event.timestamp) for event in (*user.history, *user.clicks, *user.searches, *user.others))
    return max((t for t in times if t), default=None)


def is_media(user: UserView) -> bool:
    """Whether the user takes each item only once: things rated, watched, played, heard or read, and nothing bought. Events
    of an unknown type count as purchases; wishes and refusals do not count."""
    actions = {action_of(event.type) for event in (*user.history, *user.others)}
    return bool(actions & {"rated", "consumed"}) and not actions & {"bought", "other"}


def profile_of(user: UserView) -> Profile:
    """The taste shown by a user's events. An event of the history has the weight `1 + 0.75 z` (z: its rating in standard
    deviations from the user's own mean; 0 when it is no rating), limited to -0.5 .. 3, times `0.5 ** (age / 180 days)`; a
    wish (cart, list) weighs 0.5, a refusal (return, dislike) -0.5 and an event of an unknown type 0.5 instead. Clicks,
    searches and browsed categories add less, and only for what they name. Preferences are ignored, since they repeat the
    events. The profile is clear if at least 3 events have a category (media: 10). A shopper's must also be narrow: `(sum
    w)^2 / sum w^2` over the weights w of the fields they shop in is at most 4. A field is the first level of a category
    path, or the whole category if it has no levels."""
    now = latest(user)
    shown = [event for event in (*user.history, *user.others) if event.item]
    likings = _likings(shown)
    owned = [
        (traits(event.item), liking * _recency(event.timestamp, now))
        for event, liking in zip(shown, likings, strict=True)
        if event.item
    ]
    hints = list(_hints(user, now))
    total = math.fsum(abs(w) for _, w in owned + hints) or 1.0
    tables: tuple[dict[str, float], dict[str, float], dict[str, float]] = ({}, {}, {})
    for what, weight in owned + hints:
        for table, keys in zip(tables, (what.categories.tokens, what.words, (what.brand,)), strict=True):
            for key in keys:
                table[key] = table.get(key, 0.0) + weight
    tables[2].pop("", None)
    liked = sorted((c for c, w in tables[0].items() if w > 0), key=lambda c: (-tables[0][c], c))
    liked_events = [pair for pair, liking in zip(owned, likings, strict=True) if liking >= 1.0]
    liked_strengths = sorted(
        _strength(what._replace(words=(), brand=""), tables, total, weight) for what, weight in liked_events
    )
    media = is_media(user)
    with_category = sum(bool(what.categories.tokens) for what, _ in owned + hints)
    return Profile(
        media=media,
        empty=not (owned or hints),
        clear=with_category >= CLEAR_MEDIA
        if media
        else with_category >= CLEAR and _breadth(owned + hints) <= NARROW,
        total=total,
        categories=tables[0],
        words=tables[1],
        brands=tables[2],
        seen=frozenset(tables[0]),
        kinds=len({what.categories.tokens for what, _ in owned if what.categories.tokens}),
        leading=tuple(liked),
        liked_strengths=tuple(liked_strengths),
        searches=tuple(
            w
            for w in (frozenset(_traits(e.text, "", "").words) for e in user.searches)
            if len(w) >= SEARCH_WORDS
        ),
    )


def _breadth(parts: Sequence[tuple[Traits, float]]) -> float:
    """The effective number of fields of a taste: `(sum w)^2 / sum w^2`; 0 without any."""
    fields: dict[str, float] = {}
    for what, weight in parts:
        if what.categories.tokens and weight > 0:
            fields[what.categories.tokens[0]] = fields.get(what.categories.tokens[0], 0.0) + weight
    squares = math.fsum(w * w for w in fields.values())
    return math.fsum(fields.values()) ** 2 / squares if squares else 0.0


def strength(what: Traits, profile: Profile) -> float:
    """How strongly an item matches the user's taste: the sum of its categories' shares in the profile. An item with three
    liked categories matches more than an item with one, and a category that the user rates below their mean adds little or
    subtracts. The best shared title word adds 0.15 of its share, the brand 0.3. There is no upper bound; 0 means no
    affinity."""
    return _strength(what, (profile.categories, profile.words, profile.brands), profile.total, 0.0)


def taste_rank(value: float, profile: Profile) -> float:
    """The rank of a strength among those of the items the user liked, in 0..1; 0 without affinity. `(below + equal / 2 +
    1/2) / (n + 1)`. With one liked item any larger strength ranks 0.75; with none any ranks 0.5."""
    if value <= 0:
        return 0.0
    low = bisect_left(profile.liked_strengths, value - 1e-9)
    high = bisect_right(profile.liked_strengths, value + 1e-9)
    return ((low + high) / 2 + 0.5) / (len(profile.liked_strengths) + 1)


def _strength(
    what: Traits,
    tables: tuple[dict[str, float], dict[str, float], dict[str, float]],
    total: float,
    leave_out: float,
) -> float:
    """`strength` against the profile without an event of weight `leave_out` that has these traits."""
    of_categories, of_words, of_brands = tables
    from_categories = math.fsum(
        of_categories.get(c, 0.0) - leave_out for c in what.categories.tokens if c in of_categories
    )
    best_word = max((of_words[w] - leave_out for w in what.words if w in of_words), default=0.0)
    brand = of_brands[what.brand] - leave_out if what.brand in of_brands else 0.0
    sum_of_parts = from_categories + WORD * best_word + BRAND * brand
    return 0.0 if abs(sum_of_parts) < 1e-9 else sum_of_parts / max(total - abs(leave_out), 1e-9)


def _likings(history: Sequence[ShownEvent]) -> list[float]:
    """The weight of each event: `1 + 0.75 z` for ratings, limited, or 1 if all are equal; `WEIGHTS` for other events."""
    # values of other events, such as prices, do not show liking
    rated = [
        min(max(e.value, -1e6), 1e6)
        if action_of(e.type) == "rated" and e.value is not None and math.isfinite(e.value)
        else None
        for e in history
    ]
    values = [v for v in rated if v is not None]
    mean = math.fsum(values) / len(values) if values else 0.0
    spread = math.sqrt(math.fsum((v - mean) * (v - mean) for v in values) / len(values)) if values else 0.0
    plain_weights = [WEIGHTS[action_of(event.type)] for event in history]
    if spread <= 1e-9:
        return plain_weights
    return [
        usual if v is None else min(max(1.0 + LIKING * (v - mean) / spread, LEAST), MOST)
        for v, usual in zip(rated, plain_weights, strict=True)
    ]


def _recency(timestamp: str, now: datetime | None) -> float:
    """`0.5 ** (age / 180 days)`; 1 when either time is unknown."""
    then = moment(timestamp)
    if then is None or now is None:
        return 1.0
    return float(0.5 ** (min(max((now - then).total_seconds(), 0.0) / 86400, 3650.0) / HALF_LIFE_DAYS))


def _hints(user: UserView, now: datetime | None) -> Iterable[tuple[Traits, float]]:
    for event in (*user.clicks, *user.searches):
        recency = _recency(event.timestamp, now)
        if event.item:
            yield traits(event.item), LOOK * recency
        if event.text:
            yield traits(ItemView(item_id="", title=event.text)), SEARCHED * recency
    for name in user.browsed:
        yield Traits(categories(name), (), ""), BROWSED
