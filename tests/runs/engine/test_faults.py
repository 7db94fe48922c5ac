"""Faults of every kind, outages, and the breaker: every case ends done or failed with its reason, none twice."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from recjudge_tui.domain.run import Progress
from recjudge_tui.errors import CallError, JudgeError
from recjudge_tui.runs import calls as retries
from recjudge_tui.runs.calls import MAX_ATTEMPTS, CallLimits, Failures
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import reset_failed, run_progress, run_row
from recjudge_tui.store.schema import connect
from tests.support.runs import calls, intact, make_project, planned, server_judge, verdicts
from tests.support.servers.counts import stats
from tests.support.servers.gate import hold
from tests.support.servers.process import ServerProcess, start
from tests.support.waiting import HANG_S

PASSING = ("429", "500", "503", "529", "reset", "hang", "cut", "html", "empty_choices")
READ_AGAIN = ("garbage", "wrong_enum")
EVERY = (*PASSING, *READ_AGAIN, "refusal")
USERS = 25


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recjudge_tui.runs.calls.FIRST_WAIT_S", 0.01)


@pytest.fixture(scope="module")
def quiet_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, int]]:
    """A run without faults on a project of 100 cases."""
    with connect(tmp_path_factory.mktemp("quiet") / "recjudge.db") as made:
        make_project(made, users=USERS)
        with start("openai_api", "--models", "quiet-judge") as server:
            # another model: a later server may get this one's port, and its stored answers would be taken
            run = planned(made, server_judge(server.url, "quiet-judge"), rater="quiet")
            assert work(made.path, run).done == 2 * USERS
        yield made, run


@pytest.fixture
def quiet(db: Database, quiet_run: tuple[Database, int]) -> list[tuple[Any, ...]]:
    """The verdicts of the run without faults, which the database of the test holds."""
    made, run = quiet_run
    made.connection.backup(db.connection)
    return verdicts(db, run)


def faulty(shares: dict[str, float], *more: object) -> ServerProcess:
    spec = ",".join(f"{kind}:{share:.4f}" for kind, share in shares.items())
    return start("openai_api", "--steady", "--faults", spec, "--retry-after", 0, *more)


def check_ends(db: Database, run: int, quiet: list[tuple[Any, ...]]) -> Counter[str]:
    """Every call ended once, with a reason where it failed; what was answered is as without faults."""
    ended = calls(db, run)
    assert {c["state"] for c in ended} <= {"done", "failed"}
    for call in ended:
        answers = db.value("SELECT count(*) FROM answers WHERE call_id = ?", (call["id"],))
        assert answers == (call["state"] == "done")
        assert bool(call["error_kind"] and call["error"]) == (call["state"] == "failed")
    found = verdicts(db, run)
    assert [v[:5] for v in found] == [v[:5] for v in quiet], "a verdict for each case, and one only"
    for verdict, undisturbed in zip(found, quiet, strict=True):
        if verdict[5] == "ok":
            assert verdict == undisturbed
        else:
            assert (verdict[6], verdict[7]) == (None, "")
    assert sum(v[5] == "failed" for v in found) == sum(c["state"] == "failed" for c in ended)
    assert intact(db)
    return Counter(c["error_kind"] for c in ended if c["state"] == "failed")


# only what never answers may meet the deadline of a call: it is short where a server hangs
def deadline(*kinds: str) -> dict[str, float]:
    return {"timeout_s": 2.0} if "hang" in kinds else {}


def check_cache(db: Database, run: int, server: ServerProcess) -> None:
    """What the run failed at is asked again by the next one, and nothing else is."""
    failed = {c["case_id"] for c in calls(db, run) if c["state"] == "failed"}
    again = planned(db, server_judge(server.url), concurrency=16)
    work(db.path, again)
    fresh = {c["case_id"] for c in calls(db, again) if c["cached_from"] is None}
    assert fresh == failed


@pytest.mark.parametrize("kind", EVERY)
def test_a_fault_on_a_third_of_the_calls(
    db: Database, quiet: list[tuple[Any, ...]], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # on a busy machine good answers come after the deadline, too: they cost attempts and no call
    monkeypatch.setattr(retries, "MAX_ATTEMPTS", 5 if kind != "hang" else 1000)
    with faulty({kind: 0.3}) as server:
        run = planned(db, server_judge(server.url), concurrency=16, **deadline(kind))
        ended = work(db.path, run)
        met = stats(server)["faults"].get(kind, 0)
        check_cache(db, run, server)
    failed = check_ends(db, run, quiet)
    assert met >= 2 * USERS * 0.15
    if kind in PASSING:
        assert (ended.done, failed) == (2 * USERS, {})
        attempts = sum(c["attempts"] for c in calls(db, run))
        assert attempts >= 2 * USERS + met if kind == "hang" else attempts == 2 * USERS + met
    elif kind == "refusal":
        assert failed == {"refusal": met}
    else:  # the fault may befall the re-ask, too
        assert set(failed) == {"bad_reply"}
        assert ended.done > 2 * USERS * 0.8
        assert sum(c["parsed_by"] == "reask" for c in calls(db, run)) > 0


def test_all_faults_together_again_and_again(
    db: Database, quiet: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "MAX_ATTEMPTS", 1000)
    with faulty(dict.fromkeys(EVERY, 0.45 / len(EVERY)), "--fault-attempts", 3) as server:
        run = planned(db, server_judge(server.url), concurrency=16, **deadline(*EVERY))
        ended = work(db.path, run)
        assert set(stats(server)["faults"]) == set(EVERY)
        check_cache(db, run, server)
    failed = check_ends(db, run, quiet)
    assert (ended.state, ended.done + ended.failed) == ("done", 2 * USERS)
    assert set(failed) <= {"refusal", "bad_reply"}


def test_a_fault_that_stays_fails_the_call_after_five_attempts(
    db: Database, quiet: list[tuple[Any, ...]]
) -> None:
    kinds = dict.fromkeys(("500", "html", "empty_choices"), 0.2)
    with faulty(kinds, "--fault-attempts", 99) as server:
        run = planned(db, server_judge(server.url), concurrency=8)
        work(db.path, run)
    failed = {(c["error_kind"], c["attempts"]) for c in calls(db, run) if c["state"] == "failed"}
    assert failed == {(reason, MAX_ATTEMPTS) for reason in ("server_error", "bad_body", "empty")}


def test_a_server_that_takes_no_calls_is_waited_for_longer_than_five_attempts(
    db: Database, quiet: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recjudge_tui.runs.calls.LONGEST_WAIT_S", 0.03)
    with faulty({"429": 0.4, "503": 0.3, "529": 0.3}, "--fault-attempts", 6) as server:
        run = planned(db, server_judge(server.url), concurrency=32)
        ended = work(db.path, run)
    assert (ended.done, check_ends(db, run, quiet)) == (2 * USERS, {})
    assert {c["attempts"] for c in calls(db, run)} == {7}


def test_a_pause_that_the_server_asks_for_holds_every_worker(db: Database) -> None:
    make_project(db, users=20)
    pause_s = 0.3
    log = db.path.with_name("asked.jsonl")
    # the texts of the calls decide which fail: of 40 at least one, whatever the prompt says
    with start("openai_api", "--faults", "429:0.15", "--retry-after", pause_s, "--log", log) as server:
        run = planned(db, server_judge(server.url), concurrency=4)
        ended = work(db.path, run)
        met = stats(server)["faults"]["429"]
    assert (ended.done, met > 0) == (40, True)
    asked = [json.loads(line)["time"] for line in log.read_text(encoding="utf-8").splitlines()]
    assert max(later - earlier for earlier, later in pairwise(asked)) >= 0.9 * pause_s


class Outage:
    """A server that goes away in the middle of a run and comes back at the same address."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.server: ServerProcess | None = None

    def up(self) -> str:
        self.server = start("openai_api", "--port", self.port)
        self.port = int(self.server.url.rpartition(":")[2])
        return self.server.url

    def up_to(self, answers: int) -> str:
        """It goes away after so many answers."""
        url = self.up()
        assert self.server
        hold(self.server, answers)
        return url

    def down(self) -> None:
        assert self.server
        self.server.stop()


