"""A run with a budget never passes it, stops with a clear line, and goes on when it gets more."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.calls import Message, Request, Sampling, Usage
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.judges.anthropic import AnthropicJudge
from recjudge_tui.judges.replies import usage_of
from recjudge_tui.runs.batch import batch_price
from recjudge_tui.runs.calls import (
    CallLimits,
    RateLimit,
    most_tokens,
)
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.estimate import Price, cost_at, price_of, require_price
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
from tests.support.virtual_time import played

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
    make_project(db, users=120)
    budget = {1: 20.0, 20: 50.0, 400: 500.0}[dear]
    with start("openai_api", "--dear", dear, "--delay-ms", 5) as server:
        run = planned(
            db, server_judge(server.url), budget_usd=budget, concurrency=16, max_tokens=2048, use_cache=False
        )
        ended = work(db.path, run)
    assert ended.cost_usd is not None
    assert (ended.state, ended.failed) == ("stopped", 0)
    assert 0 < ended.outstanding < 240
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
            db, server_judge(server.url), budget_usd=2.0, max_tokens=1024, timeout_s=0.3, concurrency=1
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


# ---- limits --------------------------------------------------------------------------------------------------


def test_twelve_hundred_a_minute_are_twenty_in_any_second_and_in_order() -> None:
    times: list[tuple[int, float]] = []
    asked = Request(
        messages=(Message(role="user", content="film "),), reply_schema={}, sampling=Sampling(max_tokens=16)
    )

    async def passing(gate: CallLimits, number: int) -> None:
        await gate.enter(asked)
        times.append((number, asyncio.get_running_loop().time()))

    async def scene() -> None:
        gate = CallLimits(asyncio.Event(), requests=RateLimit(1200))
        await asyncio.gather(*(passing(gate, n) for n in range(40)))

    played(scene())
    assert [n for n, _ in times] == list(range(40))
    moments = [t for _, t in times]
    assert moments[-1] - moments[0] == pytest.approx(1.95)
    for begin in moments:
        assert sum(begin <= t < begin + 1 - 1e-6 for t in moments) <= 20


# ---- prices --------------------------------------------------------------------------------------------------


HOSTED = JudgeSpec(spec="openai:big")


def cost_of(judge: JudgeSpec, usage: Usage) -> float | None:
    return cost_at(price_of(judge), usage)


def per_million(spec: str, **address: tuple[str, ...]) -> tuple[float, float, float]:
    """Dollars for a million tokens read, read from the cache, and written, in short calls."""
    price = price_of(JudgeSpec.model_construct(**{"spec": spec, "base_urls": (), **address}))
    assert price is not None
    return 1000 * price.cost(1000, 0), 1000 * price.cost(1000, 0, 1000), 1000 * price.cost(0, 1000)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RECJUDGE_CONFIG", str(tmp_path))
    return tmp_path / "prices.toml"


def test_what_the_vendor_stores_in_its_cache_has_a_price_of_its_own(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    claude = JudgeSpec(spec="anthropic:claude-sonnet-4-5-20250929")
    # the counts of one reply of Anthropic's: 300,000 fresh, 600,000 read from the cache, 100,000 stored in it
    counts = {
        "input_tokens": 300_000,
        "cache_read_input_tokens": 600_000,
        "cache_creation_input_tokens": 100_000,
        "output_tokens": 10_000,
    }
    usage = usage_of({"usage": counts}, AnthropicJudge.counts)
    assert (usage.input, usage.cached_input, usage.cache_written) == (1_000_000, 600_000, 100_000)
    # above 200,000 tokens twice the price, and half more for the reply
    live = 0.3 * 6 + 0.6 * 0.6 + 0.1 * 6 * 1.25 + 0.01 * 22.5
    assert cost_of(claude, usage) == pytest.approx(live)
    price = price_of(claude)
    assert price is not None
    assert cost_at(batch_price(claude), usage) == pytest.approx(live / 2)
    assert price.cost(200_000, 1000) == pytest.approx(0.2 * 3 + 0.001 * 15)
    assert price.of_calls(10, 1_000_000, 10_000) == pytest.approx(3 + 0.15), "call by call"
    assert price.most(100_000, 10_000) == pytest.approx(0.3 * 1.25 + 0.15), (
        "a budget must be kept, whatever is stored"
    )
    table.write_text('["openai:big"]\ninput = 2\noutput = 8\n', encoding="utf-8")
    plain = Usage(input=1_000_000, output=0, cache_written=400_000)
    assert cost_of(HOSTED, plain) == pytest.approx(2)


@pytest.mark.parametrize(
    ("spec", "urls", "free"),
    [
        ("ollama:m", (), True),
        ("replay:a.jsonl", (), True),
        ("openai:m", ("http://127.0.0.1:8080/v1",), True),
        ("openai:m", ("http://LOCALHOST/v1", "http://[::1]:80"), True),
        ("openai:m", ("http://127.0.0.1/v1", "https://api.example.com/v1"), False),
        ("openai:m", ("http://localhost.example.com/v1",), False),
        ("openai:m", ("https://example.com//localhost",), False),
        ("ollama:m", ("http://10.0.0.2:11434",), False),
    ],
)
def test_only_this_machine_is_free(table: Path, spec: str, urls: tuple[str, ...], free: bool) -> None:
    price = price_of(JudgeSpec(spec=spec, base_urls=urls))
    assert (price is not None and price.cost(10, 10) == 0) == free


@pytest.mark.parametrize(
    ("spec", "prices"),
    [
        ("openai:gpt-5.2", (1.75, 0.175, 14.0)),
        ("openai:gpt-4o-2024-08-06", (2.5, 1.25, 10.0)),
        ("openai:gpt-4o-2024-05-13", (5.0, 5.0, 15.0)),
        ("openai:gpt-4.1-mini-2025-04-14", (0.4, 0.1, 1.6)),
        ("anthropic:claude-sonnet-5", (2.0, 0.2, 10.0)),
        ("anthropic:claude-sonnet-4-5-20250929", (3.0, 0.3, 15.0)),
        ("anthropic:claude-3-5-haiku-latest", (0.8, 0.08, 4.0)),
        ("bedrock:us.anthropic.claude-3-7-sonnet-20250219-v1:0", (3.0, 0.3, 15.0)),
        ("bedrock:global.anthropic.claude-opus-4-1-20250805-v1:0", (15.0, 1.5, 75.0)),
        ("bedrock:global.anthropic.claude-sonnet-4-5-20250929-v1:0", (3.0, 0.3, 15.0)),
        ("bedrock:eu.anthropic.claude-sonnet-4-5-20250929-v1:0", (3.3, 0.33, 16.5)),
        ("bedrock:anthropic.claude-opus-4-6-v1", (5.5, 0.55, 27.5)),
        (
            "bedrock:arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-20250514-v1:0",
            (3.0, 0.3, 15.0),
        ),
        ("bedrock:us.amazon.nova-pro-v1:0", (0.8, 0.2, 3.2)),
    ],
)
def test_current_dated_and_bedrock_names_have_a_list_price(
    table: Path, monkeypatch: pytest.MonkeyPatch, spec: str, prices: tuple[float, float, float]
) -> None:
    for provider in ("OPENAI", "ANTHROPIC", "BEDROCK"):
        monkeypatch.delenv(f"{provider}_BASE_URL", raising=False)
    assert per_million(spec) == pytest.approx(prices)
    require_price(JudgeSpec(spec=spec))


def test_a_budget_names_the_line_to_write(table: Path) -> None:
    with pytest.raises(RunError, match="budget needs the price") as raised:
        require_price(HOSTED)
    where, _, line = raised.value.next_step.partition(": ")
    assert str(table) in where
    table.write_text(line, encoding="utf-8")
    require_price(HOSTED)


@pytest.mark.parametrize(
    ("text", "line", "fault"),
    [
        ('\n["openai:m"]\ninput = 1\n', 2, "[openai:m] has no “output”"),
        ("x = 3\n", 1, "“x” is not a table"),
        ('["openai:m"]\ninput\n', 2, "Expected '=' after a key"),
        ('["openai:m"]\ninput = 1\noutput = 1e10\n', 3, "is not a price"),
    ],
)
def test_a_mistake_in_the_prices_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, line: int, fault: str
) -> None:
    (tmp_path / "prices.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("RECJUDGE_CONFIG", str(tmp_path))
    with pytest.raises(UsageError) as raised:
        price_of(JudgeSpec(spec="openai:m"))
    assert f"prices.toml:{line} cannot be read as a table of prices" in str(raised.value)
    assert fault in str(raised.value)


def test_of_two_costs_the_higher_counts() -> None:
    price = Price("ours", {"input": 100.0, "output": 1000.0})
    usage = Usage(input=1000, output=100)
    assert cost_at(price, usage) == pytest.approx(0.2)
    assert cost_at(price, usage.model_copy(update={"cost_usd": 0.01})) == pytest.approx(0.2)
    assert cost_at(price, usage.model_copy(update={"cost_usd": 0.5})) == 0.5
    assert cost_at(price, Usage(input=0, output=0, cost_usd=0.0)) is None, "no prompt is empty"
    assert cost_at(price, Usage(input=1000, output=100, cached_input=10**9)) == pytest.approx(0.2)
    assert cost_at(None, Usage(cost_usd=0.5)) == 0.5
