"""Reads what a server answers, whoever made it: the reply, or what its error means. Did only this call fail, or would
every further call fail too? Which part of the request must be left out or exchanged for the server to take it? And how
probable was the label, by the tokens that the model wrote?"""

from __future__ import annotations

import email.utils
import json
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import httpx2 as httpx

from recjudge_tui.domain.calls import Reply, Request, Usage, whole
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, JudgeError, RecjudgeError, SightError
from recjudge_tui.judges.http import Answer

# folds the events of a stream into the body that would have come without it
Fold = Callable[[list[dict[str, Any]]], dict[str, Any]]

# the vendors' words for why an answer ended
_CUT = ("length", "max_tokens")
_CONTEXT_FULL = ("model_context_window_exceeded", "model_length")
_REFUSED = {
    "refusal": "The model refused to answer",
    "safety": "The server's safety filter stopped the answer",
    "prohibited_content": "The server's safety filter stopped the answer",
    "blocklist": "The server's word list stopped the answer",
    "recitation": "The server stopped the answer, because it repeats a text from elsewhere",
    "content_filter": "The server's content filter stopped the answer",
    "content_filtered": "A content filter stopped the answer",
    "guardrail_intervened": "A guardrail stopped the answer",
}


class VendorReply(NamedTuple):
    """What one answer says. `tokens` is the list of token probabilities, `places` are texts outside the content by the
    name of their place, `refusal` is what the model says where it refuses."""

    text: str
    thinking: str = ""
    model: str = ""
    stop: str = ""
    tokens: object = None
    places: Mapping[str, str] = {}
    refusal: str = ""
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
        event = as_json(text)
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


def finished(reply: Reply, request: Request, refusal: str, places: Mapping[str, str]) -> Reply:
    """The reply if it has an answer. An empty one gets the answer that the server has put elsewhere (`places`), if nothing
    else is in it than the object asked for. What stands between tags for thinking is no such place. Raises CallError for
    an answer that is missing (`empty`, `thinking`), refused (`refusal`) or cut off, at the token cap (`length`) or by the
    context (`overflow`), with the reply. A complete JSON object passes even if it was cut."""
    step, retry, stop = "", False, reply.stop.lower().partition(":")[0]
    cut, text, thinking = stop in _CUT, reply.text, reply.thinking
    elsewhere = {name: part for name, part in places.items() if part.strip()}
    if refusal or stop in _REFUSED:
        kind, cause = "refusal", refusal or one_line(text, 400)
        title = _REFUSED["refusal"] if refusal else _REFUSED[stop]
    elif stop in _CONTEXT_FULL:
        raise overflow("Prompt and reply filled the context.", reply.usage.input)
    elif text.strip():
        if not cut or as_json(text) is not None:
            return reply
        kind, title, cause = "length", "The answer was cut off at the token cap", one_line(text[-120:])
        step = "Raise --max-tokens."
    elif cut:
        hidden = reply.usage.reasoning or reply.usage.output
        spent = f"{hidden} hidden tokens" if hidden else "No text"
        kind, title = "thinking", "The model spent the whole token cap on thinking"
        cause = f"{f'{len(thinking)} characters of thinking' if thinking else spent}, no answer."
        step = "Raise --max-tokens, or switch thinking off at the server."
    elif elsewhere or thinking:
        for name, part in elsewhere.items():
            found = as_json(part)
            wanted = set(request.reply_schema.get("properties") or {})
            if isinstance(found, dict) and found and wanted <= set(found):
                update = {"text": part.strip(), "sent": {**reply.sent, "answer_in": name}}
                return reply.model_copy(update=update | ({"thinking": ""} if part == thinking else {}))
        place, part = next(iter(elsewhere.items()), ("thinking", thinking))
        kind, cause = "empty", one_line(part, 120)
        title = f"The content of the answer is empty; the model's text is in its {place}"
        step = "Switch off thinking, or the server's reasoning parser."
    else:
        kind, title, retry = "empty", "The answer is empty", True
        why = "" if stop in ("", "stop", "end_turn") else f" It ended with “{one_line(reply.stop, 40)}”."
        cause = f"The server sent no text.{why}"
    error = CallError(kind, title, cause, step, retry=retry)
    error.text, error.thinking, error.usage = text, thinking, reply.usage
    raise error


