"""SAER's two stages: planned together, interrupted anywhere, taken up by the same command, left out only when asked."""

from __future__ import annotations

import json
import random
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import UsageError
from recjudge_tui.runs.engine import UNSAVED_A_WORKER, work
from recjudge_tui.runs.groups import (
    SaerRequest,
    exclusion,
    next_stage,
    plan_saer,
    saer_request,
)
from recjudge_tui.runs.start import change_concurrency, requested_concurrency
from recjudge_tui.store.database import Database, now
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.runs import run_progress, run_row
from tests.support.kills import asked
from tests.support.runs import (
    RULES,
    add_lists,
    calls,
    command,
    intact,
    make_project,
    planned,
    ran,
    server_judge,
    verdicts,
    write_prices,
)
from tests.support.servers.counts import request_count, stats
from tests.support.servers.gate import allow, hold
from tests.support.servers.process import ServerProcess, start
from tests.support.waiting import wait_until

THREE = ("als", "pop", "svd")
CONCURRENCY = 4


def request(db: Database, judge: JudgeSpec = RULES, **more: Any) -> SaerRequest:
    return saer_request(db, project_id(db, "films"), judge, **{"top_k": 4, **more})


def stages(db: Database, asked_for: SaerRequest, **more: Any) -> tuple[int | None, int | None]:
    _, (first, second) = plan_saer(db, project_id(db, "films"), asked_for, **more)
    return first.run_id, second.run_id


def words(db: Database, server: ServerProcess, *more: object) -> tuple[object, ...]:
    return ("run", "saer", "-p", "films", "--judge", "openai:hash-judge", "--base-url", server.url,
            "--top", 4, "--no-cache", "--concurrency", CONCURRENCY, "--db", db.path, *more)  # fmt: skip


def test_where_the_second_stage_cannot_be_planned_the_first_is_not_either(db: Database) -> None:
    make_project(db)
    with pytest.raises(UsageError, match="two systems"):
        request(db, systems=("als",))
    wished = request(db)
    wrong = wished.settings["pairwise"].model_copy(update={"shots": "one"})
    spoilt = wished.model_copy(update={"settings": {**wished.settings, "pairwise": wrong}})
    with pytest.raises(UsageError, match="has no --shots"):
        stages(db, spoilt)
    assert db.value("SELECT count(*) FROM runs") == 0
    assert db.value("SELECT count(*) FROM raters") == 0


def test_a_prompt_may_be_named_for_each_stage_and_no_other(db: Database) -> None:
    make_project(db)
    assert request(db, prompts=("pairwise-shopping", "pointwise-media@1")).prompts == {
        "pointwise": "pointwise-media@1", "pairwise": "pairwise-shopping",
    }  # fmt: skip
    for wrong in (("arena-media",), ("pairwise-media", "pairwise-shopping")):
        with pytest.raises(UsageError, match="SAER takes one prompt for pointwise and one for pairwise"):
            request(db, prompts=wrong)


def test_the_same_request_finds_its_runs_with_other_operation_settings(db: Database) -> None:
    make_project(db)
    assert stages(db, request(db), dry_run=True) == (None, None)
    assert [db.value(f"SELECT count(*) FROM {t}") for t in ("runs", "cases", "raters", "snapshots")] == [
        0
    ] * 4
    assert planned(db) == 1, "a first stage that was run alone"
    assert stages(db, request(db, concurrency=2)) == (1, 2)
    assert stages(db, request(db, concurrency=3, timeout_s=9.0)) == (1, 2)
    assert json.loads(run_row(db, 2)["settings"])["concurrency"] == 3
    change_concurrency(db, 1, 9)
    assert stages(db, request(db, concurrency=3)) == (1, 2)
    assert requested_concurrency(db, 1) == 9
    assert stages(db, request(db, concurrency=2)) == (1, 2)
    assert (requested_concurrency(db, 1), requested_concurrency(db, 2)) == (2, 2)
    for run in (1, 2):
        work(db.path, run)
    assert stages(db, request(db)) == (1, 2)
    assert stages(db, request(db, history=3)) == (3, 4), "another question is another run"
    assert run_row(db, 3)["rater"] == "rules #2"
    assert stages(db, request(db, history=3)) == (3, 4)


