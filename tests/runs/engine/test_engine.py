"""Runs against a server with faults: every call ends done or failed with a reason, and nothing is asked in vain."""

from __future__ import annotations

import json
import random
import re
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.calls import PROFILE
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import Progress
from recjudge_tui.errors import JudgeError, StoreError
from recjudge_tui.judges import registry
from recjudge_tui.reports.runs import seconds_until
from recjudge_tui.runs import record as recorder
from recjudge_tui.runs.engine import work
from recjudge_tui.store.calls import calls_of_verdict
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import delete_run, reset_failed, run_progress, run_row
from recjudge_tui.store.schema import connect
from tests.support.kills import asked
from tests.support.requests import sent_request
from tests.support.runs import (
    calls,
    command,
    intact,
    load,
    make_project,
    planned,
    server_judge,
    verdicts,
    write_prices,
)
from tests.support.servers import gate
from tests.support.servers.counts import request_count, reset, stats
from tests.support.servers.gate import allow, hold
from tests.support.servers.process import ServerProcess, start
from tests.support.stub_server import answer, completion, serving
from tests.support.stubborn_judge import PROVIDER
from tests.support.waiting import HANG_S, wait_until


@pytest.fixture
def server(openai_server: ServerProcess) -> ServerProcess:
    """The server without faults, its counts at zero."""
    reset(openai_server)
    return openai_server


def test_a_reply_outside_the_scale_is_asked_again_once_and_both_replies_are_paid_for(
    db: Database, server: ServerProcess, tmp_path: Path
) -> None:
    make_project(db, users=10)
    write_prices(tmp_path / "config", input=1.0, output=0.0)
    once = planned(db, server_judge(server.url))
    work(db.path, once)
    with start("openai_api", "--faults", "wrong_enum:0.5") as faulty:
        run = planned(db, server_judge(faulty.url))
        work(db.path, run)
    ends: Counter[tuple[str, str | None, str | None]] = Counter()
    for call, single in zip(calls(db, run), calls(db, once), strict=True):
        ends[call["state"], call["parsed_by"], call["error_kind"]] += 1
        if call["attempts"] == 2:
            assert call["tokens_in"] > 2 * single["tokens_in"]
        assert call["cost_usd"] == pytest.approx(call["tokens_in"] / 1e6)
    assert set(ends) == {("done", "schema", None), ("done", "reask", None), ("failed", None, "bad_reply")}
    made = db.column("SELECT id FROM verdicts WHERE run_id = ?", (run,))
    assert sum(row["attempts"] == 2 for verdict in made for row in calls_of_verdict(db, verdict)) > 0


def test_a_reply_that_stays_unreadable_is_a_failed_call_with_the_reply_kept(db: Database) -> None:
    make_project(db, users=2)
    with start("openai_api", "--faults", "garbage:1", "--fault-attempts", 99) as faulty:
        run = planned(db, server_judge(faulty.url), "pairwise")
        ended = work(db.path, run)
    assert (ended.state, ended.done, ended.failed) == ("done", 0, 4)
    for call in calls(db, run):
        assert (call["error_kind"], call["attempts"]) == ("bad_reply", 2)
        assert call["reply"].startswith("My impression")
    assert [(v[5], v[6]) for v in verdicts(db, run)] == [("failed", None)] * 2


def test_a_refusal_is_not_asked_again_and_never_served_from_the_cache(db: Database) -> None:
    make_project(db, users=2)
    with start("openai_api", "--faults", "refusal:1") as faulty:
        run = planned(db, server_judge(faulty.url))
        work(db.path, run)
        assert [(c["error_kind"], c["attempts"]) for c in calls(db, run)] == [("refusal", 1)] * 4
        assert stats(faulty)["requests"] == 4
        again = planned(db, server_judge(faulty.url))
        ended = work(db.path, again)
        assert stats(faulty)["requests"] == 8
    assert (ended.done, ended.cached) == (4, 0)


