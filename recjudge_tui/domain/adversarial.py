"""Names of the two lists of an adversarial pair: the user's own list and another user's (SAER)."""

from __future__ import annotations

from typing import Literal, NamedTuple

ADVERSARIAL = "adversarial"
Variant = Literal["published", "unseen"]

# by name the foreign list comes first: it is system a of the case, so `B` is the right answer
PREFIXES: dict[Variant, tuple[str, str]] = {
    "published": ("foreign:", "own:"),
    "unseen": ("foreign-unseen:", "own-unseen:"),
}
CORRECT, WRONG = -1.0, 1.0


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
