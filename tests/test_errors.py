"""An error in one line."""

from __future__ import annotations

from recjudge_tui.errors import InputError


def test_the_parts_of_an_error_in_one_line_are_sentences() -> None:
    assert InputError("a.csv is binary", next_step="Export it.").sentences == "a.csv is binary. Export it."
    assert (
        InputError("a.csv cannot be read", "It is gone.", "Look.").sentences
        == "a.csv cannot be read. It is gone. Look."
    )
    assert InputError("nothing new").sentences == "nothing new"
