"""What an answer other than 200 means: did only this call fail, or would every further call fail too? And which part of
the request must be left out or exchanged for the server to take it?
"""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import httpx2 as httpx

from recjudge_tui.domain.calls import Request, whole
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, JudgeError, RecjudgeError, SightError
from recjudge_tui.judges.http import Answer

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
    """An error in the server's own words. `code` and `kind` are lower-case or empty; `delay_s` is what its body asks for."""

    message: str
    kind: str = ""
    code: str = ""
    param: str = ""
    prompt_tokens: int | None = None
    context: int | None = None
    delay_s: float | None = None

    @property
    def words(self) -> str:
        return f"{self.code} {self.kind} {self.param} {self.message}"


# ---- reading the body --------------------------------------------------------------------------------------------


def sound_text(value: object) -> str:
    """The value if it is a string, else an empty one; lone surrogates, which UTF-8 and SQLite cannot hold, become "?"."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def error_of(response: Answer) -> ServerError:
    """The error in an answer's body, in any of the usual shapes, else the beginning of the body."""
    try:
        return error_in_body(response.json())
    except ValueError:
        return ServerError(one_line(response.text, 200), delay_s=_delay_in(response.text))


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
    text = message if isinstance(message, str) else _as_json(message)
    details = fields.get("details")
    hints = [part for part in (details if isinstance(details, list) else ()) if isinstance(part, dict)]
    asked = next((f"retry in {part['retryDelay']}" for part in hints if part.get("retryDelay")), text)
    kinds = [fields.get("type"), *(part.get("reason") for part in hints)]
    return ServerError(
        message=one_line(text, 400),
        kind=" ".join(filter(None, map(_word, kinds))).lower(),
        code=_word(fields.get("code")).lower(),
        param=_word(fields.get("param")),
        prompt_tokens=whole(fields.get("n_prompt_tokens")),
        context=whole(fields.get("n_ctx")),
        delay_s=_delay_in(asked),
    )


def _as_json(value: object) -> str:
    try:
        return json.dumps(value)
    except RecursionError:
        return "{…}"


def _word(value: object) -> str:
    return one_line(value, 200) if isinstance(value, str | int) and not isinstance(value, bool) else ""


# the usual status of errors that name only their type
_STATUS_OF = {
    "authentication_error": 401, "billing_error": 402, "permission_error": 403, "not_found_error": 404,
    "request_too_large": 413, "rate_limit_error": 429, "overloaded_error": 529, "invalid_request_error": 400,
}  # fmt: skip


def status_in(error: ServerError) -> int:
    """The status of an error that was sent with status 200, as some gateways do; its code is then often the real one."""
    return int(error.code) if _STATUS.fullmatch(error.code) else _STATUS_OF.get(error.kind, 502)


# ---- delays ------------------------------------------------------------------------------------------------------

# a number of any length: the delay is cut anyway
_SECONDS = re.compile(r"\s*[+-]?\d{1,300}(\.\d*)?([eE]\+?\d{1,2})?\s*", re.ASCII)
_UNITS = {"ms": 0.001, "mi": 0.001, "h": 3600.0, "m": 60.0, "s": 1.0}
_PART = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s{0,2}(ms|mi(?=lli)|h|m|s)", re.ASCII)
_ASKED = re.compile(
    r"(?:try again|retry|wait|available|resets?)\b\D{0,30}?((?:\d{1,9}(?:\.\d{1,9})?\s{0,2}"
    r"(?:ms|milliseconds?|h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)\b[, ]{0,2}|"
    r"\d{1,9}[hm](?=\d))+)",
    re.ASCII | re.IGNORECASE,
)


def _delay_in(text: str) -> float | None:
    """The delay that a message asks for (`try again in 1m2.5s`, `retry after 20 seconds`), in seconds."""
    asked = _ASKED.search(text[:4000])
    parts = _PART.findall(asked[1].lower()) if asked else ()
    return sum(float(number) * _UNITS[unit] for number, unit in parts) if asked else None