def object_in(response: Answer) -> dict[str, Any]:
    """The object in an answer; empty if there is none."""
    body = as_json(response.content)
    return body if isinstance(body, dict) else {}


def part_of(entry: object, name: str) -> dict[str, Any]:
    """The object under a name; empty if there is none."""
    part = entry.get(name) if isinstance(entry, dict) else None
    return part if isinstance(part, dict) else {}


def list_of(entry: object, name: str) -> list[Any]:
    """The list under a name; empty if there is none."""
    part = entry.get(name) if isinstance(entry, dict) else None
    return part if isinstance(part, list) else []


def objects_of(entry: object, name: str) -> list[dict[str, Any]]:
    """The objects in the list under a name."""
    return [part for part in list_of(entry, name) if isinstance(part, dict)]


def joined(parts: Iterable[Mapping[str, Any]], *names: str) -> dict[str, str]:
    """The text under each name, put together from the parts in which a stream brings it."""
    kept = list(parts)
    return {name: "".join(sound_text(part.get(name)) for part in kept) for name in names}


def called_with(message: Mapping[str, Any]) -> str:
    """What a message passes to tools, each text once, a line each: two that differ are no answer."""
    calls = [*list_of(message, "tool_calls"), {"function": message.get("function_call")}]
    given = filter(None, (part_of(call, "function").get("arguments") for call in calls))
    return "\n".join(dict.fromkeys(map(text_or_json, given)))


def text_or_json(value: object) -> str:
    """A text as it is, an object as JSON, anything else as an empty text."""
    return json.dumps(value) if isinstance(value, dict) and value else sound_text(value)


def as_json(text: str | bytes) -> Any:
    """The text as JSON; None if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# ---- what an error means ---------------------------------------------------------------------------------------------

LONGEST_DELAY_S = 3600.0
LOADING_S = 2.0
_STATUS = re.compile(r"[45]\d\d", re.ASCII)


@dataclass(frozen=True)
class CallTarget:
    """The names used in error messages: the server, the model and the key's variable. `scrub` hides the key in a text.
    `address_form` says how the address of such a server is written."""

    server: str
    model: str
    key_variable: str
    scrub: Callable[[str], str] = str
    address_form: str = ""


@dataclass(frozen=True)
class ServerError:
    """An error in the server's own words. `code` and `kind` are lower-case or empty; `delay_s` is what its body asks for,
    `generated` the model's text that the server could not use."""

    message: str
    kind: str = ""
    code: str = ""
    param: str = ""
    prompt_tokens: int | None = None
    context: int | None = None
    delay_s: float | None = None
    generated: str = ""

    @property
    def words(self) -> str:
        return f"{self.code} {self.kind} {self.param} {self.message}"


def sound_text(value: object) -> str:
    """The value if it is a string, else an empty one; lone surrogates, which UTF-8 and SQLite cannot hold, become "?"."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def error_of(response: Answer) -> ServerError:
    """The error in an answer's body, in any of the usual shapes, else the beginning of the body."""
    try:
        error = error_in_body(response.json())
    except ValueError:
        error = ServerError(one_line(response.text, 200), delay_s=_delay_in(response.text))
    kind = amazon_kind(response).lower()
    return replace(error, code=kind) if kind else error


def amazon_kind(response: Answer) -> str:
    """The kind of an error of Amazon's, which stands in a header in front of an address; empty for others."""
    return str(response.headers.get("x-amzn-errortype", "")).partition(":")[0]


