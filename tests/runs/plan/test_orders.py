"""Pairs asked once: which list comes first, and that no system gains or loses by its name."""

from __future__ import annotations

import csv
import io
from collections import Counter

import pytest

from recjudge_tui.project import Project
from recjudge_tui.reports.exports import write_verdicts
from recjudge_tui.store.database import Database
from tests.support.first_list import judged_by_position
from tests.support.requests import sent_request
from tests.support.runs import calls, load

USERS = 7


def project_of(db: Database, systems: tuple[str, ...]) -> int:
    """Every user has a rating and a list by each system; what a list holds depends on the system's place, not its name."""
    load(db, "items", [("item_id", "title"), *((f"i{n}", f"Film {n}") for n in range(80))])
    events: list[tuple[object, ...]] = [("user_id", "item_id", "type", "value")]
    lists: list[tuple[object, ...]] = [("user_id", "system", "item_id", "rank")]
    for n in range(USERS):
        events.append((f"u{n}", f"i{n}", "rating", 4))
        lists += [
            (f"u{n}", system, f"i{10 * (place + 1) + n + rank}", rank + 1)
            for place, system in enumerate(systems)
            for rank in range(2)
        ]
    load(db, "events", events)
    load(db, "lists", lists)
    return int(db.value("SELECT id FROM projects"))


def shown_first(db: Database, run_id: int) -> list[tuple[str, str, str]]:
    """(user, the system shown first, the other one) of every call, read from the rendered prompt."""
    found = []
    for call in calls(db, run_id):
        case = db.row("SELECT * FROM cases WHERE id = ?", (call["case_id"],))
        assert case is not None
        text = sent_request(db, call["id"]).messages[-1].content
        titles = {
            case[f"system_{side}"]: db.value(
                """SELECT i.title FROM slate_items s JOIN items i ON i.item_id = s.item_id
                   WHERE s.slate_id = ? AND s.rank = 1""",
                (case[f"slate_{side}"],),
            )
            for side in ("a", "b")
        }
        first, second = sorted(titles, key=lambda system: text.rindex(f"1. {titles[system]}\n"))
        found.append((case["user_id"], first, second))
    return found


@pytest.mark.parametrize("protocol", ["pairwise", "arena"])
@pytest.mark.parametrize("baseline", ["apple", "mango", "zebra"])
def test_the_tested_system_is_shown_first_and_the_baseline_second(
    db: Database, protocol: str, baseline: str
) -> None:
    project = project_of(db, ("mango", "zebra", "apple"))
    run = judged_by_position(db, project, protocol, "first", swap=False, baseline=baseline)
    shown = shown_first(db, run)
    tested = {"apple", "mango", "zebra"} - {baseline}
    assert Counter(pair[1:] for pair in shown) == {(system, baseline): USERS for system in tested}


@pytest.mark.parametrize("protocol", ["pairwise", "arena"])
def test_without_a_baseline_each_system_comes_first_in_half_of_the_cases(db: Database, protocol: str) -> None:
    project = project_of(db, ("mango", "zebra", "apple"))
    run = judged_by_position(db, project, protocol, "first", swap=False, seed=3)
    shown = shown_first(db, run)
    counts = Counter(pair[1:] for pair in shown)
    assert sorted(counts.values()) == [3, 3, 3, 4, 4, 4]
    assert all(abs(counts[a, b] - counts[b, a]) == 1 for a, b in counts)
    other = judged_by_position(db, project, protocol, "other", swap=False, seed=4)
    assert shown_first(db, other) != shown
    assert exported_first(db, project) == {
        (user, first) for user, first, _ in [*shown, *shown_first(db, other)]
    }
    again = judged_by_position(db, project, protocol, "again", swap=False, seed=3)
    assert shown_first(db, again) == shown


def exported_first(db: Database, project: int) -> set[tuple[str, str]]:
    """(user, the system shown first) as the export of verdicts says."""
    out = io.StringIO()
    write_verdicts(Project.numbered(db, project), "", "csv", out)
    return {(row["user_id"], row["shown_first"]) for row in csv.DictReader(io.StringIO(out.getvalue()))}
