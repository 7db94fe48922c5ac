"""What a run will ask, written down before its first call: which cases, what is shown, what it will take."""

from __future__ import annotations

from collections import Counter

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.errors import UsageError
from recjudge_tui.prompting.trial import request_now
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.store.cases import load_material
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.prompts import get_prompt
from recjudge_tui.store.raters import ensure_rater
from recjudge_tui.store.runs import delete_run
from tests.support.requests import sent_request
from tests.support.runs import SERIES, add_lists, calls, load, make_project, plan, plan_run, planned

TABLES = (
    "projects", "imports", "items", "users", "events", "slates", "slate_items", "cases", "raters", "runs",
    "snapshots", "run_cases", "calls", "answers", "verdicts", "flags",
)  # fmt: skip


def counted(db: Database) -> dict[str, int]:
    return {table: db.value(f"SELECT count(*) FROM {table}") for table in TABLES}


def cases(db: Database, run_id: int) -> list[tuple[str, str, str]]:
    return [tuple(row) for row in db.rows(
        """SELECT c.user_id, c.system_a, c.system_b FROM run_cases rc JOIN cases c ON c.id = rc.case_id
           WHERE rc.run_id = ? ORDER BY c.id""", (run_id,)
    )]  # fmt: skip


def test_users_without_history_are_refused_and_counted(db: Database) -> None:
    make_project(db, users=3, strangers=2)
    chosen = plan(db)
    assert chosen.estimate.left_out == {"user without history": 4}
    assert (chosen.estimate.cases, chosen.estimate.calls) == (6, 6)
    willing = plan(db, no_history=True, rater="willing")
    assert (willing.estimate.left_out, willing.estimate.cases) == ({}, 10)


def test_every_case_is_asked_in_the_orders_of_its_protocol(db: Database) -> None:
    make_project(db, users=2, systems=("als", "pop", "svd"))
    run = planned(db, protocol="pairwise")
    asked = Counter((c["case_id"], c["list_order"]) for c in calls(db, run))
    assert set(asked.values()) == {1}
    assert Counter(order for _, order in asked) == {"ab": 6, "ba": 6}
    once = planned(db, protocol="pairwise", swap=False, rater="once")
    once_asked = Counter(c["case_id"] for c in calls(db, once))
    assert set(once_asked.values()) == {1}
    assert len(once_asked) == 6
    assert {pair[1:] for pair in cases(db, run)} == {("als", "pop"), ("als", "svd"), ("pop", "svd")}


def test_limit_takes_the_first_users_and_sample_the_same_ones_for_a_seed(db: Database) -> None:
    make_project(db, users=20)
    everything = cases(db, planned(db, rater="all"))
    assert cases(db, planned(db, limit=5, rater="limit")) == everything[:10]
    drawn = [cases(db, planned(db, sample=7, seed=s, rater=f"{n}")) for n, s in enumerate((3, 3, 4))]
    assert [len(found) for found in drawn] == [14, 14, 14]
    assert drawn[0] == drawn[1]
    assert set(drawn[0]) != set(drawn[2])
    assert set(drawn[0]) < set(everything)
    assert set(drawn[0]) != set(everything[:14])
    assert len(cases(db, planned(db, sample=500, rater="more"))) == 40


def test_a_baseline_is_compared_with_each_and_no_two_others(db: Database) -> None:
    make_project(db, users=2, systems=("als", "pop", "svd"))
    run = planned(db, protocol="pairwise", baseline="pop")
    assert {pair[1:] for pair in cases(db, run)} == {("als", "pop"), ("pop", "svd")}
    named = planned(db, protocol="pairwise", systems=("svd", "als"), rater="named")
    assert {pair[1:] for pair in cases(db, named)} == {("als", "svd")}


def test_a_pair_that_lacks_a_list_is_left_out_and_counted(db: Database) -> None:
    make_project(db, users=3)
    add_lists(db, ["u00"], ["svd"])
    chosen = plan(db, protocol="pairwise")
    assert chosen.estimate.left_out == {"no list by svd": 4}
    assert chosen.estimate.cases == 5
    with pytest.raises(UsageError, match="needs two systems") as error:
        plan(db, protocol="pairwise", systems=("als",))
    assert "als, pop, svd" in error.value.cause


