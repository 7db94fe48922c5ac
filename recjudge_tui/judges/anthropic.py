"""Claude through Anthropic's own API, or any server that speaks its `/v1/messages`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import httpx2 as httpx

from recjudge_tui.domain.address import with_options
from recjudge_tui.domain.calls import Message, Reply, Request, Usage, whole
from recjudge_tui.domain.judge import Identity, JudgeSpec, Workload
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import JudgeError
from recjudge_tui.judges.keys import Key
from recjudge_tui.judges.refusals import (
    CallTarget,
    ServerError,
    body_json,
    ends_a_run,
    error_in_body,
    error_of,
    failure,
    overflow,
    refused_part,
    sound_text,
)
from recjudge_tui.judges.replies import bad_body, finished, json_object, looks_like_object, refused
from recjudge_tui.judges.servers import (
    MEDIA_TYPE,
    BatchJudge,
    RequestBody,
    as_base64,
    checked_url,
    split_system,
    without_bounds,
    written,
)

DEFAULT_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
_EXPECTED = "a message"
_DROPPABLE = ("output_config", "temperature", "cache_control")
# the usual status of each type of error, for errors sent with status 200
_STATUS_OF = {
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
    "invalid_request_error": 400,
}


def make(spec: JudgeSpec) -> AnthropicJudge:
    """The judge for `anthropic:MODEL`; no call is made. Raises UsageError for a bad base URL."""
    urls = spec.base_urls or tuple(filter(None, [os.environ.get("ANTHROPIC_BASE_URL")])) or (DEFAULT_URL,)
    return AnthropicJudge(spec, tuple(map(api_root, urls)))


def api_root(url: str) -> str:
    """The URL without the version and anything after it."""
    return checked_url(url).removesuffix("/messages").removesuffix("/v1")


class AnthropicJudge(BatchJudge[int | None]):
    """One model. The instructions shared by all calls are marked for the server's prefix cache.

    This API has no seed, so none is sent.
    """

    chat_path = batch_path = "/v1/messages"
    default_key = "ANTHROPIC_API_KEY"
    keyed_host = "api.anthropic.com"

    def __init__(self, spec: JudgeSpec, urls: tuple[str, ...]) -> None:
        super().__init__(spec, urls)
        self._headers["anthropic-version"] = VERSION

    async def prepare(self, workload: Workload) -> Identity:
        """Ask each server for the model's context length.

        Raises JudgeError when the key is missing or refused, when no server answers, or when one says that it
        has no such model. A server without information on models is accepted.
        """
        contexts = await self._inspect_servers(workload)
        self._apply(workload.known)
        return Identity(
            name=self._model,
            endpoints=self._endpoints.urls,
            context_length=min(filter(None, contexts), default=None),
        )

    async def _inspect(self, url: str) -> int | None:
        """The model's context length, if the server reports it."""
        response = await self._fetch(f"{url}/v1/models/{self._model}")
        status = response.status_code
        if status == 200:
            return _context_of(response)
        error = error_of(response)
        no_model = status == 404 and error.kind == "not_found_error" and "model" in error.message.lower()
        if no_model or ends_a_run(status, error):
            raise self._unusable(url, response)
        return None

    def _no_server(self, cause: str) -> JudgeError:
        return JudgeError(
            f"No server at {', '.join(self._endpoints.urls)}",
            cause,
            "Check the address (--base-url, ANTHROPIC_BASE_URL) and the network connection.",
        )

    def _key_header(self, key: Key) -> dict[str, str]:
        return key.header("x-api-key")

    def _body(self, request: Request) -> RequestBody:
        schema = {"type": "json_schema", "schema": without_bounds(request.reply_schema)}
        wanted = {
            "max_tokens": request.sampling.max_tokens,
            "output_config": {"format": schema},
            "temperature": request.sampling.temperature,
            "cache_control": {"type": "ephemeral"},
        }
        sent = self._accepted(with_options(wanted, request.sampling.extra))
        parameters = dict(sent)
        mark = parameters.pop("cache_control", None)
        system, others = split_system(request.messages)
        blocks: list[dict[str, Any]] = [{"type": "text", "text": sound_text(text)} for text in system]
        if blocks and mark:
            blocks[-1]["cache_control"] = mark
        body = {
            "model": self._model,
            **parameters,
            **({"system": blocks} if blocks else {}),
            "messages": [{"role": m.role, "content": _content(m)} for m in others],
        }
        recorded = {**sent, "output_config": "json_schema"} if "output_config" in sent else sent
        return RequestBody(written(body), sent, recorded)

    def _usage(self, body: Mapping[str, Any]) -> Usage:
        counts = body.get("usage")
        return usage_of(
            counts if isinstance(counts, dict) else {},
            "input_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
            "output_tokens",
        )

    def _refused(
        self, status: int, error: ServerError, sent: Mapping[str, Any], request: Request
    ) -> str | None:
        return refused_part(status, error, sent, _DROPPABLE)

    def _read(
        self, response: httpx.Response, url: str, request: Request, body: RequestBody, latency_s: float | None
    ) -> Reply:
        target = self._target(url)
        message = _message(response, target)
        blocks = message.get("content")
        if not isinstance(blocks, list):
            raise bad_body(url, _EXPECTED, "It has no content.")
        text = target.scrub(_joined(blocks, "text"))
        reply = Reply(
            text=text,
            thinking=target.scrub(_joined(blocks, "thinking")),
            model=target.scrub(sound_text(message.get("model"))),
            stop=target.scrub(sound_text(message.get("stop_reason"))),
            structured="output_config" in body.sent and looks_like_object(text),
            usage=self._usage(message),
            latency_s=latency_s,
            sent=body.recorded,
            dropped=tuple(self._dropped),
        )
        used = [b.get("input") for b in blocks if isinstance(b, dict) and b.get("type") == "tool_use"]
        return checked(reply, request, {"tool call": target.scrub(json.dumps(used[0]))} if used else {})


