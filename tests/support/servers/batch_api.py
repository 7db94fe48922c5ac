"""Batches as OpenAI and Anthropic offer them, over answers that depend on the messages alone.

    python -m tests.support.servers.batch_api --looks 2 --line-faults expired:0.1,400:0.1,garbage:0.1

OpenAI's `/v1/files` and `/v1/batches` beside live `/v1/chat/completions`; Anthropic's `/v1/messages/batches` beside
live `/v1/messages`. A batch is over at the `--looks`-th look; results come shuffled. `POST /control` sets how a route
misbehaves: `{"route": "before" | "after" | "late"}` hangs before or after doing it, or does it a second after
it was told something else.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import time
from collections import Counter
from datetime import datetime, timezone
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs

from tests.support.servers import openai_api
from tests.support.servers.answers import fit, prompt_tokens, seed_of, tokens
from tests.support.servers.faults import Faults, choose
from tests.support.servers.wire import Request, Response, json_response, serve_forever

PAGE = 2  # entries of a list at a time, few, so that every test turns pages
EXPIRED = {
    "code": "batch_expired",
    "message": "This request could not be executed before the window expired.",
}


def main() -> None:
    options = _parser().parse_args()
    serve_forever(BatchServer(options).handle)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Batch endpoints for tests.")
    parser.add_argument("--looks", type=int, default=0, help="looks at a batch before it is over")
    parser.add_argument("--line-faults", type=_shares, default=(), help="kind:share,kind:share")
    parser.add_argument("--delay-ms", type=float, default=0.0, help="wait before each answer")
    parser.add_argument("--api-key", default="", help="demand this key, in either provider's header")
    return parser


def _shares(text: str) -> Faults:
    pairs = (part.partition(":") for part in filter(None, text.split(",")))
    return tuple((kind, float(share)) for kind, _, share in pairs)


class BatchServer:
    """Files, batches and what was asked in them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.chat = openai_api.ChatServer(openai_api._parser().parse_args([]), None)
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.control: dict[str, str] = {}
        self.asked: Counter[str] = Counter()
        self.routes: Counter[str] = Counter()
        self.number = 0
        self.under_way = 0

    async def handle(self, request: Request) -> Response:
        if request.path == "/control":
            self.control = json.loads(request.body)
            return json_response({})
        if request.path == "/stats":
            return json_response(self.stats())
        key = request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix(
            "Bearer "
        )
        if self.options.api_key and key != self.options.api_key:
            return self.chat.status_fault("401")
        self.under_way += 1
        try:
            await asyncio.sleep(self.options.delay_ms / 1000)
            return await self.routed(request)
        finally:
            self.under_way -= 1

    def stats(self) -> dict[str, Any]:
        return {
            "routes": dict(self.routes),
            "files": len(self.files),
            "under_way": self.under_way,
            "batches": sum(b["taken"] for b in self.batches.values()),
            "calls": sum(self.asked.values()),
            "most": max(self.asked.values(), default=0),
        }

    async def routed(self, request: Request) -> Response:
        place = re.sub(r"(batches|files)/[^/]+", r"\1/ID", request.path)
        route = f"{request.method} {place}"
        self.routes[route] += 1
        how = self.control.get(route)
        if how == "before":
            return Response(ending="hang")
        if how == "late":
            while self.control.get(route) == "late":
                await asyncio.sleep(0.01)
        if how is not None and how.isdigit():
            return json_response({"error": {"message": "no", "type": "x"}}, int(how))
        response = await self.done(route, request)
        return Response(ending="hang") if how == "after" else response

    async def done(self, route: str, request: Request) -> Response:
        name = request.path.removesuffix("/content").removesuffix("/results").rpartition("/")[2]
        if route == "POST /v1/chat/completions":
            return await self.chat.handle(request)
        if route == "POST /v1/messages":
            return json_response(message(json.loads(request.body), None))
        if route == "GET /v1/models":
            return await self.chat.handle(request)
        if route.startswith("GET /v1/models/"):
            return json_response({"id": name, "type": "model"})
        if route == "POST /v1/files":
            return self.upload(request)
        if route == "DELETE /v1/files/ID":
            self.files.pop(name, None)
            return json_response({"id": name, "deleted": True})
        if route == "GET /v1/files/ID/content" and name in self.files:
            return Response(body=self.files[name], content_type="application/octet-stream")
        if route in ("POST /v1/batches", "POST /v1/messages/batches"):
            return self.create(json.loads(request.body))
        if route in ("GET /v1/batches", "GET /v1/messages/batches"):
            return self.listed(request)
        if route in ("GET /v1/batches/ID", "GET /v1/messages/batches/ID") and name in self.batches:
            batch = self.batches[name]
            batch["looks"] += 1
            return json_response(self.shown(batch))
        if route == "GET /v1/messages/batches/ID/results" and self.over(self.batches[name]):
            return Response(body=self.batches[name]["results"], content_type="application/x-jsonl")
        return json_response(
            {"error": {"message": f"No such thing: {route}", "type": "not_found_error"}}, 404
        )

    def upload(self, request: Request) -> Response:
        boundary = request.headers["content-type"].partition("boundary=")[2].encode()
        parts = request.body.split(b"--" + boundary)
        head, _, content = next(p for p in parts if b'name="file"' in p).partition(b"\r\n\r\n")
        assert b"filename=" in head
        file_id = self.fresh("file")
        self.files[file_id] = content.removesuffix(b"\r\n")
        return json_response({"id": file_id, "object": "file", "purpose": "batch"})

    def create(self, wanted: dict[str, Any]) -> Response:
        anthropic = "requests" in wanted
        batch_id = self.fresh("msgbatch" if anthropic else "batch")
        batch = {"id": batch_id, "wanted": wanted, "created": time.time(), "looks": 0, "taken": True}
        self.batches[batch_id] = batch
        if anthropic:
            results = [self.anthropic_result(r["custom_id"], r["params"]) for r in wanted["requests"]]
            batch |= {"results": shuffled(results, batch_id), "calls": len(results)}
            batch["done"] = sum(r["result"]["type"] == "succeeded" for r in results)
        elif wanted["input_file_id"] not in self.files:
            batch |= {"taken": False, "calls": 0, "done": 0, "output": None, "error": None}
        else:
            self.answer_file(batch, self.files[wanted["input_file_id"]])
        return json_response(self.shown(batch))

    def answer_file(self, batch: dict[str, Any], content: bytes) -> None:
        lines = [json.loads(line) for line in content.splitlines()]
        assert len({line["custom_id"] for line in lines}) == len(lines)
        results = [self.openai_result(line["custom_id"], line["body"]) for line in lines]
        good = [r for r in results if r["error"] is None and r["response"]["status_code"] == 200]
        bad = [r for r in results if r not in good]
        batch |= {"calls": len(lines), "done": len(good), "output": None, "error": None}
        for kind, found in (("output", good), ("error", bad)):
            if found:
                batch[kind] = self.fresh("file")
                self.files[batch[kind]] = shuffled(found, batch["id"])

    def openai_result(self, custom_id: str, body: dict[str, Any]) -> dict[str, Any]:
        fault = self.asked_for(body)
        line: dict[str, Any] = {"id": f"batch_req_{custom_id}", "custom_id": custom_id, "error": None}
        if fault == "expired":
            return {**line, "response": None, "error": EXPIRED}
        if fault and fault.isdigit():
            error = {"message": f"fault {fault}", "type": "tests", "code": None, "param": None}
            return {
                **line,
                "response": {"status_code": int(fault), "request_id": "r", "body": {"error": error}},
            }
        completion = self.chat.completion(body, seed_of(body["messages"]), fault)
        if fault == "empty_choices":
            completion["choices"] = []
        return {**line, "response": {"status_code": 200, "request_id": "r", "body": completion}}

    def anthropic_result(self, custom_id: str, params: dict[str, Any]) -> dict[str, Any]:
        fault = self.asked_for(params)
        if fault in ("expired", "canceled"):
            return {"custom_id": custom_id, "result": {"type": fault}}
        if fault and fault.isdigit():
            kind = {"429": "rate_limit_error", "529": "overloaded_error"}.get(fault, "invalid_request_error")
            error = {"type": "error", "error": {"type": kind, "message": f"fault {fault}"}}
            return {"custom_id": custom_id, "result": {"type": "errored", "error": error}}
        return {"custom_id": custom_id, "result": {"type": "succeeded", "message": message(params, fault)}}

    def asked_for(self, body: dict[str, Any]) -> str | None:
        digest = sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        self.asked[digest] += 1
        return choose(self.options.line_faults, seed_of(body["messages"]), self.asked[digest], 1)

    def over(self, batch: dict[str, Any]) -> bool:
        return bool(batch["looks"] >= self.options.looks)

    def listed(self, request: Request) -> Response:
        query = parse_qs(request.query)
        newest = [b["id"] for b in self.batches.values()][::-1]
        after = (query.get("after") or query.get("after_id") or [""])[0]
        rest = newest[newest.index(after) + 1 :] if after else newest
        mine = [i for i in rest if i.startswith("msgbatch") == request.path.startswith("/v1/messages")]
        data = [self.shown(self.batches[i]) for i in mine[:PAGE]]
        last = data[-1]["id"] if data else None
        return json_response({"data": data, "has_more": len(mine) > PAGE, "last_id": last})

    def shown(self, batch: dict[str, Any]) -> dict[str, Any]:
        over = self.over(batch)
        done, calls = batch["done"] if over else 0, batch["calls"]
        if "results" in batch:
            counts = {
                "processing": 0 if over else calls,
                "succeeded": done,
                "errored": calls - done if over else 0,
            }
            created = datetime.fromtimestamp(batch["created"], timezone.utc).isoformat()
            state = "ended" if over else "in_progress"
            return {
                "id": batch["id"],
                "processing_status": state,
                "request_counts": counts,
                "created_at": created,
            }
        wanted = batch["wanted"]
        return {
            "id": batch["id"],
            "object": "batch",
            "input_file_id": wanted["input_file_id"],
            "metadata": wanted.get("metadata"),
            "created_at": int(batch["created"]),
            "status": ("completed" if over else "in_progress") if batch["taken"] else "failed",
            "errors": None
            if batch["taken"]
            else {"data": [{"code": "no_file", "message": "File not found"}]},
            "request_counts": {"total": calls, "completed": done, "failed": calls - done if over else 0},
            "output_file_id": batch["output"] if over else None,
            "error_file_id": batch["error"] if over else None,
        }

    def fresh(self, what: str) -> str:
        self.number += 1
        return f"{what}_{self.number:04d}"


def message(params: dict[str, Any], fault: str | None) -> dict[str, Any]:
    """What `/v1/messages` answers: JSON that fits the schema, chosen by the messages."""
    seed = seed_of(params["messages"])
    schema = params.get("output_config", {}).get("format", {}).get("schema", {"properties": {"answer": {}}})
    text = (
        "No JSON today."
        if fault == "garbage"
        else json.dumps(fit(schema, seed, wrong_enum=fault == "wrong_enum"))
    )
    usage = {"input_tokens": prompt_tokens(params["messages"]), "output_tokens": len(tokens(text))}
    return {
        "id": f"msg_{seed.hex()[:20]}",
        "type": "message",
        "role": "assistant",
        "model": params["model"],
        "content": [{"type": "text", "text": text}],
        "stop_reason": "refusal" if fault == "refusal" else "end_turn",
        "usage": usage,
    }


def shuffled(results: list[dict[str, Any]], seed: str) -> bytes:
    random.Random(seed).shuffle(results)
    return b"".join(json.dumps(result).encode() + b"\n" for result in results)


if __name__ == "__main__":
    main()
