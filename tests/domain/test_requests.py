"""Requests and what identifies them; judges by name; runs in numbers."""

from __future__ import annotations

from typing import Any

from recjudge_tui.domain.calls import Message, Request, Sampling
from recjudge_tui.domain.material import ItemView, Material, SlateView, UserView

MATERIAL = Material(
    kind="pair",
    user=UserView(user_id="u"),
    slates=tuple(SlateView(items=(ItemView(item_id=i, title=i),)) for i in "ab"),
)
REQUEST = Request(
    messages=(Message(role="system", content="Judge."), Message(role="user", content="Zoë\udcff漢字")),
    reply_schema={"type": "object", "properties": {"b": {}, "a": {}}},
    material=MATERIAL,
)


def test_everything_that_the_judge_sees_is_part_of_the_hash() -> None:
    one, two = REQUEST.messages
    changes: list[dict[str, Any]] = [
        {"messages": (one,)}, {"messages": (two, one)}, {"reply_schema": {"type": "object"}}, {"sample": 1}
    ]  # fmt: skip
    for change in changes:
        other = REQUEST.model_copy(update=change)
        assert other.content_hash() != REQUEST.content_hash()
        assert other.request_hash("m") != REQUEST.request_hash("m")


def test_settings_that_the_judge_does_not_see_are_not_part_of_the_hash() -> None:
    same = REQUEST.model_copy(update={"material": None, "schema_name": "other"})
    turned = REQUEST.model_copy(update={"reply_schema": {"properties": {"a": {}, "b": {}}, "type": "object"}})
    assert same.content_hash() == REQUEST.content_hash() == turned.content_hash()
    warmer = REQUEST.model_copy(update={"sampling": Sampling(temperature=0.5)})
    assert warmer.content_hash() == REQUEST.content_hash()
    assert warmer.request_hash("m") != REQUEST.request_hash("m") != REQUEST.request_hash("n")
