"""A process that is killed at any moment: nothing stored is lost, nothing stored is asked again."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.runs.engine import UNSAVED_A_WORKER, work
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import run_progress
from recjudge_tui.store.schema import connect
from tests.support.kills import asked, kill_at_random
from tests.support.runs import (
    calls,
    command,
    intact,
    make_project,
    planned,
    read_only,
    server_judge,
    verdicts,
)
from tests.support.servers.gate import allow, hold
from tests.support.servers.process import ServerProcess, start
from tests.support.waiting import HANG_S, wait_until

CONCURRENCY = 4
KILLS = 8  # by each of the two protocols


def bodies_by_call(db: Database, log: Path, protocol: str) -> tuple[int, dict[tuple[object, ...], str]]:
    """An undisturbed run that asks one call at a time: which body belongs to which call."""
    with start("openai_api", "--log", log) as server:
        run = planned(db, server_judge(server.url), protocol, concurrency=1, use_cache=False)
        assert work(db.path, run).state == "done"
    keys: list[tuple[object, ...]] = [(c["case_id"], c["list_order"]) for c in calls(db, run)]
    by_call = dict(zip(keys, asked(log), strict=True))
    assert len(set(by_call.values())) == len(by_call), "every call of this project asks something else"
    return run, by_call


def done_calls(path: Path, run: int) -> set[tuple[object, ...]]:
    connection = read_only(path)
    try:
        return set(
            connection.execute(
                "SELECT case_id, list_order FROM calls WHERE run_id = ? AND state = 'done'", (run,)
            )
        )
    finally:
        connection.close()


@pytest.mark.parametrize("protocol", ["pointwise", "pairwise"])
def test_a_run_that_is_killed_repeatedly_ends_like_an_undisturbed_one(
    db: Database, tmp_path: Path, protocol: str
) -> None:
    make_project(db, users=90)
    undisturbed, body = bodies_by_call(db, tmp_path / "quiet.jsonl", protocol)
    log, rng = tmp_path / "killed.jsonl", random.Random(protocol)
    stored: set[str] = set()
    with start("openai_api", "--log", log) as server:
        run = planned(db, server_judge(server.url), protocol, concurrency=CONCURRENCY, use_cache=False)
        for kill in range(KILLS):
            began = len(asked(log))
            kill_at_random(db.path, run, server, rng, early=kill % 4 == 3)
            assert not stored & set(asked(log)[began:])
            stored = {body[key] for key in done_calls(db.path, run)}
            assert len(set(asked(log)) - stored) <= CONCURRENCY * UNSAVED_A_WORKER
        began = len(asked(log))
        assert work(db.path, run).state == "done"
        assert not stored & set(asked(log)[began:])
    times = Counter(asked(log))
    assert set(times) == set(body.values())
    assert sum(times.values()) - len(times) <= KILLS * CONCURRENCY * UNSAVED_A_WORKER
    assert verdicts(db, run) == verdicts(db, undisturbed)
    assert {c["state"] for c in calls(db, run)} == {"done"}
    assert intact(db)


# ---- powercut ------------------------------------------------------------------------------------------------


COPIES = 12
RESUMED = 2
FRAME = 24 + 4096  # a page of the write-ahead log with its head


def cut_power(source: Path, target: Path, rng: random.Random) -> bool:
    """Copy the file and its write-ahead log as they are at this instant; the lock file does not survive.

    Every other time the page that was being written last is torn: True then. Only where it is newer than
    the file itself: else it had been synced before it was copied from the log into the file.
    """
    log = source.with_name(f"{source.name}-wal")
    shutil.copyfile(source, target)
    if not log.exists():
        return False
    copy = target.with_name(f"{target.name}-wal")
    shutil.copyfile(log, copy)
    unsynced = log.stat().st_mtime_ns > source.stat().st_mtime_ns
    if not unsynced or copy.stat().st_size < 32 + FRAME or rng.random() < 0.5:
        return False
    os.truncate(copy, copy.stat().st_size - rng.randrange(1, FRAME))
    return True


def collect(
    process: subprocess.Popen[str],
    server: ServerProcess,
    db: Database,
    run: int,
    folder: Path,
    rng: random.Random,
) -> list[bool]:
    """Copies at random instants while the run writes, a call or more after each other; which of them are torn."""
    torn: list[bool] = []
    done = run_progress(db, run).done
    while len(torn) < COPIES:
        allow(server, rng.randint(4, 12))
        wait_until(lambda: run_progress(db, run).done > done)  # noqa: B023
        time.sleep(rng.uniform(0.0, 0.05))
        os.kill(process.pid, signal.SIGSTOP)
        torn.append(cut_power(db.path, folder / f"cut{len(torn):02d}.db", rng))
        done = run_progress(db, run).done
        os.kill(process.pid, signal.SIGCONT)
    return torn


def check(copy: Database, run: int, final: dict[tuple[Any, ...], tuple[Any, ...]]) -> int:
    """The copy is sound, each answered call has its answer, each complete case its verdict; says how many were done."""
    assert intact(copy)
    by_case: dict[int, set[str]] = {}
    for call in calls(copy, run):
        by_case.setdefault(call["case_id"], set()).add(call["state"])
        answers = copy.value("SELECT count(*) FROM answers WHERE call_id = ?", (call["id"],))
        assert answers == (call["state"] == "done")
    complete = {case for case, states in by_case.items() if states == {"done"}}
    judged = {row[0] for row in copy.rows("SELECT case_id FROM verdicts WHERE run_id = ?", (run,))}
    assert judged == complete
    for verdict in verdicts(copy, run):
        assert final[verdict[:5]] == verdict
    stands = run_progress(copy, run)
    assert stands.failed == 0
    return stands.done


def test_a_copy_made_at_any_moment_is_intact_and_usable(db: Database, tmp_path: Path) -> None:
    make_project(db, users=110)
    rng = random.Random(5)
    with start("openai_api") as server:
        hold(server, 8)
        run = planned(db, server_judge(server.url), "pairwise", concurrency=4, use_cache=False)
        # what the run itself writes is to be seen, not what the import left in the log
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        process = command("runs", "resume", run, "--db", db.path)
        try:
            wait_until(lambda: run_progress(db, run).done >= 8)
            torn = collect(process, server, db, run, tmp_path, rng)
            allow(server)
            assert process.wait(HANG_S) == 0
        finally:
            process.kill()
            process.communicate()
    assert (len(torn), sum(torn) > 1) == (COPIES, True)
    final = {verdict[:5]: verdict for verdict in verdicts(db, run)}
    assert len(final) == 110
    stood = []
    for number in range(COPIES):
        with connect(tmp_path / f"cut{number:02d}.db", must_exist=True) as copy:
            stood.append(check(copy, run, final))
    # a torn page may take the last commit with it, which an earlier copy has
    whole = [done for done, tear in zip(stood, torn, strict=True) if not tear]
    assert all(first < second for first, second in pairwise(whole))
    assert 0 < stood[0] < stood[-1] <= 220
    for number in rng.sample(range(COPIES), RESUMED):
        resume(tmp_path / f"cut{number:02d}.db", run, 220 - stood[number], final)


def resume(path: Path, run: int, wanting: int, final: dict[tuple[Any, ...], tuple[Any, ...]]) -> None:
    """Go on with the run of a copy, as after the power is back: it asks for what is missing, and for that alone."""
    with start("openai_api", "--log", path.with_suffix(".jsonl")) as server, connect(path) as copy:
        judge = server_judge(server.url).model_dump_json()
        copy.execute("UPDATE runs SET judge = ?, lease_owner = NULL WHERE id = ?", (judge, run))
        assert work(path, run).state == "done"
        assert {verdict[:5]: verdict for verdict in verdicts(copy, run)} == final
        assert intact(copy)
    asked = path.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines() if wanting else []
    assert len(asked) == wanting
