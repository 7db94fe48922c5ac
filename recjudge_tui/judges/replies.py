"""Reads replies: the steps that are the same for every vendor."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import httpx2 as httpx

from recjudge_tui.domain.calls import Reply, Request
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError
from recjudge_tui.judges.refusals import CallTarget, body_json, body_text

# folds the events of a stream into the body that would have come without it
Fold = Callable[[list[dict[str, Any]]], dict[str, Any]]

_OPENED = (
    r"<(?:think(?:ing)?|thoughts?|reasoning|seed:think)>|\[THINK\]|◁think▷"
    r"|(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)<\|message\|>"
)
_CLOSED = (
    r"</(?:think(?:ing)?|thoughts?|reasoning|seed:think)>|\[/THINK\]|◁/think▷"
    r"|(?:<\|end\|>)?(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>"
)
_THINK = re.compile(rf"\A\s*(?:{_OPENED})(.*?)(?:{_CLOSED}|\Z)", re.DOTALL | re.IGNORECASE)
_THINK_END = re.compile(rf"\A(.*?)(?:{_CLOSED})", re.DOTALL | re.IGNORECASE)
_FINAL = re.compile(r"\A\s*<\|channel\|>final<\|message\|>|<\|(?:return|end)\|>\s*\Z")


def json_object(
    response: httpx.Response, target: CallTarget, expected: str, fold: Fold | None = None
) -> dict[str, Any]:
    """The JSON object in an answer, also in a stream that was not asked for. Raises CallError `bad_body`, which says that
    it is not what was `expected`.
    """
    try:
        body = body_json(response)
    except ValueError:
        body = None
        events = [] if fold is None else _events(response)
        if fold is not None and events:
            return fold(events)
        begin = one_line(target.scrub(body_text(response)), 120)
        raise bad_body(target.server, expected, f"It is not JSON: {begin}") from None
    if not isinstance(body, dict):
        raise bad_body(target.server, expected, "It is JSON, but not an object.")
    return body


def _events(response: httpx.Response) -> list[dict[str, Any]]:
    """The events of a stream (`data: {…}`, or an object a line); empty for anything else and for one that is cut."""
    events, is_stream = [], False
    for line in body_text(response).lstrip("\ufeff").splitlines():
        name, colon, rest = line.partition(":")
        if not line.strip() or (colon and name in ("", "event", "id", "retry")):
            continue
        is_stream |= name == "data"
        text = rest.strip() if name == "data" else line
        if text == "[DONE]":
            break
        try:
            event = json.loads(text)
        except (ValueError, RecursionError):
            return []
        if not isinstance(event, dict):
            return []
        events.append(event)
    # a single object that could not be read before has another fault
    return events if is_stream or len(events) > 1 else []


def bad_body(server: str, expected: str, cause: str) -> CallError:
    return CallError(
        "bad_body",
        f"The answer of {server} is not {expected}",
        cause,
        "If this happens again, check --base-url. It may be the address of a web page.",
        retry=True,
    )


def split_thinking(content: str, thinking: str) -> tuple[str, str]:
    """The answer, and the thinking, including a block of it at the beginning of the content. Some chat templates
    put the opening tag into the prompt, so a closing tag alone also ends a block, unless the content is a JSON
    object, where the tag is part of the answer. If a block has no end, everything is thinking.
    """
    match = _THINK.match(content)
    if match is None and not content.lstrip().startswith("{"):
        match = _THINK_END.match(content)
    if match is None:
        return _FINAL.sub("", content), thinking
    block = match.group(1).strip()
    return _FINAL.sub("", content[match.end() :]).strip(), "\n".join(
        part for part in (thinking, block) if part
    )


def finished(reply: Reply, request: Request, *, cut: bool, places: Mapping[str, str] | None = None) -> Reply:
    """The reply if it has an answer. An empty one gets the answer that the server has put elsewhere: `places` are texts
    outside the content, by name; the thinking counts only if nothing else is in it than the object asked for.

    Raises CallError for an answer that is missing (`empty`, `thinking`) or cut off at the token cap (`length`), with the
    reply. A complete JSON object passes even if the server says that it stopped at the cap.
    """
    if reply.text.strip():
        if cut and not _is_json(reply.text):
            raise _ended(reply, "length", "The answer was cut off at the token cap", one_line(reply.text[-120:]),
                         "Raise --max-tokens.")  # fmt: skip
        return reply
    elsewhere = {
        name: text for name, text in {**(places or {}), "thinking": reply.thinking}.items() if text.strip()
    }
    for name, text in elsewhere.items():
        if not cut and _answers(text, request):
            update: dict[str, Any] = {"text": text.strip(), "sent": {**reply.sent, "answer_in": name}}
            return reply.model_copy(update=update | ({"thinking": ""} if text == reply.thinking else {}))
    if cut:
        hidden = reply.usage.reasoning or reply.usage.output
        spent = (
            f"{len(reply.thinking)} characters of thinking" if reply.thinking else f"{hidden} hidden tokens"
        )
        raise _ended(
            reply,
            "thinking",
            "The model spent the whole token cap on thinking",
            f"{spent if reply.thinking or hidden else 'No text'}, no answer.",
            "Raise --max-tokens, or switch thinking off at the server.",
        )
    if elsewhere:
        raise _ended(
            reply, "empty", f"The content of the answer is empty; the model's text is in its {next(iter(elsewhere))}",
            one_line(next(iter(elsewhere.values())), 120), "Switch off thinking, or the server's reasoning parser.",
        )  # fmt: skip
    raise _ended(reply, "empty", "The answer is empty", "The server sent no text.", retry=True)


def refused(reply: Reply, title: str, cause: str) -> CallError:
    """The error for an answer that the model, or a filter, refused to give."""
    return _ended(reply, "refusal", title, cause)


def _ended(
    reply: Reply, kind: str, title: str, cause: str, step: str = "", *, retry: bool = False
) -> CallError:
    error = CallError(kind, title, cause, step, retry=retry)
    error.text, error.thinking, error.usage = reply.text, reply.thinking, reply.usage
    return error


def _answers(text: str, request: Request) -> bool:
    """Whether the text is nothing but an object with every field that was asked for."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    wanted = request.reply_schema.get("properties") or {}
    return isinstance(found, dict) and bool(found) and set(wanted) <= set(found)


def looks_like_object(text: str) -> bool:
    stripped = text.strip()
    return stripped.startswith("{") and stripped.endswith("}")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
