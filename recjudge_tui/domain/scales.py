"""The scale of one aspect's labels, where it is not the protocol's own: numbers, ordered words, or free categories."""

from __future__ import annotations

import re
from typing import NamedTuple

from recjudge_tui.domain.text import one_line

MOST_LABELS = 20
_SPAN = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*(?:-|–|\.\.|to)\s*(-?\d+(?:\.\d+)?)\s*")


class Scale(NamedTuple):
    """Numbers from `low` to `high`; with `words`, the values 0, 1, ... stand for them in their order.

    `ordered` false: the words are categories, and their values are codes that must not be averaged or ranked.
    """

    low: float
    high: float
    words: tuple[str, ...] = ()
    ordered: bool = True

    @property
    def names(self) -> dict[float, str]:
        """value -> name of each label; empty if it has too many, or is no scale of whole numbers."""
        if self.words:
            return {float(value): word for value, word in enumerate(self.words)}
        whole = self.low == int(self.low) and self.high == int(self.high)
        if not whole or self.high - self.low > MOST_LABELS or (self.low, self.high) == (0.0, 1.0):
            return {}
        return {float(value): str(value) for value in range(int(self.low), int(self.high) + 1)}

    def described(self) -> str:
        if self.words:
            text = (" < " if self.ordered else " | ").join(self.words)
            return text if self.ordered else f"{text} (categories without an order)"
        return f"{self.low:g} to {self.high:g}"


def worded(words: tuple[str, ...], *, ordered: bool) -> Scale:
    """A scale of words. Raises ValueError for fewer than two, an empty one or one that occurs twice."""
    folded = [" ".join(word.lower().split()) for word in words]
    if len(words) < 2 or not all(folded) or len(set(folded)) < len(words):
        raise ValueError("needs at least two different words")
    return Scale(0.0, float(len(words) - 1), tuple(word.strip() for word in words), ordered)


def numbered(low: float, high: float) -> Scale:
    """Raises ValueError unless `low` is below `high`."""
    if not low < high:
        raise ValueError("the lowest value must be below the highest")
    return Scale(low, high)


def scale_of_text(text: str) -> Scale:
    """A scale as a cell writes it: `1-5`, `0 to 10`, `no < yes`, or `relevant | offensive | unclear` without an order.

    Raises ValueError for anything else.
    """
    if match := _SPAN.fullmatch(text):
        return numbered(float(match[1]), float(match[2]))
    for mark, ordered in (("<", True), ("|", False)):
        if mark in text:
            return worded(tuple(text.split(mark)), ordered=ordered)
    raise ValueError(
        f"“{one_line(text, 60)}” is no scale such as 1-5, no < yes, or red | green (without an order)"
    )
