"""Why a row of the list needs a reader."""

from __future__ import annotations

import pytest

from recjudge_tui.store.verdicts import Opinions, VerdictRow
from recjudge_tui.tui.verdict_list import Needs, columns_for, header_line, why
from recjudge_tui.tui.widgets import UNICODE, middle


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


def test_names_have_the_room_that_short_reasons_leave() -> None:
    needs = Needs(user=9, systems=14, judge=16, people=5, why=len("spread 3"))
    columns = columns_for(62, needs)
    assert list(columns) == ["user", "systems", "judge", "people", "why"]
    assert [columns[name] - 1 for name in ("user", "systems", "judge", "people")] == [9, 14, 16, 6]
    assert columns["why"] > len("spread 3")
    assert len(header_line(columns)) == 62
    # with room for everything the number of the case stands first
    assert next(iter(columns_for(100, needs))) == "case"


def test_a_long_reason_takes_no_more_than_its_first_words() -> None:
    needs = Needs(user=14, systems=44, judge=16, people=14, why=60)
    assert columns_for(62, needs)["why"] - 1 >= len("against people")


def test_the_user_stays_in_a_narrow_list_of_one_system() -> None:
    needs = Needs(user=3, systems=12, judge=7, why=20)
    assert list(columns_for(38, needs)) == ["user", "systems", "judge", "why"]
    # without users there is nothing to stay
    assert "user" not in columns_for(38, Needs(systems=12, judge=7, why=20))


def test_systems_that_begin_and_end_alike_stay_apart() -> None:
    names = frozenset({"attr_nonpersonal", "attr_personal", "item"})
    needs = Needs(user=20, systems=16, judge=16, people=5, why=8, names=names)
    width = columns_for(62, needs)["systems"] - 1
    assert len({middle(name, width, UNICODE) for name in names}) == len(names)
    pairs = needs._replace(systems=32, paired=True)
    assert columns_for(70, pairs)["systems"] - 1 >= 2 * width + 3


@pytest.mark.parametrize(
    ("flags", "expected"), [(1, "already owned"), (2, "already owned +1"), (5, "already owned +4")]
)
def test_flags_of_other_kinds_are_not_counted_as_the_one_named(flags: int, expected: str) -> None:
    row = VerdictRow(
        1, 1, "llm", "judge", "pointwise", "overall", "Poor", None, False, False, flags, "already_owned", "", False,
        False, (),
    )  # fmt: skip
    assert why(row) == expected
