"""Models on Amazon Bedrock through its Converse API. The optional package boto3 signs with the AWS credential chain."""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from recjudge_tui.domain.address import with_options
from recjudge_tui.domain.calls import Message, Reply, Request, Usage
from recjudge_tui.domain.judge import Identity, JudgeSpec, Workload
from recjudge_tui.domain.run_options import MOST_AT_ONCE
from recjudge_tui.errors import CallError, JudgeError
from recjudge_tui.judges.http.deadline import within
from recjudge_tui.judges.http.endpoints import Endpoints, checked_url
from recjudge_tui.judges.http.failures import sound_text
from recjudge_tui.judges.http.request import late
from recjudge_tui.judges.providers.bedrock_client import (
    Secrets,
    blindness_of,
    failure_of,
    no_boto,
    open_clients,
    refused_parameter_of,
)
from recjudge_tui.judges.providers.claude import check_stop, split_system, usage_of
from recjudge_tui.judges.providers.images import FORMAT, sees_no_images
from recjudge_tui.judges.providers.reply import looks_like_object
from recjudge_tui.judges.providers.schemas import without_bounds
from recjudge_tui.judges.providers.vendor import RejectedParameterError, VendorJudge
from recjudge_tui.judges.trust import AWS, Sent, pairs_of, require_trust

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
            raise no_boto() from None
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
        try:
            return self._reply(sent, answer, latency_s)
        except CallError as error:
            error.usage = _usage(answer)
            raise

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
            if shows_images and (why := blindness_of(error)):
                raise sees_no_images(self._model, self._secrets.scrub(why)) from None
            refused = refused_parameter_of(error, sent)
            if refused is not None:
                raise RejectedParameterError(refused) from None
            fault = failure_of(error, url, self._model, self._secrets)
            raise self._endpoints.pause_server(url, fault) from None
        return answer, time.monotonic() - begin

    def _reply(self, sent: dict[str, Any], answer: dict[str, Any], latency_s: float) -> Reply:
        message = (answer.get("output") or {}).get("message")
        if not isinstance(message, dict):
            raise CallError(
                "bad_body",
                "Bedrock's answer has no message",
                "It is not a Converse answer.",
                retry=True,
            )
        scrub = self._secrets.scrub
        blocks = message.get("content") or []
        text = scrub("".join(sound_text(block.get("text")) for block in blocks))
        thinking = scrub("".join(_thinking(block) for block in blocks))
        stop = scrub(sound_text(answer.get("stopReason")))
        usage = _usage(answer)
        check_stop(stop, text, thinking, usage.input)
        return Reply(
            text=text,
            thinking=thinking,
            model=self._model,
            stop=stop,
            structured="outputConfig" in sent and looks_like_object(text),
            usage=usage,
            latency_s=latency_s,
            sent=sent,
            dropped=tuple(self._dropped),
        )


def _content(message: Message) -> list[dict[str, Any]]:
    """Texts and images in the order in which they are read. boto3 encodes the bytes; this API refuses blank texts."""
    return [
        {"text": sound_text(part)}
        if isinstance(part, str)
        else {"image": {"format": FORMAT, "source": {"bytes": part.data}}}
        for part in (message.parts() if message.images else (message.content,))
        if not isinstance(part, str) or part.strip() or not message.images
    ]


def _usage(answer: dict[str, Any]) -> Usage:
    counts = answer.get("usage")
    return usage_of(
        counts if isinstance(counts, dict) else {},
        "inputTokens",
        "cacheReadInputTokens",
        "cacheWriteInputTokens",
        "outputTokens",
    )


def _thinking(block: dict[str, Any]) -> str:
    reasoning = (block.get("reasoningContent") or {}).get("reasoningText") or {}
    return sound_text(reasoning.get("text"))
