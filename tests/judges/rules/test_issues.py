"""Each kind of issue: where it is found and where it must not be."""

from __future__ import annotations

import pytest

from recjudge_tui.domain.material import ShownEvent
from recjudge_tui.judges.rules.issues import DURABLE, OFF_CATEGORY, OWNED, PACING, VARIATION
from tests.support.rules_material import (
    bought,
    clicked,
    issues,
    item,
    list_evidence,
    rated,
    searched,
    user,
)

KETTLE = item("Electric Kettle 1.7 l, Steel", "Kitchen Appliances", "Corrick")
OTHER_KETTLE = item("Compact Kettle 0.8 l", "Kitchen Appliances", "Pellwick")
SHAMPOO = item("Curl Shampoo, 250 ml", "Shampoo", "Quill")
TEA = item("Green Tea", "Kitchen Pantry", "Leafy")


@pytest.mark.parametrize(
    ("first", "second", "brand"),
    [
        ("Everyday Shampoo, Coconut, 300 ml", "Everyday Shampoo, Green Apple, 300 ml", "P"),
        ("Everyday Shampoo, 300 ml", "Everyday Shampoo, Family Size, 750 ml", "P"),
        ("Electric Kettle 1.7 l, Steel", "Electric Kettle 1.7 l, Black", "P"),
        ("Dishwasher Tablets, Lemon, 30 tablets", "Dishwasher Tablets, Lemon (Pack of 60)", "P"),
        ("Cotton T-Shirt, Red, Size XL", "Cotton T-Shirt, Navy, Size S", "P"),
        ("Shower Gel 250 ml", "Shower Gel 3 x 250 ml", ""),
        ("Sensitive Scalp Care Shampoo", "Sensitive Scalp Care Shampoo Advanced", "P"),
        ("Blade Runner (1982)", "Blade Runner (Director's Cut) (1982)", ""),
    ],
)
def test_variants_are_flagged_at_the_later_place(first: str, second: str, brand: str) -> None:
    a, b = item(first, brand=brand), item(second, brand=brand)
    assert issues(user(), a, TEA, b) == [(3, VARIATION)]


@pytest.mark.parametrize(
    ("first", "second", "brands"),
    [
        ("Heat (1995)", "Heat 2 (2025)", ("", "")),
        ("Heat", "Heat 2", ("", "")),
        ("Alien (1979)", "Aliens (1986)", ("", "")),
        ("Three Colors: Red (1994)", "Three Colors: Blue (1993)", ("", "")),
        ("Sabrina (1954)", "Sabrina (1995)", ("", "")),
        ("Sonic Toothbrush S3", "Sonic Toothbrush S7", ("B", "B")),
        ("Everyday Shampoo, 300 ml", "Everyday Conditioner, 300 ml", ("P", "P")),
        ("Everyday Shampoo, 300 ml", "Everyday Shampoo, 300 ml", ("P", "Q")),
        ("???", "!!!", ("", "")),
    ],
)
def test_different_products_are_no_variants(first: str, second: str, brands: tuple[str, str]) -> None:
    assert issues(user(), item(first, brand=brands[0]), item(second, brand=brands[1])) == []


def test_the_same_item_twice_is_flagged() -> None:
    assert issues(user(), TEA, SHAMPOO, TEA) == [(3, VARIATION)]


def test_another_durable_soon_after_the_purchase() -> None:
    shopper = user(bought(KETTLE, 40))
    assert issues(shopper, OTHER_KETTLE) == [(1, DURABLE)]
    assert "40 days ago" in list_evidence(shopper, OTHER_KETTLE).findings[0].reason


@pytest.mark.parametrize("days", [3 * 365 + 1, 4000])
def test_a_durable_may_be_replaced_after_its_years(days: float) -> None:
    assert issues(user(bought(KETTLE, days)), OTHER_KETTLE) == []


@pytest.mark.parametrize(
    "look_after", [{"clicks": (clicked(OTHER_KETTLE, 3),)}, {"searches": (searched("best kettles", 3),)}]
)
def test_comparing_after_the_purchase_suspends_the_penalty(look_after: dict[str, tuple[ShownEvent]]) -> None:
    assert issues(user(bought(KETTLE, 20), **look_after), OTHER_KETTLE) == []


@pytest.mark.parametrize(
    "looks",
    [
        {"clicks": (clicked(OTHER_KETTLE, 21),)},  # before the purchase: that was the choosing
        {"clicks": (clicked(KETTLE, 3),)},  # only what was bought
        {"clicks": (clicked(SHAMPOO, 3),), "searches": (searched("green tea", 3),)},
        {"clicks": (ShownEvent(type="click", item=OTHER_KETTLE),)},  # at an unknown time
    ],
)
def test_other_looks_do_not_suspend_it(looks: dict[str, tuple[ShownEvent, ...]]) -> None:
    assert (1, DURABLE) in issues(user(bought(KETTLE, 20), **looks), OTHER_KETTLE)


@pytest.mark.parametrize(
    ("owned", "accessory"),
    [
        ("Cordless Vacuum Cleaner 25 V", "Vacuum Cleaner Dust Bags, Pack of 5"),
        ("Sonic Electric Toothbrush S3", "Replacement Brush Heads for Electric Toothbrush"),
        ("Filter Coffee Maker, Glass Jug", "Descaler for Coffee Machine"),
        ("Dishwasher 60 cm", "Dishwasher Tablets, 30 tablets"),
        ("Ionic Hair Dryer 2200 W", "Ceramic Hair Straightener"),
    ],
)
def test_an_accessory_of_a_durable_is_not_a_second_one(owned: str, accessory: str) -> None:
    assert issues(user(bought(item(owned, "Home"))), item(accessory, "Home")) == []


