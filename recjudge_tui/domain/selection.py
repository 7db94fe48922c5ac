"""Which cases and lists a report is about, and users by their activity."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter


@dataclass(frozen=True)
class Segment:
    """One group of users or of contexts: the `members`, or with `others` everyone else; or a period. `groups` counts the
    groups that are looked at side by side. `imported`: only lists and texts that this import was the first to bring."""

    name: str
    of: Literal["user", "context", "period"]
    members: frozenset[str] = frozenset()
    others: bool = False
    groups: int = 1
    imported: int = 0

    def holds(self, user_id: str, context: str) -> bool:
        if self.of == "period":
            return True
        return ((user_id if self.of == "user" else context) in self.members) != self.others


@dataclass(frozen=True)
class CaseSelection:
    """The cases and lists of these occasions, with `systems` of these alone (pairs: of two of them), of these `users` (None:
    all) and, with a segment, of one group."""

    occasions: OccasionFilter = EVERY_OCCASION
    segment: Segment | None = None
    systems: tuple[str, ...] = ()
    users: frozenset[str] | None = None

    def holds(self, user_id: str, context: str) -> bool:
        """Whether what is of this user in this context is of these users and this group."""
        if self.users is not None and user_id not in self.users:
            return False
        return self.segment is None or self.segment.holds(user_id, context)

    @property
    def groups(self) -> int:
        """How many groups are looked at, by which claims are adjusted; 1 where there are none."""
        return 1 if self.segment is None else self.segment.groups

    @property
    def imported(self) -> int:
        """The import of whose lists these are; 0 for all."""
        return 0 if self.segment is None else self.segment.imported


EVERY_CASE = CaseSelection()


@dataclass(frozen=True)
class Selection:
    """What a figure is counted from: the verdicts of these raters (none: the usual ones; with `readers` everyone) under a
    protocol, about an aspect, on these cases. `crowd`: these raters' verdicts are one question, CROWD_OF_ALL for all
    people. `fine`: labels that roll up to another stay apart."""

    protocol: str | None = None
    aspect: str | None = None
    raters: tuple[str, ...] = ()
    readers: bool = False
    crowd: tuple[str, ...] = ()
    cases: CaseSelection = EVERY_CASE
    fine: bool = False

    @property
    def groups(self) -> int:
        return self.cases.groups


# ---- activity ----------------------------------------------------------------------------------------------------


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
    """At most `levels` groups of users by the number of events shown, least active first, between quantiles over those with
    any (inclusive method); equal numbers share a level; users without events are one of their own."""
    from statistics import quantiles

    some = sorted(count for count in events.values() if count)
    bounds = quantiles(some, n=levels, method="inclusive") if len(some) > 1 else []
    by_level: dict[int, set[str]] = {}
    for user, count in events.items():
        by_level.setdefault(bisect_left(bounds, count) if count else -1, set()).add(user)
    return [
        Level(min(events[user] for user in users), max(events[user] for user in users), frozenset(users))
        for _, users in sorted(by_level.items())
    ]
