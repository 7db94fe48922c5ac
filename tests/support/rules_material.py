"""Short ways to make cases for the tests of the rules judge."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta, timezone
from typing import Any

from recjudge_tui.domain.calls import Message, Request
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.material import ItemView, Material, ShownEvent, SlateView, UserView
from recjudge_tui.judges.rules.judge import Evidence, RulesJudge, evidence_of
from recjudge_tui.judges.rules.profile import profile_of

NOW = datetime(2024, 6, 1, 12, tzinfo=timezone.utc)
ISSUES = [
    "minimum-variation redundancy", "durable-goods redundancy", "consumable pacing", "off-category",
    "already owned", "other",
]  # fmt: skip


def item(title: str, category: str = "", brand: str = "", item_id: str = "", **attributes: str) -> ItemView:
    return ItemView(
        item_id=item_id or f"id:{brand}:{title}",
        title=title,
        category=category,
        brand=brand,
        attributes=attributes,
    )


def ago(days: float) -> str:
    return (NOW - timedelta(days=days)).isoformat()


def bought(what: ItemView, days: float = 30) -> ShownEvent:
    return ShownEvent(type="purchase", timestamp=ago(days), item=what)


def rated(what: ItemView, value: float = 4, days: float = 30) -> ShownEvent:
    return ShownEvent(type="rating", timestamp=ago(days), item=what, value=value)


def clicked(what: ItemView, days: float = 1) -> ShownEvent:
    return ShownEvent(type="click", timestamp=ago(days), item=what)


def user(*history: ShownEvent, **parts: Any) -> UserView:
    return UserView(user_id="u", as_of=NOW.isoformat(), history=history, **parts)


def slate(*items: ItemView) -> SlateView:
    return SlateView(items=items)


def list_evidence(who: UserView, *items: ItemView, top_k: int = 10) -> Evidence:
    return evidence_of(slate(*items), who, profile_of(who), top_k)


def issues(who: UserView, *items: ItemView) -> list[tuple[int, str]]:
    return [(finding.place, finding.issue) for finding in list_evidence(who, *items).findings]


def pointwise_schema(top_k: int = 10) -> dict[str, Any]:
    flag: dict[str, Any] = {
        "item": {"type": "integer", "enum": list(range(1, top_k + 1))},
        "issue": {"type": "string", "enum": ISSUES},
        "reason": {"type": "string"},
    }
    return schema(
        reasoning={"type": "string"},
        category={"type": "string", "enum": ["Good Match", "Partial Match", "Poor Match"]},
        flagged_items={"type": "array", "items": schema(**flag)},
    )


def pairwise_schema() -> dict[str, Any]:
    return schema(reasoning={"type": "string"}, winner={"type": "string", "enum": ["Set 1", "Set 2", "Tie"]})


def schema(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def ask_text(material: Material | None, reply_schema: dict[str, Any]) -> str:
    request = Request(
        messages=(Message(role="user", content="?"),), reply_schema=reply_schema, material=material
    )
    return asyncio.run(RulesJudge(JudgeSpec(spec="rules")).ask(request)).text


def ask(material: Material | None, reply_schema: dict[str, Any]) -> dict[str, Any]:
    reply: dict[str, Any] = json.loads(ask_text(material, reply_schema))
    assert list(reply) == list(reply_schema["properties"])
    return reply
