"""Interprets error answers: did only this call fail, or would every further call fail too?"""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import httpx

from recjudge_tui.domain.calls import whole
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, JudgeError, RecjudgeError
from recjudge_tui.judges.http.body import body_json, body_text, json_text

_OVERFLOW = re.compile(
    r"context[ _](?:length|window|size)|maximum context|max(?:imum)? context|prompt is too long|too many tokens",
    re.IGNORECASE,
)
# nginx, Go, Apache
_TLS_WANTED = re.compile(
    r"HTTP request (?:was sent )?to (?:an )?HTTPS|speaking plain HTTP to an SSL", re.IGNORECASE
)
_MODERATED = re.compile(r"\bflagged\b|moderation|content[ _](?:filter|policy|management)", re.IGNORECASE)
_NO_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "insufficient_credits", "billing_error"}
LONGEST_DELAY_S = 3600.0
# a number of any length: the delay is cut anyway
_SECONDS = re.compile(r"\s*[+-]?\d{1,300}(\.\d*)?([eE]\+?\d{1,2})?\s*", re.ASCII)
_CREDIT_LOW = re.compile(r"credit balance is too low", re.IGNORECASE)


class UnreachableError(CallError):
    """No connection could be made. Nothing was sent, so another server may be asked instead."""

    sent = False

    def __init__(self, title: str, cause: str = "", next_step: str = "") -> None:
        super().__init__("connection", title, cause, next_step, retry=True)


@dataclass(frozen=True)
class CallTarget:
    """The names used in error messages: the server, the model and the key's variable.

    `scrub` hides the key in a text. `address_form` says how the address of such a server is written.
    """

    server: str
    model: str
    key_variable: str
    scrub: Callable[[str], str] = str
    address_form: str = ""


@dataclass(frozen=True)
class ServerError:
    """An error in the server's own words. `code` and `kind` are lower-case or empty."""

    message: str
    kind: str = ""
    code: str = ""
    param: str = ""
    prompt_tokens: int | None = None
    context: int | None = None


def error_of(response: httpx.Response) -> ServerError:
    """The error in an answer's body, in any of the usual shapes, else the beginning of the body."""
    try:
        body = body_json(response)
    except ValueError:
        return ServerError(one_line(body_text(response), 200))
    return error_in_body(body)


def error_in_body(body: object) -> ServerError:
    """The error in a JSON body. Parts of an unexpected type are shown as they are, or left empty."""
    error: object = body
    if isinstance(body, dict):
        error = body.get("error") or body.get("detail") or body.get("message") or body
    if not isinstance(error, dict):
        return ServerError(one_line(error if isinstance(error, str) else json_text(error), 400))
    message = error.get("message") or error
    return ServerError(
        message=one_line(message if isinstance(message, str) else json_text(message), 400),
        kind=_word(error.get("type")).lower(),
        code=_word(error.get("code")).lower(),
        param=_word(error.get("param")),
        prompt_tokens=whole(error.get("n_prompt_tokens")),
        context=whole(error.get("n_ctx")),
    )


def _word(value: object) -> str:
    return one_line(value, 200) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def failure(status: int, headers: httpx.Headers, error: ServerError, target: CallTarget) -> RecjudgeError:
    """The error for an answer with a status other than 200: a JudgeError if every further call would fail too (key,
    model, credit, address), else a CallError.
    """
    message = target.scrub(error.message)
    if 300 <= status < 400:
        to = one_line(target.scrub(headers.get("location", "")), 200)
        return CallError(
            "redirect",
            f"{target.server} redirects to {to or 'another address'}",
            "Redirects are not followed: they could carry the key elsewhere.",
            "Give the final address with --base-url.",
        )
    if status == 400 and _TLS_WANTED.search(error.message):
        return JudgeError(
            f"The server at {target.server} speaks TLS", message, "Write https:// instead of http://."
        )
    if _is_overflow(status, error):
        return overflow(message, error.prompt_tokens, error.context)
    if error.code.startswith("content_") or (status == 403 and _MODERATED.search(error.message)):
        return CallError("refusal", f"{target.server} refused the content of this call", message)
    final = _final(status, error, message, target)
    if final is not None:
        return final
    return _one_call(status, headers, message, target)


