"""The body of a chat completion request. The parts that all calls share are encoded once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recjudge_tui.domain.calls import Message, PlacedImage, Request, Sampling
from recjudge_tui.judges.providers.images import as_base64

_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True)
class BodyFrame:
    """A body without its messages, and the values it was made from.

    `sent` are the parameters beside model and messages. `recorded` are the same parameters as stored: of the schema,
    which the prompt determines, only the mode. `dropped` were refused before and are left out. `shared` is the first
    message of most calls, `shared_json` its JSON.
    """

    schema_name: str
    schema: dict[str, Any]
    sampling: Sampling
    logprobs: bool
    dropped: tuple[str, ...]
    sent: dict[str, Any]
    recorded: dict[str, Any]
    head: str
    tail: bytes
    shared: Message
    shared_json: bytes

    def fits(self, request: Request, dropped: tuple[str, ...], logprobs: bool) -> bool:
        """Whether the body of `request` differs from this one only in its messages."""
        return (
            self.sampling == request.sampling
            and self.dropped == dropped
            and self.logprobs == logprobs
            and self.schema_name == request.schema_name
            and self.schema == request.reply_schema
        )

    def body(self, messages: Sequence[Message], slot: int | None = None) -> bytes:
        """The complete body. Characters that UTF-8 cannot hold become question marks. `slot`: of llama.cpp's server."""
        first, *others = messages
        begin = self.shared_json if first == self.shared else _json(first)
        tail = self.tail if slot is None else b'%b,"id_slot":%d}' % (self.tail[:-1], slot)
        return b"%b%b%b" % (self.head.encode(), b",".join([begin, *map(_json, others)]), tail)


def body_frame(
    model: str, request: Request, sent: dict[str, Any], dropped: tuple[str, ...], logprobs: bool
) -> BodyFrame:
    """The frame for requests like this one."""
    return BodyFrame(
        schema_name=request.schema_name,
        schema=request.reply_schema,
        sampling=request.sampling,
        logprobs=logprobs,
        dropped=dropped,
        sent=sent,
        recorded={**sent, "response_format": "json_schema"} if "response_format" in sent else sent,
        head=f'{{"model":{_write(model)},"messages":[',
        tail=f"]{''.join(f',{_write(name)}:{_write(value)}' for name, value in sent.items())}}}".encode(
            "utf-8", "replace"
        ),
        shared=request.messages[0],
        shared_json=_json(request.messages[0]),
    )


def _json(message: Message) -> bytes:
    content = list(map(_part, message.parts())) if message.images else message.content
    text = f'{{"role":{_write(message.role)},"content":{_write(content)}}}'
    return text.encode("utf-8", "replace")


def _part(part: str | PlacedImage) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{as_base64(part)}"}}
