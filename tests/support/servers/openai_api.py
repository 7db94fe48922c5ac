"""A fast server that speaks OpenAI's chat completions, with the faults one asks for.

    python -m tests.support.servers.openai_api --delay-ms 50 --faults 429:0.1,reset:0.05

`POST /v1/chat/completions` answers with JSON that fits the request's schema, chosen by sha256 of the messages;
`GET /v1/models`; `GET /stats` counts what was asked; `POST /reset` forgets the counts. `POST /allow` with a number as
its body lets so many more answers out, the others wait; without a body none waits any more.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import time
from typing import IO, Any

from tests.support.servers import served
from tests.support.servers.answers import prompt_tokens, seed_of, token_logprobs, tokens
from tests.support.servers.wire import Request, Response, json_response

STATUS_FAULTS = {
    "401": ("invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    "404": ("invalid_request_error", "model_not_found", "The model does not exist."),
    "429": ("requests", "rate_limit_exceeded", "Rate limit reached for requests."),
    "500": ("server_error", None, "The server had an error while processing your request."),
    "503": ("server_error", None, "The engine is currently overloaded."),
    "529": ("overloaded_error", None, "Overloaded"),
}


def _parser() -> argparse.ArgumentParser:
    parser = served.parser("A chat completions server for tests and benchmarks.")
    parser.add_argument("--by-seed", action="store_true", help="another `seed` gives other answers, too")
    parser.add_argument("--steady", action="store_true", help="a re-ask is answered as the question was")
    parser.add_argument(
        "--dear", type=int, default=1, help="every fifth reply counts so many times its tokens"
    )
    return parser


class ChatServer(served.Server):
    """Any model answers."""

    def __init__(self, options: argparse.Namespace, log: IO[str] | None) -> None:
        super().__init__(options, log)
        self.allowed = math.inf
        self.may_answer = asyncio.Event()

    async def handle(self, request: Request) -> Response:
        route = (request.method, request.path)
        if (told := self.about_counts(route)) is not None:
            return told
        if route == ("POST", "/allow"):
            self.allowed = float(request.body or math.inf)
            self.may_answer.set()
            return json_response({})
        if self.options.api_key and request.headers.get("authorization") != f"Bearer {self.options.api_key}":
            return self.status_fault("401")
        if route == ("GET", "/v1/models"):
            return json_response(
                {"object": "list", "data": [_model(m) for m in self.options.models.split(",")]}
            )
        if route == ("POST", "/v1/chat/completions"):
            with self.counted():
                return await self._chat(request.body)
        return _refuse(404, f"Unknown request URL: {route[0]} {route[1]}.", code="unknown_url")

    def stats(self) -> dict[str, Any]:
        return {**super().stats(), "held": self.concurrent > 0 and self.allowed < 1}

    async def _chat(self, raw: bytes) -> Response:
        digest, attempt = self.attempt_of(raw)
        self.note({"sha256": digest, "attempt": attempt, "time": round(time.time(), 6)})
        body = _parse(raw)
        if isinstance(body, Response):
            return body
        for name in self.refused:
            if name in body:
                message = f"Unsupported parameter: '{name}' is not supported with this model."
                return _refuse(400, message, code="unsupported_parameter", param=name)
        if self.options.delay_ms:
            await asyncio.sleep(self.options.delay_ms / 1000)
        while self.allowed < 1:
            self.may_answer.clear()
            await self.may_answer.wait()
        self.allowed -= 1
        seed, own = seed_of(body["messages"]), self.seed_of_answer(body)
        return self.answered(
            seed, attempt, lambda fault: self.completion(body, seed if fault else own, fault)
        )

    def dearness(self, seed: bytes) -> int:
        dear: int = self.options.dear
        return dear if seed[-1] % 5 == 0 else 1

    def seed_of_answer(self, body: dict[str, Any]) -> bytes:
        messages = body["messages"]
        if self.options.steady and len(messages) > 2 and messages[-2].get("role") == "assistant":
            messages = messages[:-2]
        own = f"{body.get('seed')}|" if self.options.by_seed else ""
        return seed_of(messages, own)

    def status_fault(self, kind: str) -> Response | None:
        if kind not in STATUS_FAULTS:
            return None
        headers: tuple[tuple[str, str], ...] = ()
        if kind == "429":
            headers = (("Retry-After", self.options.retry_after),)
        type_, code, message = STATUS_FAULTS[kind]
        error = {"message": message, "type": type_, "param": None, "code": code}
        return json_response({"error": error}, int(kind), headers)

    def completion(self, body: dict[str, Any], seed: bytes, fault: str | None) -> dict[str, Any]:
        wanted = body.get("response_format") or {}
        schema = {"text": None, "json_schema": wanted.get("json_schema", {}).get("schema")}.get(
            wanted.get("type", "text"), {}
        )
        content = served.content(schema, seed, fault)
        pieces = tokens(content)
        limit = body.get("max_completion_tokens", body.get("max_tokens"))
        cut = len(pieces) // 2 if fault == "length" else limit
        finish = "stop"
        if cut is not None and cut < len(pieces):
            pieces = pieces[: int(cut)]
            content, finish = "".join(pieces), "length"
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
        if fault == "refusal":
            message |= {"content": None, "refusal": "I'm sorry, I can't help with that."}
        choice: dict[str, Any] = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        if body.get("logprobs"):
            choice["logprobs"] = {
                "content": token_logprobs(pieces, seed, int(body.get("top_logprobs") or 0)),
                "refusal": None,
            }
        return {
            "id": f"chatcmpl-{seed.hex()[:24]}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": body["model"],
            "choices": [] if fault == "empty_choices" else [choice],
            "usage": _usage(prompt_tokens(body["messages"]), len(pieces) * self.dearness(seed)),
        }


def _parse(raw: bytes) -> dict[str, Any] | Response:
    try:
        body = json.loads(raw)
    except ValueError:
        return _refuse(400, "We could not parse the JSON body of your request.")
    if not isinstance(body, dict) or not isinstance(body.get("model"), str):
        return _refuse(400, "you must provide a model parameter")
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        return _refuse(400, "'messages' must be an array of at least one message", param="messages")
    if body.get("stream"):
        return _refuse(400, "this server does not stream", code="unsupported_value", param="stream")
    return body


def _usage(prompt: int, completion: int) -> dict[str, Any]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 0},
    }


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "tests"}


def _refuse(status: int, message: str, code: str | None = None, param: str | None = None) -> Response:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return json_response({"error": error}, status)


if __name__ == "__main__":
    served.run(_parser().parse_args(), ChatServer)
