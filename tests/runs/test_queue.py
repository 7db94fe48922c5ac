"""Which worker makes which call: a user's calls belong together, and nobody is idle while a call waits."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from itertools import groupby

import pytest

from recjudge_tui.domain.calls import PROFILE
from recjudge_tui.errors import JudgeError
from recjudge_tui.runs import engine
from recjudge_tui.runs.engine import CallQueue, Seat, work
from recjudge_tui.store.calls import CallKey, outstanding
from recjudge_tui.store.database import Database
from tests.support.requests import sent_request
from tests.support.runs import calls, intact, make_project, planned, server_judge
from tests.support.stub_server import answer, completion, serving

SYSTEMS = ("als", "pop", "svd")
CALLS_A_USER = 6
TIE = answer(200, completion(json.dumps({"reasoning": "Alike.", "winner": "Tie"})))
REFUSED = answer(401, {"error": {"message": "no"}})


class Queue:
    """The queue of a planned run, asked without an event loop of one's own. Calls are named (user, place in the plan)."""

    def __init__(self, db: Database, run: int, users_at_once: int | None = None) -> None:
        self.stopping = asyncio.Event()
        self.queue = CallQueue(db, run, self.stopping, users_at_once)
        rows = db.rows(
            """SELECT k.id, c.user_id FROM calls k JOIN cases c ON c.id = k.case_id
               WHERE k.run_id = ? ORDER BY k.id""",
            (run,),
        )
        self.names = {row["id"]: (row["user_id"], place) for place, row in enumerate(rows)}

    def next(self, seat: Seat) -> tuple[str, int] | None:
        key = asyncio.run(self.queue.next(seat))
        return None if key is None else self.names[key.id]

    def rest(self, seat: Seat) -> list[tuple[str, int]]:
        return list(iter(lambda: self.next(seat), None))  # type: ignore[arg-type]


@pytest.fixture
def run(db: Database) -> int:
    """36 calls: six for each of six users."""
    make_project(db, users=6, systems=SYSTEMS)
    return planned(db, protocol="pairwise")


def test_one_worker_makes_the_calls_in_the_order_of_the_plan(
    db: Database, run: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "WINDOW", 4)  # less than a user's calls
    queue = Queue(db, run)
    assert queue.rest(queue.queue.join()) == list(queue.names.values())


def test_a_worker_keeps_its_user_and_then_takes_the_one_who_waits_longest(
    db: Database, run: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "WINDOW", 4)
    queue = Queue(db, run)
    one, two = queue.queue.join(), queue.queue.join()
    turns = [queue.next(worker) for _ in range(2 * CALLS_A_USER) for worker in (one, two)]
    assert None not in turns
    for worker, users in ((0, ["u00", "u02"]), (1, ["u01", "u03"])):
        mine = [turn for turn in turns[worker::2] if turn]
        assert [name for name, _ in groupby(mine, key=lambda call: call[0])] == users
        assert [place for _, place in mine] == sorted(place for _, place in mine)


def test_a_worker_without_a_user_takes_the_last_calls_of_anothers(db: Database, run: int) -> None:
    queue = Queue(db, run)
    one = queue.queue.join()
    for _ in range(5 * CALLS_A_USER + 1):  # up to the first call about the last user
        queue.next(one)
    others = [queue.queue.join() for _ in range(3)]
    taken = [queue.next(worker) for worker in others]
    assert taken == [call for call in queue.names.values() if call[0] == "u05"][:-4:-1]
    rest = [call for worker in (one, *others) for call in queue.rest(worker)]
    last = [call for call in queue.names.values() if call[0] == "u05"]
    assert sorted([*filter(None, taken), *rest]) == last[1:]
    assert all(queue.next(worker) is None for worker in (one, *others))


def test_calls_of_a_worker_that_leaves_come_next(db: Database, run: int) -> None:
    queue = Queue(db, run)
    one, two = queue.queue.join(), queue.queue.join()
    started = [queue.next(one), queue.next(two)]
    queue.queue.leave(one)
    others = queue.rest(two)
    by_user = [(name, len(list(group))) for name, group in groupby(others, key=lambda call: call[0])]
    assert by_user[:3] == [("u01", 5), ("u00", 5), ("u02", 6)]
    assert sorted([*filter(None, started), *others]) == sorted(queue.names.values())


def test_few_users_are_started_while_a_run_may_be_decided(db: Database, run: int) -> None:
    queue = Queue(db, run, users_at_once=2)
    workers = [queue.queue.join() for _ in range(6)]
    first = [queue.next(worker) for worker in workers]
    assert {call[0] for call in first if call} == {"u00", "u01"}
    assert None not in first
    second = [queue.next(worker) for worker in workers]
    assert None not in second
    rest = [call for worker in workers for call in queue.rest(worker)]
    assert sorted([*filter(None, first + second), *rest]) == sorted(queue.names.values())


def _first(db: Database, run: int) -> CallKey:
    return outstanding(db, run, 0, 1)[0]


def test_calls_that_show_a_profile_wait_until_all_profiles_are_stored(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_project(db, users=3)
    run = planned(db, protocol="arena", judge=server_judge("http://127.0.0.1:9"), profile="llm")
    monkeypatch.setattr(engine, "WINDOW", 3)  # exactly the profiles
    queue = Queue(db, run)
    one, two = queue.queue.join(), queue.queue.join()

    async def both() -> None:
        keys = [await queue.queue.next(worker) for worker in (one, two, one)]
        assert [key.aspect for key in keys if key] == [PROFILE] * 3
        waiting = asyncio.create_task(queue.queue.next(two))
        await asyncio.sleep(0)
        assert not waiting.done()
        db.execute("UPDATE calls SET state = 'done' WHERE run_id = ? AND aspect = ?", (run, PROFILE))
        key = await waiting
        assert key == _first(db, run)

    asyncio.run(both())
    queue.stopping.set()
    assert queue.next(one) is None


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
