"""A process that is killed at any moment: nothing stored is lost, nothing stored is asked again."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from recjudge_tui.runs.engine import UNSAVED_A_WORKER, work
from recjudge_tui.store.database import Database
from tests.support.kills import asked, kill_at_random
from tests.support.runs import (
    calls,
    intact,
    make_project,
    planned,
    read_only,
    server_judge,
    verdicts,
)
from tests.support.servers.process import start

CONCURRENCY = 4
KILLS = 16  # by each of the two protocols


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
    make_project(db, users=150)
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
