"""Batches at a provider: OpenAI's files and batches (or a server with the same API), Anthropic's message batches; and the
lines of batch files, in the forms of OpenAI, vLLM and Anthropic."""

from __future__ import annotations

import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx2 as httpx

from recjudge_tui.domain.calls import whole
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, RecjudgeError
from recjudge_tui.judges.http import (
    CONNECT_S,
    MAX_ANSWER,
    UnreachableError,
    broken,
    socks_answers,
    tls_context,
    too_large,
    usable_network,
    whole_answer,
)
from recjudge_tui.judges.refusals import (
    CallTarget,
    ServerError,
    body_json,
    body_text,
    error_in_body,
    error_of,
    failure,
    sound_text,
)
from recjudge_tui.judges.servers import BatchAccess
from recjudge_tui.version import USER_AGENT

SILENT_S = 300.0  # a provider may take minutes for 200 MB
ATTEMPTS = 4
LONGEST_WAIT_S = 60.0
PAGES = 50

# these errors mean that a request was not accepted; after any other error it is unknown
_REFUSALS = ("rate_limit", "overloaded", "bad_request", "overflow", "refusal", "redirect")
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


# ---- at the provider ---------------------------------------------------------------------------------------------


class RemoteBatch(NamedTuple):
    """A batch as the server describes it. `status` is the server's word for its state; `over`: no more answers will
    come.

    If `ours` is False, it may belong to somebody else. `created` is in seconds since 1970 by the server's clock.
    """

    id: str
    status: str
    over: bool
    calls: int | None
    done: int | None
    failed: int | None
    created: float | None
    error: str = ""
    results: tuple[str, ...] = ()
    ours: bool = False


class BatchServer(ABC):
    """One provider's way of taking batches. Every method raises CallError or JudgeError.

    The key goes to no other server: redirects are not followed, and addresses in answers are not used.
    """

    shape: Shape

    def __init__(self, access: BatchAccess) -> None:
        self._url, self._target = access.url, access.target
        headers = {k: v for k, v in access.headers.items() if k.lower() != "content-type"}
        with usable_network():
            self._client = httpx.Client(
                headers={"User-Agent": USER_AGENT, **headers},
                timeout=httpx.Timeout(SILENT_S, connect=CONNECT_S),
                verify=tls_context(),
                follow_redirects=False,
            )

    @abstractmethod
    def upload(self, path: Path) -> str:
        """The id of the uploaded file. A file that is uploaded twice costs nothing."""

    @abstractmethod
    def create(self, path: Path, file_id: str, mark: str) -> str:
        """Create the batch with one request; returns its id."""

    @abstractmethod
    def withdraw(self, file_id: str) -> None:
        """Delete an uploaded file, so that a request on its way for a batch of this file fails."""

    @abstractmethod
    def find(self, file_id: str, mark: str, since: float) -> Iterator[RemoteBatch]:
        """The batches made from this file or with this mark; if the server stores neither, all batches since that
        time.
        """

    @abstractmethod
    def fetch(self, remote_id: str) -> RemoteBatch: ...

    @abstractmethod
    def download(self, remote: RemoteBatch, folder: Path) -> list[Path]:
        """All results, as files of lines."""

    def close(self) -> None:
        self._client.close()

    def _json(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        """The object in the answer to one request, sent once."""
        if "content" in more:
            more["headers"] = {**more.get("headers", {}), "Content-Type": "application/json"}
        try:
            with socks_answers(), self._client.stream(method, f"{self._url}{path}", **more) as streamed:
                raw = bytearray()
                for chunk in streamed.iter_raw():
                    raw += chunk
                    if len(raw) > MAX_ANSWER:
                        raise too_large()
                response = whole_answer(streamed, raw)
        except httpx.RequestError as error:
            raise broken(self._url, error) from None
        self._check(response)
        try:
            body = body_json(response)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            begin = one_line(self._target.scrub(body_text(response)), 120)
            raise CallError("bad_body", f"{self._url}{path} did not answer with JSON", begin, retry=True)
        return body

    def _pages(self, path: str, cursor: str) -> Iterator[dict[str, Any]]:
        """The entries of a list that comes in pages, newest first."""
        params: dict[str, Any] = {"limit": 100}
        for _ in range(PAGES):
            page = patiently(lambda: self._json("GET", path, params=params))  # noqa: B023 - called at once
            entries = [entry for entry in page.get("data") or () if isinstance(entry, dict)]
            yield from entries
            last = page.get("last_id") or (entries[-1].get("id") if entries else None)
            if not page.get("has_more") or not last:
                return
            params = {"limit": 100, cursor: last}

    def _save(self, path: str, target: Path) -> None:
        """Store the body of an answer of any size. If the server sent the key back, it is replaced."""
        try:
            with (
                socks_answers(),
                self._client.stream("GET", f"{self._url}{path}") as response,
                target.open("wb") as file,
            ):
                if response.status_code != 200:
                    response.read()
                    self._check(response)
                rest = b""
                for chunk in response.iter_bytes():
                    *lines, rest = (rest + chunk).split(b"\n")
                    file.writelines(self._scrubbed(line) + b"\n" for line in lines)
                file.write(self._scrubbed(rest))
        except httpx.RequestError as error:
            raise broken(self._url, error) from None

    def _scrubbed(self, line: bytes) -> bytes:
        return self._target.scrub(line.decode("utf-8", "replace")).encode()

    def _check(self, response: httpx.Response) -> None:
        if not 200 <= response.status_code < 300:
            raise failure(response.status_code, response.headers, error_of(response), self._target)


class OpenAIBatches(BatchServer):
    shape = JSONL

    def upload(self, path: Path) -> str:
        def send() -> dict[str, Any]:
            with path.open("rb") as file:
                files = {"file": (path.name, file, "application/jsonl")}
                return self._json("POST", "/files", data={"purpose": "batch"}, files=files)

        return _id(patiently(send), "file")

    def create(self, path: Path, file_id: str, mark: str) -> str:
        wanted = {
            "input_file_id": file_id,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"recjudge": mark},
        }
        return _id(self._json("POST", "/batches", json=wanted, headers={"Idempotency-Key": mark}), "batch")

    def withdraw(self, file_id: str) -> None:
        self._json("DELETE", f"/files/{file_id}")

    def find(self, file_id: str, mark: str, since: float) -> Iterator[RemoteBatch]:
        for entry in self._pages("/batches", "after"):
            metadata = entry.get("metadata")
            marked = isinstance(metadata, dict) and metadata.get("recjudge") == mark
            if marked or entry.get("input_file_id") == file_id:
                yield _openai_remote(entry)

    def fetch(self, remote_id: str) -> RemoteBatch:
        return _openai_remote(patiently(lambda: self._json("GET", f"/batches/{remote_id}")))

    def download(self, remote: RemoteBatch, folder: Path) -> list[Path]:
        files = []
        for number, file_id in enumerate(remote.results):
            files.append(folder / f"{remote.id}.{number}.jsonl")
            patiently(partial(self._save, f"/files/{file_id}/content", files[-1]))
        return files


