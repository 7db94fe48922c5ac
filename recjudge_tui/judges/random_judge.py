"""A baseline that answers at random: it shows the agreement to expect from a judge that reads nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from random import Random
from typing import Any

from recjudge_tui.domain.calls import Reply, Request
from recjudge_tui.domain.judge import Identity, JudgeSpec, Workload
from recjudge_tui.judges.registry import Judge

NOTE = "Chosen at random; nothing was read."


class RandomJudge(Judge):
    """Picks each label uniformly from its enum. The same content and seed give the same answer."""

    rater_kind = "random"
    cacheable = False
    concurrency = 1

    def __init__(self, spec: JudgeSpec) -> None:
        self.name = spec.spec

    async def prepare(self, workload: Workload) -> Identity:
        return Identity(name=self.name, digest="1", structured=True)

    async def ask(self, request: Request) -> Reply:
        seeded = sha256(f"{request.content_hash()}/{request.sampling.seed}".encode()).digest()
        answer = draw(request.reply_schema, Random(seeded))
        return Reply(
            text=json.dumps(answer, ensure_ascii=False),
            model=self.name,
            stop="stop",
            structured=True,
            latency_s=0.0,
            sent={"seed": request.sampling.seed},
        )


def draw(schema: Mapping[str, Any], random: Random) -> Any:
    """A value that fits a reply schema. Enums are drawn uniformly, objects with every property; arrays are empty, texts a
    note. Numbers are uniform, from 0 to 1 without bounds (integers: `minimum` to `maximum`, else 0 or 1)."""
    if "enum" in schema:
        return random.choice(list(schema["enum"]))
    kind = schema.get("type", "object" if "properties" in schema else "string")
    low, high = schema.get("minimum", 0), schema.get("maximum", 1)
    if kind == "object":
        return {name: draw(part, random) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return []
    if kind == "boolean":
        return random.random() < 0.5
    if kind == "integer":
        return random.randint(int(low), int(high))
    return round(random.uniform(float(low), float(high)), 3) if kind == "number" else NOTE
