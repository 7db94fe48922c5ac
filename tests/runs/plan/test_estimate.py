"""What a dry run promises against what the run then asks."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.calls import estimate_tokens, shared_start
from recjudge_tui.domain.judge import Identity, JudgeSpec
from recjudge_tui.judges.openai import DEFAULT_URL
from recjudge_tui.reports.runs import estimate_lines
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from tests.support.requests import sent_request
from tests.support.runs import calls, load, make_project, plan, planned, server_judge
from tests.support.servers.process import start


def sent_tokens(db: Database, run: int) -> tuple[int, int, int]:
    """Of all prompts of a run: low, high, and the high figure of the longest."""
    counted = [
        [estimate_tokens(m.content) for m in sent_request(db, call["id"]).messages] for call in calls(db, run)
    ]
    highs = [sum(high for _, high in parts) for parts in counted]
    return sum(low for parts in counted for low, _ in parts), sum(highs), max(highs)


@pytest.mark.parametrize(
    ("protocol", "settings", "calls_a_user"),
    [
        ("arena", {}, 6),
        ("arena", {"swap": False, "repeats": 2}, 6),
        ("arena", {"aspects": "single"}, 42),
        ("arena", {"profile": "llm"}, 7),
        ("arena", {"profile": "llm", "aspects": "single", "repeats": 2}, 85),
        ("absolute", {"profile": "llm", "history": 100}, 4),
    ],
)
def test_a_dry_run_estimates_calls_and_tokens(
    db: Database, tmp_path: Path, protocol: str, settings: dict[str, Any], calls_a_user: int
) -> None:
    make_project(db, users=3, systems=("als", "knn", "pop"))
    with start("openai_api", "--log", tmp_path / "log.jsonl") as server:
        judge = server_judge(server.url)
        dry = plan(db, judge, protocol, dry_run=True, use_cache=False, **settings).estimate
        run = planned(db, judge, protocol, use_cache=False, **settings)
        ended = work(db.path, run)
    assert dry.calls == ended.calls == 3 * calls_a_user
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == dry.calls
    low, high, longest = sent_tokens(db, run)
    # the server's profiles are of a few words, a model's are not
    more = 260 * dry.calls if "profile" in settings else 0
    assert low <= dry.tokens_in_low <= low + more
    assert high <= dry.tokens_in_high <= high + more
    assert longest <= dry.longest_prompt_tokens <= longest + (260 if more else 0)


def test_one_giant_among_small_texts_does_not_spoil_the_estimate(db: Database) -> None:
    texts = [(f"u{n:03d}", "i1", "knn", f"You liked the film number {n}. " * (1 + n % 4)) for n in range(300)]
    giant = ("u100", "i2", "knn", "An endless praise of the film. " * 3000)
    load(db, "explanations", [("user_id", "item_id", "system", "text"), *texts, giant])
    run = planned(db, server_judge("http://127.0.0.1:9"), "explanation", history=0, profile="none")
    low, high, longest = sent_tokens(db, run)
    stored = json.loads(db.value("SELECT estimate FROM runs WHERE id = ?", (run,)))
    assert stored["tokens_in_low"] == pytest.approx(low, rel=0.03)
    assert stored["tokens_in_high"] == pytest.approx(high, rel=0.03)
    assert stored["longest_prompt_tokens"] == longest


def test_a_reply_about_one_aspect_is_shorter(db: Database) -> None:
    make_project(db, users=2)
    judge = server_judge("http://127.0.0.1:9")
    multi, single = (plan(db, judge, "arena", dry_run=True, aspects=a).estimate for a in ("multi", "single"))
    assert single.tokens_out == multi.tokens_out == 4 * 700


def vendor(name: str, *urls: str) -> JudgeSpec:
    return JudgeSpec(spec=name, base_urls=urls)


def test_reuse_of_prompts_is_counted_on_where_the_server_is_known_to_do_it(db: Database) -> None:
    make_project(db, users=4, systems=("als", "knn", "pop"))

    def reused(judge: JudgeSpec) -> int | None:
        return plan(db, judge, "pairwise", dry_run=True).estimate.tokens_reused

    texts = [
        "\0".join(m.content for m in sent_request(db, call["id"]).messages)
        for call in calls(db, planned(db, vendor("ollama:m"), "pairwise"))
    ]
    shared = sum(estimate_tokens(b[: shared_start(a, b)])[0] for a, b in pairwise(texts))
    assert reused(vendor("ollama:m")) == pytest.approx(shared, rel=0.02)
    assert 0 < (reused(vendor("openai:gpt-4o")) or 0) < shared
    assert reused(vendor("openai:m", "http://127.0.0.1:9/v1")) is None
    assert reused(vendor("openai:m", DEFAULT_URL, "http://127.0.0.1:9/v1")) is None
    assert reused(vendor("anthropic:claude-x")) == 0, "the guidelines are shorter than its models' minimum"


def test_a_server_that_has_named_itself_is_known_by_the_next_dry_run(db: Database) -> None:
    make_project(db, users=2)
    judge = vendor("openai:m", "http://127.0.0.1:9/v1")
    run = planned(db, judge)
    identity = Identity(name="m", details={"servers": ["llamacpp"]})
    db.execute("UPDATE runs SET identity = ? WHERE id = ?", (identity.model_dump_json(), run))
    estimate = plan(db, judge, dry_run=True, rater="next").estimate
    assert estimate.reuse_note == "llama.cpp"
    assert (estimate.tokens_reused or 0) > estimate.tokens_in_low / 2
    line = next(line for line in estimate_lines(estimate, rater="m", prompt="p") if "reused" in line)
    assert line.endswith("% of the prompt tokens reused: llama.cpp has just read them")


def test_only_the_low_cost_has_reused_tokens_at_their_price(db: Database, tmp_path: Path) -> None:
    make_project(db, users=20)
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "prices.toml").write_text(
        '["openai:gpt-4o"]\ninput = 2.0\noutput = 0.0\ncached_input = 1.0\ncache_write = 2.5\n',
        encoding="utf-8",
    )
    estimate = plan(db, vendor("openai:gpt-4o"), "pairwise", dry_run=True).estimate
    assert estimate.tokens_reused
    fresh = estimate.tokens_in_low - estimate.tokens_reused
    assert estimate.cost_usd_low == pytest.approx((2 * fresh + estimate.tokens_reused) / 1e6)
    assert estimate.cost_usd_high == pytest.approx(2.5 * estimate.tokens_in_high / 1e6), (
        "all may be stored first"
    )
