"""The data of a project: users, items, systems, texts, images, and the parts of it that are chosen."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, NamedTuple

from recjudge_tui.domain.occasions import NO_OCCASION, Occasion, OccasionFilter
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.domain.where import EVENTS, OWN_WORDS, PART, USER, Where, part_of
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.store.cases import occasion_condition
from recjudge_tui.store.database import Database, read_cell
from recjudge_tui.store.facts import first_names, held_out_type, shown_event, shown_events, with_unit_in

if TYPE_CHECKING:
    from recjudge_tui.domain.material import ExplanationView, ImageView, ItemView


def systems(db: Database, project_id: int, content: Replaceable | None = None) -> list[str]:
    """The systems that have lists, or another content such as TEXTS, by name."""
    table, links, key, _ = content or LISTS
    sql = f"""SELECT DISTINCT s.system FROM {table} s JOIN {links} l ON l.{key} = s.id
              WHERE s.project_id = ? ORDER BY s.system"""
    return db.column(sql, (project_id,))


def known_systems(db: Database, project_id: int) -> set[str]:
    """Every system named by a list, an explanation or a case of the project."""
    sources = (("slates", "system"), ("explanations", "system"), ("cases", "system_a"), ("cases", "system_b"))
    sql = " UNION ".join(f"SELECT {column} FROM {table} WHERE project_id = ?1" for table, column in sources)
    return set(db.column(sql, (project_id,))) - {""}


def check_systems(
    db: Database, project_id: int, wanted: Sequence[str], next_step: str = "Name none for all."
) -> None:
    """Raises NotFoundError for a system that no case or list of the project has. The error names the existing systems."""
    if not wanted:
        return
    known = sorted(known_systems(db, project_id))
    unknown = [system for system in wanted if system not in known]
    if unknown:
        raise NotFoundError(
            f"no system “{one_line(unknown[0], 60)}” in this project",
            f"Available: {first_names([one_line(system, 60) for system in known])}."
            if known
            else "Nothing in it has a system.",
            next_step,
        )


def check_judgeable(
    db: Database, project_id: int, wanted: Sequence[str], known: Sequence[str], what: str = "lists"
) -> None:
    """Raises NotFoundError for a system that the project does not have, or that is not among `known`, the systems that
    have `what`."""
    check_systems(db, project_id, wanted)
    for system in wanted:
        if system not in known:
            raise NotFoundError(
                f"no {what} by “{one_line(system, 60)}” in this project",
                f"Systems with {what}: {', '.join(known) or 'none'}.",
            )


def of_slates(db: Database, project_id: int, column: Literal["system", "digest"]) -> dict[int, str]:
    """Slate id -> its system, or the digest of its items and their scores, for every list of a project."""
    return db.pairs(f"SELECT id, {column} FROM slates WHERE project_id = ?", (project_id,))


class CurrentSlate(NamedTuple):
    """A system's current list for a user on one occasion."""

    system: str
    slate_id: int
    occasion: Occasion


def current_slates(db: Database, project_id: int) -> dict[str, list[CurrentSlate]]:
    """user_id -> the user's lists, by context, system and time; users sorted by name."""
    slates: dict[str, list[CurrentSlate]] = {}
    sql = """SELECT user_id, system, slate_id, context, served_at FROM v_current_slates WHERE project_id = ?
             ORDER BY user_id, context, system, served_at"""
    for user_id, system, slate_id, *occasion in db.tuples(sql, (project_id,)):
        slates.setdefault(user_id, []).append(CurrentSlate(system, slate_id, Occasion(*occasion)))
    return slates


def newest_slates(db: Database, project_id: int) -> dict[str, dict[str, CurrentSlate]]:
    """user_id -> system -> the list that was served last (of equal times, that of the last context by name)."""
    of_users, order = current_slates(db, project_id), attrgetter("occasion.served_at", "occasion.context")
    return {user: {s.system: s for s in sorted(slates, key=order)} for user, slates in of_users.items()}


def shown_event_counts(db: Database, project_id: int, days: int, until: str) -> dict[str, int]:
    """user_id -> the number of distinct events in the `days` before `until` (empty: before the user's last event).
    Held-out events do not count; events without a time do. Users without events are left out."""
    sql = f"""WITH met AS ({shown_events("?1")}),
             ends AS (SELECT user_id, CASE ?3 WHEN '' THEN max(timestamp) ELSE ?3 END AS last FROM met GROUP BY user_id),
             windows AS (SELECT user_id, last,
                           ifnull(strftime('%Y-%m-%dT%H:%M:%S+00:00', last, '-' || ?2 || ' days'), '') AS first
                         FROM ends)
        SELECT m.user_id, count(*) FROM met m JOIN windows w ON w.user_id = m.user_id
        WHERE m.timestamp = '' OR m.timestamp BETWEEN w.first AND w.last GROUP BY m.user_id"""
    return db.pairs(sql, (project_id, days, until))