def _final(status: int, error: ServerError, message: str, target: CallTarget) -> JudgeError | None:
    if status in (401, 403):
        key = target.key_variable
        return JudgeError(
            f"{target.server} refused the key in {key}" if key else f"{target.server} requires a key",
            message,
            f"Check {key}." if key else "Name the variable that holds it with --api-key-env NAME.",
        )
    no_credit = error.code in _NO_CREDIT or error.kind in _NO_CREDIT or _CREDIT_LOW.search(error.message)
    if status == 402 or no_credit:
        return JudgeError(
            f"The account at {target.server} has no credit left", message, "Add credit, then resume."
        )
    unknown_model = error.code == "model_not_found" or "not a valid model" in error.message.lower()
    if unknown_model or (status == 404 and "model" in error.message.lower()):
        return JudgeError(
            f"{target.server} has no model “{target.model}”", message, "Check the name: recjudge judge list."
        )
    if status in (404, 405):
        what = (
            "has no such deployment" if error.code == "deploymentnotfound" else "has nothing at this address"
        )
        return JudgeError(
            f"{target.server} {what}", message, f"Check --base-url. {target.address_form}".strip()
        )
    return None


def _one_call(status: int, headers: httpx.Headers, message: str, target: CallTarget) -> CallError:
    wait = retry_after(headers)
    title = f"{target.server} answered {status}"
    if status == 429:
        return CallError("rate_limit", f"{title}: too many requests", message, retry=True, retry_after=wait)
    if status in (503, 529):
        return CallError("overloaded", f"{title}: overloaded", message, retry=True, retry_after=wait)
    if status in (408, 504):
        return CallError("timeout", f"{title}: timed out", message, retry=True, retry_after=wait)
    if status >= 500:
        return CallError("server_error", title, message, retry=True, retry_after=wait)
    return CallError("bad_request", title, message)


def _is_overflow(status: int, error: ServerError) -> bool:
    if status == 413 or error.code == "context_length_exceeded" or error.kind == "exceed_context_size_error":
        return True
    return status in (400, 422, 500) and _OVERFLOW.search(error.message) is not None


def overflow(why: str, prompt_tokens: int | None = None, context: int | None = None) -> CallError:
    sizes = [f"{prompt_tokens} tokens"] if prompt_tokens is not None else []
    sizes += [f"the context holds {context}"] if context is not None else []
    return CallError(
        "overflow",
        ": ".join(["The prompt is too long for the model", *filter(None, [", ".join(sizes)])]),
        why,
        "Show less history or fewer items, or serve the model with a larger context.",
    )


def retry_after(headers: httpx.Headers) -> float | None:
    """Seconds to wait, from the headers `retry-after-ms` or `Retry-After` (seconds or an HTTP date).

    A date is compared with the server's own `Date` if it sends one, so the clocks may differ. Never negative, an hour
    at most; None without a readable header.
    """
    seconds = _asked_delay(headers)
    return None if seconds is None else min(max(0.0, seconds), LONGEST_DELAY_S)


def _asked_delay(headers: httpx.Headers) -> float | None:
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    until = _http_date(value)
    if until is None:
        return None
    now = _http_date(headers.get("date", ""))
    return until - (time.time() if now is None else now)


def _number(value: str | None) -> float | None:
    if value is None or not _SECONDS.fullmatch(value):
        return None
    return float(value)


def _http_date(value: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(value).timestamp()
    except (TypeError, ValueError, OverflowError, IndexError):
        return None


def sound_text(value: object) -> str:
    """The value if it is a string, else an empty one; lone surrogates, which UTF-8 and SQLite cannot hold, become "?"."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
