"""Which faults can be planted for a user, and which items of a list certainly have none."""

from __future__ import annotations

import random

import pytest

from recjudge_tui.domain.made_lists import FaultKind
from recjudge_tui.domain.material import ItemView, UserView
from recjudge_tui.judges.rules.issues import Catalogue, Fault, Shopper, fault, free_places
from tests.support.rules_material import bought, clicked, item, rated, user

KETTLE = item("Electric Kettle Steel", "Kitchen")
OTHER_KETTLE = item("Whistling Kettle Copper", "Kitchen")
SHAMPOO = item("Everyday Shampoo, 1000 ml", "Hair")
GUITAR = item("Acoustic Guitar", "Instruments")
HAIR = [item(f"{word} Comb", "Hair") for word in ("Amber", "Birch", "Cedar", "Dune", "Ember")]
LIST = [item(f"{word} Thing", "Hair") for word in ("Fjord", "Grove", "Heath")]


def drawn(kind: FaultKind, who: UserView, items: list[ItemView], **more: object) -> Fault | None:
    catalogue = Catalogue((KETTLE, OTHER_KETTLE, SHAMPOO, GUITAR, *HAIR, *LIST))
    hidden = more.get("hidden", ())
    assert isinstance(hidden, tuple)
    return fault(kind, Shopper(who, hidden), items, catalogue, random.Random(1))


def test_a_second_durable_needs_a_recent_purchase_and_nobody_who_compares() -> None:
    owner = user(bought(KETTLE, days=30))
    planted = drawn("durable", owner, LIST)
    assert planted is not None
    assert planted.item == OTHER_KETTLE
    assert drawn("durable", user(bought(KETTLE, days=600)), LIST) is None
    comparing = owner.model_copy(update={"clicks": (clicked(OTHER_KETTLE),)})
    assert drawn("durable", comparing, LIST) is None


def test_a_refill_needs_a_pack_that_is_nearly_full() -> None:
    planted = drawn("refill", user(bought(SHAMPOO, days=3)), LIST)
    assert planted is not None
    assert planted.item == SHAMPOO
    assert drawn("refill", user(bought(SHAMPOO, days=100)), LIST) is None


def test_what_is_bought_again_is_not_planted_as_owned() -> None:
    planted = drawn("owned", user(bought(HAIR[0]), bought(SHAMPOO)), LIST)
    assert planted is not None
    assert planted.item == HAIR[0]
    assert drawn("owned", user(bought(SHAMPOO)), LIST) is None
    assert drawn("owned", user(bought(LIST[0])), LIST) is None


def test_off_category_needs_a_known_taste_and_is_never_held_out() -> None:
    who = user(bought(KETTLE), *[bought(comb) for comb in HAIR])
    planted = drawn("off-category", who, LIST)
    assert planted is not None
    assert planted.item == GUITAR
    assert drawn("off-category", who, LIST, hidden=(GUITAR.item_id,)) is None
    assert drawn("off-category", user(bought(HAIR[0])), LIST) is None


@pytest.mark.parametrize("seed", range(5))
def test_a_variant_is_placed_below_its_original(seed: int) -> None:
    planted = fault("variant", Shopper(user(rated(GUITAR))), LIST, Catalogue(()), random.Random(seed))
    assert planted is not None
    originals = [f"{original.title} (Special Edition)" for original in LIST[: planted.place]]
    assert planted.item.title in originals


@pytest.mark.parametrize("kind", ["variant", "owned", "refill", "durable", "off-category"])
def test_an_empty_list_and_an_empty_user_have_no_room_for_a_fault(kind: FaultKind) -> None:
    assert drawn(kind, user(), []) is None
    if kind != "variant":
        assert drawn(kind, user(), LIST) is None


def test_an_item_is_free_of_a_fault_only_where_nothing_hints_at_it() -> None:
    shopper = Shopper(user(bought(KETTLE), bought(SHAMPOO)))
    items = [
        OTHER_KETTLE,
        item("Fjord Lamp", "Light"),
        item("Fjord Vase", "Kitchen"),
        item("Silk Shampoo, 250 ml", "Hair"),
    ]
    assert free_places("variant", shopper, items) == {0, 3}
    assert free_places("owned", shopper, items) == {1, 2}
    assert free_places("durable", shopper, items) == {1, 2, 3}
    assert free_places("refill", shopper, items) == {0, 1, 2}
    assert free_places("off-category", shopper, items) == {0, 2, 3}
