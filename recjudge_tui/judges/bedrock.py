"""Models on Amazon Bedrock through its Converse API. The optional package boto3 signs with the AWS credential chain."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import httpx2 as httpx

from recjudge_tui.domain.address import with_options
from recjudge_tui.domain.calls import Message, Reply, Request
from recjudge_tui.domain.judge import Identity, JudgeSpec, Workload
from recjudge_tui.domain.run_options import MOST_AT_ONCE
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, JudgeError, RecjudgeError
from recjudge_tui.judges.anthropic import checked, usage_of
from recjudge_tui.judges.base import within
from recjudge_tui.judges.http import CONNECT_S, UnreachableError, late
from recjudge_tui.judges.keys import Key
from recjudge_tui.judges.refusals import (
    CallTarget,
    ServerError,
    failure,
    is_blind,
    refused_part,
    retry_after,
    sees_no_images,
    sound_text,
)
from recjudge_tui.judges.replies import looks_like_object
from recjudge_tui.judges.servers import (
    FORMAT,
    Endpoints,
    RejectedPartError,
    VendorJudge,
    checked_url,
    split_system,
    without_bounds,
)
from recjudge_tui.judges.trust import AWS, Sent, pairs_of, require_trust

BEARER = "AWS_BEARER_TOKEN_BEDROCK"
_DROPPABLE = ("outputConfig", "temperature", "cachePoint")
_TOO_LONG = re.compile(r"input is too long|too many input tokens", re.IGNORECASE)
_NO_MODEL = re.compile(r"model identifier is invalid|on-demand throughput|end of its life", re.IGNORECASE)
_CREDENTIALS = {
    "AccessDeniedException", "ExpiredToken", "ExpiredTokenException", "IncompleteSignature",
    "InvalidClientTokenId", "InvalidSignatureException", "MissingAuthenticationTokenException",
    "NotAuthorized", "SignatureDoesNotMatch", "UnrecognizedClientException",
}  # fmt: skip
_NEXT = "Check the AWS credentials (aws sts get-caller-identity, AWS_PROFILE) and their right to bedrock:InvokeModel."
# models of other vendors answer prompt caching with an error
_CACHING = ("anthropic.", "amazon.nova")


def make(spec: JudgeSpec) -> BedrockJudge:
    """The judge for `bedrock:MODEL`, a model id or inference profile; no call is made.

    `--base-url` names another endpoint than the region's. Raises UsageError for a bad base URL.
    """
    return BedrockJudge(spec.spec, spec.target, tuple(map(checked_url, spec.base_urls)))


class BedrockJudge(VendorJudge):
    """One model. boto3 blocks until the answer comes, so every call in flight has a thread. boto3's retries are off."""

    def __init__(self, name: str, model: str, urls: tuple[str, ...] = ()) -> None:
        super().__init__(name, model, urls)
        self._urls = urls
        self._clients: dict[str, Any] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._secrets = Secrets()

    def secrets(self) -> tuple[Sent, ...]:
        """The credential chain, if an address is given; else the region's own server gets it."""
        return pairs_of((AWS,), self._urls)

    def check_trust(self) -> None:
        require_trust(self.secrets())

    async def prepare(self, workload: Workload) -> Identity:
        """Find credentials and region. Only the first call shows whether the model can be used.

        Raises JudgeError when boto3 is not installed, or there are no credentials or no region.
        """
        self._timeout_s = workload.timeout_s
        self.check_trust()
        try:
            # threads and connections are made as they are needed: the run's concurrency may be raised later
            self._clients, self._secrets = await asyncio.to_thread(
                open_clients, self._urls, workload.timeout_s, MOST_AT_ONCE
            )
        except ModuleNotFoundError:
            raise JudgeError(
                "The judge bedrock needs the package boto3",
                "It is not installed here.",
                "Install it with: pip install 'recjudge[bedrock]'",
            ) from None
        self._endpoints = Endpoints(tuple(self._clients))
        self._threads = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="bedrock")
        self._apply(workload.known)
        return Identity(name=self._model, endpoints=self._endpoints.urls)

    async def close(self) -> None:
        clients, self._clients = self._clients, {}
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)
        for client in clients.values():
            client.close()

    async def _attempt(self, request: Request, deadline: float) -> Reply:
        if not self._clients:
            raise JudgeError("The judge bedrock was asked before it was prepared")
        sent = self._parameters(request)
        converse = partial(self._converse, self._body(request, sent), sent, deadline)
        answer, latency_s = await self._endpoints.call(converse, request.seat)
        return self._reply(request, sent, answer, latency_s)

    def _parameters(self, request: Request) -> dict[str, Any]:
        """The parameters that may be refused, and the cap."""
        wanted: dict[str, Any] = {
            "maxTokens": request.sampling.max_tokens,
            "temperature": request.sampling.temperature,
            "outputConfig": "json_schema",
        }
        if any(maker in self._model for maker in _CACHING):
            wanted["cachePoint"] = "default"
        return self._accepted(wanted)

    def _body(self, request: Request, sent: dict[str, Any]) -> dict[str, Any]:
        """The keyword arguments of `converse`. This API takes the schema as text."""
        system, others = split_system(request.messages)
        blocks: list[dict[str, Any]] = [{"text": sound_text(text)} for text in system]
        if blocks and "cachePoint" in sent:
            blocks.append({"cachePoint": {"type": "default"}})
        body: dict[str, Any] = {
            "modelId": self._model,
            "messages": [{"role": m.role, "content": _content(m)} for m in others],
            "inferenceConfig": {k: sent[k] for k in ("maxTokens", "temperature") if k in sent},
        }
        if blocks:
            body["system"] = blocks
        if "outputConfig" in sent:
            schema = {"schema": json.dumps(without_bounds(request.reply_schema)), "name": request.schema_name}
            body["outputConfig"] = {
                "textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}
            }
        return with_options(body, request.sampling.extra)

    async def _converse(
        self, body: dict[str, Any], sent: dict[str, Any], deadline: float, url: str
    ) -> tuple[dict[str, Any], float]:
        """One request in its own thread. A thread cannot be stopped; it ends with boto3's time limit."""
        from botocore.exceptions import BotoCoreError, ClientError
        from botocore.parsers import ResponseParserError

        begin = time.monotonic()
        call = asyncio.get_running_loop().run_in_executor(
            self._threads, partial(self._clients[url].converse, **body)
        )
        left = max(deadline - begin, 0.001)
        try:
            answer = await within(left, call)
        except asyncio.TimeoutError:
            raise late(url, left) from None
        except (ClientError, BotoCoreError, ResponseParserError) as error:
            shows_images = any("image" in block for m in body["messages"] for block in m["content"])
            if shows_images and isinstance(error, ClientError):
                _, message, status, _ = _parts(error)
                if is_blind(status, ServerError(message)):
                    raise sees_no_images(self._model, self._secrets.scrub(one_line(message, 400))) from None
            refused = refused_parameter_of(error, sent)
            if refused is not None:
                raise RejectedPartError(refused) from None
            fault = failure_of(error, url, self._model, self._secrets)
            raise self._endpoints.pause_server(url, fault) from None
        return answer, time.monotonic() - begin

    def _reply(
        self, request: Request, sent: dict[str, Any], answer: dict[str, Any], latency_s: float
    ) -> Reply:
        message = (answer.get("output") or {}).get("message")
        if not isinstance(message, dict):
            raise CallError(
                "bad_body",
                "Bedrock's answer has no message",
                "It is not a Converse answer.",
                retry=True,
            )
        scrub, counts = self._secrets.scrub, answer.get("usage")
        blocks = message.get("content") or []
        text = scrub("".join(sound_text(block.get("text")) for block in blocks))
        names = ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens", "outputTokens")
        reply = Reply(
            text=text,
            thinking=scrub("".join(_thinking(block) for block in blocks)),
            model=self._model,
            stop=scrub(sound_text(answer.get("stopReason"))),
            structured="outputConfig" in sent and looks_like_object(text),
            usage=usage_of(counts if isinstance(counts, dict) else {}, *names),
            latency_s=latency_s,
            sent=sent,
            dropped=tuple(self._dropped),
        )
        return checked(reply, request)


