"""Lines of batch files: requests and results, in the forms of OpenAI, vLLM and Anthropic."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import httpx

from recjudge_tui.domain.calls import whole
from recjudge_tui.errors import CallError, RecjudgeError
from recjudge_tui.judges.http.failures import CallTarget, ServerError, error_in_body, failure

# errors that do not concern the call itself: it was not processed, or not yet
_ASK_AGAIN = (
    "expired",
    "cancelled",
    "canceled",
    "rate_limit",
    "overloaded",
    "timeout",
    "server_error",
    "api_error",
)
_MEGABYTE = 1_000_000


class Shape(NamedTuple):
    """The form of a batch file: its calls are between `head` and `tail`, with a maximum number of calls and bytes."""

    line: Callable[[str, str, bytes], bytes]
    max_calls: int
    max_bytes: int
    head: bytes = b""
    between: bytes = b""
    tail: bytes = b""


class ResultLine(NamedTuple):
    """The result of one call: the body of its reply, or an error. `again`: the call may be sent again."""

    custom_id: str
    body: bytes | None
    kind: str = ""
    error: str = ""
    again: bool = False


class LineFault(Exception):  # noqa: N818 - a finding about a line of a file, reported with its place
    """A bad line. The message says why."""


def _openai_line(custom_id: str, path: str, body: bytes) -> bytes:
    head = f'{{"custom_id":"{custom_id}","method":"POST","url":"{path}","body":'
    return head.encode() + body + b"}\n"


def _anthropic_line(custom_id: str, _: str, body: bytes) -> bytes:
    return f'{{"custom_id":"{custom_id}","params":'.encode() + body + b"}"


# a little below the providers' limits of 200 and 256 MB, however these count a megabyte
JSONL = Shape(_openai_line, 50_000, 199 * _MEGABYTE)
MESSAGE_BATCH = Shape(_anthropic_line, 100_000, 255 * _MEGABYTE, b'{"requests":[', b",", b"]}")


class RequestLine(NamedTuple):
    """One line of a batch file: the path after the API's version, and the body as it will be sent."""

    custom_id: str
    path: str
    body: bytes


def read_request(line: bytes) -> RequestLine:
    """One line of a batch file. Raises LineFault for anything else, also for a line with a full address."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        raise LineFault("it is not JSON") from None
    if not isinstance(content, dict):
        raise LineFault("it is not an object")
    custom_id, url, body = content.get("custom_id"), content.get("url"), content.get("body")
    if not isinstance(custom_id, str) or not custom_id:
        raise LineFault("it has no custom_id")
    if not isinstance(url, str) or not re.fullmatch(r"/[\w./-]+", url) or ".." in url:
        raise LineFault("its url is not a path such as /v1/chat/completions")
    if not isinstance(body, dict) or content.get("method", "POST") != "POST":
        raise LineFault("it is not a POST with a body")
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return RequestLine(custom_id, re.sub(r"^/v\d+(?=/)", "", url), text.encode("utf-8", "replace"))


def read_result(line: bytes) -> ResultLine:
    """One line of a result or error file. Raises LineFault for anything else."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        raise LineFault("it is not JSON, or cut short") from None
    custom_id = content.get("custom_id") if isinstance(content, dict) else None
    if not isinstance(custom_id, str):
        raise LineFault("it has no custom_id")
    if isinstance(content.get("result"), dict):
        return _anthropic_result(custom_id, content["result"])
    if "response" in content or "error" in content:
        return _openai_result(custom_id, content)
    raise LineFault("it has neither a response nor an error nor a result")


def _openai_result(custom_id: str, content: Mapping[str, Any]) -> ResultLine:
    response = content.get("response")
    response = response if isinstance(response, dict) else {}
    status, body = whole(response.get("status_code")), response.get("body")
    error = content.get("error")
    if error is None and body is not None and status in (None, 200):
        return ResultLine(custom_id, _bytes(body))
    shown = {"error": error} if error else body if body is not None else {"error": "no answer"}
    return _error(custom_id, error_in_body(shown), status)


def _anthropic_result(custom_id: str, result: Mapping[str, Any]) -> ResultLine:
    kind = result.get("type")
    if kind == "succeeded":
        return ResultLine(custom_id, _bytes(result.get("message")))
    if kind in ("expired", "canceled"):
        return ResultLine(custom_id, None, str(kind), f"The provider reports: {kind}.", again=True)
    error = result.get("error")
    inner = error.get("error") if isinstance(error, dict) else None
    return _error(custom_id, error_in_body({"error": inner or error or "errored"}), None)


def _error(custom_id: str, error: ServerError, status: int | None) -> ResultLine:
    """The error of a call in a batch, classified like that of a live call."""
    if any(word in f"{error.code} {error.kind}" for word in _ASK_AGAIN):
        return ResultLine(custom_id, None, error.code or error.kind, error.message, again=True)
    fault = _fault(error, status)
    if isinstance(fault, CallError):
        return ResultLine(custom_id, None, fault.kind, str(fault), again=fault.retry)
    return ResultLine(custom_id, None, "refused", str(fault))


def _fault(error: ServerError, status: int | None) -> RecjudgeError:
    code = status if status is not None and status >= 400 else 400
    return failure(code, httpx.Headers(), error, CallTarget("The batch's server", "the model", ""))


def _bytes(body: object) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
