"""The columns of the home at the widths of terminals."""

from __future__ import annotations

import pytest

from recjudge_tui.reports.home import (
    Board,
    BoardLine,
    FlagCount,
    FlagShares,
    Home,
    PeopleAgreement,
    QueueSizes,
    Totals,
    Trend,
)
from recjudge_tui.reports.topics import Topic
from recjudge_tui.store.answers import FlipCount
from recjudge_tui.store.projects import DataCounts, Labeller
from recjudge_tui.tui.home import GAP, laid_out, width_of
from recjudge_tui.tui.widgets import UNICODE, glyphs

_FLAGS = FlagShares("rules", ("als",), (("any", {"als": FlagCount(0.5, 1, 2, "")}),))


@pytest.mark.parametrize("home", [Home(), Home(flags=_FLAGS), Home(runs=()), Home(flags=_FLAGS, runs=())])
@pytest.mark.parametrize("width", [200, 160, 120, 80, 40])
def test_no_column_stays_empty(home: Home, width: int) -> None:
    layout = laid_out(home, "films", (), (width, 60), glyphs())
    count = len(layout.columns)
    assert all(layout.columns)
    assert width - count < count * layout.width + GAP * (count - 1) <= width


_SHARE = FlagCount(0.5, 1, 2, "")
# the longest that each block usually has to say
_FULL = Home(
    totals=Totals(200, 400, 0, 2, 2, "qwen2.5:14b"),
    runs=(),
    data=DataCounts(40, 400, 0, ("als", "cooc"), 360, 0, 2, "2024-03-21", "2024-05-15", 480, 0,
                    (Labeller("anna", 5),), 5),
    queue=QueueSizes(None, ()),
    flips=(FlipCount("qwen2.5:14b", "pairwise", "overall", 2, 10),),
    board=Board(Topic("explanation", "accuracy"), "qwen2.5:14b", "mean",
                (BoardLine("als", 1, 2.0, 1.0, 3.0, None, None, None, 5, ""),)),
    agreement=PeopleAgreement("Quadratic weighted κ", "rules", "anna", 0.0, 6),
    flags=FlagShares("rules", ("als", "cooc"), tuple(
        (kind, {"als": _SHARE, "cooc": _SHARE})
        for kind in ("any", "minimum-variation redundancy", "durable-goods redundancy"))),
    trend=Trend("import", "win_rate", ("import 6", "import 7"),
                {"minimum-variation": (0.4, 0.5), "als": (0.6, 0.5)}),
)  # fmt: skip


@pytest.mark.parametrize("width", [200, 120, 78])
def test_no_word_is_cut_where_a_line_below_is_free(width: int) -> None:
    layout = laid_out(_FULL, "films", (), (width, 22), UNICODE)
    lines = ["".join(cell.text for cell in line) for column in layout.columns for line in column]
    assert [line for line in lines if UNICODE.cut in line] == []
    text = " ".join(" ".join(lines).split())
    for words in (
        "no held-out events: no nDCG", "minimum-variation", "durable-goods", "served 2024-03-21",
        "only 6 cases: too few", "explanation accuracy by qwen2.5:14b", "Win rate by import",
    ):  # fmt: skip
        assert words in text


@pytest.mark.parametrize("width", [200, 120, 78, 40])
def test_no_line_is_longer_than_its_column(width: int) -> None:
    layout = laid_out(_FULL, "films", (), (width, 22), UNICODE)
    assert all(width_of(line) <= layout.width for column in layout.columns for line in column)
