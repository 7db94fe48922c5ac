"""Why a row of the list needs a reader."""

from __future__ import annotations

import pytest

from recjudge_tui.store.verdicts import Opinions, VerdictRow
from recjudge_tui.tui.row_list import fitted, shared_prefix
from recjudge_tui.tui.verdict_list import VerdictList, why


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


def test_columns_shrink_before_they_go_and_the_last_one_keeps_its_first_words() -> None:
    columns = VerdictList(1).columns
    needs = {"mark": 1, "user": 14, "systems": 44, "rater": 18, "judge": 16, "people": 14, "why": 60}
    for width in (62, 100, 160):
        widths = fitted(columns, needs, width)
        assert sum(widths.values()) == width
        assert widths["why"] - 1 >= len("against people")
        assert "user" in widths
    # other raters go first, and then the answers of people
    assert list(fitted(columns, needs, 45)) == ["mark", "user", "systems", "judge", "why"]
    # names that begin and end alike stay apart
    assert fitted(columns, needs | {"systems<": 30}, 70)["systems"] - 1 >= 30


def test_what_all_names_begin_with_stands_above_them() -> None:
    assert shared_prefix(["ml1m-als-2024", "ml1m-cooc-2024"]) == "ml1m-"
    assert shared_prefix(["als", "als-2"]) == shared_prefix(["als"]) == shared_prefix([]) == ""
    assert shared_prefix(["prefix-", "prefix-a"]) == ""


@pytest.mark.parametrize(
    ("flags", "expected"), [(1, "already owned"), (2, "already owned +1"), (5, "already owned +4")]
)
def test_flags_of_other_kinds_are_not_counted_as_the_one_named(flags: int, expected: str) -> None:
    row = VerdictRow(
        1, 1, "llm", "judge", "pointwise", "overall", "Poor", None, False, False, flags, "already_owned", "", False,
        False, (),
    )  # fmt: skip
    assert why(row) == expected
