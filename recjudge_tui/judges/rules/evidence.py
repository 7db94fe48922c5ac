"""The evidence about one list, the label and score that follow from it by the guidelines, and the reasoning in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from recjudge_tui.domain.material import ItemView, SlateView, UserView
from recjudge_tui.domain.text import one_line
from recjudge_tui.judges.rules.issues import (
    DURABLE,
    OFF_CATEGORY,
    OWNED,
    PACING,
    VARIATION,
    Finding,
    findings,
    quoted,
)
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
    """The evidence that the guidelines use about one list. `useful` counts the items that are relevant and not flagged;
    `good_from` and `partial_from` are the bounds ceil(0.7 n) and ceil(0.4 n) of its n items. `kinds` counts different
    categories; a diverse list has `kinds_wanted`. `known`: the user has a history. `within` (0..1) ranks lists with the
    same label."""

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
        Without a history, relevance is unknown: the list is Partial, or Poor when it has severe issues."""
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
    flagged, shown = {f.place for f in issues}, len(slate.items)
    items = tuple(_item_evidence(item, profile, at in flagged) for at, item in enumerate(slate.items, 1))
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
        # the findings' weights add up to more than a third of the list
        severe=len(issues) >= 2 and 3 * math.fsum(f.weight for f in issues) > shown,
        known=not profile.empty,
        within=_within(items, kinds, max(top_k, shown, 1), profile),
    )


def _item_evidence(item: ItemView, profile: Profile, flagged: bool) -> ItemEvidence:
    """The evidence about one item. It is relevant if it matches the taste better than a third of the user's liked items.
    For a shopper it is also relevant if it belongs to one of their categories (weight in the profile at least 0.5), or
    contains all words of a search of two words or more."""
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


def _within(items: tuple[ItemEvidence, ...], kinds: int, length: int, profile: Profile) -> float:
    """The score within a label, over `length` places; an empty place is worth 0. Media: every shown item is worth the
    same. Of two lists with the same label, users did not prefer the one whose genres are closer to their history
    (docs/benchmarks.md), so closeness does not count further. Shoppers: `0.9 * mean worth + 0.1 * kinds / length`. Without
    a history each item is worth 0.5, or 0 if flagged."""
    if profile.media:
        return MIDDLE * len(items) / length
    worth = math.fsum(0.0 if i.flagged else 0.5 if profile.empty else i.worth for i in items)
    return (1 - VARIETY_WEIGHT) * worth / length + VARIETY_WEIGHT * min(kinds / length, 1.0)


# ---- in words ----------------------------------------------------------------------------------------------------

NO_HISTORY = "Nothing is known about what this user bought, rated, searched or looked at"
# issue -> what to call one such item, and several
_NAMES = {
    OWNED: ("already owned", "already owned"),
    DURABLE: ("a second durable of a kind they have", "more durables of a kind they have"),
    PACING: ("a refill long before it is due", "refills long before they are due"),
    VARIATION: ("nearly the same as another", "nearly the same as others"),
    OFF_CATEGORY: ("foreign to this user", "foreign to this user"),
}


def about_list(evidence: Evidence, profile: Profile) -> str:
    """Why one list got its category."""
    if not evidence.items:
        return "The list is empty: nothing in it could be relevant."
    return " ".join((_relevance(evidence, profile), _issues(evidence), _conclusion(evidence)))


def about_aspect(counts: str, values: tuple[float, float], names: tuple[str, str], winner: int) -> str:
    """What was counted for one aspect of two lists, and which list is ahead."""
    ahead = {1: f"{names[0]} is ahead", -1: f"{names[1]} is ahead", 0: "neither is clearly ahead"}[winner]
    return f"Counted: {counts}. {names[0]} {values[0]:.2f}, {names[1]} {values[1]:.2f}; {ahead}."


def about_pair(
    first: Evidence, second: Evidence, profile: Profile, names: tuple[str, str], winner: int
) -> str:
    """Why the first list (`winner` 1), the second (-1) or neither (0) is better. `names` are the names of the lists."""
    opening = f"{NO_HISTORY}; only the lists themselves were compared." if profile.empty else _taste(profile)
    sides = f"{_side(names[0], first)} {_side(names[1], second)}"
    return f"{opening} {sides} {_verdict(first, second, profile, names, winner)}"


