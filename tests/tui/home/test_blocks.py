"""Blocks of the home from figures that a project rarely has."""

from __future__ import annotations

from recjudge_tui.reports.home import FlagCount, FlagShares, Home
from recjudge_tui.tui.home import flags
from recjudge_tui.tui.widgets import glyphs


def test_an_undefined_share_of_flags_is_no_zero() -> None:
    counts = {"als": FlagCount(None, 0, 0, ""), "cooc": FlagCount(0.0, 0, 3, "")}
    block = flags(Home(flags=FlagShares("rules", ("als", "cooc"), (("any", counts),))), 60, glyphs())
    assert block is not None
    texts = ["".join(cell.text for cell in line).split() for line in block.lines]
    assert texts[1] == ["any", "kind", glyphs().none, "0%"]