class AnthropicBatches(BatchServer):
    shape = MESSAGE_BATCH

    def upload(self, path: Path) -> str:
        return ""

    def create(self, path: Path, file_id: str, mark: str) -> str:
        with path.open("rb") as file:
            made = self._json("POST", "/v1/messages/batches", content=file, headers={"Idempotency-Key": mark})
        return _id(made, "batch")

    def withdraw(self, file_id: str) -> None:
        return

    def find(self, file_id: str, mark: str, since: float) -> Iterator[RemoteBatch]:
        for entry in self._pages("/v1/messages/batches", "after_id"):
            remote = _anthropic_remote(entry)
            if remote.created is not None and remote.created < since:
                return
            yield remote

    def fetch(self, remote_id: str) -> RemoteBatch:
        return _anthropic_remote(patiently(lambda: self._json("GET", f"/v1/messages/batches/{remote_id}")))

    def download(self, remote: RemoteBatch, folder: Path) -> list[Path]:
        # the address is made here and not taken from `results_url`: the key goes to no other host
        path = folder / f"{remote.id}.jsonl"
        patiently(partial(self._save, f"/v1/messages/batches/{remote.id}/results", path))
        return [path]


def batch_server(provider: str, access: BatchAccess) -> BatchServer:
    """The server of a `BatchJudge`."""
    return AnthropicBatches(access) if provider == "anthropic" else OpenAIBatches(access)


def was_refused(error: RecjudgeError) -> bool:
    """Whether a request for a batch that ended with this error was certainly not accepted."""
    if isinstance(error, CallError):
        return error.kind in _REFUSALS or isinstance(error, UnreachableError)
    return True  # the key, the model or the address is wrong for every call


def patiently(action: Callable[[], Any]) -> Any:
    """Run an action that may be repeated; after a temporary error, wait and run it again."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return action()
        except CallError as error:
            if not error.retry or attempt == ATTEMPTS:
                raise
            wait = 0.5 * 2**attempt if error.retry_after is None else error.retry_after
            time.sleep(min(wait, LONGEST_WAIT_S))
    raise AssertionError


def _openai_remote(entry: dict[str, Any]) -> RemoteBatch:
    counts = entry.get("request_counts")
    counts = counts if isinstance(counts, dict) else {}
    status = str(entry.get("status") or "")
    files = (entry.get("output_file_id"), entry.get("error_file_id"))
    created = entry.get("created_at")
    return RemoteBatch(
        id=_id(entry, "batch"),
        status=one_line(status, 40),
        over=status in ("completed", "failed", "expired", "cancelled"),
        calls=whole(counts.get("total")),
        done=whole(counts.get("completed")),
        failed=whole(counts.get("failed")),
        created=float(created) if isinstance(created, int | float) else None,
        error=_openai_errors(entry.get("errors")),
        results=tuple(file for file in files if isinstance(file, str) and file),
        ours=True,
    )


def _openai_errors(errors: object) -> str:
    data = errors.get("data") if isinstance(errors, dict) else None
    messages = [
        one_line(f"line {e['line']}: {e.get('message')}" if e.get("line") else e.get("message"), 200)
        for e in data or ()
        if isinstance(e, dict)
    ]
    return "; ".join(messages[:3]) + (f"; {len(messages) - 3} more" if len(messages) > 3 else "")


def _anthropic_remote(entry: dict[str, Any]) -> RemoteBatch:
    given = entry.get("request_counts")
    counts = {k: whole(v) or 0 for k, v in given.items()} if isinstance(given, dict) else {}
    status = str(entry.get("processing_status") or "")
    return RemoteBatch(
        id=_id(entry, "batch"),
        status=one_line(status, 40),
        over=status == "ended",
        calls=sum(counts.values()) if counts else None,
        done=counts.get("succeeded"),
        failed=sum(counts.get(k, 0) for k in ("errored", "canceled", "expired")) if counts else None,
        created=_seconds(entry.get("created_at")),
    )


def _seconds(text: object) -> float | None:
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def _id(answer: dict[str, Any], what: str) -> str:
    """The id in an answer, checked to be safe in a URL path."""
    remote_id = sound_text(answer.get("id"))
    if not remote_id or not all(c.isalnum() or c in "-_.:" for c in remote_id) or remote_id.startswith("."):
        raise CallError("bad_body", f"The server's answer has no id of a {what}", one_line(answer, 200))
    return remote_id
