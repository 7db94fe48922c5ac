"""What an event type tells, and what it weighs."""

from __future__ import annotations

import pytest

from recjudge_tui.domain.event_types import action_of
from recjudge_tui.domain.material import ShownEvent
from recjudge_tui.judges.rules.profile import is_media
from tests.support.rules_material import ago, item, user

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


@pytest.mark.parametrize(
    ("kinds", "media"),
    [
        (["rating", "review"], True),
        (["watch", "like"], True),
        (["rating", "purchase"], False),
        (["like"], False),
        ([], False),
    ],
)
def test_media_is_what_is_rated_or_used_and_never_bought(kinds: list[str], media: bool) -> None:
    assert is_media(user(*(event(kind) for kind in kinds))) is media
