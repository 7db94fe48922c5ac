"""The layout of the home for the widths of terminals."""

from __future__ import annotations

import pytest

from recjudge_tui.reports.home import Board, Home, PeopleAgreement, QueueSizes, Totals
from recjudge_tui.reports.read_first import First
from recjudge_tui.reports.topics import Topic
from recjudge_tui.store.answers import FlipCount
from recjudge_tui.store.projects import DataCounts
from recjudge_tui.store.verdicts import Opinions, VerdictRow
from recjudge_tui.tui.home import GAP, Destination, laid_out, width_of

_ROW = VerdictRow(
    7, 3, "qwen2.5:14b", "judge", "pairwise", "overall", "A", 0.41, False, False, 0, "", "", False, True, (1, 2),
    value=1.0, user_id="u-17", systems=("exp-als-2024", "exp-cooc-2024"), people=(Opinions("B", -1.0, 2),),
)  # fmt: skip
_FIRST = (First(_ROW, "judge against people", "[Set 1 = als] repeats two sequels"),)
_SYSTEM = {"rank": 1, "rank_low": 1, "rank_high": 2, "n": 5, "wins": 3, "ties": 1, "losses": 1, "cases": ""}
_FULL = Home(
    totals=Totals(200, 400, 0, 2, 2, "qwen2.5:14b"),
    runs=(),
    data=DataCounts(40, 400, 0, ("als", "cooc"), 360, 0, 2, "2024-03-21", "2024-05-15", 480, 0,
                    {"anna": 5}, 5),
    queue=QueueSizes(None, ()),
    flips=(FlipCount("qwen2.5:14b", "pairwise", "overall", 2, 10),),
    board=Board(
        Topic("pairwise", "overall"), "qwen2.5:14b", "win rate",
        ({**_SYSTEM, "system": "exp-als-2024", "score": 0.6, "ci_low": 0.5, "ci_high": 0.7},
         {**_SYSTEM, "system": "exp-cooc-2024", "score": 0.4, "ci_low": 0.3, "ci_high": 0.5}),
        answer="als leads.",
    ),
    agreement=PeopleAgreement(
        "Quadratic weighted κ", "rules", "anna", 0.2, 6, 0.61, 6, "", "", (-0.1, 0.5), (0.3, 0.8)
    ),
)  # fmt: skip


@pytest.mark.parametrize("width", [200, 160, 120, 78, 40])
@pytest.mark.parametrize("home", [Home(), Home(runs=()), _FULL])
def test_columns_hold_their_lines_and_none_stays_empty(home: Home, width: int) -> None:
    layout = laid_out(home, _FIRST if home is _FULL else None, (), (width, 60))
    assert all(layout.columns)
    assert sum(layout.widths) + GAP * (len(layout.widths) - 1) == width
    for lines, room in zip(layout.columns, layout.widths, strict=True):
        assert all(width_of(line) <= room for line in lines)


@pytest.mark.parametrize("width", [200, 120, 78])
def test_what_it_says(width: int) -> None:
    layout = laid_out(_FULL, _FIRST, (), (width, 22))
    lines = [
        "".join(cell.text for cell in line) for column in (layout.top, *layout.columns) for line in column
    ]
    text = " ".join(" ".join(lines).split())
    for words in (
        "als leads. Agreement of rules with anna: Quadratic weighted κ .20 [-.10, .50]; people agree with each other .61.",
        "exp-…", "1-2 als-2024", "3/1/1", "als-2024 ◂ cooc-2024", "against people: B B", "only 6 cases: too few",
        "no held-out events: no nDCG", "served 2024-03-21 to 2024-05-15",
    ):  # fmt: skip
        assert words in text
    assert layout.first == Destination("first", "7")
    assert (width < 200) or "“repeats two sequels”" in text
