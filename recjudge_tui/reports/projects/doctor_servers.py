"""Checks which judges' servers answer. All are asked at once within two seconds, and no key is sent."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable

from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import CallError, JudgeError, UsageError
from recjudge_tui.judges.http.request import Client, send
from recjudge_tui.judges.local_servers import local_servers
from recjudge_tui.judges.providers import anthropic as anthropic_judge
from recjudge_tui.judges.providers import openai as openai_judge
from recjudge_tui.judges.providers.ollama_models import fetch_installed, server_urls
from recjudge_tui.reports.projects.doctor import Check

WITHIN_S = 2.0


def server_checks() -> list[Check]:
    """Ollama at `OLLAMA_HOST` or its default address, the servers named by other variables, and those that answer at the
    usual ports of this machine."""
    return [*asyncio.run(_ask_all()), *_found_here()]


def _found_here() -> list[Check]:
    """The servers that the form of a new run finds, except those named by variables."""
    named = os.environ.get("OPENAI_BASE_URL", "").rstrip("/")
    return [
        Check(
            f"server of {server.name}",
            "ok",
            f"{server.place} answers: {quantity(len(server.judges), 'model')}; --base-url {server.base_urls[0]}",
        )
        for server in local_servers(timeout_s=WITHIN_S)
        if server.base_urls and server.base_urls[0].rstrip("/") not in (named, f"{named}/v1")
    ]


async def _ask_all() -> list[Check]:
    checks = [_ollama(bool(os.environ.get("OLLAMA_HOST")))]
    if url := os.environ.get("OPENAI_BASE_URL"):
        checks.append(_models("OPENAI_BASE_URL", url, lambda given: f"{openai_judge.api_root(given)}/models"))
    if url := os.environ.get("ANTHROPIC_BASE_URL"):
        checks.append(
            _models("ANTHROPIC_BASE_URL", url, lambda given: f"{anthropic_judge.api_root(given)}/v1/models")
        )
    return list(await asyncio.gather(*checks))


async def _ollama(wanted: bool) -> Check:
    what = "server of Ollama"
    try:
        url = server_urls(())[0]
        models = await fetch_installed(timeout_s=WITHIN_S)
    except UsageError as error:
        return Check(what, "warning", f"OLLAMA_HOST: {error.title}", error.next_step)
    except JudgeError as error:
        if wanted:
            return Check(what, "warning", f"{error.title}. {error.cause}", error.next_step)
        return Check(what, "ok", f"none at {url}; only “ollama:” needs one", "Start it with: ollama serve")
    except CallError as error:
        return Check(what, "warning" if wanted else "ok", error.title, "Check whether the server is busy.")
    if not models:
        return Check(what, "ok", f"{url}: no model installed", "Get one with: ollama pull MODEL")
    return Check(what, "ok", f"{url}: {', '.join(model.name for model in models)}")


async def _models(variable: str, given: str, address: Callable[[str], str]) -> Check:
    what = f"server of {variable}"
    try:
        url = address(given)
    except UsageError as error:
        return Check(what, "warning", error.title, error.next_step)
    client = Client((url,))
    try:
        answer = await send(client, "GET", url, timeout_s=WITHIN_S)
    except CallError as error:
        return Check(what, "warning", f"{error.title}. {error.cause}", f"Check {variable} and the server.")
    finally:
        await client.aclose()
    if answer.status_code in (401, 403):
        return Check(what, "ok", f"{url} answers; it requires a key")
    if answer.status_code != 200:
        return Check(what, "warning", f"{url} answers {answer.status_code}", f"Check {variable}.")
    return Check(what, "ok", f"{url} answers: {_count(answer.content)}")


def _count(body: bytes) -> str:
    try:
        listed = json.loads(body)["data"]
        return f"{len(listed)} model{'s' if len(listed) != 1 else ''}"
    except (ValueError, TypeError, KeyError):
        return "but not with a list of models"
