"""What a call costs: by the user's table, 0 on this machine, else not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.domain.calls import Usage
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.judges.anthropic import AnthropicJudge
from recjudge_tui.judges.replies import usage_of
from recjudge_tui.runs.estimate import Price, cost_at, price_of, require_price

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
    assert cost_at(price.in_batch(), usage) == pytest.approx(live / 2)
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


def test_list_prices_are_shipped_and_the_users_own_stand_over_them(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert per_million("openai:gpt-4o") == pytest.approx((2.5, 1.25, 10.0))
    shipped = price_of(JudgeSpec(spec="openai:gpt-4o"))
    assert shipped is not None
    assert shipped.source.startswith("list price, genai-prices ")
    table.write_text('"openai:gpt-4o" = { input = 1, output = 2 }\n', encoding="utf-8")
    own = price_of(JudgeSpec(spec="openai:gpt-4o"))
    assert own is not None
    assert (own.cost(1_000_000, 0), own.source) == (1.0, str(table))


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
