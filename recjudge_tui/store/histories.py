"""What users did: histories as judges see them, events held out from judges, and what metrics are computed on."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, cast

from recjudge_tui.domain.domains import Scale, dataset_of
from recjudge_tui.domain.event_types import JUDGEMENT
from recjudge_tui.domain.material import CaseKind, ShownEvent
from recjudge_tui.domain.occasions import NO_OCCASION, Occasion, import_period, meant_occasions
from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection
from recjudge_tui.domain.text import quantity
from recjudge_tui.store.cases import (
    ADVERSARIAL_CASE,
    CaseKey,
    current_keys,
    ensure_case,
    ensure_cases,
    occasion_condition,
    slate_periods,
)
from recjudge_tui.store.data import ItemViews, current_explanations, current_slates, user_attributes
from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import SAME_EVENT, held_out_type, shown_event, shown_events

if TYPE_CHECKING:
    from recjudge_tui.stats.retrieval import EvaluationData, Gain, HeldOut, RankedList


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
        """The events from `since` to `until` (inclusive; empty: any), without events at `before` or later and without
        copies of events held out for the occasion. At most `limit` of each type, so that a thousand clicks do not hide
        the purchases. Events without a time count."""
        places = self._places(since, until, before)
        if self._is_held:
            places = [at for at in places if not is_held_for(self.events[at].held_for, occasion)]
        if len(places) > limit:
            taken: Counter[str] = Counter()
            first = []
            for place in places:
                taken[kind := self.events[place].type] += 1
                if taken[kind] <= limit:
                    first.append(place)
            places = first
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

    def _show(self, places: Collection[int]) -> None:
        views = self.items.of({row.item_id for place in places if (row := self.events[place]).item_id})
        for place in places:
            row = self.events[place]
            item = views[row.item_id] if row.item_id else None
            scale = None if row.value is None else row.scale
            self._shown[place] = ShownEvent(
                type=row.type, timestamp=row.timestamp, text=row.text, value=row.value, item=item, scale=scale
            )


def read_histories(
    db: Database, project_id: int, users: Collection[str], items: ItemViews
) -> dict[str, UserHistory]:
    """user_id -> the history of each of these users. An event that is in two imports counts once."""
    wanted, attributes = json.dumps(list(users)), user_attributes(db, project_id, users)
    scales, copies = _scales(db, project_id), occasion_copies(db, project_id, wanted)
    events: dict[str, list[_EventRow]] = {user: [] for user in users}
    sql = f"""SELECT user_id, type, timestamp, text, value, item_id, min(import_id) FROM events
              WHERE project_id = ? AND user_id IN (SELECT value FROM json_each(?)) AND {shown_event()}
              GROUP BY {SAME_EVENT}
              ORDER BY user_id, timestamp DESC, min(id) DESC"""
    for user, type_, time, text, value, item, source in db.rows(sql, (project_id, wanted)):
        held_for = copies.get((user, type_, time, text, value, item), ()) if copies else ()
        events[user].append(_EventRow(type_, time, text, value, item, scales.get(source), held_for))
    return {
        user: UserHistory(user, attributes.get(user, {}), tuple(rows), items) for user, rows in events.items()
    }


def _scales(db: Database, project_id: int) -> dict[int, Scale]:
    """import id -> the scale of its values, if its layout has one."""
    sql = "SELECT id, layout FROM imports WHERE project_id = ? AND kind = 'events'"
    layouts = db.pairs(sql, (project_id,))
    known = ((source, dataset_of(layout)) for source, layout in layouts.items())
    return {source: dataset.scale for source, dataset in known if dataset and dataset.scale}


def read_history(db: Database, project_id: int, user_id: str) -> UserHistory:
    return read_histories(db, project_id, [user_id], ItemViews(db, project_id))[user_id]


# ---- held out copies ---------------------------------------------------------------------------------------------


class HeldOutCopies(NamedTuple):
    """The number of visible events that are copies of events held out for all lists of the user (`of_all`) or
    for some (`of_some`). `visible`: there is an event that a judge may still be shown."""

    of_all: int
    of_some: int
    visible: bool

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
    of_all = db.number("SELECT count(*) FROM events WHERE project_id = ? AND is_copy = 1", (project_id,))
    sql = """SELECT count(DISTINCT k.event_id) FROM occasion_copies k CROSS JOIN events e ON e.id = k.event_id
             WHERE e.project_id = ? AND e.is_copy = 0"""
    of_some = db.number(sql, (project_id,))
    sql = f"SELECT 1 FROM events WHERE project_id = ? AND is_copy = 0 AND NOT {held_out_type()}"
    visible = db.any(sql, (project_id,))
    return HeldOutCopies(of_all, of_some, visible)


def repeats_note(db: Database, project_id: int) -> list[str]:
    """A sentence about visible events that share user and item with a held-out event but differ in time, value, type or
    context, such as a repeated purchase. Empty if there are none."""
    sql = """SELECT count(*) FROM (SELECT event_id FROM v_held_out_matches WHERE project_id = ?
             GROUP BY event_id HAVING NOT max(is_copy))"""
    count = db.number(sql, (project_id,))
    if not count:
        return []
    have = "has" if count == 1 else "have"
    differs = "but another time, value, type or context: judges see them"
    return [f"{quantity(count, 'event')} {have} the user and item of a held-out event, {differs}"]


def mark_copies(db: Database, project_id: int, imports: Sequence[int]) -> None:
    """Mark the copies among the events of these imports, and those that the imports reveal in older ones. Call inside
    their transaction."""
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
    return db.column(sql, (import_id,))


def mark_again(db: Database, project_id: int, users: Collection[str]) -> None:
    """Mark the copies of these users again after some of their held-out events were removed. Call inside a transaction."""
    if not users:
        return
    theirs = "project_id = ? AND user_id IN (SELECT value FROM json_each(?))"
    parameters = (project_id, json.dumps(list(users)))
    sql = f"DELETE FROM occasion_copies WHERE event_id IN (SELECT id FROM events WHERE {theirs})"
    db.execute(sql, parameters)
    db.execute(f"UPDATE events SET is_copy = 0 WHERE {theirs} AND is_copy = 1", parameters)
    _mark(db, theirs, parameters)


def _holds_out(db: Database, column: str, value: int) -> bool:
    return db.any(f"SELECT 1 FROM events WHERE {column} = ? AND {held_out_type()}", (value,))


def _mark(db: Database, condition: str, parameters: tuple[object, ...]) -> None:
    sql = f"SELECT event_id, context, served_at FROM v_held_out_matches WHERE is_copy AND {condition}"
    rows = db.rows(sql, parameters)
    sql = "UPDATE events SET is_copy = 1 WHERE id = ?"
    db.execute_many(sql, sorted({(event,) for event, *occasion in rows if not any(occasion)}))
    sql = "INSERT OR IGNORE INTO occasion_copies VALUES (?, ?, ?)"
    db.execute_many(sql, sorted({tuple(row) for row in rows if row["context"] or row["served_at"]}))


# what the copies of one event are held out for
HeldFor = tuple[Occasion, ...]
# user, type, timestamp, text, value, item
EventContent = tuple[str, str, str, str, float | None, str]


def occasion_copies(db: Database, project_id: int, users: str) -> dict[EventContent, HeldFor]:
    """The occasions for which copies of these users' events are held out; `users` is a JSON array."""
    if not db.value("SELECT EXISTS (SELECT 1 FROM occasion_copies)"):
        return {}
    held: dict[EventContent, HeldFor] = {}
    sql = """SELECT k.context, k.served_at, e.user_id, e.type, e.timestamp, e.text, e.value, e.item_id
             FROM events e JOIN occasion_copies k ON k.event_id = e.id
             WHERE e.project_id = ? AND e.user_id IN (SELECT value FROM json_each(?)) ORDER BY k.context, k.served_at"""
    for context, served_at, *content in db.rows(sql, (project_id, users)):
        key = cast("EventContent", tuple(content))
        held[key] = (*held.get(key, ()), Occasion(context, served_at))
    return held


