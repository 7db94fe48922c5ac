"""The labels. One documented rule gives every list a latent quality; two annotators read it with noise.

The rule knows what no recommender and no judge sees: the user's hidden taste and what they took later.
It is written apart from the product's own rules judge and shares nothing with it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from explainers import Explained
from recommenders import Ranked
from records import WINDOW_END, Chance, Person, World

TOP = 10
# Good and Partial begin here; film lists hold fewer faults, so more is asked of them.
CUTS = {"shop": (0.55, 0.40), "films": (0.76, 0.60)}
ASPECTS = ("persuasiveness", "transparency", "accuracy", "satisfaction")
SHRUGGING_USER = "viewer-11"


@dataclass(frozen=True)
class Annotator:
    """`strictness` is taken off every quality; `noise` is a standard deviation; `tie` half the width of a tie."""

    name: str
    strictness: float
    noise: float
    tie: float


ANNOTATORS = (Annotator("annotator_1", 0.0, 0.055, 0.05), Annotator("annotator_2", 0.035, 0.065, 0.07))


@dataclass(frozen=True)
class Label:
    rater: str
    user_id: str
    value: str
    rater_kind: str = "annotator"
    system: str = ""
    system_b: str = ""
    item_id: str = ""
    aspect: str = "overall"
    note: str = ""


@dataclass(frozen=True)
class Reading:
    """What the rule finds in one top-10 list."""

    quality: float
    fault: str


def read_list(world: World, person: Person, item_ids: list[str]) -> Reading:
    """Quality = mean worth of the places, less 0.08 when fewer than three categories are in the list.

    The worth of a place: 0 when there is a fault with it (see `_fault`), 1 when the user took the item
    later, else the user's hidden taste for it x 1.4, at most 1.
    """
    hits = world.hits(person.user_id)
    faults: list[str] = []
    worth = 0.0
    for place, item_id in enumerate(item_ids):
        fault = _fault(world, person, item_id, item_ids[:place])
        if item_id in hits:
            worth += 1.0
        elif fault:
            faults.append(fault)
        else:
            worth += min(1.0, 1.4 * person.taste[item_id])
            faults += ["outside what they care for"] if person.taste[item_id] < 0.2 else []
    kinds = {world.items[item_id].category for item_id in item_ids}
    quality = worth / len(item_ids) - (0.08 if len(kinds) < 3 else 0.0)
    if not faults:
        return Reading(quality, "")
    fault, times = Counter(faults).most_common(1)[0]
    return Reading(quality, f"{fault} ({times} of {len(item_ids)})")


def _fault(world: World, person: Person, item_id: str, above: list[str]) -> str:
    """Already owned, refilled too early, a second durable of the kind, or a variant of an item above it."""
    item = world.items[item_id]
    events = world.of(person.user_id, ("purchase", "rating"))
    if world.name == "films":
        return "already seen" if any(e.item_id == item_id for e in events) else ""
    bought = [(world.items[e.item_id], e.when) for e in events if e.kind == "purchase"]
    same_kind = [had for had, _ in bought if had.durable and had.category == item.category]
    if item.durable and same_kind and not _comparing(world, person, item.category):
        return "another durable of a kind they have"
    if item.line in {world.items[other].line for other in above}:
        return "near-identical variant"
    ages = [(WINDOW_END - when).days for had, when in bought if had.line == item.line]
    return "refill too early" if ages and min(ages) < 0.6 * item.lasts else ""


def _comparing(world: World, person: Person, category: str) -> bool:
    """Whether the shopper still clicked on that category in the last two weeks."""
    clicks = [e for e in world.of(person.user_id, ("click",)) if (WINDOW_END - e.when).days <= 14]
    return any(world.items[e.item_id].category == category for e in clicks)


def pointwise_labels(world: World, lists: list[Ranked], chance: Chance) -> list[Label]:
    """Good or Partial from the domain's `CUTS` up, else Poor, of quality - strictness + noise."""
    good, partial = CUTS[world.name]
    labels = []
    for annotator in ANNOTATORS:
        for (user_id, system), reading in _readings(world, lists).items():
            seen = reading.quality - annotator.strictness + chance.normal(annotator.noise)
            value = "Good" if seen >= good else "Partial" if seen >= partial else "Poor"
            note = reading.fault if value != "Good" else ""
            labels.append(Label(annotator.name, user_id, value, system=system, note=note))
    return labels