def retry_after(headers: httpx.Headers, in_body: float | None = None) -> float | None:
    """Seconds to wait, from the headers `retry-after-ms` or `Retry-After` (seconds or an HTTP date), else the body. A
    date is compared with the server's own `Date` if it sends one, so the clocks may differ. Never negative, an hour at
    most; None without a readable header."""
    seconds, asked = in_body, headers.get("retry-after", "")
    if _SECONDS.fullmatch(milliseconds := headers.get("retry-after-ms", "")):
        seconds = float(milliseconds) / 1000
    elif _SECONDS.fullmatch(asked):
        seconds = float(asked)
    elif (until := _http_date(asked)) is not None:
        now = _http_date(headers.get("date", ""))
        seconds = until - (time.time() if now is None else now)
    return None if seconds is None else min(max(0.0, seconds), LONGEST_DELAY_S)


def _http_date(value: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(value).timestamp()
    except (TypeError, ValueError, OverflowError, IndexError):
        return None


# ---- what an error means -----------------------------------------------------------------------------------------


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
_TOO_LONG = r"context[ _](?:length|window|size)|max(?:imum)? context|prompt is too long|too many tokens|exceed_context_size"
_MEANINGS = (
    _Meaning(range(300, 400), "", "redirect", "{server} redirects to {to}", "Give the final address with --base-url."),
    # nginx, Go, Apache
    _Meaning((400,), r"HTTP request (?:was sent )?to (?:an )?HTTPS|speaking plain HTTP to an SSL", "",
             "The server at {server} speaks TLS", "Write https:// instead of http://."),
    _Meaning((413,), "", "overflow", ""),
    _Meaning((400, 422, 500), _TOO_LONG, "overflow", ""),
    _Meaning((), r"context_length_exceeded|exceed_context_size_error", "overflow", ""),
    _Meaning((), r"^content_", "refusal", "{server} refused the content of this call"),
    _Meaning((403,), r"\bflagged\b|moderation|content[ _](?:filter|policy|management)", "refusal",
             "{server} refused the content of this call"),
    # the server checks the model's JSON itself
    _Meaning((400, 422, 500), r"json_validate_failed|output_parse_failed|tool_use_failed|failed_generation"
             r"|fail\w* to (?:generate|validate|parse) (?:valid )?JSON|generated (?:JSON|output) does not match",
             "bad_reply",
             "{server} could not read the model's reply", retry=True),
    _Meaning((401, 403), "", "", "{key}", "{check_key}"),
    _Meaning((400, 422), _KEY_WORDS, "", "{key}", "{check_key}"),
    _Meaning((402,), "", "", "The account at {server} has no credit left", "Add credit, then resume."),
    _Meaning((), r"insufficient_quota|billing_hard_limit_reached|insufficient_credits|billing_error"
             r"|credit balance is too low", "", "The account at {server} has no credit left", "Add credit, then resume."),
    _Meaning((), r"^model_not_found|not a valid model", "", "{server} has no model “{model}”",
             "Check the name of the model."),
    _Meaning((404,), r"\bmodel", "", "{server} has no model “{model}”", "Check the name of the model."),
    _Meaning((404, 405), r"^deploymentnotfound", "", "{server} has no such deployment", "Check --base-url. {form}"),
    _Meaning((404, 405), "", "", "{server} has nothing at this address", "Check --base-url. {form}"),
    _Meaning((429,), "", "rate_limit", "{server} answered 429: too many requests", retry=True),
    _Meaning((503,), r"loading (?:the )?model|model is (?:still |currently )?loading|model .{0,60} is currently loading",
             "loading", "The server at {server} is loading the model", retry=True),
    _Meaning((503, 529), "", "overloaded", "{server} answered {status}: overloaded", retry=True),
    _Meaning((408, 504), "", "timeout", "{server} answered {status}: timed out", retry=True),
    _Meaning(range(500, 1000), "", "server_error", "{server} answered {status}", retry=True),
    _Meaning((), "", "bad_request", "{server} answered {status}"),
)  # fmt: skip


def failure(status: int, headers: httpx.Headers, error: ServerError, target: CallTarget) -> RecjudgeError:
    """The error for an answer with a status other than 200: a JudgeError if every further call would fail too (key,
    model, credit, address), else a CallError."""
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
    return CallError(meaning.kind, title, message, step, retry=meaning.retry, retry_after=wait)


def _meaning(status: int, error: ServerError) -> _Meaning:
    words = error.words.strip()
    return next(
        row
        for row in _MEANINGS
        if (not row.statuses or status in row.statuses) and re.search(row.words, words, re.IGNORECASE)
    )


def ends_a_run(status: int, error: ServerError) -> bool:
    """Whether an answer to a question about the model shows that no call can work: key, credit or a redirect. A server
    without information on models is no such answer."""
    return status not in (404, 405) and _meaning(status, error).kind in ("", "redirect")


def is_loading(status: int, error: ServerError) -> bool:
    return _meaning(status, error).kind == "loading"


def overflow(why: str, prompt_tokens: int | None = None, context: int | None = None) -> CallError:
    sizes = [f"{prompt_tokens} tokens"] if prompt_tokens is not None else []
    sizes += [f"the context holds {context}"] if context is not None else []
    return CallError(
        "overflow",
        ": ".join(["The prompt is too long for the model", *filter(None, [", ".join(sizes)])]),
        why,
        "Show less history or fewer items, or serve the model with a larger context.",
    )


# ---- repairs -----------------------------------------------------------------------------------------------------

# A refusal without a field for the parameter contains one of these words beside its name.
_REFUSING = re.compile(
    r"not (?:support|permit|allow|available|recogni|enabled)|unsupported|unrecogni|unknown|unexpected|unavailable|"
    r"extra (?:input|field)|invalid|does(?: not|n't) (?:support|accept)|only the default|failed to parse|"
    r"deprecated|(?:may|can|must)(?:not| not| only) be|no longer",
    re.IGNORECASE,
)


class Repair(NamedTuple):
    """A part of the request that is left out or exchanged for the rest of the run, if the server's error fits: its status,
    and words about the part beside words that refuse it (`plain`: they suffice). Without such a row a part is recognised by
    its own name."""

    part: str
    statuses: tuple[int, ...]
    words: str
    plain: bool = False


_REFUSED = (400, 422, 501)
REPAIRS = (
    # Gemma, early Mistral, models that reason: the text goes in front of the user's
    Repair("system", (400, 422, 500), r"roles must alternate|only (?:the )?user and assistant", plain=True),
    Repair(
        "system",
        (400, 422, 500),
        r"system role|role\W{1,4}system|['\"`]system['\"`]|system (?:message|prompt|instruction)"
        r"|developer (?:message|instruction)",
    ),
    Repair("response_format", _REFUSED, r"response_format|json_schema|structured output|grammar|guided"),
    Repair("format", (*_REFUSED, 500), r"\bformat\b|grammar|structured output|json schema"),
    Repair("logprobs", (*_REFUSED, 500), r"logprobs"),
    Repair("cachePoint", (400, 403, 422, 500), r"prompt caching|cachePoint"),
)


def refused_part(
    status: int, error: ServerError, sent: Mapping[str, Any], droppable: Sequence[str]
) -> str | None:
    """The part of the request among `sent` and `droppable` that the server refuses; None for any other error."""
    parts = [name for name in droppable if name in sent]
    named = error.param.partition(".")[0]
    if named in parts and status in _REFUSED:
        return named
    refuses = is_refusal(error)
    for name in parts if refuses else ():
        if status in _REFUSED and name != "system" and re.search(rf"(?<![\w]){name}(?![\w])", error.message):
            return name
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
_NONE = re.compile(
    r"not a (?:multi-?modal|vision)|no endpoints|at most 0|only (?:supported|text)", re.IGNORECASE
)
# the content of a message with images is a list
_ONLY_TEXT = re.compile(r"content\b.{0,60}\b(?:must|should) be a (?:valid )?string", re.IGNORECASE)


def has_images(request: Request) -> bool:
    return any(message.images for message in request.messages)


def sees_no_images(model: str, why: str) -> SightError:
    """The error for a model that cannot see images: no call with images can work."""
    return SightError(
        f"The model “{model}” does not see images",
        why,
        "Choose a model that does, or leave out --images.",
    )


def is_blind(status: int, error: ServerError) -> bool:
    """Whether a server refuses a request with images because its model cannot see them."""
    if status not in (400, 404, 415, 422, 500, 501) or _THIS_IMAGE.search(error.message):
        return False
    about_images = _IMAGES.search(error.message) is not None
    refused = is_refusal(error) or _NONE.search(error.message) is not None
    return (about_images and refused) or _ONLY_TEXT.search(error.message) is not None
