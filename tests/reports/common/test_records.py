"""`plain`: what a screen reader is given."""

from __future__ import annotations

import re

from recjudge_tui.reports.common.table import Column, Row, Table, render
from tests.support.hostile import HOSTILE, NAMED


def test_a_text_of_a_megabyte_is_cut_and_says_so() -> None:
    text = render(Table("T", (Column("a", "A"),), ({"a": NAMED["megabyte"]},)), "plain").text
    assert len(text) < 21_000
    assert "(cut, 1,000,021 characters in all)" in text


def test_no_line_is_drawn_and_no_cell_begins_a_line_of_its_own() -> None:
    rows: tuple[Row, ...] = tuple({"a": text, "b": "x"} for text in HOSTILE)
    text = render(Table("T", (Column("a", "A"), Column("b", "B")), rows), "plain").text
    assert not set(text) & set("─│┌┐└┘━╭╮╯╰\x1b\r")
    body = text.split("\n\n")[1:]
    assert len(body) == len(HOSTILE)
    assert all(re.fullmatch(r"(A: .*\n)?B: x\n?", paragraph) for paragraph in body)