def pairwise_labels(world: World, lists: list[Ranked], chance: Chance) -> list[Label]:
    """A or B by the sign of the difference in quality + 1.4 times the noise, for two lists were read.

    A Tie within the annotator's margin.
    """
    readings = _readings(world, lists)
    first, second = sorted({row.system for row in lists})
    labels = []
    for annotator in ANNOTATORS:
        for person in world.people:
            user_id = person.user_id
            gap = readings[user_id, first].quality - readings[user_id, second].quality
            gap += chance.normal(1.4 * annotator.noise)
            value = "Tie" if abs(gap) < annotator.tie else "A" if gap > 0 else "B"
            labels.append(Label(annotator.name, user_id, value, system=first, system_b=second))
    return labels


def _readings(world: World, lists: list[Ranked]) -> dict[tuple[str, str], Reading]:
    tops: dict[tuple[str, str], list[str]] = {}
    for row in lists:
        if row.rank <= TOP:
            tops.setdefault((row.user_id, row.system), []).append(row.item_id)
    people = {person.user_id: person for person in world.people}
    return {key: read_list(world, people[key[0]], items) for key, items in sorted(tops.items())}


# Explainer: the mean score of a reason that half holds, aspect by aspect in the order of ASPECTS.
EXPLAINER_LEVEL = {
    "similar_item": (3.5, 3.8, 3.5, 3.4),
    "category_match": (3.1, 3.6, 3.3, 3.1),
    "popular": (2.7, 2.4, 2.4, 2.5),
}
TASTE_PULL = (1.6, 0.3, 0.8, 1.9)
FIT_PULL = (1.4, 1.2, 2.0, 1.2)


def explanation_labels(world: World, texts: list[Explained], chance: Chance) -> list[Label]:
    """1-5 = explainer's level + pull of taste + pull of fit, each from its middle, + user's habit + noise.

    The user feels all of it; an annotator sees the fit as well but the taste only half, and knows no habit.
    """
    people = {person.user_id: person for person in world.people}
    habit = {person.user_id: chance.normal(0.5) for person in world.people}
    labels = []
    for text in texts:
        for place, aspect in enumerate(ASPECTS):
            level = EXPLAINER_LEVEL[text.system][place] + FIT_PULL[place] * (text.fit - 0.5)
            taste = TASTE_PULL[place] * (people[text.user_id].taste[text.item_id] - 0.5)
            scores = {"user": level + taste + habit[text.user_id] + chance.normal(0.6)}
            for annotator in ANNOTATORS:
                scores[annotator.name] = level + taste / 2 - 4 * annotator.strictness + chance.normal(0.6)
            if text.user_id == SHRUGGING_USER:
                scores["user"] = 4.0
            labels += [_score(rater, text, aspect, score) for rater, score in scores.items()]
    return labels


def _score(rater: str, text: Explained, aspect: str, score: float) -> Label:
    kind = "ground_truth" if rater == "user" else "annotator"
    value = str(max(1, min(5, round(score))))
    return Label(rater, text.user_id, value, kind, system=text.system, item_id=text.item_id, aspect=aspect)


def quadratic_kappa(first: list[int], second: list[int]) -> float:
    """Cohen's kappa with squared distances as weights: 1 - observed / expected disagreement."""
    n = len(first)
    observed = sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) / n
    expected = sum((a - b) ** 2 for a in first for b in second) / n**2
    return 1.0 - observed / expected
