"""Every format, to the letter, and with texts that bite."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.rows import with_columns
from recjudge_tui.reports.common.table import Column, Table, render, write

TABLE = Table(
    "Agreement & more",
    (
        Column("rater", "Rater"),
        Column("stat", "Statistic"),
        Column("value", "Value", "float"),
        Column("ci_low", "CI low", "ci"),
        Column("ci_high", "CI high", "ci"),
        Column("share", "Share", "share"),
        Column("n", "n", "int"),
        Column("note", "Note"),
    ),
    (
        {"rater": "漢字 judge", "stat": "qwk", "value": 0.61234, "ci_low": 0.5, "ci_high": 0.7, "share": 0.125, "n": 1204},
        {"rater": "=cmd_1", "stat": "ac2", "value": None, "share": None, "n": 0, "note": "no item rated by both"},
    ),
    ("left out: 3 | 4",),
    {"seed": 0},
)  # fmt: skip


def test_json_has_the_documented_shape() -> None:
    content = json.loads(render(TABLE, "json").text)
    assert list(content) == ["title", "columns", "rows", "answer", "notes", "settings"]
    assert content["columns"][2] == {"name": "value", "label": "Value", "kind": "float"}
    assert content["rows"][0] == {
        "rater": "漢字 judge", "stat": "qwk", "value": 0.61234, "ci_low": 0.5, "ci_high": 0.7, "share": 0.125,
        "n": 1204, "note": None,
    }  # fmt: skip
    assert content["rows"][1]["value"] is None
    assert content["rows"][1]["note"] == "no item rated by both"
    assert content["notes"] == ["left out: 3 | 4"]
    assert content["settings"] == {"seed": 0}


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_table_refuses_nan(bad: float) -> None:
    with pytest.raises(ValueError, match="undefined"):
        Table("t", (Column("a", "A"),), ({"a": bad},))


def test_a_table_refuses_a_cell_without_a_column() -> None:
    with pytest.raises(ValueError, match="no column"):
        Table("t", (Column("a", "A"),), ({"b": 1},))


def test_columns_are_chosen_by_name_or_heading_in_the_order_given() -> None:
    (chosen,) = with_columns((TABLE,), ("n", "Rater", "n"))
    assert [column.name for column in chosen.columns] == ["n", "rater"]
    assert chosen.rows[0] == {"n": 1204, "rater": "漢字 judge"}
    assert render(chosen, "csv").text.splitlines()[0] == "n,rater"
    other = Table("Other", (Column("x", "X"),), ({"x": "1"},))
    assert with_columns((TABLE, other), ("rater",))[1] == other
    with pytest.raises(UsageError, match="no column “nope”"):
        with_columns((TABLE, other), ("rater", "nope"))


def test_write_to_a_file_replaces_it_whole(tmp_path: Path) -> None:
    target = tmp_path / "t.json"
    target.write_text("old")
    write(TABLE, "json", target)
    assert json.loads(target.read_text())["title"] == "Agreement & more"
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]
