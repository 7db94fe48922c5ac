"""What a judge is told of a user."""

from __future__ import annotations

from recjudge_tui.domain.material import ItemView, ShownEvent
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.runs.context import (
    MAX_BROWSED,
    MAX_CLICKS,
    MAX_SEARCHES,
    is_empty,
    preferences,
    user_view,
)
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import read_history
from recjudge_tui.store.projects import project_id
from tests.support.runs import load

HEADER = ("user_id", "item_id", "text", "type", "timestamp", "value")
SETTINGS = RunSettings(protocol="pointwise")
Row = tuple[object, ...]


def project(db: Database, *events: Row) -> int:
    load(db, "items", [("item_id", "title", "category", "brand"), ("i1", "One", "tea|black", "Leaf"),
                       ("i2", "Two", "tea > green", "Leaf"), ("i3", "Three", "pots", "Clay")])  # fmt: skip
    load(db, "events", [HEADER, *events])
    return project_id(db, "films")


def test_events_go_to_their_part_of_the_context_newest_first(db: Database) -> None:
    p = project(
        db,
        ("u", "i1", "", "purchase", "2024-01-01T00:00:00Z", ""),
        ("u", "i2", "", "rating", "2024-01-02T00:00:00Z", 4),
        ("u", "", "green pot", "search", "2024-01-03T00:00:00Z", ""),
        ("u", "i3", "", "view_item", "2024-01-04T00:00:00Z", ""),
        ("u", "i3", "", "browse", "2024-01-05T00:00:00Z", ""),
        ("u", "", "cups", "browse_category", "2024-01-06T00:00:00Z", ""),
        ("other", "i1", "", "purchase", "2024-01-07T00:00:00Z", ""),
    )
    user = user_view(read_history(db, p, "u"), SETTINGS)
    assert user.as_of == "2024-01-06T00:00:00+00:00"
    assert [(e.type, e.item.title if e.item else "", e.value) for e in user.history] == [
        ("rating", "Two", 4.0),
        ("purchase", "One", None),
    ]
    assert [e.text for e in user.searches] == ["green pot"]
    assert [e.type for e in user.clicks] == ["view_item"]
    assert user.browsed == ("cups", "pots")
    assert is_empty(user_view(read_history(db, p, "nobody"), SETTINGS))


def test_the_window_is_closed_at_both_ends(db: Database) -> None:
    days = ("2023-12-31T23:59:59Z", "2024-01-01T00:00:00Z", "2024-01-03T00:00:00Z", "2024-01-03T00:00:01Z")
    p = project(db, *(("u", "i1", "", "purchase", day, "") for day in days))
    settings = SETTINGS.model_copy(update={"as_of": "2024-01-03T00:00:00Z", "history_days": 2})
    found = user_view(read_history(db, p, "u"), settings).history
    assert [e.timestamp for e in found] == ["2024-01-03T00:00:00+00:00", "2024-01-01T00:00:00+00:00"]


def test_six_months_before_the_users_own_last_event_are_shown(db: Database) -> None:
    p = project(
        db,
        ("u", "i1", "", "purchase", "2020-01-01T00:00:00Z", ""),
        ("u", "i2", "", "purchase", "2020-06-15T00:00:00Z", ""),
        ("u", "i3", "", "purchase", "2020-12-01T00:00:00Z", ""),
        ("v", "i1", "", "purchase", "2024-12-01T00:00:00Z", ""),
    )
    titles = [e.item.title for e in user_view(read_history(db, p, "u"), SETTINGS).history if e.item]
    assert titles == ["Three", "Two"]


def test_thousands_of_clicks_do_not_hide_what_was_bought(db: Database) -> None:
    clicks = [
        ("u", "", f"q{n}", "search", f"2024-03-01T{n % 24:02d}:{n // 24:02d}:00Z", "") for n in range(600)
    ]
    views = [("u", "i3", "", "click", f"2024-03-02T{n % 24:02d}:{n // 24:02d}:00Z", "") for n in range(600)]
    browsed = [("u", "", f"aisle {n}", "browse", f"2024-03-03T{n:02d}:00:00Z", "") for n in range(20)]
    p = project(db, ("u", "i1", "", "purchase", "2024-02-01T00:00:00Z", ""), *clicks, *views, *browsed)
    user = user_view(read_history(db, p, "u"), SETTINGS)
    assert [e.item.title for e in user.history if e.item] == ["One"]
    assert (len(user.searches), len(user.clicks), len(user.browsed)) == (
        MAX_SEARCHES,
        MAX_CLICKS,
        MAX_BROWSED,
    )
    assert user.browsed[0] == "aisle 19"


def event(category: str, brand: str = "", value: float | None = None, kind: str = "rating") -> ShownEvent:
    return ShownEvent(
        type=kind, value=value, item=ItemView(item_id="i", title="t", category=category, brand=brand)
    )


def test_preferences_say_only_what_stands_out() -> None:
    assert preferences([]) == ()
    assert preferences([event("a"), event("b"), event("c")]) == ()
    busy = [event("tea"), event("tea"), event("tea|hot"), event("pots")]
    assert preferences(busy) == ("recently active in tea (3 of the last 4 events)",)
    rare = [event("tea")] * 3 + [event(f"c{n}") for n in range(13)]
    assert preferences(rare) == (), "3 of 16 is less than a fifth"
    assert preferences([event("", "Leaf", kind="click")] * 3) == ("comes back to Leaf (3 times)",)


def test_preferences_by_rating_are_against_the_users_own_mean() -> None:
    rated = [event("good", value=5.0)] * 3 + [event("bad", value=2.0)] * 3
    assert preferences(rated)[-1] == "rates highest good (5.0 on average, own mean 3.5)"
    assert not any("rates" in said for said in preferences([event("good", value=5.0)] * 6))
    assert not any("rates" in said for said in preferences(rated[1:5])), "four ratings say nothing"
    searched = [event("good", value=5.0, kind="search")] * 3 + [event("bad", value=2.0, kind="search")] * 3
    assert not any("rates" in said for said in preferences(searched)), "a search is no rating"
