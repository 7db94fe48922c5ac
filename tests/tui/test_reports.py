"""The reports as tabs: the cells of the report, its options as a form, and the cases behind a row."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from recjudge_tui.domain.filters import parse_filter
from recjudge_tui.domain.occasions import EVERY_OCCASION
from recjudge_tui.importers.load import import_files
from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.declare import REPORTS
from recjudge_tui.store.schema import connect
from recjudge_tui.store.verdicts import filtered_ids
from recjudge_tui.tui.form import Form
from recjudge_tui.tui.reports import PAPER, TABS, ReportChoice, ReportsScreen, load, row_filter
from recjudge_tui.tui.triage import CasesScreen
from recjudge_tui.tui.widgets import TextPane
from tests.support.app.driving import press, running, settle, shown, until
from tests.support.app.lists import import_labels, import_lists, judge
from tests.support.verdicts import Project, table
from tests.support.zhang_folder import joined_rows, write_joined


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rated") / "recjudge.db"


@pytest.fixture
def rated(project_db: Path, kept: Path) -> Path:
    """Six pairs judged by the rules and labelled by two people; their lists judged one by one, too."""
    if not kept.exists():
        project = import_lists(project_db, users=6)
        judge(project_db, project, "pairwise")
        judge(project_db, project, "pointwise")
        import_labels(project_db)
        shutil.copy(project_db, kept)
    else:
        shutil.copy(kept, project_db)
    return project_db


async def open_tab(pilot: Pilot[Any], tab: str = "leaderboard") -> ReportsScreen:
    await pilot.press("a")
    await until(pilot, lambda: isinstance(pilot.app.screen, ReportsScreen))
    screen = pilot.app.screen
    assert isinstance(screen, ReportsScreen)
    await until(pilot, lambda: screen.made is not None)
    if tab != "leaderboard":
        screen.action_tab(tab)
        await until(pilot, lambda: screen.made is not None and screen.made.tab == tab)
    await settle(pilot)
    return screen


def content(screen: ReportsScreen) -> Table:
    return screen.made.content


async def test_the_answer_comes_first_and_the_cells_are_those_of_the_report(rated: Path) -> None:
    with connect(rated) as db:
        wanted = table(Project(db, 1), "leaderboard", protocol="pairwise", aspect="overall")
    async with running(rated, "shop") as pilot:
        screen = await open_tab(pilot)
        assert content(screen).rows == wanted.rows
        text = " ".join(shown(pilot).split())
        assert wanted.answer[:40] in text
        for row in wanted.brief.rows:
            assert str(row["system"]) in text
        # no number is cut
        grid = screen.query_one("#table")
        assert grid.virtual_size.width <= grid.size.width


async def test_every_tab_shows_a_table_a_page_or_its_reason(rated: Path) -> None:
    async with running(rated, "shop") as pilot:
        screen = await open_tab(pilot)
        for name in TABS[1:]:
            await press(pilot, "tab")
            await until(pilot, lambda name=name: screen.made is not None and screen.made.tab == name)
            await settle(pilot)
            assert screen.made.content is not None or screen.made.error is not None
            pane = screen.query_one("#body")
            assert pane.has_class("-table") or screen.query_one(TextPane).text().strip()
        await press(pilot, "tab")
        await until(pilot, lambda: screen.made is not None and screen.made.tab == "leaderboard")


async def test_the_form_has_the_options_of_the_report_and_says_what_is_wrong(rated: Path) -> None:
    async with running(rated, "shop") as pilot:
        screen = await open_tab(pilot)
        await press(pilot, "m")
        form = pilot.app.screen
        assert isinstance(form, Form)
        served = {"context", "from_", "to"}
        for option in REPORTS["leaderboard"].options:
            assert option.name in served or form.query(f"#field-{option.name}")
        form.query_one("#field-k", Input).value = "many"
        await press(pilot, "enter")
        await until(pilot, lambda: "Write a whole number" in shown(pilot))
        form.query_one("#field-k", Input).value = ""
        form.query_one("#field-method", Input).value = "bt"
        await press(pilot, "enter")
        await until(pilot, lambda: content(screen).settings.get("method") == "bt")
        # what does not fit is the reason in place of the table, and the other tabs stay
        await press(pilot, "m")
        pilot.app.screen.query_one("#field-method", Input).value = "elo"
        await press(pilot, "enter")
        await until(pilot, lambda: "elo" in screen.query_one(TextPane).text())


async def test_enter_opens_the_cases_that_a_row_counts(rated: Path) -> None:
    async with running(rated, "shop") as pilot:
        screen = await open_tab(pilot)
        row = content(screen).rows[0]
        for steps, (term, name) in enumerate(
            (("system", "n"), ("won", "wins"), ("tied", "ties"), ("lost", "losses"))
        ):
            await press(pilot, "enter", *["right"] * steps, "enter")
            cases = pilot.app.screen
            assert isinstance(cases, CasesScreen)
            sign = "=" if term == "system" else ":"
            text = cases.rows.chosen.text()
            assert text.endswith(f"{term}{sign}{row['system']}")
            assert f"judge={row['rater']}" in text
            assert len(cases.rows.ids) == row[name]
            await press(pilot, "q")
        screen.action_tab("agreement")
        await until(pilot, lambda: screen.made is not None and screen.made.tab == "agreement")
        await settle(pilot)
        await press(pilot, "plus", "enter")
        cases = pilot.app.screen
        assert isinstance(cases, CasesScreen)
        assert "why:disagree" in cases.rows.chosen.text()


async def test_a_report_is_exported_whole(
    rated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with running(rated, "shop") as pilot:
        screen = await open_tab(pilot, "agreement")
        await press(pilot, "e", "enter")
        await until(pilot, lambda: (tmp_path / "agreement.csv").exists())
        await press(pilot, "e", "enter")
        await until(pilot, lambda: "exists already" in shown(pilot))
        await press(pilot, "n", "e", *["backspace"] * 3, *"json", "enter")
        await until(pilot, lambda: (tmp_path / "agreement.json").exists())
        rows = content(screen).rows
    with (tmp_path / "agreement.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(rows)
    assert len(json.loads((tmp_path / "agreement.json").read_text(encoding="utf-8"))["rows"]) == len(rows)


async def test_the_paper_of_the_released_data(project_db: Path, tmp_path: Path) -> None:
    folder = write_joined(tmp_path / "data", joined_rows())
    with connect(project_db) as db:
        for kind in ("users", "items", "explanations", "labels"):
            import_files(db, "zhang", [folder / "explanations.csv"], kind, layout="zhang2024")
    async with running(project_db, size=(80, 24)) as pilot:
        screen = await open_tab(pilot, PAPER)
        text = screen.query_one(TextPane).text()
        assert "305 figures" in text
        assert "Annotator-1" in text
        assert len(screen.made.rows.rows) == 305
        assert max(map(len, text.splitlines())) <= 80


def test_a_phrase_of_why_opens_the_cases_whose_reasons_use_it(rated: Path) -> None:
    with connect(rated) as db:
        db.execute(
            "UPDATE answers SET reasoning = reasoning || ' A bold selection of thrillers.' WHERE value > 0"
        )
        # one user's reasons speak for the other side
        db.execute(
            """UPDATE answers SET value = -value WHERE call_id IN (
                 SELECT id FROM calls WHERE case_id = (SELECT max(id) FROM cases WHERE kind = 'pair'))"""
        )
        db.connection.commit()
        chosen = ReportChoice("why", values={"why": {"rater": "rules", "protocol": "pairwise"}})
        made = load(db, 1, chosen, EVERY_OCCASION)
        row = next(row for row in made.content.rows if row["kind"] == "phrase")
        asked = row_filter(made, row, EVERY_OCCASION)
        found = filtered_ids(db, 1, parse_filter(asked))
        said = db.column(
            """SELECT DISTINCT v.id FROM verdicts v JOIN runs ru ON ru.id = v.run_id AND ru.protocol = 'pairwise'
               JOIN calls k ON k.run_id = ru.id AND k.case_id = v.case_id JOIN answers a ON a.call_id = k.id
               WHERE a.reasoning LIKE ? ORDER BY 1""",
            (f"%{row['what']}%",),
        )
        assert sorted(found) == said
        assert said
