"""Runs that ask every call several times, and how sure a verdict is when its replies come from the cache."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from recjudge_tui.domain.calls import Answer
from recjudge_tui.domain.run import REPEATS_TEMPERATURE
from recjudge_tui.judges.openai import OpenAIJudge
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.record import voted
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import reset_failed, run_progress
from tests.support.cases import shipped
from tests.support.runs import calls, make_project, planned, server_judge, verdicts
from tests.support.servers.counts import request_count
from tests.support.servers.process import ServerProcess, start


def labels(db: Database, run: int) -> dict[tuple[int, str], list[str]]:
    """What each case was called in each order, in the order of the repeats."""
    found: dict[tuple[int, str], list[str]] = {}
    for row in db.rows(
        """SELECT k.case_id, k.list_order, a.label FROM calls k JOIN answers a ON a.call_id = k.id
           WHERE k.run_id = ? ORDER BY k.case_id, k.list_order, k.sample""",
        (run,),
    ):
        found.setdefault((row["case_id"], row["list_order"]), []).append(row["label"])
    return found


def test_three_repeats_are_three_calls_with_seeds_of_their_own_and_one_vote(db: Database) -> None:
    make_project(db, users=15)
    with start("openai_api", "--by-seed") as server:
        run = planned(db, server_judge(server.url), repeats=3, seed=40)
        assert (work(db.path, run).done, request_count(server)) == (90, 90)
    asked = calls(db, run)
    sent = Counter((s["sample"], s["seed"], s["temperature"]) for s in map(sampled, asked))
    assert sent == {(n, 40 + n, REPEATS_TEMPERATURE): 30 for n in range(3)}
    assert len({c["request_hash"] for c in asked}) == 90
    said = labels(db, run)
    agreeing = Counter(max(Counter(three).values()) for three in said.values())
    assert set(agreeing) == {1, 2, 3}, "the repeats are answers of their own"
    stored = db.rows("SELECT case_id, label, confidence, rule FROM verdicts WHERE run_id = ?", (run,))
    assert {row["rule"] for row in stored} == {"as answered, vote of 3"}
    for row in stored:
        votes = Counter(said[row["case_id"], ""])
        assert votes[row["label"]] == max(votes.values())
        assert row["confidence"] == pytest.approx(votes[row["label"]] / 3)


def sampled(call: sqlite3.Row) -> dict[str, object]:
    sent: dict[str, object] = json.loads(call["sent"])["sent"]
    return {**sent, "sample": call["sample"]}


def test_the_cache_gives_every_repeat_its_own_reply(db: Database) -> None:
    make_project(db, users=6)
    with start("openai_api", "--by-seed") as server:
        first = planned(db, server_judge(server.url), "pairwise", repeats=3)
        work(db.path, first)
        asked = request_count(server)
        again = planned(db, server_judge(server.url), "pairwise", repeats=3)
        ended = work(db.path, again)
        assert (ended.done, ended.cached, request_count(server)) == (36, 36, asked)
        assert labels(db, again) == labels(db, first)
        assert verdicts(db, again) == verdicts(db, first)
        more = planned(db, server_judge(server.url), "pairwise", repeats=5)
        ended = work(db.path, more)
        assert (ended.done, ended.cached, request_count(server)) == (60, 36, asked + 24)
    assert {v[8] for v in verdicts(db, more)} == {"both orders, vote of 5"}


def test_one_failed_repeat_fails_the_verdict_and_retry_mends_it(db: Database) -> None:
    make_project(db, users=8)
    with start("openai_api", "--faults", "refusal:1", "--fault-attempts", 1) as server:
        # every body is refused once: by the first run where its seed is the same
        work(db.path, planned(db, server_judge(server.url), temperature=0.5, use_cache=False))
        run = planned(db, server_judge(server.url), repeats=2, temperature=0.5, use_cache=False)
        ended = work(db.path, run)
        assert (ended.done, ended.failed) == (16, 16)
        found = verdicts(db, run)
        assert {(v[5], v[6], v[8]) for v in found} == {("failed", None, "as answered, vote of 2")}
        reset_failed(db, run)
        assert work(db.path, run).failed == 0
    assert {v[5] for v in verdicts(db, run)} == {"ok"}
    assert run_progress(db, run).done == 32


def test_a_cached_reply_keeps_its_confidence(
    db: Database, openai_server: ServerProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make_project(db, users=6)

    def with_logprobs(judge: OpenAIJudge, *_: object) -> None:
        judge._logprobs = True

    monkeypatch.setattr(OpenAIJudge, "_apply", with_logprobs)

    def sure(run: int) -> list[tuple[str, float | None, float | None]]:
        return [tuple(row) for row in db.rows(
            """SELECT c.user_id, v.confidence, a.confidence FROM verdicts v JOIN cases c ON c.id = v.case_id
               JOIN calls k ON k.case_id = v.case_id AND k.run_id = v.run_id JOIN answers a ON a.call_id = k.id
               WHERE v.run_id = ? ORDER BY c.user_id, c.system_a""", (run,)
        )]  # fmt: skip

    first = planned(db, server_judge(openai_server.url))
    work(db.path, first)
    told = sure(first)
    assert any(confidence is not None for _, confidence, _ in told)
    again = planned(db, server_judge(openai_server.url))
    assert work(db.path, again).cached == 12
    assert sure(again) == told


# ---- adjudication --------------------------------------------------------------------------------------------


PAIR = shipped("pairwise-shopping")


def pair(*said: str, confidence: float | None = None) -> list[Answer | None]:
    """Answers about the pair: a, b, t for a tie, x for a failed call."""
    specs = {spec.value: spec for spec in PAIR.labels_of("overall")}
    given: list[Answer | None] = []
    for n, letter in enumerate(said):
        if letter == "x":
            given.append(None)
            continue
        spec = specs[{"a": 1.0, "b": -1.0, "t": 0.0}[letter]]
        given.append(
            Answer(
                aspect="overall", value=spec.value, label=spec.name, reasoning=f"{n}", confidence=confidence
            )
        )
    return given


@pytest.mark.parametrize(
    ("said", "value", "confidence", "reasoning"),
    [
        ("aab", 1, 2 / 3, "0"),
        ("baa", 1, 2 / 3, "1"),
        ("bbb", -1, 1, "0"),
        ("tta", 0, 2 / 3, "0"),
        ("abt", 0, 1 / 3, "2"),
        ("ab", 0, 0, ""),  # nobody said tie
        ("aabb", 0, 0, ""),
        ("aabbt", 0, 1 / 5, "4"),
        ("at", 0, 1 / 2, "1"),
        ("aaatt", 1, 3 / 5, "0"),
    ],
)
def test_the_vote_of_a_pair(said: str, value: float, confidence: float, reasoning: str) -> None:
    vote = voted(PAIR, "overall", pair(*said))
    assert vote is not None
    assert (vote.value, vote.reasoning) == (value, reasoning)
    assert vote.confidence == pytest.approx(confidence)
    assert vote.label == next(s.name for s in PAIR.labels_of("overall") if s.value == value)


@pytest.mark.parametrize("said", ["x", "ax", "aax", "xxx", ""])
def test_one_failed_repeat_leaves_no_vote(said: str) -> None:
    assert voted(PAIR, "overall", pair(*said)) is None


def test_the_server_s_own_probabilities_count_with_the_dissent() -> None:
    unanimous = voted(PAIR, "overall", pair("a", "a", "a", confidence=0.9))
    divided = voted(PAIR, "overall", [*pair("a", "a", confidence=0.9), *pair("b", confidence=0.99)])
    half_told = voted(PAIR, "overall", [*pair("a", confidence=0.9), *pair("a", "b")])
    assert unanimous
    assert divided
    assert half_told
    assert unanimous.confidence == pytest.approx(0.9)
    assert divided.confidence == pytest.approx(0.6)
    assert half_told.confidence == pytest.approx(2 / 3), "not told for every answer with the label: the share"
