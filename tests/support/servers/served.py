"""What the servers of the vendors' APIs share: their options, their log, what they count, and how every one can fail."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from tests.support.servers.answers import fit, words
from tests.support.servers.faults import choose, parse_faults
from tests.support.servers.wire import Ending, Response, json_response, serve_forever

WIRE_FAULTS: dict[str, Ending] = {"reset": "reset", "hang": "hang"}
PAGE = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body><h1>Sign in</h1></body></html>"


def parser(about: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=about)
    made.add_argument("--port", type=int, default=0, help="0: any that is free")
    made.add_argument("--models", default="hash-judge", help="comma list")
    made.add_argument("--context", type=int, default=200_000, help="the longest prompt")
    made.add_argument("--delay-ms", type=float, default=0.0, help="wait before each answer")
    made.add_argument("--faults", type=parse_faults, default=(), help="kind:share,kind:share")
    made.add_argument("--fault-attempts", type=int, default=1, help="how many first attempts may fail")
    made.add_argument("--retry-after", default="1", help="the Retry-After header of a 429, verbatim")
    made.add_argument("--refuse", default="", help="comma list of parameters that are answered by 400")
    made.add_argument("--api-key", default="", help="demand this key")
    made.add_argument("--thinking", action="store_true", help="begin with thinking")
    made.add_argument("--log", default="", help="append one JSON line for each request to this file")
    return made


class Server:
    """The counts of one server."""

    def __init__(self, options: argparse.Namespace, log: IO[str] | None) -> None:
        self.options = options
        self.log = log
        self.refused = tuple(filter(None, options.refuse.split(",")))
        self.concurrent = 0
        self.forget()

    def forget(self) -> None:
        self.requests = 0
        # requests that are being answered now are still there
        self.max_concurrent = self.concurrent
        self.attempts: Counter[bytes] = Counter()
        self.faults: Counter[str] = Counter()

    def stats(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "distinct_bodies": len(self.attempts),
            "max_concurrent": self.max_concurrent,
            "concurrent": self.concurrent,
            "faults": dict(self.faults),
        }

    def about_counts(self, route: tuple[str, str]) -> Response | None:
        """The answer to `GET /stats` and `POST /reset`; None to anything else."""
        if route == ("GET", "/stats"):
            return json_response(self.stats())
        if route == ("POST", "/reset"):
            self.forget()
            return json_response({})
        return None

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        self.requests += 1
        self.concurrent += 1
        self.max_concurrent = max(self.max_concurrent, self.concurrent)
        try:
            yield
        finally:
            self.concurrent -= 1

    def note(self, line: Mapping[str, object]) -> None:
        if self.log is not None:
            self.log.write(json.dumps(line) + "\n")

    def attempt_of(self, raw: bytes) -> tuple[str, int]:
        """The body's sha256, and how often it came."""
        digest = sha256(raw).digest()
        self.attempts[digest] += 1
        return digest.hex(), self.attempts[digest]

    def status_fault(self, kind: str) -> Response | None:
        """The answer that fails with a status; None for any other kind of fault."""
        raise NotImplementedError

    def answered(self, seed: bytes, attempt: int, make: Callable[[str | None], dict[str, Any]]) -> Response:
        """What `make` gives for the fault of this attempt, or the fault itself where it is one of the wire."""
        fault = choose(self.options.faults, seed, attempt, self.options.fault_attempts)
        if fault is None:
            return json_response(make(None))
        self.faults[fault] += 1
        if (failed := self.status_fault(fault)) is not None:
            return failed
        if fault in WIRE_FAULTS:
            return Response(ending=WIRE_FAULTS[fault])
        if fault == "html":
            return Response(200, PAGE, "text/html; charset=utf-8")
        body = make(fault)
        return (
            Response(200, json.dumps(body).encode(), ending="cut") if fault == "cut" else json_response(body)
        )


def content(schema: dict[str, Any] | None, seed: bytes, fault: str | None) -> str:
    """What the model says: JSON that fits the schema, or prose without one."""
    if fault == "garbage" or (schema is None and fault != "prose"):
        return f"My impression of it is {words(seed)}."
    wanted = schema or {"properties": {"answer": {}}}
    text = json.dumps(fit(wanted, seed, wrong_enum=fault == "wrong_enum"))
    if fault == "prose":
        return f"Here is what I found.\n\n```json\n{text}\n```\n\nTell me if you want it shorter."
    return text


def run(options: argparse.Namespace, make: Callable[[argparse.Namespace, IO[str] | None], Any]) -> None:
    with contextlib.ExitStack() as stack:
        log = None
        if options.log:
            log = stack.enter_context(Path(options.log).open("a", buffering=1, encoding="utf-8"))
        serve_forever(make(options, log).handle, options.port)