def heldout_types(db: Database, project_id: int) -> Sequence[str]:
    """The held-out event types of a project."""
    sql = f"SELECT DISTINCT type FROM events WHERE project_id = ? AND {held_out_type()} ORDER BY type"
    return db.column(sql, (project_id,))


def event_counts(db: Database, project_id: int) -> dict[str, int]:
    """event type -> the number of stored events, for types that judges may see. An event in two imports counts twice."""
    sql = f"SELECT type, count(*) FROM events WHERE project_id = ? AND {shown_event()} GROUP BY type"
    return db.pairs(sql, (project_id,))


def repeated_events(db: Database, project_id: int) -> int:
    """How many of the stored events that judges may see are also in another import."""
    sql = "SELECT count(*) FROM imports WHERE project_id = ? AND kind = 'events' AND undone_at IS NULL"
    if db.number(sql, (project_id,)) < 2:
        return 0
    stored = sum(event_counts(db, project_id).values())
    return stored - db.number(f"SELECT count(*) FROM ({shown_events('?')})", (project_id,))


class Replaceable(NamedTuple):
    """A table of lists or texts, its links to imports, and the columns that are equal in rows that replace each other."""

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
    sql = f"SELECT 1 FROM {content.table} WHERE project_id = ? GROUP BY {content.owner} HAVING count(*) > 1"
    return db.any(sql, (project_id,))


# ---- texts -------------------------------------------------------------------------------------------------------


Owner = Literal["item", "user", "explanation"]
_MOST_VALUES = 6


class DataText(NamedTuple):
    """A text and its place: the item, user or explanation (`id`), and the field."""

    owner: Owner
    id: str
    field: str
    text: str


# owner, its texts after the id and the attributes, and their fields
_TEXTS: tuple[tuple[Owner, str, tuple[str, ...]], ...] = (
    (
        "item",
        """SELECT item_id, attributes, title, brand, category FROM v_current_items WHERE project_id = ? ORDER BY item_id""",
        ("title", "brand", "category"),
    ),
    ("user", "SELECT user_id, attributes FROM v_current_users WHERE project_id = ?", ()),
    (
        "user",
        f"SELECT DISTINCT user_id, '', type, text FROM events WHERE project_id = ? AND {shown_event()}",
        ("event type", "search"),
    ),
    (
        "explanation",
        """SELECT CAST(explanation_id AS TEXT), attributes, text, reference FROM v_current_explanations
           WHERE project_id = ?""",
        ("text", "reference"),
    ),
)


def data_texts(db: Database, project_id: int) -> Iterator[DataText]:
    """Every non-empty text of the current data that a judge may see: items, users, their searches, explanations; lazily."""
    for owner, sql, fields in _TEXTS:
        for identity, attributes, *texts in db.tuples(sql, (project_id,)):
            for field, text in zip(fields, texts, strict=True):
                if text:
                    yield DataText(owner, identity, field, text)
            for name, value in stored_attributes(attributes, f"{owner}s", identity).items():
                yield DataText(owner, identity, f"attribute {name}", value)
                yield DataText(owner, identity, "attribute name", name)


def cases_with(db: Database, project_id: int, owner: Owner, ids: Iterable[str]) -> dict[str, list[int]]:
    """id -> the cases that show it. An item is shown by lists, its users' events (all of them) and its explanations; a user
    by all of their cases; an explanation by its own."""
    sql = f"""WITH wanted AS (SELECT value AS id FROM json_each(?2)), shown(id, case_id) AS ({_SHOWN[owner]})
              SELECT id, json_group_array(case_id) FROM (SELECT * FROM shown ORDER BY id, case_id) GROUP BY id"""
    rows = db.tuples(sql, (project_id, json.dumps(list(ids), ensure_ascii=False)))
    return {identity: json.loads(cases) for identity, cases in rows}


