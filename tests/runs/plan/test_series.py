"""Runs of one judge with one prompt and the same settings are one rater's: what it judged is left out or replaced."""

from __future__ import annotations

import pytest

from recjudge_tui.domain.calls import VerdictDraft
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project as Opened
from recjudge_tui.reports.figures.declared import figure
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.settings import AlreadyJudgedError
from recjudge_tui.store.calls import save_verdicts
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import delete_run, reset_failed
from tests.support.runs import SERIES, add_lists, intact, load, make_project, plan, planned, verdicts
from tests.support.verdicts import Project, table

RANDOM = JudgeSpec(spec="random")


def judged(db: Database, **more: object) -> int:
    run_id = planned(db, rater=SERIES, **more)
    assert work(db.path, run_id).state == "done"
    return run_id


def raters(db: Database) -> list[str]:
    return [row[0] for row in db.rows("SELECT name FROM raters ORDER BY name")]


def test_judging_the_same_again_asks_first(db: Database) -> None:
    make_project(db)
    judged(db)
    with pytest.raises(AlreadyJudgedError, match="“rules” has already judged these 8 cases") as refusal:
        plan(db, rater=SERIES)
    assert "--again" in refusal.value.next_step
    assert refusal.value.rater == "rules"
    with pytest.raises(AlreadyJudgedError):
        plan(db, rater=SERIES, dry_run=True)
    assert raters(db) == ["rules"]


def test_again_replaces_the_verdicts(db: Database) -> None:
    make_project(db)
    first = judged(db)
    before = verdicts(db, first)
    second = judged(db, again=True)
    assert verdicts(db, second) == before
    assert verdicts(db, first) == []
    assert (
        db.value(
            "SELECT count(*) FROM answers a JOIN calls k ON k.id = a.call_id WHERE k.run_id = ?", (first,)
        )
        == 8
    )
    assert raters(db) == ["rules"]
    assert intact(db)


def test_two_runs_of_one_rater_can_be_compared(db: Database) -> None:
    project = make_project(db, users=6)
    first = judged(db, judge=RANDOM, seed=1)
    before = values(db, first)
    second = judged(db, judge=RANDOM, seed=2, again=True)
    now = values(db, second)
    assert (values(db, first), sorted(now)) == ({}, sorted(before))
    changed = {case for case in before if before[case] != now[case]}
    assert 0 < len(changed) < len(before)
    built = Project(db, project)
    sides = {"first": f"run:{first}", "second": f"run:{second}"}
    (row,) = table(built, "compare", **sides).rows
    assert (row["rater_a"], row["rater_b"]) == (f"random (run {first})", f"random (run {second})")
    assert (row["n"], row["changed"], row["only_a"]) == (len(before), len(changed), 0)
    listed = table(built, "compare", table="cases", **sides).rows
    assert {int(str(row["case_id"])) for row in listed} == changed
    assert {(row["verdict_a"], row["verdict_b"] is None) for row in listed} == {(None, False)}
    # a rater's name stands for the newest verdicts
    newest = table(built, "compare", first=f"run:{first}", second="random")
    assert newest.rows[0]["changed"] == len(changed)
    with pytest.raises(UsageError, match="cannot be compared with itself"):
        table(built, "compare", first="run:1", second="run:1")
    assert intact(db)


def test_runs_of_a_series_have_a_point_each(db: Database) -> None:
    project = make_project(db, users=6)
    runs = [judged(db, judge=RANDOM, seed=1), judged(db, judge=RANDOM, seed=2, again=True)]
    people = [("rater", "user_id", "system", "value"), *((f"u{n:02d}", "als") for n in range(6))]
    load(db, "labels", [people[0], *(("anna", *case, "Good Match") for case in people[1:])])
    rows = figure(Opened.numbered(db, project), "runs", {"stat": "percent", "truth": "anna"}).rows
    assert [(row["run"], row["n"], row["verdicts"]) for row in rows] == [(str(run), 6, 12) for run in runs]
    for row, run in zip(rows, runs, strict=True):
        good = db.value(
            """SELECT count(*) FROM calls k JOIN answers a ON a.call_id = k.id JOIN cases c ON c.id = k.case_id
               WHERE k.run_id = ? AND c.system_a = 'als' AND a.value = 2""",
            (run,),
        )
        assert row["value"] == good / 6


