"""The figures in the app: each shows the numbers of its report, opens the cases behind a mark, and is written to a file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from recjudge_tui.project import Project
from recjudge_tui.reports.figures.declared import FIGURES, figure
from recjudge_tui.reports.figures.marks import Figure
from recjudge_tui.reports.topics import Topic
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.dialogs import AskLine, ErrorDialog
from recjudge_tui.tui.reports import ReportChoice, ReportsScreen, title_of
from recjudge_tui.tui.triage import CasesScreen
from tests.support.app.driving import press, running, settle, shown, type_text, until
from tests.support.app.lists import import_labels, import_lists, judge
from tests.support.drawn_project import SYSTEMS, drawn_project

OF_LISTS = ("label-shares", "flags")
# what stands in the title of the list of cases, or in its filter
OPENED = {
    "confusion": "good A, anna A",
    "q-matrix": "als against cooc",
    "ensembles": "judge=ben   judge=anna",
    "runs": "run 1",
    "calibration": "confidence 0.50 to 0.60 as given",
    "label-shares": f"judge=good   system={SYSTEMS[0]}",
    "leaderboard": f"judge=good   system={SYSTEMS[0]}",
    "trend": "als, 2026-05-01",
}


@pytest.fixture
def drawn_db(project_db: Path) -> Path:
    drawn_project(project_db).db.close()
    return project_db


def report(path: Path, name: str) -> Figure:
    about = {"protocol": "pointwise" if name in OF_LISTS else "pairwise"}
    with connect(path) as db:
        return figure(Project.numbered(db, 1), name, about)


async def show(pilot: Pilot[Any], name: str) -> ReportsScreen:
    topic = Topic("pointwise" if name in OF_LISTS else "pairwise", "overall")
    app = pilot.app
    app.chosen["ReportsScreen", 1] = ReportChoice(f"figure {name}", topic)
    screen = ReportsScreen(1)
    await app.push_screen(screen)
    await until(pilot, lambda: screen.made is not None)
    await settle(pilot)
    return screen


def flat(pilot: Pilot[Any]) -> str:
    return " ".join(shown(pilot).replace("│", " ").split())


def says(pilot: Pilot[Any], text: str) -> bool:
    return text in flat(pilot)


async def test_every_figure_shows_what_its_report_says_and_opens_its_cases(drawn_db: Path) -> None:
    async with running(drawn_db) as pilot:
        for name in FIGURES:
            if name == "q-metric":
                continue
            drawn = report(drawn_db, name)
            screen = await show(pilot, name)
            assert f"[{title_of(f'figure {name}')}]" in shown(pilot)
            assert drawn.title[:40] in flat(pilot)
            value = next(part.text for part in drawn.sentence(drawn.rows[0])[2:] if not isinstance(part, str))
            assert value in flat(pilot), name
            await press(pilot, "enter")
            await until(pilot, lambda: isinstance(pilot.app.screen, CasesScreen))
            await until(pilot, partial(says, pilot, " ".join(OPENED.get(name, "flag:any").split())))
            await press(pilot, "q")
            assert pilot.app.screen is screen
            await press(pilot, "q")


async def test_m_chooses_who_is_compared_and_what_cannot_be_drawn_says_why(project_db: Path) -> None:
    judge(project_db, import_lists(project_db, users=6))
    import_labels(project_db)
    judge(project_db, 1, "pointwise")
    async with running(project_db) as pilot:
        screen = await show(pilot, "confusion")
        assert "rules (down) against anna" in shown(pilot)
        await press(pilot, "m", "down", "right", "enter")
        await until(pilot, lambda: "rules (down) against bert" in shown(pilot))
        await press(pilot, "3", "m", "right", "enter")
        await until(pilot, lambda: "by anna" in flat(pilot))
        await press(pilot, "o", "right", "enter")
        await until(pilot, lambda: "o chooses another question" in shown(pilot))
        assert "pointwise judges one thing at a time: choose one about pairwise" in flat(pilot)
        assert screen.check_action("export", ()) is False
        await press(pilot, "1")
        # one rater alone judged the lists: the figure turns to the question that two have answered
        await until(pilot, lambda: "against bert (across), n=6" in flat(pilot))
        await press(pilot, "f")
        await until(pilot, lambda: "[leaderboard]" in shown(pilot))


async def test_a_figure_whose_numbers_are_all_undefined_says_why(project_db: Path) -> None:
    judge(project_db, import_lists(project_db, users=6))
    import_labels(project_db, given={"anna": "A" * 6, "bert": "A" * 6})
    async with running(project_db) as pilot:
        for name in FIGURES:
            await show(pilot, name)
            await press(pilot, "q")
        screen = await show(pilot, "ensembles")
        assert screen.query_one("#body").has_class("-page")
        assert report(project_db, "ensembles").reasons[0][:40] in flat(pilot)


async def test_e_writes_the_figure_or_its_numbers(drawn_db: Path, tmp_path: Path) -> None:
    async def export(name: str) -> None:
        await press(pilot, "e")
        await until(pilot, lambda: isinstance(pilot.app.screen, AskLine))
        await press(pilot, "ctrl+u")
        await type_text(pilot, str(tmp_path / name))
        await press(pilot, "enter")

    async with running(drawn_db, size=(120, 40)) as pilot:
        await show(pilot, "runs")
        await export("runs.svg")
        await until(pilot, lambda: "runs written to" in flat(pilot))
        assert "anna" in (tmp_path / "runs.svg").read_text(encoding="utf-8")
        await export("runs.csv")
        await until(pilot, lambda: (tmp_path / "runs.csv").exists())
        assert len((tmp_path / "runs.csv").read_text(encoding="utf-8").splitlines()) == 3
        await export("runs.svg")
        assert "exists already" in flat(pilot)
        await press(pilot, "n")
        await export("runs.jpg")
        await until(pilot, lambda: isinstance(pilot.app.screen, ErrorDialog))
        assert ".svg, .png, .pdf draw it" in flat(pilot)