_SHOWN: dict[Owner, str] = {
    "item": f"""
      SELECT si.item_id, c.id FROM slate_items si JOIN cases c ON c.slate_a = si.slate_id
        WHERE si.item_id IN (SELECT id FROM wanted) AND c.project_id = ?1
      UNION SELECT si.item_id, c.id FROM slate_items si JOIN cases c ON c.slate_b = si.slate_id
        WHERE si.item_id IN (SELECT id FROM wanted) AND c.project_id = ?1
      UNION SELECT e.item_id, c.id FROM events e
        JOIN cases c ON c.project_id = ?1 AND c.kind IN ('list', 'pair', 'explanation') AND c.user_id = e.user_id
        WHERE e.project_id = ?1 AND e.item_id IN (SELECT id FROM wanted) AND {shown_event("e")}
      UNION SELECT item_id, id FROM cases WHERE project_id = ?1 AND item_id IN (SELECT id FROM wanted)""",
    "user": "SELECT user_id, id FROM cases WHERE project_id = ?1 AND user_id IN (SELECT id FROM wanted)",
    "explanation": """SELECT CAST(explanation_id AS TEXT), id FROM cases WHERE project_id = ?1
      AND explanation_id IN (SELECT CAST(id AS INTEGER) FROM wanted)""",
}


# ---- item views --------------------------------------------------------------------------------------------------


class ItemViews:
    """The descriptions of a project's items, each read once. `made` contains descriptions of generated items,
    which the project does not have."""

    def __init__(self, db: Database, project_id: int, made: Iterable[ItemView] = ()) -> None:
        self._db, self._project_id = db, project_id
        self._views: dict[str, ItemView] = {item.item_id: item for item in made}

    def of(self, ids: Collection[str]) -> Mapping[str, ItemView]:
        """item_id -> its description, for these ids and those read before. An unknown item has its id as title."""
        from recjudge_tui.domain.material import ItemView

        unread = sorted(set(ids).difference(self._views))
        if unread:
            self._views.update((item, ItemView(item_id=item, title=item)) for item in unread)
            for row in self._db.rows(
                """SELECT item_id, title, brand, category, attributes FROM v_current_items
                   WHERE project_id = ? AND item_id IN (SELECT value FROM json_each(?))""",
                (self._project_id, json.dumps(unread)),
            ):
                attributes = stored_attributes(row["attributes"], "items", row["item_id"])
                self._views[row["item_id"]] = ItemView(**{**dict(row), "attributes": attributes})
        return self._views


def slate_tops(
    db: Database, items: ItemViews, slate_ids: Iterable[int], top_k: int
) -> dict[int, tuple[ItemView, ...]]:
    """slate id -> its first `top_k` items, best first."""
    wanted = list(slate_ids)
    sql = """SELECT value, (SELECT json_group_array(item_id) FROM (
               SELECT item_id FROM slate_items WHERE slate_id = value AND rank <= ?2 ORDER BY rank))
             FROM json_each(?1)"""
    rows = db.rows(sql, (json.dumps(wanted), top_k))
    # one text for the parser: a call for each of a hundred thousand lists takes longer than their ids
    ids = json.loads(f"[{','.join([row[1] for row in rows])}]")
    views = items.of(set(chain.from_iterable(ids)))
    return {slate: tuple(map(views.__getitem__, top)) for slate, top in zip(wanted, ids, strict=True)}


def slate_top(db: Database, project_id: int, slate_id: int, top_k: int) -> tuple[ItemView, ...]:
    """The first `top_k` items of one list, best first."""
    return slate_tops(db, ItemViews(db, project_id), [slate_id], top_k)[slate_id]


def case_titles(db: Database, project_id: int, case_ids: Sequence[int]) -> dict[int, list[str]]:
    """case id -> the titles of the items in its lists, and of the item that it is about."""
    sql = """WITH shown AS (
               SELECT c.id AS case_id, s.item_id FROM json_each(?2) j JOIN cases c ON c.id = j.value
               JOIN slate_items s ON s.slate_id IN (c.slate_a, c.slate_b)
               UNION ALL SELECT c.id, c.item_id FROM json_each(?2) j JOIN cases c ON c.id = j.value WHERE c.item_id <> '')
             SELECT case_id, json_group_array(i.title) FROM shown
             JOIN v_current_items i ON i.project_id = ?1 AND i.item_id = shown.item_id GROUP BY case_id"""
    rows = db.tuples(sql, (project_id, json.dumps(sorted(set(case_ids)))))
    return {case: json.loads(titles) for case, titles in rows}


def slate_items(db: Database, slate_id: int) -> list[str]:
    """The ids of a slate's items, best first."""
    return db.column("SELECT item_id FROM slate_items WHERE slate_id = ? ORDER BY rank", (slate_id,))


# ---- explanations ------------------------------------------------------------------------------------------------


class ExplanationKey(NamedTuple):
    """Identifies an explanation; `id` is its row."""

    user_id: str
    item_id: str
    system: str
    id: int
    occasion: Occasion = NO_OCCASION


