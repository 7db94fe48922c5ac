"""Many lists of one user: what replaces what, which lists make a case, and where labels go."""

from __future__ import annotations

import re

import pytest

from recjudge_tui.domain.imports import ImportSummary
from recjudge_tui.importers.load import import_files
from recjudge_tui.reports.cases import case_text
from recjudge_tui.runs.cases import NOT_BEFORE
from recjudge_tui.runs.engine import work
from recjudge_tui.store.case_detail import case_detail
from recjudge_tui.store.database import Database
from recjudge_tui.tui.case import case_content
from tests.support.runs import RULES, load, plan, planned

ITEMS = [("item_id", "title"), *((f"i{n}", f"Film {n}") for n in range(20))]
LISTS = ("user_id", "system", "item_id", "rank", "context", "served_at")
EVENTS = ("user_id", "item_id", "type", "timestamp")
PAIR = ("rater", "user_id", "system_a", "system_b", "value", "context", "served_at")
MAY, JUNE = "2024-05-10T00:00:00+00:00", "2024-06-10T00:00:00+00:00"


@pytest.fixture
def films(db: Database) -> Database:
    load(db, "items", ITEMS)
    days = [("u", f"i{n}", "purchase", f"2024-05-{day:02d}") for n, day in enumerate((1, 9, 10, 20))]
    load(db, "events", [EVENTS, *days])
    return db


def add(db: Database, *lists: tuple[str, str, str, str], user: str = "u") -> None:
    """Lists of one item as (system, item, context, served_at)."""
    load(db, "lists", [LISTS, *((user, s, item, 1, context, time) for s, item, context, time in lists)])


def label(db: Database, *words: str, header: tuple[str, ...] = PAIR) -> ImportSummary:
    path = db.path.with_name(f"label-{len(list(db.path.parent.glob('*.csv')))}.csv")
    path.write_text(",".join(header) + "\n" + ",".join(words) + "\n", encoding="utf-8")
    return import_files(db, "films", [path], "labels")


def shown(db: Database, run_id: int) -> list[tuple[str, ...]]:
    """(context, the items of the shown history) of every case."""
    return list(db.tuples(
        """SELECT c.context,
             (SELECT group_concat(json_extract(h.value, '$.item.item_id')) FROM json_each(s.content, '$.history') h)
           FROM run_cases rc JOIN cases c ON c.id = rc.case_id JOIN snapshots s ON s.id = rc.user_snapshot
           WHERE rc.run_id = ? ORDER BY c.context""",
        (run_id,),
    ))  # fmt: skip


def test_the_history_ends_strictly_before_the_list_was_served(films: Database) -> None:
    add(films, ("a", "i10", "early", "2024-05-09T00:00:01Z"), ("a", "i11", "exact", MAY))
    add(films, ("a", "i12", "late", JUNE), ("a", "i13", "none", ""), ("a", "i14", "first", "2024-05-01"))
    run = plan(films, RULES, "pointwise")
    assert run.run_id is not None
    assert shown(films, run.run_id) == [
        ("early", "i1,i0"), ("exact", "i1,i0"), ("late", "i3,i2,i1,i0"), ("none", "i3,i2,i1,i0"),
    ]  # fmt: skip
    assert run.estimate.left_out == {"user without history before the list was served": 1, NOT_BEFORE: 8}
    earlier = planned(films, RULES, "pointwise", as_of="2024-05-09", rater="earlier")
    assert shown(films, earlier) == [(name, "i1,i0") for name in ("early", "exact", "late", "none")]


def test_of_two_times_the_earlier_ends_the_history(films: Database) -> None:
    add(films, ("a", "i10", "", JUNE), ("b", "i11", "", MAY))
    assert shown(films, planned(films, RULES, "pairwise")) == [("", "i1,i0")]


@pytest.mark.parametrize(
    ("context", "served_at", "met"),
    [("home", MAY, 1), ("home", "", 0), ("cart", "", 1), ("", JUNE, 1), ("", "", 0), ("desk", "", 0)],
)
@pytest.mark.parametrize("labels_first", [False, True])
def test_labels_meet_the_case_they_name_in_either_order(
    films: Database, context: str, served_at: str, met: int, labels_first: bool
) -> None:
    words = ("ana", "u", "b", "a", "A", context, served_at)
    if labels_first:
        label(films, *words)
    add(films, *((s, i, c, t) for c, t in (("home", MAY), ("home", "2024-05-12"), ("cart", JUNE))
                 for s, i in (("a", "i1"), ("b", "i2"))))  # fmt: skip
    warned = {} if labels_first else label(films, *words).warning_kinds
    run = planned(films, RULES, "pairwise")
    both = "SELECT count(*) FROM verdicts v JOIN run_cases rc ON rc.case_id = v.case_id WHERE rc.run_id = ?"
    assert films.value(both, (run,)) == met
    assert films.value("SELECT count(*) FROM cases") == 3 + (1 - met)
    if not labels_first:
        unclear = context != "desk" and not met
        assert warned.get("unclear occasion", 0) == unclear


def test_events_without_a_time_are_shown_and_counted(films: Database) -> None:
    load(
        films,
        "events",
        [EVENTS, *(("u", f"i{n}", "purchase", "") for n in (15, 16)), ("w", "i17", "purchase", "")],
    )
    add(films, ("a", "i10", "home", MAY), ("a", "i11", "cart", JUNE))
    add(films, ("a", "i10", "", ""), user="w")
    made = plan(films, RULES, "pointwise")
    assert made.estimate.undated_note.startswith("2 events of 1 user have no time: they are shown")
    assert made.run_id is not None
    assert shown(films, made.run_id) == [
        ("", "i17"),
        ("cart", "i3,i2,i1,i0,i16,i15"),
        ("home", "i1,i0,i16,i15"),
    ]
    assert work(films.path, made.run_id).state == "done"
    said = {}
    for case, verdict, context in films.rows(
        "SELECT c.id, v.id, c.context FROM cases c JOIN verdicts v ON v.case_id = c.id WHERE c.kind = 'list'"
    ):
        page = " ".join(case_text(films, case, 100).split())
        panel = case_content(case_detail(films, verdict), 100).plain
        said[context] = set(re.findall(r"\d of \d events have no time", page + panel))
        assert (not said[context]) == ("have no time" not in panel)
    assert said == {"": set(), "home": {"2 of 4 events have no time"}, "cart": {"2 of 6 events have no time"}}
