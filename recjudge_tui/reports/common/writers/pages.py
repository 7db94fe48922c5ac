"""Several tables under one title, with sentences before them."""

from __future__ import annotations

from recjudge_tui.domain.text import safe_text
from recjudge_tui.reports.common.table import Page, Screen, TableText, render
from recjudge_tui.reports.common.writers import data, documents


def write(page: Page, fmt: str, screen: Screen) -> TableText:
    """JSON is `{title, lead, tables, settings}`; CSV and LaTeX are the tables one after another, with the sentences returned
    beside them."""
    if fmt == "json":
        tables = [data.content(table) for table in page.tables]
        whole = {"title": page.title, "lead": list(page.lead), "tables": tables}
        return TableText(data.dumped(whole | {"settings": dict(page.settings)}))
    if fmt == "html":
        lead = "".join(f"<p>{documents.safe(line)}</p>\n" for line in page.lead)
        body = "".join(documents.section(table, "h2") for table in page.tables)
        head = f"<h1>{documents.safe(page.title)}</h1>\n"
        return TableText(documents.document(page.title, head + lead + body))
    parts = [render(table, fmt, screen) for table in page.tables]
    if fmt == "md":
        lines = [f"# {documents.escaped(page.title)}", *(documents.escaped(line) for line in page.lead)]
        return TableText("\n\n".join([*lines, *(part.text.rstrip("\n") for part in parts)]) + "\n")
    if fmt in ("text", "plain"):
        from recjudge_tui.reports.common.writers import plain  # loads Rich, which the data formats need not

        of_text = plain.heading(page.title, page.lead, screen)
        head = of_text if fmt == "text" else documents.records_heading(page.title, page.lead)
        return TableText("\n".join([head, *(part.text for part in parts)]))
    lead_lines = map(safe_text, page.lead)
    notes = tuple(dict.fromkeys((*lead_lines, *(note for part in parts for note in part.notes))))
    return TableText("\n".join(part.text for part in parts), notes)
