"""Text for screen readers and line editors: a paragraph per row, `label: value` lines, words instead of signs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.table import Column, Row, Screen, Table, TableText
from recjudge_tui.reports.common.writers.cells import UNDEFINED, shown

_LONGEST = 20_000
# words for cells that consist of a sign
_SIGNS = {
    UNDEFINED: "undefined", "-": "none", "—": "none", "·": "none", "✓": "yes", "✗": "no", "✘": "no", "▲": "marked",
    "△": "marked", "▶": "running", "■": "stopped", "‖": "paused", "●": "yes", "○": "no",
}  # fmt: skip
_LABELS = {"#": "number", "%": "percent", "κ": "kappa", "α": "alpha"}
# words for signs in our own sentences; other cells are left as they are
_WITHIN = str.maketrans({"≤": "at most ", "≥": "at least ", "→": "to", "▸": "in"})
_WORD = re.compile(r"\w")


def write(table: Table, _: Screen) -> TableText:
    """Title, the number of rows, the rows, the notes; empty columns are left out."""
    answer = f"{_text(table.answer)}\n" if table.answer else ""
    blocks = [f"{answer}{_text(table.title)}\n{_count(len(table.rows))}"]
    columns = [column for column in table.columns if _says_something(table, column)]
    blocks += ["\n".join(_lines(row, columns)) for row in table.rows]
    if table.notes:
        blocks.append("\n".join(["Notes", *(_text(note) for note in table.notes)]))
    return TableText("\n\n".join(blocks) + "\n")


def heading(title: str, lines: Sequence[str]) -> str:
    """A page's title and the sentences below it, one per line."""
    return "\n".join([_text(title), *map(_text, lines)]) + "\n"


def _count(rows: int) -> str:
    return "no rows" if rows == 0 else "1 row" if rows == 1 else f"{rows:,} rows"


def _says_something(table: Table, column: Column) -> bool:
    return any(row.get(column.name) not in (None, "") for row in table.rows)


def _lines(row: Row, columns: Iterable[Column]) -> Iterator[str]:
    for column in columns:
        value = row.get(column.name)
        if value in (None, "") and column.kind in ("text", "time"):
            continue
        whole = shown(value, column, None)
        cell = shown(value, column, _LONGEST)
        if len(whole) > _LONGEST and column.kind == "text":
            cell = f"{cell.rstrip('…')} (cut, {len(whole):,} characters in all)"
        yield f"{_label(column)}: {_SIGNS.get(cell, cell)}"


def _label(column: Column) -> str:
    label = _text(column.label)
    return _LABELS.get(label) or (label if _WORD.search(label) else column.name.replace("_", " "))


def _text(text: str) -> str:
    return one_line(one_line(text).replace(" · ", ", ").translate(_WITHIN))
