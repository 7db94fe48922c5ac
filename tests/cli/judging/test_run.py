"""`recjudge run` and `recjudge runs` as a user and a script meet them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.runs.engine import UNSAVED_A_WORKER
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import run_progress
from tests.support.runs import command, intact, make_project, planned, ran, verdicts
from tests.support.servers.process import ROOT, ServerProcess, start
from tests.support.waiting import HANG_S

SMALL_DISK = """
import resource, sys
from recjudge_tui.cli.app import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), -1))
main(sys.argv[2:])
"""


@pytest.fixture
def db(db: Database) -> Database:
    make_project(db, users=3, strangers=1)
    return db


def test_a_run_prints_the_estimate_then_one_line_for_scripts(db: Database) -> None:
    code, out, err = ran("run", "pointwise", "-p", "films", "--judge", "rules", "--top", 4, "--db", db.path)
    assert code == 0
    assert out == "run 1 done: 6 done, 0 failed, 0 from cache, 0 outstanding, cost $0.0000\n"
    assert err.splitlines() == [
        "rules · prompt pointwise-media@1 · 6 cases, 6 calls",
        "cost $0 (no language model) · time unknown until the first run of this judge",
        "left out: 2 × user without history",
    ]
    assert len(verdicts(db, 1)) == 6


def test_a_run_without_a_judge_takes_that_of_the_settings(db: Database, tmp_path: Path) -> None:
    words = ("run", "pointwise", "-p", "films", "--top", 4, "--db", db.path)
    settings, here = tmp_path / "config.toml", {"RECJUDGE_CONFIG": str(tmp_path)}
    code, _, err = ran(*words, env=here)
    assert code == 2
    assert "--judge SPEC" in err
    settings.write_text('[run]\njudge = "random"\n', encoding="utf-8")
    code, out, err = ran(*words, env=here)
    assert (code, err.splitlines()[0]) == (0, "judge: random (config.toml:2)")
    assert out.startswith("run 1 done: 6 done")
    code, _, err = ran(*words, "--judge", "rules", env=here)
    assert (code, err.splitlines()[0].split(" · ")[0]) == (0, "rules")
    settings.write_text("[run]\njudge = 3\n", encoding="utf-8")
    code, _, err = ran(*words, env=here)
    assert code == 2
    assert "config.toml:2: “judge” must be text" in err


@pytest.mark.parametrize(("key", "code", "runs"), [("y", 0, 2), ("n", 0, 1)])
def test_at_a_terminal_it_asks_before_it_judges_again(db: Database, key: str, code: int, runs: int) -> None:
    words = ("run", "pointwise", "-p", "films", "--judge", "rules", "--db", db.path)
    assert ran(*words)[0] == 0
    ours, terminal = os.openpty()
    process = command(*words, stdin=terminal, stderr=terminal)
    os.close(terminal)
    asked = b""
    while b"replace the verdicts?" not in asked:
        asked += os.read(ours, 1024)
    assert "“rules” has already judged these 6 cases" in asked.decode()
    os.write(ours, f"{key}\n".encode())
    with suppress(OSError):  # Linux says so when the process has closed its terminal
        while os.read(ours, 1024):
            pass
    process.communicate(timeout=HANG_S)
    os.close(ours)
    assert process.returncode == code
    assert db.value("SELECT count(*) FROM runs") == runs
    assert len(verdicts(db, runs)) == 6


def test_every_option_reaches_the_run(db: Database, openai_server: ServerProcess) -> None:
    words = """run pairwise -p films --judge openai:hash-judge --name mine --prompt pairwise-media@1 --systems pop,als
      --top 3 --history 2 --history-days 9 --as-of 2024-05-04 --no-history --sample 2 --stratify activity --seed 11 --no-swap
      --concurrency 3 --timeout 5 --repeats 1 --temperature 0 --max-tokens 300 --budget 5 --rpm 6000 --tpm 9000000
      --no-cache --profile none""".split()
    code, out, err = ran(*words, "--base-url", openai_server.url, "--db", db.path)
    assert (code, out) == (0, "run 1 done: 2 done, 0 failed, 0 from cache, 0 outstanding, cost $0.0000\n"), (
        err
    )
    assert re.search(r"tokens in [\d,]+ to [\d,]+, out about [\d,]+ · longest prompt about [\d,]+", err)
    row = db.rows("SELECT * FROM runs")[0]
    assert json.loads(row["settings"]) == {
        "protocol": "pairwise", "as_published": False, "reasoning": "first",
        "systems": ["pop", "als"], "baseline": "", "contexts": [], "served_from": "",
        "served_to": "", "where": "", "top_k": 3, "history": 2,
        "history_days": 9, "as_of": "2024-05-04", "no_history": True, "limit": None, "sample": 2, "seed": 11,
        "stratify": "activity", "until": "", "margin": None, "swap": False,
        "concurrency": 3, "timeout_s": 5.0, "max_tokens": 300, "sending": {}, "use_cache": False, "again": False,
        "repeats": 1, "temperature": 0.0, "budget_usd": 5.0, "requests_per_minute": 6000.0,
        "tokens_per_minute": 9000000.0, "aspects": "multi", "shots": "none", "examples_from": "",
        "keep_example_pair": False, "profile": "none", "variables": {}, "domain": "", "images": False,
        "reading": None,
    }  # fmt: skip
    assert json.loads(row["judge"])["base_urls"] == [openai_server.url]
    assert db.value("SELECT name FROM raters") == "mine"


def test_a_run_without_a_server_says_what_to_start_and_can_be_resumed(db: Database) -> None:
    words = ["--judge", "openai:hash-judge", "--base-url", "http://127.0.0.1:1/v1", "--db", db.path]
    code, out, err = ran("run", "pointwise", "-p", "films", *words)
    assert (code, out, "Traceback" in err) == (1, "", False)
    assert "error: " in err
    assert "127.0.0.1:1" in err
    assert ("  Connection refused\n" in err, "Errno" in err) == (True, False)
    assert (run_progress(db, 1).state, run_progress(db, 1).outstanding) == ("failed", 6)
    assert ran("runs", "resume", 1, "--db", db.path)[0] == 1


def test_runs_are_listed_shown_retried_and_deleted(db: Database) -> None:
    with start("openai_api", "--faults", "refusal:0.6") as server:
        words = ["--judge", "openai:hash-judge", "--base-url", server.url, "--top", 4, "--db", db.path]
        out = ran("run", "pointwise", "-p", "films", *words)[1]
        failed = run_progress(db, 1).failed
        assert 0 < failed < 6
        assert (
            out
            == f"run 1 done: {6 - failed} done, {failed} failed, 0 from cache, 0 outstanding, cost $0.0000\n"
        )
        code, out, err = ran("runs", "retry", 1, "--db", db.path)
        assert (code, f"asking {failed} failed call" in err) == (0, True)
        assert out.startswith("run 1 done: 6 done, 0 failed")
        assert ran("runs", "retry", 1, "--db", db.path)[2].startswith("run 1 has no failed calls\n")
    rows = json.loads(ran("runs", "list", "--format", "json", "--db", db.path)[1])["rows"]
    keys = "id protocol judge prompt state calls done failed cached tokens_in tokens_out cost_usd seconds"
    assert set(keys.split()) <= set(rows[0])
    assert (rows[0]["id"], rows[0]["calls"], rows[0]["done"], rows[0]["failed"]) == (1, 6, 6, 0)
    assert ran("runs", "show", 1, "--db", db.path)[0] == 0
    assert ran("runs", "delete", 1, "--db", db.path)[0] == 130, "nobody confirmed it"
    assert ran("runs", "delete", 1, "--yes", "--db", db.path)[0] == 0
    assert db.value("SELECT count(*) FROM calls") == 0


def test_a_run_started_in_the_background_is_reported_and_continues(db: Database) -> None:
    with start("openai_api", "--delay-ms", 50) as server:
        words = [*f"--judge openai:hash-judge --base-url {server.url} --top 4 --detach --db".split(), db.path]
        code, out, _ = ran("run", "pointwise", "-p", "films", *words)
        assert (code, out) == (0, "run 1 started in the background\n")
        code, _, err = ran("runs", "stop", 1, "--db", db.path)
        assert code == 0, err
        assert ran("runs", "resume", 1, "--db", db.path)[0] == 0
    assert run_progress(db, 1).done == 6


def test_a_disk_that_is_full_in_mid_run_loses_nothing_that_was_stored(db: Database, tmp_path: Path) -> None:
    """The limit on the size of a file stands for the disk: what SQLite appends beyond it cannot be written."""
    log, judge = tmp_path / "asked.jsonl", JudgeSpec(spec="openai:hash-judge")
    make_project(db, users=60, systems=("als", "pop", "svd"))
    with start("openai_api", "--log", log) as server:
        run = planned(db, judge.model_copy(update={"base_urls": (f"{server.url}/v1",)}), concurrency=2)
        db.value("PRAGMA wal_checkpoint(TRUNCATE)")
        room = db.path.stat().st_size
        words = ["runs", "resume", str(run), "--db", str(db.path)]
        done = subprocess.run(
            [sys.executable, "-c", SMALL_DISK, str(room), *words], capture_output=True, text=True, cwd=ROOT
        )
        said = done.stderr.splitlines()
        assert (done.returncode, len(said), done.stdout) == (1, 3, ""), done.stderr
        assert said[0].startswith(f"error: {db.path}")
        stored = run_progress(db, run)
        assert 0 < stored.done < stored.calls
        assert (
            ran(*words)[1]
            == f"run {run} done: {stored.calls} done, 0 failed, 0 from cache, 0 outstanding, cost $0.0000\n"
        )
    assert intact(db)
    assert len(verdicts(db, run)) == stored.calls
    asked = len(log.read_text(encoding="utf-8").splitlines())
    assert asked - stored.calls <= 2 * UNSAVED_A_WORKER
