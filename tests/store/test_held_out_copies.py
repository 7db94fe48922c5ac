"""Visible events that are also held out reach no judge and no count, in whatever order the files come and go."""

from __future__ import annotations

import csv
import random
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.occasions import Occasion
from recjudge_tui.importers.load import import_files
from recjudge_tui.project import Project
from recjudge_tui.reports.hostile_texts import hostile_texts_table
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.runs.settings import settings_for
from recjudge_tui.store.data import event_counts, heldout_types
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import held_out_copies, read_history
from recjudge_tui.store.imports import undo_import
from recjudge_tui.store.projects import project_id
from tests.support.requests import sent_request
from tests.support.runs import calls, load, plan_run

NOWHERE = JudgeSpec(spec="openai:m", base_urls=("http://127.0.0.1:9/v1",))
HEADER = ("user_id", "item_id", "type", "timestamp", "value", "context", "served_at")
NOON, NIGHT = "2024-05-01T12:00:00+00:00", "2024-05-01T23:00:00+00:00"


class Row(NamedTuple):
    user: str
    item: str
    type: str
    time: str = ""
    value: str = ""
    context: str = ""
    served_at: str = ""


def put(db: Database, name: str, rows: Sequence[Row], project: str = "films") -> int:
    """The id of an import of a file of these events."""
    path = db.path.with_name(name)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEADER, *rows])
    import_id = import_files(db, project, [path], "events").files[0].import_id
    assert import_id is not None
    return import_id


@pytest.mark.parametrize(
    ("visible", "held", "is_copy"),
    [
        (("rating", NOON, "4"), ("rating", NOON, "4"), True),
        (("rating", NOON, "4"), ("rating", NIGHT, "4"), False),
        (("rating", NOON, "4"), ("rating", "", ""), True),
        (("rating", "", "4"), ("rating", NOON, "4"), True),
        (("rating", "", "4"), ("rating", "", "5"), False),
        (("rating", "", ""), ("rating", "", "5"), True),
        # a label made from the rating
        (("rating", NOON, "5"), ("rating", NOON, "1"), True),
        (("rating", "2024-05-01", "4"), ("rating", NOON, "4"), True),
        (("rating", "2024-05-02", "4"), ("rating", NOON, "4"), False),
        (("rating", "1714564800123", "4"), ("rating", "1714564800", "4"), True),
        (("purchase", NOON, ""), ("purchase", NIGHT, ""), False),
        (("click", "", ""), ("purchase", "", ""), False),
        (("click", NOON, ""), ("purchase", NOON, ""), False),
        (("interaction", NOON, ""), ("purchase", NOON, ""), True),
        (("purchase", "", ""), ("interaction", "", ""), True),
        (("watch", NOON, "4"), ("rating", NOON, "4"), True),
        (("rating", NOON, "4"), ("relevance", "", "1"), True),
        (("Rating", NOON, "4"), ("rating", NOON, "4"), True),
    ],
)  # fmt: skip
def test_events_that_count_as_copies(
    db: Database, visible: tuple[str, str, str], held: tuple[str, str, str], is_copy: bool
) -> None:
    """A copy says nothing else than the held-out event; a purchase made again does."""
    put(db, "all.csv", [Row("u", "i", *visible), Row("u", "j", *visible), Row("v", "i", *visible)])
    put(db, "late.csv", [Row("u", "i", f"heldout_{held[0]}", *held[1:])])
    project = project_id(db, "films")
    shown = [(event.type, event.item_id) for event in read_history(db, project, "u").events]
    assert (len(shown), held_out_copies(db, project).of_all) == ((1, 1) if is_copy else (2, 0))
    notes = hostile_texts_table(Project.numbered(db, project), 100).notes
    assert any("copy of a held-out event" in note for note in notes) == is_copy
    assert any("but another time, value, type or context" in note for note in notes) == (not is_copy)


def history(db: Database, user: str, occasion: Occasion) -> list[str]:
    events = read_history(db, project_id(db, "films"), user)
    return [
        e.item.item_id
        for e in events.within("", "", 9, before=occasion.served_at, occasion=occasion)
        if e.item
    ]


