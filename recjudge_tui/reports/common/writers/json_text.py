"""JSON: names and values unchanged, undefined as null."""

from __future__ import annotations

import json
import re

from recjudge_tui.reports.common.table import Column, Screen, Table, TableText

# legal in JSON, but harmful on a terminal or impossible in UTF-8
_HARMFUL = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e0fff]"
)


def write(table: Table, _: Screen) -> TableText:
    return TableText(dumped(content(table)))


def content(table: Table) -> dict[str, object]:
    """The shape scripts rely on: title, columns, rows (each with every column), answer, notes, settings, facts if any."""
    names = [column.name for column in table.columns]
    whole: dict[str, object] = {
        "title": table.title,
        "columns": [{"name": c.name, "label": c.label, "kind": _kind(c)} for c in table.columns],
        "rows": [{name: row.get(name) for name in names} for row in table.rows],
        "answer": table.answer,
        "notes": list(table.notes),
        "settings": dict(table.settings),
    }
    return whole | {"facts": dict(table.facts)} if table.facts else whole


def _kind(column: Column) -> str:
    """The kind that scripts see. A cell of kind statistic contains a name here, not a label, so its kind is text."""
    return "text" if column.kind == "statistic" else column.kind


def dumped(value: dict[str, object]) -> str:
    """JSON text that is safe on a terminal."""
    return harmless(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)) + "\n"


def harmless(text: str) -> str:
    """JSON in which characters that move the cursor, hide text or cannot be encoded are written as `\\uXXXX`."""
    return _HARMFUL.sub(lambda match: json.dumps(match[0])[1:-1], text)
