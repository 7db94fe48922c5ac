"""Replies that were changed by chance or made to mislead or to take long. `benchmarks/replies.py` tries a million."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from recjudge_tui.domain.calls import Reply
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.errors import ReplyFault
from recjudge_tui.protocols.replies import read_fields
from tests.support.cases import shipped
from tests.support.degenerate_replies import SHAPES, degenerate
from tests.support.reply_fuzz import PROMPTS, fuzzed, honest_failures

# the benchmark holds it to 5 ms; a busy machine takes longer
LONGEST_S = 0.05


@pytest.mark.parametrize("prompt_name", PROMPTS)
def test_no_label_is_read_that_a_careful_reader_disputes(prompt_name: str) -> None:
    result = fuzzed(prompt_name, 20_000 // len(PROMPTS), seed=18)
    assert result.disputed == []
    assert result.read > result.tried // 10


@pytest.mark.parametrize("prompt_name", PROMPTS)
def test_honest_replies_are_read(prompt_name: str) -> None:
    assert honest_failures(prompt_name) == []


@pytest.mark.parametrize("prompt_name", ["pointwise-shopping", "arena-media"])
def test_no_shape_of_a_reply_takes_long(prompt_name: str) -> None:
    prompt = shipped(prompt_name)
    slow = {}
    for shape in SHAPES:
        reply = Reply(text=degenerate(shape, 64_000))
        if (seconds := min(_seconds(prompt, reply) for _ in range(3))) > LONGEST_S:
            slow[shape] = seconds
    assert slow == {}


def _seconds(prompt: Prompt, reply: Reply) -> float:
    started = time.process_time()
    with suppress(ReplyFault):
        read_fields(prompt, reply, prompt.aspects)
    return time.process_time() - started


def test_a_reply_of_many_megabytes_is_refused_at_once() -> None:
    prompt = shipped("pointwise-shopping")
    with pytest.raises(ReplyFault, match="more than 1,000,000 characters"):
        read_fields(prompt, Reply(text="x{" * 8_000_000), prompt.aspects)
