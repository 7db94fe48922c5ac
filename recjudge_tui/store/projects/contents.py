"""How much of each kind of data a project has."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.domain.roles import FIRST_HAND
from recjudge_tui.store.data.catalogue import known_systems
from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import sql_list
from recjudge_tui.store.projects.projects import project_counts


class Labeller(NamedTuple):
    """A person, or the users themselves, and how many labels they gave."""

    name: str
    labels: int


class DataCounts(NamedTuple):
    """What is stored in a project.

    `users` counts those named by a row of their own, a list, an event or a text; `items_described` those with a row of
    their own. `images`: items with an image. `systems` by name. `contexts`: how many occasions have a name;
    `first_served` and `last_served` are ISO 8601, empty where no list has a time.
    """

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
    labellers: tuple[Labeller, ...]
    imports: int

    @property
    def labels(self) -> int:
        return sum(labeller.labels for labeller in self.labellers)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to judge and people have judged nothing."""
        return not (self.lists or self.explanations or self.labels)


def data_counts(db: Database, project_id: int) -> DataCounts:
    """The counts of a project. Reads an index of each table, so call it in a worker."""
    counts = project_counts(db, project_id)
    occasions = db.row(
        """SELECT count(DISTINCT nullif(context, '')) AS contexts, ifnull(min(nullif(served_at, '')), '') AS first,
             max(served_at) AS last
           FROM (SELECT context, served_at FROM slates WHERE project_id = ?1
                 UNION ALL SELECT context, served_at FROM explanations WHERE project_id = ?1)""",
        (project_id,),
    )
    assert occasions is not None
    return DataCounts(
        users=db.value(f"SELECT count(*) FROM ({KNOWN_USERS})", {"project": project_id}),
        items_described=counts["items"],
        images=db.value(
            "SELECT count(DISTINCT item_id) FROM items WHERE project_id = ? AND image IS NOT NULL",
            (project_id,),
        ),
        systems=tuple(sorted(known_systems(db, project_id))),
        lists=counts["slates"],
        explanations=counts["explanations"],
        contexts=occasions["contexts"],
        first_served=occasions["first"],
        last_served=occasions["last"] or "",
        events=counts["events"],
        held_out=counts["heldout"],
        labellers=labellers(db, project_id),
        imports=counts["imports"],
    )


def unknown_items(db: Database, project_id: int) -> int:
    """How many items in lists have no title. Reads every position of every list."""
    count: int = db.value(
        """SELECT count(*) FROM (
             SELECT DISTINCT si.item_id FROM slates s JOIN slate_items si ON si.slate_id = s.id WHERE s.project_id = ?1
             EXCEPT SELECT item_id FROM items WHERE project_id = ?1)""",
        (project_id,),
    )
    return count


def labellers(db: Database, project_id: int) -> tuple[Labeller, ...]:
    """Who gave labels, those with most first."""
    rows = db.rows(
        f"""SELECT name, (SELECT count(*) FROM verdicts v WHERE v.rater_id = raters.id) AS labels FROM raters
            WHERE project_id = ? AND kind IN {sql_list(FIRST_HAND)} ORDER BY labels DESC, name""",
        (project_id,),
    )
    return tuple(Labeller(*row) for row in rows if row["labels"])


# every user of a project, from all tables that name users
KNOWN_USERS = """SELECT user_id FROM users WHERE project_id = :project
  UNION SELECT user_id FROM slates WHERE project_id = :project
  UNION SELECT user_id FROM explanations WHERE project_id = :project
  UNION SELECT user_id FROM events WHERE project_id = :project"""
