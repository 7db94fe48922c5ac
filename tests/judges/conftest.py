from __future__ import annotations

import inspect
from collections.abc import AsyncIterator

import pytest

from recjudge_tui.judges import http, keys


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OLLAMA_HOST", "OLLAMA_API_KEY",
        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _every_server_is_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a secret may be sent at all is tests/test_trust.py."""
    monkeypatch.setattr(keys, "_is_usual", lambda pair: True)


@pytest.fixture(autouse=True)
def _closes(request: pytest.FixtureRequest) -> None:
    """A test that makes a judge need not close it."""
    if inspect.iscoroutinefunction(request.function):
        request.getfixturevalue("_clients")


@pytest.fixture
async def _clients(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    made: list[http.Client] = []
    first = http.Client.__init__

    def noted(client: http.Client) -> None:
        first(client)
        made.append(client)

    monkeypatch.setattr(http.Client, "__init__", noted)
    yield
    for client in made:
        await client.aclose()