def test_film_titles_are_no_durables_and_no_consumables() -> None:
    viewer = user(
        *(rated(item(t, "Drama"), 5) for t in ("The Iron Giant", "Vacuum", "Kettle", "Shampoo 250 ml"))
    )
    shown = [
        item(t, "Drama") for t in ("Iron Man", "Vacuum Cleaner", "Kettle of Fish", "Shampoo Bar, 300 ml")
    ]
    assert issues(viewer, *shown) == []


@pytest.mark.parametrize(
    ("pack", "days", "early"),
    [
        ("Curl Shampoo, 250 ml", 10, True),
        ("Curl Shampoo, 250 ml", 40, False),
        ("Curl Shampoo, 250 ml", 15, False),
        ("Curl Shampoo, 750 ml", 20, True),
        ("Curl Shampoo, 2 x 250 ml", 20, True),
        ("Curl Shampoo", 10, True),
        ("Curl Shampoo", 59, False),
        ("Curl Shampoo, 0 ml", 10, True),
    ],
)
def test_refills_are_paced_by_the_size_of_the_pack(pack: str, days: float, early: bool) -> None:
    shopper = user(bought(item(pack, "Shampoo", "Quill"), days))
    assert issues(shopper, item("Green Apple Shampoo, 300 ml", "Shampoo", "Other")) == (
        [(1, PACING)] if early else []
    )


def test_the_users_own_pace_takes_precedence_over_the_estimate() -> None:
    big = item("Curl Shampoo, 750 ml", "Shampoo", "Quill")
    assert issues(user(bought(big, 10)), SHAMPOO) == [(1, PACING)]
    monthly = user(*(bought(big, 10 + 30 * n) for n in range(4)))
    assert issues(monthly, SHAMPOO) == []
    at_once = user(*(bought(big, 10 + n) for n in range(4)))
    assert issues(at_once, SHAMPOO) == [(1, PACING)]


def test_another_product_of_the_kind_is_half_a_fault() -> None:
    shopper = user(bought(SHAMPOO, 5))
    others = [
        item(f"{name} Shampoo", "Shampoo", name) for name in ("Mint", "Birch", "Nettle", "Clay", "Kelp")
    ]
    things = [item(f"Thing {n}", "Kitchen") for n in range(5)]
    assert [len(list_evidence(shopper, *others[:n], *things).findings) for n in (3, 5)] == [3, 5]
    assert not list_evidence(shopper, *others[:3], *things).severe  # 1.5 of 8
    assert list_evidence(shopper, *others).severe  # 2.5 of 5
    packs = [item(f"Curl Shampoo, {n}00 ml", "Shampoo", "Quill") for n in (3, 4, 5)]
    assert list_evidence(shopper, *packs, *things).severe  # 3 of 8


def test_already_owned() -> None:
    book = item("A Field Guide to Moss", "Books", item_id="1")
    reissue = item("A FIELD guide to moss", "Books", item_id="2")
    shopper = user(bought(book, 30))
    assert issues(shopper, book) == issues(shopper, reissue) == [(1, OWNED)]
    assert issues(shopper, item("A Field Guide to Ferns", "Books")) == []
    assert "2024-05-02" in list_evidence(shopper, book).findings[0].reason


def test_a_rated_film_is_already_owned() -> None:
    film = item("Heat (1995)", "Crime")
    assert issues(user(rated(film)), film, item("Heat 2 (2025)", "Crime")) == [(1, OWNED)]


def test_another_edition_of_a_rated_film_is_already_owned() -> None:
    viewer = user(rated(item("Heat (1995)", "Crime")), rated(item("Three Colors: Red", "Drama")))
    restored = item("Heat (Restored) (1995)", "Crime")
    assert issues(viewer, restored) == [(1, OWNED)]
    assert "rated “Heat (1995)”, another edition of" in list_evidence(viewer, restored).findings[0].reason
    others = [item(t, "Crime|Drama") for t in ("Heat (1986)", "Heat 2 (2025)", "Three Colors: Blue")]
    assert issues(viewer, *others) == []


def test_nothing_is_off_category_for_a_broad_shopper() -> None:
    tyre = item("Winter Tyre", "Car Parts")
    fields = ("Tea", "Jam", "Soap", "Books", "Garden", "Toys")
    assert issues(user(*(bought(item(f"Some {f}", f), 2) for f in fields)), tyre) == []
    under_one_roof = user(*(bought(item(f"Some {f}", f"Home > Pantry > {f}"), 2) for f in fields))
    assert issues(under_one_roof, tyre) == [(1, OFF_CATEGORY)]


@pytest.mark.parametrize(
    "evidence",
    [
        {"clicks": (clicked(item("Summer Tyre", "Car Parts")),)},
        {"searches": (searched("winter tyres"),)},
        {"browsed": ("Car Parts",)},
    ],
)
def test_any_sign_of_interest_prevents_off_category(evidence: dict[str, object]) -> None:
    teas = [bought(item(f"Tea No. {n}", "Tea"), n + 1) for n in range(3)]
    assert issues(user(*teas, **evidence), item("Winter Tyre", "Car Parts")) == []
