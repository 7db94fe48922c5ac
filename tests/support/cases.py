"""Cases and replies that the protocol tests share."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from recjudge_tui.domain.calls import Reply
from recjudge_tui.domain.material import ExplanationView, ItemView, Material, ShownEvent, SlateView, UserView
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.settings import data_dir
from recjudge_tui.store.prompts import read_prompt

SAER = ("pointwise-shopping", "pointwise-media", "pairwise-shopping", "pairwise-media")
SHIPPED = tuple(
    f"{protocol}-{domain}"
    for protocol in ("pointwise", "pairwise", "arena", "absolute", "explanation", "generic", "overspecified")
    for domain in ("shopping", "media")
)
PAIRS = ("pairwise", "arena", "generic", "overspecified")


@cache
def shipped(name: str) -> Prompt:
    return read_prompt(data_dir("prompts") / f"{name}.toml")


def item(number: int, title: str = "", brand: str = "", category: str = "") -> ItemView:
    return ItemView(item_id=f"i{number}", title=title or f"Thing {number}", brand=brand, category=category)


def slate(first: int, length: int) -> SlateView:
    return SlateView(items=tuple(item(n) for n in range(first, first + length)))


SHOPPER = UserView(
    user_id="u1",
    attributes={"age": "34", "city": "Leith"},
    as_of="2024-06-30T18:00:00+00:00",
    history=(
        ShownEvent(
            type="purchase",
            timestamp="2024-06-21T10:00:00+00:00",
            item=item(901, "Sonic Toothbrush S3", brand="Brightsedge", category="Oral Care"),
        ),
        ShownEvent(
            type="rating",
            timestamp="2024-05-02T10:00:00+00:00",
            item=item(902, "Urea Body Lotion, 500 ml", category="Body Care"),
            value=4.5,
        ),
    ),
    searches=(ShownEvent(type="search", timestamp="2024-06-29T08:00:00+00:00", text="brush heads"),),
    clicks=(ShownEvent(type="click", timestamp="2024-06-30T08:00:00+00:00", item=item(903, "Dental Floss")),),
    browsed=("Oral Care", "Bath"),
    preferences=("prefers fragrance-free care",),
)
STRANGER = UserView(user_id="u2")


def listed(user: UserView = SHOPPER, length: int = 10, top_k: int = 10) -> Material:
    return Material(kind="list", user=user, slates=(slate(1, length),), top_k=top_k)


def paired(user: UserView = SHOPPER, length: int = 10) -> Material:
    return Material(kind="pair", user=user, slates=(slate(1, length), slate(101, length)), top_k=10)


def explained(user: UserView = STRANGER, text: str = "You like clean teeth.", **scores: float) -> Material:
    """An explanation of item 1, with a scored example when `scores` are given."""
    example = ExplanationView(item=item(2), text="An earlier text.", scores=scores) if scores else None
    shown = ExplanationView(item=item(1), text=text)
    return Material(kind="explanation", user=user, explanation=shown, example=example)


def material_for(name: str, user: UserView = SHOPPER) -> Material:
    """A case of the kind that the shipped prompt judges."""
    kind = name.partition("-")[0]
    if kind == "explanation":
        return explained(user)
    return paired(user) if kind in PAIRS else listed(user)


def reply(text: str = "", *, structured: bool = False, **fields: Any) -> Reply:
    return Reply(text=text or json.dumps(fields, ensure_ascii=False), structured=structured)
