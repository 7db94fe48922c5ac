"""Reads replies: the steps that are the same for every vendor."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx

from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError
from recjudge_tui.judges.http.body import body_json, body_text
from recjudge_tui.judges.http.failures import CallTarget

_THINK = re.compile(r"\A\s*<think(?:ing)?>(.*?)(?:</think(?:ing)?>|\Z)", re.DOTALL)
_THINK_END = re.compile(r"\A(.*?)</think(?:ing)?>", re.DOTALL)


def json_object(response: httpx.Response, target: CallTarget, expected: str) -> dict[str, Any]:
    """The JSON object in an answer. Raises CallError `bad_body`, which says that it is not what was `expected`."""
    try:
        body = body_json(response)
    except ValueError:
        begin = one_line(target.scrub(body_text(response)), 120)
        raise bad_body(target.server, expected, f"It is not JSON: {begin}") from None
    if not isinstance(body, dict):
        raise bad_body(target.server, expected, "It is JSON, but not an object.")
    return body


def bad_body(server: str, expected: str, cause: str) -> CallError:
    return CallError(
        "bad_body",
        f"The answer of {server} is not {expected}",
        cause,
        "If this happens again, check --base-url. It may be the address of a web page.",
        retry=True,
    )


def split_thinking(content: str, thinking: str) -> tuple[str, str]:
    """The answer, and the thinking, including a `<think>` block at the beginning of the content. Some chat templates
    put the opening tag into the prompt, so a closing tag alone also ends a block, unless the content is a JSON
    object, where the tag is part of the answer. If a block has no end, everything is thinking.
    """
    match = _THINK.match(content)
    if match is None and not content.lstrip().startswith("{"):
        match = _THINK_END.match(content)
    if match is None:
        return content, thinking
    block = match.group(1).strip()
    return content[match.end() :].strip(), "\n".join(part for part in (thinking, block) if part)


def check_ending(text: str, thinking: str, *, cut: bool) -> None:
    """Raise CallError for an answer that is missing (`empty`, `thinking`) or cut off at the token cap (`length`), with what
    it said.

    A complete JSON object passes even if the server says that it stopped at the cap.
    """
    if text.strip():
        if not cut or _is_json(text):
            return
        error = CallError(
            "length", "The answer was cut off at the token cap", one_line(text[-120:]), "Raise the cap."
        )
    elif cut:
        error = CallError(
            "thinking",
            "The model spent the whole token cap on thinking",
            f"{len(thinking):,} characters of thinking, no answer.",
            "Raise the cap, or switch thinking off at the server.",
        )
    else:
        raise CallError("empty", "The answer is empty", "The server sent no text.", retry=True)
    error.text, error.thinking = text, thinking
    raise error


def looks_like_object(text: str) -> bool:
    stripped = text.strip()
    return stripped.startswith("{") and stripped.endswith("}")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
