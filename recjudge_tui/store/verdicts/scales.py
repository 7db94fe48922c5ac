"""The scales that files of labels gave to aspects."""

from __future__ import annotations

import json

from recjudge_tui.domain.scales import Scale
from recjudge_tui.store.database import Database


def stored_scales(db: Database, project_id: int) -> dict[tuple[str, str], Scale]:
    """(protocol, aspect) -> its scale, for all that have a scale of their own. All imports agree on it."""
    rows = db.rows(
        "SELECT protocol, aspect, low, high, words, ordered FROM scales WHERE project_id = ? ORDER BY import_id",
        (project_id,),
    )
    return {
        (row["protocol"], row["aspect"]): Scale(
            row["low"], row["high"], tuple(json.loads(row["words"])), bool(row["ordered"])
        )
        for row in rows
    }


def scale_source(db: Database, project_id: int, protocol: str, aspect: str) -> int | None:
    """The first import that gave the scale."""
    source: int | None = db.value(
        "SELECT min(import_id) FROM scales WHERE project_id = ? AND protocol = ? AND aspect = ?",
        (project_id, protocol, aspect),
    )
    return source


def add_scale(
    db: Database, project_id: int, import_id: int, protocol: str, aspect: str, scale: Scale
) -> None:
    """Store the scale that an import gives, once for each import, so that it disappears when the last of them is
    undone.
    """
    db.execute(
        "INSERT OR IGNORE INTO scales (project_id, protocol, aspect, import_id, low, high, words, ordered)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(project_id, protocol, aspect, import_id, scale.low, scale.high),
            *(json.dumps(scale.words, ensure_ascii=False), int(scale.ordered)),
        ),
    )
