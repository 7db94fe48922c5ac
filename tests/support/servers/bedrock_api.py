"""A server that speaks Amazon Bedrock's Converse, as boto3 calls it with `endpoint_url`.

    python -m tests.support.servers.bedrock_api --faults 429:0.1

`POST /model/ID/converse` answers with JSON that fits the schema of `outputConfig.textFormat`, chosen by sha256 of
system and messages; `GET /stats` counts what was asked. Signatures are not checked, only that there is one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from typing import Any
from urllib.parse import unquote

from tests.support.servers import served
from tests.support.servers.answers import seed_of, tokens, words
from tests.support.servers.wire import Request, Response, json_response

STATUS_FAULTS = {
    "401": (403, "ExpiredTokenException", "The security token included in the request is expired"),
    "429": (429, "ThrottlingException", "Too many requests, please wait before trying again."),
    "500": (500, "InternalServerException", "The system encountered an unexpected error."),
    "503": (503, "ServiceUnavailableException", "Bedrock is unable to process your request."),
    "529": (429, "ModelNotReadyException", "The model is not ready for inference."),
}


def _parser() -> argparse.ArgumentParser:
    parser = served.parser("A Converse server for tests.")
    parser.add_argument("--model", default="test.hash-judge-v1:0", help="the one model; others are not found")
    parser.add_argument("--together", type=int, default=0, help="answer once so many were there at a time")
    return parser


class ConverseServer(served.Server):
    async def handle(self, request: Request) -> Response:
        if (told := self.about_counts((request.method, request.path))) is not None:
            return told
        asked = re.fullmatch(r"/model/([^/]+)/converse", request.path)
        if request.method != "POST" or asked is None:
            return error(404, "UnknownOperationException", "")
        if not request.headers.get("authorization", "").startswith("AWS4-HMAC-SHA256 "):
            return error(403, "MissingAuthenticationTokenException", "Missing Authentication Token")
        with self.counted():
            return await self._answer(unquote(asked.group(1)), request)

    async def _answer(self, model: str, request: Request) -> Response:
        body = json.loads(request.body)
        self.note({"path": request.path, "headers": dict(request.headers), "body": body})
        wrong = self.checked(model, body)
        if wrong is not None:
            return wrong
        while self.max_concurrent < self.options.together:
            await asyncio.sleep(0.005)
        _, attempt = self.attempt_of(request.body)
        seed = seed_of([body.get("system"), body["messages"]])
        return self.answered(seed, attempt, lambda fault: self.reply(body, seed, fault))

    def status_fault(self, kind: str) -> Response | None:
        return error(*STATUS_FAULTS[kind]) if kind in STATUS_FAULTS else None

    def checked(self, model: str, body: dict[str, Any]) -> Response | None:
        if model != self.options.model:
            return error(400, "ValidationException", "The provided model identifier is invalid.")
        if "temperature" in self.refused and "temperature" in body.get("inferenceConfig", {}):
            return error(400, "ValidationException", "`temperature` is deprecated for this model.")
        if "outputConfig" in self.refused and "outputConfig" in body:
            return error(
                400, "ValidationException", "outputConfig.textFormat is not supported for this model."
            )
        if "cachePoint" in self.refused and "cachePoint" in str(body.get("system")):
            said = "You invoked an unsupported model or your request did not allow prompt caching."
            return error(403, "AccessDeniedException", said)
        if len(str(body["messages"])) > self.options.context:
            return error(400, "ValidationException", "Input is too long for requested model.")
        return None

    def reply(self, body: dict[str, Any], seed: bytes, fault: str | None) -> dict[str, Any]:
        wanted = (body.get("outputConfig") or {}).get("textFormat") or {}
        schema = json.loads(wanted["structure"]["jsonSchema"]["schema"]) if wanted else None
        said = tokens(served.content(schema, seed, fault))
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
    served.run(_parser().parse_args(), ConverseServer)
