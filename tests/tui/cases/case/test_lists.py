from __future__ import annotations

from recjudge_tui.domain.material import ItemView, ShownEvent, SlateView, UserView
from recjudge_tui.store.case_detail import CaseDetail
from recjudge_tui.tui.case import lists


def case(a: str, b: str, events: int = 0) -> CaseDetail:
    """Lists of one-letter items."""
    slates = tuple(
        (n, SlateView(items=tuple(ItemView(item_id=i, title=i) for i in ids)))
        for n, ids in (("a", a), ("b", b))
    )
    history = tuple(
        ShownEvent(type="rating", text=f"film {at}", timestamp="2024-01-01") for at in range(events)
    )
    return CaseDetail(
        1, 1, "pair", "u", "", "r", "judge", "arena", "overall", "A", 1.0, False, False, None, "", "", None, "", "", None,
        (), ("overall",), (), (), UserView(user_id="u", history=history), slates, None, "", "", None,
    )  # fmt: skip


def drawn(a: str, b: str, width: int = 30, events: int = 0) -> list[str]:
    return [line.plain for line in lists(case(a, b, events), width)][1:]


def test_history_stands_beside_where_there_is_width() -> None:
    wide = drawn("pq", "qr", width=110, events=19)
    assert "film 0" in wide[0]
    assert wide[-1].strip() == "… 4 more"
    assert all(len(line) <= 110 for line in wide)
    assert not [line for line in drawn("pq", "qr", width=60, events=9) if "film" in line]
