"""Reads replies: the steps that are the same for every vendor."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from recjudge_tui.domain.calls import Reply, Request, Usage, whole
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError
from recjudge_tui.judges.http import Answer
from recjudge_tui.judges.refusals import CallTarget, overflow

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
# the vendors' words for why an answer ended
_CUT = ("length", "max_tokens")
_CONTEXT_FULL = "model_context_window_exceeded"
_REFUSED = {
    "refusal": "The model refused to answer",
    "content_filter": "The server's content filter stopped the answer",
    "content_filtered": "A content filter stopped the answer",
    "guardrail_intervened": "A guardrail stopped the answer",
}


class VendorReply(NamedTuple):
    """What one answer says, taken from its vendor's fields. `tokens` is the list of token probabilities, `places` are
    texts outside the content by the name of their place, `refusal` is what the model says where it refuses, `noted` is
    stored with the parameters sent."""

    text: str
    thinking: str = ""
    model: str = ""
    stop: str = ""
    tokens: object = None
    places: Mapping[str, str] = {}
    refusal: str = ""
    noted: Mapping[str, Any] = {}
    usage: Usage = Usage()


def usage_of(answer: Mapping[str, Any], counts: Mapping[str, str]) -> Usage:
    """The server's token counts and cost in the body of an answer; empty if there are none. `counts` names where each
    field of Usage is: `usage.input|input` is the first of two places that has one, and what follows a `+` is added to it."""

    def at(place: str) -> Any:
        part: Any = answer
        for name in place.split("."):
            part = part.get(name) if isinstance(part, dict) else None
        return part

    found: dict[str, Any] = {}
    for name, places in counts.items():
        first, *more = places.split("+")
        value = next((value for place in first.split("|") if (value := at(place)) is not None), None)
        if more and (count := whole(value)) is not None:
            value = count + sum(whole(at(place)) or 0 for place in more)
        found[name] = value
    return Usage(**found)


def added(first: Usage, second: Usage) -> Usage:
    """The sums of counts and costs; None where both lack one."""
    pairs = {name: (getattr(first, name), getattr(second, name)) for name in Usage.model_fields}
    return Usage(**{n: (a or 0) + (b or 0) for n, (a, b) in pairs.items() if a is not None or b is not None})


def json_object(
    response: Answer, target: CallTarget, expected: str, fold: Fold | None = None
) -> dict[str, Any]:
    """The JSON object in an answer, also in a stream that was not asked for. Raises CallError `bad_body`, which says that
    it is not what was `expected`."""
    try:
        body = response.json()
    except ValueError:
        if fold is not None and (events := _events(response.text)):
            return fold(events)
        begin = one_line(target.scrub(response.text), 120)
        raise bad_body(target.server, expected, f"It is not JSON: {begin}") from None
    if not isinstance(body, dict):
        raise bad_body(target.server, expected, "It is JSON, but not an object.")
    return body


def _events(text: str) -> list[dict[str, Any]]:
    """The events of a stream (`data: {…}`, or an object a line); empty for anything else and for one that is cut."""
    events, is_stream = [], False
    for line in text.lstrip("\ufeff").splitlines():
        name, colon, rest = line.partition(":")
        if not line.strip() or (colon and name in ("", "event", "id", "retry")):
            continue
        is_stream |= name == "data"
        text = rest.strip() if name == "data" else line
        if text == "[DONE]":
            break
        event = _as_json(text)
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
    """The answer, and the thinking, including a block of it at the beginning of the content. Some chat templates put the
    opening tag into the prompt, so a closing tag alone also ends a block, unless the content is a JSON object, where the
    tag is part of the answer. If a block has no end, everything is thinking."""
    match = _THINK.match(content)
    if match is None and not content.lstrip().startswith("{"):
        match = _THINK_END.match(content)
    if match is None:
        return _FINAL.sub("", content), thinking
    parts = filter(None, (thinking, match[1].strip()))
    return _FINAL.sub("", content[match.end() :]).strip(), "\n".join(parts)


def finished(reply: Reply, request: Request, refusal: str, places: Mapping[str, str]) -> Reply:
    """The reply if it has an answer. An empty one gets the answer that the server has put elsewhere
    (`VendorReply.places`, or the thinking, if nothing else is in it than the object asked for). Raises CallError for an
    answer that is missing (`empty`, `thinking`), refused (`refusal`) or cut off, at the token cap (`length`) or by
    the context (`overflow`), with the reply. A complete JSON object passes even if it was cut."""
    cut, text, thinking = reply.stop in _CUT, reply.text, reply.thinking
    elsewhere = {name: part for name, part in (*places.items(), ("thinking", thinking)) if part.strip()}
    step, retry = "", False
    if refusal or reply.stop in _REFUSED:
        kind, cause = "refusal", refusal or one_line(text, 400)
        title = _REFUSED["refusal"] if refusal else _REFUSED[reply.stop]
    elif reply.stop == _CONTEXT_FULL:
        raise overflow("Prompt and reply filled the context.", reply.usage.input)
    elif text.strip():
        if not cut or _as_json(text) is not None:
            return reply
        kind, title, cause = "length", "The answer was cut off at the token cap", one_line(text[-120:])
        step = "Raise --max-tokens."
    elif cut:
        hidden = reply.usage.reasoning or reply.usage.output
        spent = f"{hidden} hidden tokens" if hidden else "No text"
        kind, title = "thinking", "The model spent the whole token cap on thinking"
        cause = f"{f'{len(thinking)} characters of thinking' if thinking else spent}, no answer."
        step = "Raise --max-tokens, or switch thinking off at the server."
    elif elsewhere:
        for name, part in elsewhere.items():
            found = _as_json(part)
            wanted = set(request.reply_schema.get("properties") or {})
            if isinstance(found, dict) and found and wanted <= set(found):
                update = {"text": part.strip(), "sent": {**reply.sent, "answer_in": name}}
                return reply.model_copy(update=update | ({"thinking": ""} if part == thinking else {}))
        place, part = next(iter(elsewhere.items()))
        kind, cause = "empty", one_line(part, 120)
        title = f"The content of the answer is empty; the model's text is in its {place}"
        step = "Switch off thinking, or the server's reasoning parser."
    else:
        kind, title, cause, retry = "empty", "The answer is empty", "The server sent no text.", True
    error = CallError(kind, title, cause, step, retry=retry)
    error.text, error.thinking, error.usage = text, thinking, reply.usage
    raise error


def part_of(entry: object, name: str) -> dict[str, Any]:
    """The object under a name; empty if there is none."""
    part = entry.get(name) if isinstance(entry, dict) else None
    return part if isinstance(part, dict) else {}


def list_of(entry: object, name: str) -> list[Any]:
    """The list under a name; empty if there is none."""
    part = entry.get(name) if isinstance(entry, dict) else None
    return part if isinstance(part, list) else []


def looks_like_object(text: str) -> bool:
    stripped = text.strip()
    return stripped.startswith("{") and stripped.endswith("}")


def _as_json(text: str) -> Any:
    """The text as JSON; None if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
