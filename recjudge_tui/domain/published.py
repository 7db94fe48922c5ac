"""`--as-published`: what each paper sets and shows where our own form differs, as the facts of protocols refer to it.

docs/method.md says point by point what each paper says and why ours differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Zhang et al.: the value of a score that a user or a judge did not give
MISSING_TRUTH, MISSING_JUDGE = 3.0, 0.0
# the aspects that the paper's users and evaluators scored
ZHANG_ASPECTS = ("persuasiveness", "transparency", "accuracy", "satisfaction")


@dataclass(frozen=True)
class PublishedForm:
    """One protocol as its paper has it.

    settings: the settings of the preset by name; not all of them differ from our own. prompt: the differences of the
    text from our own form, one phrase each. needs_baseline: the paper compares each system with one baseline.
    """

    paper: str
    settings: Mapping[str, Any]
    prompt: tuple[str, ...]
    needs_baseline: bool = False

    def lines(self) -> tuple[str, ...]:
        """The preset in full, one line each: its settings, then its prompt."""
        values = ", ".join(f"{name} {_word(value)}" for name, value in self.settings.items())
        return f"as published in {self.paper}: {values}", *(f"as published: {text}" for text in self.prompt)


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


# all three papers set the temperature to 0 and ask once
_ONCE = {"temperature": 0.0, "repeats": 1}
_SAER = "SAER (Liu et al., SIGIR 2026)"

SAER_LISTS = PublishedForm(
    _SAER,
    {"top_k": 10, "history_days": 183, **_ONCE},
    (
        "parts in the order examples, context, list, guidelines, output",
        "five examples",
        "without our rules on minor and severe issues and on people who are still comparing",
    ),
)
SAER_PAIRS = PublishedForm(
    _SAER,
    {"top_k": 10, "history_days": 183, "swap": True, **_ONCE},
    (
        "parts in the order examples, context, sets, guidelines, output",
        "without our rule on people who are still comparing",
    ),
)
RECSYS_ARENA = PublishedForm(
    "RecSys Arena (Wu et al., arXiv 2412.11068)",
    {"top_k": 5, "history": 5, "swap": False, "aspects": "multi", "profile": "attributes", **_ONCE},
    (
        "five titles with genres as the history, without dates, ratings, searches and clicks",
        "the tested system is A, the baseline B",
    ),
    needs_baseline=True,
)
ZHANG = PublishedForm(
    "Zhang et al. 2024",
    {"reasoning": "none", "history": 0, "profile": "none", "keep_example_pair": True, **_ONCE},
    (
        "scores without reasoning",
        "words only for 1 and 5 of the scale",
        "a missing score of a user as 3 and of the judge as 0, with “recjudge agreement --as-published”",
    ),
)
