"""A server in a thread that answers what a test tells it to, byte for byte, and keeps what it was asked."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.waiting import HANG_S, wait_until

Script = Callable[[str, int], "bytes | Callable[[socket.socket], object] | None"]


@dataclass
class Stub:
    """`heads` and `bodies` of the requests in order, and how many connections were made and have ended."""

    url: str
    heads: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    connections: int = 0
    ended: int = 0

    def sent(self, place: int = -1) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.bodies[place])
        return body

    def wait_until_ended(self, count: int) -> None:
        wait_until(lambda: self.ended >= count, f"{count} connections ended")


def answer(status: int, body: object, *headers: str) -> bytes:
    """A whole response; a body that is no bytes is sent as JSON."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Test", f"Content-Length: {len(raw)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + raw


def completion(content: object, finish: str = "stop", **message: Any) -> dict[str, Any]:
    return {
        "model": "served-model",
        "choices": [
            {"message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
        ],
    }


def in_turn(*responses: bytes, to_get: bytes = b"") -> Script:
    """The responses in turn, the last one again and again; questions (GET) are answered with `to_get`, if it is given."""
    turn = itertools.count()

    def script(line: str, number: int) -> bytes:
        if to_get and line.startswith("GET"):
            return to_get
        return responses[min(next(turn), len(responses) - 1)]

    return script


@contextmanager
def serving(script: Script) -> Iterator[Stub]:
    """`script(request line, number from 0)` gives the bytes of each response.

    An empty response leaves the request open until the client ends it, None closes without an answer, and a function
    does as it likes with the connection, which is closed after it. One that does not end with its announced length, or
    says `Connection: close`, is followed by closing.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    stub = Stub(f"http://127.0.0.1:{listener.getsockname()[1]}")
    threads: list[threading.Thread] = []
    connected: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            stub.connections += 1
            connected.append(connection)
            thread = threading.Thread(target=_talk, args=(connection, stub, script))
            threads.append(thread)
            thread.start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield stub
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for connection in connected:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in [accepting, *threads]:
            thread.join(HANG_S)


def _talk(connection: socket.socket, stub: Stub, script: Script) -> None:
    with connection, connection.makefile("rb") as reader:
        connection.settimeout(HANG_S)
        try:
            while _answer_one(connection, reader, stub, script):
                pass
        except OSError:
            pass
    stub.ended += 1


def _answer_one(connection: socket.socket, reader: Any, stub: Stub, script: Script) -> bool:
    lines = []
    while (line := reader.readline()) not in (b"\r\n", b""):
        lines.append(line.decode("latin-1").strip())
    if not lines:
        return False
    lengths = [line.partition(":")[2] for line in lines if line.lower().startswith("content-length:")]
    length = int(lengths[0]) if lengths else 0
    body = reader.read(length)
    if len(body) < length:  # its client was killed while it wrote
        return False
    with stub.lock:  # one number for head and body, whoever else asks at the same moment
        stub.bodies.append(body)
        stub.heads.append("\n".join(lines))
        number = len(stub.heads) - 1
    response = script(lines[0], number)
    if response is None or callable(response):
        if response:
            response(connection)
        return False
    if not response:
        reader.read(1)
        return False
    connection.sendall(response)
    head, _, content = response.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n").partition(b"\r\n\r\n")
    sized = f"content-length: {len(content)}".encode() in head.lower() or content.endswith(b"0\r\n\r\n")
    # a 204 has no body, and so no length either
    sized = sized or head.startswith(b"HTTP/1.1 204")
    return sized and b"connection: close" not in head.lower()
