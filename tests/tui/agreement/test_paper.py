"""The paper's table in the app, for a project of its data and for another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from recjudge_tui.importers.load import import_files
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.agreement import PaperScreen
from recjudge_tui.tui.widgets import TextPane
from tests.support.app.driving import running, shown, until
from tests.support.app.lists import import_lists
from tests.support.zhang_folder import joined_rows, write_joined


async def paper_text(pilot: Pilot[Any]) -> str:
    await pilot.press("a")
    await pilot.press("P")
    await until(pilot, lambda: isinstance(pilot.app.screen, PaperScreen))
    pane = pilot.app.screen.query_one(TextPane)
    await until(pilot, lambda: pane.text() != "computing")
    return pane.text()


async def test_a_project_of_the_released_data(project_db: Path, tmp_path: Path) -> None:
    folder = write_joined(tmp_path / "data", joined_rows())
    with connect(project_db) as db:
        for kind in ("users", "items", "explanations", "labels"):
            import_files(db, "zhang", [folder / "explanations.csv"], kind, layout="zhang2024")
    async with running(project_db, size=(80, 24)) as pilot:
        text = await paper_text(pilot)
        assert "305 figures" in text
        assert "Annotator-1" in text
        assert "e export" in shown(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, PaperScreen)
        assert screen.paper is not None
        assert len(screen.paper.rows.rows) == 305
        assert max(map(len, text.splitlines())) <= 80


async def test_a_project_of_other_data_says_so(project_db: Path) -> None:
    import_lists(project_db, users=2)
    async with running(project_db, size=(80, 24)) as pilot:
        assert "does not contain the data of a paper" in await paper_text(pilot)
        # there is no table to export
        assert "e export" not in shown(pilot)
