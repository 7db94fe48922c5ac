"""`runs resume`, `retry`, `take-over` and `list`: other settings for what is left, and runs that nobody works on."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest

from recjudge_tui.store.cases import load_material
from recjudge_tui.store.database import Database
from tests.support.runs import calls, make_project, planned, ran, server_judge
from tests.support.stub_server import answer, completion, serving

GOOD = {"reasoning": "Fine.", "category": "Good Match", "flagged_items": []}


@pytest.fixture
def db(db: Database) -> Database:
    make_project(db, users=6)
    return db


def test_a_retry_takes_other_settings_and_its_advice_names_them(db: Database) -> None:
    def script(line: str, number: int) -> bytes:
        cut = b'"max_completion_tokens":8192' not in stub.bodies[number] and answered < 2
        body = completion('{"reasoning": "The', finish="length") if cut else completion(json.dumps(GOOD))
        return answer(404, {}) if line.startswith("GET") else answer(200, body)

    answered = 0
    with serving(script) as stub:
        run = planned(db, server_judge(stub.url), limit=2, max_tokens=16, concurrency=1)
        code, out, err = ran("runs", "resume", run, "--db", db.path)
        assert (code, "0 done" in out) == (1, True)
        assert f"length: recjudge runs retry {run} with --max-tokens N raises the cap" in err
        answered = 2
        more = ("--max-tokens", 300, "--timeout", 9, "--option", "think=false", "--history", 1)
        code, out, err = ran("runs", "retry", run, *more, "--db", db.path)
    assert code == 0, err
    sent = json.loads(stub.bodies[-1])
    assert (sent["max_completion_tokens"], sent["think"]) == (300, False)
    assert all(len(load_material(db, run, call["case_id"], 4).user.history) == 1 for call in calls(db, run))
    code, _, err = ran("runs", "retry", run, "--history", 99, "--db", db.path)
    assert (code, "it can only show fewer" in err) == (1, True)
    gone = planned(db, server_judge(stub.url, "elsewhere"))
    code, _, err = ran("runs", "resume", gone, "--db", db.path)
    assert (code, "--base-url is an option of a new run: recjudge run PROTOCOL" in err) == (1, True), err


@pytest.mark.parametrize("ahead", [timedelta(days=4000), timedelta(seconds=-5)])
def test_a_lease_of_another_host_can_be_taken_over_and_one_in_the_future_is_silent(
    db: Database, ahead: timedelta
) -> None:
    run = planned(db)
    beat = (datetime.now(timezone.utc) + ahead).isoformat(timespec="seconds")
    db.execute(
        "UPDATE runs SET state = 'running', lease_owner = 'elsewhere|17|1|x', heartbeat_at = ? WHERE id = ?",
        (beat, run),
    )
    if ahead < timedelta(0):
        code, _, err = ran("runs", "resume", run, "--db", db.path)
        assert code == 1
        assert f"recjudge runs take-over {run}" in err
        code, _, err = ran("runs", "take-over", run, "--db", db.path)
        assert code == 0
        assert "it was held by: Process 17 on elsewhere" in err
    else:
        _, out, _ = ran("runs", "list", "--db", db.path)
        assert f"run {run}: no process works on it; to resume: recjudge runs resume {run}" in " ".join(
            out.split()
        )
    code, out, _ = ran("runs", "resume", run, "--db", db.path)
    assert (code, "12 done" in out) == (0, True)


def test_people_judge_adversarial_pairs_and_saer_names_their_price(db: Database) -> None:
    words = ("annotate", "plan", "-p", "films", "--protocol", "adversarial", "--annotators", "ana,ben")
    code, _, err = ran(*words, "--sample", 4, "--stratify", "activity", "--db", db.path)
    assert code == 0, err
    assert db.value("SELECT count(DISTINCT case_id) FROM annotation_tasks") >= 4
    code, out, err = ran(
        "run", "saer", "-p", "films", "--judge", "rules", "--human-price", 0.11, "--db", db.path
    )
    assert code == 0, err
    assert "At $0.11 a case, people would cost $1.98 for the same 18 cases." in " ".join(out.split())
