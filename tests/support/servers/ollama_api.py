"""A small server that speaks Ollama's own HTTP API, for the real `ollama` client.

    python -m tests.support.servers.ollama_api --models llama3,qwen3:8b --thinking

`GET /api/version`, `GET /api/tags`, `POST /api/show`, `POST /api/chat`. Answers fit `format` and depend on the
messages alone. As in Ollama: a prompt longer than `num_ctx` is cut silently unless `truncate` is false, the
reply ends at `num_predict` (thinking counts), and calls beyond `--parallel` wait in a queue of `--max-queue`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from hashlib import sha256
from typing import IO, Any

from tests.support.servers import served
from tests.support.servers.answers import fit, prompt_tokens, seed_of, token_logprobs, tokens, words
from tests.support.servers.wire import Request, Response, json_response

DETAILS = {
    "parent_model": "",
    "format": "gguf",
    "family": "llama",
    "families": ["llama"],
    "parameter_size": "1.2M",
    "quantization_level": "F32",
}
JSON_MODE = {"properties": {"answer": {"type": "string"}}}
BUSY = "server busy, please try again.  maximum pending requests exceeded"
PIECE_NS = 1_000_000


def _parser() -> argparse.ArgumentParser:
    parser = served.parser("Ollama's HTTP API for tests; ':latest' where a model has no tag.")
    parser.set_defaults(context=32768)
    parser.add_argument("--num-ctx", type=int, default=4096, help="context used when a request names none")
    parser.add_argument("--parallel", type=int, default=1, help="answers at a time")
    parser.add_argument("--max-queue", type=int, default=512, help="calls that may wait; the next gets 503")
    return parser


class OllamaServer(served.Server):
    """The models of one server, its slots and its queue."""

    def __init__(self, options: argparse.Namespace, log: IO[str] | None) -> None:
        super().__init__(options, log)
        self.names = tuple(_tagged(name) for name in options.models.split(",") if name)
        self.slots = asyncio.Semaphore(options.parallel)
        self.waiting = 0

    async def handle(self, request: Request) -> Response:
        body = self._read(request)
        if isinstance(body, Response):
            return body
        match (request.method, request.path):
            case ("GET" | "HEAD", "/"):
                return Response(200, b"Ollama is running", "text/plain; charset=utf-8")
            case ("GET", "/api/version"):
                return json_response({"version": "0.13.5"})
            case ("GET", "/api/tags"):
                return json_response({"models": [_listed(name) for name in self.names]})
            case ("POST", "/api/show"):
                return self._checked(body) or json_response(self._shown())
            case ("POST", "/api/chat"):
                return self._checked(body) or await self._chat(body)
        return Response(404, b"404 page not found", "text/plain")

    def _read(self, request: Request) -> dict[str, Any] | Response:
        body: object = {}
        if request.body:
            try:
                body = json.loads(request.body)
            except ValueError as error:
                return _error(400, str(error))
        self.note({"time": time.time(), "method": request.method, "path": request.path, "body": body})
        return body if isinstance(body, dict) else _error(400, "the body must be an object")

    def _checked(self, body: dict[str, Any]) -> Response | None:
        """What is wrong with the request before any model sees it."""
        name = body.get("model")
        if not name or not isinstance(name, str):
            return _error(400, "model is required")
        if _tagged(name) not in self.names:
            return _error(404, f"model '{name}' not found")
        wanted = body.get("format") or "json"
        if not (wanted == "json" or isinstance(wanted, dict)):
            return _error(
                400, f'invalid format: {json.dumps(wanted)}; expected "json" or a JSON Schema object'
            )
        if body.get("think") and not self.options.thinking:
            return _error(400, f'"{name}" does not support thinking')
        return None

    def _shown(self) -> dict[str, Any]:
        capabilities = ["completion", "thinking"] if self.options.thinking else ["completion"]
        info = {"general.architecture": "llama", "llama.context_length": self.options.context}
        return {
            "modelfile": "",
            "parameters": "",
            "template": "{{ .Prompt }}",
            "details": DETAILS,
            "model_info": info,
            "capabilities": capabilities,
            "modified_at": "2026-01-02T03:04:05Z",
        }

    async def _chat(self, body: dict[str, Any]) -> Response:
        if not body.get("messages"):
            loaded = {**_message(body["model"], {"content": ""}), "done": True, "done_reason": "load"}
            return json_response(loaded)
        length = prompt_tokens(body["messages"])
        num_ctx = int((body.get("options") or {}).get("num_ctx") or self.options.num_ctx)
        if length > num_ctx and body.get("truncate") is False:
            return _error(400, "the input length exceeds the context length")
        if self.slots.locked() and self.waiting >= self.options.max_queue:
            return _error(503, BUSY)
        began = time.perf_counter_ns()
        self.waiting += 1
        try:
            await self.slots.acquire()
        finally:
            self.waiting -= 1
        try:
            await asyncio.sleep(self.options.delay_ms / 1000)
        finally:
            self.slots.release()
        reply = self._reply(body, min(length, num_ctx), began)
        if body.get("stream", True):
            return Response(content_type="application/x-ndjson", chunks=_lines(reply))
        return json_response(reply)

    def _reply(self, body: dict[str, Any], prompt_eval_count: int, began: int) -> dict[str, Any]:
        seed = seed_of(body["messages"])
        thinks = self.options.thinking and body.get("think") is not False
        thought = tokens(f"First impression: {words(seed, 'thinking')}.") if thinks else []
        said = tokens(self._content(body, seed))
        limit = int((body.get("options") or {}).get("num_predict", -1))
        full = len(thought) + len(said)
        kept = full if limit < 0 else min(full, limit)
        thought, said = thought[:kept], said[: max(0, kept - len(thought))]
        parts = {"content": "".join(said)}
        if thought:
            parts["thinking"] = "".join(thought)
        reply = _message(body["model"], parts)
        if body.get("logprobs"):
            reply["logprobs"] = token_logprobs(said, seed, int(body.get("top_logprobs") or 0))
        return {
            **reply,
            "done": True,
            "done_reason": "stop" if kept == full else "length",
            "total_duration": time.perf_counter_ns() - began,
            "load_duration": PIECE_NS,
            "prompt_eval_count": prompt_eval_count,
            "prompt_eval_duration": prompt_eval_count * PIECE_NS,
            "eval_count": kept,
            "eval_duration": kept * PIECE_NS,
        }

    def _content(self, body: dict[str, Any], seed: bytes) -> str:
        wanted = body.get("format")
        if not wanted:
            return f"My impression of it is {words(seed)}."
        return json.dumps(fit(JSON_MODE if wanted == "json" else wanted, seed))


def _lines(reply: dict[str, Any]) -> Iterator[bytes]:
    """The reply in pieces as NDJSON: thinking first, then content, then the counts with an empty message."""
    message = reply["message"]
    for key in ("thinking", "content"):
        for piece in tokens(message.get(key, "")):
            part = _message(reply["model"], {"content": "", key: piece})
            yield json.dumps({**part, "done": False}).encode() + b"\n"
    yield json.dumps({**reply, **_message(reply["model"], {"content": ""})}).encode() + b"\n"


def _message(model: str, parts: dict[str, str]) -> dict[str, Any]:
    now = datetime.now(timezone.utc).isoformat().replace("+00:00", "Z")
    return {"model": model, "created_at": now, "message": {"role": "assistant", **parts}}


def _listed(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "model": name,
        "modified_at": "2026-01-02T03:04:05Z",
        "size": 1_200_000,
        "digest": sha256(name.encode()).hexdigest(),
        "details": DETAILS,
    }


def _tagged(name: str) -> str:
    return name if ":" in name else f"{name}:latest"


def _error(status: int, message: str) -> Response:
    return json_response({"error": message}, status)


if __name__ == "__main__":
    served.run(_parser().parse_args(), OllamaServer)
