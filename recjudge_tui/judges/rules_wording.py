"""The reasoning in words: two to four plain sentences, counts and names of items, nothing else."""

from __future__ import annotations

from collections import Counter

from recjudge_tui.judges.rules_evidence import Evidence, ItemEvidence
from recjudge_tui.judges.rules_issues import quoted
from recjudge_tui.judges.rules_profile import Profile
from recjudge_tui.model.text import one_line

NO_HISTORY = "Nothing is known about what this user bought, rated, searched or looked at"


def about_list(evidence: Evidence, profile: Profile) -> str:
    """Why one list got its category."""
    if not evidence.items:
        return "The list is empty. There is nothing that could be relevant."
    sentences = [_relevance(evidence, profile), _variety(evidence), _issues(evidence)]
    return " ".join(sentence for sentence in sentences if sentence)


def about_pair(
    first: Evidence, second: Evidence, profile: Profile, names: tuple[str, str], winner: int
) -> str:
    """Why the first list (1), the second (-1) or neither (0) is better; `names` are those of the lists."""
    opening = f"{NO_HISTORY}; only the lists themselves were compared." if profile.empty else _taste(profile)
    sides = f"{_side(names[0], first)} {_side(names[1], second)}"
    scores = f"{first.score:.3f} and {second.score:.3f}"
    if winner == 0:
        return f"{opening} {sides} They are too close to tell apart, with scores of {scores}."
    better = names[0] if winner > 0 else names[1]
    return f"{opening} {sides} {better} fits better, with scores of {scores}."


def _taste(profile: Profile) -> str:
    if not profile.leading:
        return "The user's history shows no category that they like."
    names = ", ".join(one_line(name, 40) for name in profile.leading[:3])
    return f"The user's history is mostly about {names}."


def _relevance(evidence: Evidence, profile: Profile) -> str:
    if profile.empty:
        return f"{NO_HISTORY}, so relevance cannot be told and the list alone was looked at."
    shown = len(evidence.items)
    of = (
        f"{shown} items"
        if shown == evidence.top_k
        else f"{shown} items shown ({evidence.top_k} were asked for)"
    )
    fitting = [item for item in evidence.items if item.relevant]
    text = f"{_taste(profile)} {evidence.relevant} of the {of} {_fit(evidence.relevant)}"
    if fitting:
        text += f", such as {_example(max(fitting, key=lambda i: i.standing))}"
    return f"{text}; a good match needs {evidence.good_from}, a partial one {evidence.partial_from}."


def _fit(count: int) -> str:
    return "fits this taste" if count == 1 else "fit this taste"


def _example(item: ItemEvidence) -> str:
    shared = ", ".join(one_line(name, 40) for name in item.shared[:3])
    return f"{quoted(item.item)} ({shared})" if shared else quoted(item.item)


def _variety(evidence: Evidence) -> str:
    if evidence.diverse:
        return ""
    return f"The list covers {evidence.kinds} different categories where {evidence.kinds_wanted} were wanted."


def _issues(evidence: Evidence) -> str:
    if not evidence.findings:
        return "No quality issue was found."
    counts = Counter(finding.issue for finding in evidence.findings)
    kinds = ", ".join(f"{issue} ({count})" for issue, count in counts.items())
    first = evidence.findings[0]
    severe = ", which is severe" if evidence.severe else ""
    return f"Issues found: {kinds}{severe}; item {first.place} is {quoted(evidence.items[first.place - 1].item)}."


def _side(name: str, evidence: Evidence) -> str:
    flagged = len(evidence.findings)
    issues = "no item flagged" if not flagged else f"{flagged} flagged ({evidence.findings[0].issue})"
    fitting = [item for item in evidence.items if item.relevant and item.standing > 0]
    example = f", such as {quoted(max(fitting, key=lambda i: i.standing).item)}" if fitting else ""
    return f"{name} has {evidence.relevant} fitting items of {len(evidence.items)}{example}, and {issues}."
