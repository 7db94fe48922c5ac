"""Projects: counts, deletion, what they hold to browse, the home screen, saved filters, experiments."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.domain.filters import parse_filter
from recjudge_tui.domain.roles import FIRST_HAND
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import ConstraintError, NotFoundError, UsageError
from recjudge_tui.steps import Step
from recjudge_tui.store.data import delete_unused_images, known_systems
from recjudge_tui.store.database import Database, StoredRow, empty_log, merge_search_index, named_cells, now
from recjudge_tui.store.facts import about_systems, held_out_type, sane_name, shown_event, sql_list


def create_project(db: Database, name: str) -> int:
    """Create a project. Raises UsageError for an empty or taken name."""
    name = sane_name(name, "the project")
    if not name:
        raise UsageError("a project needs a name")
    try:
        return db.add("projects", name=name, created_at=now())
    except ConstraintError as error:
        raise UsageError(f"a project “{name}” exists already") from error


def find_project(db: Database, name: str) -> int | None:
    return db.found("SELECT id FROM projects WHERE name = ?", (name.strip(),))


def set_domain(db: Database, name: str, domain: str) -> None:
    """Say what a project is about. Raises NotFoundError."""
    db.change("projects", project_id(db, name), domain=domain)


def stated_domain(db: Database, project: int) -> str:
    """The domain that somebody named for the project; empty if nobody did."""
    return str(db.value("SELECT domain FROM projects WHERE id = ?", (project,)) or "")


def project_id(db: Database, name: str) -> int:
    """The project's id. Raises NotFoundError naming the existing projects."""
    identity = find_project(db, name)
    if identity is None:
        names = db.column("SELECT name FROM projects ORDER BY name LIMIT 20")
        hint = f"Available: {', '.join(names)}." if names else "There are none yet: an import creates one."
        raise NotFoundError(f"no project “{name}”", hint, step=None if names else Step("import"))
    return identity


def only_project(db: Database) -> int | None:
    """The id of the project of a database with exactly one; else None."""
    identities = db.column("SELECT id FROM projects LIMIT 2")
    return identities[0] if len(identities) == 1 else None


def project_overview(db: Database, project_id: int | None = None) -> list[StoredRow]:
    """One row per project (of all, or of one), by name: its counts, its newest run (`last_run`, `state`) and its active run
    (`running`)."""
    sql = f"""
        SELECT p.id, p.name, p.created_at,
          (SELECT count(*) FROM cases c WHERE c.project_id = p.id) AS cases,
          (SELECT count(*) FROM verdicts v WHERE v.project_id = p.id) AS verdicts,
          (SELECT count(*) FROM verdicts v
            WHERE v.project_id = p.id AND v.flag_count > 0 AND {about_systems("v.protocol")}) AS flagged,
          (SELECT count(*) FROM runs ru WHERE ru.project_id = p.id) AS runs,
          (SELECT count(*) FROM imports i WHERE i.project_id = p.id AND i.undone_at IS NULL) AS imports,
          (SELECT max(ru.created_at) FROM runs ru WHERE ru.project_id = p.id) AS last_run,
          (SELECT ru.state FROM runs ru WHERE ru.project_id = p.id ORDER BY ru.id DESC LIMIT 1) AS state,
          (SELECT ru.id FROM runs ru WHERE ru.project_id = p.id AND ru.state = 'running' ORDER BY ru.id DESC LIMIT 1)
            AS running
        FROM projects p WHERE ?1 IS NULL OR p.id = ?1 ORDER BY p.name"""
    return db.rows(sql, (project_id,))


def project_counts(db: Database, identity: int) -> StoredRow:
    """The numbers of items, users (those with cases too), events, heldout (events), slates, explanations and imports of a
    project."""
    sql = f"""
        SELECT
          (SELECT count(DISTINCT item_id) FROM items WHERE project_id = :p) AS items,
          (SELECT count(*) FROM ({KNOWN_USERS}
            UNION SELECT user_id FROM cases WHERE project_id = :project)) AS users,
          (SELECT count(*) FROM events WHERE project_id = :p AND {shown_event()}) AS events,
          (SELECT count(*) FROM events WHERE project_id = :p AND {held_out_type()}) AS heldout,
          (SELECT count(*) FROM v_current_slates WHERE project_id = :p) AS slates,
          (SELECT count(*) FROM v_current_explanations WHERE project_id = :p) AS explanations,
          (SELECT count(*) FROM imports WHERE project_id = :p AND undone_at IS NULL) AS imports
        """
    return db.only(sql, {"p": identity, "project": identity})


