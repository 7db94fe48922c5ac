"""Writes the reasoning: two to five plain sentences with counts and names of items."""

from __future__ import annotations

from collections.abc import Sequence

from recjudge_tui.domain.text import one_line
from recjudge_tui.judges.rules.evidence import GOOD, POOR, Evidence, ItemEvidence
from recjudge_tui.judges.rules.issues import DURABLE, OFF_CATEGORY, OWNED, PACING, VARIATION, quoted
from recjudge_tui.judges.rules.profile import Profile

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
    sentences = (_relevance(evidence, profile), _issues(evidence), _conclusion(evidence))
    return " ".join(sentences)


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
    scores = f"(scores {first.score:.2f} and {second.score:.2f})"
    alike = first.category == second.category
    if winner == 0 and alike and profile.media:
        return f"Both have the same label, so this is a tie {scores}."
    if winner == 0:
        return f"They are too close to tell apart {scores}."
    better = names[0] if winner > 0 else names[1]
    if alike and profile.media:
        return f"Both have the same label; {better} has more items {scores}."
    if alike:
        return f"Both are about equally good; item by item, {better} fits better {scores}."
    return f"{better} fits better {scores}."


def _taste(profile: Profile) -> str:
    if not profile.leading:
        return "The user's record shows no category that they like."
    return f"The user's record is mostly about {_and([one_line(name, 40) for name in profile.leading[:3]])}."


def _relevance(evidence: Evidence, profile: Profile) -> str:
    if profile.empty:
        return f"{NO_HISTORY}, so relevance is unknown and only the list itself was judged."
    shown = len(evidence.items)
    of = f"{shown} items"
    if shown != evidence.top_k:
        of += f" shown ({evidence.top_k} were asked for)"
    fitting = [item for item in evidence.items if item.useful]
    sound = " and is not at fault" if len(fitting) == 1 else " and are not at fault"
    text = f"{_taste(profile)} {len(fitting)} of the {of} {'fits' if len(fitting) == 1 else 'fit'} that"
    text += sound if evidence.findings else ""
    return f"{text}, such as {_example(_best(fitting))}." if fitting else f"{text}."


def _best(items: Sequence[ItemEvidence]) -> ItemEvidence:
    return max(items, key=lambda item: item.taste_rank)


def _example(item: ItemEvidence) -> str:
    shared = ", ".join(one_line(name, 40) for name in item.shared[:3])
    return f"{quoted(item.item)} ({shared})" if shared else quoted(item.item)


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
    return (
        f"That is enough for a good match, but all come from {_categories(evidence.kinds)} where {evidence.kinds_wanted} "
        "would cover this user's interests: a partial one."
    )


def _categories(count: int) -> str:
    return "one category" if count == 1 else f"{count} categories"


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _side(name: str, evidence: Evidence) -> str:
    label = evidence.category.casefold()
    fitting = [item for item in evidence.items if item.useful and item.taste_rank > 0]
    example = f", such as {quoted(_best(fitting).item)}" if fitting else ""
    flagged = len(evidence.findings)
    faults = "no faults" if not flagged else f"{flagged} {'is' if flagged == 1 else 'are'} at fault"
    return f"{name} is a {label}: {evidence.useful} of {len(evidence.items)} items fit{example}; {faults}."