def test_what_one_context_holds_out_is_shown_in_another(db: Database) -> None:
    put(db, "log.csv", [Row("u", item, "click") for item in ("i0", "i1")])
    put(db, "outcomes.csv", [Row("u", "i0", "heldout_click", context="home")])
    assert history(db, "u", Occasion("home")) == ["i1"]
    assert history(db, "u", Occasion("cart")) == ["i1", "i0"]
    assert history(db, "u", Occasion()) == ["i1"]
    assert held_out_copies(db, project_id(db, "films")).sentences == [
        "1 event is a copy of an event held out for one occasion: judges do not see them with the lists of that occasion"
    ]


def test_held_out_events_are_never_among_the_shown(db: Database) -> None:
    kinds = ("purchase", "heldoutish", "heldout_purchase", "HeldOut_Rating")
    put(db, "all.csv", [Row("u", "i", kind, f"2024-0{n}-01T00:00:00Z") for n, kind in enumerate(kinds, 1)])
    project = project_id(db, "films")
    found = read_history(db, project, "u")
    assert [event.type for event in found.within("", "", 9)] == ["heldoutish", "purchase"]
    assert found.last_time == "2024-02-01T00:00:00+00:00"
    assert event_counts(db, project) == {"purchase": 1, "heldoutish": 1}
    assert heldout_types(db, project) == ["HeldOut_Rating", "heldout_purchase"]
    assert read_history(db, project, "nobody").last_time == ""


def lists_of_all(db: Database, users: Sequence[str]) -> None:
    rows = [(user, system, f"i{90 + at}", 1) for user in users for at, system in enumerate(("als", "pop"))]
    load(db, "lists", [("user_id", "system", "item_id", "rank"), *rows])


def may_be_one(visible: Row, held: Row) -> bool:
    """The rule of `v_held_out_matches` in plain words, for events of one type with times to the second or none."""
    if visible[:2] != held[:2]:
        return False
    if visible.time and held.time:
        return visible.time == held.time
    return not visible.value or not held.value or float(visible.value) == float(held.value)


def drawn_project(draw: random.Random) -> tuple[list[Row], list[Row]]:
    """Visible and held-out ratings of three users on few items: copies with and without time and value, and ratings made
    again."""

    def rating() -> Row:
        time = draw.choice(["", f"2024-05-0{draw.randint(1, 3)}T0{draw.randint(1, 3)}:00:00+00:00"])
        value = draw.choice(["", "2", "4"])
        return Row(f"u{draw.randrange(3)}", f"i{draw.randrange(12)}", "rating", time, value)

    held = [rating() for _ in range(draw.randint(0, 8))]
    copies = [
        row._replace(time=draw.choice([row.time, ""]), value=draw.choice([row.value, ""]))
        for row in held
        if draw.random() < 0.6
    ]
    visible = [rating() for _ in range(draw.randint(3, 20))] + copies
    draw.shuffle(visible)
    return visible, held


def test_no_held_out_item_is_in_any_prompt(db: Database) -> None:
    """Random projects: the history of each rendered prompt is exactly what a plain loop leaves over."""
    load(db, "items", [("item_id", "title"), *((f"i{n}", f"Thing-{n}.") for n in range(92))])
    draw, hidden, texts = random.Random(7), 0, 0
    for round_ in range(12):
        visible, held = drawn_project(draw)
        half = len(visible) // 2
        held = [row._replace(type="heldout_rating") for row in held]
        parts = [("a.csv", visible[:half]), ("b.csv", visible[half:]), ("c.csv", held)]
        draw.shuffle(parts)
        stored = [put(db, f"{round_}-{name}", rows) for name, rows in parts if rows]
        users = sorted({row.user for row in visible})
        if not round_:
            lists_of_all(db, ["u0", "u1", "u2"])
        left = [row for row in visible if not any(may_be_one(row, other) for other in held)]
        hidden += len(visible) - len(left)
        wanted = {user: {row.item for row in left if row.user == user} for user in users}
        request = RunRequest(
            project_id(db, "films"),
            NOWHERE,
            settings_for("pairwise", history=50, history_days=9999),
            f"r{round_}",
        )
        made = plan_run(db, request)
        assert made.run_id is not None
        for call in calls(db, made.run_id):
            user = db.value("SELECT user_id FROM cases WHERE id = ?", (call["case_id"],))
            text = "\n".join(message.content for message in sent_request(db, call["id"]).messages)
            assert {f"i{n}" for n in range(12) if f"Thing-{n}." in text} == wanted[user]
            texts += 1
        for import_id in stored:
            undo_import(db, import_id)
    assert hidden > 20
    assert texts > 40
