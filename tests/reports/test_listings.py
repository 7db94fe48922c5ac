"""Listings, and the page of one case."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from recjudge_tui.domain.records import Event, Item, RankedItem, Slate, User
from recjudge_tui.errors import NotFoundError
from recjudge_tui.reports.cases import case_text
from recjudge_tui.store.cases import CaseKey, ensure_case
from recjudge_tui.store.imports import add_events, add_items, add_slates, add_users
from tests.support.verdicts import (
    Project,
    import_target,
)


@pytest.fixture
def filled(project: Project) -> int:
    """A pair of imported lists of one user; nobody has judged it."""
    with project.db.transaction():
        target = import_target(project)
        add_items(target, [Item(item_id=f"i{n}", title=f"漢字 film {n}", category="Drama") for n in range(4)])
        add_users(target, [User(user_id="u", attributes={"age": "31"})])
        event = Event(
            user_id="u", type="rating", item_id="i0", timestamp="2024-05-01T00:00:00+00:00", value=4
        )
        add_events(target, [event])
        slates = []
        for system, ids in (("a", ("i1", "i2", "i3")), ("b", ("i2",))):
            add_slates(
                target,
                [Slate(user_id="u", system=system, items=tuple(RankedItem(item_id=key) for key in ids))],
            )
            slates.append(project.db.value("SELECT id FROM slates WHERE system = ?", (system,)))
        key = CaseKey("pair", "u", "a", "b", slate_a=slates[0], slate_b=slates[1])
        return ensure_case(project.db, project.id, key)


def test_a_case_nobody_judged(project: Project, filled: int) -> None:
    page = case_text(project.db, filled, 90)
    for said in (
        "lists of a and b",
        "User: age 31",
        "2024-05-01 rating: 漢字 film 0 (4)",
        "no verdicts on this case yet",
    ):
        assert said in page
    assert max(map(cell_len, page.splitlines())) <= 90
    line = next(line for line in page.splitlines() if line.strip().startswith("1 "))
    assert "film 1" in line
    assert "film 2" in line
    with pytest.raises(NotFoundError):
        case_text(project.db, 12, 90)