@pytest.fixture
def outage() -> Iterator[Outage]:
    made = Outage(0)
    yield made
    if made.server:
        made.down()


def test_a_server_that_goes_away_and_comes_back_fails_no_call(
    db: Database, quiet: list[tuple[Any, ...]], outage: Outage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Down for longer than five attempts take."""
    monkeypatch.setattr("recjudge_tui.runs.calls.LONGEST_WAIT_S", 0.05)
    long_enough = threading.Event()
    end_with = Failures.end_with

    def counted(failures: Failures, error: CallError) -> bool:
        ended = end_with(failures, error)
        if failures.in_row > MAX_ATTEMPTS:
            long_enough.set()
        return ended

    monkeypatch.setattr(Failures, "end_with", counted)
    run = planned(db, server_judge(outage.up_to(20)), concurrency=4, use_cache=False)
    gone: list[threading.Thread] = []

    def come_back() -> None:
        if long_enough.wait(HANG_S):
            outage.up()

    def cut(progress: Progress) -> None:
        if not gone and progress.done == 20:
            outage.down()
            gone.append(threading.Thread(target=come_back))
            gone[0].start()

    ended = work(db.path, run, cut)
    gone[0].join()
    assert (ended.state, ended.done, check_ends(db, run, quiet)) == ("done", 2 * USERS, {})
    assert max(c["attempts"] for c in calls(db, run)) > MAX_ATTEMPTS


def test_a_server_that_stays_away_ends_the_run_and_retry_finishes_it(
    db: Database, quiet: list[tuple[Any, ...]], outage: Outage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(retries.PATIENCE_S, "connection", 0.1)
    run = planned(db, server_judge(outage.up_to(20)), concurrency=4, use_cache=False)
    gone: list[bool] = []

    def cut(progress: Progress) -> None:
        if not gone and progress.done == 20:
            outage.down()
            gone.append(True)

    with pytest.raises(JudgeError, match="25 calls in a row failed"):
        work(db.path, run, cut)
    stands = run_progress(db, run)
    assert (stands.state, 25 <= stands.failed < 34) == ("failed", True)
    outage.up()
    assert reset_failed(db, run) == stands.failed
    assert work(db.path, run).done == 2 * USERS
    assert check_ends(db, run, quiet) == {}


@pytest.mark.parametrize(("kind", "says"), [("401", "key"), ("404", "no model")])
def test_a_key_or_model_refused_in_mid_run_ends_it_at_once(
    db: Database, quiet: list[tuple[Any, ...]], kind: str, says: str
) -> None:
    """Nothing is failed by it: what was planned stays planned, and a resumed run finishes it."""
    with faulty({kind: 0.05}, "--delay-ms", 20) as server:
        run = planned(db, server_judge(server.url), concurrency=4, use_cache=False)
        with pytest.raises(JudgeError, match=says):
            work(db.path, run)
        stands = run_progress(db, run)
        assert stats(server)["requests"] - stands.done <= 4
        assert set(stats(server)["faults"]) == {kind}
    assert (stands.state, stands.failed) == ("failed", 0)
    assert 0 < stands.done < 2 * USERS
    assert says in run_row(db, run)["error"]
    with start("openai_api") as mended:
        db.execute(
            "UPDATE runs SET judge = ? WHERE id = ?", (server_judge(mended.url).model_dump_json(), run)
        )
        assert work(db.path, run).done == 2 * USERS
    assert check_ends(db, run, quiet) == {}


def test_a_repeatedly_lost_connection_counts_if_other_calls_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    met, lost = Failures(CallLimits(asyncio.Event())), CallError("connection", "no", retry=True)
    ends = []
    for second in range(6):
        monkeypatch.setattr(time, "monotonic", lambda now=1000.0 + second: now)
        met.limits.note(lost)
        ends.append(met.end_with(lost))
        monkeypatch.setattr(time, "monotonic", lambda now=1001.0 + second: now)
        met.limits.note()  # another call's answer
    assert ends == [False] * 5 + [True]