def error_in_body(body: object) -> ServerError:
    """The error in a JSON body. Parts of an unexpected type are shown as they are, or left empty."""
    if isinstance(body, list) and body and isinstance(body[0], dict):
        body = body[0]
    error = body
    if isinstance(body, dict):
        error = body.get("error") or body.get("detail") or body.get("message") or body
    fields = error if isinstance(error, dict) else {}
    message = (fields.get("message") or fields) if fields else error
    if not fields and isinstance(body, dict):
        fields = {"code": body.get("code")}
    with suppress(RecursionError):
        message = message if isinstance(message, str) else json.dumps(message)
    text = message if isinstance(message, str) else "{…}"
    hints = objects_of(fields, "details")
    asked = next((f"retry in {part['retryDelay']}" for part in hints if part.get("retryDelay")), text)
    kinds = [fields.get("type"), *(part.get("reason") for part in hints)]
    if within := sound_text(part_of(fields, "metadata").get("raw")).strip():
        # OpenRouter passes on what the provider said
        told = error_in_body(as_json(within) or within)
        return replace(told, code=told.code or _word(fields.get("code")))
    return ServerError(
        message=one_line(text, 400),
        kind=" ".join(filter(None, map(_word, kinds))).lower(),
        code=_word(fields.get("code")).lower(),
        param=_word(fields.get("param")),
        prompt_tokens=whole(fields.get("n_prompt_tokens")),
        context=whole(fields.get("n_ctx")),
        delay_s=_delay_in(asked),
        generated=sound_text(fields.get("failed_generation")),
    )


def _word(value: object) -> str:
    return one_line(value, 200) if isinstance(value, str | int) and not isinstance(value, bool) else ""


# the usual status of errors that name only their type
_STATUS_OF = {
    "authentication_error": 401, "billing_error": 402, "permission_error": 403, "not_found_error": 404,
    "request_too_large": 413, "rate_limit_error": 429, "overloaded_error": 529, "invalid_request_error": 400,
}  # fmt: skip


def error_inside(body: dict[str, Any], target: CallTarget) -> RecjudgeError:
    """What an error means that was sent with status 200, as some gateways do; its code is then often the real status."""
    error = error_in_body(body)
    code = next(filter(_STATUS.fullmatch, (_word(part_of(body, "error").get("code")), error.code)), "")
    status = int(code) if code else _STATUS_OF.get(error.kind, 502)
    return failure(status, httpx.Headers(), error, target)


# a number of any length: the delay is cut anyway
_SECONDS = re.compile(r"\s*[+-]?\d{1,300}(\.\d*)?([eE]\+?\d{1,2})?\s*", re.ASCII)
_UNITS = {"ms": 0.001, "mi": 0.001, "h": 3600.0, "m": 60.0, "s": 1.0}
_PART = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s{0,2}(ms|mi(?=lli)|h|m|s)", re.ASCII)
_ASKED = re.compile(
    r"(?:try again|retry|wait|available|resets?)\b\D{0,30}?((?:\d{1,9}(?:\.\d{1,9})?\s{0,2}"
    r"(?:ms|milliseconds?|h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)\b(?: and |[, ]{0,2})|"
    r"\d{1,9}[hm](?=\d))+)",
    re.ASCII | re.IGNORECASE,
)


def _delay_in(text: str) -> float | None:
    """The delay that a message asks for (`try again in 1m2.5s`, `retry after 20 seconds`), in seconds."""
    asked = _ASKED.search(text[:4000])
    parts = _PART.findall(asked[1].lower()) if asked else ()
    return sum(float(number) * _UNITS[unit] for number, unit in parts) if asked else None


