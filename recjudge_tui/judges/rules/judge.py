"""The built-in judge without a language model: the published list-quality guidelines as code. It reads the material of a
case and answers any reply schema whose fields it has rules for. The same request gives the same bytes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from recjudge_tui.domain.calls import Reply, Request
from recjudge_tui.domain.judge import Identity, JudgeSpec, Workload
from recjudge_tui.domain.material import ExplanationView, ItemView, Material, SlateView, UserView, bounds
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, UsageError
from recjudge_tui.judges.registry import Judge
from recjudge_tui.judges.rules.issues import NAMES, Finding, findings, quoted
from recjudge_tui.judges.rules.profile import Profile, profile_of, strength, taste_rank, traits, words

# ---- evidence ----------------------------------------------------------------------------------------------------

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
    `kinds` counts different categories; a diverse list has `kinds_wanted`. `known`: the user has a history. `within`
    (0..1) ranks lists with the same label."""

    items: tuple[ItemEvidence, ...]
    findings: tuple[Finding, ...]
    top_k: int
    useful: int
    kinds: int
    kinds_wanted: int
    severe: bool
    known: bool
    within: float

    @property
    def bounds(self) -> tuple[int, int]:
        """The useful items that make the list good and partial."""
        return bounds(len(self.items))

    @property
    def category(self) -> str:
        """Good: enough useful items, diverse, no issue. Poor: too few useful items, or severe issues. Partial: the rest.
        Without a history, relevance is unknown: the list is Partial, or Poor when it has severe issues."""
        if self.severe or not self.items:
            return POOR
        if not self.known:
            return PARTIAL
        good_from, partial_from = self.bounds
        if self.useful < partial_from:
            return POOR
        lacks = self.useful < good_from or self.findings or self.kinds < self.kinds_wanted
        return PARTIAL if lacks else GOOD

    @property
    def score(self) -> float:
        """`(label + within) / 3` with Poor 0, Partial 1, Good 2, so a better label always gives a higher score."""
        return ((POOR, PARTIAL, GOOD).index(self.category) + self.within) / 3


