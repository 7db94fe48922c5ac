"""Which systems, lists and types of events a project has now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recjudge_tui.domain.occasions import Occasion
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import held_out_type, shown_event, shown_events

_NAMED = 8


def systems(db: Database, project_id: int) -> list[str]:
    """The systems that have lists, by name."""
    return [
        r[0]
        for r in db.rows(
            """SELECT DISTINCT s.system FROM slates s JOIN slate_imports si ON si.slate_id = s.id
               WHERE s.project_id = ? ORDER BY s.system""",
            (project_id,),
        )
    ]


def known_systems(db: Database, project_id: int) -> set[str]:
    """Every system named by a list, an explanation or a case of the project."""
    rows = db.rows(
        """SELECT system FROM slates WHERE project_id = ?1
           UNION SELECT system FROM explanations WHERE project_id = ?1
           UNION SELECT system_a FROM cases WHERE project_id = ?1
           UNION SELECT system_b FROM cases WHERE project_id = ?1""",
        (project_id,),
    )
    return {row[0] for row in rows} - {""}


def check_systems(
    db: Database, project_id: int, wanted: Sequence[str], next_step: str = "Leave out --systems for all."
) -> None:
    """Raises NotFoundError for a system that no case or list of the project has.

    The error names the existing systems.
    """
    if not wanted:
        return
    known = sorted(known_systems(db, project_id))
    unknown = [system for system in wanted if system not in known]
    if unknown:
        more = f" and {len(known) - _NAMED:,} more" if len(known) > _NAMED else ""
        raise NotFoundError(
            f"no system “{one_line(unknown[0], 60)}” in this project",
            f"Available: {', '.join(one_line(system, 60) for system in known[:_NAMED])}{more}."
            if known
            else "Nothing in it has a system.",
            next_step,
        )


def check_judgeable(
    db: Database, project_id: int, wanted: Sequence[str], known: Sequence[str], what: str = "lists"
) -> None:
    """Raises NotFoundError for a system that the project does not have, or that is not among `known`, the systems that have
    `what`.
    """
    check_systems(db, project_id, wanted)
    for system in wanted:
        if system not in known:
            raise NotFoundError(
                f"no {what} by “{one_line(system, 60)}” in this project",
                f"Systems with {what}: {', '.join(known) or 'none'}.",
            )


def slate_systems(db: Database, project_id: int) -> dict[int, str]:
    """Slate id -> its system, for every list of a project."""
    rows = db.rows("SELECT id, system FROM slates WHERE project_id = ?", (project_id,))
    return {row[0]: row[1] for row in rows}


class CurrentSlate(NamedTuple):
    """A system's current list for a user on one occasion."""

    system: str
    slate_id: int
    occasion: Occasion


def current_slates(db: Database, project_id: int) -> dict[str, list[CurrentSlate]]:
    """user_id -> the user's lists, by context, system and time; users sorted by name."""
    slates: dict[str, list[CurrentSlate]] = {}
    for user_id, system, slate_id, context, served_at in db.execute(
        """SELECT user_id, system, slate_id, context, served_at FROM v_current_slates WHERE project_id = ?
           ORDER BY user_id, context, system, served_at""",
        (project_id,),
    ):
        slates.setdefault(user_id, []).append(CurrentSlate(system, slate_id, Occasion(context, served_at)))
    return slates


def newest_slates(db: Database, project_id: int) -> dict[str, dict[str, CurrentSlate]]:
    """user_id -> system -> the list that was served last (of equal times, that of the last context by name)."""
    return {
        user: {
            slate.system: slate
            for slate in sorted(slates, key=lambda s: (s.occasion.served_at, s.occasion.context))
        }
        for user, slates in current_slates(db, project_id).items()
    }


def slate_digests(db: Database, project_id: int) -> dict[int, str]:
    """slate id -> digest of its items and their scores, independent of user and system."""
    rows = db.execute("SELECT id, digest FROM slates WHERE project_id = ?", (project_id,))
    return {row[0]: row[1] for row in rows}


def shown_event_counts(db: Database, project_id: int, days: int, until: str) -> dict[str, int]:
    """user_id -> the number of distinct events in the `days` before `until` (empty: before the user's last event).

    Held-out events do not count; events without a time do. Users without events are left out.
    """
    rows = db.rows(
        f"""WITH met AS ({shown_events("?1")}),
                 ends AS (SELECT user_id, CASE ?3 WHEN '' THEN max(timestamp) ELSE ?3 END AS last FROM met GROUP BY user_id),
                 windows AS (SELECT user_id, last,
                               ifnull(strftime('%Y-%m-%dT%H:%M:%S+00:00', last, '-' || ?2 || ' days'), '') AS first
                             FROM ends)
            SELECT m.user_id, count(*) FROM met m JOIN windows w ON w.user_id = m.user_id
            WHERE m.timestamp = '' OR m.timestamp BETWEEN w.first AND w.last GROUP BY m.user_id""",
        (project_id, days, until),
    )
    return {row[0]: row[1] for row in rows}


def heldout_types(db: Database, project_id: int) -> Sequence[str]:
    """The held-out event types of a project."""
    return [
        r[0]
        for r in db.rows(
            f"SELECT DISTINCT type FROM events WHERE project_id = ? AND {held_out_type()} ORDER BY type",
            (project_id,),
        )
    ]


def event_counts(db: Database, project_id: int) -> dict[str, int]:
    """event type -> the number of stored events, for types that judges may see.

    An event in two imports counts twice.
    """
    rows = db.rows(
        f"SELECT type, count(*) FROM events WHERE project_id = ? AND {shown_event()} GROUP BY type",
        (project_id,),
    )
    return {row[0]: row[1] for row in rows}


def repeated_events(db: Database, project_id: int) -> int:
    """How many of the stored events that judges may see are also in another import."""
    imports: int = db.value(
        "SELECT count(*) FROM imports WHERE project_id = ? AND kind = 'events' AND undone_at IS NULL",
        (project_id,),
    )
    if imports < 2:
        return 0
    stored = sum(event_counts(db, project_id).values())
    different: int = db.value(f"SELECT count(*) FROM ({shown_events('?')})", (project_id,))
    return stored - different


class Replaceable(NamedTuple):
    """A table of lists or texts, its links to imports, and the columns that are equal in rows that replace
    each other."""

    table: str
    links: str
    key: str
    owner: str


LISTS = Replaceable("slates", "slate_imports", "slate_id", "user_id, system, context, served_at")
TEXTS = Replaceable(
    "explanations", "explanation_imports", "explanation_id", "user_id, item_id, system, context, served_at"
)


def was_replaced(db: Database, project_id: int, content: Replaceable) -> bool:
    """Whether a later import replaced any list or text of the project."""
    replaced: int = db.value(
        f"""SELECT EXISTS (SELECT 1 FROM {content.table} WHERE project_id = ? GROUP BY {content.owner}
            HAVING count(*) > 1)""",
        (project_id,),
    )
    return bool(replaced)
