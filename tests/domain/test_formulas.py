"""Text that a spreadsheet would run, marked and unmarked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.domain.text import marked, unmarked
from tests.support.hostile import HOSTILE


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1+1", "@SUM(A1)", "\t=x", "\rx", "\nx", "  =1", "\u00a0@x", "＝1", "＋1", "－1", "＠x", "-", "-x"],
)  # fmt: skip
def test_formulas_get_an_apostrophe(text: str) -> None:
    assert marked(text) == f"'{text}"


@pytest.mark.parametrize(
    "text", ["", " ", "a=b", "-1", "-12.5", "-.5", "-1e-7", "3", "'tis", "1-2", "(=1)", "’=1"]
)
def test_other_text_is_unchanged(text: str) -> None:
    assert marked(text) == text


@given(st.sampled_from(HOSTILE) | st.text(st.sampled_from("'=+-@＝ \t\r1.a"), max_size=8) | st.text())
def test_there_and_back(text: str) -> None:
    assert unmarked(marked(text)) == text


@given(st.text(st.sampled_from("'=+-@ 1a"), max_size=8))
def test_two_texts_never_meet(text: str) -> None:
    """A text that begins with an apostrophe of its own is told from one that was marked."""
    assert marked(text) != marked(f"'{text}")
