"""The list of verdicts, and everything about one case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recjudge_tui.domain.filters import parse_filter
from recjudge_tui.errors import StoreError
from recjudge_tui.runs.engine import work
from recjudge_tui.store.case_detail import CaseDetail, case_detail
from recjudge_tui.store.database import Database
from recjudge_tui.store.schema import connect
from recjudge_tui.store.verdicts import filtered_ids, verdict_rows
from tests.support import runs
from tests.support.app.projects import make_explanations, make_project

# ---- test listing ------------------------------------------------------------------------------------------------


# make_project(cases=6) stores, for pair n: the judge's verdict 3n-2, then anna's and bert's
JUDGED = (1, 4, 7, 10, 13, 16)


@pytest.fixture
def db(project_db: Path) -> Iterator[Database]:
    make_project(project_db, "other", cases=1)
    assert make_project(project_db, "movies", cases=6) == 2
    with connect(project_db) as opened:
        yield opened


def found(db: Database, text: str, project: int = 2) -> list[int]:
    """Numbers of verdicts from 1 in the project, whatever came before it in the file."""
    first = filtered_ids(db, project)[0]
    return [key - first + 1 for key in filtered_ids(db, project, parse_filter(text))]


FOUND: list[tuple[str, tuple[int, ...]]] = [
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
]


def test_filters(db: Database) -> None:
    assert {text: tuple(found(db, text)) for text, _ in FOUND} == dict(FOUND)


def test_disagree_compares_people_and_judges_on_one_question(db: Database) -> None:
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


def test_a_list_can_be_interrupted_at_any_row(db: Database) -> None:
    """Also while rows are fetched, when another list is asked for before a long one is read."""
    ends = set()
    for steps in range(1, 1200, 3):
        left = iter(range(steps))
        db.connection.set_progress_handler(lambda left=left: next(left, None) is None, 1)
        try:
            filtered_ids(db, 2)
            ends.add("read")
        except StoreError as error:
            ends.add("interrupted" if "interrupted" in error.cause else error.cause)
    assert ends == {"read", "interrupted"}


SCORES: dict[str, dict[str, float]] = {
    "user": {"accuracy": 2, "transparency": 2},
    "anna": {"accuracy": 5, "transparency": 3, "satisfaction": 1},
    "ben": {"accuracy": 4},
    "rouge": {"overall": 0.1, "accuracy": 0.1},
}


def of(aspect: str, *raters: str) -> list[tuple[str, str]]:
    return sorted((rater, aspect) for rater in raters)


ALL = ("anna", "ben", "rouge", "rules-text", "user")


FAR_APART = [
    ("spread>=3", of("accuracy", *ALL)),
    ("spread>3", []),
    ("spread=1", of("transparency", "anna", "rules-text", "user")),
    ("spread>=1 spread<2", of("transparency", "anna", "rules-text", "user")),
    ("spread>=0", sorted(of("accuracy", *ALL) + of("transparency", "anna", "rules-text", "user"))),
    ("distance>=3", of("accuracy", "anna")),
    ("distance>=2", of("accuracy", "anna", "ben", "rules-text")),
    ("distance=0", of("transparency", "rules-text")),
    ("distance>=0 judge:rules", [("rules-text", "accuracy"), ("rules-text", "transparency")]),
    ("spread>=3 distance<1", []),
    ("disagree:user", of("accuracy", "anna", "ben", "rules-text")),
    ("disagree:user judge:rules", of("accuracy", "rules-text")),
    ("disagree:rules", of("accuracy", "user")),
    ("disagree:rouge", []),
    ("disagree:nobody", []),
    ("disagree:user disagree:anna", of("accuracy", "anna", "ben", "rules-text", "user")),
]


def test_scores_far_apart(project_db: Path) -> None:
    """One text: the judge gives accuracy 4 and transparency 2, people and a metric what SCORES says."""
    project = make_project(project_db, cases=1)
    make_explanations(project_db, project, scores=SCORES)
    with connect(project_db) as db:
        for text, raters in FAR_APART:
            ids = filtered_ids(db, project, parse_filter(f"protocol:explanation {text}"))
            assert sorted((row.rater, row.aspect) for row in verdict_rows(db, ids)) == raters, text


# ---- test case detail --------------------------------------------------------------------------------------------


def detail(path: Path, text: str) -> CaseDetail:
    with connect(path) as db:
        return case_detail(db, filtered_ids(db, 1, parse_filter(text))[0])


def test_flags_on_places_that_the_verdict_did_not_see_are_counted_apart(db: Database) -> None:
    runs.make_project(db, users=2, systems=("als",), length=6)
    short, long = (runs.planned(db, top_k=k) for k in (3, 6))
    for run in (short, long):
        work(db.path, run)
    call = db.value("SELECT id FROM calls WHERE run_id = ?", (long,))
    case = db.value("SELECT case_id FROM calls WHERE id = ?", (call,))
    places = db.column(
        "SELECT i.item_id FROM slate_items i JOIN cases ON slate_a = slate_id WHERE cases.id = ? ORDER BY rank",
        (case,),
    )
    for item in (places[0], places[4], "unheard of"):
        db.add("flags", call_id=call, item_id=item, issue="other", reason="r")
    verdicts = db.pairs("SELECT run_id, id FROM verdicts WHERE case_id = ?", (case,))
    seen = {run: case_detail(db, verdicts[run]) for run in (short, long)}
    of_short = [flag.item_id for flag in seen[short].flags if flag.issue == "other"]
    assert of_short == [places[0], "unheard of"]
    assert seen[short].flags_beyond >= 1
    assert seen[long].flags_beyond == 0


def test_a_persons_verdict_shows_what_the_judge_was_shown(project_db: Path) -> None:
    make_project(project_db)
    case = detail(project_db, "judge:anna")
    assert case.answers == ()
    assert case.run_id is None
    assert case.run_shown == 1
    assert case.user.history[0].value == 4.0
