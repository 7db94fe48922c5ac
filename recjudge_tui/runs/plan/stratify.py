"""Draws users from all activity levels, so that a sample contains heavy and light users (SAER)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import zip_longest
from typing import TypeVar

from recjudge_tui.domain.occasions import parse_time
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.domain.selection import Level, activity_levels
from recjudge_tui.store.data import shown_event_counts
from recjudge_tui.store.database import Database

LEVELS = 4
Cases = TypeVar("Cases")


def across_levels(
    by_user: Sequence[tuple[str, Cases]], levels: Sequence[Level], *, idle: bool
) -> list[tuple[str, Cases]]:
    """The users in turn from each level, keeping their order within a level, so that any number of users from the front
    has a share of each level. Users without events come last unless `idle` ones are judged too."""
    parts = [[entry for entry in by_user if entry[0] in level.users] for level in levels]
    last = parts.pop(0) if not idle and levels and levels[0].high == 0 else []
    return [entry for turn in zip_longest(*parts) for entry in turn if entry is not None] + last


def stratified(
    db: Database, project_id: int, by_user: Sequence[tuple[str, Cases]], settings: RunSettings
) -> list[tuple[str, Cases]]:
    """The users, already in random order; spread over the activity levels if the settings say so."""
    if settings.stratify != "activity":
        return list(by_user)
    levels = levels_of(db, project_id, [user for user, _ in by_user], settings)
    return across_levels(by_user, levels, idle=settings.no_history)


def levels_of(db: Database, project_id: int, users: Collection[str], settings: RunSettings) -> list[Level]:
    """The activity levels of these users, by the number of events in the window that the run shows."""
    until = parse_time(settings.as_of) if settings.as_of else ""
    counts = shown_event_counts(db, project_id, settings.history_days, until)
    return activity_levels({user: counts.get(user, 0) for user in users}, LEVELS)


def drawn_by_level(levels: Sequence[Level], drawn: Collection[str]) -> dict[str, int]:
    """Name of each level -> how many of its users were drawn."""
    counts = Counter(level.name for level in levels for user in drawn if user in level.users)
    return {level.name: counts[level.name] for level in levels}
