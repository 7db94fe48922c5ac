"""Why there is no connection: TLS, proxies, certificates, handles. Each cause has a message of its own."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
from pathlib import Path

import httpx
import pytest

from recjudge_tui.errors import CallError, JudgeError
from recjudge_tui.judges.http import addresses
from recjudge_tui.judges.http.failures import CallTarget, ServerError, UnreachableError, failure
from recjudge_tui.judges.http.request import Client, broken, send
from recjudge_tui.network import CERTIFICATE_VARIABLES
from tests.support.servers.process import ROOT
from tests.support.stub_server import answer, serving
from tests.support.waiting import HANG_S

CERTIFICATE = ROOT / "tests" / "support" / "servers" / "self_signed.pem"
# what an OpenSSL server sends before it closes: a fatal alert
ALERT = b"\x15\x03\x01\x00\x02\x02\x46"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", *CERTIFICATE_VARIABLES):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def test_a_name_whose_first_address_hangs_is_reached_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The queue of the first address is full, so that connecting to it never ends."""
    with serving(lambda line, number: answer(200, {"ok": True})) as stub, socket.socket() as full:
        port = int(stub.url.rpartition(":")[2])
        full.bind(("127.0.0.2", port))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for queued in waiting:
            queued.setblocking(False)
            queued.connect_ex(("127.0.0.2", port))

        async def resolve(host: str, port: int) -> list[tuple[object, ...]]:
            return [
                (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
                for address in ("127.0.0.2", "127.0.0.1")
            ]

        monkeypatch.setattr(addresses, "resolved", resolve)
        tried: list[str] = []
        connected = addresses._connected

        async def recorded(address: tuple[int, int, int, str, tuple[str, int]]) -> socket.socket:
            tried.append(address[4][0])
            return await connected(address)

        monkeypatch.setattr(addresses, "_connected", recorded)
        url = f"http://two.test:{port}"
        client = Client((url,))
        try:
            response = await send(client, "GET", url, timeout_s=HANG_S)
        finally:
            await client.aclose()
            for queued in waiting:
                queued.close()
        assert response.status_code == 200
        assert tried == ["127.0.0.2", "127.0.0.1"]


def asked(url: str) -> CallError | JudgeError:
    """The failure of a request to this URL."""

    async def ask() -> None:
        client = Client((url,))
        try:
            await send(client, "GET", url, timeout_s=HANG_S)
        finally:
            await client.aclose()

    with pytest.raises((CallError, JudgeError)) as caught:
        asyncio.run(ask())
    return caught.value


def asked_a_server(scheme: str, answer: bytes, tls: ssl.SSLContext | None = None) -> CallError | JudgeError:
    """The failure of a request to a server on this machine that answers anything with these bytes."""

    async def ask() -> None:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1000)
            writer.write(answer)
            writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
        url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        client = Client((url,))
        try:
            await send(client, "GET", url, timeout_s=HANG_S)
        finally:
            await client.aclose()
            server.close()

    with pytest.raises((CallError, JudgeError)) as caught:
        asyncio.run(ask())
    return caught.value


def test_tls_to_a_plain_port_says_so() -> None:
    fault = asked_a_server("https", b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    assert isinstance(fault, UnreachableError)
    assert "does not speak TLS" in fault.title
    assert "http://" in fault.next_step


def test_a_plain_request_to_a_port_of_tls_says_so() -> None:
    fault = asked_a_server("http", ALERT)
    assert isinstance(fault, UnreachableError)
    assert fault.title.endswith("speaks TLS")
    assert "https://" in fault.next_step
    assert "https://" in asked_a_server("http", b"").next_step


@pytest.mark.parametrize(
    "message",
    [
        "The plain HTTP request was sent to HTTPS port",
        "Client sent an HTTP request to an HTTPS server.",
        "You're speaking plain HTTP to an SSL-enabled server port.",
    ],
)
def test_a_server_of_tls_that_explains_itself_ends_the_run(message: str) -> None:
    fault = failure(400, httpx.Headers(), ServerError(message), CallTarget("http://server", "m", ""))
    assert isinstance(fault, JudgeError)
    assert "https://" in fault.next_step


def test_an_unsigned_certificate_is_reported_as_such() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    fault = asked_a_server("https", b"", context)
    assert "certificate" in fault.title
    assert "elf-signed" in fault.cause or "elf signed" in fault.cause
    assert "SSL_CERT_FILE" in fault.next_step


def test_another_failure_of_tls_gives_its_reason() -> None:
    error = httpx.ConnectError("[SSL] no")
    error.__cause__ = ssl.SSLError(1, "[SSL: NO_SHARED_CIPHER] no shared cipher")
    fault = broken("https://server", error)
    assert fault.title == "No secure connection to https://server"
    assert "no shared cipher" in fault.cause


def test_too_few_handles_are_not_the_fault_of_the_server() -> None:
    error = httpx.ConnectError("[Errno 24] Too many open files")
    error.__cause__ = OSError(24, "Too many open files")
    fault = broken("http://server", error)
    assert "Too many files" in fault.cause
    assert "ulimit" in fault.next_step


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_dead_proxy_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.setenv(f"{scheme}_proxy", "http://user:planted-key@127.0.0.1:9")
    fault = asked(f"{scheme}://server.invalid")
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
    monkeypatch: pytest.MonkeyPatch, proxy: str, title: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    # also where the package is installed
    monkeypatch.setitem(__import__("sys").modules, "socksio", None)
    fault = asked("https://server.invalid")
    assert isinstance(fault, JudgeError)
    assert title in fault.title
    assert ("recjudge[socks]" in fault.next_step) == proxy.startswith("socks")


@pytest.mark.parametrize("variable", CERTIFICATE_VARIABLES)
@pytest.mark.parametrize("content", [None, ""])
def test_a_file_of_certificates_that_cannot_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None, variable: str
) -> None:
    path = tmp_path / "authorities.pem"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    monkeypatch.setenv(variable, str(path))
    fault = asked("https://127.0.0.1:9")
    assert isinstance(fault, JudgeError)
    assert f"{variable}: {path}" in fault.cause
    assert variable in fault.next_step


# httpcore leaves the connection to the garbage collector
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x05\xff"])
def test_a_socks_proxy_that_refuses_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    async def ask() -> str:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1000)
            writer.write(answer)
            writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        monkeypatch.setenv("ALL_PROXY", f"socks5://user:planted-key@127.0.0.1:{port}")
        client = Client(("http://server.invalid",))
        try:
            await send(client, "GET", "http://server.invalid", timeout_s=HANG_S)
        except UnreachableError as error:
            return str(error)
        finally:
            await client.aclose()
            server.close()
        return ""

    message = asyncio.run(ask())
    gc.collect()
    assert "through the proxy socks5://127.0.0.1:" in message
    assert "planted-key" not in message


def test_a_socks_proxy_without_a_server_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    fault = asked("https://server.invalid")
    assert "through the proxy socks5://127.0.0.1:9" in fault.title
