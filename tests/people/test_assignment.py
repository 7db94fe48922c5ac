"""Who judges what: balanced, with overlap, the same from the same seed, and later plans only add."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.people.annotation import assign
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.runs.settings import settings_for
from recjudge_tui.runs.start import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.people import task_of
from recjudge_tui.store.raters import ensure_rater
from recjudge_tui.store.schema import connect
from tests.support.annotators import assigned, films, judges, tasks, verdicts
from tests.support.runs import RULES, plan_run

NAMES = [f"p{n}" for n in range(7)]


@given(cases=st.integers(0, 60), people=st.integers(1, 6), seed=st.integers(0, 10_000), data=st.data())
def test_every_case_gets_whom_it_needs_and_loads_are_equal(
    cases: int, people: int, seed: int, data: st.DataObject
) -> None:
    wanted = data.draw(st.lists(st.integers(0, people), min_size=cases, max_size=cases))
    names = {name: at for at, name in enumerate(NAMES[:people])}
    loads = assign(range(cases), names, wanted, {}, {}, seed)
    on = Counter(case for load in loads.values() for case in load)
    assert [on[case] for case in range(cases)] == wanted
    assert all(len(set(load)) == len(load) for load in loads.values())
    sizes = [len(load) for load in loads.values()]
    assert max(sizes) - min(sizes) <= 1
    # neither the order of people nor their ids matter
    renamed = {name: 10 + names[name] for name in reversed(names)}
    again = assign(range(cases), renamed, wanted, {}, {}, seed)
    assert {rater - 10: load for rater, load in again.items()} == loads


@given(cases=st.integers(1, 40), people=st.integers(1, 6), seed=st.integers(0, 1000), data=st.data())
def test_assigned_and_excluded_cases_are_left_alone(
    cases: int, people: int, seed: int, data: st.DataObject
) -> None:
    names = range(people)
    some = st.sets(st.sampled_from(names))
    taken = {case: data.draw(some) for case in range(0, cases, 2)}
    excluded = {name: data.draw(st.sets(st.integers(0, cases - 1))) for name in names}
    loads = assign(range(cases), dict(zip(NAMES, names, strict=False)), [2] * cases, taken, excluded, seed)
    for name, new_cases in loads.items():
        assert not [case for case in new_cases if name in taken.get(case, ()) or case in excluded[name]]
    for case in range(cases):
        had = taken.get(case, set())
        free = [name for name in names if name not in had and case not in excluded[name]]
        new = [name for name in names if case in loads[name]]
        assert len(new) == min(max(2 - len(had), 0), len(free))


def plan_of(db: Database, *people: str) -> dict[str, list[tuple[str, str]]]:
    found = {}
    for who in people:
        rows = [task_of(db, task) for task in tasks(db, who)]
        users = [db.value("SELECT user_id FROM cases WHERE id = ?", (row.case_id,)) for row in rows]
        found[who] = [(user, row.first) for user, row in zip(users, rows, strict=True)]
    return found


def test_two_a_case_and_the_same_again_in_another_file(tmp_path: Path) -> None:
    plans = []
    for number, order in enumerate(("ana,ben,cy", "cy,ana,ben")):
        with connect(tmp_path / f"{number}.db") as db:
            films(db, 9)
            done = assigned(db, annotators=order)
            assert (done.cases, done.shared) == (9, 9)
            assert done.assigned == dict.fromkeys(order.split(","), 6)
            plans.append(plan_of(db, "ana", "ben", "cy"))
    assert plans[0] == plans[1]
    for found in plans[0].values():
        firsts = Counter(first for _, first in found)
        assert firsts == {"a": 3, "b": 3}, "each list is first as often"
    orders = {tuple(user for user, _ in found) for found in plans[0].values()}
    assert len(orders) == 3, "an order of one's own"


def test_a_sample_is_of_judged_cases_and_one_per_user_first(db: Database) -> None:
    project = films(db, 9, ("als", "bpr", "pop"))
    plan_run(db, RunRequest(project, RULES, settings_for("pairwise", sample=4, seed=3)))
    work(db, db.value("SELECT max(id) FROM runs"))
    seen = set(db.column("SELECT case_id FROM verdicts"))
    users = db.value("SELECT count(DISTINCT user_id) FROM cases WHERE id IN (SELECT case_id FROM verdicts)")
    assert 1 < users < 9
    for sample in (users, 15):
        assigned(db, annotators=f"p{sample}", sample=sample, seed=sample)
        cases = [task_of(db, task).case_id for task in tasks(db, f"p{sample}")]
        of = [db.value("SELECT user_id FROM cases WHERE id = ?", (case,)) for case in cases]
        assert len(set(cases) & seen) == min(sample, len(seen))
        assert len(set(of)) == (users if sample == users else users + sample - len(seen))


@pytest.mark.parametrize(("overlap", "shared"), [(0.0, 0), (0.5, 5), (1.0, 10)])
def test_a_share_is_judged_by_all(db: Database, overlap: float, shared: int) -> None:
    films(db, 10)
    done = assigned(db, annotators="ana,ben,cy", overlap=overlap)
    on = Counter(task_of(db, task).case_id for who in ("ana", "ben", "cy") for task in tasks(db, who))
    assert Counter(on.values()) == Counter({3: shared, 1: 10 - shared})
    assert (done.cases, done.shared) == (10, shared)
    assert max(done.assigned.values()) - min(done.assigned.values()) <= 1


def test_a_later_plan_only_adds(db: Database) -> None:
    films(db, 6)
    assigned(db, sample=4)
    before = plan_of(db, "ana", "ben")
    judges(db, "ana", count=2)
    kept = verdicts(db, "ana")
    assert assigned(db).assigned == {"ana": 2, "ben": 2}
    after = plan_of(db, "ana", "ben")
    assert {who: found[:4] for who, found in after.items()} == before
    assert verdicts(db, "ana") == kept
    assert assigned(db, annotators="cy", per_case=3).assigned == {"cy": 6}
    with pytest.raises(UsageError, match="nothing is left to assign"):
        assigned(db)


def test_the_guidelines_are_those_of_the_newest_run(db: Database) -> None:
    films(db)
    assert assigned(db, annotators="ana").prompt == "pairwise-media@1"
    settings = settings_for("pairwise", top_k=2)
    run = plan_run(db, RunRequest(1, RULES, settings, prompt="pairwise-shopping")).run_id
    assert assigned(db, annotators="ben", per_case=2).prompt == "pairwise-shopping@1"
    assert task_of(db, tasks(db, "ben")[0]).run_id == run
    named = assigned(db, annotators="cy", per_case=3, prompt="pairwise-media@1")
    assert named.prompt == "pairwise-media@1"
    assert task_of(db, tasks(db, "cy")[0]).run_id is None


def test_one_person_judges_a_case_under_one_protocol(db: Database) -> None:
    films(db, 3)
    assigned(db, annotators="ana")
    with pytest.raises(UsageError, match="ana cannot judge these cases again"):
        assigned(db, "arena", "ana")
    assert assigned(db, "arena", "ana-arena").assigned == {"ana-arena": 3}
    mixed = assigned(db, "arena", "ana,ben", per_case=3)
    assert mixed.assigned == {"ana": 0, "ben": 3}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"annotators": ""}, "need names"),
        ({"annotators": "ana,,ben"}, "need names"),
        ({"annotators": "ana, ana"}, "named twice: ana"),
        ({"annotators": "a\x1b[2Ja"}, "cannot be displayed"),
        ({"annotators": "rules"}, "of kind rules, not annotator"),
        ({"overlap": 0.5, "per_case": 2}, "cannot be combined"),
        ({"overlap": 1.5}, "between 0 and 1"),
        ({"per_case": 0}, "at least one annotator"),
        ({"per_case": 3}, "3 annotators per case need at least 3 names"),
        ({"prompt": "arena-media"}, "is for arena, not for pairwise"),
        ({"systems": ("als", "nobody")}, "no system “nobody”"),
        ({"protocol": "telepathy"}, "no protocol"),
    ],
)
def test_an_impossible_plan_stores_nothing(db: Database, options: dict[str, object], message: str) -> None:
    project = films(db, 3)
    ensure_rater(db, project, "rules", "rules")
    with pytest.raises((UsageError, NotFoundError), match=message):
        assigned(db, **{"protocol": "pairwise", "annotators": "ana,ben", **options})  # type: ignore[arg-type]
    assert db.value("SELECT count(*) FROM annotation_tasks") == 0
    assert db.value("SELECT count(*) FROM raters WHERE kind = 'annotator'") == 0
