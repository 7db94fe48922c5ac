"""Several tables under one title, with sentences before them, in the formats that a single table has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from recjudge_tui.domain.text import safe_text
from recjudge_tui.reports.common.table import Screen, Table, TableText, put_written, render


@dataclass(frozen=True)
class Page:
    """`lead` are sentences for people; each table has its own title."""

    title: str
    lead: tuple[str, ...]
    tables: tuple[Table, ...]
    settings: Mapping[str, object] = field(default_factory=dict)


def render_page(page: Page, fmt: str, screen: Screen | None = None) -> TableText:
    """The page in one of the table formats. JSON is `{title, lead, tables, settings}`; CSV and LaTeX are the tables
    one after another, with the sentences returned beside them. Raises UsageError for an unknown format."""
    screen = screen or Screen()
    if fmt == "json":
        from recjudge_tui.reports.common.writers.data import content, dumped

        tables = [content(table) for table in page.tables]
        whole = {"title": page.title, "lead": list(page.lead), "tables": tables}
        return TableText(dumped(whole | {"settings": dict(page.settings)}))
    if fmt == "html":
        from recjudge_tui.reports.common.writers.documents import document, safe, section

        lead = "".join(f"<p>{safe(line)}</p>\n" for line in page.lead)
        body = "".join(section(table, "h2") for table in page.tables)
        return TableText(document(page.title, f"<h1>{safe(page.title)}</h1>\n{lead}{body}"))
    parts = [render(table, fmt, screen) for table in page.tables]
    if fmt == "md":
        from recjudge_tui.reports.common.writers.documents import escaped

        lines = [f"# {escaped(page.title)}", *(escaped(line) for line in page.lead)]
        return TableText("\n\n".join([*lines, *(part.text.rstrip("\n") for part in parts)]) + "\n")
    if fmt == "text":
        from recjudge_tui.reports.common.writers.plain import heading

        return TableText("\n".join([heading(page.title, page.lead, screen), *(part.text for part in parts)]))
    if fmt == "plain":
        from recjudge_tui.reports.common.writers.documents import records_heading

        head = records_heading(page.title, page.lead)
        return TableText("\n".join([head, *(part.text for part in parts)]))
    lead_lines = map(safe_text, page.lead)
    notes = tuple(dict.fromkeys((*lead_lines, *(note for part in parts for note in part.notes))))
    return TableText("\n".join(part.text for part in parts), notes)


def write_page(page: Page, fmt: str = "text", out: Path | None = None) -> None:
    """Write a page as `write_table` writes a table."""
    put_written(lambda screen: render_page(page, fmt, screen), out)
