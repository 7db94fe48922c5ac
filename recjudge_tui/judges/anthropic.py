"""Claude through Anthropic's own API, or any server that speaks its `/v1/messages`."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from recjudge_tui.domain.calls import PlacedImage, Request, whole
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.judges.keys import Key
from recjudge_tui.judges.replies import (
    CallTarget,
    VendorReply,
    bad_body,
    ends_a_run,
    error_of,
    object_in,
    part_of,
    sound_text,
)
from recjudge_tui.judges.servers import (
    BatchJudge,
    Served,
    as_base64,
    checked_url,
    content_of,
    split_system,
    without_bounds,
)

VERSION = "2023-06-01"


class AnthropicJudge(BatchJudge):
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
        return checked_url(url).removesuffix("/messages").removesuffix("/v1")

    async def _inspect(self, url: str) -> Served:
        """A server without information on models is accepted."""
        response = await self._fetch(f"{url}/v1/models/{self._model}")
        if response.status_code == 200:
            return Served(context=whole(object_in(response).get("max_input_tokens")))
        status, error = response.status_code, error_of(response)
        no_model = status == 404 and error.kind == "not_found_error" and "model" in error.message.lower()
        if no_model or ends_a_run(status, error):
            raise self._unusable(url, response)
        return Served()

    def _key_header(self, key: Key) -> dict[str, str]:
        return key.header("x-api-key")

    def _wanted(self, request: Request) -> dict[str, Any]:
        schema = {"type": "json_schema", "schema": without_bounds(request.reply_schema)}
        return {
            "max_tokens": request.sampling.max_tokens,
            "output_config": {"format": schema},
            "temperature": request.sampling.temperature,
            "cache_control": {"type": "ephemeral"},
        }

    def _content(self, request: Request, sent: dict[str, Any]) -> dict[str, Any]:
        system, others = split_system(request.messages)
        blocks = [_text(text) for text in system]
        if blocks and (mark := sent.get("cache_control")):
            blocks[-1]["cache_control"] = mark
        messages = [
            {"role": m.role, "content": content_of(m, _text, _image) if m.images else m.content}
            for m in others
        ]
        return {
            "model": self._model,
            **{name: value for name, value in sent.items() if name != "cache_control"},
            **({"system": blocks} if blocks else {}),
            "messages": messages,
        }

    def _said(self, answer: dict[str, Any], request: Request, target: CallTarget) -> VendorReply:
        blocks = answer.get("content")
        if not isinstance(blocks, list):
            raise bad_body(target.server, self.expected, "It has no content.")
        blocks = [block for block in blocks if isinstance(block, dict)]
        # the kind of a block is also the name of its field
        text, thinking = (
            "".join(sound_text(block.get(kind)) for block in blocks if block.get("type") == kind)
            for kind in ("text", "thinking")
        )
        used = [json.dumps(block.get("input")) for block in blocks if block.get("type") == "tool_use"]
        model, stop = sound_text(answer.get("model")), sound_text(answer.get("stop_reason"))
        return VendorReply(text, thinking, model, stop, places={"tool call": used[0]} if used else {})

    @staticmethod
    def fold(events: list[dict[str, Any]]) -> dict[str, Any]:
        """The message that came as a stream. A stream that ends before its last event has no content."""
        message: dict[str, Any] = {}
        blocks: dict[str, dict[str, Any]] = {}
        counts: dict[str, Any] = {}
        for event in events:
            kind, at, delta = event.get("type"), str(event.get("index")), part_of(event, "delta")
            if kind == "error":
                return event
            if kind == "message_start":
                message = part_of(event, "message")
            elif kind == "content_block_start":
                blocks[at] = dict(part_of(event, "content_block"))
            elif kind == "content_block_delta":
                block = blocks.setdefault(at, {})
                for name in ("text", "thinking"):
                    block[name] = sound_text(block.get(name)) + sound_text(delta.get(name))
            elif kind == "message_delta":
                message |= delta
            for place in (message, event):
                counts |= {k: v for k, v in part_of(place, "usage").items() if v is not None}
        if not message.get("stop_reason"):
            return {}
        return {**message, "content": list(blocks.values()), "usage": counts}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image(placed: PlacedImage) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "image/jpeg", "data": as_base64(placed)}
    return {"type": "image", "source": source}


make = AnthropicJudge
