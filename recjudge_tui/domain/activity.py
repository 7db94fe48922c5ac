"""Activity levels: users grouped by the number of their events that may be shown."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from statistics import quantiles
from typing import NamedTuple


class Level(NamedTuple):
    """Users whose number of shown events is between `low` and `high`."""

    low: int
    high: int
    users: frozenset[str]

    @property
    def span(self) -> str:
        """`3`, `1 to 10`."""
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,} to {self.high:,}"

    @property
    def name(self) -> str:
        return f"{self.span} shown events (of {len(self.users):,} users)"


def activity_levels(events: Mapping[str, int], levels: int = 4) -> list[Level]:
    """At most `levels` groups of users by the number of events shown, least active first.

    The bounds are the quantiles over the users with any event (inclusive method); users with equal numbers share a level,
    so there may be fewer levels. Users without events are a level of their own.
    """
    some = sorted(count for count in events.values() if count)
    bounds = quantiles(some, n=levels, method="inclusive") if len(some) > 1 else []
    by_level: dict[int, set[str]] = {}
    for user, count in events.items():
        by_level.setdefault(bisect_left(bounds, count) if count else -1, set()).add(user)
    return [
        Level(min(events[user] for user in users), max(events[user] for user in users), frozenset(users))
        for _, users in sorted(by_level.items())
    ]
