"""Odd answers of a server, drawn by a seed, and runs against them: none says anything of key, model, credit or address."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from copy import deepcopy
from random import Random
from typing import Any, NamedTuple

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from tests.support.runs import calls, planned
from tests.support.stub_server import answer, completion, serving

NUMBERS: tuple[Any, ...] = (
    float("nan"), float("inf"), -float("inf"), -1, 0, 2**31, 2**63 - 1, 2**63, 10**400, -(10**400), 1e308, 1e-320,
    True, "12", None, [], {}, 0.5, 12,
)  # fmt: skip
TEXTS: tuple[Any, ...] = (
    "", "²", "①", "٣", "502", "\ud800", "a\udfffb", "\0", "\x1b[31m", "[" * 3000, '{"a":' * 2000, "‮", "<think>", "�",
    None, 7, True, [], {}, ["²"], {"text": "x"}, "x" * 5000, "\U000e0041", " " * 2000,
)  # fmt: skip
CHARSETS = "hex undefined idna rot13 utf-16 utf-7 zlib no-such ascii mbcs punycode \xe9".split()
STATUSES = (
    *[200] * 5, 201, 204, 299, 300, 304, 400, 408, 409, 413, 418, 422, 429, 500, 503, 504, 529, 599, 999,
)  # fmt: skip
DELAYS = (
    "0", "-5", "7200", "1e9", "1e99", "9" * 200, "nan", "inf", "²", "٣", "", "Fri, 31 Dec 9999 23:59:59 GMT", "soon",
    "Thu, 01 Jan 1970 00:00:00 GMT", "Mon, 99 Foo 12345678901 99:99:99 +9999", "0x10", "1,5", "\xff",
)  # fmt: skip
PACKINGS = (
    "gzip", "deflate", "br", "zstd", "gzip, gzip", "identity", "GZIP", "x-gzip", "compress", "\xe9", "gzip,,deflate",
)  # fmt: skip
# what a mutation may replace, by path
NUMBER_PATHS = (
    ("usage", "prompt_tokens"), ("usage", "completion_tokens"), ("usage", "cost"), ("usage", "input_tokens"),
    ("usage", "output_tokens"), ("usage", "cache_read_input_tokens"), ("usage", "prompt_tokens_details", "cached_tokens"),
    ("prompt_eval_count",), ("eval_count",), ("prompt_eval_cached_count",), ("created",),
)  # fmt: skip
TEXT_PATHS = (
    ("model",), ("id",), ("choices",), ("choices", 0), ("choices", 0, "message"), ("choices", 0, "message", "content"),
    ("choices", 0, "message", "refusal"), ("choices", 0, "message", "reasoning_content"), ("choices", 0, "finish_reason"),
    ("choices", 0, "logprobs"), ("usage",), ("message",), ("message", "content"), ("message", "thinking"), ("done_reason",),
    ("content",), ("content", 0), ("content", 0, "text"), ("stop_reason",), ("logprobs",), ("error",),
    ("choices", 0, "error"),
)  # fmt: skip


def odd_answer(random: Random, good: dict[str, Any]) -> bytes:
    """An answer as it goes over the wire: `good`, the vendor's body of a usable answer, with something odd about it."""
    status = 200 if random.random() < 0.8 else random.choice(STATUSES)
    body = _body(random, good)
    headers = [_type(random)]
    if random.random() < 0.15:
        body, packing = _packed(random, body)
        headers.append(f"Content-Encoding: {packing}")
    if random.random() < 0.3:
        headers.append(f"{random.choice(('Retry-After', 'retry-after-ms'))}: {random.choice(DELAYS)}")
        if random.random() < 0.3:
            headers.append(f"Date: {random.choice(DELAYS)}")
    if random.random() < 0.05:
        headers += [f"X-{n}: {'y' * random.randrange(60)}" for n in range(random.randrange(80))]
    head = "\r\n".join([f"HTTP/1.1 {status} Odd", f"Content-Length: {len(body)}", *headers])
    return head.encode("latin-1", "replace") + b"\r\n\r\n" + body


def _type(random: Random) -> str:
    kind = random.choice(("application/json", "text/html", "text/plain", "", "application/json; charset"))
    return (
        f"Content-Type: {kind}; charset={random.choice(CHARSETS)}"
        if random.random() < 0.5
        else f"Content-Type: {kind}"
    )


