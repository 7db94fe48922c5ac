"""The columns of the home at the widths of terminals."""

from __future__ import annotations

import pytest

from recjudge_tui.reports.home.home import Home
from recjudge_tui.reports.home.results import FlagCount, FlagShares
from recjudge_tui.tui.home.layout import GAP, laid_out
from recjudge_tui.tui.kit.glyphs import glyphs

_FLAGS = FlagShares("rules", ("als",), (("any", {"als": FlagCount(0.5, 1, 2, "")}),))


@pytest.mark.parametrize("home", [Home(), Home(flags=_FLAGS), Home(runs=()), Home(flags=_FLAGS, runs=())])
@pytest.mark.parametrize("width", [200, 160, 120, 80, 40])
def test_no_column_stays_empty(home: Home, width: int) -> None:
    layout = laid_out(home, "films", (), (width, 60), glyphs())
    count = len(layout.columns)
    assert all(layout.columns)
    assert width - count < count * layout.width + GAP * (count - 1) <= width