def current_explanations(db: Database, project_id: int) -> list[ExplanationKey]:
    """The newest explanation of each user, item, system and occasion, in this order."""
    sql = """SELECT user_id, item_id, system, explanation_id, context, served_at FROM v_current_explanations
             WHERE project_id = ? ORDER BY user_id, item_id, system, context, served_at"""
    rows = db.rows(sql, (project_id,))
    return [ExplanationKey(row[0], row[1], row[2], row[3], Occasion(row[4], row[5])) for row in rows]


def explanation_view(db: Database, project_id: int, explanation_id: int) -> ExplanationView:
    """The text and its item with its current description; an unknown item has its id as title."""
    from recjudge_tui.domain.material import ExplanationView

    sql = "SELECT item_id, text FROM explanations WHERE project_id = ? AND id = ?"
    row = db.only(sql, (project_id, explanation_id))
    return ExplanationView(
        item=ItemViews(db, project_id).of([row["item_id"]])[row["item_id"]], text=row["text"]
    )


def truth_raters(db: Database, project_id: int) -> list[str]:
    """The ground-truth raters that scored explanations, by name."""
    sql = f"""SELECT r.name FROM raters r WHERE r.project_id = ? AND r.kind = 'ground_truth' AND EXISTS (
          SELECT 1 FROM verdicts v
          WHERE v.rater_id = r.id AND {with_unit_in("v.protocol", "explanation")}
        ) ORDER BY r.name"""
    return db.column(sql, (project_id,))


def scores_of(db: Database, rater_id: int) -> dict[ExplanationKey, dict[str, float]]:
    """explanation -> aspect -> the rater's score; the id is 0 if the text was not imported before the score."""
    scores: dict[ExplanationKey, dict[str, float]] = {}
    sql = f"""SELECT c.user_id, c.item_id, c.system_a, ifnull(c.explanation_id, 0), c.context, c.served_at, v.aspect, v.value
        FROM verdicts v JOIN cases c ON c.id = v.case_id
        WHERE v.rater_id = ? AND {with_unit_in("v.protocol", "explanation")} AND v.state = 'ok'
          AND c.kind = 'explanation'"""
    for row in db.rows(sql, (rater_id,)):
        key = ExplanationKey(row[0], row[1], row[2], row[3], Occasion(row[4], row[5]))
        scores.setdefault(key, {})[row["aspect"]] = row["value"]
    return scores


def text_lengths(db: Database, project_id: int) -> dict[int, tuple[float, float]]:
    """The number of characters and of words of each explanation, by id."""
    texts = db.tuples("SELECT id, text FROM explanations WHERE project_id = ?", (project_id,))
    return {at: (float(len(text)), float(len(text.split()))) for at, text in texts}


# ---- images ------------------------------------------------------------------------------------------------------


class StoredImage(NamedTuple):
    """An image with its content, which is JPEG."""

    view: ImageView
    content: bytes


def add_image(db: Database, image: StoredImage) -> None:
    """Store an image unless it is stored already. Call inside a transaction."""
    db.execute(
        "INSERT INTO images (digest, width, height, content) VALUES (?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING",
        (image.view.digest, image.view.width, image.view.height, image.content),
    )


def image_contents(db: Database, digests: Collection[str]) -> dict[str, bytes]:
    """digest -> the bytes of each of these images. Raises NotFoundError when one is not stored."""
    sql = "SELECT digest, content FROM images WHERE digest IN (SELECT value FROM json_each(?))"
    contents = db.pairs(sql, (json.dumps(sorted(digests)),))
    if missing := sorted(set(digests) - contents.keys()):
        raise NotFoundError(
            f"image {missing[0][:12]}… is not stored any more", "It was deleted from the database."
        )
    return contents


def item_images(db: Database, project_id: int, items: Collection[str]) -> dict[str, ImageView]:
    """item_id -> its current image, for those of these items that have one."""
    from recjudge_tui.domain.material import ImageView

    sql = """SELECT i.item_id, m.digest, m.width, m.height FROM v_current_items i JOIN images m ON m.digest = i.image
             WHERE i.project_id = ? AND i.item_id IN (SELECT value FROM json_each(?))"""
    rows = db.rows(sql, (project_id, json.dumps(sorted(items))))
    return {row[0]: ImageView(digest=row[1], width=row[2], height=row[3]) for row in rows}


def with_images(items: Collection[ItemView], images: Mapping[str, ImageView]) -> tuple[ItemView, ...]:
    """The items, each with its image where it has one."""
    return tuple(
        item.model_copy(update={"image": images[item.item_id]}) if item.item_id in images else item
        for item in items
    )