def retry_after(headers: httpx.Headers, in_body: float | None = None) -> float | None:
    """Seconds to wait, from the headers `retry-after-ms` or `Retry-After` (seconds or an HTTP date), else the body, else
    `x-ratelimit-reset-*` of the limits that are used up. A date is compared with the server's own `Date` if it sends one,
    so the clocks may differ. Never negative, an hour at most; None where nothing is readable."""
    seconds, asked = in_body, headers.get("retry-after", "")
    if _SECONDS.fullmatch(milliseconds := headers.get("retry-after-ms", "")):
        seconds = float(milliseconds) / 1000
    elif _SECONDS.fullmatch(asked):
        seconds = float(asked)
    elif (until := _http_date(asked)) is not None:
        now = _http_date(headers.get("date", ""))
        seconds = until - (time.time() if now is None else now)
    elif in_body is None:
        used = (
            value
            for name, value in headers.items()
            if "x-ratelimit-reset" in name and headers.get(name.replace("reset", "remaining"), "0") == "0"
        )
        seconds = max(filter(None, map(_reset_s, used)), default=None)
    return None if seconds is None else min(max(0.0, seconds), LONGEST_DELAY_S)


def _reset_s(value: str) -> float | None:
    """The delay until a limit is reset: `6m0s`, a number of seconds, or the time in seconds or milliseconds since 1970."""
    if not _SECONDS.fullmatch(value):
        return _delay_in(f"retry in {value}")
    number = float(value)
    return number if number < 1e6 else number / (1000 if number > 1e11 else 1) - time.time()