def _content(message: Message) -> list[dict[str, Any]]:
    """Texts and images in the order in which they are read. boto3 encodes the bytes; this API refuses blank texts."""
    return [
        {"text": sound_text(part)}
        if isinstance(part, str)
        else {"image": {"format": FORMAT, "source": {"bytes": part.data}}}
        for part in (message.parts() if message.images else (message.content,))
        if not isinstance(part, str) or part.strip() or not message.images
    ]


def _thinking(block: dict[str, Any]) -> str:
    reasoning = (block.get("reasoningContent") or {}).get("reasoningText") or {}
    return sound_text(reasoning.get("text"))


# ---- boto3 -------------------------------------------------------------------------------------------------------


class Secrets(NamedTuple):
    """The secret parts of the AWS credentials. The repr holds their names only."""

    keys: tuple[Key, ...] = ()

    def scrub(self, text: str) -> str:
        for key in self.keys:
            text = key.scrub(text)
        return text


def open_clients(urls: tuple[str, ...], timeout_s: float, concurrency: int) -> tuple[dict[str, Any], Secrets]:
    """A client for each URL (by default the region's own), and the secrets they sign with.

    Raises ModuleNotFoundError without boto3, JudgeError without credentials or region.
    """
    import boto3
    import botocore.exceptions
    from botocore.config import Config

    config = Config(
        connect_timeout=min(CONNECT_S, timeout_s),
        read_timeout=timeout_s,
        max_pool_connections=concurrency,
        retries={"mode": "standard", "total_max_attempts": 1},
    )
    try:
        session = boto3.session.Session(region_name=os.environ.get("AWS_REGION"))  # boto3 does not read it
        secrets = _secrets_of(session)
        made = [
            session.client("bedrock-runtime", endpoint_url=url, config=config) for url in (urls or (None,))
        ]
    except botocore.exceptions.BotoCoreError as error:
        raise _not_ready(error) from None
    return {client.meta.endpoint_url: client for client in made}, secrets


