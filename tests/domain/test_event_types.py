"""What an event type tells, and what it weighs."""

from __future__ import annotations

import pytest

from recjudge_tui.domain.event_types import action_of


@pytest.mark.parametrize(
    ("action", "kinds"),
    [
        ("bought", "purchase Purchased order buy checkout.complete transaction"),
        ("rated", "rating review RATE star-rating"),
        ("consumed", "watch play listen read stream finished"),
        ("wanted", "add_to_cart AddToCart wishlist like favourite watchlist save"),
        ("refused", "dislike return refund remove_from_cart skip"),
        ("other", "??? loyalty generated"),
    ],
)
def test_actions(action: str, kinds: str) -> None:
    assert {action_of(kind) for kind in kinds.split()} == {action}
    assert action_of("") == "other"
