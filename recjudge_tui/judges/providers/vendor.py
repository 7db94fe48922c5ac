"""The common part of judges that ask a language model: servers, key, connections, and parameters that a server
refuses.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import urlsplit

import httpx

from recjudge_tui.domain.calls import Reply, Request, Usage
from recjudge_tui.domain.judge import Capabilities, Identity, JudgeSpec, Workload
from recjudge_tui.domain.roles import RaterKind
from recjudge_tui.domain.run_options import TIMEOUT_S
from recjudge_tui.errors import CallError, JudgeError, RecjudgeError
from recjudge_tui.judges.http.body import body_json
from recjudge_tui.judges.http.curl import WireCall
from recjudge_tui.judges.http.endpoints import Endpoints, under
from recjudge_tui.judges.http.failures import (
    CallTarget,
    ServerError,
    UnreachableError,
    error_of,
    failure,
)
from recjudge_tui.judges.http.keys import Key, check_trust, find_keys, is_set, missing_header, missing_key
from recjudge_tui.judges.http.request import Client, send
from recjudge_tui.judges.providers.images import has_images, is_blind, sees_no_images
from recjudge_tui.judges.trust import Sent, pairs_of

PREPARE_S = 15.0

Facts = TypeVar("Facts")


class RejectedParameterError(Exception):
    """The server refuses a parameter of the request."""

    def __init__(self, parameter: str) -> None:
        super().__init__(parameter)
        self.parameter = parameter


class VendorJudge(ABC):
    """One model at one or more servers. A parameter that a server refuses is left out for the rest of the run."""

    rater_kind: RaterKind = "judge"
    cacheable = True
    concurrency = 8
    takes_images = True

    def __init__(self, name: str, model: str, urls: tuple[str, ...]) -> None:
        self.name = name
        self._model = model
        self._endpoints = Endpoints(urls)
        self._dropped: dict[str, None] = {}
        self._logprobs = False
        self._timeout_s = TIMEOUT_S

    @property
    def urls(self) -> tuple[str, ...]:
        """The servers that are asked."""
        return self._endpoints.urls

    @abstractmethod
    async def prepare(self, workload: Workload) -> Identity: ...

    @abstractmethod
    async def close(self) -> None: ...

    async def ask(self, request: Request) -> Reply:
        deadline = time.monotonic() + self._timeout_s
        while True:
            try:
                return await self._attempt(request, deadline)
            except RejectedParameterError as refusal:
                self._dropped[refusal.parameter] = None  # the next request is without it, so the loop ends

    @abstractmethod
    async def _attempt(self, request: Request, deadline: float) -> Reply:
        """Send the request once, until `deadline` (monotonic). Raises RejectedParameterError, and what `ask` raises."""

    def _apply(self, known: Capabilities | None, digest: str = "") -> None:
        """Leave out what these servers have refused before, and ask for logprobs if they give them."""
        if known is not None and known.hold_for(self._endpoints.urls, digest):
            self._dropped.update(dict.fromkeys(known.refused))
            self._logprobs = known.logprobs is True

    def _accepted(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters without those that were refused before and those without a value."""
        return {k: v for k, v in parameters.items() if k not in self._dropped and v is not None}


class RequestBody(NamedTuple):
    """The body of one request. `sent` are its parameters beside model and messages.

    `recorded` are the same parameters as stored with the call: of the schema, which the prompt determines, only the
    mode.
    """

    content: bytes
    sent: Mapping[str, Any]
    recorded: dict[str, Any]


class QuietHeaders(httpx.Headers):
    """Headers of a request. The repr shows only their names, since one of them may be the key."""

    def __repr__(self) -> str:
        return f"QuietHeaders({', '.join(self)})"


