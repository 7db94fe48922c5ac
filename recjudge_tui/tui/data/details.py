"""The details of one row of data: for a user what a judge will see, for an item its image, for a list its items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from textual.content import Content

from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import DataRow, data_columns
from recjudge_tui.tui.kit.glyphs import glyphs

_LONGEST = 4000
_MOST_ITEMS = 500


def details(db: Database, project_id: int, kind: str, row: DataRow) -> tuple[str, Content]:
    """A title and the text; reads the history of a user, so call it in a worker."""
    if kind in ("users", "events"):
        return f"what a judge sees of {one_line(row.key, 40)}", _user(db, project_id, row.key)
    facts = [
        (name, cell)
        for (name, _), cell in zip(data_columns(kind), row.cells, strict=True)
        if cell and name != "first"
    ]
    more: list[Content] = []
    if kind == "items":
        attributes, more = _item(db, project_id, row.key)
        facts += attributes
    elif kind == "lists":
        more = _positions(db, project_id, int(row.key))
    return one_line(row.cells[0], 60), Content("\n").join([*_aligned(facts), *more])


def _aligned(facts: Sequence[tuple[str, str]]) -> Iterator[Content]:
    names = [one_line(name, 40) for name, _ in facts]
    wide = max(map(cell_len, names), default=0) + 2
    for name, (_, text) in zip(names, facts, strict=True):
        yield Content.assemble((name + " " * (wide - cell_len(name)), "dim"), safe_text(text[:_LONGEST]))


def _positions(db: Database, project_id: int, slate_id: int) -> list[Content]:
    """Every item of a list, best first."""
    from recjudge_tui.store.data import slate_top
    from recjudge_tui.tui.cases.case.lists import item_words

    items = slate_top(db, project_id, slate_id, _MOST_ITEMS)
    return [
        Content.assemble((f"{at:>3} ", "dim"), item_words(item, glyphs())) for at, item in enumerate(items, 1)
    ]


def _user(db: Database, project_id: int, user_id: str) -> Content:
    from recjudge_tui.domain.protocols import SAER
    from recjudge_tui.domain.run import RunSettings
    from recjudge_tui.reports.cases import user_lines
    from recjudge_tui.runs.context import user_view
    from recjudge_tui.store.histories import read_history

    user = user_view(read_history(db, project_id, user_id), RunSettings(protocol=SAER[1]))
    lines = list(user_lines(user, ""))
    about = "with the usual settings of a run; held-out events are left out"
    known = bool(user.attributes) or any(line.strip() for line in lines[1:])
    nothing = "nothing: this user has no attributes and no events; i imports them"
    text = safe_text("\n".join(lines)[: 5 * _LONGEST]) if known else nothing
    return Content.assemble((about, "dim"), "\n\n", text)


def _item(db: Database, project_id: int, item_id: str) -> tuple[list[tuple[str, str]], list[Content]]:
    """The other attributes of an item, and its image."""
    from recjudge_tui.store.data import ItemViews, image_contents, item_images
    from recjudge_tui.tui.cases.case.images import drawn

    item = ItemViews(db, project_id).of([item_id])[item_id]
    attributes = [(name, str(value)) for name, value in item.attributes.items()]
    image = item_images(db, project_id, [item_id]).get(item_id)
    if image is None:
        return attributes, []
    size = Content(f"image {image.width}×{image.height}")
    return attributes, [size, *drawn(image_contents(db, [image.digest])[image.digest])]
