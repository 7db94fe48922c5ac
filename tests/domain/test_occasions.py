"""Which lists are compared, and which occasion a label means."""

from __future__ import annotations

from datetime import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.domain.occasions import (
    EVERY_OCCASION,
    NO_OCCASION,
    Occasion,
    compared_times,
    meant_occasions,
    occasion_filter,
    parse_time,
)
from recjudge_tui.errors import UsageError

TIMES = st.lists(st.sampled_from(["", "2024-01-01", "2024-01-02", "2024-01-03"]), min_size=1, unique=True)


@given(TIMES, TIMES)
def test_of_many_lists_those_of_one_time_are_compared(a: list[str], b: list[str]) -> None:
    found = compared_times(a, b)
    if len(a) + len(b) > 2:
        assert {x for x, y in found if x == y} == set(a) & set(b)
    assert len({x for x, _ in found}) == len({y for _, y in found}) == len(found)
    assert found == [(x, y) for y, x in compared_times(b, a)]


def test_a_fully_named_occasion_is_used_else_all_that_fit() -> None:
    home, cart = Occasion("home", "2024-01-01"), Occasion("cart", "2024-01-02")
    assert meant_occasions(home, [home, cart]) == [home]
    assert meant_occasions(Occasion("cart"), [home, cart]) == [cart]
    assert meant_occasions(Occasion("", "2024-01-01"), [home, cart]) == [home]
    assert meant_occasions(NO_OCCASION, [home, cart]) == [home, cart]
    assert meant_occasions(NO_OCCASION, [home, cart, NO_OCCASION]) == [NO_OCCASION]
    assert meant_occasions(Occasion("home", "2024-01-02"), [home, cart]) == []
    assert meant_occasions(Occasion("desk"), []) == []


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("2024-05-01", "2024-05-01T23:59:59+00:00"),
        ("2024-05-01T12:00:00Z", "2024-05-01T12:00:00+00:00"),
        ("2024-05-01T12:00:00", "2024-05-01T12:00:00+00:00"),
        ("2024-05-01T01:00:00+02:00", "2024-04-30T23:00:00+00:00"),
    ],
)
def test_times_are_read_as_utc_unless_they_say_otherwise(written: str, stored: str) -> None:
    assert parse_time(written) == stored
    if "T" not in written:
        assert parse_time(written, of_day=time.min) == "2024-05-01T00:00:00+00:00"


def test_a_date_is_a_whole_day_and_the_last_one_counts() -> None:
    may = occasion_filter((), "2024-05-01", "2024-05-31")
    inside = ["2024-05-01T00:00:00+00:00", "2024-05-31T23:59:59+00:00", "2024-05-31T23:59:59.900000+00:00"]
    assert all(may.has_time(served_at) for served_at in inside)
    outside = ["", "2024-04-30T23:59:59+00:00", "2024-06-01T00:00:00+00:00"]
    assert not any(may.has_time(served_at) for served_at in outside)
    assert occasion_filter((), "", "2024-05-01T12:00Z").has_time("2024-05-01T12:00:00+00:00")
    assert all(EVERY_OCCASION.has_time(served_at) for served_at in (*inside, *outside))


@pytest.mark.parametrize(
    ("start", "end", "says"),
    [
        ("2024-06-01", "2024-05-31", "2024-06-01 is after 2024-05-31"),
        ("yesterday", "", "“yesterday” is not a time Write it as 2024-05-01"),
        ("", "2024-13-01", "“2024-13-01” is not a time"),
    ],
)
def test_an_invalid_time_is_refused(start: str, end: str, says: str) -> None:
    with pytest.raises(UsageError) as error:
        occasion_filter((), start, end)
    assert says in str(error.value)