def test_what_is_done_is_done_again_only_when_the_data_have_changed_since(db: Database) -> None:
    make_project(db)
    assert stages(db, request(db)) == (1, 2)
    work(db.path, 1)
    add_lists(db, ["u00"], ["als"], length=3)
    assert stages(db, request(db)) == (1, 2), "the second stage is not done: it goes on as it was planned"
    work(db.path, 2)
    assert stages(db, request(db)) == (3, 4)
    assert [run_row(db, run)["rater"] for run in (1, 2, 3, 4)] == ["rules"] * 4
    assert [run_progress(db, run).calls for run in (3, 4)] == [1, 2], "only what has no verdict yet"
    assert stages(db, request(db), rater="rules") == (3, 4)


def test_systems_are_left_out_only_over_the_share_that_was_said(
    db: Database, openai_server: ServerProcess
) -> None:
    make_project(db, users=12, systems=THREE)
    judge = server_judge(openai_server.url)
    wished = request(db, judge, drop_poor_over=0.0)
    _, (first, second) = plan_saer(db, project_id(db, "films"), wished)
    assert (first.run_id, second.run_id, second.estimate.calls) == (1, None, 12 * 3 * 2)
    work(db.path, 1)
    truth = {row[0]: row[1] for row in db.rows(
        """SELECT c.system_a, avg(v.label = 'Poor') FROM verdicts v JOIN cases c ON c.id = v.case_id
           WHERE v.run_id = 1 GROUP BY 1""")}  # fmt: skip
    assert exclusion(db, wished, 1).left_out == pytest.approx(
        {s: share for s, share in truth.items() if share}
    )
    over = sorted(truth.values())[1]
    assert exclusion(db, request(db, judge), 1).left_out == {}
    wished = request(db, judge, drop_poor_over=over)
    kept = {s for s, share in truth.items() if share <= over}
    group, _ = plan_saer(db, project_id(db, "films"), wished)
    assert group is not None
    stage = next_stage(db, group)
    assert stage is not None
    pairs = db.rows("SELECT system_a, system_b FROM run_cases JOIN cases ON id = case_id WHERE run_id = 2")
    assert {system for pair in pairs for system in pair} == kept
    _, (_, again) = plan_saer(db, project_id(db, "films"), wished)
    assert (again.run_id, again.existing) == (2, True)


@pytest.mark.parametrize("drop", [(), ("--drop-poor-over", "0.9")])
def test_killed_anywhere_the_same_command_goes_on_and_asks_nothing_twice(
    db: Database, tmp_path: Path, drop: tuple[str, ...]
) -> None:
    users = 40
    make_project(db, users=users, systems=THREE)
    log, rng, kills = tmp_path / "asked.jsonl", random.Random(str(drop)), 0
    with start("openai_api", "--log", log) as server:
        line = words(db, server, *drop)
        killed_in: set[int] = set()
        while not (kills >= 2 and killed_in == {0, 1}):
            hold(server, rng.randint(20, 50))
            process = command(*line)
            wait_until(lambda: stats(server)["held"])
            time.sleep(rng.uniform(0.0, 0.05))
            killed_in.add(db.value("SELECT count(*) FROM runs WHERE state = 'done'"))
            process.kill()
            process.communicate()
            kills += 1
        allow(server)
        code, out, err = ran(*line)
    assert code == 0, err
    assert db.value("SELECT group_concat(protocol || ' ' || state, ', ') FROM runs") == (
        "pointwise done, pairwise done"
    )
    assert db.rows("SELECT name FROM raters")[0][0] == "hash-judge"
    whole = users * 3 + users * 3 * 2
    assert len(set(asked(log))) == whole
    assert len(asked(log)) - whole <= kills * CONCURRENCY * UNSAVED_A_WORKER
    assert [len(verdicts(db, run)) for run in (1, 2)] == [users * 3] * 2
    assert "SAER: films, judged by hash-judge" in out
    assert intact(db)


def test_a_stage_killed_after_its_last_answer_is_done(db: Database, tmp_path: Path) -> None:
    make_project(db, users=6)
    with start("openai_api") as server:
        line = words(db, server)
        assert ran(*line)[0] == 0
        dead = subprocess.Popen([sys.executable, "-c", ""])
        dead.wait()
        db.execute(
            "UPDATE runs SET state = 'running', finished_at = NULL, lease_owner = ?, heartbeat_at = ? WHERE id = 1",
            (f"{socket.gethostname()}|{dead.pid}||0123", now()),
        )
        assert ran(*line)[0] == 0
    row = run_row(db, 1)
    assert (row["state"], row["lease_owner"]) == ("done", None)
    assert row["finished_at"]


