"""The reply in a chat completion."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import httpx

from recjudge_tui.domain.calls import Reply, Request, Usage, whole
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, RecjudgeError
from recjudge_tui.judges.http.failures import CallTarget, error_in_body, failure, sound_text
from recjudge_tui.judges.providers.confidence import label_confidence
from recjudge_tui.judges.providers.reply import (
    bad_body,
    check_ending,
    json_object,
    looks_like_object,
    split_thinking,
)

_EXPECTED = "a chat completion"
_STATUS = re.compile(r"[45]\d\d", re.ASCII)


def read_reply(
    response: httpx.Response,
    target: CallTarget,
    request: Request,
    sent: dict[str, Any],
    dropped: tuple[str, ...],
    latency_s: float | None,
) -> Reply:
    """The reply in a completion to `request`.

    Raises CallError `bad_body` for anything but a completion, `refusal`, and what `check_ending` raises. An error
    sent with status 200 is raised as what `failure` makes of it.
    """
    body = json_object(response, target, _EXPECTED)
    if body.get("error"):
        raise _error_inside(body, target)
    choice = _first_choice(body, target)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise bad_body(target.server, _EXPECTED, "The choice has no message.")
    text, thinking = split_thinking(*_texts(message))
    text, thinking = target.scrub(text), target.scrub(thinking)
    stop = target.scrub(sound_text(choice.get("finish_reason")))
    _refuse(message, stop, text, target)
    check_ending(text, thinking, cut=stop == "length")
    entries = _logprobs(choice)
    return Reply(
        text=text,
        thinking=thinking,
        model=target.scrub(sound_text(body.get("model"))),
        stop=stop,
        structured="response_format" in sent and looks_like_object(text),
        usage=usage_of(body),
        latency_s=latency_s,
        logprobs=bool(entries),
        label_confidence=label_confidence(request, text, entries),
        sent=sent,
        dropped=dropped,
    )


def _error_inside(body: dict[str, Any], target: CallTarget) -> RecjudgeError:
    """An error sent with status 200, as some gateways do; its code is then often the real status."""
    error = error_in_body(body)
    status = int(error.code) if _STATUS.fullmatch(error.code) else 502
    return failure(status, httpx.Headers(), error, target)


def _first_choice(body: dict[str, Any], target: CallTarget) -> dict[str, Any]:
    choices = body.get("choices")
    if choices == []:
        raise CallError("empty", f"{target.server} sent a completion without an answer", retry=True)
    if not isinstance(choices, list) or not isinstance(choices[0], dict):
        raise bad_body(target.server, _EXPECTED, "It is JSON, but not a chat completion.")
    first: dict[str, Any] = choices[0]
    if first.get("error"):
        raise _error_inside(first, target)
    return first


def _texts(message: dict[str, Any]) -> tuple[str, str]:
    """Content and thinking; content may be a list of parts."""
    thinking = sound_text(message.get("reasoning_content") or message.get("reasoning"))
    content = message.get("content")
    if not isinstance(content, list):
        return sound_text(content), thinking
    parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "".join(sound_text(part.get("text")) for part in parts), thinking


def _refuse(message: dict[str, Any], stop: str, text: str, target: CallTarget) -> None:
    refusal = message.get("refusal")
    if refusal:
        raise CallError("refusal", "The model refused to answer", target.scrub(one_line(refusal, 400)))
    if stop == "content_filter":
        raise CallError("refusal", "The server's content filter stopped the answer", one_line(text, 200))


def _logprobs(choice: dict[str, Any]) -> list[Any]:
    """The entries for the tokens of the content; empty if the server gave none."""
    given = choice.get("logprobs")
    entries = given.get("content") if isinstance(given, dict) else None
    return entries if isinstance(entries, list) else []


def usage_of(body: Mapping[str, Any]) -> Usage:
    """The server's token counts from the body of its answer; empty if there are none."""
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return Usage()
    cached = _detail(usage, "prompt_tokens_details", "cached_tokens")
    return Usage(
        input=whole(usage.get("prompt_tokens")),
        output=whole(usage.get("completion_tokens")),
        cached_input=whole(usage.get("prompt_cache_hit_tokens")) if cached is None else cached,
        reasoning=_detail(usage, "completion_tokens_details", "reasoning_tokens"),
        cost_usd=usage.get("cost"),
    )


def _detail(usage: dict[str, Any], group: str, name: str) -> int | None:
    details = usage.get(group)
    return whole(details.get(name)) if isinstance(details, dict) else None
