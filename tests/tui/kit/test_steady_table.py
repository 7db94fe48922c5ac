from __future__ import annotations

from rich.text import Text
from textual.app import App, ComposeResult
from textual.geometry import Region

from recjudge_tui.tui.widgets import SteadyTable


class OneTable(App[None]):
    def compose(self) -> ComposeResult:
        yield SteadyTable()


async def test_a_paint_before_the_rows_are_measured_keeps_labels_and_widths() -> None:
    app = OneTable()
    async with app.run_test(size=(60, 8)) as pilot:
        table = app.query_one(SteadyTable)
        for names in (("first",), ("a longer cell", "another")):
            table.clear(columns=True)
            table.add_column("x")
            for name in names:
                table.add_row(Text(name), label=Text(f"row {name}"))
            table.render_lines(Region(0, 0, 60, 8))
            await pilot.pause()
            painted = "\n".join(strip.text for strip in table.render_lines(Region(0, 0, 60, 8)))
            for name in names:
                assert f"row {name}" in painted
                assert painted.count(name) == 2
