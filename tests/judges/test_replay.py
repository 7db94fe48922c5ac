from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.judges import replay
from tests.support.judge_calls import asking, call_error, judge_error, workload


def _line(text: str, case: str = "a", **more: Any) -> str:
    return json.dumps({"content_hash": asking(case).content_hash(), "reply": {"text": text}, **more})


def _judge(path: Path, *lines: str) -> replay.ReplayJudge:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return replay.ReplayJudge(JudgeSpec(spec=f"replay:{path}"))


async def test_a_recorded_reply_comes_back_and_further_keys_are_ignored(tmp_path: Path) -> None:
    reply = {"text": "two ☃", "thinking": "t\ud800", "usage": {"input": 3}, "from_the_future": 1}
    lines = [
        _line("one"),
        "",
        json.dumps({"content_hash": asking("b").content_hash(), "reply": reply, "run": 5}),
    ]
    judge = _judge(tmp_path / "june.jsonl", *lines)
    identity = await judge.prepare(workload())
    first, second = await judge.ask(asking("a")), await judge.ask(asking("b"))
    assert (first.text, second.text, second.thinking, second.usage.input) == ("one", "two ☃", "t?", 3)
    assert (judge.name, judge.rater_kind, judge.cacheable) == ("replay:june", "judge", False)
    assert identity.details == {"recorded": 2}


async def test_what_was_not_recorded_is_an_error_of_that_call(tmp_path: Path) -> None:
    error = await call_error(_judge(tmp_path / "f.jsonl", _line("one")), asking("unknown"))
    assert (error.kind, error.retry) == ("not_recorded", False)


@pytest.mark.parametrize(
    ("recorded", "kind", "title"),
    [
        ({"kind": "refusal", "title": "No.", "cause": "c"}, "refusal", "No."),
        ("it broke", "recorded_failure", "it broke"),
        (None, "recorded_failure", "The recorded call failed"),
    ],
)
async def test_a_recorded_failure_fails_again(
    tmp_path: Path, recorded: object, kind: str, title: str
) -> None:
    failed = {"content_hash": asking("a").content_hash(), "state": "failed", "error": recorded}
    error = await call_error(_judge(tmp_path / "f.jsonl", json.dumps(failed)), asking("a"))
    assert (error.kind, error.title, error.retry) == (kind, title, False)


async def test_a_reply_counts_more_than_a_failure_and_the_last_reply_most(tmp_path: Path) -> None:
    failed = json.dumps({"content_hash": asking("a").content_hash(), "state": "failed", "error": "x"})
    judge = _judge(tmp_path / "f.jsonl", failed, _line("one"), _line("two"), failed)
    assert (await judge.ask(asking("a"))).text == "two"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"content_hash": "ab', "not JSON"),
        ("[1]", "no content_hash"),
        ('{"content_hash": "ab"}', "no reply"),
        ('{"content_hash": "ab", "reply": {"text": 5}}', "reply.text"),
    ],
)
async def test_a_bad_line_is_named_by_its_number(tmp_path: Path, line: str, fault: str) -> None:
    path = tmp_path / "f.jsonl"
    error = await judge_error(_judge(path, _line("one"), line))
    assert f"{path}:2" in error.title
    assert fault in error.title


async def test_a_file_that_is_not_there_is_an_error_of_the_judge(tmp_path: Path) -> None:
    error = await judge_error(replay.ReplayJudge(JudgeSpec(spec=f"replay:{tmp_path / 'none.jsonl'}")))
    assert "none.jsonl" in error.title


async def test_a_line_has_a_longest_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "LONGEST_LINE", 1000)
    error = await judge_error(_judge(tmp_path / "f.jsonl", _line("one"), _line("x" * 2000, "b")))
    assert "f.jsonl:2: longer than" in error.title
