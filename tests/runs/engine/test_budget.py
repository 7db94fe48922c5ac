"""A run with a budget never passes it, stops with a clear line, and goes on when it gets more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import RunError
from recjudge_tui.runs.calls import most_tokens
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.start import change_settings
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import run_row
from tests.support.requests import sent_request
from tests.support.runs import (
    RULES,
    calls,
    make_project,
    plan,
    planned,
    ran,
    server_judge,
    verdicts,
    write_prices,
)
from tests.support.servers.counts import request_count
from tests.support.servers.process import ServerProcess, start

AWAY = JudgeSpec(spec="openai:nobody-knows", base_urls=("https://models.example/v1",))


@pytest.fixture
def priced(tmp_path: Path, db: Database) -> Path:
    """A dollar for a thousand tokens of a reply, a tenth of that for those of a prompt."""
    return write_prices(tmp_path / "config", input=100.0, output=1000.0)


def dearest(db: Database, run: int) -> float:
    costs: list[float] = [c["cost_usd"] for c in calls(db, run) if c["cost_usd"] is not None]
    return max(costs)


@pytest.mark.parametrize("dear", [1, 20, 400])
def test_sixteen_at_once_do_not_pass_the_budget_whatever_a_reply_costs(
    db: Database, priced: Path, dear: int
) -> None:
    """20: some replies cost many times the others, yet less than reserved. 400: ten times what was reserved."""
    make_project(db, users=300)
    budget = {1: 40.0, 20: 100.0, 400: 1000.0}[dear]
    with start("openai_api", "--dear", dear, "--delay-ms", 5) as server:
        run = planned(
            db, server_judge(server.url), budget_usd=budget, concurrency=16, max_tokens=2048, use_cache=False
        )
        ended = work(db.path, run)
    assert ended.cost_usd is not None
    assert (ended.state, ended.failed) == ("stopped", 0)
    assert 0 < ended.outstanding < 600
    assert ended.cost_usd <= budget
    assert ended.cost_usd > budget - 2 * max(2.5, dearest(db, run)), "nor does it stop long before"
    assert f"The budget of ${budget:,.2f} would be exceeded" in run_row(db, run)["error"]


def test_a_stopped_run_stops_at_once_again_and_goes_on_with_more(db: Database, priced: Path) -> None:
    make_project(db, users=20)
    environment = {"env": {"RECJUDGE_CONFIG": str(priced)}}
    with start("openai_api") as server:
        free = planned(db, server_judge(server.url), use_cache=False)
        work(db.path, free)
        run = planned(db, server_judge(server.url), budget_usd=4.0, max_tokens=1024, use_cache=False)
        ended = work(db.path, run)
        assert (ended.state, ended.outstanding > 10) == ("stopped", True)
        asked = request_count(server)
        code, out, err = ran("runs", "resume", run, "--db", db.path, **environment)
        assert (code, request_count(server)) == (130, asked)
        assert out.startswith(f"run {run} stopped: {ended.done} done")
        assert "The budget of $4.00 would be exceeded" in err
        code, out, _ = ran("runs", "resume", run, "--budget", 400, "--db", db.path, **environment)
        assert (code, request_count(server)) == (0, asked + ended.outstanding)
        assert out.startswith(f"run {run} done: 40 done, 0 failed")
    assert verdicts(db, run) == verdicts(db, free)
    assert {c["attempts"] for c in calls(db, run)} == {1}
    assert json.loads(run_row(db, run)["settings"])["budget_usd"] == 400


def test_a_budget_without_a_price_is_refused_and_leaves_nothing(db: Database) -> None:
    make_project(db)
    with pytest.raises(RunError, match="a budget needs the price"):
        plan(db, AWAY, budget_usd=5.0)
    assert db.value("SELECT count(*) FROM runs") == 0
    run = planned(db, AWAY)
    with pytest.raises(RunError, match="price"):
        change_settings(db, run, budget_usd=5.0)
    code, _, err = ran("runs", "resume", run, "--budget", 5, "--db", db.path)
    assert (code, "price" in err) == (1, True)
    assert run_row(db, run)["state"] == "planned"


def test_what_is_free_or_no_model_runs_under_any_budget(db: Database, openai_server: ServerProcess) -> None:
    make_project(db)
    for judge in (server_judge(openai_server.url), RULES):
        ended = work(db.path, planned(db, judge, budget_usd=0.01))
        assert (ended.state, ended.cost_usd) == ("done", 0)


def test_attempts_that_nobody_bills_cost_nothing(
    db: Database, priced: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recjudge_tui.runs.calls.FIRST_WAIT_S", 0.02)
    make_project(db, users=20)
    faults = ("--faults", "429:0.3,503:0.3,529:0.3", "--fault-attempts", 2, "--retry-after", 0)
    with start("openai_api", *faults) as server:
        whole = work(db.path, planned(db, server_judge(server.url), use_cache=False)).cost_usd
    assert whole is not None
    with start("openai_api", *faults) as server:
        # the cost of all calls and what one more may cost at most: not enough for a single attempt in vain
        run = planned(
            db,
            server_judge(server.url),
            budget_usd=whole + 1.1 + most_tokens(sent_request(db, 1)) * 100 / 1e6,
            max_tokens=1024,
            concurrency=4,
            use_cache=False,
        )
        ended = work(db.path, run)
        assert request_count(server) > 40
    assert (ended.state, ended.done) == ("done", 40)
    assert ended.cost_usd == pytest.approx(whole)


def test_attempts_lost_on_their_way_count_as_the_most_they_can_have_cost(db: Database, priced: Path) -> None:
    make_project(db, users=2)
    with start("openai_api", "--faults", "hang:1") as server:
        run = planned(
            db, server_judge(server.url), budget_usd=2.0, max_tokens=1024, timeout_s=1.0, concurrency=1
        )
        ended = work(db.path, run)
        assert request_count(server) == 1
    assert (ended.state, ended.outstanding) == ("stopped", 4)


def test_a_reply_that_was_paid_for_is_kept_when_there_is_no_money_to_ask_again(
    db: Database, priced: Path
) -> None:
    make_project(db, users=2)
    with start("openai_api", "--faults", "garbage:1") as server:
        cost = work(db.path, planned(db, server_judge(server.url), max_tokens=16, limit=1)).cost_usd
        assert cost is not None
        first = most_tokens(sent_request(db, 1)) * 100 / 1e6 + 1.0
        run = planned(
            db,
            server_judge(server.url),
            budget_usd=first + cost / 8,
            max_tokens=1000,
            concurrency=1,
            use_cache=False,
        )
        ended = work(db.path, run)
    assert (ended.state, ended.failed, ended.done) == ("stopped", 1, 0)
    failed: dict[str, Any] = next(dict(c) for c in calls(db, run) if c["state"] == "failed")
    assert (failed["error_kind"], failed["attempts"]) == ("bad_reply", 1)
    assert failed["cost_usd"] > 0
    assert failed["reply"].startswith("My impression")
