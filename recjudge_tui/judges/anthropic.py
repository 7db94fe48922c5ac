"""Claude through Anthropic's own API, or any server that speaks its `/v1/messages`."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from recjudge_tui.domain.calls import Request, whole
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.judges import replies, servers
from recjudge_tui.judges.keys import Key

VERSION = "2023-06-01"


class AnthropicJudge(servers.BatchJudge):
    """One model. The instructions shared by all calls are marked for the server's prefix cache. This API has no seed, so
    none is sent. Its input tokens are those that the cache neither served nor stored."""

    url_variable, default_url = "ANTHROPIC_BASE_URL", "https://api.anthropic.com"
    chat_path = batch_path = "/v1/messages"
    default_key = "ANTHROPIC_API_KEY"
    keyed_host = "api.anthropic.com"
    expected = "a message"
    schema_part = "output_config"
    droppable = ("output_config", "temperature", "cache_control")
    counts: ClassVar[dict[str, str]] = {
        "input": "usage.input_tokens+usage.cache_read_input_tokens+usage.cache_creation_input_tokens",
        "output": "usage.output_tokens",
        "cached_input": "usage.cache_read_input_tokens",
        "cache_written": "usage.cache_creation_input_tokens",
    }

    def __init__(self, spec: JudgeSpec) -> None:
        super().__init__(spec)
        self._headers["anthropic-version"] = VERSION

    @staticmethod
    def api_root(url: str) -> str:
        """The URL without the version and anything after it."""
        return servers.checked_url(url).removesuffix("/messages").removesuffix("/v1")

    async def _inspect(self, url: str) -> servers.Served:
        """A server without information on models is accepted."""
        response = await self._fetch(f"{url}/v1/models/{self._model}")
        if response.status_code == 200:
            return servers.Served(context=whole(replies.object_in(response).get("max_input_tokens")))
        error = replies.error_of(response)
        lacks = response.status_code == 404 and error.kind == "not_found_error"
        if (lacks and "model" in error.message.lower()) or replies.ends_a_run(response):
            raise self._unusable(url, response)
        return servers.Served()

    def _key_header(self, key: Key) -> dict[str, str]:
        return key.header("x-api-key")

    def _wanted(self, request: Request) -> dict[str, Any]:
        schema = {"type": "json_schema", "schema": servers.without_bounds(request.reply_schema)}
        return {
            "max_tokens": request.sampling.max_tokens,
            "output_config": {"format": schema},
            "temperature": request.sampling.temperature,
            "cache_control": {"type": "ephemeral"},
        }

    def _content(self, request: Request, sent: dict[str, Any]) -> dict[str, Any]:
        system, others = servers.split_system(request.messages)
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in system]
        if blocks and (mark := sent.get("cache_control")):
            blocks[-1]["cache_control"] = mark
        return {
            "model": self._model,
            **{name: value for name, value in sent.items() if name != "cache_control"},
            **({"system": blocks} if blocks else {}),
            "messages": [{"role": m.role, "content": servers.content_of(m, _image)} for m in others],
        }

    def _said(self, answer: dict[str, Any], target: replies.CallTarget) -> replies.VendorReply:
        if not isinstance(answer.get("content"), list):
            raise replies.bad_body(target.server, self.expected, "It has no content.")
        blocks = replies.objects_of(answer, "content")
        # the kind of a block is also the name of its field
        text, thinking = (
            "".join(replies.sound_text(block.get(kind)) for block in blocks if block.get("type") == kind)
            for kind in ("text", "thinking")
        )
        used = [json.dumps(block.get("input")) for block in blocks if block.get("type") == "tool_use"]
        model, stop = replies.sound_text(answer.get("model")), replies.sound_text(answer.get("stop_reason"))
        return replies.VendorReply(
            text, thinking, model, stop, places={"tool call": "\n".join(dict.fromkeys(used))}
        )

    @staticmethod
    def fold(events: list[dict[str, Any]]) -> dict[str, Any]:
        """The message that came as a stream. A stream that ends before its last event has no content."""
        message: dict[str, Any] = {}
        blocks: dict[str, list[dict[str, Any]]] = {}
        counts: dict[str, Any] = {}
        for event in events:
            kind, delta = event.get("type"), replies.part_of(event, "delta")
            if kind == "error":
                return event
            if kind == "message_start":
                message = replies.part_of(event, "message")
            elif kind in ("content_block_start", "content_block_delta"):
                part = replies.part_of(event, "content_block") or delta
                blocks.setdefault(str(event.get("index")), []).append(part)
            elif kind == "message_delta":
                message |= delta
            for place in (message, event):
                counts |= {k: v for k, v in replies.part_of(place, "usage").items() if v is not None}
        if not message.get("stop_reason"):
            return {}
        content = [parts[0] | replies.joined(parts, "text", "thinking") for parts in blocks.values()]
        return {**message, "content": content, "usage": counts}


def _image(base64: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": base64}}
