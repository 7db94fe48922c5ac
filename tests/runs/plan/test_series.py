"""Runs of one judge with one prompt and the same settings are one rater's: what it judged is left out or replaced."""

from __future__ import annotations

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import UsageError
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.settings import AlreadyJudgedError
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import delete_run
from tests.support.runs import SERIES, add_lists, intact, make_project, plan, planned, verdicts

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
