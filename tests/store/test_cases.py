"""Cases, their occasions and snapshots."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.material import (
    ExplanationView,
    ImageView,
    ItemView,
    ShownEvent,
    SlateView,
    UserView,
)
from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.cases import (
    load_material,
    save_snapshots,
    snapshot_text,
)
from recjudge_tui.store.database import Database
from recjudge_tui.store.schema import connect
from tests.support.runs import add_lists, calls, load, make_project, planned

# ---- test cases --------------------------------------------------------------------------------------------------


PAIRS = [("rater", "user_id", "system_a", "system_b", "value"), ("anna", "u00", "pop", "als", "A"),
         ("anna", "u09", "pop", "als", "B")]  # fmt: skip


def judged_twice(db: Database) -> int:
    """How many cases have both a call and a label."""
    sql = "SELECT count(DISTINCT k.case_id) FROM calls k JOIN verdicts v USING (case_id) WHERE v.import_id IS NOT NULL"
    return db.number(sql)


def test_labels_meet_judges_whichever_came_first(project_db: Path) -> None:
    with connect(project_db) as db:
        make_project(db, users=2)
        load(db, "labels", PAIRS)
        planned(db, protocol="pairwise")
        assert judged_twice(db) == 1
    other = project_db.with_name("other.db")
    with connect(other) as db:
        load(db, "labels", PAIRS)
        project = make_project(db, users=2)
        planned(db, protocol="pairwise")
        assert judged_twice(db) == 1
        bare = db.value("SELECT count(*) FROM cases WHERE slate_a IS NULL AND project_id = ?", (project,))
        assert bare == 1, "of u09 there are no lists"
        add_lists(db, ["u00", "u01"], ["als"], length=3)
        planned(db, protocol="pairwise", rater="later")
        assert judged_twice(db) == 1, "the labels stay with the lists that were there"


# ---- test snapshots ----------------------------------------------------------------------------------------------


@pytest.fixture
def db(db: Database) -> Database:
    make_project(db, users=2)
    return db


def test_equal_content_is_kept_once_and_comes_back_as_it_was(db: Database) -> None:
    view = SlateView(items=(ItemView(item_id="1", title="Zoë “q” \u202e 漢字", attributes={"a": "b"}),))
    with db.transaction():
        other = view.model_copy(update={"items": view.items * 2})
        first, second = save_snapshots(db, "slate", [view, other])
        (third,) = save_snapshots(db, "user", [view])
        assert len({first, second, third}) == 3
        assert list(save_snapshots(db, "user", [view])) == [third]
        assert list(save_snapshots(db, "slate", [view.model_copy(), other, view])) == [first, second, first]
    stored = db.value("SELECT content FROM snapshots WHERE id = ?", (first,))
    assert SlateView.model_validate_json(stored) == view
    run = planned(db, limit=1, systems=("als",))
    case = calls(db, run)[0]["case_id"]
    material = load_material(db, run, case, 4)
    assert (material.kind, len(material.slates), material.user.user_id) == ("list", 1, "u00")
    with pytest.raises(NotFoundError, match=f"run {run} does not contain case 99"):
        load_material(db, run, 99, 4)


_ODD = ('"', "\\", "\n\t\b\f\r\x00\x1f\x7f", "é – 漢字 🎬", "</script>\u2028", "", " ")


@pytest.mark.parametrize("text", _ODD)
def test_the_text_of_a_snapshot_is_that_of_the_model(text: str) -> None:
    items = (
        ItemView(item_id=text, title=text),
        ItemView(item_id="b", title="B", brand=text, category=text, attributes={text: text, "x": "y"},
                 image=ImageView(digest="d", width=1, height=2)),
    )  # fmt: skip
    events = (
        ShownEvent(type=text),
        ShownEvent(type="rating", timestamp=text, item=items[1], text=text, value=0.0, scale=(1.0, 5.0)),
        ShownEvent(type="rating", item=items[0], value=1e-7),
        ShownEvent(type="rating", value=float("inf")),
    )
    views: list[Model] = [
        SlateView(items=()), SlateView(items=items), ExplanationView(item=items[1], text=text, scores={text: 1.5}),
        UserView(user_id=text),
        UserView(user_id=text, attributes={text: text}, as_of=text, history=events, searches=events[:1],
                 clicks=events[1:], others=events, browsed=(text, "b"), preferences=(text,), profile=text),
    ]  # fmt: skip
    for view in views:
        assert snapshot_text(view) == view.model_dump_json(exclude_defaults=True)
    # a field that is added to a user must be added to its text
    assert {*UserView.model_fields} == {
        "user_id", "attributes", "as_of", "history", "searches", "clicks", "others", "browsed", "preferences", "profile",
    }  # fmt: skip
    assert {*SlateView.model_fields} == {"items"}
    assert {*ShownEvent.model_fields} == {"type", "timestamp", "item", "text", "value", "scale"}
