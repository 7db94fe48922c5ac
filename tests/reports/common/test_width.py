"""How wide a table on stdout may be."""

from __future__ import annotations

import pytest

from recjudge_tui.reports.common.table import UNBOUNDED, Screen, TableText, put_written


@pytest.mark.parametrize(
    ("columns", "width"), [("", UNBOUNDED), ("0", UNBOUNDED), ("wide", UNBOUNDED), ("120", 120), ("7", 40)]
)
def test_a_table_that_is_piped_is_as_wide_as_its_cells_or_as_columns_says(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    given: list[int] = []

    def write(screen: Screen) -> TableText:
        given.append(screen.width)
        return TableText("x")

    put_written(write)
    assert (given, capsys.readouterr().out) == ([width], "x")
