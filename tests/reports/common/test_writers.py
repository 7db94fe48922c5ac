"""Every format, to the letter, and with texts that bite."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.table import (
    Column,
    Kind,
    Row,
    Screen,
    Table,
    render,
    with_columns,
    write_table,
)
from recjudge_tui.reports.common.writers.cells import shown
from recjudge_tui.reports.common.writers.data import ExportFormat, write_rows

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


@pytest.mark.parametrize("width", [40, 80, 120])
def test_text_fits_whatever_the_width(width: int) -> None:
    columns = tuple(Column(f"c{i}", f"A column {i}", "float") for i in range(9))
    names = (Column("system", "System"), Column("rater", "Rater"))
    rows: tuple[Row, ...] = tuple(
        {"system": f"系統 number {i} of a long name", "rater": f"rater {i // 3}"}
        | {f"c{k}": i + k / 7 for k in range(9)}
        for i in range(9)
    )
    text = render(Table("Wide", names + columns, rows), "text", Screen(width)).text
    assert max(cell_len(line) for line in text.splitlines()) <= width
    for figure in ("8.143", "0.286"):
        assert figure in text


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


def test_a_note_on_a_column_goes_with_the_column() -> None:
    columns = Column("x", "X"), Column("y", "Y", "share"), Column("z", "Zeta", "float", minor=True)
    notes = "Y: the share of X", "Zeta: a small thing", "Yes: not about Y"
    rows = tuple({"x": name * 20, "y": share, "z": 3 * share} for name, share in (("a", 0.5), ("b", 0.25)))
    full = Table("Title", columns, rows, notes)
    empty = replace(full, rows=tuple({**row, "y": None} for row in rows))
    (chosen,) = with_columns((full,), ("x", "y"))

    def shown_notes(table: Table, width: int = 100) -> list[str]:
        text = render(table, "text", Screen(width)).text
        return [line[2:] for line in text.splitlines() if line.startswith("- ") and "hidden" not in line]

    assert shown_notes(full) == list(notes)
    assert shown_notes(empty) == list(notes[1:])
    assert shown_notes(full, 32) == [notes[0], notes[2]]
    assert shown_notes(chosen) == list(chosen.notes) == [notes[0], notes[2]]
    assert shown_notes(replace(full, rows=())) == list(notes)


def test_write_to_stdout_and_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    write_table(TABLE, "csv")
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "rater,stat,value,ci_low,ci_high,share,n,note"
    assert "apostrophe" in err


def test_write_to_a_file_replaces_it_whole(tmp_path: Path) -> None:
    target = tmp_path / "t.json"
    target.write_text("old")
    write_table(TABLE, "json", target)
    assert json.loads(target.read_text())["title"] == "Agreement & more"
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]


@pytest.mark.parametrize("fmt", ["json", "jsonl"])
def test_exported_rows_have_no_numbers_that_json_does_not_have(fmt: ExportFormat) -> None:
    rows = [(float("nan"), [1.5, float("inf"), {"z": float("-inf")}])]
    file = io.StringIO()
    write_rows(("x", "y"), rows, fmt, file)
    written = json.loads(file.getvalue(), parse_constant=pytest.fail)
    assert (written if fmt == "jsonl" else written[0]) == {"x": None, "y": [1.5, None, {"z": None}]}


@pytest.mark.parametrize(
    ("value", "kind", "decimals", "expected"),
    [
        (0.0, "ci", 3, "0.000"),
        (5e-05, "ci", 3, "<0.001"),
        (-5e-05, "ci", 3, ">-0.001"),
        (0.00049999, "float", 3, "<0.001"),
        (0.00051, "float", 3, "0.001"),
        (4e-05, "float", 4, "<0.0001"),
        (2e-9, "float", 2, "<0.01"),
        (0.0004, "share", 3, "<0.1 %"),
        (0.0006, "share", 3, "0.1 %"),
        (0.0, "share", 3, "0.0 %"),
        (0.00003, "usd", 3, "<$0.0001"),
        (0.02, "seconds", 3, "<0.1 s"),
        (1234.5, "float", 1, "1,234.5"),
    ],
)
def test_figures_of_a_column_have_the_same_decimals(
    value: float, kind: Kind, decimals: int, expected: str
) -> None:
    """Also a figure that would round to 0: never 5e-05 beside 0.215, and never 0."""
    assert shown(value, Column("value", "Value", kind, decimals=decimals)) == expected
    table = Table("T", (Column("value", "Value", kind, decimals=decimals),), ({"value": value},))
    assert expected in render(table, "text").text