def test_one_failed_order_fails_the_verdict_and_retry_asks_only_for_that(db: Database) -> None:
    make_project(db, users=12)
    with start("openai_api", "--faults", "refusal:0.4") as faulty:
        run = planned(db, server_judge(faulty.url), "pairwise")
        work(db.path, run)
        failed = {c["case_id"] for c in calls(db, run) if c["state"] == "failed"}
        half = [c for c in calls(db, run) if c["case_id"] in failed and c["state"] == "done"]
        assert half, "some case has one answer and one failure"
        kept = [tuple(c) for c in calls(db, run) if c["state"] == "done"]
        assert sum(v[5] == "failed" for v in verdicts(db, run)) == len(failed)
        asked, wanting = stats(faulty)["requests"], run_progress(db, run).failed
        assert reset_failed(db, run) == wanting
        assert work(db.path, run).done == 24
        assert stats(faulty)["requests"] == asked + wanting
    assert set(kept) <= {tuple(c) for c in calls(db, run)}
    assert {v[5] for v in verdicts(db, run)} == {"ok"}
    assert {c["attempts"] for c in calls(db, run) if tuple(c) not in set(kept)} == {2}, "what was spent stays"


def test_a_run_stops_when_everything_fails_and_continues_after_the_cause_is_fixed(db: Database) -> None:
    make_project(db, users=40)
    with start("openai_api", "--faults", "refusal:1", "--fault-attempts", 1) as faulty:
        run = planned(db, server_judge(faulty.url), concurrency=4)
        with pytest.raises(JudgeError, match="25 calls in a row failed"):
            work(db.path, run)
        stands = run_progress(db, run)
        assert (stands.state, run_row(db, run)["lease_owner"]) == ("failed", None)
        assert "25 calls in a row" in run_row(db, run)["error"]
        assert 25 <= stands.failed < 50
        assert stats(faulty)["requests"] - stands.failed <= 4, "only what was in flight is given up"
        reset_failed(db, run)
        assert run_progress(db, run).outstanding == 80


def test_the_same_run_again_asks_nothing(db: Database, server: ServerProcess) -> None:
    make_project(db, users=6)
    first = planned(db, server_judge(server.url), "pairwise")
    work(db.path, first)
    assert stats(server)["requests"] == 12
    second = planned(db, server_judge(server.url), "pairwise")
    ended = work(db.path, second)
    assert (ended.done, ended.cached, ended.tokens_in, stats(server)["requests"]) == (12, 12, 0, 12)
    assert verdicts(db, second) == verdicts(db, first)
    assert [c["reply"] for c in calls(db, second)] == [c["reply"] for c in calls(db, first)]
    third = planned(db, server_judge(server.url), "pairwise", use_cache=False)
    assert (work(db.path, third).cached, stats(server)["requests"]) == (0, 24)
    delete_run(db, first)
    assert (len(verdicts(db, second)), intact(db)) == (6, True)


def test_another_prompt_text_or_model_is_not_served_from_the_cache(
    db: Database, server: ServerProcess
) -> None:
    make_project(db, users=2)
    work(db.path, planned(db, server_judge(server.url)))
    other_model = server_judge(server.url).model_copy(update={"spec": "openai:other"})
    with start("openai_api", "--models", "hash-judge,other") as both:
        urls = {"base_urls": (f"{both.url}/v1",)}
        for judge in (server_judge(both.url), other_model.model_copy(update=urls)):
            assert work(db.path, planned(db, judge)).cached == 0
        assert work(db.path, planned(db, server_judge(server.url), history=1)).cached == 0
        assert work(db.path, planned(db, server_judge(server.url), seed=8)).cached == 0