def is_held_for(held_for: HeldFor, occasion: Occasion) -> bool:
    """Whether a copy is held out for a list of this occasion: context and time do not differ where both have them, and
    the list was not served later."""
    return any(
        (not held.context or occasion.context in ("", held.context))
        and (not held.served_at or occasion.served_at <= held.served_at)
        for held in held_for
    )


# ---- heldout -----------------------------------------------------------------------------------------------------


def load_evaluation_data(
    db: Database, project_id: int, relevant_from: float | None = None, gain: Gain = "relevant"
) -> EvaluationData:
    """All inputs of a project's offline metrics except the lists; see `stats.retrieval`."""
    from recjudge_tui.stats.retrieval import EvaluationData, categories_of, truths_of

    def read() -> EvaluationData:
        sql = "SELECT item_id, category, title FROM v_current_items WHERE project_id = ?"
        items = db.rows(sql, (project_id,))
        return EvaluationData(
            truths=truths_of(held_out(db, project_id), relevant_from),
            categories={row["item_id"]: categories_of(row["category"]) for row in items},
            counts=training_counts(db, project_id),
            titles={row["item_id"]: row["title"] for row in items},
            gain=gain,
        )

    return db.kept((load_evaluation_data, project_id, relevant_from, gain), read)


def lists_of(
    db: Database, project_id: int, system: str, chosen: CaseSelection = EVERY_CASE
) -> list[RankedList]:
    """The chosen current lists of a system (or those that an import was the first to bring), by user, context and time,
    including empty lists."""
    within, parameters = occasion_condition(chosen.occasions, "s")
    lists = "slates" if chosen.imported else "(SELECT *, slate_id AS id FROM v_current_slates)"
    sql = f"SELECT id FROM {lists} s WHERE s.project_id = :project AND s.system = :system AND {within}"
    ids = db.column(sql, parameters | {"project": project_id, "system": system})
    if chosen.imported:
        brought = slate_periods(db, project_id, "import")
        ids = [slate for slate in ids if brought.get(slate) == import_period(chosen.imported)]
    ranked = (one for _, one in ranked_slates(db, project_id, ids) if chosen.holds(one.user_id, one.context))
    return sorted(ranked, key=lambda one: (one.user_id, one.context, one.served_at))


