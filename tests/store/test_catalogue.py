"""What was imported, as it stands now."""

from __future__ import annotations

from recjudge_tui.store.data import event_counts, heldout_types
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import read_history
from recjudge_tui.store.projects import project_id
from tests.support.runs import load

EVENTS = ("user_id", "item_id", "text", "type", "timestamp", "value")


def test_held_out_events_are_never_among_the_shown(db: Database) -> None:
    load(db, "events", [
        EVENTS,
        ("u", "a", "", "purchase", "2024-01-01T00:00:00Z", ""),
        ("u", "b", "", "heldout_purchase", "2024-03-01T00:00:00Z", ""),
        ("u", "c", "", "HeldOut_Rating", "2024-04-01T00:00:00Z", ""),
        ("u", "d", "", "heldoutish", "2024-02-01T00:00:00Z", ""),
    ])  # fmt: skip
    p = project_id(db, "films")
    history = read_history(db, p, "u")
    assert [e.type for e in history.within("", "", 9)] == ["heldoutish", "purchase"]
    assert history.last_time == "2024-02-01T00:00:00+00:00"
    assert event_counts(db, p) == {"purchase": 1, "heldoutish": 1}
    assert heldout_types(db, p) == ["HeldOut_Rating", "heldout_purchase"]
    assert read_history(db, p, "nobody").last_time == ""


def test_events_come_newest_first_and_so_many_of_each_type(db: Database) -> None:
    rows = [("u", f"i{n}", "", kind, f"2024-01-{n:02d}T00:00:00Z", n)
            for n in range(1, 6) for kind in ("click", "buy")]  # fmt: skip
    load(db, "events", [EVENTS, *rows, ("u", "", "words", "search", "", "")])
    found = read_history(db, project_id(db, "films"), "u").within("", "", 2)
    assert [(e.type, e.timestamp[8:10]) for e in found] == [
        ("buy", "05"), ("click", "05"), ("buy", "04"), ("click", "04"), ("search", ""),
    ]  # fmt: skip
    assert (found[0].value, found[0].item and found[0].item.title, found[4].item) == (5.0, "i5", None)
