"""What judges may see of users: their attributes, and their events within a window of time."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from recjudge_tui.domain.domains import Scale, dataset_of
from recjudge_tui.domain.material import ShownEvent
from recjudge_tui.domain.occasions import NO_OCCASION, Occasion
from recjudge_tui.store.data.held_out_copies import HeldFor, is_held_for, occasion_copies
from recjudge_tui.store.data.item_views import ItemViews
from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import SAME_EVENT, shown_event


class _EventRow(NamedTuple):
    type: str
    timestamp: str
    text: str
    value: float | None
    item_id: str
    scale: Scale | None
    # the occasions whose judges must not see it
    held_for: HeldFor = ()


@dataclass(frozen=True)
class UserHistory:
    """One user with all events that judges may be shown, newest first; events without a time come last."""

    user_id: str
    attributes: dict[str, str]
    events: tuple[_EventRow, ...]
    items: ItemViews
    # place in `events` -> the event as shown: windows of several lists overlap
    _shown: dict[int, ShownEvent] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def last_time(self) -> str:
        """The time of the newest event, ISO 8601 UTC; empty if no event has one."""
        return self.events[0].timestamp if self.events else ""

    def count_from(self, time: str) -> int:
        """The number of events at `time` or later; none if it is empty."""
        return len(self._times) - bisect_left(self._times, time) if time else 0

    @property
    def differs_by_context(self) -> bool:
        """Whether any event is shown in one context but not in another."""
        return self._is_held and any(held.context for event in self.events for held in event.held_for)

    @property
    def undated(self) -> int:
        """The number of events without a time."""
        return len(self.events) - len(self._times)

    def within(
        self, since: str, until: str, limit: int, *, before: str = "", occasion: Occasion = NO_OCCASION
    ) -> list[ShownEvent]:
        """The events from `since` to `until` (inclusive; empty: any), without events at `before` or later and
        without copies of events held out for the occasion.

        At most `limit` of each type, so that a thousand clicks do not hide the purchases. Events without a time count.
        """
        places = self._places(since, until, before)
        if self._is_held:
            places = [at for at in places if not is_held_for(self.events[at].held_for, occasion)]
        if len(places) > limit:
            places = self._first_of_each_type(places, limit)
        shown = self._shown
        if unseen := [place for place in places if place not in shown]:
            self._show(unseen)
        return [shown[place] for place in places]

    def _places(self, since: str, until: str, before: str) -> Sequence[int]:
        """The places of the events in a window, and of those without a time."""
        times = self._times
        last = bisect_right(times, until) if until else len(times)
        if before:
            last = min(last, bisect_left(times, before))
        first = bisect_left(times, since)
        # the newest event has the first place, and the first time is the oldest
        dated = range(len(times) - last, len(times) - first)
        undated = range(len(times), len(self.events))
        return [*dated, *undated] if undated else dated

    @cached_property
    def _times(self) -> list[str]:
        """The times that are known, in ascending order."""
        return [event.timestamp for event in reversed(self.events) if event.timestamp]

    @cached_property
    def _is_held(self) -> bool:
        return any(event.held_for for event in self.events)

    def _first_of_each_type(self, places: Iterable[int], limit: int) -> list[int]:
        taken: Counter[str] = Counter()
        first = []
        for place in places:
            taken[self.events[place].type] += 1
            if taken[self.events[place].type] <= limit:
                first.append(place)
        return first

    def _show(self, places: Collection[int]) -> None:
        views = self.items.of({row.item_id for place in places if (row := self.events[place]).item_id})
        for place in places:
            row = self.events[place]
            self._shown[place] = ShownEvent(
                type=row.type,
                timestamp=row.timestamp,
                text=row.text,
                value=row.value,
                item=views[row.item_id] if row.item_id else None,
                scale=None if row.value is None else row.scale,
            )


def read_histories(
    db: Database, project_id: int, users: Collection[str], items: ItemViews
) -> dict[str, UserHistory]:
    """user_id -> the history of each of these users. An event that is in two imports counts once."""
    wanted = json.dumps(list(users))
    attributes = {
        row[0]: json.loads(row[1]) if row[1] else {}
        for row in db.rows(
            """SELECT user_id, attributes FROM v_current_users
               WHERE project_id = ? AND user_id IN (SELECT value FROM json_each(?))""",
            (project_id, wanted),
        )
    }
    scales, copies = _scales(db, project_id), occasion_copies(db, project_id, wanted)
    events: dict[str, list[_EventRow]] = {user: [] for user in users}
    for user, type_, time, text, value, item, source in db.rows(
        f"""SELECT user_id, type, timestamp, text, value, item_id, min(import_id) FROM events
            WHERE project_id = ? AND user_id IN (SELECT value FROM json_each(?)) AND {shown_event()}
            GROUP BY {SAME_EVENT}
            ORDER BY user_id, timestamp DESC, min(id) DESC""",
        (project_id, wanted),
    ):
        held_for = copies.get((user, type_, time, text, value, item), ()) if copies else ()
        events[user].append(_EventRow(type_, time, text, value, item, scales.get(source), held_for))
    return {
        user: UserHistory(user, attributes.get(user, {}), tuple(rows), items) for user, rows in events.items()
    }


def _scales(db: Database, project_id: int) -> dict[int, Scale]:
    """import id -> the scale of its values, if its layout has one."""
    rows = db.rows("SELECT id, layout FROM imports WHERE project_id = ? AND kind = 'events'", (project_id,))
    known = {row[0]: dataset_of(row[1]) for row in rows}
    return {source: dataset.scale for source, dataset in known.items() if dataset and dataset.scale}


def read_history(db: Database, project_id: int, user_id: str) -> UserHistory:
    return read_histories(db, project_id, [user_id], ItemViews(db, project_id))[user_id]