def held_out(db: Database, project_id: int) -> dict[str, list[HeldOut]]:
    """user_id -> the held-out events on items, oldest first. Judgements have no mean: their 0 means "not relevant"."""
    from recjudge_tui.stats.retrieval import HeldOut

    sql = """SELECT user_id, avg(value) FROM events WHERE project_id = ? AND value IS NOT NULL AND item_id <> ''
               AND type <> ? AND is_copy = 0 GROUP BY user_id"""
    means = db.pairs(sql, (project_id, JUDGEMENT))
    events: dict[str, list[HeldOut]] = {}
    sql = f"""SELECT user_id, item_id, type, value, context, served_at FROM events
              WHERE project_id = ? AND item_id <> '' AND {held_out_type()} ORDER BY user_id, timestamp, id"""
    for user_id, item_id, kind, value, *occasion in db.tuples(sql, (project_id,)):
        mean = None if kind == JUDGEMENT else means.get(user_id)
        events.setdefault(user_id, []).append(HeldOut(item_id, value, mean, *occasion))
    return events


def has_held_out(db: Database, project_id: int) -> bool:
    """Whether any event of an item is held out."""
    sql = f"SELECT 1 FROM events WHERE project_id = ? AND item_id <> '' AND {held_out_type()}"
    return db.any(sql, (project_id,))


def item_titles(db: Database, project_id: int) -> dict[str, str]:
    """item_id -> title, for every item of the catalogue."""
    return db.pairs("SELECT item_id, title FROM v_current_items WHERE project_id = ?", (project_id,))


def training_counts(db: Database, project_id: int) -> dict[str, int]:
    """item_id -> number of events that a judge may be shown. An event that several imports contain counts once."""
    sql = f"SELECT item_id, count(*) FROM ({shown_events('?')}) WHERE item_id <> '' GROUP BY item_id"
    return db.pairs(sql, (project_id,))


# ---- measured ----------------------------------------------------------------------------------------------------


# a case and the text, list or two lists that it is about; None for one that a label named and nobody imported
MeasuredCase = tuple[int, CaseKind, tuple[int | None, ...]]


def referred_texts(db: Database, project_id: int) -> Iterator[tuple[int, str, str]]:
    """(id, text, what the user wrote or empty) of the current explanations, and older ones that a case still refers to."""
    sql = """SELECT id, text, reference FROM explanations WHERE project_id = ?1 AND (
               id IN (SELECT explanation_id FROM v_current_explanations WHERE project_id = ?1)
               OR id IN (SELECT explanation_id FROM cases WHERE project_id = ?1 AND kind = 'explanation'))
             ORDER BY id"""
    return db.tuples(sql, (project_id,))


