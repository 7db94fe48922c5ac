"""What the rules read: words, years, amounts and kinds of products in titles and categories (the word lists are in
`words.toml` beside this file); a user's taste as weights of categories, title words and brands; how well an item matches."""

from __future__ import annotations

import math
import re
import sys
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache, wraps
from importlib.resources import files
from typing import NamedTuple, TypeVar

from recjudge_tui.domain.event_types import Action, action_of
from recjudge_tui.domain.material import ItemView, ShownEvent, UserView

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


def of_item(function: Callable[[str, str, str], T]) -> Callable[[ItemView], T]:
    """The function of an item's title, category and brand."""
    of_parts = of_text(function)
    return wraps(function)(lambda item: of_parts(item.title, item.category, item.brand))


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


@of_item
def durable_kind(name: str, category: str, _: str) -> Durable | None:
    """The durable an item is, by its title, else by its last category; None for accessories."""
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


@of_item
def consumable_kind(name: str, category: str, _: str) -> Consumable | None:
    """The consumable an item is; a title with an amount but no known name is a consumable `product`."""
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
# weights by category, by word and by brand
Tables = tuple[dict[str, float], dict[str, float], dict[str, float]]


class Traits(NamedTuple):
    """The features of an item that are compared."""

    categories: Categories
    words: tuple[str, ...]
    brand: str


@dataclass(frozen=True)
class Profile:
    """Weights by category, word and brand, each the sum of the weights of the events that show it. `total` is the weight of
    all events (above 0). New items are compared with `liked_strengths`: the strengths, by category alone, of the items the
    user liked (all but ratings below their mean), each measured against the rest of the history, in ascending order.
    `leading` are the liked categories, best first; `kinds` counts the different categories of the history; `searches` holds
    the words of each search. `clear`: the taste is known and narrow enough to call an item off-category (`profile_of`)."""

    media: bool
    empty: bool
    clear: bool
    total: float
    categories: dict[str, float]
    words: dict[str, float]
    brands: dict[str, float]

    kinds: int
    leading: tuple[str, ...]
    liked_strengths: tuple[float, ...]
    searches: tuple[frozenset[str], ...] = ()


@of_item
def traits(title: str, category: str, brand: str) -> Traits:
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
    known = [*owned, *_hints(user, now)]
    total = math.fsum(abs(w) for _, w in known) or 1.0
    tables: Tables = ({}, {}, {})
    for what, weight in known:
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
    with_category = sum(bool(what.categories.tokens) for what, _ in known)
    narrow = media or _breadth(known) <= NARROW
    searches = (frozenset(_of_search(event).words) for event in user.searches)
    return Profile(
        media=media,
        empty=not known,
        clear=narrow and with_category >= (CLEAR_MEDIA if media else CLEAR),
        total=total,
        categories=tables[0],
        words=tables[1],
        brands=tables[2],
        kinds=len({what.categories.tokens for what, _ in owned if what.categories.tokens}),
        leading=tuple(liked),
        liked_strengths=tuple(liked_strengths),
        searches=tuple(search for search in searches if len(search) >= SEARCH_WORDS),
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
    subtracts. The best shared title word adds 0.15 of its share, the brand 0.3. It has no bound; 0: no affinity."""
    return _strength(what, (profile.categories, profile.words, profile.brands), profile.total, 0.0)


def taste_rank(value: float, profile: Profile) -> float:
    """The rank of a strength among those of the items the user liked, in 0..1; 0 without affinity. `(below + equal / 2 +
    1/2) / (n + 1)`. With one liked item any larger strength ranks 0.75; with none any ranks 0.5."""
    if value <= 0:
        return 0.0
    low = bisect_left(profile.liked_strengths, value - 1e-9)
    high = bisect_right(profile.liked_strengths, value + 1e-9)
    return ((low + high) / 2 + 0.5) / (len(profile.liked_strengths) + 1)


def _strength(what: Traits, tables: Tables, total: float, leave_out: float) -> float:
    """`strength` against the profile without an event of weight `leave_out` that has these traits."""
    of_categories, of_words, of_brands = tables
    shared = [of_categories[c] - leave_out for c in what.categories.tokens if c in of_categories]
    best_word = max((of_words[w] - leave_out for w in what.words if w in of_words), default=0.0)
    brand = of_brands[what.brand] - leave_out if what.brand in of_brands else 0.0
    sum_of_parts = math.fsum(shared) + WORD * best_word + BRAND * brand
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


def _of_search(event: ShownEvent) -> Traits:
    return traits(ItemView(item_id="", title=event.text))


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
            yield _of_search(event), SEARCHED * recency
    for name in user.browsed:
        yield Traits(categories(name), (), ""), BROWSED
