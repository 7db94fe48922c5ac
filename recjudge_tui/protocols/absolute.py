"""Absolute: one list scored from 0 to 1 alone, the judge playing the user (RecSys Arena, for comparison with pairs)."""

from __future__ import annotations

from recjudge_tui.protocols.base import Protocol, only_answer
from recjudge_tui.protocols.rating import parse_ratings, rating_request

PROTOCOL = Protocol(
    name="absolute",
    case_kind="list",
    orders=("",),
    orders_once=("",),
    default_top_k=5,
    default_prompts={"media": "absolute-media", "shopping": "absolute-shopping"},
    request=rating_request,
    parse=parse_ratings,
    verdict=only_answer,
    default_history=50,
    tokens_a_reply=120,
)