class HttpJudge(VendorJudge, Generic[Facts]):
    """A model behind an HTTP API. `Facts` is what one server says of the model before the first call.

    `urls` are where the judge of `spec` answers. `chat_path` follows a server's URL. `default_key` names the variable of
    the key unless the user names another one; `keyed_host` is the vendor's own host, which always requires a key.
    """

    chat_path: str
    default_key: str
    keyed_host = ""

    def __init__(self, spec: JudgeSpec, urls: tuple[str, ...]) -> None:
        super().__init__(spec.spec, spec.target, urls)
        self._has_address = bool(spec.base_urls)
        self._key_variable = spec.api_key_env
        self._key: Key | None = None
        self._header_env: tuple[tuple[str, str], ...] = ()
        self._header_values: list[Key] = []
        self._headers = QuietHeaders({"Content-Type": "application/json"})
        self._client: Client | None = None

    def send_headers(self, headers: tuple[tuple[str, str], ...]) -> None:
        """Also send these headers, each with the value of its variable."""
        self._header_env = headers

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _inspect_servers(self, workload: Workload) -> list[Facts]:
        """Look up the key and ask each server about the model.

        Raises JudgeError when the key is missing or refused, when no server answers, or when a server does not have
        the model. A server that cannot be reached is set aside as long as another one answers.
        """
        self._timeout_s = workload.timeout_s
        self._look_up_key()
        facts: list[Facts] = []
        failures: list[UnreachableError] = []
        for url in self._endpoints.urls:
            try:
                facts.append(await self._inspect(url))
            except UnreachableError as error:
                self._endpoints.set_aside(url)
                failures.append(error)
        if not facts:
            if advised := next((failure for failure in failures if failure.next_step), None):
                raise JudgeError(advised.title, advised.cause, advised.next_step)
            raise self._no_server("; ".join(dict.fromkeys(failure.cause for failure in failures)))
        return facts

    @abstractmethod
    async def _inspect(self, url: str) -> Facts:
        """What the server reports about the model.

        Raises UnreachableError, and JudgeError when the model cannot be used.
        """

    @abstractmethod
    def _no_server(self, cause: str) -> JudgeError:
        """The error if no server can be reached, with this cause."""

    @abstractmethod
    def _body(self, request: Request) -> RequestBody: ...

    @abstractmethod
    def _read(
        self, response: httpx.Response, url: str, request: Request, body: RequestBody, latency_s: float | None
    ) -> Reply:
        """The reply in an answer with status 200. Raises like `ask`."""

    @abstractmethod
    def _usage(self, body: Mapping[str, Any]) -> Usage:
        """The server's token counts from the body of its answer; empty if it sends none."""

    @abstractmethod
    def _refused(self, status: int, error: ServerError, sent: Mapping[str, Any]) -> str | None:
        """The parameter that the server refuses; None when the error is another one."""

    def _meaning(
        self, url: str, response: httpx.Response, error: ServerError, request: Request | None = None
    ) -> RecjudgeError:
        """The error for an answer with a status other than 200."""
        return failure(response.status_code, response.headers, error, self._target(url))

    async def _attempt(self, request: Request, deadline: float) -> Reply:
        body = self._body(request)
        post = partial(self._post, body.content, deadline)
        url, response, latency_s = await self._endpoints.call(post, request.seat)
        if response.status_code == 200:
            return self._read_counted(response, url, request, body, latency_s)
        error = error_of(response)
        if has_images(request) and is_blind(response.status_code, error):
            raise sees_no_images(self._model, self._target(url).scrub(error.message))
        refused = self._refused(response.status_code, error, body.sent)
        if refused is not None:
            raise RejectedParameterError(refused)
        fault = self._meaning(url, response, error, request)
        counted = self._counted(response)
        if isinstance(fault, CallError) and counted != Usage():
            fault.usage = counted
        raise self._endpoints.pause_server(url, fault)

    def _read_counted(
        self, response: httpx.Response, url: str, request: Request, body: RequestBody, latency_s: float | None
    ) -> Reply:
        """The reply in an answer. If it cannot be used, the CallError has the server's token counts."""
        try:
            return self._read(response, url, request, body, latency_s)
        except CallError as error:
            error.usage = self._counted(response)
            raise

    def _counted(self, response: httpx.Response) -> Usage:
        try:
            body = body_json(response)
        except ValueError:
            return Usage()
        return self._usage(body) if isinstance(body, dict) else Usage()

    async def _post(self, content: bytes, deadline: float, url: str) -> tuple[str, httpx.Response, float]:
        """The server's URL, its answer, and the seconds it took."""
        begin = time.monotonic()
        response = await send(
            self._http(),
            "POST",
            under(url, self.chat_path),
            headers=self._headers,
            content=content,
            timeout_s=max(deadline - begin, 0.001),
        )
        return url, self._scrubbed(response), time.monotonic() - begin

    def _scrubbed(self, response: httpx.Response) -> httpx.Response:
        """The answer without the key: whatever a server sends may be stored or shown."""
        for key in self._secrets():
            response = key.scrub_answer(response)
        return response

    def _secrets(self) -> list[Key]:
        return [*([self._key] if self._key else []), *self._header_values]

    def _scrub(self, text: str) -> str:
        for key in self._secrets():
            text = key.scrub(text)
        return text

    async def _fetch(
        self, url: str, method: str = "GET", content: bytes | None = None, hint: str = ""
    ) -> httpx.Response:
        """The answer to a question about the model. Raises UnreachableError; JudgeError for any other failure."""
        timeout_s = min(PREPARE_S, self._timeout_s)
        try:
            response = await send(
                self._http(), method, url, headers=self._headers, content=content, timeout_s=timeout_s
            )
            return self._scrubbed(response)
        except UnreachableError:
            raise
        except CallError as error:
            raise JudgeError(error.title, error.cause, f"{hint}{error.next_step}") from None

    def _unusable(self, url: str, response: httpx.Response) -> JudgeError:
        """The JudgeError for a failed question about the model: no call can work."""
        fault = self._meaning(url, response, error_of(response))
        return JudgeError(fault.title, fault.cause, fault.next_step)

    def _look_up_key(self) -> None:
        """Look up the key and the values of headers.

        Raises JudgeError when the key is missing although the user named its variable or a server needs one, and when
        a header has no value.
        """
        found = find_keys(self._variables(), self.urls, own=self._own)
        self._header_values = []
        for name, variable in self._header_env:
            if variable not in found:
                raise missing_header(name, variable)
            self._header_values.append(found[variable])
            self._headers.update(found[variable].header(name))
        variable = self._variables()[0] if self._sends_key() else ""
        self._key = found.get(variable)
        if self._key is not None:
            self._headers.update(self._key_header(self._key))
        elif self._key_variable or self._needs_key():
            raise missing_key(variable, self.keyed_host if self._needs_key() else self.urls[0])

    def _needs_key(self) -> bool:
        return self.keyed_host in (urlsplit(url).hostname for url in self.urls)

    def _sends_key(self) -> bool:
        """The vendor's key is not sent to a gateway that has headers of its own."""
        return not self._header_env or bool(self._key_variable) or self._needs_key()

    def _variables(self) -> tuple[str, ...]:
        """The variables whose values are sent: that of the key, then those of headers."""
        key = (self._key_variable or self.default_key,) if self._sends_key() else ()
        return (*key, *(variable for _, variable in self._header_env))

    @property
    def _own(self) -> str:
        """The vendor, if the judge names no server: then the vendor's own is asked, or the one of the environment."""
        return "" if self._has_address else self.default_key.partition("_")[0]

    def check_trust(self) -> None:
        check_trust(self._variables(), self.urls, self._own)

    def secrets(self) -> tuple[Sent, ...]:
        named = {self._key_variable, *(variable for _, variable in self._header_env)}
        return pairs_of((name for name in self._variables() if name in named or is_set(name)), self.urls)

    def _key_header(self, key: Key) -> dict[str, str]:
        return key.bearer()

    def wire(self, request: Request, recorded: Mapping[str, Any], dropped: Sequence[str]) -> WireCall:
        """The call that sent `request`, with the parameters `recorded` with it and without those the server refused.
        No key is looked up: its header contains `$NAME`.
        """
        body: dict[str, Any] = json.loads(self._body(request).content)
        # the schema is recorded by its mode only
        body.update({k: v for k, v in recorded.items() if k in body and v != "json_schema"})
        body = {k: v for k, v in body.items() if k not in dropped}
        url = self._endpoints.urls[0]
        headers = {"Content-Type": "application/json"}
        variable = self._key_variable or (
            self.default_key if urlsplit(url).hostname == self.keyed_host else ""
        )
        if variable:
            headers |= self._key_header(Key(variable, f"${variable}"))
        headers |= {name: f"${named}" for name, named in self._header_env}
        return WireCall(under(url, self.chat_path), headers, body)

    def _http(self) -> Client:
        if self._client is None:
            self._client = Client(self._endpoints.urls)
        return self._client

    def _target(self, url: str) -> CallTarget:
        variable = self._key_variable if self._key is None else self._key.variable
        return CallTarget(url, self._model, variable, self._scrub, self._address_form(url))

    def _address_form(self, url: str) -> str:
        """How the address of such a server is written; empty if there is nothing to say."""
        return ""


