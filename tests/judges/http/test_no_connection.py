"""Why there is no connection: TLS, proxies, certificates, handles. Each cause has a message of its own."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import httpx
import pytest

from recjudge_tui.errors import CallError, JudgeError
from recjudge_tui.judges.http.failures import CallTarget, ServerError, UnreachableError, failure
from recjudge_tui.judges.http.request import Client, broken, send
from tests.support.servers.process import ROOT

CERTIFICATE = ROOT / "tests" / "support" / "servers" / "self_signed.pem"
# what an OpenSSL server sends before it closes: a fatal alert
ALERT = b"\x15\x03\x01\x00\x02\x02\x46"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def asked(url: str) -> CallError | JudgeError:
    """The failure of a request to this URL."""

    async def ask() -> None:
        client = Client((url,))
        try:
            await send(client, "GET", url, timeout_s=5)
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
            await send(client, "GET", url, timeout_s=5)
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


def test_a_certificate_that_nobody_signed_says_so() -> None:
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


@pytest.mark.parametrize("content", [None, ""])
def test_a_file_of_certificates_that_cannot_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "authorities.pem"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    fault = asked("https://127.0.0.1:9")
    assert isinstance(fault, JudgeError)
    assert str(path) in fault.cause
