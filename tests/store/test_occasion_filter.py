"""Contexts and times that are asked for: as a condition on cases, in filters of verdicts and in a run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recjudge_tui.domain.filters import VerdictFilter, occasion_terms, parse_filter
from recjudge_tui.domain.occasions import OccasionFilter, occasion_filter
from recjudge_tui.domain.selection import CaseSelection
from recjudge_tui.errors import NotFoundError, RunError, UsageError
from recjudge_tui.store.cases import check_contexts, occasion_condition, untimed_count
from recjudge_tui.store.database import Database
from recjudge_tui.store.schema import connect
from recjudge_tui.store.verdicts import filtered_ids
from tests.support.hostile import HOSTILE
from tests.support.runs import RULES, load, make_project, plan
from tests.support.visits import USERS, VISITS, make_visits

DAYS = ["", "2024-05-01", "2024-05-01T08:00:00Z", "2024-05-02", "2024-05-31", "2024-06-01"]
FILTERS = st.tuples(
    st.lists(st.sampled_from(["", "home", "cart", "desk"]), max_size=2),
    st.sampled_from(DAYS),
    st.sampled_from(DAYS),
)


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with connect(tmp_path_factory.mktemp("visits") / "recjudge.db") as db:
        make_visits(db)
        yield db


@given(FILTERS)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_condition_on_cases_is_what_the_filter_says(
    visits: Database, asked: tuple[list[str], str, str]
) -> None:
    try:
        chosen = occasion_filter(*asked)
    except UsageError:
        assert asked[1] > asked[2], "only an end before the start is refused"
        return
    sql, parameters = occasion_condition(chosen, "c")
    found = visits.column(f"SELECT c.id FROM cases c WHERE {sql} ORDER BY 1", parameters)
    rows = visits.rows("SELECT id, context, served_at FROM cases ORDER BY id")
    kept = [row[0] for row in rows if chosen.has_context(row[1]) and chosen.has_time(row[2])]
    assert found == kept
    made = VerdictFilter(occasion_terms(chosen))
    assert parse_filter(made.text()) == made
    judged = [r[0] for r in visits.rows("SELECT id, case_id FROM verdicts ORDER BY id") if r[1] in set(kept)]
    assert list(filtered_ids(visits, 1, made)) == judged
    untimed = sum(chosen.has_context(row[1]) and not row[2] for row in rows)
    assert untimed_count(visits, 1, "cases", CaseSelection(chosen)) == (untimed if chosen.is_timed else 0)


def test_hostile_names_of_contexts_are_names(db: Database) -> None:
    # what a CSV file can hold; the reader strips white space
    names = [name for text in HOSTILE if "\0" not in text and (name := text.strip()) and len(name) < 500]
    make_visits(db, dict.fromkeys(names, VISITS["home"]))
    stored = set(db.column("SELECT DISTINCT context FROM cases"))
    assert len(stored) > len(names) // 2
    for name in stored:
        check_contexts(db, 1, OccasionFilter((name,)))
        made = VerdictFilter(occasion_terms(OccasionFilter((name,))))
        assert parse_filter(made.text()) == made
        assert len(filtered_ids(db, 1, made)) == len(USERS) * 4
    with pytest.raises(NotFoundError) as error:
        check_contexts(db, 1, OccasionFilter(("' OR 1=1 --",)))
    assert str(error.value).isprintable()


def test_a_run_judges_the_occasions_it_names(db: Database) -> None:
    make_visits(db)
    everything = plan(db, RULES, "pairwise", dry_run=True, no_history=True)
    assert everything.estimate.cases == len(USERS) * len(VISITS)
    home = plan(db, RULES, "pairwise", no_history=True, contexts=("home", "home"))
    assert home.estimate.cases == len(USERS)
    assert not home.estimate.left_out
    may = plan(
        db, RULES, "pairwise", no_history=True, served_from="2024-05-02", served_to="2024-05-31", rater="may"
    )
    assert may.estimate.cases == len(USERS)
    assert may.estimate.left_out == {"case without served_at, because a time was chosen": len(USERS)}
    judged = db.rows(
        "SELECT DISTINCT c.context FROM run_cases r JOIN cases c ON c.id = r.case_id WHERE r.run_id = ?",
        (may.run_id,),
    )
    assert [row[0] for row in judged] == ["cart"]
    with pytest.raises(NotFoundError, match="no context “desk”"):
        plan(db, RULES, "pairwise", contexts=("desk",))
    with pytest.raises(RunError, match="Check --systems, --context, --from, --to"):
        plan(db, RULES, "pairwise", served_from="2030-01-01")
    with pytest.raises(UsageError, match="“soon” is not a time"):
        plan(db, RULES, "pairwise", served_from="soon")


def test_a_filter_never_pairs_lists_that_are_no_pair_without_it(db: Database) -> None:
    make_project(db, users=1)
    days = [("als", "2024-05-01"), ("als", "2024-05-03"), ("pop", "2024-05-02")]
    header = ("user_id", "system", "item_id", "rank", "context", "served_at")
    load(db, "lists", [header, *(("u00", system, "i1", 1, "x", day) for system, day in days)])
    for settings_ in ({"contexts": ("x",)}, {"contexts": ("x",), "served_from": "2024-05-02"}):
        with pytest.raises(RunError, match="no cases to judge"):
            plan(db, RULES, "pairwise", **settings_)
