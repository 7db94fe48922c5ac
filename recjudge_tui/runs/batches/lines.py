"""Sends the lines of a batch file live to servers that speak OpenAI's API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

import httpx

from recjudge_tui.domain.run_options import TIMEOUT_S
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, JudgeError, RecjudgeError
from recjudge_tui.judges.batch.lines import RequestLine
from recjudge_tui.judges.http.endpoints import Endpoints, under
from recjudge_tui.judges.http.failures import CallTarget, error_of, failure
from recjudge_tui.judges.http.keys import Key, find_keys, missing_header, missing_key
from recjudge_tui.judges.http.request import Client, send
from recjudge_tui.judges.providers.openai import address_form, api_root, key_header
from recjudge_tui.runs.control.limits import CallLimits
from recjudge_tui.runs.control.retries import Failures, note_attempt

CALLS_A_SERVER = 8
# the code of an error after which no further call can work
FATAL = "refused"

# a line of the output, as a batch API writes it
Result = dict[str, Any]


class Servers(NamedTuple):
    """The servers and how to call them. `key_variable` and `header_env` (header, variable) are NAMES of variables, read
    where they are used. The user types all of this: nothing of it is taken from a file."""

    urls: tuple[str, ...]
    key_variable: str = ""
    timeout_s: float = TIMEOUT_S
    concurrency: int | None = None
    header_env: tuple[tuple[str, str], ...] = ()

    def calls_at_once(self) -> int:
        return self.concurrency or CALLS_A_SERVER * len(self.urls)


async def ask_lines(lines: Iterator[RequestLine], servers: Servers, take: Callable[[Result], None]) -> None:
    """Send all lines, many at once, and pass each result to `take` when it arrives. An exception from `take` ends it.

    Raises UsageError for a bad base URL, JudgeError when the key or the value of a header is missing.
    """
    asker = _LineAsker(servers)

    async def work() -> None:
        for line in lines:
            take(await asker.ask(line))

    workers = [asyncio.create_task(work()) for _ in range(servers.calls_at_once())]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        await asker.close()


class _Secrets:
    """The key and the values of headers. Raises JudgeError for one that is missing."""

    def __init__(self, servers: Servers, urls: tuple[str, ...]) -> None:
        self._keys: list[Key] = []
        self.headers: dict[str, str] = {}
        variables = [servers.key_variable] if servers.key_variable else []
        variables += [variable for _, variable in servers.header_env]
        found = find_keys(variables, urls, typed=True)
        if variable := servers.key_variable:
            if variable not in found:
                raise missing_key(variable, servers.urls[0])
            self._add(found[variable], key_header(found[variable], urls))
        for name, variable in servers.header_env:
            if variable not in found:
                raise missing_header(name, variable)
            self._add(found[variable], found[variable].header(name))

    def _add(self, key: Key, headers: dict[str, str]) -> None:
        self._keys.append(key)
        self.headers |= headers

    def scrub(self, text: str) -> str:
        for key in self._keys:
            text = key.scrub(text)
        return text


class _LineAsker:
    """Sends each line to the least busy of one or more servers. Belongs to one event loop."""

    def __init__(self, servers: Servers) -> None:
        self._endpoints = Endpoints(tuple(map(api_root, servers.urls)))
        secrets = _Secrets(servers, self._endpoints.urls)
        self._headers = {"Content-Type": "application/json", **secrets.headers}
        self._target = CallTarget("", "the model of the file", servers.key_variable, secrets.scrub)
        self._timeout_s = servers.timeout_s
        self._client = Client(self._endpoints.urls)
        self._limits = CallLimits(asyncio.Event())

    async def ask(self, line: RequestLine) -> Result:
        """The result line of one call, or of its error after the same retries as in a live run."""
        failures = Failures(self._limits)
        while True:
            await self._limits.wait_out_pause()
            try:
                response = await self._endpoints.call(partial(self._post, line))
                result = _result(line, response=_response(self._target.scrub(response.text)))
            except CallError as error:
                note_attempt(self._limits, error)
                if failures.end_with(error):
                    return _result(line, error=_error(error.kind, error))
                await failures.wait(error)
            except JudgeError as error:
                return _result(line, error=_error(FATAL, error))
            else:
                note_attempt(self._limits)
                return result

    async def _post(self, line: RequestLine, url: str) -> httpx.Response:
        response = await send(
            self._client,
            "POST",
            under(url, line.path),
            headers=self._headers,
            content=line.body,
            timeout_s=self._timeout_s,
        )
        if response.status_code != 200:
            target = replace(self._target, server=url, address_form=address_form(url))
            fault = failure(response.status_code, response.headers, error_of(response), target)
            raise self._endpoints.pause_server(url, fault)
        return response

    async def close(self) -> None:
        await self._client.aclose()


def _response(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise CallError("bad_body", "The answer is not JSON", one_line(text, 120), retry=True) from None
    return {"status_code": 200, "request_id": uuid4().hex, "body": body}


def _result(line: RequestLine, response: object = None, error: object = None) -> Result:
    return {
        "id": f"batch_req_{uuid4().hex}",
        "custom_id": line.custom_id,
        "response": response,
        "error": error,
    }


def _error(code: str, error: RecjudgeError) -> dict[str, str]:
    return {"code": code, "message": str(error)}
