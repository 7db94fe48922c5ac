"""The data of a project as rows to browse: users, items, systems, lists, events, labels and texts, in windows."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.domain.roles import FIRST_HAND
from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import held_out_type, sql_list
from recjudge_tui.store.projects.contents import KNOWN_USERS


class DataKind(NamedTuple):
    """One kind of data. `columns` are (name, is a number); `rows` is a query: its first column is the key of
    a row, the others are the cells. `searched` is the text that a filter searches, `order` the order of the
    rows."""

    columns: tuple[tuple[str, bool], ...]
    rows: str
    searched: str
    order: str


class DataRow(NamedTuple):
    """`key` names what the row is about: a user, an item, a system or a case; `cells` fit `DataKind.columns`."""

    key: str
    cells: tuple[str, ...]


_KINDS = {
    "users": DataKind(
        (("user", False), ("attributes", False), ("events", True), ("lists", True)),
        f"""SELECT k.user_id, k.user_id AS user, ifnull((
              SELECT group_concat(a.key || ' ' || a.value, ', ')
              FROM v_current_users u, json_each(nullif(u.attributes, '')) a
              WHERE u.project_id = :project AND u.user_id = k.user_id), '') AS attributes,
              (SELECT count(*) FROM events e WHERE e.project_id = :project AND e.user_id = k.user_id) AS events,
              (SELECT count(*) FROM slates s WHERE s.project_id = :project AND s.user_id = k.user_id) AS lists
            FROM ({KNOWN_USERS}) k""",
        "k.user_id",
        "k.user_id",
    ),
    "items": DataKind(
        (("item", False), ("title", False), ("category", False), ("brand", False), ("image", False)),
        """SELECT i.item_id, i.item_id AS item, i.title, i.category, i.brand,
             CASE WHEN i.image IS NULL THEN '' ELSE 'yes' END AS image
           FROM v_current_items i WHERE i.project_id = :project""",
        "i.item_id || ' ' || i.title || ' ' || i.category || ' ' || i.brand",
        "i.item_id",
    ),
    "systems": DataKind(
        (("system", False), ("lists", True), ("users", True), ("items a list", True)),
        """SELECT s.system, s.system AS name, count(*) AS lists, count(DISTINCT s.user_id) AS users,
             round(avg(s.length), 1) AS length FROM slates s WHERE s.project_id = :project""",
        "s.system",
        "s.system",
    ),
    "lists": DataKind(
        (
            ("user", False),
            ("system", False),
            ("occasion", False),
            ("served", False),
            ("items", True),
            ("first", False),
        ),
        """SELECT s.id, s.user_id AS user, s.system, s.context, substr(s.served_at, 1, 16) AS served, s.length,
             (SELECT group_concat(item, ', ') FROM (
               SELECT ifnull((SELECT title FROM v_current_items i WHERE i.project_id = :project AND i.item_id = si.item_id),
                 si.item_id) AS item FROM slate_items si WHERE si.slate_id = s.id ORDER BY si.rank LIMIT 3)) AS first
           FROM slates s WHERE s.project_id = :project
             AND EXISTS (SELECT 1 FROM slate_imports l WHERE l.slate_id = s.id)""",
        "s.user_id || ' ' || s.system || ' ' || s.context",
        "s.user_id, s.context, s.served_at, s.system, s.id",
    ),
    "events": DataKind(
        (
            ("user", False),
            ("type", False),
            ("when", False),
            ("item or text", False),
            ("value", True),
            ("judges see", False),
        ),
        f"""SELECT e.user_id, e.user_id AS user, e.type, substr(e.timestamp, 1, 16) AS moment,
              CASE WHEN e.item_id = '' THEN e.text ELSE ifnull((SELECT title FROM v_current_items i
                WHERE i.project_id = :project AND i.item_id = e.item_id), e.item_id) END AS what,
              ifnull(e.value, '') AS value,
              CASE WHEN {held_out_type("e.type")} THEN 'no: held out' WHEN e.is_copy THEN 'no: a copy of one held out'
                ELSE 'yes' END AS seen
            FROM events e WHERE e.project_id = :project""",
        "e.user_id || ' ' || e.type || ' ' || e.item_id || ' ' || e.text",
        "e.user_id, e.timestamp, e.id",
    ),
    "labels": DataKind(
        (("rater", False), ("user", False), ("about", False), ("aspect", False), ("label", False)),
        f"""SELECT v.case_id, r.name AS rater, c.user_id,
              CASE WHEN c.system_b <> '' THEN c.system_a || ' vs ' || c.system_b
                ELSE c.system_a || iif(c.item_id = '', '', ' ' || c.item_id) END AS about, v.aspect,
              CASE WHEN v.label = '' THEN ifnull(v.value, 'failed') ELSE v.label END AS label
            FROM raters r JOIN verdicts v ON v.rater_id = r.id JOIN cases c ON c.id = v.case_id
            WHERE r.project_id = :project AND r.kind IN {sql_list(FIRST_HAND)}""",
        "r.name || ' ' || c.user_id || ' ' || v.aspect || ' ' || v.label",
        "v.id",
    ),
    "texts": DataKind(
        (("user", False), ("item", False), ("system", False), ("text", False)),
        """SELECT x.user_id, x.user_id AS user, x.item_id, x.system, x.text FROM v_current_explanations x
           WHERE x.project_id = :project""",
        "x.user_id || ' ' || x.item_id || ' ' || x.system || ' ' || x.text",
        "x.user_id, x.item_id, x.system",
    ),
}
DATA_KINDS = tuple(_KINDS)


def data_columns(kind: str) -> tuple[tuple[str, bool], ...]:
    """The columns of a kind: (name, whether it is a number)."""
    return _KINDS[kind].columns


def count_rows(db: Database, project_id: int, kind: str, wanted: str = "") -> int:
    """How many rows of a kind contain every word of a filter."""
    sql, parameters = _query(kind, project_id, wanted)
    count: int = db.value(f"SELECT count(*) FROM ({sql})", parameters)
    return count


def data_rows(
    db: Database, project_id: int, kind: str, wanted: str, offset: int, limit: int
) -> list[DataRow]:
    """A window of the rows of a kind."""
    sql, parameters = _query(kind, project_id, wanted)
    rows = db.rows(
        f"{sql} ORDER BY {_KINDS[kind].order} LIMIT :limit OFFSET :offset",
        {**parameters, "limit": limit, "offset": offset},
    )
    return [DataRow(str(row[0]), tuple(str(cell) for cell in tuple(row)[1:])) for row in rows]


def _query(kind: str, project_id: int, wanted: str) -> tuple[str, dict[str, object]]:
    facts = _KINDS[kind]
    words = {f"word{at}": word for at, word in enumerate(wanted.split())}
    conditions = " AND ".join(f"instr(lower({facts.searched}), lower(:{name})) > 0" for name in words)
    sql = facts.rows
    if conditions:
        sql += f"{' WHERE' if kind == 'users' else ' AND'} {conditions}"
    if kind == "systems":
        sql += " GROUP BY s.system"
    return sql, {"project": project_id, **words}
