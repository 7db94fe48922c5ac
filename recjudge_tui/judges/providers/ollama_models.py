"""Finds Ollama servers and their installed models."""

from __future__ import annotations

import asyncio
import os
import re
from typing import TYPE_CHECKING, Any

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.calls import whole
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, JudgeError
from recjudge_tui.judges.http.endpoints import checked_url
from recjudge_tui.judges.http.failures import CallTarget, UnreachableError, sound_text
from recjudge_tui.judges.http.keys import find_keys
from recjudge_tui.judges.http.request import Client, send
from recjudge_tui.judges.providers.reply import json_object

if TYPE_CHECKING:
    from ollama import ListResponse, ShowResponse

DEFAULT_URL = "http://127.0.0.1:11434"
DEFAULT_KEY = "OLLAMA_API_KEY"
MODELS_PATH = "/api/tags"


class InstalledModel(Model):
    """A model that can be named after `ollama:`. Fields that the server does not report are empty or None."""

    name: str
    digest: str = ""
    size_bytes: int | None = None
    parameters: str = ""
    quantization: str = ""
    family: str = ""


def server_urls(base_urls: tuple[str, ...]) -> tuple[str, ...]:
    """The given servers, else the one in `OLLAMA_HOST` (in any form that Ollama accepts), else the default one."""
    host = os.environ.get("OLLAMA_HOST", "").strip()
    urls = base_urls or ((_with_scheme(host),) if host else (DEFAULT_URL,))
    return tuple(checked_url(url).removesuffix("/v1").removesuffix("/api") for url in urls)


def installed_models(base_url: str = "", timeout_s: float = 5.0) -> list[InstalledModel]:
    """`fetch_installed` for callers outside an event loop."""
    return asyncio.run(fetch_installed(base_url, timeout_s))


async def fetch_installed(base_url: str = "", timeout_s: float = 5.0) -> list[InstalledModel]:
    """The models at one Ollama server, sorted by name; by default the server that `OLLAMA_HOST` names.

    `base_url` is an address that the user typed: it gets the key of Ollama.

    Raises JudgeError when no Ollama server answers there within `timeout_s` seconds.
    """
    url = server_urls((base_url,) if base_url else ())[0]
    key = find_keys((DEFAULT_KEY,), (url,), typed=True).get(DEFAULT_KEY)
    client = Client((url,))
    try:
        response = await send(
            client, "GET", f"{url}{MODELS_PATH}", headers=key.bearer() if key else None, timeout_s=timeout_s
        )
        if response.status_code != 200:
            raise not_ollama(url)
        listing = json_object(response, CallTarget(url, "", ""), "Ollama's")
    except UnreachableError as error:
        if error.next_step:
            raise JudgeError(error.title, error.cause, error.next_step) from None
        raise no_server((url,)) from None
    except CallError:
        raise not_ollama(url) from None
    finally:
        await client.aclose()
    return sorted(listed_models(listing, url), key=lambda model: model.name)


def listed_models(listing: dict[str, Any], url: str) -> list[InstalledModel]:
    """The models in the answer of a server to `/api/tags`. Raises JudgeError for anything else."""
    from ollama import ListResponse

    try:
        models = ListResponse.model_validate(listing).models
    except ValueError:
        raise not_ollama(url) from None
    return [_model(model) for model in models]


def _model(model: ListResponse.Model) -> InstalledModel:
    details = model.details
    return InstalledModel(
        name=_line(model.model),
        digest=_line(model.digest),
        size_bytes=whole(model.size),
        parameters=_line(details and details.parameter_size),
        quantization=_line(details and details.quantization_level),
        family=_line(details and details.family),
    )


def read_model_details(answer: dict[str, Any], url: str) -> ShowResponse:
    """The answer of a server to `/api/show`. Raises JudgeError for anything else."""
    from ollama import ShowResponse

    try:
        return ShowResponse.model_validate(answer)
    except ValueError:
        raise not_ollama(url) from None


def _line(value: object) -> str:
    return one_line(sound_text(value), 200)


def no_server(urls: tuple[str, ...]) -> JudgeError:
    return JudgeError(
        f"No Ollama server at {', '.join(urls)}",
        "Nothing answers there.",
        "Start it with: ollama serve — or give its address with --base-url or OLLAMA_HOST.",
    )


def not_ollama(url: str) -> JudgeError:
    return JudgeError(
        f"No Ollama server at {url}", "Something else answers there.", "Check OLLAMA_HOST or --base-url."
    )


def not_installed(model: str, url: str, installed: list[str]) -> JudgeError:
    names = ", ".join(sorted(filter(None, installed))[:20])
    return JudgeError(
        f"Ollama at {url} has no model “{model}”",
        f"Installed there: {names}." if names else "No model is installed there.",
        f"Get it with: ollama pull {model}",
    )


def _with_scheme(host: str) -> str:
    """`OLLAMA_HOST` as a URL. Ollama also accepts `0.0.0.0`, `:11435` and `gpu-box:8000`."""
    if "://" in host:
        return host
    name, _, path = host.partition("/")
    if name.startswith(":"):
        name = f"127.0.0.1{name}"
    if not re.search(r":\d+$", name):
        name = f"{name}:11434"
    return f"http://{name}/{path}".rstrip("/")
