"""One exchange: connections, answers that nobody asked for, the cap, the deadline, and why there is no connection."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import json
import random
import ssl
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

from recjudge_tui.errors import CallError, JudgeError
from recjudge_tui.judges import http
from recjudge_tui.judges.http import Answer, Client, UnreachableError, broken
from recjudge_tui.system import CERTIFICATE_VARIABLES
from tests.support.servers.process import ROOT
from tests.support.stub_server import answer, serving
from tests.support.waiting import HANG_S, wait_until

CERTIFICATE = ROOT / "tests" / "support" / "servers" / "self_signed.pem"
# what an OpenSSL server sends before it closes: a fatal alert
ALERT = b"\x15\x03\x01\x00\x02\x02\x46"
TEXT = b'{"reply": "' + b"Good Match " * 50 + b'"}'
BOMB = gzip.compress(bytes(http.MAX_ANSWER + 1), 9)
WAYS = ("direct", "proxy")


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", *CERTIFICATE_VARIABLES):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    opened = Client()
    yield opened
    await opened.aclose()


async def get(client: Client, url: str, timeout_s: float = HANG_S) -> Answer:
    return await client.send("GET", url, timeout_s=timeout_s)


@contextlib.contextmanager
def hanging_up(writer: asyncio.StreamWriter) -> Iterator[None]:
    """The server's end of a connection, closed also when the loop ends before the talk."""
    try:
        yield
    finally:
        writer.close()


