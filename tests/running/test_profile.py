"""Runs whose judge writes each user's profile first: a stored and cached call of its own."""

from __future__ import annotations

import json
import urllib.request

import pytest

from recjudge_tui.errors import UsageError
from recjudge_tui.model.calls import PROFILE
from recjudge_tui.running.batch_context import held_run
from recjudge_tui.running.engine import work
from recjudge_tui.running.preview import sent_request
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import reset_failed
from tests.running.factory import calls, intact, make_project, planned, server_judge, verdicts
from tests.servers.process import ServerProcess, start


def asked(server: ServerProcess) -> int:
    with urllib.request.urlopen(f"{server.url}/stats", timeout=10) as response:
        return int(json.load(response)["requests"])


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
        before = asked(server)
        second = planned(db, server_judge(server.url), "absolute", profile="llm", history=100)
        third = planned(db, server_judge(server.url), "arena", profile="llm", rater="again")
        ended = work(db.path, third)
        assert asked(server) == before
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
        assert asked(server) == 3 + 3 * 2
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


def test_such_a_run_cannot_go_in_batches(db: Database) -> None:
    make_project(db, users=2)
    run = planned(db, server_judge("http://127.0.0.1:9"), "arena", profile="llm")
    with pytest.raises(UsageError, match="cannot go in batches"), held_run(db, run):
        pass