def project_name(db: Database, project_id: int) -> str:
    """The project's name. Raises NotFoundError when it no longer exists."""
    name: str | None = db.value("SELECT name FROM projects WHERE id = ?", (project_id,))
    if name is None:
        raise NotFoundError("this project no longer exists", "It was deleted in the meantime.")
    return name


def project_names(db: Database) -> list[tuple[int, str]]:
    """(id, name) of every project, by name; fast enough for the first screen."""
    return list(db.tuples("SELECT id, name FROM projects ORDER BY name"))


# ---- contents ----------------------------------------------------------------------------------------------------


def unknown_items(db: Database, project_id: int) -> int:
    """How many items in lists have no title. Reads every position of every list."""
    sql = """SELECT count(*) FROM (
               SELECT DISTINCT si.item_id FROM slates s JOIN slate_items si ON si.slate_id = s.id WHERE s.project_id = ?1
               EXCEPT SELECT item_id FROM items WHERE project_id = ?1)"""
    return db.number(sql, (project_id,))


def labellers(db: Database, project_id: int) -> dict[str, int]:
    """Who gave labels (people, the users among them), and how many; those with most first."""
    sql = f"""SELECT r.name, count(*) FROM raters r JOIN verdicts v ON v.rater_id = r.id
              WHERE r.project_id = ? AND r.kind IN {sql_list(FIRST_HAND)} GROUP BY r.id ORDER BY 2 DESC, r.name"""
    return db.pairs(sql, (project_id,))


class DataCounts(NamedTuple):
    """What is stored in a project. `users`: those named anywhere; `items_described`: with a row of their own. `contexts`:
    occasions with a name; `first_served`, `last_served`: ISO 8601, empty where no list has a time."""

    users: int
    items_described: int
    images: int
    systems: tuple[str, ...]
    lists: int
    explanations: int
    contexts: int
    first_served: str
    last_served: str
    events: int
    held_out: int
    labellers: dict[str, int]

    @property
    def labels(self) -> int:
        return sum(self.labellers.values())


def data_counts(db: Database, project_id: int) -> DataCounts:
    """The counts of a project. Reads an index of each table, so call it in a worker."""
    counts = project_counts(db, project_id)
    sql = f"""SELECT count(DISTINCT nullif(context, '')) AS contexts, ifnull(min(nullif(served_at, '')), '') AS first_served,
          ifnull(max(served_at), '') AS last_served, (SELECT count(*) FROM ({KNOWN_USERS})) AS users,
          (SELECT count(DISTINCT item_id) FROM items WHERE project_id = :project AND image IS NOT NULL) AS images
        FROM (SELECT context, served_at FROM slates WHERE project_id = :project
              UNION ALL SELECT context, served_at FROM explanations WHERE project_id = :project)"""
    occasions = db.only(sql, {"project": project_id})
    return DataCounts(
        **dict(occasions),
        **named_cells(counts, ("explanations", "events")),
        items_described=counts["items"],
        systems=tuple(sorted(known_systems(db, project_id))),
        lists=counts["slates"],
        held_out=counts["heldout"],
        labellers=labellers(db, project_id),
    )


# every user of a project, from all tables that name users
KNOWN_USERS = """SELECT user_id FROM users WHERE project_id = :project
  UNION SELECT user_id FROM slates WHERE project_id = :project
  UNION SELECT user_id FROM explanations WHERE project_id = :project
  UNION SELECT user_id FROM events WHERE project_id = :project"""


# ---- browsing ----------------------------------------------------------------------------------------------------


class DataKind(NamedTuple):
    """One kind of data. `columns` are named, those of numbers with a `#`; `rows` is a query with a WHERE: first the key of a
    row, then the cells. `searched` is the text that a filter searches, `order` the order of rows."""

    columns: str
    rows: str
    searched: str
    order: str


class DataRow(NamedTuple):
    """`key` names what the row is about: a user, an item, a system or a case; `cells` fit `DataKind.columns`."""

    key: str
    cells: tuple[str, ...]


