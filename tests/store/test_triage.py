from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recjudge_tui.errors import StoreError
from recjudge_tui.model.filters import parse_filter
from recjudge_tui.store.database import Database, connect
from recjudge_tui.store.triage import (
    SORTS,
    count_verdicts,
    exported_rows,
    filtered_ids,
    next_marked,
    verdict_rows,
)
from tests.tui.factory import make_explanations, make_project

# make_project(cases=6) stores, for pair n: the judge's verdict 3n-2, then anna's and bert's
JUDGED = (1, 4, 7, 10, 13, 16)


@pytest.fixture
def db(project_db: Path) -> Iterator[Database]:
    make_project(project_db, "other", cases=1)
    project = make_project(project_db, "movies", cases=6)
    assert project == 2
    with connect(project_db) as opened:
        yield opened


def found(db: Database, text: str, project: int = 2) -> list[int]:
    """Numbers of verdicts from 1 in the project, whatever came before it in the file."""
    first = filtered_ids(db, project)[0]
    return [key - first + 1 for key in filtered_ids(db, project, parse_filter(text))]


def test_a_project_sees_its_own_verdicts_only(db: Database) -> None:
    assert found(db, "") == list(range(1, 19))
    assert count_verdicts(db, 2) == 18
    assert count_verdicts(db, 1) == 3


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("judge:qwen", JUDGED),
        ("judge:QWEN2.5:14b", JUDGED),
        ("why:swap", (4,)),
        ("why:flag", (7,)),
        ("flag:any", (7,)),
        ("flag:variation", (7,)),
        ("flag:owned", ()),
        ("why:failed", (10,)),
        ("state:failed", (10,)),
        ("why:failed why:swap", (4, 10)),
        ("why:failed why:swap judge:anna", ()),
        ("conf<.5", (1,)),
        ("conf>=.5 conf<.7", (4, 7)),
        ("label:tie", (4, 16)),
        ("label:t", ()),
        ("system:als judge:bert label:a", (6, 12, 18)),
        ("system:cooc user:u2", (7, 8, 9)),
        ("user:u", ()),
        ("aspect:overall state:failed", (10,)),
        ("protocol:arena", ()),
        ('"two sequels"', (1, 4, 7, 10, 13, 16)),
        ('"never answered"', (10,)),
        ("insider judge:anna label:b", (2, 8, 14)),
        ("i7 user:u1", (4, 5, 6)),
        ("100%", ()),
        ("_", ()),
    ],
)
def test_filters(db: Database, text: str, numbers: tuple[int, ...]) -> None:
    assert found(db, text) == list(numbers)


def test_case_and_run_are_numbers(db: Database) -> None:
    case, run = db.row("SELECT case_id, run_id FROM verdicts WHERE state = 'failed' AND run_id = 2") or (0, 0)
    assert found(db, f"case:{case:07d}") == [10, 11, 12]
    assert found(db, f"run:{run}") == list(JUDGED)


def test_a_label_may_be_one_of_several_words(db: Database) -> None:
    db.execute("UPDATE verdicts SET label = 'Poor Match' WHERE id = (SELECT max(id) FROM verdicts)")
    assert found(db, "label:poor") == [18]
    assert found(db, 'label:"poor match"') == [18]
    assert found(db, "label:match") == []


def test_disagree_is_between_people_and_judges_on_one_question(db: Database) -> None:
    # A against B and B; Tie against A and A; A against B and B; Tie against A and A
    assert found(db, "why:disagree judge:qwen") == [1, 4, 13, 16]
    db.execute("UPDATE raters SET kind = 'random' WHERE kind = 'annotator'")
    assert found(db, "why:disagree") == [number for number in range(1, 19) if number % 3 != 1 and number not in (
        8, 9, 11, 12)]  # fmt: skip
    assert found(db, "why:disagree judge:qwen") == []


