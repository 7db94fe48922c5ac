"""Marks drawn with characters: each kind in its room, values where they belong, names that would harm."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from recjudge_tui.reports.figures.marks import Bars, Forest, Grid, GridCell, Lines, Mark, Marks, Scatter
from recjudge_tui.tui.figures import marks_table, plot


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


def cells(marks: Marks, width: int) -> list[list[str]]:
    return [[cell.plain for cell in line] for line in marks_table(marks, width).lines]


@pytest.mark.parametrize(("width", "height"), [(74, 12), (40, 8), (190, 50)])
def test_every_kind_keeps_to_its_room_and_marks_the_chosen_one(width: int, height: int) -> None:
    for marks in every_kind():
        assert all(sum(cell_len(cell) + 2 for cell in line) <= width for line in cells(marks, width))
        if isinstance(marks, Scatter | Lines):
            lines = plot(marks, marks.marks[0].row, width, height).plain.splitlines()
            assert len(lines) <= height
            assert max(map(cell_len, lines)) <= width
            assert any("◉" in line for line in lines)


def test_nothing_to_mark_is_no_fault() -> None:
    none = (Mark("a", None, group="a"),)
    for marks in (Forest((), "x"), Bars((), "x"), Scatter(none, "x", "y"), Lines(none, "x", "y", front="a")):
        assert cells(marks, 40) == []
    assert marks_table(Grid((), (), {}, "a", "b"), 40).first_cell() == 0


def test_values_are_where_they_belong() -> None:
    shares = [("als", (0.5, 0.25, 0.25)), ("text", (0.0, 0.0, 1.0))]
    labels = ("Good", "Partial", "Poor")
    bars = tuple(
        Mark(name, s, group=label) for name, of in shares for label, s in zip(labels, of, strict=True)
    )
    first, second = (line[1] for line in cells(Bars(bars, "share"), 57))
    assert (first.count("█"), first.count("▓"), first.count("▒")) == (22, 11, 11)
    assert (second.count("█"), second.count("▓"), second.count("▒")) == (0, 0, 44)
    points = (Mark("nrms", 2.95, x=0.5004), Mark("lightgcn", 2.06, x=0.499), Mark("deepfm", 1.56, x=0.4956))
    lines = plot(Scatter(points, "auc", "Q"), None, 74, 20).plain.splitlines()
    rows = [next(at for at, line in enumerate(lines) if name.name in line) for name in points]
    assert rows == sorted(rows)
    assert "Q" in lines[-1]
    assert "auc" in lines[-1]


def test_twice_and_half_as_good_are_equally_far_from_even() -> None:
    points = tuple(Mark(f"{q}", q, x=q) for q in (4.0, 1.0, 0.25))
    lines = plot(Scatter(points, "ndcg", "Q", doublings=True), None, 74, 24).plain.splitlines()
    first, second, third = (at for at, line in enumerate(lines) if {*"●◉"} & {*line})
    assert abs(first + third - 2 * second) <= 1
    assert sum(line.strip().startswith(("4┤", "1┤", "0.25┤")) for line in lines) == 3


def test_an_interval_beyond_the_axis_is_an_arrow() -> None:
    narrow = [Mark(str(at), 0.5 + at / 100, 0.48 + at / 100, 0.52 + at / 100) for at in range(4)]
    marks = (*narrow, Mark("w", 0.51, 0.0, 1.0, x=4.0))
    drawn = "".join(line[1] for line in cells(Forest(marks, "x"), 90))
    assert (drawn.count("◂"), drawn.count("▸"), drawn.count("├")) == (1, 1, 4)
    assert plot(Lines(marks, "x", "y", ticks=tuple("01234"), joined=True), None, 90, 20).plain.count("▴") == 1


def test_a_grid_has_its_cells_sums_and_second_figures() -> None:
    row = {"n": 1}
    given = {("A", "A"): GridCell(0.5, "1", "50%", row=row), ("A", "B"): GridCell(None, "–", row=row)}
    marks = Grid(("A",), ("A", "B"), given, "a", "b", row_sums=(1,), column_sums=(1, 0), below_title="share")
    made = marks_table(marks, 40)
    assert [head.plain for head in made.heads] == ["", "A", "B", "all"]
    assert cells(marks, 40) == [["A", "1\n50%", "–\n", "1"], ["all", "1", "0", "1"]]
    assert (made.row(0, 0), made.row(0, 1), made.row(1, 1)) == (None, row, None)