@pytest.mark.parametrize("drop", [(), ("--drop-poor-over", "0.9")])
def test_in_the_background_one_process_works_on_both_stages(db: Database, drop: tuple[str, ...]) -> None:
    make_project(db, users=10)
    with start("openai_api") as server:
        hold(server, 8)
        line = words(db, server, *drop)
        code, out, err = ran(*line, "--detach")
        assert code == 0, err
        told = (
            "run 1 started in the background; the pairs" if drop else "runs 1 and 2 started in the background"
        )
        assert out.startswith(told)
        code, _, err = ran(*line)
        assert (code, "is already running" in err) == (1, True)
        allow(server)
        wait_until(lambda: [r[0] for r in db.rows("SELECT state FROM runs ORDER BY id")] == ["done", "done"])
        code, out, err = ran(*line)
    assert (code, "SAER: films" in out) == (0, True), err
    assert [calls(db, run)[0]["state"] for run in (1, 2)] == ["done", "done"]
    assert run_row(db, 2)["protocol"] == "pairwise"


def test_one_budget_holds_for_both_stages_and_a_larger_one_goes_on(db: Database, tmp_path: Path) -> None:
    env = {"RECJUDGE_CONFIG": str(write_prices(tmp_path / "config", input=100.0, output=1000.0))}
    make_project(db, users=20)
    with start("openai_api") as server:
        line = words(db, server, "--budget")
        whole = ran(*words(db, server, "--name", "whole"), env=env)
        assert whole[0] == 0, whole[2]
        first, second = (run_progress(db, run).cost_usd or 0.0 for run in (1, 2))
        # what a call may cost at most is reserved, so the budget stops short of what is spent at last
        code, out, err = ran(*line, f"{first + second / 2}", env=env)
        assert (code, out) == (130, ""), err
        assert "to resume, repeat the same command" in err
        spent = sum(run_progress(db, run).cost_usd or 0.0 for run in (3, 4))
        assert spent <= first + second / 2
        code, out, err = ran(*line, f"{(first + second) * 3}", env=env)
        assert code == 0, err
        left = json.loads(run_row(db, 4)["settings"])["budget_usd"]
        assert left == pytest.approx((first + second) * 3 - (run_progress(db, 3).cost_usd or 0.0))
    assert db.value("SELECT count(*) FROM runs") == 4


# ---- groups --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "same"),
    [("profile", "none", False), ("until", "decided", False), ("no_history", True, False), ("swap", False, False),
     ("concurrency", 7, True), ("budget_usd", 1.0, True)],
)  # fmt: skip
def test_another_question_is_another_group(db: Database, name: str, value: Any, same: bool) -> None:
    """What a run asks tells two groups apart; how it is worked on does not."""
    make_project(db)
    asked = [request(db), request(db, **{name: value})]
    first, second = (plan_saer(db, project_id(db, "films"), one)[0] for one in asked)
    assert (first == second) == same


# ---- experiment ----------------------------------------------------------------------------------------------


FILE = """
protocols = ["pointwise", "pairwise"]
judges = ["rules", "random"]
prompts = ["pairwise-media", "pairwise-shopping"]
truth = "anna"
[options]
top = 4
[options.pairwise]
no-swap = true
"""


@pytest.fixture
def six(db: Database) -> Database:
    make_project(db, users=6)
    return db


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "e.toml"
    path.write_text(text, encoding="utf-8")
    return path


def runs_of(six: Database) -> list[tuple[str, str, str]]:
    with closing(sqlite3.connect(six.path)) as file:
        return file.execute(
            """SELECT ru.protocol, json_extract(ru.judge, '$.spec'), p.name
               FROM runs ru JOIN prompts p ON p.id = ru.prompt_id ORDER BY ru.id"""
        ).fetchall()