class TestConnections:
    async def test_a_request_lost_on_a_kept_connection_is_not_sent_twice(self, client: Client) -> None:
        with serving(lambda line, n: None if n == 1 else answer(200, {"n": n})) as stub:
            assert (await get(client, stub.url)).json() == {"n": 0}
            await asyncio.sleep(1.5 * http.REST_S)
            with pytest.raises(CallError) as caught:
                await get(client, stub.url)
            assert caught.value.kind == "connection"
            assert (await get(client, stub.url)).json() == {"n": 2}

    async def test_a_cancelled_call_closes_its_connection(self, client: Client) -> None:
        with serving(lambda line, n: b"") as stub:
            call = asyncio.ensure_future(get(client, stub.url))
            await asyncio.to_thread(wait_until, lambda: stub.heads)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await asyncio.to_thread(stub.wait_until_ended, 1)

    @pytest.mark.parametrize("size", [2, 65_536, 300_000])
    @pytest.mark.parametrize("rest", [b"HTTP/1.1 200 OK\r\n", b"garbage", answer(200, {"unasked": True})])
    async def test_a_connection_with_bytes_behind_the_answer_is_not_used_again(
        self, client: Client, rest: bytes, size: int
    ) -> None:
        body = b"%s" % (b"x" * size)
        with serving(lambda line, n: answer(200, b"%d" % n + body) + rest) as stub:
            for n in range(3):
                assert (await get(client, stub.url)).content[:1] == b"%d" % n
                await asyncio.sleep(1.5 * http.REST_S)
            assert stub.connections == 3

    @pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
    async def test_an_answer_that_comes_unasked_is_never_that_to_the_next_request(
        self, client: Client, monkeypatch: pytest.MonkeyPatch, tls: bool
    ) -> None:
        """90 % of the answers are followed by another one, in the same moment or a little later, from many connections."""
        draw = random.Random(3)

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with hanging_up(writer), contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                while head := await reader.readuntil(b"\r\n\r\n"):
                    await asyncio.sleep(0.002)
                    writer.write(answer(200, {"asked": head.split()[1].decode()}))
                    if draw.random() < 0.9:
                        if draw.random() < 0.7:
                            await writer.drain()
                            await asyncio.sleep(draw.choice((0, 0, 0.001, 0.003)))
                        writer.write(answer(200, {"asked": "nothing"}))

        context = None
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE)
            trusting = ssl.create_default_context(cafile=CERTIFICATE)
            trusting.check_hostname = False
            monkeypatch.setattr(http.httpx, "create_ssl_context", lambda: trusting)
        server = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=context)
        place = f"http{'s' * tls}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        wrong = 0

        async def work(worker: int) -> None:
            nonlocal wrong
            for n in range(25):
                path = f"/{worker}-{n}"
                wrong += (await get(client, place + path)).json() != {"asked": path}

        await asyncio.gather(*(work(worker) for worker in range(8)))
        assert wrong == 0
        server.close()

    async def test_a_connection_to_a_proxy_serves_one_request(
        self, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with serving(lambda line, n: answer(200, {"n": n}) + answer(200, {"unasked": True})) as stub:
            monkeypatch.setenv("http_proxy", stub.url)
            assert [(await get(client, "http://models.example")).json()["n"] for _ in range(2)] == [0, 1]

    async def test_a_proxy_is_used_only_where_the_environment_names_one(
        self, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with (
            serving(lambda line, n: answer(200, {"by": "proxy"})) as proxy,
            serving(lambda line, n: answer(200, {"by": "server"})) as server,
        ):
            monkeypatch.setenv("HTTP_PROXY", proxy.url)
            monkeypatch.setenv("NO_PROXY", "127.0.0.1")
            assert (await get(client, server.url)).json() == {"by": "server"}
            assert (await get(client, "http://gpu.example/v1")).json() == {"by": "proxy"}

    @pytest.mark.parametrize("value", ["secret\r\nX-Other: 1", "se\x00cret"])
    async def test_a_header_cannot_add_another_and_is_not_quoted(self, client: Client, value: str) -> None:
        with serving(lambda line, n: answer(200, {})) as stub:
            with pytest.raises(CallError) as caught:
                await client.send("GET", stub.url, headers={"X-Key": value}, timeout_s=HANG_S)
            assert "cret" not in str(caught.value)
            assert stub.heads == []


class TestBodies:
    async def fetched(
        self, monkeypatch: pytest.MonkeyPatch, way: str, response: bytes, timeout_s: float = HANG_S
    ) -> Answer:
        """The answer of a server that sends these bytes, asked directly or as a proxy."""
        client = Client()
        with serving(lambda line, n: response) as stub:
            if way == "proxy":
                monkeypatch.setenv("http_proxy", stub.url)
            url = "http://models.example" if way == "proxy" else stub.url
            try:
                return await client.send("POST", url, content=b"{}", timeout_s=timeout_s)
            finally:
                await client.aclose()

    @pytest.mark.parametrize("way", WAYS)
    @pytest.mark.parametrize(
        ("packing", "packed"),
        [
            ("gzip", BOMB),
            ("gzip, gzip", gzip.compress(BOMB)),
            ("gzip", gzip.compress(TEXT)[:-9]),
            ("gzip", b"not packed"),
            ("br", TEXT),
            ("\xe9", TEXT),
        ],
    )
    async def test_an_answer_that_cannot_be_unpacked_fails_only_its_call(
        self, monkeypatch: pytest.MonkeyPatch, way: str, packing: str, packed: bytes
    ) -> None:
        with pytest.raises(CallError) as caught:
            await self.fetched(monkeypatch, way, answer(200, packed, f"Content-Encoding: {packing}"))
        assert (caught.value.kind, caught.value.retry) == ("bad_body", True)

    @pytest.mark.parametrize("way", WAYS)
    @pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-Long: "])
    async def test_an_answer_without_end_is_left_at_the_limit(
        self, monkeypatch: pytest.MonkeyPatch, way: str, head: bytes
    ) -> None:
        monkeypatch.setattr(http, "MAX_ANSWER", 100_000)
        with pytest.raises(CallError) as caught:
            await self.fetched(monkeypatch, way, head + b"x" * 5_000_000)
        assert caught.value.kind == "bad_body"

    @pytest.mark.parametrize("way", WAYS)
    async def test_the_deadline_holds_for_the_whole_exchange(
        self, monkeypatch: pytest.MonkeyPatch, way: str
    ) -> None:
        """Something comes all the time, and never the end."""

        async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n")
            with hanging_up(writer), contextlib.suppress(ConnectionError):
                while True:
                    writer.write(b"x")
                    await writer.drain()
                    await asyncio.sleep(0.01)

        server = await asyncio.start_server(drip, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        if way == "proxy":
            monkeypatch.setenv("http_proxy", url)
        client = Client()
        with pytest.raises(CallError) as caught:
            await get(client, "http://models.example" if way == "proxy" else url, timeout_s=0.2)
        await client.aclose()
        server.close()
        assert (caught.value.kind, caught.value.retry) == ("timeout", True)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_connection_given_up_while_it_is_made_leaves_no_socket_open(host: str) -> None:
    """Steps of the loop are counted, because the moment between a connected socket and its transport is one step. The
    server hangs up only when the client does."""
    open_ones: set[asyncio.StreamWriter] = set()

    async def wait_for_the_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_ones.add(writer)
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()
        open_ones.discard(writer)

    async with await asyncio.start_server(wait_for_the_end, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for steps in range(60):
                client = Client()
                asked = asyncio.create_task(get(client, f"http://{host}:{port}/"))
                for _ in range(steps):
                    await asyncio.sleep(0)
                asked.cancel()
                await asyncio.gather(asked, return_exceptions=True)
                await client.aclose()
            for _ in range(100):
                await asyncio.sleep(0.01)
                if not open_ones:
                    break
            gc.collect()
        assert not open_ones
        assert not [w for w in caught if f"raddr=('127.0.0.1', {port})" in str(w.message)]


class TestNoConnection:
    async def failure(self, url: str) -> CallError | JudgeError:
        """Of a request to this URL."""
        client = Client()
        try:
            answered = await get(client, url)
        except (CallError, JudgeError) as fault:
            return fault
        finally:
            await client.aclose()
        raise AssertionError(answered)

    def asked(self, url: str) -> CallError | JudgeError:
        return asyncio.run(self.failure(url))

    def asked_a_server(
        self, scheme: str, reply: bytes, tls: ssl.SSLContext | None = None, proxy: str = ""
    ) -> CallError | JudgeError:
        """The failure of a request to a server, or proxy, on this machine that answers anything with these bytes."""

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1000)
            writer.write(reply)
            writer.close()

        async def ask() -> CallError | JudgeError:
            server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
            place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            with pytest.MonkeyPatch.context() as patch:
                if proxy:
                    patch.setenv("ALL_PROXY", proxy.format(place))
                fault = await self.failure(f"{scheme}://{'server.invalid' if proxy else place}")
            server.close()
            return fault

        return asyncio.run(ask())

    def test_tls_to_a_plain_port_says_so(self) -> None:
        fault = self.asked_a_server("https", b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        assert isinstance(fault, UnreachableError)
        assert "does not speak TLS" in fault.title
        assert "http://" in fault.next_step

    def test_a_plain_request_to_a_port_of_tls_says_so(self) -> None:
        fault = self.asked_a_server("http", ALERT)
        assert isinstance(fault, UnreachableError)
        assert "TLS" in fault.title
        assert "https://" in fault.next_step
        assert "https://" in self.asked_a_server("http", b"").next_step

    def test_an_unsigned_certificate_is_reported_as_such(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        fault = self.asked_a_server("https", b"", context)
        assert "certificate" in fault.title
        assert "elf-signed" in fault.cause or "elf signed" in fault.cause
        assert "SSL_CERT_FILE" in fault.next_step

    @pytest.mark.parametrize(
        ("cause", "said"),
        [
            (ssl.SSLError(1, "[SSL: NO_SHARED_CIPHER] no shared cipher"), "no shared cipher"),
            (OSError(24, "Too many open files"), "Too many files are open. Raise the limit"),
        ],
    )
    def test_a_failure_of_tls_or_of_this_machine_is_not_the_fault_of_the_server(
        self, cause: OSError, said: str
    ) -> None:
        error = httpx.ConnectError(str(cause))
        error.__cause__ = cause
        assert said.partition(".")[0] in str(broken("https://server", error))

    @pytest.mark.parametrize("scheme", ["http", "https"])
    def test_a_dead_proxy_is_named_without_its_password(
        self, monkeypatch: pytest.MonkeyPatch, scheme: str
    ) -> None:
        monkeypatch.setenv(f"{scheme}_proxy", "http://user:planted-key@127.0.0.1:9")
        fault = self.asked(f"{scheme}://server.invalid")
        assert "through the proxy http://127.0.0.1:9" in fault.title
        assert "NO_PROXY" in fault.next_step
        assert "planted-key" not in str(fault)

    @pytest.mark.parametrize(
        ("proxy", "title"),
        [
            ("socks5://127.0.0.1:9", "socksio"),
            ("http://[::1", "no valid address"),
            ("ftp://host:1", "no valid address"),
        ],
    )
    def test_a_proxy_that_cannot_be_used_is_a_fault_of_the_environment(
        self, monkeypatch: pytest.MonkeyPatch, proxy: str, title: str
    ) -> None:
        monkeypatch.setenv("ALL_PROXY", proxy)
        # also where the package is installed
        monkeypatch.setitem(__import__("sys").modules, "socksio", None)
        fault = self.asked("https://server.invalid")
        assert isinstance(fault, JudgeError)
        assert title in fault.title
        assert ("recjudge[socks]" in fault.next_step) == proxy.startswith("socks")

    # httpcore2 leaves the connection to the garbage collector
    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    @pytest.mark.parametrize("reply", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x05\xff"])
    def test_a_socks_proxy_that_refuses_is_named_without_its_password(self, reply: bytes) -> None:
        fault = self.asked_a_server("http", reply, proxy="socks5://user:planted-key@{}")
        kind, message = type(fault), str(fault)
        del fault
        gc.collect()
        assert kind is UnreachableError
        assert "through the proxy socks5://127.0.0.1:" in message
        assert "planted-key" not in message


class TestCertificates:
    @pytest.mark.parametrize("content", [None, ""])
    def test_a_file_of_certificates_that_cannot_be_read_is_named(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None
    ) -> None:
        path = tmp_path / "authorities.pem"
        if content is not None:
            path.write_text(content, encoding="utf-8")
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
        fault = TestNoConnection().asked("https://127.0.0.1:9")
        assert isinstance(fault, JudgeError)
        assert f"SSL_CERT_FILE: {path}" in fault.cause
        assert "SSL_CERT_FILE" in fault.next_step


async def test_long_answers_at_once_take_no_more_memory_than_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process of its own: 32 endless bodies, each left at 16 MiB."""
    program = """
import asyncio, resource, sys
from recjudge_tui.errors import CallError
from recjudge_tui.judges.http import Client
async def main():
    client = Client()
    async def ask():
        try:
            await client.send("GET", sys.argv[1], timeout_s=100)
        except CallError as error:
            return error.kind
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kinds = await asyncio.gather(*(ask() for _ in range(32)))
    print(set(kinds), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
asyncio.run(main())
"""

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        with hanging_up(writer), contextlib.suppress(ConnectionError):
            while True:
                writer.write(bytes(1 << 20))
                await writer.drain()

    server = await asyncio.start_server(flood, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    child = await asyncio.create_subprocess_exec(
        __import__("sys").executable, "-c", program, url, stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    out, _ = await child.communicate()
    server.close()
    kinds, megabytes = out.decode().rsplit(maxsplit=1)
    assert kinds == "{'bad_body'}"
    assert int(megabytes) < 32 * 16 * 1.5, json.dumps(out.decode())
