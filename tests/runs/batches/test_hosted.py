"""Batches at a provider, over real HTTP: submitted once, collected whenever, with the verdicts of a live run."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2 as httpx
import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import JudgeError, RunError
from recjudge_tui.judges.batch import AnthropicBatches, OpenAIBatches, Shape
from recjudge_tui.runs import batch as hosted
from recjudge_tui.runs.batch import (
    Sent,
    batch_estimate,
    collect,
    give_up,
    refuse_when_away,
    submit,
    update_progress,
)
from recjudge_tui.runs.engine import work
from recjudge_tui.store.calls import batches_of
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import reset_failed, run_progress, run_row
from recjudge_tui.store.schema import connect
from tests.support.fork_server import ForkedProcess
from tests.support.runs import calls, intact, make_project, planned, program, verdicts, write_prices
from tests.support.servers.loopback import get, post
from tests.support.servers.process import ROOT, ServerProcess, start
from tests.support.waiting import wait_until

PROVIDERS = ("openai", "anthropic")
CREATE = {"openai": "POST /v1/batches", "anthropic": "POST /v1/messages/batches"}
# what the process that is killed runs; it settles at once, for nobody may be in flight in these tests
SUBMIT = """
import sys
from pathlib import Path
from recjudge_tui.runs.batch import submit
from recjudge_tui.store.schema import connect
with connect(Path(sys.argv[1])) as db:
    submit(db, int(sys.argv[2]), settle_s=float(sys.argv[3]))
