"""What a dry run promises against what the run then asks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.calls import estimate_tokens
from recjudge_tui.domain.judge import Identity, JudgeSpec
from recjudge_tui.errors import RunError
from recjudge_tui.reports.runs import estimate_lines
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from tests.support.requests import sent_request
from tests.support.runs import calls, load, make_project, plan, planned, server_judge, write_prices
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
    make_project(db, users=2, systems=("als", "knn", "pop"))
    with start("openai_api", "--log", tmp_path / "log.jsonl") as server:
        judge = server_judge(server.url)
        dry = plan(db, judge, protocol, dry_run=True, use_cache=False, **settings).estimate
        run = planned(db, judge, protocol, use_cache=False, **settings)
        ended = work(db.path, run)
    assert dry.calls == ended.calls == 2 * calls_a_user
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


def answered(db: Database, run: int, tokens: list[tuple[int, int, int, float]]) -> None:
    """Let the first calls of a run have these tokens in, of the cache, and out, and these seconds."""
    db.execute("UPDATE runs SET seconds = 60 WHERE id = ?", (run,))
    for call, row in zip(calls(db, run), tokens, strict=False):
        db.execute(
            "UPDATE calls SET state = 'done', attempts = 1, tokens_in = ?, tokens_cached = ?, tokens_out = ?, latency_s = ?"
            " WHERE id = ?",
            (*row, call["id"]),
        )


def test_time_comes_from_the_speeds_of_the_last_run_and_is_unknown_before(db: Database) -> None:
    make_project(db, users=3)
    judge = server_judge("http://127.0.0.1:9")
    first = planned(db, judge)
    assert plan(db, judge, dry_run=True, rater="b").estimate.seconds is None
    # reads 1,000 and writes 20 tokens a second
    rows = [
        (n + 500, 500, out, n / 1000 + out / 20) for n, out in ((1000, 20), (2000, 40), (500, 60), (1000, 40))
    ]
    answered(db, first, rows)
    estimate = plan(db, judge, dry_run=True, rater="b", concurrency=2).estimate
    reused = sum(500 for _ in rows) / sum(row[0] for row in rows)
    assert estimate.tokens_reused == pytest.approx(estimate.tokens_in_low * reused, abs=1)
    fresh = (estimate.tokens_in_low - (estimate.tokens_reused or 0)) / estimate.calls
    assert estimate.seconds == pytest.approx(estimate.calls * (fresh / 1000 + 40 / 20) / 2, rel=0.01)
    line = next(line for line in estimate_lines(estimate, rater="m", prompt="p") if "reused" in line)
    assert line == f"about {reused:.0%} of the prompt tokens reused, as in the last run of this judge"


def test_a_run_wholly_from_the_cache_says_so(db: Database, tmp_path: Path) -> None:
    make_project(db, users=3)
    with start("openai_api") as server:
        judge = server_judge(server.url)
        work(db.path, planned(db, judge, rater="first"))
    estimate = plan(db, judge, dry_run=True, rater="second").estimate
    assert estimate.stored == estimate.calls
    assert (estimate.tokens_in_low, estimate.tokens_out) == (0, 0)
    assert estimate.seconds is not None
    assert estimate.seconds < 1
    lines = estimate_lines(estimate, rater="m", prompt="p")
    assert f"stored replies: about {estimate.calls} of {estimate.calls} calls; nothing is asked" in lines
    assert plan(db, judge, dry_run=True, rater="second", use_cache=False).estimate.stored == 0


def test_prompts_that_cannot_fit_are_refused_with_the_history_that_does(db: Database) -> None:
    make_project(db, users=3)
    judge = server_judge("http://127.0.0.1:9")
    whole = plan(db, judge, dry_run=True).estimate.tokens_in_low // 6
    identity = Identity(name="m", context_length=10_000)
    run = planned(db, judge)
    for context, next_step in (
        (whole + 150, "--history [012] fits"),
        (200, "Not even prompts without a history"),
    ):
        identity = identity.model_copy(update={"context_length": context})
        db.execute("UPDATE runs SET identity = ? WHERE id = ?", (identity.model_dump_json(), run))
        with pytest.raises(RunError, match="the prompts are too long for this judge") as raised:
            plan(db, judge, dry_run=True, rater="b")
        assert re.search(next_step, raised.value.next_step)


def test_only_the_low_cost_has_reused_tokens_at_their_price(db: Database, tmp_path: Path) -> None:
    make_project(db, users=20)
    dollars = {"input": 2.0, "output": 0.0, "cached_input": 1.0, "cache_write": 2.5}
    write_prices(tmp_path / "config", "openai:gpt-4o", **dollars)
    judge = JudgeSpec(spec="openai:gpt-4o")
    answered(db, planned(db, judge, "pairwise"), [(1000, 700, 50, 1.0)])
    estimate = plan(db, judge, "pairwise", dry_run=True, rater="b").estimate
    assert estimate.tokens_reused == pytest.approx(0.7 * estimate.tokens_in_low, abs=1)
    fresh = estimate.tokens_in_low - estimate.tokens_reused
    assert estimate.cost_usd_low == pytest.approx((2 * fresh + estimate.tokens_reused) / 1e6)
    assert estimate.cost_usd_high == pytest.approx(2.5 * estimate.tokens_in_high / 1e6), (
        "all may be stored first"
    )