def test_deleting_the_later_run_brings_the_earlier_verdicts_back(db: Database) -> None:
    make_project(db)
    first = judged(db, judge=RANDOM, seed=1)
    before = verdicts(db, first)
    second, third = (judged(db, judge=RANDOM, seed=seed, again=True) for seed in (2, 3))
    delete_run(db, second)
    assert len(verdicts(db, third)) == 8
    delete_run(db, third)
    assert verdicts(db, first) == before
    assert db.value("SELECT count(*) FROM superseded_verdicts") == 0
    assert intact(db)


def test_a_failed_verdict_is_kept_beside_the_valid_one(db: Database) -> None:
    make_project(db)
    first = judged(db, judge=RANDOM)
    second = planned(db, rater=SERIES, judge=RANDOM, again=True)
    case = db.value("SELECT case_id FROM run_cases WHERE run_id = ? LIMIT 1", (second,))
    draft = VerdictDraft(aspect="overall", state="failed", rule="as answered")
    rater = db.value("SELECT rater_id FROM runs WHERE id = ?", (second,))
    with db.transaction():
        save_verdicts(db, rater, case, second, "pointwise", [draft])
    assert len(verdicts(db, first)) == 8
    kept = "SELECT run_id, state FROM superseded_verdicts"
    assert [tuple(row) for row in db.rows(kept)] == [(second, "failed")]
    reset_failed(db, second)
    assert work(db.path, second).state == "done"
    assert len(verdicts(db, second)) == 8
    assert {tuple(row) for row in db.rows(kept)} == {(first, "ok")}


def values(db: Database, run_id: int) -> dict[int, float]:
    """Case -> its verdict in a run."""
    return {
        row[0]: row[1] for row in db.rows("SELECT case_id, value FROM verdicts WHERE run_id = ?", (run_id,))
    }


def test_only_what_is_new_is_judged(db: Database) -> None:
    make_project(db)
    first = judged(db)
    add_lists(db, ["u00", "u01"], ["als"], length=3)
    found = plan(db, rater=SERIES)
    assert found.rater == "rules"
    assert found.estimate.cases == 2
    assert found.estimate.left_out == {"already judged by rules": 6}
    assert found.run_id is not None
    work(db.path, found.run_id)
    assert (len(verdicts(db, first)), len(verdicts(db, found.run_id))) == (8, 2)


def test_a_trial_of_few_users_counts_towards_the_whole(db: Database) -> None:
    make_project(db)
    judged(db, limit=3)
    with pytest.raises(AlreadyJudgedError, match="these 6 cases"):
        plan(db, rater=SERIES, limit=3)
    assert plan(db, rater=SERIES, limit=4).estimate.cases == 2
    assert plan(db, rater=SERIES, seed=5).estimate.cases == 2


def test_an_older_file_with_numbered_raters_goes_on_with_the_newest(db: Database) -> None:
    make_project(db)
    for name in ("rules", "rules#2"):
        work(db.path, planned(db, rater=name))
    load(db, "lists", [("user_id", "system", "item_id", "rank"), ("u00", "als", "i1", 1)])
    assert plan(db, rater=SERIES).rater == "rules#2"
    assert plan(db, rater="rules").estimate.cases == 1


def test_a_named_rater_is_not_asked_something_else(db: Database) -> None:
    make_project(db)
    judged(db)
    with pytest.raises(UsageError, match="It was asked with other settings: history=") as refusal:
        plan(db, rater="rules", history=1)
    assert "--name" in refusal.value.next_step


def test_a_failed_verdict_replaces_no_valid_one(db: Database) -> None:
    make_project(db)
    first = judged(db)
    second = planned(db, rater=SERIES, again=True)
    db.execute(
        "UPDATE calls SET state = 'failed', error_kind = 'timeout' WHERE run_id = ? AND id % 2", (second,)
    )
    db.connection.commit()
    work(db.path, second)
    assert db.value("SELECT count(*) FROM verdicts WHERE state = 'failed'") == 0
    assert len(verdicts(db, first)) + len(verdicts(db, second)) == 8


def test_a_rater_has_the_short_name_of_its_model_and_another_providers_model_a_number(db: Database) -> None:
    make_project(db)
    for spec in ("openai:org/smollm2", "ollama:smollm2", "ollama:llama3.1:8b", "anthropic:smollm2"):
        planned(db, rater=SERIES, judge=JudgeSpec(spec=spec), protocol="pointwise")
    assert raters(db) == ["llama3.1:8b", "smollm2", "smollm2 #2", "smollm2 #3"]
    planned(db, rater=SERIES, judge=JudgeSpec(spec="ollama:smollm2"), protocol="pairwise")
    assert raters(db) == ["llama3.1:8b", "smollm2", "smollm2 #2", "smollm2 #3", "smollm2 pairwise"]