def test_an_answer_that_the_database_refuses_ends_the_run_and_leaves_it_resumable(
    db: Database, server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(path: Path, **options: Any) -> Database:
        opened = connect(path, **options)
        opened.execute(
            "CREATE TEMP TRIGGER refuse BEFORE INSERT ON main.answers WHEN (SELECT count(*) FROM answers) >= 5 "
            "BEGIN SELECT raise(ABORT, 'no more'); END"
        )
        return opened

    make_project(db, users=10)
    run = planned(db, server_judge(server.url))
    with monkeypatch.context() as refused:
        refused.setattr(recorder, "connect", refusing)
        with pytest.raises(StoreError, match="no more"):
            work(db.path, run)
    assert run_progress(db, run).state == "failed"
    assert work(db.path, run).done == 20
    assert len(verdicts(db, run)) == 20


def test_a_writer_that_holds_the_file_for_long_delays_a_run_and_does_not_end_it(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recjudge_tui.store.database.BUSY_TIMEOUT_S", 0.05)
    make_project(db, users=10)
    holder = sqlite3.connect(db.path, isolation_level=None, check_same_thread=False)
    held: list[threading.Timer] = []

    def hold(progress: object) -> None:
        if not held:
            holder.execute("BEGIN IMMEDIATE")
            held.append(threading.Timer(0.4, holder.rollback))
            held[0].start()

    with start("openai_api", "--delay-ms", 50) as slow:
        ended = work(db.path, planned(db, server_judge(slow.url), concurrency=4), hold)
    assert (ended.state, ended.done, len(held)) == ("done", 20, 1)
    held[0].join()
    holder.close()


# ---- fatal ---------------------------------------------------------------------------------------------------


def test_calls_that_swallow_cancellations_do_not_keep_a_run_alive(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry.PROVIDERS, "stubborn", PROVIDER)
    make_project(db, users=8)
    run = planned(db, JudgeSpec(spec="stubborn"), concurrency=8)
    ends: list[BaseException] = []

    def judge() -> None:
        try:
            work(db.path, run)
        except JudgeError as error:
            ends.append(error)

    worker = threading.Thread(target=judge, daemon=True)
    worker.start()
    worker.join(HANG_S)
    assert not worker.is_alive(), "the run hangs"
    assert [str(end) for end in ends] == ["The model is gone"]
    assert run_row(db, run)["lease_owner"] is None
    assert run_progress(db, run).state == "failed"


def test_a_pause_that_the_server_asks_for_is_shown(db: Database) -> None:
    make_project(db, users=2)
    seen: list[Progress] = []
    slow_down = answer(429, {"error": {"message": "slow down"}}, "Retry-After: 999999")

    def follow(progress: Progress) -> None:
        seen.append(progress)
        if progress.waiting_s:
            db.change("runs", run, wanted="stop")

    with serving(lambda line, n: answer(200, {"data": []}) if line.startswith("GET") else slow_down) as stub:
        run = planned(db, server_judge(stub.url))
        ended = work(db.path, run, follow)
    assert (ended.state, ended.failed) == ("stopped", 0)
    assert 3500 < max(progress.waiting_s for progress in seen) <= 3600, "an hour at most"
    assert seconds_until(run_row(db, run)["waiting_until"]) > 3500


# ---- loops ---------------------------------------------------------------------------------------------------


LOOP = completion(
    '{"reasoning": "' + "The list fits the user well because of its films. " * 60, finish="length"
)
CUT = completion('{"reasoning": "The user likes crime films, and of these', finish="length")
NOTHING = completion("", finish="length")
USAGE = {"prompt_tokens": 1000, "completion_tokens": 2048, "prompt_tokens_details": {"cached_tokens": 400}}


def asked_capped(
    db: Database, answers: Callable[[int], dict[str, Any]], context: int | None = None, **settings: Any
) -> tuple[list[dict[str, Any]], Any]:
    """The bodies sent for one call whose n-th answer is `answers(n)`, and its row."""
    make_project(db, users=1)
    seen: list[int] = []

    def script(line: str, number: int) -> bytes:
        if line.startswith("GET"):
            return answer(200, {"data": [{"id": "hash-judge", "max_model_len": context}]})
        seen.append(number)
        return answer(200, {**answers(len(seen)), "usage": USAGE})

    with serving(script) as stub:
        run = planned(db, server_judge(stub.url), "pointwise", limit=1, systems=("als",), **settings)
        work(db.path, run)
        return [json.loads(body) for body in stub.bodies if body], calls(db, run)[0]


def test_a_model_that_repeats_itself_is_asked_once_more_with_a_penalty_and_named(db: Database) -> None:
    bodies, call = asked_capped(db, lambda _: LOOP)
    assert [body.get("frequency_penalty") for body in bodies] == [None, 1.0]
    assert {body["max_completion_tokens"] for body in bodies} == {2048}
    assert (call["state"], call["error_kind"], call["attempts"]) == ("failed", "loop", 2)
    assert call["error"].startswith("The model repeats itself")
    assert call["reply"] == LOOP["choices"][0]["message"]["content"]
    assert (call["tokens_in"], call["tokens_out"], call["tokens_cached"]) == (2000, 4096, 800)
    _, call = asked_capped(db, lambda n: LOOP if n == 1 else CUT)
    assert "of 2,048, asked again because the first answer repeated itself" in call["error"]


@pytest.mark.parametrize(("cut", "kind"), [(CUT, "length"), (NOTHING, "thinking")])
def test_a_larger_cap_is_tried_once_where_it_fits_the_context(
    db: Database, cut: dict[str, Any], kind: str
) -> None:
    bodies, call = asked_capped(db, lambda _: cut, context=6000)
    assert [body["max_completion_tokens"] for body in bodies] == [2048, 5000]
    assert (call["error_kind"], call["attempts"]) == (kind, 2)
    assert "5,000 tokens" in call["error"]


def test_a_cap_that_does_not_fit_is_not_tried(db: Database) -> None:
    bodies, call = asked_capped(db, lambda _: CUT, context=3200)
    assert len(bodies) == 1
    assert "the context has 3,200" in call["error"]
    assert call["reply"] == CUT["choices"][0]["message"]["content"]


def test_a_larger_cap_stays_within_the_context_that_was_asked_for(db: Database) -> None:
    make_project(db, users=1)
    cut = {"message": {"content": "The user"}, "done_reason": "length", "prompt_eval_count": 1000}
    shown = {"model_info": {"x.context_length": 32768}}
    said = {"/api/tags": {"models": [{"model": "m"}]}, "/api/show": shown, "/api/chat": cut}
    with serving(lambda line, n: answer(200, said.get(line.split()[1], {"version": "0.13.5"}))) as stub:
        judge = JudgeSpec(spec="ollama:m", base_urls=(stub.url,))
        work(db.path, planned(db, judge, "pointwise", limit=1, systems=("als",)))
        sent = [json.loads(body)["options"] for body in stub.bodies if b"options" in body]
    assert [(each["num_ctx"], each["num_predict"]) for each in sent] == [(5120, 2048), (5120, 4120)]


# ---- profile -------------------------------------------------------------------------------------------------


def key_of(call: sqlite3.Row) -> tuple[int, str, str]:
    return call["case_id"], call["list_order"], call["aspect"]


def test_the_profile_is_written_once_for_a_user_and_shown_in_every_call(db: Database) -> None:
    make_project(db, users=5, systems=("als", "knn", "pop"))
    with start("openai_api") as server:
        run = planned(db, server_judge(server.url), "arena", profile="llm", concurrency=4)
        ended = work(db.path, run)
    rows = calls(db, run)
    profiles = [c for c in rows if c["aspect"] == PROFILE]
    assert (ended.state, ended.failed, len(profiles), len(rows)) == ("done", 0, 5, 5 + 5 * 3 * 2)
    assert [c["aspect"] for c in rows[:5]] == [PROFILE] * 5
    for call in rows[5:]:
        sent = sent_request(db, call["id"])
        assert sent.content_hash() == call["content_hash"]
        user = db.value("SELECT user_id FROM cases WHERE id = ?", (call["case_id"],))
        written = next(
            p for p in profiles if user == db.value("SELECT user_id FROM cases WHERE id = ?", (p["case_id"],))
        )
        assert json.loads(written["reply"])["profile"] in sent.messages[1].content
    own = sent_request(db, profiles[0]["id"])
    assert own.content_hash() == profiles[0]["content_hash"]
    assert "Film number" in own.messages[1].content
    # the writer of the profile is shown the user and no list
    assert "list_a" not in own.messages[1].content
    assert {v[4] for v in verdicts(db, run)} == {
        "accuracy", "satisfaction", "inspiration", "content_quality", "transparency", "impact", "overall",
    }  # fmt: skip


def test_where_the_profile_fails_nothing_else_is_asked_about_this_user(db: Database) -> None:
    make_project(db, users=4)
    with start("openai_api") as server:
        run = planned(db, server_judge(server.url), "arena", profile="llm", concurrency=2)
        lost = calls(db, run)[1]
        # as a run leaves it whose profile call was refused
        db.execute(
            "UPDATE calls SET state = 'failed', error_kind = 'refusal', error = 'no' WHERE id = ?",
            (lost["id"],),
        )
        ended = work(db.path, run)
        assert request_count(server) == 3 + 3 * 2
        user = db.value("SELECT user_id FROM cases WHERE id = ?", (lost["case_id"],))
        theirs = db.rows(
            """SELECT k.* FROM calls k JOIN cases c ON c.id = k.case_id
               WHERE k.run_id = ? AND c.user_id = ? AND k.aspect = ''""",
            (run, user),
        )
        assert {(c["state"], c["error_kind"], c["attempts"]) for c in theirs} == {("failed", "profile", 0)}
        assert ended.failed == 3
        assert {v[5] for v in verdicts(db, run) if v[1] == user} == {"failed"}
        assert {v[5] for v in verdicts(db, run) if v[1] != user} == {"ok"}
        reset_failed(db, run)
        again = work(db.path, run)
    assert (again.state, again.failed) == ("done", 0)
    assert {v[5] for v in verdicts(db, run)} == {"ok"}


def test_killed_while_profiles_are_written_and_after_a_run_asks_for_nothing_stored_again(
    db: Database, tmp_path: Path
) -> None:
    make_project(db, users=40)
    quiet, log, rng = tmp_path / "quiet.jsonl", tmp_path / "killed.jsonl", random.Random(11)
    settings: dict[str, Any] = {"profile": "llm", "use_cache": False}
    with start("openai_api", "--log", quiet) as server:
        undisturbed = planned(db, server_judge(server.url), "arena", concurrency=1, **settings)
        assert work(db.path, undisturbed).state == "done"
    body = dict(zip(map(key_of, calls(db, undisturbed)), asked(quiet), strict=True))
    assert len(set(body.values())) == len(body) == 40 * 3
    killed_at: set[bool] = set()
    with start("openai_api", "--log", log) as server:
        run = planned(db, server_judge(server.url), "arena", rater="killed", concurrency=4, **settings)
        for _ in range(7):
            began, stored = (
                len(asked(log)),
                {body[key_of(c)] for c in calls(db, run) if c["state"] == "done"},
            )
            hold(server, rng.randint(1, 19))
            process = command("runs", "resume", run, "--db", db.path)
            wait_until(lambda: gate.stats(server)["held"])
            time.sleep(rng.uniform(0, 0.05))
            process.kill()
            process.communicate()
            killed_at.add(any(c["aspect"] == PROFILE and c["state"] == "planned" for c in calls(db, run)))
            assert not stored & set(asked(log)[began:])
        allow(server)
        ended = work(db.path, run)
    assert (ended.state, ended.failed, killed_at) == ("done", 0, {True, False})
    assert set(asked(log)) == set(body.values())
    assert verdicts(db, run) == verdicts(db, undisturbed)
    assert intact(db)


# ---- real server ---------------------------------------------------------------------------------------------


ASPECTS = {"pointwise": 1, "pairwise": 1, "arena": 7, "absolute": 1, "explanation": 4}
SETTINGS: dict[str, dict[str, Any]] = {
    "arena": {"profile": "llm"},
    "explanation": {"aspects": "single", "shots": "personal"},
}


def test_every_protocol_is_answered_in_its_form(db: Database, llama_server: ServerProcess) -> None:
    make_project(db, users=2)
    texts = [("u00", "i1", "als", "You rated one like it."), ("u00", "i2", "als", "因为你喜欢科幻电影")]
    load(db, "explanations", [("user_id", "item_id", "system", "text"), *texts])
    load(db, "labels", [
        ("rater", "user_id", "item_id", "system", "aspect", "value", "protocol", "rater_kind"),
        *(
            ("user", *text[:3], aspect, 4, "explanation", "ground_truth") for text in texts
            for aspect in ("persuasiveness", "transparency", "accuracy", "satisfaction")
        ),
    ])  # fmt: skip
    judge = JudgeSpec(spec="openai:tiny-stair", base_urls=(f"{llama_server.url}/v1",))
    for protocol, aspects in ASPECTS.items():
        run = planned(db, judge, protocol, rater=protocol, sample=1, **SETTINGS.get(protocol, {}))
        ended = work(db.path, run)
        failed = _out_of_range(db, run) if protocol == "absolute" else 0
        assert (ended.state, ended.failed) == ("done", failed), protocol
        rows = db.rows("SELECT case_id, aspect, state, value FROM verdicts WHERE run_id = ?", (run,))
        cases = {row["case_id"] for row in rows}
        assert len(rows) == aspects * len(cases) > 0
        assert [row["state"] for row in rows].count("failed") == failed
        low, high = {"pointwise": (0, 2), "absolute": (0, 1), "explanation": (1, 5)}.get(protocol, (-1, 1))
        assert all(low <= row["value"] <= high for row in rows if row["state"] == "ok")
    assert intact(db)


def _out_of_range(db: Database, run: int) -> int:
    """How many calls failed because of their number: no grammar bounds it, and what a random model writes depends on
    the processor it runs on."""
    count: int = db.value(
        "SELECT count(*) FROM calls WHERE run_id = ? AND error_kind = 'bad_reply' AND error LIKE ?",
        (run, "%must be a number from 0 to 1, not%"),
    )
    return count


# ---- queue ---------------------------------------------------------------------------------------------------


SYSTEMS = ("als", "pop", "svd")
CALLS_A_USER = 6
TIE = answer(200, completion(json.dumps({"reasoning": "Alike.", "winner": "Tie"})))
REFUSED = answer(401, {"error": {"message": "no"}})


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
