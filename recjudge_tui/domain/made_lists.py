"""Lists made to test judges, known by their names: adversarial pairs (a user's own list and another user's; SAER) and
real lists with a planted fault."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

ADVERSARIAL = "adversarial"
Variant = Literal["published", "unseen"]

# by name the foreign list comes first: it is system a of the case, so `B` is the right answer
PREFIXES: dict[Variant, tuple[str, str]] = {
    "published": ("foreign:", "own:"),
    "unseen": ("foreign-unseen:", "own-unseen:"),
}
CORRECT = -1.0


class AdversarialPair(NamedTuple):
    variant: Variant
    system: str


def pair_names(variant: Variant, system: str) -> tuple[str, str]:
    """The names of the two lists of `system`: (foreign, own)."""
    foreign, own = PREFIXES[variant]
    return foreign + system, own + system


def adversarial_pair(a: str, b: str) -> AdversarialPair | None:
    """The adversarial pair that two names, in either order, identify; None for ordinary systems."""
    first, second = sorted((a, b))
    for variant, (foreign, own) in PREFIXES.items():
        system = first.removeprefix(foreign)
        if system and (first, second) == (foreign + system, own + system):
            return AdversarialPair(variant, system)
    return None


PLANTED = "planted"
FaultKind = Literal["variant", "owned", "refill", "durable", "off-category"]
FAULT_KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
ABOUT: dict[FaultKind, str] = {
    "variant": "a variant of an item higher up in the list",
    "owned": "an item that the user has",
    "refill": "a refill, while most of the user's last pack must be left",
    "durable": "a second durable good of a kind that the user bought",
    "off-category": "an item whose categories, brand and words occur in none of the user's events",
}

# domain (empty: unknown) -> the title of a variant
_VARIANT_TITLES = {
    "films": "{} (Special Edition)",
    "books": "{} (Illustrated Edition)",
    "music": "{} (Deluxe Edition)",
    "news": "{} (Updated)",
    "places": "{} (Second Entry)",
    "shop": "{}, Pack of 2",
}


class PlantedList(NamedTuple):
    """The meaning of such a list's name: the planted fault, and the system that made the original list."""

    kind: FaultKind
    system: str


def planted_name(kind: FaultKind, system: str) -> str:
    """The name under which a list of `system` with a fault of this kind is stored, in place of a system's."""
    return f"{PLANTED}-{kind}:{system}"


def planted_list(name: str) -> PlantedList | None:
    """The meaning of the name of a list with a planted fault; None for the name of a system."""
    for kind in FAULT_KINDS:
        system = name.removeprefix(planted_name(kind, ""))
        if system and system != name:
            return PlantedList(kind, system)
    return None


def variant_title(title: str, domain: str, *, media: bool) -> str:
    """The title of a near-identical variant of an item."""
    usual = "films" if media else "shop"
    return _VARIANT_TITLES.get(domain, _VARIANT_TITLES[usual]).format(title)
