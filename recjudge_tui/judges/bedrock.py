"""Models on Amazon Bedrock through its Converse API. The optional package boto3 signs with the AWS credential chain."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar

import httpx2 as httpx

from recjudge_tui.domain.address import with_options
from recjudge_tui.domain.calls import PlacedImage, Reply, Request
from recjudge_tui.domain.judge import Identity, JudgeSpec, Workload
from recjudge_tui.domain.run_options import MOST_AT_ONCE
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, JudgeError, RecjudgeError
from recjudge_tui.judges.base import within
from recjudge_tui.judges.http import CONNECT_S, broken, late
from recjudge_tui.judges.keys import Key
from recjudge_tui.judges.replies import (
    CallTarget,
    ServerError,
    VendorReply,
    failure,
    has_images,
    is_blind,
    refused_part,
    retry_after,
    sees_no_images,
    sound_text,
    usage_of,
)
from recjudge_tui.judges.servers import (
    Endpoints,
    RejectedPartError,
    VendorJudge,
    checked_url,
    content_of,
    split_system,
    without_bounds,
)
from recjudge_tui.judges.trust import AWS, Sent, pairs_of, require_trust

BEARER = "AWS_BEARER_TOKEN_BEDROCK"
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
    """The judge for `bedrock:MODEL`, a model id or inference profile; no call is made. `--base-url` names another endpoint
    than the region's. Raises UsageError for a bad base URL."""
    return BedrockJudge(spec.spec, spec.target, tuple(map(checked_url, spec.base_urls)))


class BedrockJudge(VendorJudge):
    """One model. boto3 blocks until the answer comes, so every call in flight has a thread. boto3's retries are off."""

    schema_part = "outputConfig"
    droppable = ("outputConfig", "temperature", "cachePoint")
    counts: ClassVar[dict[str, str]] = {
        "input": "usage.inputTokens+usage.cacheReadInputTokens+usage.cacheWriteInputTokens",
        "output": "usage.outputTokens",
        "cached_input": "usage.cacheReadInputTokens",
        "cache_written": "usage.cacheWriteInputTokens",
    }

    def __init__(self, name: str, model: str, urls: tuple[str, ...] = ()) -> None:
        super().__init__(name, model, urls)
        self._given = urls
        self._clients: dict[str, Any] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._keys: tuple[Key, ...] = ()

    def secrets(self) -> tuple[Sent, ...]:
        """The credential chain, if an address is given; else the region's own server gets it."""
        return pairs_of((AWS,), self._given)

    def check_trust(self) -> None:
        require_trust(self.secrets())

    async def prepare(self, workload: Workload) -> Identity:
        """Find credentials and region. Only the first call shows whether the model can be used. Raises JudgeError when
        boto3 is not installed, or there are no credentials or no region."""
        self._timeout_s = workload.timeout_s
        self.check_trust()
        try:
            # threads and connections are made as they are needed: the run's concurrency may be raised later
            self._clients, self._keys = await asyncio.to_thread(
                open_clients, self._given, workload.timeout_s, MOST_AT_ONCE
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
        return Identity(name=self._model, endpoints=self.urls)

    async def close(self) -> None:
        clients, self._clients = self._clients, {}
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)
        for client in clients.values():
            client.close()

    def _secrets(self) -> tuple[Key, ...]:
        return self._keys

    def _wanted(self, request: Request) -> dict[str, Any]:
        schema = {"schema": json.dumps(without_bounds(request.reply_schema)), "name": request.schema_name}
        wanted = {
            "maxTokens": request.sampling.max_tokens,
            "temperature": request.sampling.temperature,
            # this API takes the schema as text
            "outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}},
        }
        return wanted | ({"cachePoint": "default"} if any(maker in self._model for maker in _CACHING) else {})

    def _content(self, request: Request, sent: dict[str, Any]) -> dict[str, Any]:
        """The keyword arguments of `converse`."""
        system, others = split_system(request.messages)
        blocks = [_text(sound_text(text)) for text in system]
        if blocks and "cachePoint" in sent:
            blocks.append({"cachePoint": {"type": "default"}})
        inference = {name: sent[name] for name in ("maxTokens", "temperature") if name in sent}
        body = {
            "modelId": self._model,
            "messages": [{"role": m.role, "content": content_of(m, _text, _image)} for m in others],
            "inferenceConfig": inference,
        }
        options = {name: value for name, value in sent.items() if name not in ("cachePoint", *inference)}
        return with_options(body | ({"system": blocks} if blocks else {}), options)

    async def _attempt(self, request: Request, deadline: float) -> Reply:
        """One request in a thread of its own. A thread cannot be stopped; it ends with boto3's time limit."""
        if not self._clients:
            raise JudgeError("The judge bedrock was asked before it was prepared")
        from botocore.exceptions import BotoCoreError, ClientError
        from botocore.parsers import ResponseParserError

        body = self._body(request)

        async def converse(url: str) -> tuple[dict[str, Any], float]:
            begin = time.monotonic()
            left, call = max(deadline - begin, 0.001), partial(self._clients[url].converse, **body.content)
            try:
                in_thread = asyncio.get_running_loop().run_in_executor(self._threads, call)
                return await within(left, in_thread), time.monotonic() - begin
            except asyncio.TimeoutError:
                raise late(url, left) from None
            except (ClientError, BotoCoreError, ResponseParserError) as error:
                code, said, status, _ = _parts(error)
                if has_images(request) and status and is_blind(status, said):
                    raise sees_no_images(self._model, self._scrub(one_line(said.message, 400))) from None
                # an old boto3 refuses what it does not know
                unknown = type(error).__name__ == "ParamValidationError" and "outputConfig" in str(error)
                droppable = self.droppable if code == "ValidationException" else ("cachePoint",)
                refused = refused_part(400, said, body.sent, droppable) if status else None
                if refused or (unknown and "outputConfig" in body.sent):
                    raise RejectedPartError(refused or "outputConfig") from None
                fault = failure_of(error, url, self._model, self._scrub)
                raise self._endpoints.pause_server(url, fault) from None

        answer, latency_s = await self._endpoints.call(converse, request.seat)
        message = (answer.get("output") or {}).get("message")
        if not isinstance(message, dict):
            title = "Bedrock's answer has no message"
            raise CallError("bad_body", title, "It is not a Converse answer.", retry=True)
        blocks = message.get("content") or []
        thinking = ((block.get("reasoningContent") or {}).get("reasoningText") or {} for block in blocks)
        said = VendorReply(
            text="".join(sound_text(block.get("text")) for block in blocks),
            thinking="".join(sound_text(part.get("text")) for part in thinking),
            model=self._model,
            stop=sound_text(answer.get("stopReason")),
            usage=usage_of(answer, self.counts),
        )
        return self._reply(said, request, body, latency_s)


