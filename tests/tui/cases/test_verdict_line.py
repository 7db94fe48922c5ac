"""Why a row of the list needs a reader."""

from __future__ import annotations

import pytest

from recjudge_tui.store.verdicts import Opinions, VerdictRow
from recjudge_tui.tui.row_list import Column, fitted, shared_prefix
from recjudge_tui.tui.verdict_list import why


@pytest.mark.parametrize(
    ("protocol", "value", "people", "expected"),
    [
        ("explanation", 4.0, 3.0, ""),
        ("explanation", 4.0, 2.5, ""),
        ("explanation", 4.0, 2.0, "against people"),
        ("pairwise", 1.0, 0.0, "against people"),
        ("pointwise", 2.0, 1.0, "against people"),
    ],
)
def test_people_are_contradicted_from_the_smallest_disagreement_of_the_protocol_on(
    protocol: str, value: float, people: float, expected: str
) -> None:
    opinions = (Opinions("theirs", people, 2),)
    row = VerdictRow(
        1, 1, "llm", "judge", protocol, "overall", "own", None, False, False, 0, "", "", False, False, (),
        value=value, people=opinions,
    )  # fmt: skip
    assert why(row) == expected


def test_no_column_is_cut_while_another_has_more_room() -> None:
    columns = [Column(name, lambda row, _: (row, ""), 30, 4) for name in "abc"]
    assert fitted(columns, {"a": 20, "b": 8, "c": 3}, 30) == {"a": 17, "b": 9, "c": 4}
    assert fitted(columns, {"a": 20, "b": 20, "c": 3}, 30) == {"a": 13, "b": 13, "c": 4}


def test_what_all_names_begin_with_stands_above_them() -> None:
    assert shared_prefix(["ml1m-als-2024", "ml1m-cooc-2024"]) == "ml1m-"
    assert shared_prefix(["als", "als-2"]) == shared_prefix(["als"]) == shared_prefix([]) == ""
    assert shared_prefix(["prefix-", "prefix-a"]) == ""
