"""What the rules count for each aspect of a list. The rule is chosen by the aspect's name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from recjudge_tui.judges.rules.evidence import Evidence


class AspectRule(NamedTuple):
    """`value` computes a list's value in 0..1, `counts` describes it. `parts`: it applies to names with one of these."""

    parts: tuple[str, ...]
    counts: str
    value: Callable[[Evidence], float]


def _length(evidence: Evidence) -> int:
    return max(evidence.top_k, len(evidence.items), 1)


def _fit(evidence: Evidence) -> float:
    if not evidence.known:
        return evidence.score
    return math.fsum(item.worth for item in evidence.items) / _length(evidence)


def _tied(evidence: Evidence) -> float:
    return sum(bool(item.shared) for item in evidence.items) / _length(evidence)


_RULES = (
    AspectRule(("accura", "relevan"), "how far its items meet the user's taste", _fit),
    AspectRule(
        ("transparen", "explain"), "the share of items that share something with the user's record", _tied
    ),
    AspectRule(
        ("inspir", "divers", "novel", "serendip", "explor"),
        "different categories for each item",
        lambda evidence: evidence.kinds / _length(evidence),
    ),
    AspectRule(
        ("quality",),
        "the share of items without a fault",
        lambda evidence: (len(evidence.items) - len(evidence.findings)) / _length(evidence),
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
