"""The figures drawn large: confusion, Q matrix, Q against a metric, ensembles, label sets; and the plots themselves."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot

from recjudge_tui.reports.confusion import confusion_table
from recjudge_tui.reports.leaderboard import LeaderboardOptions, leaderboard_table
from recjudge_tui.reports.pairing import AgreementOptions
from recjudge_tui.store.database import connect
from recjudge_tui.tui.look import ASCII, UNICODE, Glyphs
from recjudge_tui.tui.plots import Axes, Mark, curve, scatter
from recjudge_tui.tui.screens.cases import CasesScreen
from recjudge_tui.tui.screens.views import ViewsScreen
from recjudge_tui.tui.widgets.figure_table import FigureTable
from recjudge_tui.tui.widgets.plot import Plot
from tests.hostile import HOSTILE
from tests.tui.driving import SIZES, press, running, shown, until
from tests.tui.lists import import_labels, import_lists, judge

QS = [
    Mark("nrms", 0.5004, 2.95, 2.5, 3.3),
    Mark("lightgcn", 0.499, 2.06, 1.8, 2.4),
    Mark("deepfm", 0.4956, 1.56),
]


# key, figure, what the list of cases says of itself
OPENED = (
    ("2", "duels", "als against text"),
    ("3", "metric", "judge:anna   system:als"),
    ("4", "ensembles", "judge:bert   judge:anna"),
    ("5", "sets", "sets of 3"),
)


@pytest.fixture
def rated(project_db: Path) -> Path:
    """Six pairs judged by the rules and labelled by two people."""
    judge(project_db, import_lists(project_db, users=6))
    import_labels(project_db)
    return project_db


async def open_views(pilot: Pilot[Any]) -> ViewsScreen:
    await pilot.press("a")
    await until(pilot, lambda: "Quadratic weighted" in shown(pilot), 20)
    await press(pilot, "v")
    screen = pilot.app.screen
    assert isinstance(screen, ViewsScreen)
    await until(pilot, lambda: screen.found is not None, 20)
    return screen


async def turn_to(pilot: Pilot[Any], screen: ViewsScreen, key: str, view: str) -> str:
    await press(pilot, key)
    await until(pilot, lambda: screen.found is not None and screen.found.view == view, 20)
    await pilot.pause(0.05)
    return shown(pilot)


async def judged_by_anna(pilot: Pilot[Any]) -> str:
    await press(pilot, "m", "down", "right", "enter")
    await until(pilot, lambda: "by anna" in shown(pilot))
    await pilot.pause(0.05)
    return shown(pilot)


@pytest.mark.parametrize("size", SIZES)
async def test_every_figure_shows_what_its_report_says(rated: Path, size: tuple[int, int]) -> None:
    with connect(rated) as db:
        cells = confusion_table(db, 1, AgreementOptions("pairwise", "overall", ("rules", "anna"))).rows
        ranked = leaderboard_table(db, 1, LeaderboardOptions("pairwise", "anna", "overall", "q")).rows
    async with running(rated, size=size) as pilot:
        screen = await open_views(pilot)
        text = shown(pilot)
        assert "[1 confusion]" in text
        assert "rules (down) against anna (across), n=6" in text
        counts = [int(word.strip("[]")) for line in text.splitlines() if line.startswith(("│A", "│ A"))
                  for word in line.strip("│ ").split()[1:]]  # fmt: skip
        assert counts == [row["count"] for row in cells if row["label_a"] == "A"] + [sum(counts[:-1])]

        await turn_to(pilot, screen, "2", "duels")
        text = await judged_by_anna(pilot)
        first = next(row for row in ranked if row["system"] == "als")
        assert f"[{first['q']:.2f}]" in text
        assert f"{first['wins']} won, {first['ties']} tied" in " ".join(text.replace("│", " ").split())

        text = await turn_to(pilot, screen, "3", "metric")
        assert "◉" in text
        assert "[als]" in text
        assert "text" in text
        await press(pilot, "l")
        assert "[text]" in shown(pilot)

        text = await turn_to(pilot, screen, "tab", "ensembles")
        assert "Means of 1 to 2 raters against anna" in text
        assert "[1]" in text
        assert "highest" in text

        text = await turn_to(pilot, screen, "tab", "sets")
        assert "[5 label sets]" in text
        assert "Labels in the sets of rules (down), verdict (across), n=6" in text
        assert "3 labels" in text
        assert "of 6 verdicts" in " ".join(text.replace("│", " ").split())


async def test_enter_on_a_part_opens_the_cases_behind_it(rated: Path) -> None:
    with connect(rated) as db:
        cells = confusion_table(db, 1, AgreementOptions("pairwise", "overall", ("rules", "anna"))).rows
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
        await turn_to(pilot, screen, "2", "duels")
        await judged_by_anna(pilot)
        for key, view, said in OPENED:
            await turn_to(pilot, screen, key, view)
            await press(pilot, "enter")
            await until(pilot, lambda: isinstance(pilot.app.screen, CasesScreen))
            await until(pilot, partial(_says, pilot, said))
            await press(pilot, "q")


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
        await turn_to(pilot, screen, "3", "metric")
        await judged_by_anna(pilot)
        plot, seen = screen.query_one(Plot), []
        for key in ("right", "j", "left", "k"):
            await pilot.press(key)
            seen.append(plot.chosen)
        assert seen == [1, 0, 1, 0]
        before = screen.found
        await press(pilot, "m", "down", "down", "right", "enter")
        await until(pilot, lambda: screen.found is not before)
        assert screen.found is not None
        assert screen.found.axes.x in shown(pilot)
        await press(pilot, "m", "right", "enter")
        await until(pilot, lambda: "m chooses another question" in shown(pilot))
        assert "pointwise judges one thing at a time: choose one about pairwise" in _flat(pilot)
        await press(pilot, "enter", "J", "1")
        await until(pilot, lambda: "needs a second rater" in shown(pilot))


@pytest.mark.parametrize("look", [UNICODE, ASCII], ids=["unicode", "ascii"])
@pytest.mark.parametrize(("width", "height"), [(74, 12), (30, 8), (5, 2), (190, 50)])
def test_a_plot_has_its_size_and_shows_every_point(look: Glyphs, width: int, height: int) -> None:
    for draw in (scatter, curve):
        lines = draw(QS, 1, Axes("auc", "Q"), width, height, look).plain.splitlines()
        assert len(lines) == max(height, 7)
        assert max(map(len, lines)) <= max(width, 21)
        point, chosen = ("o", "@") if look == ASCII else ("●", "◉")
        drawn = "\n".join(lines[1:])
        assert drawn.count(chosen) == 1
        assert look is ASCII or drawn.count(point) in (1, 2)
        if look == ASCII:
            assert drawn.isascii()


def test_points_stand_where_their_values_are() -> None:
    lines = scatter(QS, 0, Axes("auc", "Q"), 74, 20, UNICODE).plain.splitlines()
    rows = {
        name: next(i for i, line in enumerate(lines) if name in line)
        for name in ("nrms", "lightgcn", "deepfm")
    }
    assert rows["nrms"] < rows["lightgcn"] < rows["deepfm"]
    columns = {name: lines[row].index("◉" if name == "nrms" else "●") for name, row in rows.items()}
    assert columns["nrms"] > columns["lightgcn"] > columns["deepfm"]
    assert "[nrms]" in lines[rows["nrms"]]
    assert lines[0] == "Q by auc"


def test_one_point_alone_and_equal_points_are_drawn() -> None:
    for marks in ([QS[0]], [Mark("a", 1.0, 0.0), Mark("b", 1.0, 0.0)]):
        assert "◉" in scatter(marks, 0, Axes("x", "y"), 40, 10, UNICODE).plain
        assert "◉" in curve(marks, 0, Axes("x", "y"), 40, 10, UNICODE).plain


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_in_a_plot(text: str) -> None:
    drawn = scatter([Mark(text, 0.1, 1.0), Mark("b", 0.2, 2.0)], 0, Axes(text, text), 60, 12, UNICODE)
    assert not [
        c for c in drawn.plain if c != "\n" and (ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c == "\u202e")
    ]
    assert max(cell_len(line) for line in drawn.plain.splitlines()[1:]) <= 60
