"""The help: what can be done comes first, and its words are explained."""

from __future__ import annotations

from pathlib import Path

from tests.support.app.driving import press, running, shown, type_text
from tests.support.app.projects import make_project


async def test_verbs_first_and_terms_last(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies", size=(120, 60)) as pilot:
        await press(pilot, "question_mark")
        # what stands between the frames of panels and dialog
        lines = [part.strip() for line in shown(pilot).splitlines() for part in line.split("│")]
        order = [lines.index(title) for title in ("Do", "Go to", "Move", "On every screen")]
        assert order == sorted(order)
        assert "c  accept" in lines[order[0] : order[1]]
        # the whole height is used
        assert len([line for line in shown(pilot).splitlines() if "│" in line]) > 50
        for word in ("swap", "flip", "spread", "attention", "ceiling"):
            await type_text(pilot, word)
            assert f"{word} " in shown(pilot)
            assert "Terms" in shown(pilot)
            await press(pilot, *["backspace"] * len(word))
        await type_text(pilot, "nothing like this")
        assert "no key or term matches" in shown(pilot)
