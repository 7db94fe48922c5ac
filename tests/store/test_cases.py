"""Cases, their occasions and snapshots."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.material import (
    CaseKind,
    ExplanationView,
    ImageView,
    ItemView,
    ShownEvent,
    SlateView,
    UserView,
)
from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.cases import (
    CaseKey,
    Direction,
    case_row,
    ensure_case,
    list_cases,
    load_material,
    save_snapshots,
    showable_case,
    snapshot_text,
)
from recjudge_tui.store.data import newest_slates
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import create_project
from recjudge_tui.store.schema import connect
from tests.support.app.projects import make_project as make_app_project
from tests.support.runs import add_lists, calls, load, make_project, planned

# ---- test cases --------------------------------------------------------------------------------------------------


PAIRS = [("rater", "user_id", "system_a", "system_b", "value"), ("anna", "u00", "pop", "als", "A"),
         ("anna", "u09", "pop", "als", "B")]  # fmt: skip


def judged_twice(db: Database) -> int:
    """How many cases have both a call and a label."""
    sql = "SELECT count(DISTINCT k.case_id) FROM calls k JOIN verdicts v USING (case_id) WHERE v.import_id IS NOT NULL"
    return db.number(sql)


def test_the_same_key_is_the_same_case_and_any_difference_another(project_db: Path) -> None:
    with connect(project_db) as db:
        project = make_project(db, users=2)
        slates = newest_slates(db, project)["u00"]
        a, b = slates["als"].slate_id, slates["pop"].slate_id
        key = CaseKey("pair", "u00", "als", "pop", "", a, b)
        first = ensure_case(db, project, key)
        assert ensure_case(db, project, key) == first
        others = [key._replace(kind="list", system_b="", slate_b=None), key._replace(user_id="u01"),
                  key._replace(slate_b=a), key._replace(item_id="i1")]  # fmt: skip
        found = {ensure_case(db, project, other) for other in others}
        assert len(found | {first}) == 5
        assert (case_row(db, first)["project"], case_row(db, first)["slate_b"]) == ("films", b)
        assert [row["case_id"] for row in list_cases(db, project, 2)] == sorted(found | {first})[:2]
        with pytest.raises(NotFoundError, match="no case 999"):
            case_row(db, 999)


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


def test_steps_go_over_cases_that_can_be_shown(project_db: Path) -> None:
    project = make_app_project(project_db, cases=3)
    with connect(project_db) as db:
        with db.transaction():
            # labels alone made this one: nothing of it can be shown
            ensure_case(db, project, CaseKey("pair", "stranger", "als", "cooc"))
            other = create_project(db, "other")
            elsewhere = ensure_case(db, other, CaseKey("list", "u", "als"))
        pairs = db.column("SELECT id FROM cases WHERE kind = 'pair' AND slate_b IS NOT NULL ORDER BY id")

        def at(step: Direction, case: int = 0, project: int = project, kind: CaseKind = "pair") -> int | None:
            row = showable_case(db, project, kind, step, case)
            return row and row["id"]

        assert at("first") == pairs[0]
        assert [at("next", pair) for pair in pairs] == [*pairs[1:], None]
        assert [at("previous", pair) for pair in pairs] == [None, *pairs[:-1]]
        assert at("at", pairs[2]) == pairs[2]
        assert (at("at", pairs[2], other), at("at", elsewhere, other, "list")) == (None, None)
        assert at("first", kind="explanation") is None


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
