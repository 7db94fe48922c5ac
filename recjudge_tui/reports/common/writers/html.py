"""One self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.table import Column, Row, Screen, Table, TableText
from recjudge_tui.reports.common.writers.cells import is_number, shown

STYLE = """
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; overflow-wrap: break-word; }
.table { overflow-x: auto; margin: 1.5rem 0 .5rem; }
table { border-collapse: collapse; }
caption { text-align: left; }
caption > * { margin: 0 0 .5rem; }
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
  .wide { page: wide; }
  .wide table { font-size: 7pt; }
  .wide th, .wide td { padding: .1rem .25rem; }
  .wide td { overflow-wrap: anywhere; }
  td.long { min-width: 8rem; }
  thead { display: table-header-group; }
  tr, figure { break-inside: avoid; }
}
"""
# wider tables are printed small; longer texts get a wide column
_MOST_ON_PAPER = 10
_LONG = 40
# the browser fetches and runs nothing, whatever the page contains
CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def write(table: Table, _: Screen) -> TableText:
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
    head = "".join(f'<th scope="col"{_class(c)}>{safe(c.label)}</th>' for c in table.columns)
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
            yield f"<td{_class(column, long=len(plain) > _LONG)}>{text}</td>"


def _class(column: Column, *, long: bool = False) -> str:
    name = "n" if is_number(column) else "t" if column.kind == "time" else "long" if long else ""
    return f' class="{name}"' if name else ""


def safe(text: str) -> str:
    """Text escaped for HTML, on one line."""
    return escape(one_line(text))
