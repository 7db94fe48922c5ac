"""Runs against a server with faults: every call ends done or failed with a reason, and nothing is asked in vain."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.errors import JudgeError, StoreError
from recjudge_tui.reports.listings import run as run_table
from recjudge_tui.reports.runs import outcome_line
from recjudge_tui.runs import record as recorder
from recjudge_tui.runs.engine import work
from recjudge_tui.store.calls import calls_of_verdict
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import delete_run, reset_failed, run_progress, run_row
from recjudge_tui.store.schema import connect
from tests.support.runs import (
    calls,
    intact,
    make_project,
    planned,
    server_judge,
    verdicts,
    write_prices,
)
from tests.support.servers.counts import reset, stats
from tests.support.servers.process import ServerProcess, start
from tests.support.stub_server import answer, completion, serving

FITS = {"reasoning": "It fits.", "category": "Good Match", "flagged_items": []}


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


def test_the_share_of_reused_prompts_is_shown_if_the_server_reports_it(db: Database) -> None:
    make_project(db, users=2)
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 72}}
    told = {**completion(json.dumps(FITS)), "usage": usage}
    silent = {**told, "usage": {"prompt_tokens": 900, "completion_tokens": 5}}
    seen: list[float | None] = []

    def script(line: str, number: int) -> bytes:
        return answer(404, {}) if line.startswith("GET") else answer(200, silent if number == 1 else told)

    with serving(script) as stub:
        run = planned(db, server_judge(stub.url), concurrency=1)
        ended = work(db.path, run, lambda progress: seen.append(progress.reused_share))
    assert (ended.tokens_reused, ended.tokens_counted, ended.tokens_in) == (3 * 72, 300, 1200)
    assert seen[-1] == ended.reused_share == 0.72
    assert outcome_line(run, ended).endswith(", 72% of prompt tokens reused")
    row = run_table(db, run).rows[0]
    assert row["tokens_reused"] == 216
    again = planned(db, server_judge(stub.url), concurrency=1)
    db.execute("UPDATE calls SET tokens_cached = NULL WHERE run_id = ?", (run,))
    assert run_progress(db, run).reused_share is None
    assert run_progress(db, again).reused_share is None
    assert "reused" not in outcome_line(run, run_progress(db, run))


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
    monkeypatch.setattr("recjudge_tui.store.database.BUSY_TIMEOUT_S", 0.1)
    make_project(db, users=20)
    holder = sqlite3.connect(db.path, isolation_level=None, check_same_thread=False)
    held: list[threading.Timer] = []

    def hold(progress: object) -> None:
        if not held:
            holder.execute("BEGIN IMMEDIATE")
            held.append(threading.Timer(1.0, holder.rollback))
            held[0].start()

    with start("openai_api", "--delay-ms", 100) as slow:
        ended = work(db.path, planned(db, server_judge(slow.url), concurrency=4), hold)
    assert (ended.state, ended.done, len(held)) == ("done", 40, 1)
    held[0].join()
    holder.close()
