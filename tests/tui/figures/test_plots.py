"""Marks drawn with characters: each kind in its room, values where they belong, names that would harm."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from recjudge_tui.reports.figures.marks import Bars, Forest, Grid, GridCell, Lines, Mark, Marks, Scatter
from recjudge_tui.tui.figures import draw
from tests.support.hostile import HOSTILE


def every_kind(name: str = "als") -> list[Marks]:
    pair = (
        Mark(name, 0.5, 0.2, 0.8, name, 0.0, 4),
        Mark("b", None, group="b", x=1.0),
        Mark("c", 0.3, n=4, x=2.0),
    )
    shares = tuple(
        Mark(bar, share, group=part, n=4)
        for bar in (name, "b")
        for part, share in (("Good", 0.5), (name, 0.5))
    )
    return [
        Forest(pair, name), Bars(shares, name), Scatter(pair, name, name, name),
        Lines(pair, name, name, name, (name, "b", "c")),
        Lines(pair, name, name, ticks=(name, "b", "c"), joined=True),
        Lines(pair, name, name, diagonal=name, counts="n", front=name),
    ]  # fmt: skip


@pytest.mark.parametrize(("width", "height"), [(74, 12), (40, 8), (190, 50)])
def test_every_kind_keeps_to_its_room_and_marks_the_chosen_one(width: int, height: int) -> None:
    for marks in every_kind():
        lines = draw(marks, 0, width, height).plain.splitlines()
        assert len(lines) <= height
        assert max(map(cell_len, lines)) <= width
        assert any("[" in line or "◉" in line or "@" in line for line in lines)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_harm_no_plot(text: str) -> None:
    for marks in every_kind(text):
        drawn = draw(marks, 0, 60, 12).plain
        assert not [c for c in drawn if c != "\n" and (ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c == "\u202e")]


def test_values_are_where_they_belong() -> None:
    shares = [("als", (0.5, 0.25, 0.25)), ("text", (0.0, 0.0, 1.0))]
    labels = ("Good", "Partial", "Poor")
    bars = tuple(
        Mark(name, s, group=label) for name, of in shares for label, s in zip(labels, of, strict=True)
    )
    lines = draw(Bars(bars, "share"), 0, 55, 12).plain.splitlines()
    first, second = (next(line for line in lines if name in line) for name in ("[als", " text"))
    assert (first.count("█"), first.count("▓"), first.count("▒")) == (22, 11, 11)
    assert (second.count("█"), second.count("▓"), second.count("▒")) == (0, 0, 44)
    many = Forest(tuple(Mark(f"s{at}", float(at), n=4) for at in range(50)), "Q")
    for chosen in (0, 25, 49):
        assert f"[s{chosen}" in draw(many, chosen, 40, 12).plain
    points = (Mark("nrms", 2.95, x=0.5004), Mark("lightgcn", 2.06, x=0.499), Mark("deepfm", 1.56, x=0.4956))
    lines = draw(Scatter(points, "auc", "Q"), 0, 74, 20).plain.splitlines()
    rows = [next(at for at, line in enumerate(lines) if name.name in line) for name in points]
    assert rows == sorted(rows)
    assert lines[0] == "Q by auc"


def test_an_interval_beyond_the_axis_is_an_arrow() -> None:
    narrow = [Mark(str(at), 0.5 + at / 100, 0.48 + at / 100, 0.52 + at / 100) for at in range(4)]
    marks = (*narrow, Mark("w", 0.51, 0.0, 1.0, x=4.0))
    drawn = draw(Forest(marks, "x"), 0, 90, 20).plain
    assert (drawn.count("◂"), drawn.count("▸"), drawn.count("├")) == (1, 1, 4)
    assert draw(Lines(marks, "x", "y", ticks=tuple("01234"), joined=True), 0, 90, 20).plain.count("▴") == 1


def test_a_grid_has_its_cells_sums_and_second_figures() -> None:
    row = {"n": 1}
    cells = {("A", "A"): GridCell(0.5, "1", "50%", row=row), ("A", "B"): GridCell(None, "–", row=row)}
    marks = Grid(("A",), ("A", "B"), cells, "a", "b", row_sums=(1,), column_sums=(1, 0), below_title="share")
    lines = [line.split() for line in draw(marks, 0, 40, 12).plain.splitlines()]
    assert lines == [["A", "B", "all"], ["A", "[1]", "–", "1"], ["50%"], ["all", "1", "0", "1"], []]
    flat = [line.split() for line in draw(marks, 1, 40, 3).plain.splitlines()]
    assert flat == [["A", "B", "all"], ["A", "1", "[–]", "1"], ["all", "1", "0", "1"]]
