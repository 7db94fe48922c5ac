"""What a judge sees of a user: six months of history, recent searches and clicks, and preferences derived from them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import get_args

from recjudge_tui.domain.event_types import HELD_OUT, Part, part_of, shows_interest
from recjudge_tui.domain.material import ShownEvent, UserView
from recjudge_tui.domain.occasions import NO_OCCASION, Occasion, parse_time
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.store.histories import UserHistory

MAX_SEARCHES = 20
MAX_CLICKS = 30
MAX_OTHERS = 30
MAX_BROWSED = 10
RECENT_EVENTS = 30
# events of each type: enough for every part of the context and for the derived preferences
_LEAST_OF_A_TYPE = 300


def shown_user(
    history: UserHistory, settings: RunSettings, occasion: Occasion = NO_OCCASION, *, needed: bool = True
) -> UserView:
    """The user as a run shows them, as of the end of the window; the caller refuses an empty history. The window ends
    before the list was served, so that no judge sees its outcome. The user is without attributes when the settings say so,
    and without events when the protocol needs no history (`needed` is False) and the settings ask for none."""
    # a table of users may have held-out columns, as events may be held out
    known = {} if settings.profile == "none" else history.attributes
    attributes = {name: word for name, word in known.items() if not name.lower().startswith(HELD_OUT)}
    if not (needed or settings.history or settings.profile == "llm"):
        return UserView(user_id=history.user_id, attributes=attributes)
    served_at = occasion.served_at
    until = parse_time(settings.as_of) if settings.as_of else ""
    if served_at and (not until or until >= served_at):
        until, before = served_at, served_at
    else:
        until, before = until or history.last_time, ""
    since = _days_before(until, settings.history_days) if until else ""
    most = max(settings.history, _LEAST_OF_A_TYPE)
    events = history.within(since, until, most, before=before, occasion=occasion)
    parts: dict[Part, list[ShownEvent]] = {part: [] for part in get_args(Part)}
    types = {event.type for event in events}
    if len(types) == 1:
        parts[part_of(types.pop())] = events
    else:
        for event in events:
            parts[part_of(event.type)].append(event)
    browsed = ((event.item.category if event.item else "") or event.text for event in parts["browse"])
    return UserView(
        user_id=history.user_id,
        attributes=attributes,
        as_of=until,
        history=tuple(parts["history"][: settings.history]),
        searches=tuple(parts["search"][:MAX_SEARCHES]),
        clicks=tuple(parts["click"][:MAX_CLICKS]),
        others=tuple(parts["other"][:MAX_OTHERS]),
        browsed=tuple(dict.fromkeys(filter(None, browsed)))[:MAX_BROWSED],
        preferences=preferences(events),
    )


def is_empty(user: UserView) -> bool:
    """Whether the user has no event in the window."""
    return not (user.history or user.searches or user.clicks or user.others or user.browsed)


def no_history(served_at: str) -> str:
    """The reason why a case is not judged when `is_empty`."""
    return "user without history before the list was served" if served_at else "user without history"


@lru_cache(maxsize=1024)
def _days_before(moment: str, days: int) -> str:
    try:
        return (datetime.fromisoformat(moment) - timedelta(days=days)).isoformat(timespec="seconds")
    except OverflowError:
        return ""  # earlier than any event


def preferences(events: Sequence[ShownEvent]) -> tuple[str, ...]:
    """Short statements about the user's preferred categories and brands, from events in newest-first order. A category
    counts when it has at least 3 of the newest 30 events that show interest, and a fifth of them; a brand with at least 3.
    With 5 ratings or more, a category is liked when its mean of at least 3 ratings is half a point or more above the
    user's own mean."""
    types = {event.type for event in events}
    interesting = {name for name in types if shows_interest(name)}
    of_interest = [item for event in events if (item := event.item) is not None and event.type in interesting]
    recent = of_interest[:RECENT_EVENTS]
    statements: list[str] = []
    categories = Counter(name for item in recent for name in _split(item.category))
    common = [
        f"{name} ({n} of the last {len(recent)} events)"
        for name, n in categories.most_common(4)
        if n >= 3 and n * 5 >= len(recent)
    ]
    if common:
        statements.append(f"recently active in {', '.join(common)}")
    brands = Counter(item.brand for item in recent if item.brand).most_common(3)
    returned = [f"{brand} ({n} times)" for brand, n in brands if n >= 3]
    if returned:
        statements.append(f"comes back to {', '.join(returned)}")
    liked = _liked(events, types)
    if liked:
        statements.append(f"rates highest {', '.join(liked)}")
    return tuple(statements)


@lru_cache(maxsize=4096)
def _split(category: str) -> tuple[str, ...]:
    """The categories in a text: `A|B` and `A > B` are split."""
    return tuple(p.strip() for p in category.replace(">", "|").split("|") if p.strip())


def _liked(events: Sequence[ShownEvent], types: Collection[str]) -> list[str]:
    history = {name for name in types if part_of(name) == "history"}
    rated = [
        (value, event.item)
        for event in events
        if (value := event.value) is not None and event.type in history
    ]
    if len(rated) < 5:
        return []
    own_mean = sum([value for value, _ in rated]) / len(rated)
    by_category: defaultdict[str, list[float]] = defaultdict(list)
    for value, item in rated:
        for name in _split(item.category) if item is not None else ():
            by_category[name].append(value)
    least = own_mean + 0.5
    means = [
        (mean, name)
        for name, values in by_category.items()
        if len(values) >= 3 and (mean := sum(values) / len(values)) >= least
    ]
    best = sorted(means, key=lambda m: (-m[0], m[1]))[:3]
    return [f"{name} ({mean:.1f} on average, own mean {own_mean:.1f})" for mean, name in best]
