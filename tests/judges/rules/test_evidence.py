"""Relevance, bounds and labels."""

from __future__ import annotations

import pytest

from recjudge_tui.domain.material import ItemView
from recjudge_tui.judges.rules.judge import GOOD, PARTIAL, POOR, bounds
from recjudge_tui.judges.rules.profile import profile_of, strength, taste_rank, traits
from tests.support.rules_material import bought, item, list_evidence, rated, searched, user

KINDS = ("Tea", "Honey", "Biscuits")
SHOPPER = user(*(bought(item(f"{kind} of the House {n}", kind), 10 + n) for kind in KINDS for n in range(2)))


def shelf(relevant: int, foreign: int) -> list[ItemView]:
    """Items of the shopper's categories, then items whose categories were met, but never liked."""
    good = [item(f"Fine {KINDS[n % 3]} {n}", KINDS[n % 3]) for n in range(relevant)]
    return good + [item(f"Plain thing {n}") for n in range(foreign)]


@pytest.mark.parametrize(
    ("k", "good", "partial"), [(10, 7, 4), (5, 4, 2), (7, 5, 3), (1, 1, 1), (20, 14, 8), (3, 3, 2)]
)
def test_bounds(k: int, good: int, partial: int) -> None:
    assert bounds(k) == (good, partial)


def test_one_issue_caps_at_partial_and_more_than_a_third_is_severe() -> None:
    items = shelf(10, 0)
    assert list_evidence(SHOPPER, *items).category == GOOD
    for repeats, expected in ((1, PARTIAL), (2, PARTIAL), (3, PARTIAL), (4, POOR)):
        assert list_evidence(SHOPPER, *items[: 10 - repeats], *items[:repeats]).category == expected
    assert list_evidence(SHOPPER, items[0], items[0], top_k=2).severe is False


def test_scores_keep_to_the_third_of_their_label() -> None:
    for count in range(11):
        evidence = list_evidence(SHOPPER, *shelf(count, 10 - count))
        step = (POOR, PARTIAL, GOOD).index(evidence.category)
        assert step / 3 <= evidence.score <= (step + 1) / 3


def test_disliked_categories_count_against() -> None:
    liked = [rated(item(f"Laugh {n}", "Comedy"), 5) for n in range(6)]
    hated = [rated(item(f"Scream {n}", "Horror"), 1) for n in range(6)]
    profile = profile_of(user(*liked, *hated))
    comedy, horror = (strength(traits(item("New", kind)), profile) for kind in ("Comedy", "Horror"))
    assert comedy > 4 * horror
    assert profile.leading[0] == "comedy"
    evidence = list_evidence(user(*liked, *hated), item("New", "Comedy"), item("New too", "Horror"))
    assert [i.relevant for i in evidence.items] == [True, False]


def test_recent_events_weigh_more() -> None:
    profile = profile_of(user(bought(item("A", "Tea"), 1), bought(item("B", "Honey"), 181)))
    assert profile.categories["tea"] == pytest.approx(2 * profile.categories["honey"])


def test_standing_is_a_place_among_the_own_history() -> None:
    profile = profile_of(user(*(rated(item(f"F{n}", "Drama|War" if n % 2 else "Drama")) for n in range(10))))
    assert taste_rank(0.0, profile) == 0.0
    assert 0 < taste_rank(1e-6, profile) < taste_rank(1.2, profile) < taste_rank(9.0, profile) < 1


def test_what_was_searched_for_is_relevant() -> None:
    teas = [bought(item(f"Tea {n}", "Tea"), n + 1) for n in range(6)]
    shopper = user(*teas, searches=(searched("quince jam"), searched("knife")))
    shown = [item("Fine Quince Jam", "Spreads"), item("Quince Cake", "Cakes"), item("Bread Knife", "Tools")]
    assert [i.relevant for i in list_evidence(shopper, *shown).items] == [True, False, False]


def test_of_media_with_the_same_label_nearer_genres_score_no_higher() -> None:
    """An item with all genres of the history matches it more than any film of two genres does."""
    genres = ("Drama", "War", "Comedy", "Crime", "Music")
    pairs = [f"{genre}|{genres[(n + 1) % 5]}" for n, genre in enumerate(genres)]
    viewer = user(*(rated(item(f"Seen {n}", pairs[n % 5]), 4) for n in range(20)))
    mixed = list_evidence(viewer, *(item(f"Mixed {n}", pairs[n % 5]) for n in range(10)))
    near = list_evidence(viewer, *(item(f"Near {n}", "|".join(genres[n % 3 :])) for n in range(10)))
    assert (near.category, mixed.category) == (GOOD, GOOD)
    profile = profile_of(viewer)
    closeness = [sum(strength(traits(i.item), profile) for i in part.items) for part in (near, mixed)]
    assert closeness[0] > 1.5 * closeness[1]
    assert near.score == mixed.score
    shorter = list_evidence(viewer, *(i.item for i in near.items[:8]), top_k=10)
    assert (shorter.category, shorter.score < near.score) == (GOOD, True)
