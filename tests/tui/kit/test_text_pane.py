from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.content import Content
from textual.screen import Screen

from recjudge_tui.tui.widgets import TextPane
from tests.support.app.driving import driven, settle, shown


class OnePane(App[None]):
    def compose(self) -> ComposeResult:
        yield TextPane()


def lines(count: int) -> Content:
    return Content("\n".join(f"line {at}" for at in range(count)))


async def test_another_text_is_scrolled_by_its_own_length_and_lays_nothing_else_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with driven(OnePane(), size=(40, 10)) as pilot:
        pane = pilot.app.query_one(TextPane)
        laid_out: list[int] = []
        lay_out = Screen._refresh_layout

        def counted(screen: Screen[None], *given: object, **more: object) -> None:
            laid_out.append(1)
            lay_out(screen, *given, **more)  # type: ignore[arg-type]

        # the first long text brings the scrollbar, for which its place is kept
        pane.show(lambda _: lines(30))
        await settle(pilot)
        monkeypatch.setattr(Screen, "_refresh_layout", counted)
        for count in (100, 50, 12):
            pane.show(lambda _, count=count: lines(count))  # type: ignore[misc]
            await settle(pilot)
            assert (pane.max_scroll_y, pane.scroll_offset.y) == (count - 10, 0)
            assert pane.vertical_scrollbar.window_virtual_size == count
            pane.scroll_end(animate=False)
            await settle(pilot)
            assert f"line {count - 1}" in shown(pilot).splitlines()[-1]
        assert laid_out == []
