"""Lists, held-out events and item data for the offline metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from recjudge_tui.domain.event_types import JUDGEMENT
from recjudge_tui.domain.occasions import import_period
from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection
from recjudge_tui.stats.retrieval import EvaluationData, Gain, HeldOut, RankedList, evaluation_data
from recjudge_tui.store.cases_ import occasion_condition, slate_periods
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.facts import held_out_type, shown_events


def load_evaluation_data(
    db: Database, project_id: int, relevant_from: float | None = None, gain: Gain = "relevant"
) -> EvaluationData:
    """All inputs of a project's offline metrics except the lists; see `stats.retrieval`."""

    def read() -> EvaluationData:
        items = db.rows(
            "SELECT item_id, category, title FROM v_current_items WHERE project_id = ?", (project_id,)
        )
        categories, titles = ({row[0]: row[at] for row in items} for at in (1, 2))
        counts = training_counts(db, project_id)
        return evaluation_data(held_out(db, project_id), categories, counts, titles, relevant_from, gain)

    return db.kept((load_evaluation_data, project_id, relevant_from, gain), read)


def lists_of(
    db: Database, project_id: int, system: str, chosen: CaseSelection = EVERY_CASE
) -> Iterator[RankedList]:
    """The chosen current lists of a system (or those that an import was the first to bring), by user, context and time,
    including empty lists."""
    within, parameters = occasion_condition(chosen.occasions, "c")
    lists, brought = "v_current_slates", {}
    if chosen.imported:
        lists, brought = "(SELECT *, id AS slate_id FROM slates)", slate_periods(db, project_id, "import")
    cursor = db.execute(
        f"""SELECT c.slate_id, c.user_id, c.context, c.served_at, s.item_id, s.score
           FROM {lists} c LEFT JOIN slate_items s ON s.slate_id = c.slate_id
           WHERE c.project_id = :project AND c.system = :system AND {within}
           ORDER BY c.user_id, c.context, c.served_at, c.slate_id, s.rank""",
        parameters | {"project": project_id, "system": system},
    )
    for slate, ranked in ranked_lists(cursor):
        here = chosen.segment is None or chosen.segment.holds(ranked.user_id, ranked.context)
        if here and (not chosen.imported or brought.get(slate) == import_period(chosen.imported)):
            yield ranked


def ranked_lists(rows: Iterable[StoredRow]) -> Iterator[tuple[int, RankedList]]:
    """Slate id and list, from rows (slate, user, context, time, item, score) by slate and rank."""
    current: tuple[int, RankedList] | None = None
    for slate_id, user_id, context, served_at, item_id, score in rows:
        if current is None or current[0] != slate_id:
            if current is not None:
                yield current
            current = (slate_id, RankedList(user_id, [], [], context, served_at))
        if item_id is not None:
            current[1].items.append(item_id)
            current[1].scores.append(score)
    if current is not None:
        yield current


def held_out(db: Database, project_id: int) -> dict[str, list[HeldOut]]:
    """user_id -> the held-out events on items, oldest first. Judgements have no mean: their 0 means "not relevant"."""
    means = dict(
        tuple(row)
        for row in db.rows(
            """SELECT user_id, avg(value) FROM events WHERE project_id = ? AND value IS NOT NULL AND item_id <> ''
                 AND type <> ? AND is_copy = 0 GROUP BY user_id""",
            (project_id, JUDGEMENT),
        )
    )
    events: dict[str, list[HeldOut]] = {}
    for user_id, item_id, kind, value, context, served_at in db.execute(
        f"""SELECT user_id, item_id, type, value, context, served_at FROM events
            WHERE project_id = ? AND item_id <> '' AND {held_out_type()} ORDER BY user_id, timestamp, id""",
        (project_id,),
    ):
        mean = None if kind == JUDGEMENT else means.get(user_id)
        event = HeldOut(item_id, value, mean, context, served_at)
        events.setdefault(user_id, []).append(event)
    return events


def has_held_out(db: Database, project_id: int) -> bool:
    """Whether any event of an item is held out."""
    sql = f"SELECT EXISTS (SELECT 1 FROM events WHERE project_id = ? AND item_id <> '' AND {held_out_type()})"
    return bool(db.value(sql, (project_id,)))


def item_titles(db: Database, project_id: int) -> dict[str, str]:
    """item_id -> title, for every item of the catalogue."""
    rows = db.rows("SELECT item_id, title FROM v_current_items WHERE project_id = ?", (project_id,))
    return {row[0]: row[1] for row in rows}


def training_counts(db: Database, project_id: int) -> dict[str, int]:
    """item_id -> number of events that a judge may be shown.

    An event that several imports contain counts once.
    """
    rows = db.rows(
        f"SELECT item_id, count(*) FROM ({shown_events('?')}) WHERE item_id <> '' GROUP BY item_id",
        (project_id,),
    )
    return {row[0]: row[1] for row in rows}
