"""Users drawn from every activity level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.domain.selection import activity_levels
from recjudge_tui.runs.cases import across_levels
from recjudge_tui.runs.context import user_view
from recjudge_tui.runs.settings import settings_for
from recjudge_tui.store.data import shown_event_counts
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import read_history
from recjudge_tui.store.schema import connect
from tests.support.runs import SYSTEMS, add_lists, load, make_project, plan

USERS = st.dictionaries(st.text("abcdef", min_size=1, max_size=4), st.integers(0, 60), max_size=60)


@given(USERS)
def test_levels_hold_every_user_once_and_do_not_overlap(events: dict[str, int]) -> None:
    levels = activity_levels(events)
    assert sorted(user for level in levels for user in level.users) == sorted(events)
    for before, after in pairwise(levels):
        assert before.high < after.low
    assert len(levels) <= 5
    assert all(level.low <= events[user] <= level.high for level in levels for user in level.users)


def test_the_bounds_are_quartiles() -> None:
    levels = activity_levels({f"u{n:02}": n for n in range(41)})
    assert [(level.low, level.high, len(level.users)) for level in levels] == [
        (0, 0, 1), (1, 10, 10), (11, 20, 10), (21, 30, 10), (31, 40, 10),
    ]  # fmt: skip
    assert levels[1].name == "1 to 10 shown events (of 10 users)"
    # one heavy user among light ones: most share a number, and so a level
    assert [(level.low, level.high) for level in activity_levels({"a": 3, "b": 3, "c": 3, "d": 90})] == [
        (3, 3),
        (90, 90),
    ]


@given(USERS, st.randoms(use_true_random=False), st.booleans())
def test_any_number_from_the_front_has_even_shares(
    events: dict[str, int], random: Random, idle: bool
) -> None:
    levels = activity_levels(events)
    shuffled = [(user, user) for user in events]
    random.shuffle(shuffled)
    turned = [user for user, _ in across_levels(shuffled, levels, idle=idle)]
    assert sorted(turned) == sorted(events)
    meant = [level for level in levels if idle or level.high]
    for count in range(min((len(level.users) for level in meant), default=0) * len(meant) + 1):
        taken = [sum(user in level.users for user in turned[:count]) for level in meant]
        assert max(taken, default=0) - min(taken, default=0) <= 1


@pytest.fixture
def db(project_db: Path) -> Iterator[Database]:
    """Sixteen users with 5 events each and four with 40 more, all with lists."""
    with connect(project_db) as db:
        make_project(db, users=16)
        busy = [f"b{n}" for n in range(4)]
        rows = [
            (user, f"i{n}", "", "rating", f"2024-05-{1 + n % 28:02d}T{n % 24:02d}:00:00Z", 3)
            for user in busy
            for n in range(40)
        ]
        load(db, "events", [("user_id", "item_id", "text", "type", "timestamp", "value"), *rows])
        add_lists(db, busy, SYSTEMS)
        yield db


def drawn(db: Database, **wished: Any) -> tuple[Counter[str], dict[str, int]]:
    """How many users of each first letter a run judges, and what its estimate says of the levels."""
    found = plan(db, systems=("als",), **wished)
    users = [
        row[0]
        for row in db.rows(
            """SELECT DISTINCT c.user_id FROM calls k JOIN cases c ON c.id = k.case_id WHERE k.run_id = ?""",
            (found.run_id,),
        )
    ]
    return Counter(user[0] for user in users), found.estimate.strata


def test_half_of_a_stratified_sample_are_the_few_busy_users(db: Database) -> None:
    took, strata = drawn(db, sample=8, stratify="activity")
    assert took == {"u": 4, "b": 4}
    assert strata == {"5 shown events (of 16 users)": 4, "40 shown events (of 4 users)": 4}
    plain, nothing = drawn(db, sample=8, rater="plain")
    assert nothing == {}
    assert plain["u"] > 4


def test_events_are_counted_in_the_window_that_is_shown(db: Database) -> None:
    project = 1
    old = [("u00", "i1", "", "rating", "2019-01-01T00:00:00Z", 3)]
    again = [("u01", "i2", "", "rating", "2024-05-01T12:00:00Z", 3)] * 2
    timeless = [("u02", "i9", "", "rating", "", 1)]
    load(
        db, "events", [("user_id", "item_id", "text", "type", "timestamp", "value"), *old, *again, *timeless]
    )
    for days, as_of in (
        (183, ""),
        (2, ""),
        (5000, ""),
        (183, "2024-05-03"),
        (1, "2024-05-03T12:00:00+00:00"),
    ):
        settings = settings_for("pointwise", history=1000, history_days=days, as_of=as_of)
        until = user_view(read_history(db, project, "u00"), settings).as_of if as_of else ""
        counts = shown_event_counts(db, project, days, until)
        for user in ("u00", "u01", "u02", "b0"):
            shown = user_view(read_history(db, project, user), settings)
            assert counts.get(user, 0) == len(shown.history) + len(shown.searches) + len(shown.clicks)


def test_users_without_events_come_last(db: Database) -> None:
    add_lists(db, [f"x{n}" for n in range(6)], SYSTEMS)
    took, strata = drawn(db, sample=20, stratify="activity")
    assert took == {"u": 16, "b": 4}
    assert strata["0 shown events (of 6 users)"] == 0
    idle, _ = drawn(db, sample=9, stratify="activity", no_history=True, rater="idle")
    assert idle == {"x": 3, "u": 3, "b": 3}