def _content(message: Message) -> str | list[dict[str, Any]]:
    """The text, or texts and images in the order in which they are read."""
    if not message.images:
        return sound_text(message.content)
    return [
        {"type": "text", "text": sound_text(part)}
        if isinstance(part, str)
        else {
            "type": "image",
            "source": {"type": "base64", "media_type": MEDIA_TYPE, "data": as_base64(part)},
        }
        for part in message.parts()
        if not isinstance(part, str) or part.strip()
    ]


def _message(response: httpx.Response, target: CallTarget) -> dict[str, Any]:
    """The message in an answer. An error sent with status 200 is raised as what `failure` makes of it."""
    body = json_object(response, target, _EXPECTED, _folded)
    if body.get("error"):
        error = error_in_body(body)
        raise failure(_STATUS_OF.get(error.kind, 502), httpx.Headers(), error, target)
    return body


def _joined(blocks: list[Any], kind: str) -> str:
    """The texts of the blocks of one kind (`text`, `thinking`), which is also the name of their field, joined."""
    return "".join(
        sound_text(block.get(kind))
        for block in blocks
        if isinstance(block, dict) and block.get("type") == kind
    )


def _context_of(response: httpx.Response) -> int | None:
    try:
        body = body_json(response)
    except ValueError:
        return None
    return whole(body.get("max_input_tokens")) if isinstance(body, dict) else None


def _folded(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that came as a stream. A stream that ends before its last event has no content."""
    message: dict[str, Any] = {}
    blocks: dict[object, dict[str, Any]] = {}
    counts: dict[str, Any] = {}
    for event in events:
        kind, delta = event.get("type"), event.get("delta")
        delta = delta if isinstance(delta, dict) else {}
        if kind == "error":
            return event
        if kind == "message_start" and isinstance(event.get("message"), dict):
            message = event["message"]
        if kind == "content_block_start" and isinstance(event.get("content_block"), dict):
            blocks[str(event.get("index"))] = dict(event["content_block"])
        block = blocks.setdefault(str(event.get("index")), {}) if kind == "content_block_delta" else {}
        for name in ("text", "thinking"):
            block[name] = sound_text(block.get(name)) + sound_text(delta.get(name))
        if kind == "message_delta":
            message |= delta
        for place in (message.get("usage"), event.get("usage")):
            counts |= {k: v for k, v in (place if isinstance(place, dict) else {}).items() if v is not None}
    if not message.get("stop_reason"):
        return {}
    return {**message, "content": list(blocks.values()), "usage": counts}


# ---- shared with Bedrock -----------------------------------------------------------------------------------------

_REFUSALS = {
    "refusal": "The model refused to answer",
    "content_filtered": "A content filter stopped the answer",
    "guardrail_intervened": "A guardrail stopped the answer",
}


def checked(reply: Reply, request: Request, places: Mapping[str, str] | None = None) -> Reply:
    """The reply if it has an answer. Raises CallError `refusal`, `overflow` (the context was full), or what `finished`
    raises."""
    if reply.stop in _REFUSALS:
        raise refused(reply, _REFUSALS[reply.stop], one_line(reply.text, 400))
    if reply.stop == "model_context_window_exceeded":
        raise overflow("Prompt and reply filled the context.", reply.usage.input)
    return finished(reply, request, cut=reply.stop == "max_tokens", places=places)


def usage_of(counts: Mapping[str, Any], fresh: str, cached: str, written: str, output: str) -> Usage:
    """Token counts under these names. `fresh` excludes what the cache served or stored; `Usage.input` includes it."""
    tokens, from_cache, to_cache = (whole(counts.get(name)) for name in (fresh, cached, written))
    return Usage(
        input=None if tokens is None else tokens + (from_cache or 0) + (to_cache or 0),
        output=whole(counts.get(output)),
        cached_input=from_cache,
        cache_written=to_cache,
    )
