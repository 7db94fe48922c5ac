"""Visible events that are copies of held-out ones, such as a file of all ratings beside its test split.

The view `v_held_out_matches` says what a copy is. A copy of an event that is held out for every list of its
user is marked in `events.is_copy`: no judge sees it, and no count includes it (`facts.shown_event`). A copy
of an event that is held out for one occasion is left out only for the lists of that occasion, because for
later lists it is history (`occasion_copies`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import NamedTuple

from recjudge_tui.domain.occasions import Occasion
from recjudge_tui.domain.text import quantity
from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import held_out_type


class HeldOutCopies(NamedTuple):
    """The number of visible events that are copies of events held out for all lists of the user (`of_all`) or
    for some (`of_some`). `visible` counts the events that a judge may still be shown."""

    of_all: int
    of_some: int
    visible: int

    @property
    def sentences(self) -> list[str]:
        """The sentences that tell a person about the copies; none if there are no copies."""
        sentences = []
        if self.of_all:
            are = "is a copy of a held-out event" if self.of_all == 1 else "are copies of held-out events"
            rest = "" if self.visible else "; no event is left that a judge may see"
            sentences.append(
                f"{quantity(self.of_all, 'event')} {are} (the same user and item, and no difference in "
                f"any field): they are not shown to judges and not counted{rest}"
            )
        if self.of_some:
            are = "is a copy of an event" if self.of_some == 1 else "are copies of events"
            sentences.append(
                f"{quantity(self.of_some, 'event')} {are} held out for one occasion: judges do not see them with the lists"
                " of that occasion"
            )
        return sentences


def held_out_copies(db: Database, project_id: int) -> HeldOutCopies:
    """The copies in a project. Fast if there are none."""
    of_all: int = db.value("SELECT count(*) FROM events WHERE project_id = ? AND is_copy = 1", (project_id,))
    of_some: int = db.value(
        """SELECT count(DISTINCT k.event_id) FROM occasion_copies k CROSS JOIN events e ON e.id = k.event_id
           WHERE e.project_id = ? AND e.is_copy = 0""",
        (project_id,),
    )
    visible = db.value(
        f"""SELECT count(*) FROM (SELECT 1 FROM events
            WHERE project_id = ? AND is_copy = 0 AND NOT {held_out_type()} LIMIT 1)""",
        (project_id,),
    )
    return HeldOutCopies(of_all, of_some, visible)


def repeats_note(db: Database, project_id: int) -> list[str]:
    """A sentence about visible events that share user and item with a held-out event but differ in time,
    value, type or context, such as a repeated purchase. Empty if there are none.
    """
    count: int = db.value(
        """SELECT count(*) FROM (SELECT event_id FROM v_held_out_matches WHERE project_id = ?
           GROUP BY event_id HAVING NOT max(is_copy))""",
        (project_id,),
    )
    if not count:
        return []
    have = "has" if count == 1 else "have"
    differs = "but another time, value, type or context: judges see them"
    return [f"{quantity(count, 'event')} {have} the user and item of a held-out event, {differs}"]


def mark_copies(db: Database, project_id: int, imports: Sequence[int]) -> None:
    """Mark the copies among the events of these imports, and those that the imports reveal in older ones.

    Call inside their transaction.
    """
    if not _holds_out(db, "project_id", project_id):
        return
    for import_id in imports:
        _mark(db, "import_id = ?", (import_id,))
        if _holds_out(db, "import_id", import_id):
            users = f"SELECT user_id FROM events WHERE import_id = ? AND {held_out_type()}"
            _mark(db, f"project_id = ? AND user_id IN ({users})", (project_id, import_id))


def held_out_users(db: Database, import_id: int) -> list[str]:
    """The users for whom this import contains held-out events."""
    sql = f"SELECT DISTINCT user_id FROM events WHERE import_id = ? AND {held_out_type()}"
    return [row[0] for row in db.rows(sql, (import_id,))]


def mark_again(db: Database, project_id: int, users: Collection[str]) -> None:
    """Mark the copies of these users again after some of their held-out events were removed.

    Call inside a transaction.
    """
    if not users:
        return
    theirs = "project_id = ? AND user_id IN (SELECT value FROM json_each(?))"
    parameters = (project_id, json.dumps(list(users)))
    db.execute(
        f"DELETE FROM occasion_copies WHERE event_id IN (SELECT id FROM events WHERE {theirs})", parameters
    )
    db.execute(f"UPDATE events SET is_copy = 0 WHERE {theirs} AND is_copy = 1", parameters)
    _mark(db, theirs, parameters)


def _holds_out(db: Database, column: str, value: int) -> bool:
    return bool(
        db.value(f"SELECT EXISTS (SELECT 1 FROM events WHERE {column} = ? AND {held_out_type()})", (value,))
    )


def _mark(db: Database, condition: str, parameters: tuple[object, ...]) -> None:
    rows = db.rows(
        f"SELECT event_id, context, served_at FROM v_held_out_matches WHERE is_copy AND {condition}",
        parameters,
    )
    db.execute_many(
        "UPDATE events SET is_copy = 1 WHERE id = ?",
        sorted({(event,) for event, *occasion in rows if not any(occasion)}),
    )
    db.execute_many(
        "INSERT OR IGNORE INTO occasion_copies VALUES (?, ?, ?)",
        sorted({tuple(row) for row in rows if row["context"] or row["served_at"]}),
    )


# what the copies of one event are held out for
HeldFor = tuple[Occasion, ...]
# user, type, timestamp, text, value, item
EventContent = tuple[str, str, str, str, float | None, str]


def occasion_copies(db: Database, project_id: int, users: str) -> dict[EventContent, HeldFor]:
    """The occasions for which copies of these users' events are held out; `users` is a JSON array."""
    if not db.value("SELECT EXISTS (SELECT 1 FROM occasion_copies)"):
        return {}
    held: dict[EventContent, HeldFor] = {}
    for context, served_at, *content in db.rows(
        """SELECT k.context, k.served_at, e.user_id, e.type, e.timestamp, e.text, e.value, e.item_id
           FROM events e JOIN occasion_copies k ON k.event_id = e.id
           WHERE e.project_id = ? AND e.user_id IN (SELECT value FROM json_each(?)) ORDER BY k.context, k.served_at""",
        (project_id, users),
    ):
        user, type_, timestamp, text, value, item = content
        key = (user, type_, timestamp, text, value, item)
        held[key] = (*held.get(key, ()), Occasion(context, served_at))
    return held


def is_held_for(held_for: HeldFor, occasion: Occasion) -> bool:
    """Whether a copy is held out for a list of this occasion: context and time do not differ where both have
    them, and the list was not served later.
    """
    return any(
        (not held.context or occasion.context in ("", held.context))
        and (not held.served_at or occasion.served_at <= held.served_at)
        for held in held_for
    )


# `is_held_for` of the event `id` and the parameters :context and :served_at
HELD_FOR = """EXISTS (SELECT 1 FROM occasion_copies k WHERE k.event_id = events.id
  AND (k.context = '' OR :context IN ('', k.context)) AND (k.served_at = '' OR :served_at <= k.served_at))"""
