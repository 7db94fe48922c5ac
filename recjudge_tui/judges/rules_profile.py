"""A user's taste as weights on categories, title words and brands, and how strongly an item meets it."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import NamedTuple

from recjudge_tui.judges.rules_text import Categories, categories, plain, words
from recjudge_tui.judges.rules_words import COLOURS, PACKING, STOPWORDS
from recjudge_tui.model.material import ItemView, ShownEvent, UserView

LIKING = 0.75  # what one standard deviation above the user's own mean rating adds to an event's weight
LEAST, MOST = -0.5, 3.0  # bounds of an event's weight
HALF_LIFE_DAYS = 180.0
LOOK, BROWSED = 0.3, 0.3  # weights of a click and of a browsed category
SEARCHED = 1.5  # of a search, which speaks through its words alone
WORD, BRAND = 0.15, 0.3  # what a shared title word or brand counts beside a shared category
CLEAR = 3  # events with a category from which a profile is clear enough to call something foreign to it
CLEAR_MEDIA = 10
_PLAIN_WORDS = STOPWORDS | COLOURS | PACKING


class Traits(NamedTuple):
    """What of an item is compared."""

    categories: Categories
    words: tuple[str, ...]
    brand: str


@dataclass(frozen=True)
class Profile:
    """Weights by category, word and brand, each the sum of the weights of the events that show it.

    `total` is the weight of all events (at least a little above 0). `own` is the yardstick for new items:
    the strengths, by category alone, of what the user liked (all but ratings below their mean), each
    measured against the rest of the history, in ascending order. `seen` are all categories met, liked
    or not; `leading` the liked ones, best first; `kinds` counts the different categories of the history.
    """

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
    own: tuple[float, ...]


def traits(item: ItemView) -> Traits:
    kept = dict.fromkeys(w for w in words(item.title) if len(w) > 2 and not w.isdigit())
    return Traits(
        categories(item.category),
        tuple(w for w in kept if w not in _PLAIN_WORDS),
        plain(item.brand).strip(),
    )


def moment(text: str) -> datetime | None:
    """An ISO 8601 time, in UTC where it names no zone; None for an empty or unreadable one."""
    try:
        read = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        return None
    return read if read.tzinfo else read.replace(tzinfo=timezone.utc)


def latest(user: UserView) -> datetime | None:
    """The end of the window: `as_of`, else the newest event that has a time."""
    given = moment(user.as_of)
    if given:
        return given
    times = (moment(event.timestamp) for event in (*user.history, *user.clicks, *user.searches))
    return max((t for t in times if t), default=None)


def is_media(user: UserView) -> bool:
    """Whether the history holds ratings only: then nothing was bought, and an item is watched or read once."""
    return bool(user.history) and all(event.type == "rating" for event in user.history)


def profile_of(user: UserView) -> Profile:
    """The taste that a user's events show.

    An event of the history weighs `1 + 0.75 z` (z: its rating in standard deviations from the user's own
    mean; 0 when it is no rating), cut to -0.5 .. 3, times `0.5 ** (age / 180 days)`. Clicks, searches and
    browsed categories add less, and only what they name. Preferences are left out: they restate events.
    """
    now = latest(user)
    shown = [event for event in user.history if event.item]
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
    fond = [pair for pair, liking in zip(owned, likings, strict=True) if liking >= 1.0]
    own = sorted(_strength(what._replace(words=(), brand=""), tables, total, weight) for what, weight in fond)
    media = is_media(user)
    with_category = sum(bool(what.categories.tokens) for what, _ in owned + hints)
    return Profile(
        media=media,
        empty=not (owned or hints),
        clear=with_category >= (CLEAR_MEDIA if media else CLEAR),
        total=total,
        categories=tables[0],
        words=tables[1],
        brands=tables[2],
        seen=frozenset(tables[0]),
        kinds=len({what.categories.tokens for what, _ in owned if what.categories.tokens}),
        leading=tuple(liked),
        own=tuple(own),
    )


def strength(what: Traits, profile: Profile) -> float:
    """How much of the user's taste an item touches: the shares of its categories in the profile, added up.

    An item of three liked categories touches more than one of a single liked category, and a category
    the user rates below their mean adds little or takes away. The best shared title word counts 0.15 of
    its share, the brand 0.3. Not bounded above; 0 is no affinity at all.
    """
    return _strength(what, (profile.categories, profile.words, profile.brands), profile.total, 0.0)


def standing(value: float, profile: Profile) -> float:
    """Where a strength stands among those of what the user liked, in 0..1; 0 without affinity.

    `(below + equal / 2 + 1/2) / (n + 1)`: with one event in the history, or none, any affinity is 0.75 or 0.5.
    """
    if value <= 0:
        return 0.0
    low = bisect_left(profile.own, value - 1e-9)
    high = bisect_right(profile.own, value + 1e-9)
    return ((low + high) / 2 + 0.5) / (len(profile.own) + 1)


def _strength(
    what: Traits,
    tables: tuple[dict[str, float], dict[str, float], dict[str, float]],
    total: float,
    leave_out: float,
) -> float:
    """`strength`, with an event of weight `leave_out` and these traits taken out of the profile."""
    of_categories, of_words, of_brands = tables
    rest = max(total - abs(leave_out), 1e-9)
    from_categories = math.fsum(
        of_categories.get(c, 0.0) - leave_out for c in what.categories.tokens if c in of_categories
    )
    best_word = max((of_words[w] - leave_out for w in what.words if w in of_words), default=0.0)
    brand = of_brands[what.brand] - leave_out if what.brand in of_brands else 0.0
    sum_of_parts = from_categories + WORD * best_word + BRAND * brand
    return 0.0 if abs(sum_of_parts) < 1e-9 else sum_of_parts / rest


def _rating(event: ShownEvent) -> float | None:
    """The value of a rating; values of other events (a price, a quantity) say nothing about liking."""
    if event.type != "rating" or event.value is None or not math.isfinite(event.value):
        return None
    return min(max(event.value, -1e6), 1e6)


def _likings(history: Sequence[ShownEvent]) -> list[float]:
    """`1 + 0.75 z` of every event, within bounds; 1 for what is no rating, or all of one rating."""
    rated = [_rating(event) for event in history]
    values = [v for v in rated if v is not None]
    mean = math.fsum(values) / len(values) if values else 0.0
    spread = math.sqrt(math.fsum((v - mean) * (v - mean) for v in values) / len(values)) if values else 0.0
    if spread <= 1e-9:
        return [1.0] * len(rated)
    return [1.0 if v is None else min(max(1.0 + LIKING * (v - mean) / spread, LEAST), MOST) for v in rated]


def _recency(timestamp: str, now: datetime | None) -> float:
    """`0.5 ** (age / 180 days)`; 1 when either time is not known."""
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