def evidence_of(slate: SlateView, user: UserView, profile: Profile, top_k: int) -> Evidence:
    """The evidence about one list. The bounds are those of its own length."""
    issues = findings(slate, user, profile)
    flagged, shown = {f.place for f in issues}, len(slate.items)
    items = tuple(_item_evidence(item, profile, at in flagged) for at, item in enumerate(slate.items, 1))
    kinds = len({traits(i.item).categories.tokens for i in items} - {()})
    return Evidence(
        items=items,
        findings=issues,
        top_k=top_k,
        useful=sum(i.useful for i in items),
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


def about_list(evidence: Evidence, profile: Profile) -> str:
    """Why one list got its category."""
    if not evidence.items:
        return "The list is empty: nothing in it could be relevant."
    return " ".join((_relevance(evidence, profile), _issues(evidence), _conclusion(evidence)))


def about_pair(subject: Subject, winner: int) -> str:
    """Why the first list (`winner` 1), the second (-1) or neither (0) is better."""
    (first, second), names, profile = subject.lists, subject.names, subject.profile
    opening = f"{NO_HISTORY}; only the lists themselves were compared." if profile.empty else _taste(profile)
    sides = f"{_side(names[0], first)} {_side(names[1], second)}"
    alike = first.category == second.category
    better, same_media = names[0] if winner > 0 else names[1], alike and profile.media
    if winner == 0:
        tie = "Both have the same label, so this is a tie"
        said = tie if same_media else "They are too close to tell apart"
    elif same_media:
        said = f"Both have the same label; {better} has more items"
    else:
        both = "Both are about equally good; item by item, " if alike else ""
        said = f"{both}{better} fits better"
    return f"{opening} {sides} {said} (scores {first.score:.2f} and {second.score:.2f})."


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
    fit = "fits" if one else "fit"
    text = f"{_taste(profile)} {len(fitting)} of the {shown} items{asked} {fit} that{sound}"
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
        singular, plural = NAMES[issue]
        one = len(numbers) == 1
        parts.append(f"item {numbers[0]} is {singular}" if one else f"items {_and(numbers)} are {plural}")
    count = len(evidence.findings)
    return f"{count} {'item is' if count == 1 else 'items are'} at fault: {'; '.join(parts)}."


def _conclusion(evidence: Evidence) -> str:
    """The bound or issue that decided the label."""
    good_from, partial_from = evidence.bounds
    if evidence.category == GOOD:
        return f"A good match needs {good_from} and no fault: this is one."
    if evidence.severe:
        return "With more than a third of the list at fault this is a poor match."
    if evidence.category == POOR:
        return f"A partial match needs {partial_from}, so this is a poor one."
    if not evidence.known:
        return "Without a record, a partial match is the best possible answer."
    if evidence.useful < good_from:
        return f"A good match needs {good_from}, a partial one {partial_from}: this is a partial one."
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


VERSION = "rules-5"


class RulesJudge(Judge):
    """Answers from `Request.material`. It ignores messages and sampling, so replies are not cached."""

    name = "rules"
    rater_kind = "rules"
    cacheable = False
    concurrency = 8

    def __init__(self, spec: JudgeSpec) -> None:
        if spec.target:
            why = "The built-in judge is called “rules”, without a colon."
            raise UsageError(f"judge “{spec.spec}” does not exist", why)

    async def prepare(self, workload: Workload) -> Identity:
        """Change the version with any change that could alter an answer."""
        return Identity(name=VERSION, structured=True, details={"language_model": False})

    async def ask(self, request: Request) -> Reply:
        """The answer as JSON. Raises CallError (`unsupported`) without material, or for a field without a rule."""
        if request.material is None:
            raise unsupported("the request holds text only")
        fields = answer(request.material, request.reply_schema)
        text = json.dumps(fields, ensure_ascii=False, separators=(", ", ": "))
        return Reply(text=text, structured=True, model=VERSION, stop="stop")


# ---- answers -----------------------------------------------------------------------------------------------------

TIE_MARGIN = 0.015  # a difference of scores up to this is a tie; it is 4.5 % of the range of one label
_PAIR_WORDS = {
    "set 1": 1, "a wins": 1, "a": 1, "set 2": -1, "b wins": -1, "b": -1, "tie": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """One case. Its evidence is computed when a field first needs it."""

    material: Material
    names: tuple[str, str] = ("Set 1", "Set 2")

    @cached_property
    def profile(self) -> Profile:
        return profile_of(self.material.user)

    @cached_property
    def lists(self) -> tuple[Evidence, ...]:
        m = self.material
        return tuple(evidence_of(slate, m.user, self.profile, m.top_k) for slate in m.slates)

    @cached_property
    def explanation(self) -> ExplanationEvidence | None:
        m = self.material
        return explanation_evidence(m.explanation, m.user, self.profile) if m.explanation else None


def answer(material: Material, schema: Mapping[str, Any]) -> dict[str, Any]:
    """A reply with every property of the schema, in the schema's order. Known fields: a string without choices
    (reasoning), `flagged_items`, string choices of Good/Partial/Poor Match, of Set 1/Set 2/Tie or A wins/B wins/Tie, and
    numbers (choices, or bounds, by default 0..1). A number scores the explanation if the case has one, else the list.
    Raises CallError (`unsupported`) for any other field, and when the case lacks what a field needs."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        raise unsupported("the reply's schema has no fields")
    choices = [c for spec in properties.values() if isinstance(spec, dict) for c in spec.get("enum") or ()]
    subject = Subject(material, ("A", "B") if "A wins" in choices else ("Set 1", "Set 2"))
    return {name: _field(name, spec, subject) for name, spec in properties.items()}


def unsupported(cause: str) -> CallError:
    return CallError(
        "unsupported",
        "the rules judge cannot answer this question",
        f"It has no rule for this: {cause}.",
        "Use a language model for this protocol or prompt.",
    )


def _field(name: str, spec: Any, subject: Subject) -> Any:
    if not isinstance(spec, dict):
        raise unsupported(f"field “{name}” is not described")
    choices, kind = spec.get("enum"), spec.get("type")
    if isinstance(choices, list) and choices:
        if all(isinstance(c, str) for c in choices):
            return _label(name, choices, subject)
        if all(isinstance(c, (int, float)) and not isinstance(c, bool) for c in choices):
            # the nearest to this share of the way from the smallest to the largest; of two equally near, the smaller
            target = min(choices) + _quality(name, subject) * (max(choices) - min(choices))
            return min(choices, key=lambda choice: (abs(choice - target), choice))
    elif kind == "string":
        return _reasoning(subject, name)
    elif kind == "array":
        return _flags(name, spec, subject)
    elif kind in ("number", "integer"):
        low, high = spec.get("minimum", 0), spec.get("maximum", 1)
        value = low + _quality(name, subject) * (high - low)
        return math.floor(value + 0.5) if kind == "integer" else round(float(value), 4)
    raise unsupported(f"field “{name}” is of a kind it does not know")


def _label(name: str, choices: list[str], subject: Subject) -> str:
    known = {choice.casefold().strip(): choice for choice in choices}
    answers: list[str] = []
    if any(word.startswith(("good", "partial", "poor")) for word in known):
        (evidence,) = _lists(name, subject, 1)
        first = evidence.category.split()[0].casefold()
        answers = [choice for word, choice in known.items() if word.split()[0] == first]
    elif set(known) <= set(_PAIR_WORDS):
        expected = winner(name, subject)
        answers = [choice for word, choice in known.items() if _PAIR_WORDS[word] == expected]
    if not answers:
        raise unsupported(f"field “{name}” offers {', '.join(choices[:6])}")
    return answers[0]


def winner(aspect: str, subject: Subject) -> int:
    """1 if the first list is better on an aspect, -1 if the second is, 0 if they differ by at most `TIE_MARGIN`. Each
    list's value is computed on its own, so swapping the lists swaps the answer exactly. The score of a whole list stays
    within its label's third of 0..1, so the list with the worse label never wins."""
    first, second = _lists(aspect, subject, 2)
    difference = aspect_value(aspect, first) - aspect_value(aspect, second)
    return 0 if abs(difference) <= TIE_MARGIN else 1 if difference > 0 else -1


def _quality(name: str, subject: Subject) -> float:
    if subject.explanation is not None:
        return subject.explanation.of(name)
    (evidence,) = _lists(name, subject, 1)
    return min(max(aspect_value(name, evidence), 0.0), 1.0)


def _lists(field: str, subject: Subject, count: int) -> tuple[Evidence, ...]:
    if len(subject.lists) != count:
        asks = "is about one list" if count == 1 else "compares two lists"
        raise unsupported(f"field “{field}” {asks}, and the case has {len(subject.lists)}")
    return subject.lists


def _flags(name: str, spec: Mapping[str, Any], subject: Subject) -> list[dict[str, Any]]:
    """The list's findings as flagged items. An issue that the schema does not offer becomes `other` if it offers that."""
    fields = spec.get("items", {}).get("properties", {}) if isinstance(spec.get("items"), dict) else {}
    if not {"item", "issue"} <= set(fields):
        raise unsupported(f"field “{name}” lists something other than flagged items")
    places, issues = fields["item"].get("enum"), fields["issue"].get("enum")
    flags = []
    for found in _lists(name, subject, 1)[0].findings:
        issue = found.issue if issues is None or found.issue in issues else "other"
        if (places is None or found.place in places) and (issues is None or issue in issues):
            flag = {"item": found.place, "issue": issue, "reason": found.reason}
            flags.append({key: value for key, value in flag.items() if key in fields})
    return flags


def _reasoning(subject: Subject, field: str) -> str:
    if subject.explanation is not None:
        parts = subject.explanation
        return (
            f"Scored from words alone, from 0 to 1: the text names its item {parts.item:.2f}, refers to the user's own "
            f"history {parts.user:.2f}, has the right form {parts.form:.2f}, and its item fits the user {parts.fit:.2f}."
        )
    if len(subject.lists) == 1:
        return about_list(subject.lists[0], subject.profile)
    first, second = _lists(field, subject, 2)
    aspect = field.removesuffix("_analysis") if field.endswith("_analysis") else OVERALL
    rule = aspect_rule(aspect)
    if rule is not None:
        one, other = subject.names
        lead = {1: f"{one} is ahead", -1: f"{other} is ahead", 0: "neither is clearly ahead"}
        values = f"{one} {rule.value(first):.2f}, {other} {rule.value(second):.2f}"
        return f"Counted: {rule.counts}. {values}; {lead[winner(aspect, subject)]}."
    return about_pair(subject, winner(aspect, subject))


# ---- aspects: what the rules count for each, chosen by its name ---------------------------------------------------


class AspectRule(NamedTuple):
    """`value` computes a list's value in 0..1, `counts` describes it. `parts`: it applies to names with one of these."""

    parts: tuple[str, ...]
    counts: str
    value: Callable[[Evidence], float]


def _per_place(evidence: Evidence, amount: float) -> float:
    return amount / max(evidence.top_k, len(evidence.items), 1)


_RULES = (
    AspectRule(
        ("accura", "relevan"),
        "how far its items meet the user's taste",
        lambda e: _per_place(e, math.fsum(item.worth for item in e.items)) if e.known else e.score,
    ),
    AspectRule(
        ("transparen", "explain"),
        "the share of items that share something with the user's record",
        lambda e: _per_place(e, sum(bool(item.shared) for item in e.items)),
    ),
    AspectRule(
        ("inspir", "divers", "novel", "serendip", "explor"),
        "different categories for each item",
        lambda e: _per_place(e, e.kinds),
    ),
    AspectRule(
        ("quality",),
        "the share of items without a fault",
        lambda e: _per_place(e, len(e.items) - len(e.findings)),
    ),
)


def aspect_rule(name: str) -> AspectRule | None:
    """The rule for an aspect; None for an aspect without one."""
    word = name.casefold()
    return next((rule for rule in _RULES if any(part in word for part in rule.parts)), None)


def aspect_value(name: str, evidence: Evidence) -> float:
    """A list's value on an aspect in 0..1; the score of the whole list if the aspect has no rule."""
    rule = aspect_rule(name)
    return evidence.score if rule is None else rule.value(evidence)


# ---- explanations ------------------------------------------------------------------------------------------------

# Scored by word overlap alone, a weak instrument: it does not understand the text. Four parts in 0..1: `item` (the text
# names categories or title words of what it explains), `user` (it names titles, categories or brands of the user's own
# history), `fit` (how well the item matches the user's taste) and `form` (6 to 60 words, and one that gives a reason).
_READ = 20_000
_TAG = re.compile(r"<[^<>]{0,2000}>")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_REASONS = (
    "because", "since", "similar", "like", "liked", "rated", "bought", "watched", "enjoyed", "recommend",
    "因为", "因此", "喜欢", "相似", "推荐", "所以",
)  # fmt: skip
SHORTEST, LONGEST = 6, 60
_MIXES = {"persuas": (0.3, 0.2, 0.2, 0.3), "transp": (0.3, 0.4, 0.0, 0.3), "accura": (0.2, 0.2, 0.6, 0.0)}


class ExplanationEvidence(NamedTuple):
    item: float
    user: float
    fit: float
    form: float

    def of(self, aspect: str) -> float:
        """The score of an aspect, 0..1: a weighted mean of the parts. An unknown aspect gets the mean of all four."""
        mix = next((m for start, m in _MIXES.items() if start in aspect.casefold()), (0.25,) * 4)
        return sum(weight * part for weight, part in zip(mix, self, strict=True))


def explanation_evidence(
    explanation: ExplanationView, user: UserView, profile: Profile
) -> ExplanationEvidence:
    text = _TAG.sub(" ", explanation.text[:_READ]).casefold()
    item_traits = traits(explanation.item)
    own = [*item_traits.categories.tokens, *item_traits.words, item_traits.brand]
    theirs = [*profile.leading[:5], *(b for b in sorted(profile.brands) if profile.brands[b] > 0)]
    theirs += [" ".join(words(event.item.title)) for event in user.history if event.item]
    length = len(text.split()) + len(_CJK.findall(text)) / 2
    sized = min(length / SHORTEST, 1.0) * min(LONGEST / length, 1.0) if length else 0.0
    return ExplanationEvidence(
        item=_named(own, text),
        user=_named(theirs, f"{text} {' '.join(words(text))}"),
        fit=0.5 if profile.empty else taste_rank(strength(item_traits, profile), profile),
        form=0.6 * sized + 0.4 * any(word in text for word in _REASONS) if length else 0.0,
    )


def _named(names: list[str], text: str) -> float:
    """How many names of two letters or more the text contains, as a share of two, at most 1."""
    return min(sum(name in text for name in set(names) if len(name) > 1) / 2, 1.0)
