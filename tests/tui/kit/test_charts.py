from __future__ import annotations

import pytest

from recjudge_tui.tui.widgets import UNICODE, interval, spark, stacked


def test_sparkline_shows_the_newest_values_by_height() -> None:
    assert spark([9, 0, 4, 8], 3, UNICODE) == "▁▅█"


def test_sparkline_of_nothing_is_flat_or_empty() -> None:
    assert spark([], 5, UNICODE) == ""
    assert spark([0, 0], 5, UNICODE) == "▁▁"


def test_a_stacked_bar_fills_exactly_its_width() -> None:
    bar = stacked([(0.5, "=", ""), (0.25, "#", "")], 8, UNICODE)
    assert bar.plain == "====##··"


def test_a_small_share_still_gets_a_cell_and_the_bar_never_runs_over() -> None:
    assert stacked([(0.999, "#", ""), (0.001, "x", "")], 10, UNICODE).plain == "##########"
    assert stacked([(0.5, "#", ""), (0.001, "x", "")], 10, UNICODE).plain == "#####x····"


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


def test_interval_on_a_scale_of_one_point_stands_in_the_middle() -> None:
    assert interval(1.0, 1.0, 1.0, (1.0, 1.0), 5) == "··●··"
