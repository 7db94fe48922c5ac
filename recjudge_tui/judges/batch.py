"""Batches at a provider: OpenAI's files and batches (or a server with the same API), Anthropic's message batches; and the
lines of batch files, in the forms of OpenAI, vLLM and Anthropic."""

from __future__ import annotations

import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import httpx2 as httpx

from recjudge_tui.domain.calls import whole
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, InputError, RecjudgeError
from recjudge_tui.judges import http, replies
from recjudge_tui.judges.servers import BatchJudge, written
from recjudge_tui.version import USER_AGENT

T = TypeVar("T")
SILENT_S = 300.0  # a provider may take minutes for 200 MB
ATTEMPTS = 4
LONGEST_WAIT_S = 60.0
PAGES = 50

# these errors mean that a request was not accepted; after any other error it is unknown
_REFUSALS = ("rate_limit", "overloaded", "bad_request", "overflow", "refusal", "redirect")
# errors that do not concern the call itself: it was not processed, or not yet
_ASK_AGAIN = re.compile("expired|cancell?ed|rate_limit|overloaded|timeout|server_error|api_error")
_MEGABYTE = 1_000_000


class Shape(NamedTuple):
    """The form of a batch file: its calls are between `head` and `tail`, with a maximum number of calls and bytes. The body
    of a call stands between `begin`, with its name and path, and `end`."""

    begin: str
    end: bytes
    max_calls: int
    max_bytes: int
    head: bytes = b""
    between: bytes = b""
    tail: bytes = b""

    def line(self, custom_id: str, path: str, body: bytes) -> bytes:
        return (self.begin % {"name": custom_id, "path": path}).encode() + body + self.end


class ResultLine(NamedTuple):
    """The result of one call: the body of its reply, or an error. `again`: the call may be sent again."""

    custom_id: str
    body: bytes | None
    kind: str = ""
    error: str = ""
    again: bool = False


class LineFault(Exception):  # noqa: N818 - a finding about a line of a file, reported with its place
    """A bad line. The message says why."""


# a little below the providers' limits of 200 and 256 MB, however these count a megabyte
JSONL = Shape(
    '{"custom_id":"%(name)s","method":"POST","url":"%(path)s","body":', b"}\n", 50_000, 199 * _MEGABYTE
)
MESSAGE_BATCH = Shape(
    '{"custom_id":"%(name)s","params":', b"}", 100_000, 255 * _MEGABYTE, b'{"requests":[', b",", b"]}"
)


class RequestLine(NamedTuple):
    """One line of a batch file: the path after the API's version, and the body as it will be sent."""

    custom_id: str
    path: str
    body: bytes


