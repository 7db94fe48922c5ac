"""A Markdown table (GitHub's form)."""

from __future__ import annotations

import re

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.table import Screen, Table, TableText
from recjudge_tui.reports.common.writers.cells import is_number, shown

_SPECIAL = re.compile(r"([\\|`*_\[\]~#$])")
_LIST_MARK = re.compile(r"(\d*)([-+.)])(?=\s|$)")


def write(table: Table, _: Screen) -> TableText:
    def line(cells: list[str]) -> str:
        return f"| {' | '.join(cells)} |"

    lines = [escaped(table.answer), ""] if table.answer else []
    lines += [f"**{escaped(table.title)}**", ""]
    lines.append(line([escaped(column.label) for column in table.columns]))
    lines.append(line(["---:" if is_number(column) else "---" for column in table.columns]))
    for row in table.rows:
        lines.append(line([escaped(shown(row.get(c.name), c, None)) for c in table.columns]))
    if table.notes:
        lines += ["", *(f"- {_no_list(escaped(note))}" for note in table.notes)]
    return TableText("\n".join(lines) + "\n")


def escaped(text: str) -> str:
    """Text escaped for Markdown, on one line."""
    plain = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", plain)


def _no_list(text: str) -> str:
    """The text with a leading list marker escaped."""
    return _LIST_MARK.sub(r"\1\\\2", text, count=1) if _LIST_MARK.match(text) else text
