"""The figures drawn large, their cases and their files; and the plots themselves."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions, leaderboard_table
from textual.pilot import Pilot

from recjudge_tui.reports.figures.data import FigureData
from recjudge_tui.reports.figures.loading import figure_data
from recjudge_tui.reports.figures.marks import Marks, Scatter
from recjudge_tui.reports.figures.options import FigureOptions, Topic
from recjudge_tui.reports.figures.registry import FIGURES
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.cases.screen import CasesScreen
from recjudge_tui.tui.figures.plot_widget import Plot
from recjudge_tui.tui.figures.screen import FIGURE_KEYS, FiguresScreen
from recjudge_tui.tui.kit.dialogs import AskLine, ErrorDialog
from recjudge_tui.tui.kit.steady_table import FigureTable
from tests.support.app.driving import SIZES, painted, press, running, settle, shown, type_text, until
from tests.support.app.lists import import_labels, import_lists, judge
from tests.support.drawn_project import SYSTEMS, USERS, drawn_project
from tests.support.verdicts import Project, agreement

# key, figure, what the list of cases says of itself
OPENED = (
    ("2", "q-matrix", "als against text"),
    ("3", "q-metric", "judge=anna   system=als"),
    ("4", "ensembles", "judge=bert   judge=anna"),
)


@pytest.fixture
def rated(project_db: Path) -> Path:
    """Six pairs judged by the rules and labelled by two people."""
    judge(project_db, import_lists(project_db, users=6))
    import_labels(project_db)
    return project_db


async def open_views(pilot: Pilot[Any]) -> FiguresScreen:
    await pilot.press("a")
    await until(pilot, lambda: "Quadratic weighted" in shown(pilot))
    await press(pilot, "f")
    screen = pilot.app.screen
    assert isinstance(screen, FiguresScreen)
    await until(pilot, lambda: screen.figure is not None)
    return screen


async def turn_to(pilot: Pilot[Any], screen: FiguresScreen, key: str, view: str) -> str:
    await press(pilot, key)
    await until(pilot, lambda: screen.figure is not None and screen.figure.name == view)
    await settle(pilot)
    return shown(pilot)


async def judged_by_anna(pilot: Pilot[Any]) -> str:
    await press(pilot, "m", "down", "right", "enter")
    await until(pilot, lambda: "by anna" in shown(pilot))
    await settle(pilot)
    return shown(pilot)


@pytest.mark.parametrize("size", SIZES)
async def test_every_figure_shows_what_its_report_says(rated: Path, size: tuple[int, int]) -> None:
    with connect(rated) as db:
        cells = agreement(
            Project(db, 1), confusion=True, protocol="pairwise", aspect="overall", raters=("rules", "anna")
        ).rows
        ranked = leaderboard_table(db, 1, LeaderboardOptions("pairwise", ("anna",), "overall", "q")).rows
    async with running(rated, size=size) as pilot:
        screen = await open_views(pilot)
        text = shown(pilot)
        assert "[1 confusion]" in text
        assert "rules (down) against anna (across), n=6" in text
        counts = [int(word.strip("[]")) for line in text.splitlines() if line.startswith(("│A", "│ A"))
                  for word in line.strip("│ ").split()[1:]]  # fmt: skip
        assert counts == [row["count"] for row in cells if row["label_a"] == "A"] + [sum(counts[:-1])]

        await turn_to(pilot, screen, "2", "q-matrix")
        text = await judged_by_anna(pilot)
        first = next(row for row in ranked if row["system"] == "als")
        assert f"[{first['q']:.2f}]" in text
        assert f"{first['wins']} won, {first['ties']} tied" in " ".join(text.replace("│", " ").split())

        text = await turn_to(pilot, screen, "3", "q-metric")
        assert "◉" in text
        assert "[als]" in text
        assert "text" in text
        await press(pilot, "l")
        assert "[text]" in shown(pilot)

        text = await turn_to(pilot, screen, "tab", "ensembles")
        assert "Means of 1 to 2 raters against anna" in text
        assert "[1]" in text
        assert "highest" in text


async def test_a_grid_fits_its_room_and_the_cursor_can_be_read(rated: Path) -> None:
    async with running(rated, "shop") as pilot:
        screen = await open_views(pilot)
        grid = screen.query_one("#grid", FigureTable)
        for size in ((80, 24), (120, 40), (80, 24)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: grid.virtual_size.height <= grid.size.height)
            await painted(pilot)
            cursor = [
                style.color.get_truecolor()
                for strip in screen._compositor.render_strips()
                for text, style, _ in strip
                if "[" in text and style and style.color and style.bgcolor
                if style.bgcolor.get_truecolor() == (0xE6, 0xC3, 0x4A)
            ]
            assert cursor == [(0, 0, 0)]


async def test_enter_on_a_part_opens_the_cases_behind_it(rated: Path) -> None:
    with connect(rated) as db:
        cells = agreement(
            Project(db, 1), confusion=True, protocol="pairwise", aspect="overall", raters=("rules", "anna")
        ).rows
    place, row = next((at, row) for at, row in enumerate(cells) if row["count"])
    async with running(rated) as pilot:
        screen = await open_views(pilot)
        screen.query_one(FigureTable).move_cursor(row=place // 3, column=place % 3)
        await press(pilot, "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, CasesScreen))
        await until(pilot, lambda: f"{2 * _whole(row['count'])} of " in shown(pilot))
        assert f"rules {row['label_a']}, anna {row['label_b']}" in shown(pilot).splitlines()[0]
        await press(pilot, *["backspace"] * 4)
        everyone = 3 * _whole(row["count"])
        await until(pilot, partial(_says, pilot, f"{everyone} of {everyone}"))
        await press(pilot, "q")
        await turn_to(pilot, screen, "2", "q-matrix")
        await judged_by_anna(pilot)
        for key, view, said in OPENED:
            await turn_to(pilot, screen, key, view)
            await press(pilot, "enter")
            await until(pilot, lambda: isinstance(pilot.app.screen, CasesScreen))
            await until(pilot, partial(_says, pilot, said))
            await press(pilot, "q")


# ---- runs, calibration, label shares, leaderboard


@pytest.fixture
def drawn_db(project_db: Path) -> Path:
    drawn_project(project_db).db.close()
    return project_db


def report(path: Path, name: str, protocol: str = "pairwise") -> FigureData:
    with connect(path) as db:
        return figure_data(db, 1, name, FigureOptions(protocol, "overall"))


async def show(pilot: Pilot[Any], view: str, protocol: str = "pairwise") -> FiguresScreen:
    screen = FiguresScreen(1, Topic(protocol, "overall"), view, {})
    await pilot.app.push_screen(screen)
    await until(pilot, lambda: screen.figure is not None)
    await settle(pilot)
    return screen


@pytest.mark.parametrize("size", [*SIZES, (200, 60)])
async def test_runs_calibration_shares_and_ranking_show_what_their_reports_say(
    drawn_db: Path, size: tuple[int, int]
) -> None:
    async with running(drawn_db, size=size) as pilot:
        await show(pilot, "runs")
        first = report(drawn_db, "runs").rows[0]
        assert "[5 runs]" in shown(pilot)
        assert "Quadratic weighted κ of each run with anna" in shown(pilot)
        assert "[1]" in shown(pilot)
        assert (
            f"{first['value']:.2f} [{first['ci_low']:.2f}, {first['ci_high']:.2f}], n={3 * USERS}"
            in _flat(pilot)
        )
        assert "dotted: agreement between people" in _flat(pilot)

        screen = await show(pilot, "calibration")
        rows = [row for row in report(drawn_db, "calibration").rows if row["stage"] == "as given"]
        assert len(screen.query_one(Plot).rows) == len(rows)
        assert f"right in {rows[0]['accuracy']:.1%}" in _flat(pilot)
        assert f"n={rows[0]['n']} verdicts" in _flat(pilot)
        await press(pilot, "m", "down", "down", "down", "down", "right", "enter")
        await until(
            pilot, lambda: "confidence calibrated" in shown(pilot) or "calibrated, mean" in _flat(pilot)
        )

        await show(pilot, "label-shares", "pointwise")
        shares = report(drawn_db, "label-shares", "pointwise").rows
        assert all(
            word in shown(pilot) for word in ("Good", "Partial", "Poor", f"n={USERS}", f"[{SYSTEMS[0]} ]")
        )
        assert f"Good {shares[0]['share']:.1%}" in _flat(pilot)

        await show(pilot, "leaderboard")
        best = report(drawn_db, "leaderboard").rows[0]
        assert f"{best['score']:.2f} [{best['ci_low']:.2f}, {best['ci_high']:.2f}]  n={2 * USERS}" in shown(
            pilot
        )
        await press(pilot, *["down"] * 11)
        assert f"[{SYSTEMS[1]}" in shown(pilot) or f"[{SYSTEMS[2]}" in shown(pilot)


async def test_enter_opens_the_cases_behind_a_run_a_bin_a_bar_and_a_rank(drawn_db: Path) -> None:
    confident = report(drawn_db, "calibration").rows[0]
    async with running(drawn_db, size=(120, 40)) as pilot:
        for view, protocol, said in (
            ("runs", "pairwise", "run 1"),
            (
                "calibration",
                "pairwise",
                f"confidence {confident['low']:.2f} to {confident['high']:.2f} as given",
            ),
            ("label-shares", "pointwise", f"judge=good   system={SYSTEMS[0]}"),
            ("leaderboard", "pairwise", "judge=good   system="),
        ):
            await show(pilot, view, protocol)
            await press(pilot, "enter")
            await until(pilot, lambda: isinstance(pilot.app.screen, CasesScreen))
            await until(pilot, partial(_says, pilot, said))
            await press(pilot, "q", "q")


async def test_every_figure_has_a_key_and_its_title_in_the_help(drawn_db: Path) -> None:
    async with running(drawn_db, size=(140, 40)) as pilot:
        screen = await show(pilot, "confusion")
        for name, kind in FIGURES.items():
            key = FIGURE_KEYS[name]
            assert f"{key} {kind.title}" in shown(pilot).splitlines()[1]
            await turn_to(pilot, screen, key, name)
            assert f"[{key} {kind.title}]" in shown(pilot)
        await press(pilot, "question_mark")
        helped = shown(pilot)
        assert all(kind.title in helped for kind in FIGURES.values())
        assert "q-matrix" not in helped


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
        await until(pilot, lambda: "runs written to" in _flat(pilot))
        assert "anna" in (tmp_path / "runs.svg").read_text(encoding="utf-8")
        await export("runs.csv")
        await until(pilot, lambda: (tmp_path / "runs.csv").exists())
        numbers = (tmp_path / "runs.csv").read_text(encoding="utf-8").splitlines()
        assert numbers[0].startswith("run,started,rater,truth")
        assert len(numbers) == 3
        for name, said in (("runs.svg", "exists already"), ("runs.jpg", ".svg, .png, .pdf draw it")):
            await export(name)
            await until(pilot, lambda: isinstance(pilot.app.screen, ErrorDialog))
            assert said in _flat(pilot)
            await press(pilot, "escape")


async def test_a_figure_of_nothing_cannot_be_exported(rated: Path) -> None:
    async with running(rated) as pilot:
        screen = await show(pilot, "calibration")
        assert "with a confidence" in _flat(pilot)
        assert screen.check_action("export", ()) is False
        await press(pilot, "e")
        assert pilot.app.screen is screen


def _x_title(marks: Marks | None) -> str:
    assert isinstance(marks, Scatter)
    return marks.x


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return value


def _flat(pilot: Pilot[Any]) -> str:
    return " ".join(shown(pilot).replace("│", " ").split())


def _says(pilot: Pilot[Any], text: str) -> bool:
    return text in shown(pilot)


async def test_m_chooses_who_is_compared_and_what_cannot_be_drawn_says_why(rated: Path) -> None:
    judge(rated, 1, "pointwise")
    async with running(rated) as pilot:
        screen = await open_views(pilot)
        await press(pilot, "m", "down", "down", "right", "enter")
        await until(pilot, lambda: "rules (down) against bert" in shown(pilot))
        await turn_to(pilot, screen, "3", "q-metric")
        await judged_by_anna(pilot)
        plot, seen = screen.query_one(Plot), []
        for key in ("right", "j", "left", "k"):
            await pilot.press(key)
            seen.append(plot.chosen)
        assert seen == [1, 0, 1, 0]
        before = screen.figure
        await press(pilot, "m", "down", "down", "right", "enter")
        await until(pilot, lambda: screen.figure is not before)
        assert screen.figure is not None
        assert _x_title(screen.figure.marks) in shown(pilot)
        await press(pilot, "m", "right", "enter")
        await until(pilot, lambda: "m chooses another question" in shown(pilot))
        assert "pointwise judges one thing at a time: choose one about pairwise" in _flat(pilot)
        await press(pilot, "enter", "J", "1")
        # one rater alone judged the lists: the figure turns to the question that two have answered
        await until(pilot, lambda: "(down) against bert (across), n=6" in shown(pilot))
