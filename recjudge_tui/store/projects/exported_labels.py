"""The labels of a project, row by row, in a form that can be imported again without loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter
from recjudge_tui.domain.roles import IMPORTED, PERSONS
from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import sql_list
from recjudge_tui.store.occasions import occasion_condition
from recjudge_tui.store.verdicts.counted import COUNTED
from recjudge_tui.store.verdicts.scales import stored_scales

LABEL_COLUMNS = (
    "rater", "user_id", "item_id", "system", "system_a", "system_b", "aspect", "value", "protocol", "rater_kind", "note",
    "flags", "context", "served_at", "state", "scale", "shown_first", "verdict_1", "verdict_2", "rule",
)  # fmt: skip
# the columns of earlier versions: before scales and games, and before flags and occasions
EARLIER_LABEL_COLUMNS = (LABEL_COLUMNS[:14], LABEL_COLUMNS[:11])
# the spellings of a pair's answer; the next one is used where a system has the same name
_OUTCOMES: dict[float, tuple[int | str, ...]] = {
    1.0: (1, "model 1", "system 1"),
    0.0: (0, "tie", "draw"),
    -1.0: (-1, "model 2", "system 2"),
}
_FAILED = "failed"


def label_rows(
    db: Database, project_id: int, occasions: OccasionFilter = EVERY_OCCASION
) -> Iterator[tuple[Any, ...]]:
    """The verdicts of people and the imported verdicts as LABEL_COLUMNS, which `import --as labels` reads."""
    within, parameters = occasion_condition(occasions, "c")
    scales = {key: scale.cell() for key, scale in stored_scales(db, project_id).items()}
    for row in db.execute(
        f"""SELECT r.name AS rater, c.user_id, c.item_id, c.system_a, c.system_b, v.aspect, v.value, v.label, v.protocol,
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
           ORDER BY v.id""",
        parameters | {"project": project_id},
    ):
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
    """The label. For a pair, another spelling is used if the label is also the name of a system that did not
    win.
    """
    if value is None or label not in systems:
        return label
    winner = {1.0: systems[0], -1.0: systems[1]}.get(value, "")
    spellings = (label, f"{value:.0f}", winner or f"{value:.1f}")
    return next(text for text in spellings if text not in systems or text == winner)


def _games(row: dict[str, Any]) -> dict[str, Any]:
    """The judgements by order, if known: first the one in which `shown_first` was shown first."""
    systems = row["system_a"], row["system_b"]
    orders = [
        (shown, _FAILED if value is None else _outcome(value, systems))
        for shown, known, value in (
            (systems[0], row["ab"], row["value_ab"]),
            (systems[1], row["ba"], row["value_ba"]),
        )
        if known is not None
    ]
    (first, label_1), (_, label_2) = [*orders, ("", ""), ("", "")][:2]
    return {"shown_first": first, "verdict_1": label_1, "verdict_2": label_2}


def _outcome(value: float, systems: tuple[str, str]) -> str | int:
    return next(text for text in _OUTCOMES[value] if str(text) not in systems)
