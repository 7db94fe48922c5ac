from __future__ import annotations

import pytest

from recjudge_tui.tui.widgets import interval, spark, stacked


def test_sparkline_shows_the_newest_values_by_height() -> None:
    assert spark([9, 0, 4, 8], 3) == "▁▅█"


def test_a_stacked_bar_fills_exactly_its_width() -> None:
    bar = stacked([(0.5, "=", ""), (0.25, "#", "")], 8)
    assert bar.plain == "====##··"


@pytest.mark.parametrize(
    ("low", "value", "high", "drawn"),
    [
        (2.0, 5.0, 8.0, "··├──●──┤··"),
        (None, 5.0, None, "·····●·····"),
        (None, None, None, "···········"),
        (-5.0, 0.0, 20.0, "●─────────▸"),
    ],
)
def test_interval_on_a_scale(low: float | None, value: float | None, high: float | None, drawn: str) -> None:
    assert interval(low, value, high, (0.0, 10.0), 11) == drawn
