"""A case as a person judges it: columns in cells, and the user in view beside a long list."""

from __future__ import annotations

from recjudge_tui.domain.material import ItemView, Material, ShownEvent, SlateView, UserView
from recjudge_tui.tui.answer_sheet import shown_content

WIDTH = 74
TITLES = (
    "你好世界电影名称非常长的标题还要更长一些才能换行",
    "Heat (1995)",
    "👨‍👩‍👧 family film 🎬 of the year 🎥 and once again",
    "مرحبا بالعالم فيلم طويل جدا للعرض وأكثر",
)
ITEMS = tuple(ItemView(item_id=str(at), title=TITLES[at % 4]) for at in range(20))


def _case(length: int, events: int = 12) -> list[str]:
    history = tuple(ShownEvent(type="rating", item=item, value=4.0) for item in ITEMS[:events])
    slates = (SlateView(items=ITEMS[:length]), SlateView(items=ITEMS[length : 2 * length]))
    material = Material(kind="pair", user=UserView(user_id="u", history=history), slates=slates)
    return shown_content(material, WIDTH).plain.split("\n")


def test_the_user_is_in_view_above_a_long_list_and_below_a_short_one() -> None:
    assert _case(10)[0].startswith("─ User, in short")
    assert "Heat (1995)" in _case(10)[1]
    assert _case(4)[0].startswith("─ List 1")
    assert _case(10, events=0)[0].startswith("─ List 1")
