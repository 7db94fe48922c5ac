from __future__ import annotations

import socket

import pytest

from recjudge_tui.judges.http import Client, UnreachableError
from recjudge_tui.judges.local_servers import local_servers, place_of
from tests.support.servers.process import ServerProcess
from tests.support.waiting import HANG_S


@pytest.fixture
def nothing_else(monkeypatch: pytest.MonkeyPatch) -> int:
    """No server is named by the environment; gives a port at which nothing answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    monkeypatch.setenv("OLLAMA_HOST", f"http://127.0.0.1:{port}")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return port


def test_servers_are_named_with_their_models(
    nothing_else: int,
    ollama_server: ServerProcess,
    openai_server: ServerProcess,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", ollama_server.url)
    port = int(openai_server.url.rpartition(":")[2])
    ollama, other = local_servers({"vLLM": port, "LM Studio": nothing_else}, HANG_S)
    assert (ollama.name, ollama.base_urls) == ("Ollama", ())
    assert [spec for spec, _ in ollama.judges] == ["ollama:hash-judge:latest", "ollama:other:1b"]
    assert (other.name, other.place) == ("vLLM", f"localhost:{port}")
    assert other.base_urls == (f"http://127.0.0.1:{port}/v1",)
    assert ("openai:hash-judge", "") in other.judges
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.url)
    assert [server.name for server in local_servers({}, HANG_S)] == ["Ollama", "a server"]


def test_a_server_that_does_not_answer_is_given_up(nothing_else: int) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        usual = {str(at): silent.getsockname()[1] for at in range(3)}
        assert local_servers(usual, timeout_s=0.1) == []


def test_a_server_of_another_machine_is_not_asked(nothing_else: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://203.0.113.1:1/v1")
    asked: list[str] = []

    async def refused(client: Client, method: str, url: str, **_: object) -> None:
        asked.append(url)
        raise UnreachableError("no")

    monkeypatch.setattr(Client, "send", refused)
    assert local_servers({}, timeout_s=HANG_S) == []
    assert asked == [f"http://127.0.0.1:{nothing_else}/api/tags"]


def test_places() -> None:
    assert place_of("http://127.0.0.1:9100/v1") == "localhost:9100"
    assert place_of("https://api.example.org") == "api.example.org"
    assert place_of("http://[::1]:80") == "localhost:80"
