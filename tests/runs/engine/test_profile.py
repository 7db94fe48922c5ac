"""Runs whose judge writes each user's profile first: a stored and cached call of its own."""

from __future__ import annotations

import json
import random
import sqlite3
import time
from pathlib import Path
from typing import Any

from recjudge_tui.domain.calls import PROFILE
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import reset_failed
from tests.support.kills import asked
from tests.support.requests import sent_request
from tests.support.runs import (
    calls,
    command,
    intact,
    make_project,
    planned,
    server_judge,
    verdicts,
)
from tests.support.servers import gate
from tests.support.servers.counts import request_count
from tests.support.servers.gate import allow, hold
from tests.support.servers.process import start
from tests.support.waiting import wait_until


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


def test_a_second_run_asks_for_no_profile_again(db: Database) -> None:
    make_project(db, users=3)
    with start("openai_api") as server:
        first = planned(db, server_judge(server.url), "arena", profile="llm")
        work(db.path, first)
        before = request_count(server)
        second = planned(db, server_judge(server.url), "absolute", profile="llm", history=100)
        third = planned(db, server_judge(server.url), "arena", profile="llm", rater="again")
        ended = work(db.path, third)
        assert request_count(server) == before
        work(db.path, second)
    assert ended.cached == ended.calls
    assert verdicts(db, third) == verdicts(db, first)
    assert intact(db)


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
    make_project(db, users=60)
    quiet, log, rng = tmp_path / "quiet.jsonl", tmp_path / "killed.jsonl", random.Random(11)
    settings: dict[str, Any] = {"profile": "llm", "use_cache": False}
    with start("openai_api", "--log", quiet) as server:
        undisturbed = planned(db, server_judge(server.url), "arena", concurrency=1, **settings)
        assert work(db.path, undisturbed).state == "done"
    body = dict(zip(map(key_of, calls(db, undisturbed)), asked(quiet), strict=True))
    assert len(set(body.values())) == len(body) == 60 * 3
    killed_at: set[bool] = set()
    with start("openai_api", "--log", log) as server:
        run = planned(db, server_judge(server.url), "arena", rater="killed", concurrency=4, **settings)
        for _ in range(12):
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
