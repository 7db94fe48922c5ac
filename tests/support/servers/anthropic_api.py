"""A fast server that speaks Anthropic's messages, with the faults one asks for.

    python -m tests.support.servers.anthropic_api --delay-ms 50 --faults 529:0.1,refusal:0.05 --thinking

`POST /v1/messages` answers with JSON that fits the schema of `output_config.format`, chosen by sha256 of system
and messages; `GET /v1/models/NAME`; `GET /stats` counts what was asked; `POST /reset` forgets the counts.
A system prefix marked with `cache_control` is written to the cache once and read from it afterwards.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from typing import IO, Any

from tests.support.servers import served
from tests.support.servers.answers import prompt_tokens, seed_of, tokens, words
from tests.support.servers.wire import Request, Response, json_response

VERSION = "2023-06-01"
STATUS_FAULTS = {
    "401": ("authentication_error", "invalid x-api-key"),
    "429": ("rate_limit_error", "This request would exceed your organization's rate limit."),
    "500": ("api_error", "Internal server error"),
    "503": ("api_error", "Service unavailable"),
    "529": ("overloaded_error", "Overloaded"),
}
# what this API knows; anything else in a request is an error, as it is there
PARAMETERS = frozenset(
    "model messages max_tokens system temperature top_p top_k stop_sequences metadata output_config thinking "
    "service_tier stream".split()
)


def _parser() -> argparse.ArgumentParser:
    return served.parser("A messages server for tests and benchmarks.")


class MessageServer(served.Server):
    """Its models and its cached prefixes."""

    def __init__(self, options: argparse.Namespace, log: IO[str] | None) -> None:
        super().__init__(options, log)
        self.models = tuple(options.models.split(","))
        self.cached: set[bytes] = set()

    async def handle(self, request: Request) -> Response:
        route = (request.method, request.path)
        if (told := self.about_counts(route)) is not None:
            return told
        refusal = self.checked(request)
        if refusal is not None:
            return refusal
        if request.method == "GET" and request.path.startswith("/v1/models/"):
            return self.model(request.path.removeprefix("/v1/models/"))
        if route == ("POST", "/v1/messages"):
            with self.counted():
                return await self._answer(request.body)
        return error(404, "not_found_error", f"Not found: {request.path}")

    def checked(self, request: Request) -> Response | None:
        """What is wrong with the headers."""
        key = self.options.api_key
        if key and request.headers.get("x-api-key") != key:
            return error(401, *STATUS_FAULTS["401"])
        if request.headers.get("anthropic-version") != VERSION:
            return error(400, "invalid_request_error", "anthropic-version: header is required")
        return None

    def model(self, name: str) -> Response:
        if name not in self.models:
            return error(404, "not_found_error", f"model: {name}")
        return json_response({"type": "model", "id": name, "max_input_tokens": self.options.context})

    async def _answer(self, raw: bytes) -> Response:
        digest, attempt = self.attempt_of(raw)
        if self.log is not None:
            self.note({"sha256": digest, "attempt": attempt, "time": time.time(), "body": json.loads(raw)})
        body = self.parsed(raw)
        if isinstance(body, Response):
            return body
        if self.options.delay_ms:
            await asyncio.sleep(self.options.delay_ms / 1000)
        seed = seed_of([body.get("system"), body["messages"]])
        return self.answered(seed, attempt, lambda fault: self.message(body, seed, fault))

    def parsed(self, raw: bytes) -> dict[str, Any] | Response:
        """The request, or what is wrong with it, said as this API says it."""
        try:
            body = json.loads(raw)
        except ValueError:
            return error(400, "invalid_request_error", "The request body is not valid JSON")
        if not isinstance(body, dict) or body.get("model") not in self.models:
            return error(404, "not_found_error", f"model: {body.get('model') if body else None}")
        for name in self.refused:
            if name in body or (name == "cache_control" and name in str(body.get("system"))):
                return error(400, "invalid_request_error", f"`{name}` is not supported for this model.")
        for name in body.keys() - PARAMETERS:
            return error(400, "invalid_request_error", f"{name}: Extra inputs are not permitted")
        if type(body.get("max_tokens")) is not int:
            return error(400, "invalid_request_error", "max_tokens: Field required")
        if not body.get("messages") or body["messages"][0]["role"] != "user":
            return error(400, "invalid_request_error", "messages: first message must use the user role")
        if any(message["role"] == "system" for message in body["messages"]):
            return error(400, "invalid_request_error", 'messages: Unexpected role "system"')
        length = prompt_tokens(body["messages"])
        if length > self.options.context:
            said = f"prompt is too long: {length} tokens > {self.options.context} maximum"
            return error(400, "invalid_request_error", said)
        return body

    def status_fault(self, kind: str) -> Response | None:
        if kind not in STATUS_FAULTS:
            return None
        after = self.options.retry_after if kind in ("429", "529") else ""
        return error(int(kind), *STATUS_FAULTS[kind], (("retry-after", after),) if after else ())

    def message(self, body: dict[str, Any], seed: bytes, fault: str | None) -> dict[str, Any]:
        wanted = (body.get("output_config") or {}).get("format")
        said = tokens(served.content(wanted.get("schema") if wanted else None, seed, fault))
        thought = tokens(f"First impression: {words(seed, 'thinking')}.") if self.options.thinking else []
        full = len(thought) + len(said)
        limit = len(thought) + len(said) // 2 if fault == "length" else body["max_tokens"]
        kept = min(full, limit)
        thought, said = thought[:kept], said[: max(0, kept - len(thought))]
        stop = "max_tokens" if kept < full else "end_turn"
        content: list[dict[str, Any]] = []
        if thought:
            content.append({"type": "thinking", "thinking": "".join(thought), "signature": seed.hex()})
        if said and fault not in ("refusal", "empty_choices"):
            content.append({"type": "text", "text": "".join(said)})
        return {
            "id": f"msg_{seed.hex()[:24]}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": "refusal" if fault == "refusal" else stop,
            "stop_sequence": None,
            "usage": {**self.input_usage(body), "output_tokens": kept},
        }

    def input_usage(self, body: dict[str, Any]) -> dict[str, int]:
        """Tokens of the prompt: what is behind the cached prefix, what was written, what was read."""
        system = body.get("system") or []
        blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
        marks = [i for i, block in enumerate(blocks) if block.get("cache_control")]
        prefix = sum(_tokens_of(block) for block in blocks[: marks[-1] + 1]) if marks else 0
        whole = sum(map(_tokens_of, blocks)) + prompt_tokens(body["messages"])
        if not marks:
            return {
                "input_tokens": whole,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
            }
        key = seed_of(blocks[: marks[-1] + 1], body["model"])
        known = key in self.cached
        self.cached.add(key)
        return {
            "input_tokens": whole - prefix,
            "cache_creation_input_tokens": 0 if known else prefix,
            "cache_read_input_tokens": prefix if known else 0,
        }


def _tokens_of(block: dict[str, Any]) -> int:
    return prompt_tokens([{"content": block.get("text", "")}])


def error(status: int, kind: str, message: str, headers: tuple[tuple[str, str], ...] = ()) -> Response:
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_test"}
    return json_response(body, status, headers)


if __name__ == "__main__":
    served.run(_parser().parse_args(), MessageServer)
