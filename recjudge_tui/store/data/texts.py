"""The texts of a project that prompts may show to a judge, and the cases that show them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import shown_event

Owner = Literal["item", "user", "explanation"]
_FIRST_CASES = 5


class DataText(NamedTuple):
    """A text and its place: the item, user or explanation (`id`), and the field."""

    owner: Owner
    id: str
    field: str
    text: str


class ShowingCases(NamedTuple):
    """The number of cases that show a text, and the ids of the first five."""

    total: int
    first: tuple[int, ...]


NOWHERE = ShowingCases(0, ())


def data_texts(db: Database, project_id: int) -> Iterator[DataText]:
    """Every non-empty text of the current data: items, users, their searches, explanations.

    Rows are read lazily. Held-out events are left out, because no judge sees them.
    """
    yield from _items(db, project_id)
    yield from _users(db, project_id)
    yield from _searches(db, project_id)
    yield from _explanations(db, project_id)


def _items(db: Database, project_id: int) -> Iterator[DataText]:
    # the newest import of an item counts; it comes last in the order of the primary key
    rows = db.execute(
        """SELECT item_id, title, brand, category, attributes FROM items WHERE project_id = ?
           ORDER BY project_id, item_id, import_id""",
        (project_id,),
    )
    for identity, title, brand, category, attributes in _last_of_each(rows):
        for field, text in (("title", title), ("brand", brand), ("category", category)):
            if text:
                yield DataText("item", identity, field, text)
        yield from _attributes("item", identity, attributes)


def _last_of_each(rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """The last row of each group of consecutive rows with the same first column."""
    held: tuple[str, ...] | None = None
    for row in rows:
        if held is not None and held[0] != row[0]:
            yield held
        held = row
    if held is not None:
        yield held


def _users(db: Database, project_id: int) -> Iterator[DataText]:
    for row in db.execute(
        "SELECT user_id, attributes FROM v_current_users WHERE project_id = ?", (project_id,)
    ):
        yield from _attributes("user", row["user_id"], row["attributes"])


def _searches(db: Database, project_id: int) -> Iterator[DataText]:
    rows = db.execute(
        f"""SELECT DISTINCT user_id, type, text FROM events
            WHERE project_id = ? AND {shown_event()}""",
        (project_id,),
    )
    for row in rows:
        yield DataText("user", row["user_id"], "event type", row["type"])
        if row["text"]:
            yield DataText("user", row["user_id"], "search", row["text"])


def _explanations(db: Database, project_id: int) -> Iterator[DataText]:
    rows = db.execute(
        "SELECT explanation_id, text, reference, attributes FROM v_current_explanations WHERE project_id = ?",
        (project_id,),
    )
    for row in rows:
        identity = str(row["explanation_id"])
        yield DataText("explanation", identity, "text", row["text"])
        if row["reference"]:
            yield DataText("explanation", identity, "reference", row["reference"])
        yield from _attributes("explanation", identity, row["attributes"])


def _attributes(owner: Owner, identity: str, attributes: str) -> Iterator[DataText]:
    if attributes in ("", "{}"):
        return
    for name, value in json.loads(attributes).items():
        yield DataText(owner, identity, f"attribute {name}", str(value))
        yield DataText(owner, identity, "attribute name", name)


def cases_with(db: Database, project_id: int, owner: Owner, ids: Iterable[str]) -> Mapping[str, ShowingCases]:
    """id -> the cases that show it; ids that no case shows are left out.

    An item is shown by lists, by its users' events (all of them, although the window of a run may be shorter) and by
    its explanations; a user by all of their cases; an explanation by its own case.
    """
    cases: dict[str, ShowingCases] = {}
    wanted = json.dumps(list(ids), ensure_ascii=False)
    rows = db.rows(
        f"""WITH wanted AS (SELECT value AS id FROM json_each(?2)), shown(id, case_id) AS ({_SHOWN[owner]})
            SELECT id, case_id, total FROM (
              SELECT id, case_id, count(*) OVER (PARTITION BY id) AS total,
                row_number() OVER (PARTITION BY id ORDER BY case_id) AS place FROM shown)
            WHERE place <= {_FIRST_CASES} ORDER BY id, case_id""",
        (project_id, wanted),
    )
    for row in rows:
        first = cases.get(row["id"], NOWHERE).first
        cases[row["id"]] = ShowingCases(row["total"], (*first, row["case_id"]))
    return cases


def case_ids_with(db: Database, project_id: int, owner: Owner, ids: Iterable[str]) -> list[int]:
    """The ids of all cases that show any of the ids, as defined in `cases_with`."""
    rows = db.rows(
        f"""WITH wanted AS (SELECT value AS id FROM json_each(?2)), shown(id, case_id) AS ({_SHOWN[owner]})
            SELECT DISTINCT case_id FROM shown""",
        (project_id, json.dumps(list(ids), ensure_ascii=False)),
    )
    return [row[0] for row in rows]


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
