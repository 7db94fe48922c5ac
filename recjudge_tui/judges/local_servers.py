"""Finds the model servers on this machine, and the model files that need none. All usual ports are asked at once, and no
key is sent."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import aclosing, suppress
from typing import NamedTuple
from urllib.parse import urlsplit

from recjudge_tui.domain.judge import JudgeAddress, KnownJudge, LocalJudges
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import CallError, JudgeError, UsageError
from recjudge_tui.judges.gguf import FoundFile, found_files
from recjudge_tui.judges.http import Client
from recjudge_tui.judges.keys import is_set
from recjudge_tui.judges.ollama import installed_models, server_urls
from recjudge_tui.judges.openai import OpenAIJudge
from recjudge_tui.judges.registry import PROVIDERS
from recjudge_tui.judges.replies import CallTarget, json_object, objects_of, sound_text

WITHIN_S = 1.0
MOST_MODELS = 200
LOOPBACK = ("127.0.0.1", "localhost", "::1")


# servers with an OpenAI-compatible API and their default ports
USUAL = {"llama.cpp": 8080, "vLLM": 8000, "LM Studio": 1234}
# the name by which servers identify the owner of their models
_OWNERS = {"llamacpp": "llama.cpp", "vllm": "vLLM", "organization_owner": "LM Studio", "library": "Ollama"}


class LocalServer(NamedTuple):
    """A server that answered: `judges` are its models as a run names them (`ollama:MODEL`, `openai:MODEL`), each with a
    description from the server. `base_urls`: what a run needs as --base-url; empty if nothing."""

    name: str
    url: str
    judges: tuple[tuple[str, str], ...]
    base_urls: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """`localhost:8080`."""
        return place_of(self.url)


def place_of(url: str) -> str:
    """The host and port of a URL; loopback is `localhost`."""
    parts = urlsplit(url)
    host = "localhost" if parts.hostname in LOOPBACK else parts.hostname or url
    return f"{host}:{parts.port}" if parts.port else host


def local_servers(timeout_s: float | None = None) -> list[LocalServer]:
    """The servers that answer within `timeout_s` seconds (None: `WITHIN_S`): Ollama at `OLLAMA_HOST` or its default
    address, the others at their usual ports of 127.0.0.1 (`USUAL`), and the server of `OPENAI_BASE_URL` if it is on this
    machine. Call it outside an event loop."""
    return asyncio.run(_all(timeout_s or WITHIN_S))


def local_files(servers: Sequence[LocalServer]) -> list[FoundFile]:
    """The model files in the usual folders; Ollama's own only if its server is not among `servers`."""
    return found_files(ollama=all(server.name != "Ollama" for server in servers))


def local_judges() -> LocalJudges:
    """Look for servers, model files and keys; takes up to a second, so call it in a worker."""
    judges, places = [], {}
    servers = local_servers()
    for server in servers:
        about = f"{server.name} {server.place}"
        places[server.base_urls] = f"{about}, {quantity(len(server.judges), 'model')}"
        judges += [
            KnownJudge(spec, f"{about} {details}".strip(), JudgeAddress(base_urls=server.base_urls))
            for spec, details in server.judges
        ]
    providers = PROVIDERS.values()
    if any(provider.form == "gguf:FILE" and provider.is_installed() for provider in providers):
        judges += [KnownJudge(file.spec, f"{file.place} {file.details}") for file in local_files(servers)]
    for provider in providers:
        variable = next((name for name in provider.key_variables if is_set(name)), "")
        if variable and provider.is_installed() and not provider.form.startswith("ollama:"):
            judges.append(KnownJudge(f"{provider.form.partition(':')[0]}:", f"{variable} is set"))
    return LocalJudges(tuple(judges), places)


async def _all(timeout_s: float) -> list[LocalServer]:
    asked = {f"http://127.0.0.1:{port}/v1": name for name, port in USUAL.items()}
    named = os.environ.get("OPENAI_BASE_URL", "")
    with suppress(UsageError):
        if named and urlsplit(named).hostname in LOOPBACK:
            asked = {OpenAIJudge.api_root(named): "a server"} | asked
    answers = await asyncio.gather(
        _ollama(timeout_s), *(_compatible(url, name, timeout_s) for url, name in asked.items())
    )
    return [server for server in answers if server is not None]


async def _ollama(timeout_s: float) -> LocalServer | None:
    try:
        models = await installed_models(timeout_s=timeout_s)
        url = server_urls(())[0]
    except (UsageError, JudgeError, CallError):
        return None
    judges = [
        (f"ollama:{model.name}", " ".join(filter(None, (model.parameters, model.quantization))))
        for model in models
    ]
    return LocalServer("Ollama", url, tuple(judges[:MOST_MODELS]))


async def _compatible(url: str, name: str, timeout_s: float) -> LocalServer | None:
    """The server at an OpenAI-compatible address, None unless it answers with a list of models."""
    try:
        async with aclosing(Client()) as client:
            response = await client.send("GET", f"{url}/models", timeout_s=timeout_s)
        answered = json_object(response, CallTarget(url, "", ""), "the server's")
    except (CallError, JudgeError):
        return None
    if response.status_code != 200 or not isinstance(answered.get("data"), list):
        return None
    entries = [entry for entry in objects_of(answered, "data")[:MOST_MODELS] if sound_text(entry.get("id"))]
    owner = sound_text(entries[0].get("owned_by")) if entries else ""
    judges = tuple((f"openai:{one_line(sound_text(entry['id']), 200)}", "") for entry in entries)
    return LocalServer(_OWNERS.get(owner, name), url, judges, (url,))
