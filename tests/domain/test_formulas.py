"""Text that a spreadsheet would run, marked and unmarked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.domain.text import marked, unmarked
from tests.support.hostile import HOSTILE


@given(st.sampled_from(HOSTILE) | st.text(st.sampled_from("'=+-@＝ \t\r1.a"), max_size=8) | st.text())
def test_there_and_back(text: str) -> None:
    assert unmarked(marked(text)) == text


@given(st.text(st.sampled_from("'=+-@ 1a"), max_size=8))
def test_two_texts_never_meet(text: str) -> None:
    """A text that begins with an apostrophe of its own is told from one that was marked."""
    assert marked(text) != marked(f"'{text}")
