"""Runs that stop when they are decided: when, with which words, and the same whatever happened on the way."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.early_stopping import (
    run_stopping_status,
)
from recjudge_tui.runs.batch import export_calls
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.settings import settings_for
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import run_row
from tests.support.kills import asked, kill_at_random
from tests.support.requests import sent_request
from tests.support.runs import (
    calls,
    intact,
    make_project,
    plan,
    planned,
    ran,
    server_judge,
    verdicts,
)
from tests.support.servers.process import start

RANDOM = JudgeSpec(spec="random")
# the winner of a pair of lists (a system's name), or the label of a list; None: the call fails
Says = Callable[[str, str], "str | None"]


def replayed(db: Database, path: Path, protocol: str, says: Says, **settings: object) -> int:
    """A run of a judge of whom it is known what it says of each user and system (pairs: of each user)."""
    run = planned(db, JudgeSpec(spec=f"replay:{path}"), protocol, until="decided", **settings)
    users = {row["id"]: row for row in db.rows("SELECT id, user_id, system_a, system_b FROM cases")}
    with path.open("w", encoding="utf-8") as file:
        for call in calls(db, run):
            case = users[call["case_id"]]
            said = says(case["user_id"], case["system_a"])
            line: dict[str, object] = {"content_hash": sent_request(db, call["id"]).content_hash()}
            if said is None:
                line |= {"state": "failed", "error": {"kind": "refusal", "title": "refused"}}
            else:
                line["reply"] = {"text": reply(said, call["list_order"], case["system_a"])}
            file.write(json.dumps(line) + "\n")
    return run


def reply(said: str, order: str, first: str) -> str:
    if not order:
        return json.dumps({"reasoning": "", "category": f"{said} Match", "flagged_items": []})
    winner = "Tie" if said == "Tie" else "Set 1" if (said == first) == (order == "ab") else "Set 2"
    return json.dumps({"reasoning": "", "winner": winner})


def users_in_order(db: Database, run: int) -> list[str]:
    sql = "SELECT c.user_id FROM calls k JOIN cases c ON c.id = k.case_id WHERE run_id = ? ORDER BY k.id"
    return list(dict.fromkeys(row[0] for row in db.rows(sql, (run,))))


def error(db: Database, run: int) -> str:
    said: str = run_row(db, run)["error"]
    return said


def test_a_strong_difference_stops_early_and_says_so(db: Database, tmp_path: Path) -> None:
    make_project(db, users=200)
    rng = random.Random(5)
    wins = {f"u{n:02d}": rng.choice(["als", "als", "als", "Tie", "pop"]) for n in range(200)}
    run = replayed(db, tmp_path / "r.jsonl", "pairwise", lambda user, _: wins[user])
    ended = work(db.path, run)
    assert (ended.state, ended.failed) == ("done", 0)
    assert ended.outstanding > 200
    found = re.fullmatch(
        r"decided after (\d+) of 200 users: als above pop, win rate (0\.\d+) \[(0\.\d+), (0\.\d+)\]",
        error(db, run),
    )
    assert found, error(db, run)
    users, value, low, high = (float(text) for text in found.groups())
    assert 10 <= users < 100
    assert 0.5 <= low < value < high < 1
    # who was asked comes in the random order of the seed, and nothing stands of who was not
    order = users_in_order(db, run)
    assert order != sorted(order)
    said = {row[1]: row[6] for row in verdicts(db, run)}
    assert users <= len(said) <= users + 2
    assert set(order[: int(users)]) <= set(said) <= set(order[: int(users) + 2])
    mean = sum((1 + said[user]) / 2 for user in order[: int(users)]) / users
    assert value == pytest.approx(mean, abs=0.0005)


def test_several_systems_go_on_until_every_pair_is_decided(db: Database, tmp_path: Path) -> None:
    make_project(db, users=300, systems=("als", "bpr", "pop"))
    ranks = {"als": (8, 1, 1), "bpr": (4, 3, 3), "pop": (1, 3, 6)}
    rng = random.Random(7)
    said = {
        (f"u{n:02d}", system): rng.choices(["Good", "Partial", "Poor"], weights)[0]
        for n in range(300)
        for system, weights in ranks.items()
    }
    run = replayed(db, tmp_path / "r.jsonl", "pointwise", lambda user, system: said[user, system])
    work(db.path, run)
    stands = run_stopping_status(db, run_row(db, run))
    assert stands is not None
    assert stands.decided
    assert [pair[:13] for pair in stands.compared] == ["als above bpr", "als above pop", "bpr above pop"]
    two = replayed(
        db, tmp_path / "two.jsonl", "pointwise", lambda u, s: said[u, s], systems=("als", "pop"), rater="two"
    )
    work(db.path, two)
    fewer = run_stopping_status(db, run_row(db, two))
    assert fewer is not None
    assert int(fewer.progress.split()[2]) < int(stands.progress.split()[2]) < 300
    base = replayed(
        db, tmp_path / "b.jsonl", "pointwise", lambda u, s: said[u, s], baseline="pop",
        systems=("als", "bpr"), rater="base",
    )  # fmt: skip
    work(db.path, base)
    against = run_stopping_status(db, run_row(db, base))
    assert against is not None
    assert [pair.partition(",")[0] for pair in against.compared] == ["als above pop", "bpr above pop"]


def test_a_decided_run_is_not_worked_on_again(db: Database, tmp_path: Path) -> None:
    make_project(db, users=60)
    run = replayed(db, tmp_path / "r.jsonl", "pairwise", lambda *_: "pop")
    first = work(db.path, run)
    before = [tuple(call) for call in calls(db, run)]
    (tmp_path / "r.jsonl").unlink()
    assert work(db.path, run) == first
    assert [tuple(call) for call in calls(db, run)] == before
    code, out, err = ran("runs", "resume", run, "--db", db.path)
    assert (code, out.split(":")[0]) == (0, f"run {run} done")
    assert "decided after 10 of 60 users: pop above als, win rate 1.000 [" in err
    assert f"saved {first.outstanding} of 120 calls" in err
    assert "[0.5" in error(db, run)


def test_what_is_decided_does_not_depend_on_how_many_calls_are_under_way(db: Database) -> None:
    make_project(db, users=150)
    said = []
    with start("openai_api", "--delay-ms", 2) as server:
        for at_once in (1, 16):
            run = planned(
                db, server_judge(server.url), "pairwise", until="decided", margin=0.3, concurrency=at_once,
                use_cache=False,
            )  # fmt: skip
            ended = work(db.path, run)
            assert 0 < ended.outstanding < 300
            said.append(error(db, run))
    assert said[0].startswith("decided after ")
    assert said[0] == said[1]


def test_killed_and_resumed_it_decides_the_same_and_asks_nothing_twice(db: Database, tmp_path: Path) -> None:
    make_project(db, users=150)
    wish = {"until": "decided", "margin": 0.25, "use_cache": False}
    with start("openai_api") as server:
        quiet = planned(db, server_judge(server.url), "pairwise", concurrency=1, **wish)
        work(db.path, quiet)
    log, rng = tmp_path / "killed.jsonl", random.Random(8)
    with start("openai_api", "--log", log) as server:
        run = planned(db, server_judge(server.url), "pairwise", concurrency=4, **wish)
        for kill in range(4):
            kill_at_random(db.path, run, server, rng, early=kill == 2)
        assert work(db.path, run).state == "done"
        requests = len(asked(log))
        assert work(db.path, run).state == "done"
        assert len(asked(log)) == requests
    assert error(db, run) == error(db, quiet)
    assert error(db, run).startswith("decided after ")
    assert {call["attempts"] for call in calls(db, run) if call["state"] == "done"} == {1}
    assert requests - len(set(asked(log))) <= 4 * 8, "only what was in flight at a kill"
    counted = users_in_order(db, run)[: int(error(db, run).split()[2])]
    said, again = ([v for v in verdicts(db, r) if v[1] in counted] for r in (quiet, run))
    assert (said, len(said)) == (again, len(counted))
    assert intact(db)


def test_what_cannot_be_decided_is_refused(db: Database, tmp_path: Path) -> None:
    make_project(db, users=3)
    for protocol in ("explanation", "absolute"):
        with pytest.raises(UsageError, match="runs cannot stop when decided"):
            plan(db, RANDOM, protocol, until="decided")
    with pytest.raises(UsageError, match="random order"):
        plan(db, RANDOM, until="decided", sample=2, stratify="activity")
    with pytest.raises(UsageError, match="margin"):
        plan(db, RANDOM, margin=0.1)
    with pytest.raises(UsageError, match="two systems"):
        plan(db, RANDOM, until="decided", systems=("als",))
    run = planned(db, server_judge("http://127.0.0.1:9"), until="decided")
    with pytest.raises(UsageError, match="cannot be sent in batches"):
        export_calls(db, run, tmp_path / "out.jsonl")
    assert run_row(db, run)["state"] == "planned"
    assert settings_for("pairwise", until=None).until == ""
