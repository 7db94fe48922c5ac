"""What an event type tells, and what it weighs."""

from __future__ import annotations

import pytest

from recjudge_tui.domain.event_types import action_of
from recjudge_tui.domain.material import ShownEvent
from tests.support.rules_material import ago, item

FILM = item("Slow Harbour", "Drama")


def event(kind: str, value: float | None = None) -> ShownEvent:
    return ShownEvent(type=kind, timestamp=ago(0), item=FILM, value=value)


@pytest.mark.parametrize(
    ("action", "kinds"),
    [
        ("bought", ["purchase", "Purchased", "order", "buy", "checkout.complete", "transaction"]),
        ("rated", ["rating", "review", "RATE", "star-rating"]),
        ("consumed", ["watch", "play", "listen", "read", "stream", "finished"]),
        ("wanted", ["add_to_cart", "AddToCart", "wishlist", "like", "favourite", "watchlist", "save"]),
        ("refused", ["dislike", "return", "refund", "remove_from_cart", "skip"]),
        ("other", ["", "???", "loyalty", "generated"]),
    ],
)
def test_actions(action: str, kinds: list[str]) -> None:
    assert {kind: action_of(kind) for kind in kinds} == dict.fromkeys(kinds, action)
