"""Items and lists as a judge is shown them, with the items' current descriptions."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from itertools import chain

from recjudge_tui.domain.material import ItemView
from recjudge_tui.store.database import Database


class ItemViews:
    """The descriptions of a project's items, each read once. `made` contains descriptions of generated items,
    which the project does not have."""

    def __init__(self, db: Database, project_id: int, made: Iterable[ItemView] = ()) -> None:
        self._db, self._project_id = db, project_id
        self._views: dict[str, ItemView] = {item.item_id: item for item in made}

    def of(self, ids: Collection[str]) -> Mapping[str, ItemView]:
        """item_id -> its description, for these ids and those read before.

        An unknown item has its id as title.
        """
        unread = sorted(set(ids).difference(self._views))
        if unread:
            self._views.update((item, ItemView(item_id=item, title=item)) for item in unread)
            for row in self._db.rows(
                """SELECT item_id, title, brand, category, attributes FROM v_current_items
                   WHERE project_id = ? AND item_id IN (SELECT value FROM json_each(?))""",
                (self._project_id, json.dumps(unread)),
            ):
                attributes = json.loads(row["attributes"]) if row["attributes"] else {}
                self._views[row["item_id"]] = ItemView(**{**dict(row), "attributes": attributes})
        return self._views


def slate_tops(
    db: Database, items: ItemViews, slate_ids: Iterable[int], top_k: int
) -> dict[int, tuple[ItemView, ...]]:
    """slate id -> its first `top_k` items, best first."""
    wanted = list(slate_ids)
    rows = db.rows(
        """SELECT value, (SELECT json_group_array(item_id) FROM (
             SELECT item_id FROM slate_items WHERE slate_id = value AND rank <= ?2 ORDER BY rank))
           FROM json_each(?1)""",
        (json.dumps(wanted), top_k),
    )
    # one text for the parser: a call for each of a hundred thousand lists takes longer than their ids
    ids = json.loads(f"[{','.join([row[1] for row in rows])}]")
    views = items.of(set(chain.from_iterable(ids)))
    return {slate: tuple(map(views.__getitem__, top)) for slate, top in zip(wanted, ids, strict=True)}


def slate_top(db: Database, project_id: int, slate_id: int, top_k: int) -> tuple[ItemView, ...]:
    """The first `top_k` items of one list, best first."""
    return slate_tops(db, ItemViews(db, project_id), [slate_id], top_k)[slate_id]


def slate_items(db: Database, slate_id: int) -> list[str]:
    """The ids of a slate's items, best first."""
    rows = db.rows("SELECT item_id FROM slate_items WHERE slate_id = ? ORDER BY rank", (slate_id,))
    return [row[0] for row in rows]