def _object_of(line: bytes) -> dict[str, Any]:
    """The object in a line that has a custom_id. Raises LineFault for anything else."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        raise LineFault("it is not JSON, or cut short") from None
    if not isinstance(content, dict):
        raise LineFault("it is not an object in JSON")
    if not isinstance(content.get("custom_id"), str) or not content["custom_id"]:
        raise LineFault("it has no custom_id")
    return content


def read_request(line: bytes) -> RequestLine:
    """One line of a batch file. Raises LineFault for anything else, also for a line with a full address."""
    content = _object_of(line)
    url, body = content.get("url"), content.get("body")
    if not isinstance(url, str) or not re.fullmatch(r"/[\w./-]+", url) or ".." in url:
        raise LineFault("its url is not a path such as /v1/chat/completions")
    if not isinstance(body, dict) or content.get("method", "POST") != "POST":
        raise LineFault("it is not a POST with a body")
    return RequestLine(content["custom_id"], re.sub(r"^/v\d+(?=/)", "", url), written(body))


def read_result(line: bytes) -> ResultLine:
    """One line of a result or error file. Raises LineFault for anything else."""
    content = _object_of(line)
    custom_id, status = content["custom_id"], None
    if isinstance(result := content.get("result"), dict):
        kind, error = result.get("type"), result.get("error")
        if kind == "succeeded":
            return ResultLine(custom_id, written(result.get("message")))
        if kind in ("expired", "canceled"):
            error = {"type": kind, "message": f"The provider reports: {kind}."}
        inner = replies.part_of(result, "error").get("error")
        shown: object = {"error": inner or error or "errored"}
    elif "response" in content or "error" in content:
        response, error = replies.part_of(content, "response"), content.get("error")
        status, body = whole(response.get("status_code")), response.get("body")
        if error is None and body is not None and status in (None, 200):
            return ResultLine(custom_id, written(body))
        shown = {"error": error} if error else body if body is not None else {"error": "no answer"}
    else:
        raise LineFault("it has neither a response nor an error nor a result")
    # classified like the error of a live call
    said = replies.error_in_body(shown)
    if _ASK_AGAIN.search(f"{said.code} {said.kind}"):
        return ResultLine(custom_id, None, said.code or said.kind, said.message, again=True)
    target = replies.CallTarget("The batch's server", "the model", "")
    fault = replies.failure(status if status and status >= 400 else 400, httpx.Headers(), said, target)
    kind, again = (fault.kind, fault.retry) if isinstance(fault, CallError) else ("refused", False)
    return ResultLine(custom_id, None, kind, fault.sentences, again)


def lines_of(
    path: Path, read: Callable[[bytes], T], note: Callable[[str, LineFault], None]
) -> Iterator[tuple[str, T]]:
    """What the lines of a file say, each with its place (`FILE:LINE`); bad ones are noted. Raises InputError for a file
    that cannot be read."""
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                if raw.strip():
                    try:
                        yield f"{path}:{number}", read(raw)
                    except LineFault as fault:
                        note(f"{path}:{number}", fault)
    except OSError as error:
        raise InputError(f"{path} cannot be read", f"{error.strerror}.") from error


# ---- at the provider ---------------------------------------------------------------------------------------------


class RemoteBatch(NamedTuple):
    """A batch as the server describes it. `status` is the server's word for its state; `over`: no more answers will come.
    If `ours` is False, it may belong to somebody else. `created` is in seconds since 1970 by the server's clock."""

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
    """One provider's way of taking batches at `path`. Every method raises CallError or JudgeError. The key goes to no other
    server: redirects are not followed, and addresses in answers are not used. `cursor` asks for the next page of a list."""

    shape: Shape
    path: str
    cursor: str

    def __init__(self, judge: BatchJudge) -> None:
        """Raises JudgeError when the key is missing."""
        self.url, given, self._target = judge.batch_access()
        headers = {k: v for k, v in given.items() if k.lower() != "content-type"}
        with http.usable_network():
            self._client = httpx.Client(
                headers={"User-Agent": USER_AGENT, **headers},
                timeout=httpx.Timeout(SILENT_S, connect=http.CONNECT_S),
                verify=httpx.create_ssl_context(),
                follow_redirects=False,
            )

    def upload(self, path: Path) -> str:
        """The id of the uploaded file; empty where the batch is sent with its calls. Uploading it twice costs nothing."""
        return ""

    @abstractmethod
    def create(self, path: Path, file_id: str, mark: str) -> str:
        """Create the batch with one request; returns its id."""

    def withdraw(self, file_id: str) -> None:  # noqa: B027 - nothing is uploaded
        """Delete an uploaded file, so that a request on its way for a batch of this file fails."""

    @abstractmethod
    def find(self, file_id: str, mark: str, since: float) -> Iterator[RemoteBatch]:
        """The batches made from this file or with this mark; if the server stores neither, all batches since that time."""

    def fetch(self, remote_id: str) -> RemoteBatch:
        return self._remote(patiently(lambda: self._json("GET", f"{self.path}/{remote_id}")))

    def download(self, remote: RemoteBatch, folder: Path) -> list[Path]:
        """All results, as files of lines."""
        files = []
        for number, place in enumerate(remote.results):
            files.append(folder / f"{remote.id}.{number}.jsonl")
            patiently(partial(self._save, place, files[-1]))
        return files

    def close(self) -> None:
        self._client.close()

    @abstractmethod
    def _remote(self, entry: dict[str, Any]) -> RemoteBatch:
        """A batch from its entry in the server's answer; `results` are the paths of its files."""

    def _json(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        """The object in the answer to one request, sent once."""
        if "content" in more:
            more["headers"] = {**more.get("headers", {}), "Content-Type": "application/json"}
        try:
            with self._client.stream(method, f"{self.url}{path}", **more) as streamed:
                response = self._checked(streamed)
        except http.connection_faults() as error:
            raise http.broken(self.url, error) from None
        return replies.json_object(response, self._target, "the batch API's")

    def _pages(self) -> Iterator[dict[str, Any]]:
        """The entries of the list of batches, which comes in pages, newest first."""
        params: dict[str, Any] = {"limit": 100}
        for _ in range(PAGES):
            page = patiently(lambda: self._json("GET", self.path, params=params))  # noqa: B023 - called at once
            entries = replies.objects_of(page, "data")
            yield from entries
            last = page.get("last_id") or (entries[-1].get("id") if entries else None)
            if not page.get("has_more") or not last:
                return
            params = {"limit": 100, self.cursor: last}

    def _save(self, path: str, target: Path) -> None:
        """Store the body of an answer of any size. If the server sent the key back, it is replaced."""

        def scrubbed(line: bytes) -> bytes:
            return self._target.scrub(line.decode("utf-8", "replace")).encode()

        try:
            with self._client.stream("GET", f"{self.url}{path}") as streamed, target.open("wb") as file:
                if streamed.status_code != 200:
                    self._checked(streamed)
                rest = b""
                for chunk in streamed.iter_bytes():
                    *lines, rest = (rest + chunk).split(b"\n")
                    file.writelines(scrubbed(line) + b"\n" for line in lines)
                file.write(scrubbed(rest))
        except httpx.RequestError as error:
            raise http.broken(self.url, error) from None

    def _checked(self, streamed: httpx.Response) -> http.Answer:
        """The whole answer. Raises what a status without success means."""
        raw = bytearray()
        for chunk in streamed.iter_raw():
            http.add_to(raw, chunk)
        response = http.whole_answer(streamed.status_code, streamed.headers.raw, raw)
        if not 200 <= response.status_code < 300:
            error = replies.error_of(response)
            raise replies.failure(response.status_code, response.headers, error, self._target)
        return response


class OpenAIBatches(BatchServer):
    shape = JSONL
    path, cursor = "/batches", "after"

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
        return _id(self._json("POST", self.path, json=wanted, headers={"Idempotency-Key": mark}), "batch")

    def withdraw(self, file_id: str) -> None:
        self._json("DELETE", f"/files/{file_id}")

    def find(self, file_id: str, mark: str, since: float) -> Iterator[RemoteBatch]:
        for entry in self._pages():
            marked = replies.part_of(entry, "metadata").get("recjudge") == mark
            if marked or entry.get("input_file_id") == file_id:
                yield self._remote(entry)

    def _remote(self, entry: dict[str, Any]) -> RemoteBatch:
        counts = replies.part_of(entry, "request_counts")
        status, created = str(entry.get("status") or ""), entry.get("created_at")
        messages = [
            one_line(f"line {e['line']}: {e.get('message')}" if e.get("line") else e.get("message"), 200)
            for e in replies.objects_of(replies.part_of(entry, "errors"), "data")
        ]
        more = [f"{len(messages) - 3} more"] if len(messages) > 3 else []
        files = (entry.get("output_file_id"), entry.get("error_file_id"))
        return RemoteBatch(
            id=_id(entry, "batch"),
            status=one_line(status, 40),
            over=status in ("completed", "failed", "expired", "cancelled"),
            calls=whole(counts.get("total")),
            done=whole(counts.get("completed")),
            failed=whole(counts.get("failed")),
            created=float(created) if isinstance(created, int | float) else None,
            error="; ".join([*messages[:3], *more]),
            results=tuple(f"/files/{_id({'id': file}, 'file')}/content" for file in files if file),
            ours=True,
        )


class AnthropicBatches(BatchServer):
    shape = MESSAGE_BATCH
    path, cursor = "/v1/messages/batches", "after_id"

    def create(self, path: Path, file_id: str, mark: str) -> str:
        with path.open("rb") as file:
            made = self._json("POST", self.path, content=file, headers={"Idempotency-Key": mark})
        return _id(made, "batch")

    def find(self, file_id: str, mark: str, since: float) -> Iterator[RemoteBatch]:
        for remote in map(self._remote, self._pages()):
            if remote.created is not None and remote.created < since:
                return
            yield remote

    def _remote(self, entry: dict[str, Any]) -> RemoteBatch:
        counts = {k: whole(v) or 0 for k, v in replies.part_of(entry, "request_counts").items()}
        status, remote_id = str(entry.get("processing_status") or ""), _id(entry, "batch")
        try:
            created = datetime.fromisoformat(str(entry.get("created_at")).replace("Z", "+00:00")).timestamp()
        except ValueError:
            created = None
        return RemoteBatch(
            id=remote_id,
            status=one_line(status, 40),
            over=status == "ended",
            calls=sum(counts.values()) if counts else None,
            done=counts.get("succeeded"),
            failed=sum(counts.get(k, 0) for k in ("errored", "canceled", "expired")) if counts else None,
            created=created,
            # made here and not taken from `results_url`: the key goes to no other host
            results=(f"{self.path}/{remote_id}/results",),
        )


BATCH_SERVERS: dict[str, Callable[[BatchJudge], BatchServer]] = {
    "openai": OpenAIBatches,
    "anthropic": AnthropicBatches,
}


def was_refused(error: RecjudgeError) -> bool:
    """Whether a request for a batch that ended with this error was certainly not accepted: all but CallErrors say that
    the key, the model or the address is wrong for every call."""
    return not isinstance(error, CallError) or error.kind in _REFUSALS or not error.sent


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


def _id(answer: dict[str, Any], what: str) -> str:
    """The id in an answer, checked to be safe in a URL path."""
    remote_id = replies.sound_text(answer.get("id"))
    if not remote_id or not all(c.isalnum() or c in "-_.:" for c in remote_id) or remote_id.startswith("."):
        raise CallError("bad_body", f"The server's answer has no id of a {what}", one_line(answer, 200))
    return remote_id