def any_images(db: Database, project_id: int) -> bool:
    """Whether items of the project have images."""
    return db.any("SELECT 1 FROM items WHERE project_id = ? AND image IS NOT NULL", (project_id,))


def brought_images(db: Database, import_id: int) -> bool:
    """Whether items of this import have images."""
    return db.any("SELECT 1 FROM items WHERE import_id = ? AND image IS NOT NULL", (import_id,))


def delete_unused_images(db: Database) -> None:
    """Delete the images that belong to no item and were shown in no run. Call inside a transaction."""
    sql = """DELETE FROM images WHERE NOT EXISTS (SELECT 1 FROM items WHERE items.image = images.digest)
             AND digest NOT IN (
               SELECT shown.value FROM snapshots s, json_tree(s.content) shown
               WHERE s.content LIKE '%"digest":%' AND shown.key = 'digest' AND shown.type = 'text')"""
    db.execute(sql)


# ---- segments ----------------------------------------------------------------------------------------------------


def user_attributes(
    db: Database, project_id: int, users: Collection[str] | None = None
) -> dict[str, dict[str, str]]:
    """user_id -> the attributes, for all users with a row of their own or for those among `users`."""
    among = "1" if users is None else "user_id IN (SELECT value FROM json_each(?2))"
    sql = f"SELECT user_id, attributes FROM v_current_users WHERE project_id = ?1 AND {among}"
    rows = db.tuples(sql, (project_id, *(() if users is None else (json.dumps(list(users)),))))
    return {user: stored_attributes(text, "users", user) for user, text in rows}


def stored_attributes(text: str, table: str, row: str) -> dict[str, str]:
    """The attributes of a user, an item or a text. Raises StoreError for anything else."""
    return read_cell(dict[str, str], text, table, row, "attributes") if text not in ("", "{}") else {}


def visible_event_counts(db: Database, project_id: int) -> dict[str, int]:
    """user_id -> the number of distinct events that a judge may be shown, for all users with lists, texts or cases."""
    sql = f"""WITH known AS (
                SELECT user_id FROM cases WHERE project_id = :project
                UNION SELECT user_id FROM slates WHERE project_id = :project
                UNION SELECT user_id FROM explanations WHERE project_id = :project),
              met AS ({shown_events(":project")})
              SELECT k.user_id, count(m.user_id) FROM known k LEFT JOIN met m ON m.user_id = k.user_id GROUP BY k.user_id"""
    return db.pairs(sql, {"project": project_id})


def users_where(db: Database, project_id: int, text: str) -> frozenset[str]:
    """The users who meet an expression over their attributes and those that every user has (`domain.where`). Raises
    UsageError for one that cannot be read or names an unknown attribute, and where nobody meets it."""
    where = Where(text)
    events, attributes = visible_event_counts(db, project_id), user_attributes(db, project_id)
    known = {*OWN_WORDS, *(name for of in attributes.values() for name in of)}
    if unknown := [name for name in where.names if name not in known]:
        available = ", ".join(one_line(name, 40) for name in sorted(known))
        raise UsageError(f"no user has an attribute “{one_line(unknown[0], 60)}”", f"Available: {available}.")
    if both := [
        name for name in where.names if name in OWN_WORDS and any(name in a for a in attributes.values())
    ]:
        raise UsageError(
            f"“{both[0]}” is an attribute of these users, and recjudge's own word too",
            "Rename it in the data, or leave it out.",
        )
    users = events.keys() | attributes.keys()
    of: dict[str, dict[str, str | int]] = {
        user: {EVENTS: events.get(user, 0), USER: user, PART: part_of(user), **attributes.get(user, {})}
        for user in users
    }
    found = frozenset(user for user, values in of.items() if where.holds(values))
    if not found:
        said = []
        for name in where.names:
            there = sorted({str(values[name]) for values in of.values() if name in values})
            more = ", ..." if len(there) > _MOST_VALUES else ""
            said.append(f"{name} is {', '.join(there[:_MOST_VALUES])}{more}")
        raise UsageError(f"none of {quantity(len(users), 'user')} meets {text}", f"{'; '.join(said)}.")
    return found


def context_counts(
    db: Database, project_id: int, occasions: OccasionFilter, *, of_lists: bool
) -> dict[str, int]:
    """context -> the number of its cases (of its current lists), the most first, equal numbers by name."""
    within, parameters = occasion_condition(occasions, "t")
    sql = f"""SELECT context, count(*) AS uses FROM {"v_current_slates" if of_lists else "cases"} t
              WHERE project_id = :project AND {within} GROUP BY context ORDER BY uses DESC, context"""
    return db.pairs(sql, parameters | {"project": project_id})