class BatchAccess(NamedTuple):
    """Where batches are sent. `headers` contain the key and must not be shown or stored."""

    url: str
    headers: Mapping[str, str]
    target: CallTarget


class BatchJudge(HttpJudge[Facts]):
    """A judge that can also write requests and read replies without sending anything, for batches.

    `batch_path` is where the provider would send a single call of a batch.
    """

    batch_path: str

    def batch_identity(self, known: Capabilities | None) -> Identity:
        """The identity, as far as it is known without a call.

        `known` are refused parameters, which `batch_body` then leaves out.
        """
        self._apply(known)
        return Identity(name=self._model, endpoints=self._endpoints.urls)

    def batch_access(self) -> BatchAccess:
        """Where to send batches, and with which key. Raises JudgeError when the key is missing."""
        self._look_up_key()
        url = self._endpoints.urls[0]
        return BatchAccess(url, self._headers, self._target(url))

    def batch_body(self, request: Request) -> bytes:
        """The body that `ask` would send."""
        return self._body(request).content

    def read_batch(self, body: bytes, request: Request) -> Reply:
        """The reply in the body of a batch's result. Raises like `ask`."""
        response = self._scrubbed(httpx.Response(200, content=body))
        return self._read_counted(response, self._endpoints.urls[0], request, self._body(request), None)
