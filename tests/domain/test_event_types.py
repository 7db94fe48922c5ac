"""What an event type tells, and what it weighs."""

from __future__ import annotations

import pytest

from recjudge_tui.domain.event_types import action_of, owned, past
from recjudge_tui.domain.material import ShownEvent
from recjudge_tui.judges.rules.profile import is_media, profile_of
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


def test_only_what_was_had_is_had() -> None:
    assert [owned(kind) for kind in ("purchase", "watch", "review", "like", "return", "x")] == [True] * 3 + [
        False
    ] * 3


@pytest.mark.parametrize(
    ("kind", "verb"), [("order", "bought"), ("review", "rated"), ("read", "read"), ("complete", "had")]
)
def test_verbs(kind: str, verb: str) -> None:
    assert past(kind) == verb


@pytest.mark.parametrize(
    ("kind", "weight"),
    [("purchase", 1), ("watch", 1), ("add_to_cart", 0.5), ("dislike", -0.5), ("loyalty", 0.5)],
)
def test_weights_in_the_profile(kind: str, weight: float) -> None:
    assert profile_of(user(event(kind))).categories == {"drama": weight}


def test_a_play_count_is_no_rating() -> None:
    plays = profile_of(user(event("play", 1), event("play", 90)))
    assert plays.categories == {"drama": 2.0}


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
