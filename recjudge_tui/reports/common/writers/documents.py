"""Tables as documents: Markdown (GitHub's form), one self-contained HTML page, and `records` for screen readers and line
editors: a paragraph per row, `label: value` lines, words instead of signs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.reports.common.table import Column, Row, Screen, Table, TableText
from recjudge_tui.reports.common.writers.cells import UNDEFINED, is_number, shown

_SPECIAL = re.compile(r"([\\|`*_\[\]~#$])")
_LIST_MARK = re.compile(r"^(\d*)([-+.)])(?=\s|$)")


def markdown(table: Table, _: Screen) -> TableText:
    def line(cells: list[str]) -> str:
        return f"| {' | '.join(cells)} |"

    lines = [escaped(table.answer), ""] if table.answer else []
    lines += [f"**{escaped(table.title)}**", ""]
    lines.append(line([escaped(column.label) for column in table.columns]))
    lines.append(line(["---:" if is_number(column) else "---" for column in table.columns]))
    for row in table.rows:
        lines.append(line([escaped(shown(row.get(c.name), c, None)) for c in table.columns]))
    if table.notes:
        # a leading list marker is escaped
        notes = (_LIST_MARK.sub(r"\1\\\2", escaped(note), count=1) for note in table.notes)
        lines += ["", *(f"- {note}" for note in notes)]
    return TableText("\n".join(lines) + "\n")


def escaped(text: str) -> str:
    """Text escaped for Markdown, on one line."""
    plain = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", plain)


STYLE = """
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; overflow-wrap: break-word; }
.table { overflow-x: auto; margin: 1.5rem 0 .5rem; }
table { border-collapse: collapse; }
caption { text-align: left; }
caption > * { margin: 0 0 .5rem; max-width: min(100vw - 2rem, 45rem); }
th, td { padding: .25rem .7rem; text-align: left; vertical-align: top; border-bottom: 1px solid #8886; }
tbody th { font-weight: normal; }
td, tbody th, li { unicode-bidi: plaintext; }
td, tbody th { max-width: 40rem; }
td.long { min-width: 20rem; }
.t { white-space: nowrap; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
@page wide { size: landscape; }
@media print {
  body { margin: 0; max-width: none; font-size: 9pt; }
  .table { overflow: visible; }
  th, td { padding: .15rem .4rem; }
  .wide, details:has(.wide) { page: wide; }
  h2, h3, caption, summary { break-after: avoid; }
  .wide table { font-size: 7pt; }
  .wide th, .wide td { padding: .1rem .25rem; }
  .wide td { overflow-wrap: anywhere; }
  .wide .t { white-space: normal; }
  td.long { min-width: 8rem; }
  thead { display: table-header-group; }
  tr, figure { break-inside: avoid; }
}
"""
# wider tables are printed small; longer texts get a wide column, shorter ones stay on a line
_MOST_ON_PAPER = 10
_LONG, _SHORT = 40, 24
# the browser fetches and runs nothing, whatever the page contains
CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def html(table: Table, _: Screen) -> TableText:
    return TableText(document(table.title, section(table)))


def document(title: str, body: str) -> str:
    """A whole page around `body`, which is HTML."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{safe(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{CSP}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )


def section(table: Table, heading: str = "h1") -> str:
    """The table with its title as caption and its notes, as part of a page."""
    title = f"<{heading}>{safe(table.title)}</{heading}>"
    if table.answer:
        title += f"<p><strong>{safe(table.answer)}</strong></p>"
    if not table.rows:
        return f"{title}\n<p>no rows</p>\n{_notes(table)}"
    head = "".join(f'<th scope="col"{_class(c, c.label)}>{safe(c.label)}</th>' for c in table.columns)
    body = "\n".join(f"<tr>{''.join(_cells(row, table.columns))}</tr>" for row in table.rows)
    wide = " wide" if len(table.columns) > _MOST_ON_PAPER else ""
    # a region that can be focused with the keyboard, for tables wider than the window
    return (
        f'<div class="table{wide}" role="region" tabindex="0" aria-label="{safe(table.title)}">\n'
        f"<table>\n<caption>{title}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody>\n</table>\n</div>\n{_notes(table)}"
    )


def _notes(table: Table) -> str:
    notes = "".join(f"<li>{safe(note)}</li>\n" for note in table.notes)
    return f"<ul>\n{notes}</ul>\n" if notes else ""


def _cells(row: Row, columns: Sequence[Column]) -> Iterator[str]:
    """The first cell is the row's heading, if it is text and there are others."""
    for place, column in enumerate(columns):
        plain = shown(row.get(column.name), column, None)
        text = safe(plain)
        if place == 0 and len(columns) > 1 and not is_number(column):
            yield f'<th scope="row">{text}</th>'
        else:
            yield f"<td{_class(column, plain)}>{text}</td>"


def _class(column: Column, text: str) -> str:
    name = "t" if column.kind == "time" or len(text) <= _SHORT else "long" if len(text) > _LONG else ""
    name = "n" if is_number(column) else name
    return f' class="{name}"' if name else ""


def safe(text: str) -> str:
    """Text escaped for HTML, on one line."""
    return escape(one_line(text))


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


def records(table: Table, _: Screen) -> TableText:
    """Title, the number of rows, the rows, the notes; empty columns are left out."""
    answer = f"{_text(table.answer)}\n" if table.answer else ""
    count = quantity(len(table.rows), "row") if table.rows else "no rows"
    blocks = [f"{answer}{_text(table.title)}\n{count}"]
    columns = [c for c in table.columns if any(row.get(c.name) not in (None, "") for row in table.rows)]
    blocks += ["\n".join(_lines(row, columns)) for row in table.rows]
    if table.notes:
        blocks.append("\n".join(["Notes", *(_text(note) for note in table.notes)]))
    return TableText("\n\n".join(blocks) + "\n")


def records_heading(title: str, lines: Sequence[str]) -> str:
    """A page's title and the sentences below it, one per line."""
    return "\n".join([_text(title), *map(_text, lines)]) + "\n"


def _lines(row: Row, columns: Iterable[Column]) -> Iterator[str]:
    for column in columns:
        value = row.get(column.name)
        if value in (None, "") and column.kind in ("text", "time"):
            continue
        whole = shown(value, column, None)
        cell = shown(value, column, _LONGEST)
        if len(whole) > _LONGEST and column.kind == "text":
            cell = f"{cell.rstrip('…')} (cut, {len(whole):,} characters in all)"
        label = _text(column.label)
        label = _LABELS.get(label) or (label if _WORD.search(label) else column.name.replace("_", " "))
        yield f"{label}: {_SIGNS.get(cell, cell)}"


def _text(text: str) -> str:
    return one_line(one_line(text).replace(" · ", ", ").translate(_WITHIN))
