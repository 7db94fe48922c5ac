"""A server that speaks Amazon Bedrock's Converse, as boto3 calls it with `endpoint_url`.

    python -m tests.support.servers.bedrock_api --faults 429:0.1

`POST /model/ID/converse` answers with JSON that fits the schema of `outputConfig.textFormat`, chosen by sha256 of
system and messages; `GET /stats` counts what was asked. Signatures are not checked, only that there is one.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

from tests.support.servers.answers import fit, seed_of, tokens, words
from tests.support.servers.faults import choose, parse_faults
from tests.support.servers.wire import Ending, Request, Response, json_response, serve_forever

STATUS_FAULTS = {
    "401": (403, "ExpiredTokenException", "The security token included in the request is expired"),
    "429": (429, "ThrottlingException", "Too many requests, please wait before trying again."),
    "500": (500, "InternalServerException", "The system encountered an unexpected error."),
    "503": (503, "ServiceUnavailableException", "Bedrock is unable to process your request."),
    "529": (429, "ModelNotReadyException", "The model is not ready for inference."),
}
WIRE_FAULTS: dict[str, Ending] = {"reset": "reset", "hang": "hang"}


def main() -> None:
    options = _parser().parse_args()
    with contextlib.ExitStack() as stack:
        log = None
        if options.log:
            log = stack.enter_context(Path(options.log).open("a", buffering=1, encoding="utf-8"))
        serve_forever(ConverseServer(options, log).handle)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="A Converse server for tests.")
    parser.add_argument("--model", default="test.hash-judge-v1:0", help="the one model; others are not found")
    parser.add_argument("--together", type=int, default=0, help="answer once so many were there at a time")
    parser.add_argument("--faults", type=parse_faults, default=(), help="kind:share,kind:share")
    parser.add_argument("--fault-attempts", type=int, default=1, help="how many first attempts may fail")
    parser.add_argument("--refuse", default="", help="comma list: temperature, outputConfig, cachePoint")
    parser.add_argument("--context", type=int, default=200_000, help="longest prompt, in characters")
    parser.add_argument("--thinking", action="store_true", help="begin with a block of reasoning")
    parser.add_argument("--log", default="", help="append one JSON line for each request to this file")
    return parser


class ConverseServer:
    """The counts of one server and its answers."""

    def __init__(self, options: argparse.Namespace, log: IO[str] | None) -> None:
        self.options = options
        self.log = log
        self.requests = 0
        self.concurrent = 0
        self.max_concurrent = 0
        self.attempts: Counter[bytes] = Counter()

    async def handle(self, request: Request) -> Response:
        if (request.method, request.path) == ("GET", "/stats"):
            return json_response({"requests": self.requests, "max_concurrent": self.max_concurrent})
        asked = re.fullmatch(r"/model/([^/]+)/converse", request.path)
        if request.method != "POST" or asked is None:
            return error(404, "UnknownOperationException", "")
        if not request.headers.get("authorization", "").startswith("AWS4-HMAC-SHA256 "):
            return error(403, "MissingAuthenticationTokenException", "Missing Authentication Token")
        self.requests += 1
        self.concurrent += 1
        self.max_concurrent = max(self.max_concurrent, self.concurrent)
        try:
            return await self._answer(unquote(asked.group(1)), request)
        finally:
            self.concurrent -= 1

    async def _answer(self, model: str, request: Request) -> Response:
        body = json.loads(request.body)
        if self.log is not None:
            line = {"path": request.path, "headers": dict(request.headers), "body": body}
            self.log.write(json.dumps(line) + "\n")
        wrong = self.checked(model, body)
        if wrong is not None:
            return wrong
        while self.max_concurrent < self.options.together:
            await asyncio.sleep(0.005)
        digest = sha256(request.body).digest()
        self.attempts[digest] += 1
        seed = seed_of([body.get("system"), body["messages"]])
        fault = choose(self.options.faults, seed, self.attempts[digest], self.options.fault_attempts)
        if fault in STATUS_FAULTS:
            return error(*STATUS_FAULTS[fault])
        if fault in WIRE_FAULTS:
            return Response(ending=WIRE_FAULTS[fault])
        if fault == "html":
            return Response(200, b"<html><body>Sign in</body></html>", "text/html")
        return json_response(self.reply(body, seed, fault))

    def checked(self, model: str, body: dict[str, Any]) -> Response | None:
        if model != self.options.model:
            return error(400, "ValidationException", "The provided model identifier is invalid.")
        refused = self.options.refuse.split(",")
        if "temperature" in refused and "temperature" in body.get("inferenceConfig", {}):
            return error(400, "ValidationException", "`temperature` is deprecated for this model.")
        if "outputConfig" in refused and "outputConfig" in body:
            return error(
                400, "ValidationException", "outputConfig.textFormat is not supported for this model."
            )
        if "cachePoint" in refused and "cachePoint" in str(body.get("system")):
            said = "You invoked an unsupported model or your request did not allow prompt caching."
            return error(403, "AccessDeniedException", said)
        if len(str(body["messages"])) > self.options.context:
            return error(400, "ValidationException", "Input is too long for requested model.")
        return None

    def reply(self, body: dict[str, Any], seed: bytes, fault: str | None) -> dict[str, Any]:
        wanted = (body.get("outputConfig") or {}).get("textFormat") or {}
        text = f"My impression of it is {words(seed)}."
        if wanted and fault != "garbage":
            schema = json.loads(wanted["structure"]["jsonSchema"]["schema"])
            text = json.dumps(fit(schema, seed, wrong_enum=fault == "wrong_enum"))
        said = tokens(text)
        limit = len(said) // 2 if fault == "length" else body["inferenceConfig"]["maxTokens"]
        content: list[dict[str, Any]] = []
        if self.options.thinking:
            limit -= 1  # the least that thinking takes
            content.append(
                {"reasoningContent": {"reasoningText": {"text": f"Hm: {words(seed, 'thinking')}."}}}
            )
        if limit and fault not in ("empty_choices", "refusal"):
            content.append({"text": "".join(said[:limit])})
        stop = "content_filtered" if fault == "refusal" else "max_tokens" if limit < len(said) else "end_turn"
        return {
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": stop,
            "usage": {
                "inputTokens": 20,
                "outputTokens": min(limit, len(said)),
                "totalTokens": 20 + min(limit, len(said)),
                "cacheReadInputTokens": 300,
                "cacheWriteInputTokens": 4,
            },
            "metrics": {"latencyMs": 1},
        }


def error(status: int, kind: str, message: str) -> Response:
    return json_response({"message": message}, status, (("x-amzn-ErrorType", kind),))


if __name__ == "__main__":
    main()