def shown(db: Database, run: int) -> str:
    """Everything that run shows of anybody, as text."""
    return "\n".join(
        "\n".join(m.content for m in sent_request(db, call["id"]).messages) for call in calls(db, run)
    )


def test_a_dry_run_leaves_no_trace(db: Database) -> None:
    make_project(db, users=4, strangers=1)
    before = counted(db)
    real = plan(db, protocol="pairwise", rater="real")
    assert real.run_id
    delete_run(db, real.run_id)
    db.execute("DELETE FROM cases")
    db.execute("DELETE FROM snapshots")
    settings = RunSettings(protocol="pairwise", top_k=4)
    dry = plan_run(
        db, RunRequest(project_id(db, "films"), JudgeSpec(spec="rules"), settings, rater="real"), dry_run=True
    )
    assert (dry.run_id, dry.estimate.cases) == (None, 4)
    assert dry.estimate.model_copy(update={"seconds": None}) == real.estimate
    assert counted(db) == before


def test_an_import_after_the_plan_changes_nothing_of_what_a_run_asks(db: Database) -> None:
    make_project(db, users=3)
    run = planned(db, protocol="pairwise")
    work(db.path, run)
    before = shown(db, run)
    hashes = [c["content_hash"] for c in calls(db, run)]
    rows = db.rows("SELECT DISTINCT item_id FROM items")
    load(db, "items", [("item_id", "title"), *((r[0], f"Renamed {r[0]}") for r in rows)])
    load(db, "events", [("user_id", "item_id", "type", "timestamp"),
                        *((f"u{n:02d}", "i1", "purchase", "2024-05-04T00:00:00Z") for n in range(3))])  # fmt: skip
    assert shown(db, run) == before
    assert [sent_request(db, c["id"]).content_hash() for c in calls(db, run)] == hashes
    assert None not in hashes
    case = calls(db, run)[0]["case_id"]
    prompt = planned(db, protocol="pairwise", rater="after")
    assert "Renamed" in shown(db, prompt)
    assert "Renamed" in request_now(db, get_prompt(db, "pairwise-media")[2], case).messages[-1].content


def test_new_lists_make_new_cases_and_a_run_under_way_keeps_the_old(db: Database) -> None:
    make_project(db, users=2)
    run = planned(db)
    titles = [
        s.items[0].title for c in calls(db, run) for s in load_material(db, run, c["case_id"], 4).slates
    ]
    load(db, "lists", [("user_id", "system", "item_id", "rank"), ("u00", "als", "i1", 1)])
    after = planned(db, rater="after")
    assert [
        s.items[0].title for c in calls(db, run) for s in load_material(db, run, c["case_id"], 4).slates
    ] == titles
    assert len({c["case_id"] for c in calls(db, run)} & {c["case_id"] for c in calls(db, after)}) == 3


def test_one_rater_is_asked_one_thing_about_a_kind_of_case(db: Database) -> None:
    make_project(db)
    assert (plan(db, rater=SERIES).rater, plan(db, rater=SERIES).rater) == ("rules", "rules")
    assert plan(db, rater=SERIES, history=1).rater == "rules #2"
    assert plan(db, rater=SERIES, protocol="pairwise").rater == "rules", "lists and pairs are different cases"
    assert plan(db, rater=SERIES, protocol="arena").rater == "rules arena"
    before = counted(db)
    with pytest.raises(UsageError, match="already judged such cases"):
        plan(db, rater="rules", history=1)
    assert counted(db) == before, "refused before anything was prepared"
    ensure_rater(db, project_id(db, "films"), "anna", "annotator")
    with pytest.raises(UsageError, match="annotator"):
        plan(db, rater="anna")
    labels = [("rater", "user_id", "system", "value", "protocol", "rater_kind"),
              ("imported", "u00", "als", "Good", "pointwise", "rules")]  # fmt: skip
    load(db, "labels", labels)
    with pytest.raises(UsageError, match="already judged such cases"):
        plan(db, rater="imported")
    assert counted(db)["runs"] == before["runs"]


def test_no_systems_name_ever_reaches_a_judge(db: Database) -> None:
    make_project(db, users=2, systems=("sys-alpha", "sys-beta"))
    for protocol in ("pointwise", "pairwise"):
        text = shown(db, planned(db, protocol=protocol))
        assert "sys-" not in text
