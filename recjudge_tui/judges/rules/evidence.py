"""The evidence about one list, and the label and score that follow from it by the guidelines."""

from __future__ import annotations

import math
from dataclasses import dataclass

from recjudge_tui.domain.material import ItemView, SlateView, UserView
from recjudge_tui.judges.rules.issues import Finding, findings
from recjudge_tui.judges.rules.profile import Profile, strength, taste_rank, traits

GOOD, PARTIAL, POOR = "Good Match", "Partial Match", "Poor Match"
RELEVANT_FROM = 1 / 3  # a relevant item matches the taste better than a third of the items the user liked
NAMED_FROM = 0.5  # minimum weight of a category that counts as a shopper's own: one purchase half a year ago, or two clicks
KINDS_WANTED = 3  # categories in a diverse list, if the user's history has as many
VARIETY_WEIGHT = 0.1  # weight of category variety in the score within a label
MIDDLE = 0.5  # the score within a label if nothing distinguishes lists with that label


@dataclass(frozen=True)
class ItemEvidence:
    """An item and its rank in the user's taste (0..1). `shared` are its categories that the user likes."""

    item: ItemView
    taste_rank: float
    relevant: bool
    shared: tuple[str, ...]
    flagged: bool = False

    @property
    def useful(self) -> bool:
        return self.relevant and not self.flagged

    @property
    def worth(self) -> float:
        """0 for a flagged item, else the mean of relevance (0 or 1) and taste rank."""
        return 0.0 if self.flagged else (self.relevant + self.taste_rank) / 2


@dataclass(frozen=True)
class Evidence:
    """The evidence that the guidelines use about one list.

    `useful` counts the items that are relevant and not flagged; `good_from` and `partial_from` are the bounds
    ceil(0.7 n) and ceil(0.4 n) of its n items. `kinds` counts different categories; a diverse list has `kinds_wanted`.
    `known`: the user has a history. `within` (0..1) ranks lists with the same label.
    """

    items: tuple[ItemEvidence, ...]
    findings: tuple[Finding, ...]
    top_k: int
    useful: int
    good_from: int
    partial_from: int
    kinds: int
    kinds_wanted: int
    severe: bool
    known: bool
    within: float

    @property
    def diverse(self) -> bool:
        return self.kinds >= self.kinds_wanted

    @property
    def category(self) -> str:
        """Good: enough useful items, diverse, no issue. Poor: too few useful items, or severe issues. Partial: the rest.

        Without a history, relevance is unknown: the list is Partial, or Poor when it has severe issues.
        """
        if self.severe or not self.items:
            return POOR
        if not self.known:
            return PARTIAL
        if self.useful < self.partial_from:
            return POOR
        if self.useful < self.good_from or self.findings or not self.diverse:
            return PARTIAL
        return GOOD

    @property
    def score(self) -> float:
        """`(label + within) / 3` with Poor 0, Partial 1, Good 2, so a better label always gives a higher score."""
        return ((POOR, PARTIAL, GOOD).index(self.category) + self.within) / 3


def bounds(length: int) -> tuple[int, int]:
    """ceil(0.7 n) and ceil(0.4 n), by integer arithmetic: 10 → (7, 4), 5 → (4, 2), 7 → (5, 3)."""
    return -(-7 * length // 10), -(-4 * length // 10)


def evidence_of(slate: SlateView, user: UserView, profile: Profile, top_k: int) -> Evidence:
    """The evidence about one list. The bounds are those of its own length."""
    issues = findings(slate, user, profile)
    flagged = {f.place for f in issues}
    items = tuple(
        _item_evidence(item, profile, place in flagged) for place, item in enumerate(slate.items, start=1)
    )
    shown = len(items)
    kinds = len({traits(i.item).categories.tokens for i in items} - {()})
    good_from, partial_from = bounds(shown)
    return Evidence(
        items=items,
        findings=issues,
        top_k=top_k,
        useful=sum(i.useful for i in items),
        good_from=good_from,
        partial_from=partial_from,
        kinds=kinds,
        kinds_wanted=min(KINDS_WANTED, max(profile.kinds, 1), shown),
        severe=_severe(issues, shown),
        known=not profile.empty,
        within=_within(items, kinds, max(top_k, shown, 1), profile),
    )


def _item_evidence(item: ItemView, profile: Profile, flagged: bool) -> ItemEvidence:
    """The evidence about one item. It is relevant if it matches the taste better than a third of the user's liked items.

    For a shopper it is also relevant if it belongs to one of their categories (weight in the profile at least 0.5), or
    contains all words of a search of two words or more.
    """
    item_traits = traits(item)
    value = strength(item_traits, profile)
    rank = taste_rank(value, profile)
    shared = tuple(c for c in item_traits.categories.tokens if profile.categories.get(c, 0.0) > 0)
    relevant = value > 0 and rank >= RELEVANT_FROM
    if not relevant and not profile.media:
        levels = item_traits.categories
        own_categories = {levels.leaf, levels.parent} - {""} or set(levels.tokens)
        relevant = value > 0 and any(profile.categories.get(c, 0.0) >= NAMED_FROM for c in own_categories)
        relevant = relevant or any(search.issubset(item_traits.words) for search in profile.searches)
    return ItemEvidence(item, rank, relevant, shared, flagged)


def _severe(issues: tuple[Finding, ...], shown: int) -> bool:
    """Whether there are at least two findings whose weights add up to more than a third of the list."""
    return len(issues) >= 2 and 3 * math.fsum(f.weight for f in issues) > shown


def _within(items: tuple[ItemEvidence, ...], kinds: int, length: int, profile: Profile) -> float:
    """The score within a label, over `length` places; an empty place is worth 0.

    Media: every shown item is worth the same. Of two lists with the same label, users did not prefer the one whose
    genres are closer to their history (docs/benchmarks.md), so closeness does not count further. Shoppers: `0.9 *
    mean worth + 0.1 * kinds / length`. Without a history each item is worth 0.5, or 0 if flagged.
    """
    if profile.media:
        return MIDDLE * len(items) / length
    worth = math.fsum(0.0 if i.flagged else 0.5 if profile.empty else i.worth for i in items)
    return (1 - VARIETY_WEIGHT) * worth / length + VARIETY_WEIGHT * min(kinds / length, 1.0)
