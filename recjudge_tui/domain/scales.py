"""The scale of one aspect's labels, where it is not the protocol's own: numbers, ordered words, or free categories."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from recjudge_tui.domain.text import one_line

# with more different values than this, scores are not labels
MOST_LABELS = 20
_SPAN = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*(?:-|–|\.\.|to)\s*(-?\d+(?:\.\d+)?)\s*")


class Scale(NamedTuple):
    """Numbers from `low` to `high`; with `words`, the values 0, 1, ... stand for them in their order. `ordered` false:
    the words are categories, and their values are codes that must not be averaged or ranked."""

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

    def cell(self) -> str:
        """The scale as `scale_of_text` reads it."""
        text = (" < " if self.ordered else " | ").join(self.words) or f"{self.low!r} to {self.high!r}"
        try:
            if scale_of_text(text) == self:
                return text
        except ValueError:  # a word contains a character that separates words
            pass
        spec: Any = list(self.words) or [self.low, self.high]
        return json.dumps(spec if self.ordered else {"categories": spec}, ensure_ascii=False)


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
    Words that contain these separators are written as JSON, as in a mapping: `["a<b", "c"]`, `{"categories": ["a|b",
    "c"]}`. Raises ValueError for anything else."""
    if (spec := _listed(text)) is not None:
        return spec
    if match := _SPAN.fullmatch(text):
        return numbered(float(match[1]), float(match[2]))
    for mark, ordered in (("<", True), ("|", False)):
        if mark in text:
            return worded(tuple(text.split(mark)), ordered=ordered)
    raise ValueError(
        f"“{one_line(text, 60)}” is not a scale such as 1-5, no < yes, or red | green (without an order)"
    )


def _listed(text: str) -> Scale | None:
    """The scale of a JSON list, or of an object with a list of categories; None for another text."""
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        spec = json.loads(text)
    except (ValueError, RecursionError):
        return None
    ordered = not isinstance(spec, dict)
    parts = spec if ordered else spec.get("categories")
    if not isinstance(parts, list):
        return None
    if ordered and len(parts) == 2 and all(type(part) in (int, float) for part in parts):
        return numbered(float(parts[0]), float(parts[1]))
    return worded(tuple(parts), ordered=ordered) if all(isinstance(part, str) for part in parts) else None


def values_of(text: str) -> dict[str, str] | None:
    """The meanings in `1=A,2=B`; a comma or an equals sign inside an answer has a backslash before it. None for another
    text, and for two meanings of one answer."""
    parts = (part for part in re.split(r"(?<!\\),", text) if part.strip())
    pairs = [re.split(r"(?<!\\)=", part, maxsplit=1) for part in parts]
    if any(len(pair) < 2 or not pair[0].strip() for pair in pairs):
        return None
    values = {re.sub(r"\\([,=])", r"\1", old).strip(): new.strip() for old, new in pairs}
    return values if len(values) == len(pairs) else None


def ends_of(text: str) -> tuple[float, float] | None:
    """The two ends in `1..7`; None for another text."""
    number = r"\s*([+-]?\d+(?:\.\d+)?)\s*"
    match = re.fullmatch(rf"{number}\.\.{number}", text)
    return None if match is None or float(match[1]) == float(match[2]) else (float(match[1]), float(match[2]))