def _secrets_of(session: Any) -> Secrets:
    """The secrets that the session signs with. Raises NoCredentialsError if there are none."""
    import botocore.exceptions

    bearer = os.environ.get(BEARER, "")
    credentials = session.get_credentials()
    if credentials is None and not bearer:
        raise botocore.exceptions.NoCredentialsError
    frozen = credentials.get_frozen_credentials() if credentials else None
    parts = [(BEARER, bearer)]
    if frozen is not None:
        parts += [("AWS secret key", frozen.secret_key), ("AWS session token", frozen.token)]
    return Secrets(tuple(Key(name, secret) for name, secret in parts if secret))


def _not_ready(error: Exception) -> JudgeError:
    import botocore.exceptions

    if isinstance(error, botocore.exceptions.NoRegionError):
        return JudgeError("No AWS region is set", "Bedrock needs one.", "Set it: export AWS_REGION=us-east-1")
    if isinstance(error, botocore.exceptions.NoCredentialsError):
        return JudgeError(
            "No AWS credentials found",
            "There are none in the environment, in ~/.aws, or from this machine's role.",
            "Run aws configure or aws sso login, or set AWS_PROFILE or AWS_ACCESS_KEY_ID.",
        )
    return JudgeError("The AWS credentials cannot be used", one_line(error, 300), _NEXT)


# of an error that boto3 raises without an answer, by the name of its class: kind, title
_WITHOUT_ANSWER = {
    "ReadTimeoutError": ("timeout", "No answer from {} in time"),
    "EndpointConnectionError": ("unreachable", "No connection to {}"),
    "ConnectTimeoutError": ("unreachable", "No connection to {}"),
    "ProxyConnectionError": ("unreachable", "No connection to {}"),
    "HTTPClientError": ("connection", "The connection to {} was lost"),
    "ResponseParserError": ("bad_body", "The answer of {} is not from Bedrock"),
    "ParamValidationError": ("bad_request", "boto3 refused to send this request"),
}
# of the service's answers, by code: kind, title; the others are read like any server's
_BY_CODE = {
    "ServiceQuotaExceededException": ("rate_limit", "A Bedrock quota is used up"),
    "ModelNotReadyException": ("overloaded", "The model is not ready"),
    "ModelErrorException": ("server_error", "The model failed"),
}


def refused_parameter_of(error: Exception, sent: Mapping[str, Any]) -> str | None:
    """The parameter that the server, or an old boto3, refuses; None for any other error."""
    if type(error).__name__ == "ParamValidationError":
        return "outputConfig" if "outputConfig" in sent and "outputConfig" in str(error) else None
    if not isinstance(getattr(error, "response", None), dict):
        return None
    code, message, _, _ = _parts(error)
    droppable = _DROPPABLE if code == "ValidationException" else ("cachePoint",)
    return refused_part(400, ServerError(message), sent, droppable)


def failure_of(error: Exception, url: str, model: str, secrets: Secrets) -> RecjudgeError:
    """The error for a failure of boto3: a JudgeError if every further call would fail too, else a CallError."""
    if isinstance(getattr(error, "response", None), dict):
        return _answered(error, url, model, secrets)
    names = [kind.__name__ for kind in type(error).__mro__]
    found = next((_WITHOUT_ANSWER[name] for name in names if name in _WITHOUT_ANSWER), None)
    if found is None:
        return _not_ready(error)
    why, title = one_line(secrets.scrub(str(error)), 300), found[1].format(url)
    if found[0] == "unreachable":
        return UnreachableError(title, why)
    return CallError(found[0], title, why, retry=found[0] != "bad_request")


def _answered(error: Any, url: str, model: str, secrets: Secrets) -> RecjudgeError:
    code, message, status, headers = _parts(error)
    cause = secrets.scrub(one_line(message, 400))
    if code in _CREDENTIALS:
        return JudgeError(f"Bedrock refused the AWS credentials ({code})", cause, _NEXT)
    if _NO_MODEL.search(message):
        return JudgeError(
            f"Bedrock cannot serve “{model}” under this name",
            cause,
            "Write a model id or inference profile of this region: aws bedrock list-inference-profiles.",
        )
    if code in _BY_CODE:
        return CallError(*_BY_CODE[code], cause, retry=True, retry_after=retry_after(headers))
    kind = "exceed_context_size_error" if _TOO_LONG.search(message) else ""
    return failure(
        status, headers, ServerError(message, kind=kind), CallTarget(url, model, "", secrets.scrub)
    )


def _parts(error: Any) -> tuple[str, str, int, httpx.Headers]:
    """Code, message, status and headers of an error that the service answered with."""
    details = error.response.get("Error", {})
    meta = error.response.get("ResponseMetadata", {})
    status = meta.get("HTTPStatusCode")
    # errors that boto3 makes itself have a code but no status
    by_code = 429 if details.get("Code") == "ThrottlingException" else 500
    return (
        str(details.get("Code") or ""),
        str(details.get("Message") or ""),
        status if isinstance(status, int) and status >= 400 else by_code,
        httpx.Headers(meta.get("HTTPHeaders") or {}),
    )