_KINDS = {
    "users": DataKind(
        "user|attributes|events#|lists#",
        f"""SELECT k.user_id, k.user_id AS user, ifnull((
              SELECT group_concat(a.key || ' ' || a.value, ', ')
              FROM v_current_users u, json_each(nullif(u.attributes, '')) a
              WHERE u.project_id = :project AND u.user_id = k.user_id), '') AS attributes,
              (SELECT count(*) FROM events e WHERE e.project_id = :project AND e.user_id = k.user_id) AS events,
              (SELECT count(*) FROM slates s WHERE s.project_id = :project AND s.user_id = k.user_id) AS lists
            FROM ({KNOWN_USERS}) k WHERE 1""",
        "k.user_id",
        "k.user_id",
    ),
    "items": DataKind(
        "item|title|category|brand|image",
        """SELECT i.item_id, i.item_id AS item, i.title, i.category, i.brand,
             CASE WHEN i.image IS NULL THEN '' ELSE 'yes' END AS image
           FROM v_current_items i WHERE i.project_id = :project""",
        "i.item_id || ' ' || i.title || ' ' || i.category || ' ' || i.brand",
        "i.item_id",
    ),
    "systems": DataKind(
        "system|lists#|users#|items a list#",
        """SELECT s.system, s.system AS name, count(*) AS lists, count(DISTINCT s.user_id) AS users,
             round(avg(s.length), 1) AS length FROM slates s WHERE s.project_id = :project""",
        "s.system",
        "s.system",
    ),
    "lists": DataKind(
        "user|system|occasion|served|items#|first",
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
        "user|type|when|item or text|value#|judges see",
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
        "rater|user|about|aspect|label",
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
        "user|item|system|text",
        """SELECT x.user_id, x.user_id AS user, x.item_id, x.system, x.text FROM v_current_explanations x
           WHERE x.project_id = :project""",
        "x.user_id || ' ' || x.item_id || ' ' || x.system || ' ' || x.text",
        "x.user_id, x.item_id, x.system",
    ),
}
DATA_KINDS = tuple(_KINDS)


def data_columns(kind: str) -> tuple[tuple[str, bool], ...]:
    """The columns of a kind: (name, whether it is a number)."""
    return tuple((name.rstrip("#"), name.endswith("#")) for name in _KINDS[kind].columns.split("|"))


def count_rows(db: Database, project_id: int, kind: str, wanted: str = "") -> int:
    """How many rows of a kind contain every word of a filter."""
    sql, parameters = _query(kind, project_id, wanted)
    return db.number(f"SELECT count(*) FROM ({sql})", parameters)


def data_rows(
    db: Database, project_id: int, kind: str, wanted: str, offset: int, limit: int
) -> list[DataRow]:
    """A window of the rows of a kind."""
    query, parameters = _query(kind, project_id, wanted)
    sql = f"{query} ORDER BY {_KINDS[kind].order} LIMIT :limit OFFSET :offset"
    rows = db.rows(sql, {**parameters, "limit": limit, "offset": offset})
    return [DataRow(str(row[0]), tuple(str(cell) for cell in tuple(row)[1:])) for row in rows]


def _query(kind: str, project_id: int, wanted: str) -> tuple[str, dict[str, object]]:
    facts = _KINDS[kind]
    words = {f"word{at}": word for at, word in enumerate(wanted.split())}
    conditions = "".join(f" AND instr(lower({facts.searched}), lower(:{name})) > 0" for name in words)
    group = " GROUP BY s.system" if kind == "systems" else ""
    return f"{facts.rows}{conditions}{group}", {"project": project_id, **words}


# ---- deletion ----------------------------------------------------------------------------------------------------


def delete_project(db: Database, name: str) -> None:
    """Delete the project with everything in it, and the snapshots and images no longer used. Raises NotFoundError.
    Nothing of its text stays in the file, nor in its log unless another process is reading."""
    identity = project_id(db, name)
    with db.transaction():
        # cases refer to slates and explanations without a cascade, so they go first
        db.execute("DELETE FROM runs WHERE project_id = ?", (identity,))
        db.execute("DELETE FROM cases WHERE project_id = ?", (identity,))
        db.execute("DELETE FROM projects WHERE id = ?", (identity,))
        _delete_unused_snapshots(db)
        delete_unused_images(db)
        merge_search_index(db)
    empty_log(db)


def snapshot_references(db: Database) -> list[tuple[str, str]]:
    """(table, column) of every foreign key to `snapshots`, read from the schema of the file."""
    sql = """SELECT m.name, f."from" FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f
             WHERE m.type = 'table' AND lower(f."table") = 'snapshots' ORDER BY 1, 2"""
    return [(_quoted(row[0]), _quoted(row[1])) for row in db.rows(sql)]