def test_rows_say_why(db: Database) -> None:
    rows = verdict_rows(db, filtered_ids(db, 2))
    judged = [row for row in rows if row.rater == "qwen2.5:14b"]
    assert [row.label for row in judged] == ["A", "Tie", "B", "", "A", "Tie"]
    assert [row.flipped for row in judged] == [False, True, False, False, False, False]
    assert [row.disagrees for row in judged] == [True, True, False, False, True, True]
    assert judged[0].votes == (2, 1)
    assert judged[2].votes == (3,)
    assert (judged[2].flag_count, judged[2].issue) == (1, "minimum_variation")
    assert (judged[3].failed, judged[3].error_kind, judged[3].confidence) == (True, "bad_reply", None)


def test_rows_come_in_the_order_asked_for_and_the_gone_are_left_out(db: Database) -> None:
    ids = list(filtered_ids(db, 2))[::-1]
    db.execute("DELETE FROM verdicts WHERE id = ?", (ids[3],))
    assert [row.verdict_id for row in verdict_rows(db, ids)] == ids[:3] + ids[4:]


def test_a_reader_reviews_the_case_for_all(db: Database) -> None:
    db.execute("UPDATE raters SET kind = 'reader' WHERE name = 'bert' AND project_id = 2")
    db.execute("DELETE FROM verdicts WHERE id = ?", (filtered_ids(db, 2)[2],))
    rows = verdict_rows(db, filtered_ids(db, 2))
    assert [row.reviewed for row in rows[:3]] == [False, False, True]


@pytest.mark.parametrize("sort", SORTS)
def test_sorts_are_total_and_pages_agree_with_the_whole(db: Database, sort: str) -> None:
    whole = filtered_ids(db, 2, sort=sort)
    assert sorted(whole) == list(filtered_ids(db, 2))
    assert filtered_ids(db, 2, sort=sort, limit=5) == whole[:5]


def test_sort_by_confidence_begins_with_the_least(db: Database) -> None:
    confidence = [row.confidence for row in verdict_rows(db, filtered_ids(db, 2, sort="confidence"))]
    known = [value for value in confidence if value is not None]
    assert known == sorted(known)
    assert confidence[len(known) :] == [None] * (18 - len(known))


def test_after_gives_what_came_since(db: Database) -> None:
    ids = filtered_ids(db, 2)
    assert filtered_ids(db, 2, after=ids[-3]) == ids[-2:]


def test_next_marked(db: Database) -> None:
    ids = filtered_ids(db, 2)
    assert next_marked(db, ids) == ids[3]
    assert next_marked(db, ids[4:]) == ids[6]
    assert next_marked(db, ids[7:]) == ids[9]
    assert next_marked(db, ids[10:]) is None


def test_explanations_carry_their_aspect(project_db: Path) -> None:
    project = make_project(project_db, cases=1)
    make_explanations(project_db, project)
    with connect(project_db) as db:
        ids = filtered_ids(db, project, parse_filter("aspect:ACCURACY"))
        assert [row.aspect for row in verdict_rows(db, ids)] == ["accuracy"]
        assert len(filtered_ids(db, project, parse_filter('"ronin is for you"'))) == 2
        assert filtered_ids(db, project, parse_filter("why:disagree protocol:explanation")) == filtered_ids(
            db, project, limit=0
        )


def test_export_keeps_the_order(db: Database) -> None:
    ids = list(filtered_ids(db, 2))[::-1]
    rows = list(exported_rows(db, ids))
    assert [row[7] for row in rows[:3]] == ["bert", "anna", "qwen2.5:14b"]


def test_a_statement_can_be_interrupted(db: Database) -> None:
    """`interrupt` from a progress callback stands for the one from another thread."""
    db.connection.set_progress_handler(lambda: 1, 100)
    with pytest.raises(StoreError) as error:
        filtered_ids(db, 2, parse_filter("insider"))
    assert "interrupted" in error.value.cause
