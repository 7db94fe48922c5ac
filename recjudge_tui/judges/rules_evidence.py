"""The evidence about one list, and the label and score that the guidelines make of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from recjudge_tui.judges.rules_issues import OWNED, Finding, findings
from recjudge_tui.judges.rules_profile import Profile, standing, strength, traits
from recjudge_tui.model.material import ItemView, SlateView, UserView

GOOD, PARTIAL, POOR = "Good Match", "Partial Match", "Poor Match"
RELEVANT_FROM = 1 / 3  # an item must touch more of the taste than a third of what the user liked does
SEVERE_SHARE = 0.3  # from this share of flagged items on (and two at least) the issues are severe
KINDS_WANTED = 3  # different categories a diverse list has, where the user's history has as many
FLAG_COST = 0.5  # what a flagged item loses of its 0..1
VARIETY_WEIGHT = 0.1  # what the variety of categories weighs in the score of a list


@dataclass(frozen=True)
class ItemEvidence:
    item: ItemView
    standing: float
    relevant: bool
    shared: tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """One list as the guidelines see it.

    `relevant` counts items, `good_from` and `partial_from` are the bounds ceil(0.7 K) and ceil(0.4 K);
    `kinds` different categories of which `kinds_wanted` make it diverse; `score` in 0..1.
    """

    items: tuple[ItemEvidence, ...]
    findings: tuple[Finding, ...]
    top_k: int
    relevant: int
    good_from: int
    partial_from: int
    kinds: int
    kinds_wanted: int
    severe: bool
    known: bool
    score: float

    @property
    def diverse(self) -> bool:
        return self.kinds >= self.kinds_wanted

    @property
    def category(self) -> str:
        """Good: enough relevant, diverse, no issue. Poor: too few, or severe issues. Partial: the rest.

        Without any history relevance is not known: Partial, or Poor when the list's own faults are severe.
        """
        if self.severe or not self.items:
            return POOR
        if not self.known:
            return PARTIAL
        if self.relevant < self.partial_from:
            return POOR
        if self.relevant < self.good_from or self.findings or not self.diverse:
            return PARTIAL
        return GOOD


def bounds(top_k: int) -> tuple[int, int]:
    """ceil(0.7 K) and ceil(0.4 K), in whole numbers: 10 → (7, 4), 5 → (4, 2), 7 → (5, 3)."""
    return -(-7 * top_k // 10), -(-4 * top_k // 10)


def evidence_of(slate: SlateView, user: UserView, profile: Profile, top_k: int) -> Evidence:
    """Look at one list. A list shorter than `top_k` counts only what is there, against the bounds of `top_k`."""
    found = findings(slate, user, profile)
    items = tuple(_look(item, profile) for item in slate.items)
    shown = len(items)
    kinds = len({traits(i.item).categories.tokens for i in items} - {()})
    good_from, partial_from = bounds(top_k)
    return Evidence(
        items=items,
        findings=found,
        top_k=top_k,
        relevant=sum(i.relevant for i in items),
        good_from=good_from,
        partial_from=partial_from,
        kinds=kinds,
        kinds_wanted=min(KINDS_WANTED, max(profile.kinds, 1), shown),
        severe=_severe(found, shown),
        known=not profile.empty,
        score=_score(items, found, kinds, max(top_k, shown, 1), profile),
    )


def _look(item: ItemView, profile: Profile) -> ItemEvidence:
    what = traits(item)
    value = strength(what, profile)
    place = standing(value, profile)
    shared = tuple(c for c in what.categories.tokens if profile.categories.get(c, 0.0) > 0)
    named = {what.categories.leaf, what.categories.parent} - {""}
    by_name = not profile.media and value > 0 and (any(c in named for c in shared) if named else bool(shared))
    return ItemEvidence(item, place, by_name or (value > 0 and place >= RELEVANT_FROM), shared)


def _severe(found: tuple[Finding, ...], shown: int) -> bool:
    """A durable that the user already owns, or flags on 30 % of the list and on two items at least."""
    if any(f.severe and f.issue == OWNED for f in found):
        return True
    return len(found) >= max(2, math.ceil(SEVERE_SHARE * shown - 1e-9))


def _score(
    items: tuple[ItemEvidence, ...], found: tuple[Finding, ...], kinds: int, length: int, profile: Profile
) -> float:
    """`0.9 * mean worth + 0.1 * kinds / length` over `length` places, an empty place being worth 0.

    The worth of an item is the mean of its relevance (0 or 1) and its standing, less 0.5 when flagged and
    not below 0. Without any history each item's worth is 0.5 before flags.
    """
    flagged = {f.place for f in found}
    worth = []
    for place, item in enumerate(items, start=1):
        value = 0.5 if profile.empty else (item.relevant + item.standing) / 2
        worth.append(max(value - (FLAG_COST if place in flagged else 0.0), 0.0))
    return (1 - VARIETY_WEIGHT) * math.fsum(worth) / length + VARIETY_WEIGHT * min(kinds / length, 1.0)
