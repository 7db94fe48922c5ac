"""Shared by Anthropic's own API and Amazon Bedrock: system texts, stop reasons, token counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recjudge_tui.domain.calls import Message, Usage, whole
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError
from recjudge_tui.judges.http.failures import overflow
from recjudge_tui.judges.providers.reply import check_ending

_REFUSALS = {
    "refusal": "The model refused to answer",
    "content_filtered": "A content filter stopped the answer",
    "guardrail_intervened": "A guardrail stopped the answer",
}


def split_system(messages: tuple[Message, ...]) -> tuple[list[str], tuple[Message, ...]]:
    """The system texts at the beginning, which these APIs take apart from the other messages, and the others."""
    head = 0
    while head < len(messages) and messages[head].role == "system":
        head += 1
    return [message.content for message in messages[:head]], messages[head:]


def check_stop(stop: str, text: str, thinking: str, prompt_tokens: int | None) -> None:
    """Raise CallError `refusal`, `overflow` (the context was full), or what `check_ending` raises."""
    if stop in _REFUSALS:
        raise CallError("refusal", _REFUSALS[stop], one_line(text, 400))
    if stop == "model_context_window_exceeded":
        raise overflow("Prompt and reply filled the context.", prompt_tokens)
    check_ending(text, thinking, cut=stop == "max_tokens")


def usage_of(counts: Mapping[str, Any], fresh: str, cached: str, written: str, output: str) -> Usage:
    """Token counts under these names. `fresh` excludes what the cache served or stored; `Usage.input` includes it."""
    tokens, from_cache, to_cache = (whole(counts.get(name)) for name in (fresh, cached, written))
    return Usage(
        input=None if tokens is None else tokens + (from_cache or 0) + (to_cache or 0),
        output=whole(counts.get(output)),
        cached_input=from_cache,
        cache_written=to_cache,
    )