"""


def judge(provider: str, url: str) -> JudgeSpec:
    return JudgeSpec(spec=f"{provider}:hash-judge", base_urls=(url,))


def stats(url: str) -> dict[str, Any]:
    found: dict[str, Any] = get(f"{url}/stats").json()
    return found


def control(url: str, **routes: str) -> None:
    post(f"{url}/control", json=routes)


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    with start("batch_api") as running:
        yield running


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def in_parts_of(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    for kind in (OpenAIBatches, AnthropicBatches):
        shape: Shape = kind.shape
        monkeypatch.setattr(kind, "shape", shape._replace(max_calls=size))


@pytest.mark.parametrize(("provider", "protocol"), [("openai", "pairwise"), ("anthropic", "pointwise")])
def test_submitted_today_and_collected_tomorrow(db: Database, provider: str, protocol: str) -> None:
    make_project(db, users=12)
    with start("batch_api", "--looks", 2) as server:
        live = planned(db, judge(provider, server.url), protocol)
        work(db.path, live)
        run = planned(db, judge(provider, server.url), protocol, use_cache=False)
        total = len(calls(db, run))
        done = submit(db, run)
        assert (done.batches, done.calls, done.found_again) == (1, total, 0)
        assert run_row(db, run)["state"] == "planned"
        with connect(db.path) as later:
            first = collect(later, run)
            assert (first.waiting, first.done) == (1, 0)
            (row,) = update_progress(later, run)
            assert (row["state"], row["said"], row["calls"]) == (
                "submitted", "completed" if provider == "openai" else "ended", total,
            )  # fmt: skip
            second = collect(later, run)
            assert (second.over, second.waiting, second.done) == (1, 0, total)
            assert collect(later, run).done == 0
        assert stats(server.url)["batches"] == 1
    assert verdicts(db, run) == verdicts(db, live)
    assert run_row(db, run)["state"] == "done"
    assert batches_of(db, run)[0]["state"] == "collected"
    assert intact(db)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_many_parts_and_a_second_submit_sends_nothing(
    db: Database, provider: str, server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_parts_of(monkeypatch, 5)
    make_project(db, users=6)
    run = planned(db, judge(provider, server.url))
    assert submit(db, run).batches == 3
    assert submit(db, run) == Sent(0, 0)
    assert [row["calls"] for row in batches_of(db, run)] == [5, 5, 2]
    assert stats(server.url)["most"] == 1
    done = collect(db, run)
    assert (done.over, done.done) == (3, 12)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_lines_that_went_wrong_go_out_again_or_fail(db: Database, provider: str) -> None:
    make_project(db, users=40)
    faults = "expired:0.15,429:0.1,400:0.1,garbage:0.1,refusal:0.05"
    with start("batch_api", "--line-faults", faults) as server:
        live = planned(db, judge(provider, server.url))
        work(db.path, live)
        run = planned(db, judge(provider, server.url), use_cache=False)
        total = len(calls(db, run))
        submit(db, run)
        first = collect(db, run)
        assert first.done + first.failed + first.again == total
        assert min(first.done, first.failed, first.again) > 0
        assert run_progress(db, run).outstanding == first.again
        failed = first.failed
        while left := run_progress(db, run).outstanding:
            assert submit(db, run).calls == left
            failed += collect(db, run).failed
        assert {c["state"] for c in calls(db, run)} == {"done", "failed"}
        assert reset_failed(db, run) == failed
        assert work(db.path, run).failed == 0
    assert [v[:6] for v in verdicts(db, run)] == [v[:6] for v in verdicts(db, live)]


def test_calls_of_a_batch_that_the_provider_failed_can_be_sent_again(
    db: Database, server: ServerProcess
) -> None:
    make_project(db, users=2)
    run = planned(db, judge("openai", server.url))
    with connect(db.path) as other:
        submit(other, run)
    told: list[str] = []
    httpx.delete(f"{server.url}/v1/files/file_0001")
    # made again from a file that is gone: the state that a provider's validation ends in
    made = httpx.post(f"{server.url}/v1/batches", json={"input_file_id": "gone", "metadata": {}}).json()
    db.execute("UPDATE batches SET remote_id = ?", (made["id"],))
    done = collect(db, run, told.append)
    assert (done.over, done.done) == (1, 0)
    assert "File not found" in " ".join(told)
    assert batches_of(db, run)[0]["state"] == "failed"
    assert submit(db, run).calls == len(calls(db, run))


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("moment", ["before", "after", "late"])
def test_killed_while_the_batch_is_asked_for(
    db: Database, provider: str, moment: str, server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request never arrived, its answer was lost, or it is still on its way: one batch in the end."""
    make_project(db, users=4)
    run = planned(db, judge(provider, server.url))
    control(server.url, **{CREATE[provider]: moment})
    kill_when(db.path, run, lambda: stats(server.url)["routes"].get(CREATE[provider], 0) == 1)
    if moment == "late":
        # while it is waited for, and not before that
        def arrive(seconds: float) -> None:
            control(server.url)
            wait_until(lambda: stats(server.url)["batches"] == 1)

        monkeypatch.setattr(hosted, "time", SimpleNamespace(time=time.time, sleep=arrive))
    else:
        control(server.url)
    done = submit(db, run, settle_s=3600.0 if moment == "late" else 0.0)
    assert (done.found_again, done.batches) == ((0, 1) if moment == "before" else (1, 0))
    told = stats(server.url)
    assert (told["batches"], told["most"]) == (1, 1)
    assert collect(db, run).done == len(calls(db, run))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_killed_at_any_moment_nothing_is_submitted_twice(
    db: Database, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_parts_of(monkeypatch, 2)
    make_project(db, users=20)
    rng = random.Random(provider)
    with start("batch_api", "--delay-ms", 40) as server:
        run = planned(db, judge(provider, server.url), "pairwise")
        for _ in range(3):
            before = sum(stats(server.url)["routes"].values())
            process = spawn(db.path, run, settle_s=0.3, size=2)
            while process.poll() is None and sum(stats(server.url)["routes"].values()) == before:
                time.sleep(0.01)
            time.sleep(rng.uniform(0, 0.5))
            process.kill()
            process.communicate()
            wait_until(lambda: stats(server.url)["under_way"] == 0)
        submit(db, run, settle_s=0.3)
        told = stats(server.url)
        assert (told["calls"], told["most"]) == (len(calls(db, run)), 1)
        done = collect(db, run)
        assert (done.done, done.waiting) == (len(calls(db, run)), 0)
    assert intact(db)


def spawn(path: Path, run: int, settle_s: float = 0.2, size: int = 0) -> subprocess.Popen[bytes]:
    small = (
        "from recjudge_tui.judges.batch import AnthropicBatches, OpenAIBatches\n"
        f"for k in (AnthropicBatches, OpenAIBatches): k.shape = k.shape._replace(max_calls={size})\n"
        if size
        else ""
    )
    words = ("-c", small + SUBMIT, str(path), str(run), str(settle_s))
    return ForkedProcess(program(), *words, cwd=ROOT, stderr=subprocess.PIPE)


def kill_when(path: Path, run: int, condition: Callable[[], bool]) -> None:
    process = spawn(path, run)
    try:
        wait_until(condition)
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_batch_refused_by_the_provider_does_not_count_as_sent(
    db: Database, provider: str, server: ServerProcess
) -> None:
    make_project(db, users=2)
    run = planned(db, judge(provider, server.url))
    control(server.url, **{CREATE[provider]: "401"})
    with pytest.raises(JudgeError, match="requires a key"):
        submit(db, run)
    assert batches_of(db, run) == []
    control(server.url, **{CREATE[provider]: "500"})
    with pytest.raises(RunError, match="it is unknown whether"):
        submit(db, run)
    assert [row["state"] for row in batches_of(db, run)] == ["planned"]
    with pytest.raises(RunError, match="paid for twice"):
        refuse_when_away(db, run)
    control(server.url)
    assert submit(db, run, settle_s=0.1).batches == 1
    assert stats(server.url)["batches"] == 1
    assert give_up(db, run) == 1
    refuse_when_away(db, run)


def test_an_anthropic_batch_is_known_by_its_results(db: Database) -> None:
    make_project(db, users=3)
    with start("batch_api", "--looks", 1) as slow:
        run = planned(db, judge("anthropic", slow.url))
        total = len(calls(db, run))
        control(slow.url, **{CREATE["anthropic"]: "after"})
        kill_when(db.path, run, lambda: stats(slow.url)["batches"] == 1)
        control(slow.url)
        mine = httpx.get(f"{slow.url}/v1/messages/batches").json()["data"][0]["id"]
        theirs = somebody_elses(slow.url, total)
        with pytest.raises(RunError, match="it is unknown whether"):
            submit(db, run, settle_s=0.1)
        assert collect(db, run).waiting == 1
        for remote in (theirs, mine):
            httpx.get(f"{slow.url}/v1/messages/batches/{remote}")
        done = submit(db, run, settle_s=0.1)
        assert (done.found_again, done.batches) == (1, 0)
        assert batches_of(db, run)[0]["remote_id"] == mine
        assert collect(db, run).done == total


def somebody_elses(url: str, count: int) -> str:
    """A batch of the same size by another program in the same account."""
    requests = [
        {
            "custom_id": f"other-{n}",
            "params": {"model": "m", "messages": [{"role": "user", "content": f"hi {n}"}]},
        }
        for n in range(count)
    ]
    made = httpx.post(f"{url}/v1/messages/batches", json={"requests": requests}).json()
    found: str = made["id"]
    return found


def test_half_price_stands_in_the_estimate_and_in_the_costs(
    db: Database, tmp_path: Path, server: ServerProcess
) -> None:
    make_project(db, users=4)
    write_prices(tmp_path / "config", input=2.0, output=8.0, cached_input=1.0)
    live = planned(db, judge("openai", server.url))
    full = batch_estimate(db, live)
    work(db.path, live)
    run = planned(db, judge("openai", server.url), use_cache=False)
    half = batch_estimate(db, run)
    assert half.calls == len(calls(db, run))
    assert half.cost_usd_low == pytest.approx((half.tokens_in_low * 1.0 + half.tokens_out * 4.0) / 1e6)
    assert (full.cost_usd_low, full.cost_usd_high) == (half.cost_usd_low, half.cost_usd_high)
    assert "50%" in half.price_note
    submit(db, run)
    assert batch_estimate(db, run).calls == 0
    collect(db, run)
    live_cost, batch_cost = run_progress(db, live).cost_usd, run_progress(db, run).cost_usd
    assert live_cost
    assert batch_cost == pytest.approx(live_cost / 2)


def test_batches_do_not_exceed_the_budget(db: Database, tmp_path: Path, server: ServerProcess) -> None:
    make_project(db, users=10)
    write_prices(tmp_path / "config", input=1.0, output=4.0)
    run = planned(db, judge("openai", server.url), budget_usd=0.02, max_tokens=1000)
    told: list[str] = []
    first = submit(db, run, tell=told.append)
    assert 0 < first.calls < len(calls(db, run))
    assert "would be exceeded" in told[0]
    (row,) = batches_of(db, run)
    assert 0.015 < row["reserved_usd"] <= 0.02
    with pytest.raises(RunError, match="does not cover the next call"):
        submit(db, run)
    assert collect(db, run).done == first.calls
    assert submit(db, run).calls > 0, "what was not spent is free again"
    assert stats(server.url)["most"] == 1
