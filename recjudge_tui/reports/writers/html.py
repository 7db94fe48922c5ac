"""One HTML page that needs nothing else."""

from __future__ import annotations

from html import escape

from recjudge_tui.model.text import one_line
from recjudge_tui.reports.table import Screen, Table, Written
from recjudge_tui.reports.writers.cells import is_number, shown

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.4 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { padding: .25rem .7rem; text-align: left; border-bottom: 1px solid #8886; }
.n { text-align: right; font-variant-numeric: tabular-nums; }
"""


def write(table: Table, _: Screen) -> Written:
    return Written(document(table.title, section(table)))


def document(title: str, body: str) -> str:
    """A whole page around `body`, which is HTML."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{safe(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{body}</body>\n</html>\n"
    )


def section(table: Table, heading: str = "h1") -> str:
    """The table with its title and notes, to stand on a page."""
    head = "".join(f"<th{_class(is_number(c))}>{safe(c.label)}</th>" for c in table.columns)
    body = "\n".join(
        "<tr>"
        + "".join(
            f"<td{_class(is_number(c))}>{safe(shown(row.get(c.name), c, None))}</td>" for c in table.columns
        )
        + "</tr>"
        for row in table.rows
    )
    notes = "".join(f"<li>{safe(note)}</li>\n" for note in table.notes)
    return (
        f"<{heading}>{safe(table.title)}</{heading}>\n<table>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody>\n</table>\n" + (f"<ul>\n{notes}</ul>\n" if notes else "")
    )


def _class(number: bool) -> str:
    return ' class="n"' if number else ""


def safe(text: str) -> str:
    """Text that HTML takes for text, on one line."""
    return escape(one_line(text))
