"""The rows of exported files: verdicts, calls, flags, cases, labels, images, lists."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter
from recjudge_tui.domain.roles import IMPORTED, PERSONS
from recjudge_tui.store.cases import occasion_condition
from recjudge_tui.store.data import slate_items
from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import held_out_type, sql_list
from recjudge_tui.store.histories import item_titles
from recjudge_tui.store.ratings import stored_scales
from recjudge_tui.store.verdicts import COUNTED

Rows: TypeAlias = Iterator[tuple[Any, ...]]
_USAGE = {
    "tokens_in": "input", "tokens_out": "output", "tokens_cached": "cached_input", "tokens_cache_written": "cache_written",
}  # fmt: skip
_REPLY = ("reply", "thinking", "model", "stop_reason", "structured", *_USAGE)
CALL_COLUMNS = (
    "project", "run_id", "protocol", "rater", "case_id", "user_id", "item_id", "system_a", "system_b", "list_order",
    "aspect", "sample", "state", "attempts", "content_hash", "reply", "model", "parsed_by", "tokens_in", "tokens_out",
    "cost_usd", "latency_s", "error_kind", "error", "finished_at", "context", "served_at",
)  # fmt: skip
FLAG_COLUMNS = (
    "project", "rater", "rater_kind", "case_id", "user_id", "system_a", "system_b", "run_id", "item_id", "issue", "reason",
    "context", "served_at", "refuted",
)  # fmt: skip
CASE_COLUMNS = (
    "project", "case_id", "kind", "user_id", "item_id", "system_a", "system_b", "verdicts",
    "items_a", "titles_a", "items_b", "titles_b", "explanation", "context", "served_at",
)  # fmt: skip
IMAGE_COLUMNS = ("item_id", "title", "image", "digest", "width", "height", "runs")
LIST_COLUMNS = ("user_id", "system", "item_id", "rank", "score", "context", "served_at")
QREL_COLUMNS = ("user_id", "item_id", "type", "timestamp", "value", "context", "served_at")


def call_rows(db: Database, project_id: int, occasions: OccasionFilter = EVERY_OCCASION) -> Rows:
    """The finished calls as CALL_COLUMNS; `reply` in the form that `replay:FILE` reads."""
    within, parameters = occasion_condition(occasions, "v")
    sql = f"""SELECT {", ".join(f"v.{c}" for c in dict.fromkeys(CALL_COLUMNS + _REPLY))}
              FROM v_calls v JOIN runs ru ON ru.id = v.run_id
              WHERE ru.project_id = :project AND v.state <> 'planned' AND {within} ORDER BY v.call_id"""
    cursor = db.execute(sql, parameters | {"project": project_id})
    place, cost = CALL_COLUMNS.index("reply"), CALL_COLUMNS.index("cost_usd")
    for row in cursor:
        cells = list(tuple(row)[: len(CALL_COLUMNS)])
        if row["reply"] is not None:
            texts = {"thinking": row["thinking"], "model": row["model"], "stop": row["stop_reason"]}
            cells[place] = {
                "text": row["reply"],
                **{name: text or "" for name, text in texts.items()},
                "structured": bool(row["structured"]),
                "usage": {name: row[column] for column, name in _USAGE.items()},
            }
        # JSON has no infinity
        if cells[cost] in (math.inf, -math.inf):
            cells[cost] = None
        yield tuple(cells)


def flag_rows(db: Database, project_id: int, occasions: OccasionFilter = EVERY_OCCASION) -> Rows:
    within, parameters = occasion_condition(occasions, "f")
    sql = f"""SELECT {", ".join(FLAG_COLUMNS)} FROM v_flags f
              WHERE project = (SELECT name FROM projects WHERE id = :project) AND {within}"""
    return db.tuples(sql, parameters | {"project": project_id})


def case_rows(db: Database, project_id: int, occasions: OccasionFilter = EVERY_OCCASION) -> Rows:
    """The cases as CASE_COLUMNS; items and titles are lists, best first, a case without a list has none. Titles are the
    current ones; an item without a description is named by its id."""
    titles = item_titles(db, project_id)
    within, parameters = occasion_condition(occasions, "c")
    sql = f"""SELECT p.name, c.id, c.kind, c.user_id, c.item_id, c.system_a, c.system_b,
          (SELECT count(*) FROM verdicts v WHERE v.case_id = c.id), c.slate_a, c.slate_b, e.text,
          c.context, c.served_at
        FROM cases c JOIN projects p ON p.id = c.project_id LEFT JOIN explanations e ON e.id = c.explanation_id
        WHERE c.project_id = :project AND {within} ORDER BY c.id"""
    for *cells, slate_a, slate_b, explanation, context, served_at in db.execute(
        sql, parameters | {"project": project_id}
    ):
        contents: list[list[str] | None] = []
        for slate in (slate_a, slate_b):
            items = None if slate is None else slate_items(db, slate)
            contents += [items, None if items is None else [titles.get(item, item) for item in items]]
        yield (*cells, *contents, explanation, context, served_at)


def list_rows(
    db: Database, project_id: int, systems: Sequence[str], occasions: OccasionFilter = EVERY_OCCASION
) -> Rows:
    """The current lists of these systems as LIST_COLUMNS, which `import --as lists` reads."""
    within, parameters = occasion_condition(occasions, "c")
    for system in systems:
        yield from db.tuples(
            f"""SELECT c.user_id, c.system, s.item_id, s.rank, s.score, c.context, c.served_at
               FROM v_current_slates c JOIN slate_items s ON s.slate_id = c.slate_id
               WHERE c.project_id = :project AND c.system = :system AND {within}
               ORDER BY c.user_id, c.context, c.served_at, s.rank""",
            parameters | {"project": project_id, "system": system},
        )


def qrel_rows(db: Database, project_id: int, occasions: OccasionFilter = EVERY_OCCASION) -> Rows:
    """The held-out events on items (with `occasions`, those that name one of them) as QREL_COLUMNS, which `import --as
    events` reads."""
    within, parameters = occasion_condition(occasions, "e")
    sql = f"""SELECT {", ".join(QREL_COLUMNS)} FROM events e
              WHERE project_id = :project AND item_id <> '' AND {held_out_type()} AND {within}
              ORDER BY user_id, timestamp, id"""
    return db.tuples(sql, parameters | {"project": project_id})


def image_rows(db: Database, project_id: int) -> Rows:
    """The images that items have or that runs showed, as IMAGE_COLUMNS, which `import --as items` reads. `image` is a
    data: URI, `runs` the ids of the runs that showed the item with this image."""
    sql = """WITH shown AS (
               SELECT DISTINCT ru.id AS run_id, s.kind, s.content FROM runs ru
               JOIN run_cases rc ON rc.run_id = ru.id
               JOIN snapshots s ON s.id IN (rc.slate_a_snapshot, rc.slate_b_snapshot, rc.explanation_snapshot)
               WHERE ru.project_id = :project AND json_extract(ru.settings, '$.images')),
             images_of AS (
               SELECT shown.run_id, json_extract(i.value, '$.item_id') AS item_id,
                 json_extract(i.value, '$.image.digest') AS digest
               FROM shown, json_each(shown.content, '$.items') i WHERE shown.kind = 'slate'
               UNION SELECT run_id, json_extract(content, '$.item.item_id'), json_extract(content, '$.item.image.digest')
               FROM shown WHERE kind = 'explanation'
               UNION SELECT NULL, item_id, image FROM v_current_items WHERE project_id = :project)
             SELECT o.item_id, ifnull(t.title, o.item_id), o.digest, m.content, m.width, m.height,
               json_group_array(o.run_id) FILTER (WHERE o.run_id IS NOT NULL)
             FROM images_of o JOIN images m ON m.digest = o.digest
             LEFT JOIN v_current_items t ON t.project_id = :project AND t.item_id = o.item_id
             GROUP BY o.item_id, o.digest ORDER BY o.item_id, o.digest"""
    for *cells, content, width, height, runs in db.execute(sql, {"project": project_id}):
        item_id, title, digest = cells
        data = f"data:image/jpeg;base64,{b64encode(content).decode('ascii')}"
        yield item_id, title, data, digest, width, height, sorted(json.loads(runs))


# ---- exported labels ---------------------------------------------------------------------------------------------


LABEL_COLUMNS = (
    "rater", "user_id", "item_id", "system", "system_a", "system_b", "aspect", "value", "protocol", "rater_kind", "note",
    "flags", "context", "served_at", "state", "scale", "shown_first", "verdict_1", "verdict_2", "rule",
)  # fmt: skip
# the spellings of a pair's answer; the next one is used where a system has the same name
_OUTCOMES: dict[float, tuple[int | str, ...]] = {
    1.0: (1, "model 1", "system 1"),
    0.0: (0, "tie", "draw"),
    -1.0: (-1, "model 2", "system 2"),
}
_FAILED = "failed"


def label_rows(db: Database, project_id: int, occasions: OccasionFilter = EVERY_OCCASION) -> Rows:
    """The verdicts of people and the imported verdicts as LABEL_COLUMNS, which `import --as labels` reads."""
    within, parameters = occasion_condition(occasions, "c")
    scales = {key: scale.cell() for key, scale in stored_scales(db, project_id).items()}
    sql = f"""SELECT r.name AS rater, c.user_id, c.item_id, c.system_a, c.system_b, v.aspect, v.value, v.label, v.protocol,
          r.kind AS rater_kind, v.note,
          CASE WHEN v.flag_count = 0 THEN '' ELSE (
            SELECT json_group_array(json_object('item_id', f.item_id, 'issue', f.issue, 'reason', f.reason))
            FROM flags f WHERE f.verdict_id = v.id) END AS flags,
          c.context, c.served_at, v.state, v.rule,
          g.verdict_id AS ab, g.value AS value_ab, h.verdict_id AS ba, h.value AS value_ba
        FROM verdicts v JOIN raters r ON r.id = v.rater_id JOIN cases c ON c.id = v.case_id
        LEFT JOIN games g ON g.verdict_id = v.id AND g.list_order = 'ab'
        LEFT JOIN games h ON h.verdict_id = v.id AND h.list_order = 'ba'
        WHERE r.project_id = :project AND {within}
          AND (r.kind IN {sql_list(PERSONS)} OR v.import_id IS NOT NULL AND r.kind IN {sql_list(IMPORTED)})
        ORDER BY v.id"""
    for row in db.execute(sql, parameters | {"project": project_id}):
        cells = dict(row)
        pair = bool(row["system_b"])
        cells |= {
            "system": "" if pair else row["system_a"],
            "system_a": row["system_a"] if pair else "",
            "value": _value(row["value"], row["label"], (row["system_a"], row["system_b"])),
            "state": _FAILED if row["state"] == _FAILED else "",
            "scale": scales.get((row["protocol"], row["aspect"]), ""),
            "rule": COUNTED if row["rule"] == COUNTED else "",
            **_games(cells),
        }
        yield tuple(cells[name] for name in LABEL_COLUMNS)


def _value(value: float | None, label: str, systems: tuple[str, str]) -> str:
    """The label. For a pair, another spelling is used if the label is also the name of a system that did not win."""
    if value is None or label not in systems:
        return label
    winner = {1.0: systems[0], -1.0: systems[1]}.get(value, "")
    spellings = (label, f"{value:.0f}", winner or f"{value:.1f}")
    return next(text for text in spellings if text not in systems or text == winner)


def _games(row: dict[str, Any]) -> dict[str, Any]:
    """The judgements by order, if known: first the one in which `shown_first` was shown first."""
    systems = row["system_a"], row["system_b"]
    orders: list[tuple[str, str | int]] = []
    for shown, order in zip(systems, ("ab", "ba"), strict=True):
        if row[order] is not None:
            value = row[f"value_{order}"]
            spellings = (_FAILED,) if value is None else _OUTCOMES[value]
            said = next(text for text in spellings if value is None or str(text) not in systems)
            orders.append((shown, said))
    (first, label_1), (_, label_2) = [*orders, ("", ""), ("", "")][:2]
    return {"shown_first": first, "verdict_1": label_1, "verdict_2": label_2}