_EVERY_LIST = """SELECT slate_id FROM v_current_slates WHERE project_id = ?1
  UNION SELECT slate_a FROM cases WHERE project_id = ?1 AND slate_a IS NOT NULL
  UNION SELECT slate_b FROM cases WHERE project_id = ?1 AND slate_b IS NOT NULL"""


def ranked_slates(
    db: Database, project_id: int, slates: Collection[int] | None = None
) -> Iterator[tuple[int, RankedList]]:
    """Slate id and list, by id: of these slates, else the current lists and older ones that a case still refers to."""
    from recjudge_tui.stats.retrieval import RankedList

    wanted = _EVERY_LIST if slates is None else "SELECT value FROM json_each(?2)"
    sql = f"""WITH wanted(id) AS ({wanted})
        SELECT s.id, s.user_id, s.context, s.served_at, si.item_id, si.score
        FROM wanted w JOIN slates s ON s.id = w.id AND s.project_id = ?1
        LEFT JOIN slate_items si ON si.slate_id = s.id ORDER BY s.id, si.rank"""
    rows = db.tuples(sql, (project_id, *([] if slates is None else [json.dumps(sorted(slates))])))
    for slate, group in groupby(rows, itemgetter(0)):
        of_slate = list(group)
        _, user_id, context, served_at, *_ = of_slate[0]
        listed = [row for row in of_slate if row[4] is not None]
        yield (
            slate,
            RankedList(user_id, [row[4] for row in listed], [row[5] for row in listed], context, served_at),
        )


def current_list_ids(db: Database, project_id: int) -> dict[str, tuple[int, ...]]:
    """System -> the ids of its current lists."""
    sql = "SELECT system, slate_id FROM v_current_slates WHERE project_id = ? ORDER BY system, slate_id"
    rows = db.rows(sql, (project_id,))
    return {system: tuple(row[1] for row in of_system) for system, of_system in groupby(rows, itemgetter(0))}


def ensure_text_cases(db: Database, project_id: int) -> list[MeasuredCase]:
    """Every explanation case; creates one for each current explanation. Call inside a transaction."""
    keys = [
        CaseKey(
            "explanation", text.user_id, text.system, "", text.item_id, None, None, text.id, *text.occasion
        )
        for text in current_explanations(db, project_id)
    ]
    ensure_cases(db, project_id, keys)
    sql = "SELECT id, explanation_id FROM cases WHERE project_id = ? AND kind = 'explanation' ORDER BY id"
    return [(case, "explanation", (text,)) for case, text in db.rows(sql, (project_id,))]


def ensure_list_cases(db: Database, project_id: int) -> list[MeasuredCase]:
    """Every case of lists: creates one for each current list, and adds the existing pairs. Call inside a transaction.
    Pairs that labels named before their lists were known get the current lists, as in a run."""
    keys = [
        CaseKey("list", user_id, slate.system, "", "", slate.slate_id, None, None, *slate.occasion)
        for user_id, slates in current_slates(db, project_id).items()
        for slate in slates
    ]
    ensure_cases(db, project_id, keys)
    sql = """SELECT user_id, system_a, system_b, context, served_at FROM cases
             WHERE project_id = ? AND kind = 'pair' AND item_id = '' AND slate_a IS NULL AND slate_b IS NULL"""
    for user_id, a, b, context, served_at in db.rows(sql, (project_id,)):
        known = current_keys(db, project_id, CaseKey("pair", user_id, a, b))
        meant = meant_occasions(Occasion(context, served_at), known)
        if len(meant) == 1:
            ensure_case(db, project_id, known[meant[0]])
    sql = f"""SELECT id, kind, slate_a, slate_b FROM cases
        WHERE project_id = ? AND kind IN ('list', 'pair') AND NOT {ADVERSARIAL_CASE}
          AND ifnull(slate_a, 0) NOT IN (SELECT slate_id FROM planted_faults) ORDER BY id"""
    rows = db.rows(sql, (project_id,))
    return [(case, kind, (a, b) if kind == "pair" else (a,)) for case, kind, a, b in rows]


def explanation_texts(db: Database, project_id: int) -> list[tuple[int, str, str]]:
    """(case, text, what the user wrote or empty) of the explanation cases, without those whose text is unknown."""
    sql = """SELECT c.id, e.text, e.reference FROM cases c JOIN explanations e ON e.id = c.explanation_id
             WHERE c.project_id = ? AND c.kind = 'explanation' ORDER BY c.id"""
    return list(db.tuples(sql, (project_id,)))
