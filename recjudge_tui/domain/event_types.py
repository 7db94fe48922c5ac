"""The one table of event types: where a judge sees each, what the user did, and whether the user has the item. Types are
free text. A row of the table is found by the beginning of a type or of one of its words; a type without a row is unknown.
docs/events.md shows the table."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple, cast

# the part of a judge's view of the user in which an event is shown
Part = Literal["history", "search", "click", "browse", "other"]
# the kinds of data that shipped prompts are written for
Data = Literal["media", "shopping"]
Action = Literal["bought", "consumed", "rated", "wanted", "refused", "shown", "other"]

# types that begin so are held out: kept for offline metrics, never shown to a judge
HELD_OUT = "heldout_"
# an assessor's judgement of an item (TREC's qrels): relevant above 0, independent of the user's other values
JUDGEMENT = f"{HELD_OUT}relevance"
# the type whose value is always shown with the event: the user's rating of the item
RATING = "rating"
# actions after which the user has or knows the item
OWNED: tuple[Action, ...] = ("bought", "consumed", "rated")

# prefixes of types that indicate which prompts suit a project
_DATA: tuple[tuple[str, Data], ...] = (
    *((stem, "media") for stem in ("rating", "watch", "play", "listen", "read")),
    *((stem, "shopping") for stem in ("purchase", "order", "buy", "cart")),
)


class EventKind(NamedTuple):
    """One row: the name of the kind, where it is shown, what the user did, and the prefixes by which it is recognised.
    `verb` is the past tense for what the user did, if it differs from the verb of the action."""

    name: str
    part: Part
    action: Action
    stems: tuple[str, ...]
    verb: str = ""

    @property
    def owned(self) -> bool:
        return self.action in OWNED


# Name, part, action, the prefixes, = the verb. Tried in this order: `remove_from_cart` is a refusal, `watch_later` a wish.
_TABLE = """
    dislike     history refused  dislike unlike downvote thumbsdown notinterested hide hidden
    skip        history refused  skip dismiss
    return      history refused  return refund cancel
    remove      other   refused  remove unsave unfav unfollow unsubscri
    impression  other   shown    impression exposure exposed displayed recommended
    wishlist    other   wanted   wish watchlist watchlater readlater wantto toread
    add_to_cart other   wanted   cart addtocart basket addtobasket
    playlist    other   wanted   playlist queue
    save        other   wanted   save bookmark
    favourite   history wanted   fav
    like        history wanted   like upvote thumbsup
    follow      other   wanted   follow
    subscribe   other   wanted   subscri
    share       other   wanted   share recommendto
    rating      history rated    rate rating score stars starred
    review      history rated    review tip
    purchase    history bought   purchas buy bought checkout transaction
    order       history bought   order reorder preorder
    rent        history consumed rent hire borrow = borrowed
    watch       history consumed watch seen = watched
    play        history consumed play = played
    stream      history consumed stream = streamed
    listen      history consumed listen heard scrobble = listened to
    read        history consumed read = read
    checkin     history consumed checkin visit attend = visited
    finish      history consumed finish complete consume
    interaction history other    interact
    search      search  other    search query
    click       click   other    click open
    view        click   other    view
    browse      browse  other    browse
"""


def _kind(line: str) -> EventKind:
    words, _, verb = line.partition(" = ")
    name, part, action, *stems = words.split()
    return EventKind(name, cast("Part", part), cast("Action", action), tuple(stems), verb)


EVENT_KINDS = tuple(map(_kind, _TABLE.strip().splitlines()))
_SPLIT = re.compile(r"[^a-z]+")
# the longest prefix of a type that is read
_READ = 80


@lru_cache(maxsize=1024)
def kind_of(event_type: str) -> EventKind | None:
    """The row of the table that a type belongs to; None for an unknown type."""
    words = _SPLIT.split(event_type[:_READ].casefold())
    texts = ("".join(words), *words)
    return next((kind for kind in EVENT_KINDS if any(text.startswith(kind.stems) for text in texts)), None)


@lru_cache(maxsize=1024)
def part_of(event_type: str) -> Part:
    """The section in which a judge sees events of a type. Events of an unknown type are under their own name among the
    others."""
    kind = kind_of(event_type)
    return kind.part if kind else "other"


def data_of(event_type: str) -> Data | None:
    """The kind of data that a type is typical of; None if it may belong to either."""
    return next((data for stem, data in _DATA if event_type.startswith(stem)), None)


def action_of(event_type: str) -> Action:
    """What the user did to the item: bought it, rated it, ...; `other` for an unknown type."""
    kind = kind_of(event_type)
    return kind.action if kind else "other"


def past(event_type: str) -> str:
    """The verb for what the user did, in the past: bought, rated, watched, ... or `had`."""
    kind = kind_of(event_type)
    if kind is None:
        return "had"
    return kind.verb or (kind.action if kind.action in ("bought", "rated") else "had")


def owned(event_type: str) -> bool:
    """Whether the event makes the item one that the user has or knows."""
    return action_of(event_type) in OWNED


@lru_cache(maxsize=1024)
def shows_interest(event_type: str) -> bool:
    """Whether the event shows the user's interest: items that were merely shown and unknown types do not count."""
    kind = kind_of(event_type)
    return kind is not None and kind.action != "shown"