def _verdict(first: Evidence, second: Evidence, profile: Profile, names: tuple[str, str], winner: int) -> str:
    alike = first.category == second.category
    better, same_media = names[0] if winner > 0 else names[1], alike and profile.media
    if winner == 0:
        said = (
            "Both have the same label, so this is a tie" if same_media else "They are too close to tell apart"
        )
    elif same_media:
        said = f"Both have the same label; {better} has more items"
    else:
        both = "Both are about equally good; item by item, " if alike else ""
        said = f"{both}{better} fits better"
    return f"{said} (scores {first.score:.2f} and {second.score:.2f})."


def _taste(profile: Profile) -> str:
    if not profile.leading:
        return "The user's record shows no category that they like."
    return f"The user's record is mostly about {_and([one_line(name, 40) for name in profile.leading[:3]])}."


def _relevance(evidence: Evidence, profile: Profile) -> str:
    if profile.empty:
        return f"{NO_HISTORY}, so relevance is unknown and only the list itself was judged."
    shown, fitting = len(evidence.items), [item for item in evidence.items if item.useful]
    asked = f" shown ({evidence.top_k} were asked for)" if shown != evidence.top_k else ""
    one = len(fitting) == 1
    sound = f" and {'is' if one else 'are'} not at fault" if evidence.findings else ""
    text = (
        f"{_taste(profile)} {len(fitting)} of the {shown} items{asked} {'fits' if one else 'fit'} that{sound}"
    )
    if not fitting:
        return f"{text}."
    best = _best(fitting)
    shared = ", ".join(one_line(name, 40) for name in best.shared[:3])
    return f"{text}, such as {quoted(best.item)}{f' ({shared})' if shared else ''}."


def _best(items: Sequence[ItemEvidence]) -> ItemEvidence:
    return max(items, key=lambda item: item.taste_rank)


def _issues(evidence: Evidence) -> str:
    """`4 items are at fault: items 3 and 6 are nearly the same as others; item 5 is already owned.`"""
    if not evidence.findings:
        return "No item is at fault."
    places: dict[str, list[str]] = {}
    for finding in evidence.findings:
        places.setdefault(finding.issue, []).append(str(finding.place))
    parts = []
    for issue, numbers in places.items():
        singular, plural = _NAMES.get(issue, (issue, issue))
        parts.append(
            f"item {numbers[0]} is {singular}" if len(numbers) == 1 else f"items {_and(numbers)} are {plural}"
        )
    count = len(evidence.findings)
    return f"{count} {'item is' if count == 1 else 'items are'} at fault: {'; '.join(parts)}."


def _conclusion(evidence: Evidence) -> str:
    """The bound or issue that decided the label."""
    if evidence.category == GOOD:
        return f"A good match needs {evidence.good_from} and no fault: this is one."
    if evidence.severe:
        return "With more than a third of the list at fault this is a poor match."
    if evidence.category == POOR:
        return f"A partial match needs {evidence.partial_from}, so this is a poor one."
    if not evidence.known:
        return "Without a record, a partial match is the best possible answer."
    if evidence.useful < evidence.good_from:
        return f"A good match needs {evidence.good_from}, a partial one {evidence.partial_from}: this is a partial one."
    if evidence.findings:
        return "That is enough for a good match, but an item is at fault: a partial match."
    kinds = "one category" if evidence.kinds == 1 else f"{evidence.kinds} categories"
    return (
        f"That is enough for a good match, but all come from {kinds} where {evidence.kinds_wanted} "
        "would cover this user's interests: a partial one."
    )


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _side(name: str, evidence: Evidence) -> str:
    label = evidence.category.casefold()
    fitting = [item for item in evidence.items if item.useful and item.taste_rank > 0]
    example = f", such as {quoted(_best(fitting).item)}" if fitting else ""
    flagged = len(evidence.findings)
    faults = "no faults" if not flagged else f"{flagged} {'is' if flagged == 1 else 'are'} at fault"
    return f"{name} is a {label}: {evidence.useful} of {len(evidence.items)} items fit{example}; {faults}."
