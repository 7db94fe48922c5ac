"""Which worker makes which call: a user's calls belong together, and nobody is idle while a call waits."""

from __future__ import annotations

import json
import re
import threading
from itertools import groupby

import pytest

from recjudge_tui.errors import JudgeError
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from tests.support.requests import sent_request
from tests.support.runs import calls, intact, make_project, planned, server_judge
from tests.support.stub_server import answer, completion, serving

SYSTEMS = ("als", "pop", "svd")
CALLS_A_USER = 6
TIE = answer(200, completion(json.dumps({"reasoning": "Alike.", "winner": "Tie"})))
REFUSED = answer(401, {"error": {"message": "no"}})


def test_each_of_four_workers_asks_about_one_user_at_a_time(db: Database) -> None:
    make_project(db, users=8, systems=SYSTEMS)
    four = threading.Barrier(4)

    def script(line: str, number: int) -> bytes:
        if line.startswith("GET"):
            return answer(404, {})
        four.wait(30)  # until four requests are in flight; none is sent before these are answered
        return TIE

    with serving(script) as stub:
        run = planned(db, server_judge(stub.url), "pairwise", concurrency=4)
        ended = work(db.path, run)
    assert (ended.state, ended.done) == ("done", 48)
    asked = [match[1] for body in stub.bodies if (match := re.search(r"films like (\d)", body.decode()))]
    rounds = [sorted(asked[at : at + 4]) for at in range(0, 48, 4)]
    assert rounds == [["0", "1", "2", "3"]] * CALLS_A_USER + [["4", "5", "6", "7"]] * CALLS_A_USER


def test_no_worker_is_idle_while_a_call_about_the_last_user_waits(db: Database) -> None:
    make_project(db, users=1, systems=SYSTEMS)
    three = threading.Barrier(3)

    def script(line: str, number: int) -> bytes:
        if not line.startswith("GET"):
            three.wait(30)
        return answer(404, {}) if line.startswith("GET") else TIE

    with serving(script) as stub:
        run = planned(db, server_judge(stub.url), "pairwise", concurrency=3)
        assert work(db.path, run).done == CALLS_A_USER


def test_a_resumed_run_goes_on_in_the_order_of_the_plan(db: Database) -> None:
    make_project(db, users=3, systems=SYSTEMS)
    answered = 7
    left = [answered]

    def script(line: str, number: int) -> bytes:
        if line.startswith("GET"):
            return answer(404, {})
        left[0] -= 1
        return TIE if left[0] >= 0 else REFUSED

    with serving(script) as stub:
        run = planned(db, server_judge(stub.url), "pairwise", concurrency=1)
        with pytest.raises(JudgeError):
            work(db.path, run)
        left[0] = 1000
        assert work(db.path, run).state == "done"
        sent = [json.loads(body)["messages"][-1]["content"] for body in stub.bodies if body]
    expected = [sent_request(db, call["id"]).messages[-1].content for call in calls(db, run)]
    assert sent == expected[: answered + 1] + expected[answered:]
    assert intact(db)


def test_no_more_calls_at_once_than_the_server_has_slots_each_about_one_user(db: Database) -> None:
    make_project(db, users=4, systems=SYSTEMS)
    two = threading.Barrier(2)
    models = {"data": [{"id": "hash-judge", "owned_by": "llamacpp"}]}

    def script(line: str, number: int) -> bytes:
        if line.startswith("GET"):
            return answer(200, {"total_slots": 2} if "/props" in line else models)
        two.wait(30)
        return TIE

    with serving(script) as stub:
        run = planned(db, server_judge(stub.url), "pairwise")
        assert work(db.path, run).done == 24
    chats = [json.loads(body) for body in stub.bodies if body]
    for slot in (0, 1):
        texts = [json.dumps(chat["messages"]) for chat in chats if chat["id_slot"] == slot]
        users = [match[1] for text in texts if (match := re.search(r"films like (\d)", text))]
        assert [len(list(group)) for _, group in groupby(users)] == [CALLS_A_USER] * 2
    assert db.value("SELECT concurrency FROM runs WHERE id = ?", (run,)) == 2