def _body(random: Random, good: dict[str, Any]) -> bytes:
    choice = random.random()
    if choice < 0.08:
        return (
            b"[" * random.randrange(100_000)
            if random.random() < 0.5
            else b'{"error":' * random.randrange(20_000)
        )
    if choice < 0.14:
        return random.randbytes(random.randrange(400))
    if choice < 0.30:
        return _deep_error(random)
    body = json.loads(json.dumps(good))
    for _ in range(random.randrange(1, 4)):
        _replace(random, body)
    raw = json.dumps(body).encode()
    if choice < 0.45:
        at = random.randrange(len(raw))
        raw = random.choice(
            (raw[:at], raw[:at] + bytes([random.randrange(256)]) + raw[at + 1 :], raw + raw[:at], raw[at:])
        )
    return raw


def _deep_error(random: Random) -> bytes:
    """An error body whose parts are odd, some nested as deeply as JSON can just be read."""
    depth = random.choice((1, 5, 900, 990, 20_000))
    nested = "[" * depth + "]" * depth
    odd = [json.dumps(random.choice(TEXTS + NUMBERS)) for _ in range(4)]
    parts = [nested if random.random() < 0.4 else part for part in odd]
    fields = ", ".join(
        f'"{name}": {part}' for name, part in zip(("message", "type", "code", "param"), parts, strict=True)
    )
    outer = random.choice(
        (
            '{"error": {%s}}',
            '{"detail": {%s}}',
            "{%s}",
            '{"error": {"error": {%s}}}',
            '{"choices": [{"error": {%s}}]}',
        )
    )
    return (outer % fields).encode()


def _replace(random: Random, body: dict[str, Any]) -> None:
    path, value = (
        (random.choice(NUMBER_PATHS), random.choice(NUMBERS))
        if random.random() < 0.5
        else (random.choice(TEXT_PATHS), random.choice(TEXTS + NUMBERS))
    )
    at: Any = body
    for step in path[:-1]:
        known = isinstance(at, dict) or (isinstance(at, list) and isinstance(step, int) and step < len(at))
        at = at.setdefault(step, {}) if isinstance(at, dict) else at[step] if known else None
    if isinstance(at, dict) or (isinstance(at, list) and isinstance(path[-1], int) and path[-1] < len(at)):
        at[path[-1]] = deepcopy(value)


def _packed(random: Random, body: bytes) -> tuple[bytes, str]:
    name = random.choice(PACKINGS)
    packed = random.choice(
        (
            body,
            gzip.compress(body, 1),
            zlib.compress(body, 1),
            gzip.compress(body, 1)[:-9],
            gzip.compress(bytes(40_000_000), 1),
        )
        if random.random() < 0.1
        else (body, gzip.compress(body, 1), zlib.compress(body, 1))
    )
    return packed, name


JUDGES = ("openai:m", "anthropic:m", "ollama:m")
_REPLY = json.dumps({"reasoning": "Fine.", "category": "Good Match", "flagged_items": []})
_USAGE = {"prompt_tokens": 500, "completion_tokens": 40, "input_tokens": 500, "output_tokens": 40}
GOOD: dict[str, dict[str, Any]] = {
    "openai": {**completion(_REPLY), "usage": _USAGE},
    "anthropic": {
        "model": "m", "content": [{"type": "text", "text": _REPLY}], "stop_reason": "end_turn", "usage": _USAGE,
    },
    "ollama": {
        "model": "m", "message": {"role": "assistant", "content": _REPLY}, "done_reason": "stop",
        "prompt_eval_count": 900, "eval_count": 40,
    },
}  # fmt: skip
_BEFORE = {
    "/api/version": {"version": "1"},
    "/api/tags": {"models": [{"name": "m", "model": "m", "digest": "d" * 64}]},
    "/api/show": {"model_info": {"general.context_length": 65536}, "capabilities": ["completion"]},
    "/v1/models": {"data": [{"id": "m"}]},
    "/v1/models/m": {"id": "m"},
}


class FuzzedRun(NamedTuple):
    """A run of odd answers: how its calls ended, by kind of error (empty: done), and the answers that were sent."""

    state: str
    ends: Counter[str]
    answers: int


def judge_oddly(db: Database, spec: str, seed: int, **settings: Any) -> FuzzedRun:
    """A run of the project `films` in which every answer of the server is odd. Raises what ends the run."""
    random, sent, good = Random(seed), 0, GOOD[spec.partition(":")[0]]

    def script(line: str, _: int) -> bytes:
        nonlocal sent
        path = line.split()[1]
        if path in _BEFORE:
            return answer(200, _BEFORE[path])
        sent += 1
        return odd_answer(random, good)

    with serving(script) as stub:
        judge = JudgeSpec(spec=spec, base_urls=(stub.url,))
        run = planned(db, judge, concurrency=4, use_cache=False, timeout_s=5.0, **settings)
        state = work(db.path, run).state
    return FuzzedRun(state, Counter(call["error_kind"] or "" for call in calls(db, run)), sent)