def _http_date(value: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(value).timestamp()
    except (TypeError, ValueError, OverflowError, IndexError):
        return None


class _Meaning(NamedTuple):
    """The first whose statuses (empty: any) and words fit. `kind` "": every further call would fail too."""

    statuses: Sequence[int]
    words: str
    kind: str
    title: str
    next_step: str = ""
    retry: bool = False


_KEY_WORDS = (
    r"(?:api[ _-]?key|access token|bearer token|credentials?)\b.{0,40}\b(?:not valid|invalid|incorrect|expired|revoked|wrong"
    r"|missing|required|malformed)|(?:invalid|incorrect|wrong|expired|missing|malformed|no) (?:\w+ )?(?:api[ _-]?key"
    r"|access token|bearer token|credentials?)|api_key_invalid|invalid_api_key|invalid_authentication|unauthori[sz]ed"
)
_TOO_LONG = (
    r"context[ _](?:length|window|size|limit)|max(?:imum)? (?:context|prompt)|prompt is too long|too many (?:input )?tokens"
    r"|exceed_context_size|input is too long|input token count|max_new_tokens. must be"
)
# a cap on the tokens of a reply that is larger than the server allows, not one that it does not know
_CAPS = r"(?:max\w*_tokens\b|(?:completion|output) tokens|in the completion)"
_TOO_MANY = r"too (?:large|high|big|many)|at most|exceed|maximum|less than|greater than|>"
_UNREAD = (
    r"json_validate_failed|output_parse_failed|tool_use_failed|failed_generation"
    r"|fail\w* to (?:generate|validate|parse) (?:valid )?JSON|generated (?:JSON|output) does not match"
)
_MEANINGS = (
    _Meaning(range(300, 400), "", "redirect", "{server} redirects to {to}", "Give the final address with --base-url."),
    # Bedrock's kinds with other statuses than usual
    _Meaning((), r"^servicequotaexceeded", "rate_limit", "A quota of {server} is used up", retry=True),
    _Meaning((), r"^modelnotready", "overloaded", "The model “{model}” is not ready", retry=True),
    _Meaning((), r"^modelerror", "server_error", "The model “{model}” failed", retry=True),
    _Meaning((400, 404), r"model identifier is invalid|on-demand throughput|end of its life", "",
             "{server} cannot serve “{model}” under this name",
             "Write a model id or inference profile of this region: aws bedrock list-inference-profiles."),
    # nginx, Go, Apache
    _Meaning((400,), r"HTTP request (?:was sent )?to (?:an )?HTTPS|speaking plain HTTP to an SSL", "",
             "The server at {server} speaks TLS", "Write https:// instead of http://."),
    _Meaning((413,), "", "overflow", ""),
    _Meaning((400, 422, 500), _TOO_LONG, "overflow", ""),
    _Meaning((400, 422), rf"{_CAPS}.*(?:{_TOO_MANY})", "bad_request",
             "{server} writes fewer tokens than asked for", "Lower --max-tokens."),
    _Meaning((), r"context_length_exceeded|exceed_context_size_error", "overflow", ""),
    _Meaning((), r"^content_", "refusal", "{server} refused the content of this call"),
    _Meaning((400, 403), r"\bflagged\b|moderation|content[ _](?:filter|policy|management)", "refusal",
             "{server} refused the content of this call"),
    # the server checks the model's JSON itself
    _Meaning((400, 422, 500), _UNREAD, "bad_reply", "{server} could not read the model's reply", retry=True),
    _Meaning((402,), "", "", "The account at {server} has no credit left", "Add credit, then resume."),
    _Meaning((), r"insufficient_quota|billing_hard_limit_reached|insufficient_credits|billing_error|balance is too low"
             r"|spending limit|API usage limits|any credits", "",
             "The account at {server} has no credit left", "Add credit, then resume."),
    _Meaning((400, 401, 403), r"organi[sz]ation (?:has been|must be)|(?:country|location)\b.{0,40} not supported"
             r"|access is disabled", "", "{server} does not serve this account", "Settle it there, then resume."),
    _Meaning((401, 403), "", "", "{key}", "{check_key}"),
    _Meaning((400, 422), _KEY_WORDS, "", "{key}", "{check_key}"),
    _Meaning((400,), r"failed to load model|no models loaded", "", "{server} cannot load “{model}”",
             "Load it there, then resume."),
    _Meaning((), r"^model_not_found|not a valid model|invalid model|model\b.{0,60}\b(?:not (?:exist|found)|decommissioned)"
             r"|not support chat", "", "{server} has no model “{model}”", "Check the name of the model."),
    _Meaning((404,), r"\bmodel", "", "{server} has no model “{model}”", "Check the name of the model."),
    _Meaning((400, 404, 405), r"^deploymentnotfound|API version not supported", "", "{server} has no such deployment",
             "Check --base-url. {form}"),
    _Meaning((404, 405), "", "", "{server} has nothing at this address", "Check --base-url. {form}"),
    # LM Studio, which answers so with status 200
    _Meaning((), r"unexpected endpoint or method", "", "{server} has nothing at this address", "Check --base-url. {form}"),
    _Meaning((429,), "", "rate_limit", "{server} answered 429: too many requests", retry=True),
    _Meaning((503,), r"loading (?:the )?model|model is (?:still |currently )?loading|model .{0,60} is currently loading",
             "loading", "The server at {server} is loading the model", retry=True),
    _Meaning((498, 503, 529), "", "overloaded", "{server} answered {status}: overloaded", retry=True),
    _Meaning((408, 504), "", "timeout", "{server} answered {status}: timed out", retry=True),
    _Meaning(range(500, 1000), "", "server_error", "{server} answered {status}", retry=True),
    _Meaning((), "", "bad_request", "{server} answered {status}"),
)  # fmt: skip


def failure(status: int, headers: httpx.Headers, error: ServerError, target: CallTarget) -> RecjudgeError:
    """The error for an answer with a status other than 200: a JudgeError if every further call would fail too (key, model,
    credit, address), else a CallError."""
    meaning = _meaning(status, error)
    message, key = target.scrub(error.message), target.key_variable
    if meaning.kind == "overflow":
        return overflow(message, error.prompt_tokens, error.context)
    names = {
        "server": target.server,
        "model": target.model,
        "status": status,
        "form": target.address_form,
        "to": one_line(target.scrub(headers.get("location", "")), 200) or "another address",
        "key": f"{target.server} refused the key in {key}" if key else f"{target.server} requires a key",
        "check_key": f"Check {key}." if key else "Name the variable that holds it with --api-key-env NAME.",
    }
    title, step = (text.format(**names).strip() for text in (meaning.title, meaning.next_step))
    if not meaning.kind:
        return JudgeError(title, message, step)
    if meaning.kind == "redirect":
        message = "Redirects are not followed: they could carry the key elsewhere."
    wait = retry_after(headers, error.delay_s) if meaning.retry else None
    if meaning.kind == "loading" and wait is None:
        wait = LOADING_S
    fault = CallError(meaning.kind, title, message, step, retry=meaning.retry, retry_after=wait)
    fault.text = target.scrub(error.generated)
    return fault


def _meaning(status: int, error: ServerError) -> _Meaning:
    words = error.words.strip()
    return next(
        row
        for row in _MEANINGS
        if (not row.statuses or status in row.statuses) and re.search(row.words, words, re.IGNORECASE)
    )


def ends_a_run(response: Answer) -> bool:
    """Whether an answer to a question about the model shows that no call can work: key, credit or a redirect, not a server
    without information on models."""
    status = response.status_code
    return status not in (404, 405) and _meaning(status, error_of(response)).kind in ("", "redirect")


def is_loading(response: Answer) -> bool:
    return _meaning(response.status_code, error_of(response)).kind == "loading"


_PROMPT_TOO_LONG = "The prompt is too long for the model"


def overflow(why: str, prompt_tokens: int | None = None, context: int | None = None) -> CallError:
    sizes = [f"{prompt_tokens} tokens"] if prompt_tokens is not None else []
    sizes += [f"the context holds {context}"] if context is not None else []
    what = "Prompt and reply do not fit into the context" if re.search(_CAPS, why) else _PROMPT_TOO_LONG
    title = ": ".join(filter(None, (what, ", ".join(sizes))))
    step = "Show less history or fewer items, lower --max-tokens, or serve the model with a larger context."
    return CallError("overflow", title, why, step)


# ---- repairs -----------------------------------------------------------------------------------------------------

# A refusal without a field for the parameter contains one of these words beside its name.
_REFUSING = re.compile(
    r"not (?:support|permit|allow|available|recogni|enabled)|unsupported|unrecogni|unknown|unexpected|unavailable|"
    r"extra (?:input|field)|invalid|does(?: not|n't) (?:support|accept)|only the default|failed to parse|"
    r"deprecated|(?:may|can|must|should)(?:not| not| only)? be|no longer|enabled only|cannot find field",
    re.IGNORECASE,
)


class Repair(NamedTuple):
    """A part of the request that is left out or exchanged for the rest of the run, if the server's error fits: its status,
    and words about the part beside words that refuse it (`plain`: they suffice). Others are recognised by name."""

    part: str
    statuses: tuple[int, ...]
    words: str
    plain: bool = False


_REFUSING_STATUSES = (400, 422, 501)
REPAIRS = (
    # Gemma, early Mistral, models that reason: the text goes in front of the user's
    Repair("system", (400, 422, 500), r"roles must alternate|only (?:the )?user and assistant", plain=True),
    Repair("system", (400, 422, 500), r"system role|role\W{1,4}system|['\"`]system['\"`]"
           r"|(?:system (?:message|prompt)|(?:system|developer) instruction|developer message)"),
    # Pydantic's and Azure's words for a bound in a schema
    Repair("maxLength", _REFUSING_STATUSES, r"\bmax(?:Length|Items)\b"),
    Repair("response_format", (*_REFUSING_STATUSES, 500),
           r"response_?(?:format|schema)|json[_ ]schema|json mode|structured output|grammar|guided|additionalProperties"),
    Repair("format", (*_REFUSING_STATUSES, 500), r"\bformat\b|grammar|structured output|json schema"),
    Repair("logprobs", (*_REFUSING_STATUSES, 403, 500), r"logprobs"),
    # OpenRouter: no provider of this model takes every parameter
    Repair("provider", (404,), r"handle the requested parameters", plain=True),
    Repair("cachePoint", (400, 403, 422, 500), r"prompt caching|cachePoint"),
)  # fmt: skip


def refused_part(
    status: int, error: ServerError, sent: Mapping[str, Any], droppable: Sequence[str]
) -> str | None:
    """The part of the request among `sent` and `droppable` that the server refuses; None for any other error."""
    parts = [] if re.search(_UNREAD, error.words, re.I) else [name for name in droppable if name in sent]
    if re.search(_TOO_MANY, error.message):
        # a cap that is too large, and one that is left out would cost more than any budget has set aside
        parts = [name for name in parts if not re.fullmatch(_CAPS, name)]
    refuses = is_refusal(error)
    said = {word for word in re.findall(r"\w+", error.message) if word != "system"} if refuses else set()
    named = (part for words in ({error.param.partition(".")[0]}, said) for part in parts if part in words)
    if status in _REFUSING_STATUSES and (first := next(named, None)):
        return first
    for repair in REPAIRS:
        fits = repair.part in parts and status in repair.statuses and (refuses or repair.plain)
        if fits and re.search(repair.words, f"{error.param} {error.message}", re.IGNORECASE):
            return repair.part
    return None


def is_refusal(error: ServerError) -> bool:
    """Whether the error is about something that the server does not accept."""
    return _REFUSING.search(error.message) is not None


# ---- models that see no images -----------------------------------------------------------------------------------

_IMAGES = re.compile(
    r"\bimages?\b|image[_ ](?:url|input)|\bvision\b|multi-?modal|mmproj|media type|content part|content type",
    re.IGNORECASE,
)
# an error about a single image, even if it also matches the pattern above
_THIS_IMAGE = re.compile(
    r"could not (?:be )?process|corrupt|dimension|too (?:large|many|big)|exceed|maximum|invalid (?:image|base64)|download"
    r"|only supports? one",
    re.IGNORECASE,
)
_NONE = re.compile(r"not a (?:multi-?modal|vision)|no endpoints|at most 0|only (?:supported|text)", re.I)
# the content of a message with images is a list
_ONLY_TEXT = re.compile(r"content\b.{0,60}\b(?:must|should) be a (?:valid )?string", re.IGNORECASE)


def sees_no_images(model: str, why: str) -> SightError:
    """The error for a model that cannot see images: no call with images can work."""
    title = f"The model “{model}” does not see images"
    return SightError(title, why, "Choose a model that does, or leave out --images.")


def is_blind(status: int, error: ServerError) -> bool:
    """Whether a server refuses a request with images because its model cannot see them."""
    if status not in (400, 404, 415, 422, 500, 501) or _THIS_IMAGE.search(error.message):
        return False
    about_images = _IMAGES.search(error.message) is not None
    refused = is_refusal(error) or _NONE.search(error.message) is not None
    return (about_images and refused) or _ONLY_TEXT.search(error.message) is not None


_LEAST_LOGPROB = -1e6  # practically impossible; an integer may be too large for a float
TOP_LOGPROBS = 5  # every server that returns alternatives returns at least this many
_DECODER = json.JSONDecoder()


# a token of the reply, and the alternatives to it (itself included): bytes -> log-probability
Token = tuple[bytes, dict[bytes, float]]


def label_confidence(request: Request, text: str, entries: object) -> float | None:
    """The probability of the label in `text` among all labels of its enum, in (0, 1], or None.

    `entries` is the server's list of `{token, logprob, bytes?, top_logprobs: [{token, logprob, bytes?}]}`. The label is
    the value of the top-level property `request.label_field` of the JSON object that `text` is. Its tokens are read in
    order. At each token, the open labels are those that begin like the text so far. Every listed alternative is the
    beginning (or the whole) of some of them, or of none:

    - for: the token that was written, and every other that leaves only the written label open,
    - against: those that leave open one or more other labels, but not the written one,
    - left out: those of no label, and those that do not tell the written label from another.

    p(token) = sum of exp(logprob) over `for` / sum over `for` and `against`; the confidence is the product of p over the
    tokens until only the written label is open. A label that is not among the listed alternatives counts 0, as its
    probability is below all of theirs.

    None if there are no entries or no alternatives; if the request names no label; if `text` is not a JSON object, has no
    such property, or its value is not in the enum; if the tokens do not join to the text; or if the token written is not
    among the alternatives (a grammar chose it, not the model)."""
    if not entries:
        return None
    field = request.reply_schema.get("properties", {}).get(request.label_field)
    labels = field.get("enum") if isinstance(field, dict) else None
    if not isinstance(labels, list) or (place := _value_place(text, request.label_field, labels)) is None:
        return None
    tokens = _tokens(entries)
    # thinking may stand before the text
    begin = b"".join(written for written, _ in tokens).rfind(text.encode("utf-8", "replace"))
    if begin < 0:
        return None
    start = begin + len(text[: place[0]].encode("utf-8", "replace"))
    return _probability(tokens, start, _canonical(place[1]), list(map(_canonical, labels)))


def _probability(tokens: Sequence[Token], start: int, chosen: bytes, labels: list[bytes]) -> float | None:
    """The product described above. `start` is where the value begins in the joined tokens."""
    confidence, end = 1.0, 0
    for written, alternatives in tokens:
        at, end = end, end + len(written)
        if end <= start:
            continue
        lead, head = written[: max(start - at, 0)], chosen[: max(at - start, 0)]
        if written not in alternatives:
            return None
        mass_for, mass_against = math.exp(alternatives[written]), 0.0
        for alternative, logprob in alternatives.items():
            if alternative == written or not alternative.startswith(lead):
                continue
            left = [label for label in labels if _fits(label, head + alternative[len(lead) :])]
            if left == [chosen]:
                mass_for += math.exp(logprob)
            elif left and chosen not in left:
                mass_against += math.exp(logprob)
        if not mass_for > 0.0:
            return None
        confidence *= mass_for / (mass_for + mass_against)
        labels = [label for label in labels if _fits(label, head + written[len(lead) :])]
        if chosen not in labels or labels == [chosen]:
            return confidence if labels == [chosen] else None
    return None


def _fits(label: bytes, text: bytes) -> bool:
    """Whether `text` is the beginning of the label, or the label and what may follow it in JSON."""
    if len(text) <= len(label):
        return label.startswith(text)
    return text.startswith(label) and not text[len(label) : len(label) + 1].isalnum()


def _canonical(label: object) -> bytes:
    return json.dumps(label, ensure_ascii=False).encode("utf-8", "replace")


def _value_place(text: str, field: str, labels: list[Any]) -> tuple[int, Any] | None:
    """Where the label of a JSON object begins in its text, and the label; the last of equal names."""
    place = None
    with suppress(ValueError, RecursionError):
        if isinstance(json.loads(text), dict):
            # within a text the quotes are escaped
            for name in re.finditer(rf"(?<!\\){re.escape(json.dumps(field))}\s*:\s*", text):
                value, _ = _DECODER.raw_decode(text, name.end())
                place = (name.end(), value) if value in labels else place
    return place


def _tokens(entries: object) -> list[Token]:
    """The tokens that the server listed; empty if one entry is malformed."""
    tokens: list[Token] = []
    for entry in entries if isinstance(entries, list) else ():
        if (written := _written(entry)) is None:
            return []
        tokens.append((written, alternatives := {}))
        for other in list_of(entry, "top_logprobs"):
            name = _written(other)
            logprob = other.get("logprob") if name is not None else None
            if isinstance(logprob, int | float) and not isinstance(logprob, bool) and logprob <= 0.0:
                alternatives[name or b""] = float(max(logprob, _LEAST_LOGPROB))
    return tokens


def _written(entry: object) -> bytes | None:
    if not isinstance(entry, dict):
        return None
    raw = entry.get("bytes")
    if isinstance(raw, list) and all(type(b) is int and 0 <= b < 256 for b in raw):
        return bytes(raw)
    token = entry.get("token")
    return token.encode("utf-8", "replace") if isinstance(token, str) else None