def _text(text: str) -> dict[str, Any]:
    return {"text": text}


def _image(placed: PlacedImage) -> dict[str, Any]:
    """boto3 encodes the bytes."""
    return {"image": {"format": "jpeg", "source": {"bytes": placed.data}}}


# ---- boto3 -------------------------------------------------------------------------------------------------------


def open_clients(
    urls: tuple[str, ...], timeout_s: float, concurrency: int
) -> tuple[dict[str, Any], tuple[Key, ...]]:
    """A client for each URL (by default the region's own), and the secrets they sign with. Raises ModuleNotFoundError
    without boto3, JudgeError without credentials or region."""
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


def _secrets_of(session: Any) -> tuple[Key, ...]:
    """The secrets that the session signs with. Raises NoCredentialsError if there are none."""
    import botocore.exceptions

    bearer = os.environ.get(BEARER, "")
    credentials = session.get_credentials()
    if credentials is None and not bearer:
        raise botocore.exceptions.NoCredentialsError
    parts = [(BEARER, bearer)]
    if credentials is not None:
        frozen = credentials.get_frozen_credentials()
        parts += [("AWS secret key", frozen.secret_key), ("AWS session token", frozen.token)]
    return tuple(Key(name, secret) for name, secret in parts if secret)


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


# of the service's answers, by code: kind, title; the others are read like any server's
_BY_CODE = {
    "ServiceQuotaExceededException": ("rate_limit", "A Bedrock quota is used up"),
    "ModelNotReadyException": ("overloaded", "The model is not ready"),
    "ModelErrorException": ("server_error", "The model failed"),
}


def failure_of(error: Exception, url: str, model: str, scrub: Callable[[str], str]) -> RecjudgeError:
    """The error for a failure of boto3: a JudgeError if every further call would fail too, else a CallError."""
    from botocore.exceptions import ConnectionError as NoConnectionError
    from botocore.exceptions import HTTPClientError, ParamValidationError
    from botocore.parsers import ResponseParserError

    code, said, status, headers = _parts(error)
    cause = scrub(one_line(said.message, 400))
    if isinstance(error, ParamValidationError):
        return CallError("bad_request", "boto3 refused to send this request", cause)
    if isinstance(error, (HTTPClientError, NoConnectionError, ResponseParserError)):
        lost = broken(url, error)
        lost.cause = scrub(lost.cause)
        return lost
    if not status:
        return _not_ready(error)
    if code in _CREDENTIALS:
        return JudgeError(f"Bedrock refused the AWS credentials ({code})", cause, _NEXT)
    if _NO_MODEL.search(said.message):
        return JudgeError(
            f"Bedrock cannot serve “{model}” under this name",
            cause,
            "Write a model id or inference profile of this region: aws bedrock list-inference-profiles.",
        )
    if code in _BY_CODE:
        return CallError(*_BY_CODE[code], cause, retry=True, retry_after=retry_after(headers))
    return failure(status, headers, said, CallTarget(url, model, "", scrub))


def _parts(error: Exception) -> tuple[str, ServerError, int, httpx.Headers]:
    """Code, words, status (0: there was no answer) and headers of an error of the service, or of boto3."""
    response = getattr(error, "response", None)
    if not isinstance(response, dict):
        return "", ServerError(str(error)), 0, httpx.Headers()
    details, meta = response.get("Error", {}), response.get("ResponseMetadata", {})
    code, message = str(details.get("Code") or ""), str(details.get("Message") or "")
    status = meta.get("HTTPStatusCode")
    if not isinstance(status, int) or status < 400:
        # errors that boto3 makes itself have a code but no status
        status = 429 if code == "ThrottlingException" else 500
    said = ServerError(message, kind="exceed_context_size_error" if _TOO_LONG.search(message) else "")
    return code, said, status, httpx.Headers(meta.get("HTTPHeaders") or {})