def test_all_combinations_run_once_and_end_in_one_table(six: Database, tmp_path: Path) -> None:
    path = written(tmp_path, FILE)
    words = ("run", path, "-p", "films", "--db", six.path, "--format", "json")
    code, _, err = ran(*words, "--dry-run")
    assert (code, runs_of(six)) == (0, [])
    assert "together:" in err
    code, out, _ = ran(*words)
    assert code == 0
    assert sorted(runs_of(six)) == sorted(
        [("pointwise", judge, "pointwise-media") for judge in ("rules", "random")]
        + [
            ("pairwise", judge, f"pairwise-{kind}")
            for judge in ("rules", "random")
            for kind in ("media", "shopping")
        ]
    )
    rows = json.loads(out)["rows"]
    assert [row["state"] for row in rows] == ["done"] * 6
    assert {(row["protocol"], row["judge"]) for row in rows} == {
        (protocol, judge) for protocol in ("pointwise", "pairwise") for judge in ("rules", "random")
    }
    # nothing is asked twice, and the options of one protocol are its own
    code, again, err = ran(*words)
    assert (code, json.loads(again)["rows"], err.count("exists (done)")) == (0, rows, 6)
    with closing(sqlite3.connect(six.path)) as file:
        swaps = file.execute(
            "SELECT DISTINCT protocol, json_extract(settings, '$.swap') FROM runs"
        ).fetchall()
    assert sorted(swaps) == [("pairwise", 0), ("pointwise", 1)]


def test_a_judge_that_cannot_answer_does_not_keep_the_others_from_it(six: Database, tmp_path: Path) -> None:
    with start("openai_api", "--faults", "401:1", "--fault-attempts", 9) as server:
        path = written(
            tmp_path,
            f"""
            protocols = ["pointwise"]
            judges = [{{spec = "openai:hash-judge", base_urls = ["{server.url}/v1"]}}, "rules"]
            """,
        )
        code, out, err = ran("run", path, "-p", "films", "--db", six.path, "--format", "json")
        assert request_count(server) > 0
    assert code == 1
    assert "run 1 goes no further" in err
    assert [judge for _, judge, _ in runs_of(six)] == ["openai:hash-judge", "rules"]
    assert [row["done"] for row in json.loads(out)["rows"]] == [0, 12]


def test_a_command_is_saved_and_runs_the_same(six: Database, tmp_path: Path) -> None:
    path = tmp_path / "saved.toml"
    given = (
        "run",
        "pairwise",
        "-p",
        "films",
        "--judge",
        "rules",
        "--top",
        3,
        "--no-swap",
        "--sample",
        4,
        "--db",
        six.path,
    )
    code, _, err = ran(*given, "--save", path)
    assert code == 0
    assert f"recjudge run {path}" in err
    assert ran(*given, "--save", path)[0] == 2
    assert ran("run", path, "-p", "films", "--db", six.path)[0] == 0
    code, _, err = ran(*given)
    assert "already judged" in err
    assert len(runs_of(six)) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("protocols = [", "cannot be read"),
        ('judges = ["rules"]', "“protocols” does not fit"),
        ('protocols = ["pairwise"]', "“judges” does not fit"),
        ('protocols = ["pairs"]\njudges = ["rules"]', "it names pairs"),
        ('protocols = ["pairwise"]\njudges = ["nobody:x"]', "nobody"),
        ('protocols = ["pairwise"]\njudges = [3]', "“judges” does not fit"),
        ('protocols = ["pairwise"]\njudges = ["rules"]\nprompts = ["no-such"]', "no-such"),
        ('protocols = ["pairwise"]\njudges = ["rules"]\nprompts = ["pointwise-media"]', "none of the protocols"),
        ('protocols = ["pairwise"]\njudges = ["rules"]\nbudget = "5"', "“budget” does not fit"),
        ('protocols = ["pairwise"]\njudges = ["rules"]\nbuget = 5', "“buget” does not fit"),
        ('protocols = ["pairwise"]\njudges = ["rules"]\n[options]\ntpo = 5', "“tpo” is no option of a run"),
        ('protocols = ["pairwise"]\njudges = ["rules"]\n[options]\ntop = "many"', "“top_k” does not fit"),
        ('protocols = ["pairwise"]\njudges = ["rules"]\n[options]\nshots = "one"', "“shots” is no option of pairwise"),
        ('protocols = ["pairwise"]\njudges = ["rules"]\n[options]\nbudget = 1', "one for all runs"),
        ('protocols = ["pairwise"]\njudges = ["rules"]\n[options]\nsystems = ["zzz"]', "zzz"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named_and_nothing_is_planned(
    six: Database, tmp_path: Path, text: str, said: str
) -> None:
    code, out, err = ran("run", written(tmp_path, text), "-p", "films", "--db", six.path)
    assert code in (1, 2), err
    assert said in err
    assert "unexpected" not in err
    assert (out, runs_of(six)) == ("", [])
