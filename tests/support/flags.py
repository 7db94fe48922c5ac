"""A project in which two people flagged items of three lists of each of two systems."""

from __future__ import annotations

from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from tests.support.runs import load

# rater -> user -> the flags on the list of system x; the lists of system y have none
FLAGS = {
    "anna": {"u1": "a:off-category;b:already owned", "u2": "a:off-category", "u3": ""},
    "ben": {"u1": "a:off-category;c:Off-Category ", "u2": "a:already owned", "u3": "d:other"},
}


def make_flagged_project(db: Database, *, system: str = "x", other: str = "y") -> int:
    """Lists a, b, c, d of `system` and e, f, g, h of `other` for u1, u2, u3; FLAGS on the former. The plans of the users
    are free, free and pro."""
    load(db, "items", [("item_id", "title"), *[(name, f"Item {name}") for name in "abcdefgh"]])
    load(db, "users", [("user_id", "plan"), ("u1", "free"), ("u2", "free"), ("u3", "pro")])
    lists: list[tuple[object, ...]] = [("user_id", "system", "item_id", "rank")]
    labels: list[tuple[object, ...]] = [
        ("rater", "user_id", "system", "aspect", "value", "protocol", "rater_kind", "flags")
    ]
    for user in ("u1", "u2", "u3"):
        for name, items in ((system, "abcd"), (other, "efgh")):
            lists += [(user, name, item, rank) for rank, item in enumerate(items, start=1)]
            for rater, given in FLAGS.items():
                flags = given[user] if name == system else ""
                labels.append((rater, user, name, "overall", "Partial", "pointwise", "annotator", flags))
    load(db, "lists", lists)
    load(db, "labels", labels)
    return project_id(db, "films")
