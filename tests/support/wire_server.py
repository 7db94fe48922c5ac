"""A server on loopback that answers each chat prompt by the user it is about, byte for byte, and one nobody should ask."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

# the server's side of an exchange after the request was read; the connection is closed after it
Talk = Callable[[socket.socket, "WireServer"], object]
_PLACE = re.compile(rb"films like (\d+)\b")
_MODELS = b'{"data": [{"id": "m"}]}'
_MODELS_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (
    len(_MODELS),
    _MODELS,
)


@dataclass
class WireServer:
    """`url` is asked, and the prompt of user N is answered by `talks[N]`; `strayed` is what came to `other_url`.

    `asked` are the users of the prompts, `heads` the heads of all requests.
    """

    talks: Sequence[Talk]
    url: str
    other_url: str
    asked: list[int] = field(default_factory=list)
    heads: list[bytes] = field(default_factory=list)
    strayed: list[bytes] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)


@contextlib.contextmanager
def serving_talks(talks: Sequence[Talk]) -> Iterator[WireServer]:
    """Both servers, in threads."""
    with contextlib.ExitStack() as open_until_end:
        listener, other = (
            open_until_end.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)
        )
        server = WireServer(talks, *(f"http://127.0.0.1:{s.getsockname()[1]}" for s in (listener, other)))
        threads: list[threading.Thread] = []
        connections: list[socket.socket] = []

        def accept(listening: socket.socket, talk: Callable[[socket.socket, WireServer], object]) -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                connections.append(connection)
                threads.append(threading.Thread(target=_served, args=(connection, server, talk)))
                threads[-1].start()

        accepting = [
            threading.Thread(target=accept, args=(listener, _exchange)),
            threading.Thread(target=accept, args=(other, _note_stray)),
        ]
        for thread in accepting:
            thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            for listening in (listener, other):
                listening.shutdown(socket.SHUT_RDWR)
            for thread in accepting:
                thread.join(5)
            for connection in connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join(5)


def _served(connection: socket.socket, server: WireServer, talk: Talk) -> None:
    with connection, contextlib.suppress(OSError):
        connection.settimeout(30)
        talk(connection, server)


def _note_stray(connection: socket.socket, server: WireServer) -> None:
    server.strayed.append(connection.recv(1 << 16))


def _exchange(connection: socket.socket, server: WireServer) -> None:
    """One request and its fault; the list of models is answered as usual."""
    head, body = _request(connection)
    if not head:
        return
    server.heads.append(head)
    if head.startswith(b"GET"):
        connection.sendall(_MODELS_ANSWER)
        return
    place = _PLACE.search(body)
    assert place is not None
    user = int(place[1])
    server.asked.append(user)
    server.talks[user](connection, server)


def _request(connection: socket.socket) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        if not (more := connection.recv(1 << 16)):
            return b"", b""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
    wanted = int(length[1]) if length else 0
    while len(body) < wanted and (more := connection.recv(1 << 16)):
        body += more
    return head, body