def _delete_unused_snapshots(db: Database) -> None:
    """Delete the snapshots that no row refers to. Call inside a transaction. SQLite checks each against every column that
    may refer to it; indexes on these exist during the deletion only: a second for a million calls."""
    references = snapshot_references(db)
    indexes = [f"snapshots_used_{number}" for number in range(len(references))]
    for index, (table, column) in zip(indexes, references, strict=True):
        db.execute(f"CREATE INDEX {index} ON {table}({column})")
    used = " UNION ALL ".join(
        f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL" for table, column in references
    )
    db.execute(f"DELETE FROM snapshots WHERE id NOT IN ({used})")
    for index in indexes:
        db.execute(f"DROP INDEX {index}")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# ---- saved filters -----------------------------------------------------------------------------------------------


LONGEST_NAME = 60


def saved_filters(db: Database, project_id: int) -> list[StoredRow]:
    """The saved filters of a project, by name: name, filter and created_at."""
    sql = "SELECT name, filter, created_at FROM saved_filters WHERE project_id = ? ORDER BY name COLLATE NOCASE, name"
    return db.rows(sql, (project_id,))


def save_filter(db: Database, project_id: int, name: str, text: str) -> bool:
    """Save a filter under a name; True if it replaces an older one. Raises UsageError for a filter that cannot be parsed
    or is empty, and for a name that is empty, longer than LONGEST_NAME or not a single line of printable characters."""
    name, chosen = name.strip(), parse_filter(text)
    if not chosen:
        raise UsageError(
            "there is no filter to save", next_step="Filter the list first, or write the filter."
        )
    if not name or one_line(name, LONGEST_NAME) != name:
        raise UsageError(
            "invalid name for a filter", f"A name is one line of at most {LONGEST_NAME} characters."
        )
    with db.transaction():
        replaced = db.execute(
            "DELETE FROM saved_filters WHERE project_id = ? AND name = ?", (project_id, name)
        ).rowcount
        db.add("saved_filters", project_id=project_id, name=name, filter=chosen.text(), created_at=now())
    return bool(replaced)


def delete_filter(db: Database, project_id: int, name: str) -> None:
    """Delete a saved filter. Raises NotFoundError naming the existing ones."""
    with db.transaction():
        sql = "DELETE FROM saved_filters WHERE project_id = ? AND name = ?"
        gone = db.execute(sql, (project_id, name.strip()))
        if not gone.rowcount:
            names = ", ".join(saved.name for saved in saved_filters(db, project_id)[:20])
            raise NotFoundError(
                f"no saved filter “{name}”", f"Available: {names}." if names else "There are none yet."
            )


# ---- experiments -------------------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """One experiment, with the systems in the order given. It ran from `began_at` to `ended_at` (ISO 8601 UTC, empty:
    unknown) and showed each system to so many customers (None: unknown)."""

    name: str
    system_a: str
    system_b: str
    impressions_a: int
    impressions_b: int
    clicks_a: int
    clicks_b: int
    began_at: str = ""
    ended_at: str = ""
    users_a: int | None = None
    users_b: int | None = None


def add_outcome(db: Database, project_id: int, outcome: Outcome) -> int:
    """Store an experiment. Raises UsageError when the name is taken, ConstraintError for invalid numbers or names."""
    with db.transaction():
        if db.any("SELECT 1 FROM outcomes WHERE project_id = ? AND name = ?", (project_id, outcome.name)):
            raise UsageError(
                f"an experiment “{outcome.name}” exists already",
                "Counting an experiment twice would make the hit rate look more certain than it is.",
                "Choose another name, or delete the existing one.",
            )
        return db.add("outcomes", project_id=project_id, **outcome._asdict(), created_at=now())


def list_outcomes(db: Database, project_id: int) -> list[Outcome]:
    """The experiments in the order in which they were added."""
    sql = f"SELECT {', '.join(Outcome._fields)} FROM outcomes WHERE project_id = ? ORDER BY id"
    return db.records(Outcome, sql, (project_id,))


def outcome_days(db: Database, project_id: int) -> dict[str, str]:
    """Name of an experiment -> the day on which its result was recorded (YYYY-MM-DD, UTC)."""
    sql = "SELECT name, substr(created_at, 1, 10) FROM outcomes WHERE project_id = ?"
    return db.pairs(sql, (project_id,))


def delete_outcome(db: Database, project_id: int, name: str) -> None:
    """Delete an experiment. Raises NotFoundError naming the existing ones."""
    with db.transaction():
        gone = db.execute("DELETE FROM outcomes WHERE project_id = ? AND name = ?", (project_id, name))
        if not gone.rowcount:
            raise unknown_outcome(db, project_id, name)


def unknown_outcome(db: Database, project_id: int, name: str) -> NotFoundError:
    known = ", ".join(outcome.name for outcome in list_outcomes(db, project_id))
    return NotFoundError(f"no experiment “{name}” in this project", f"Available: {known or 'none'}.")
