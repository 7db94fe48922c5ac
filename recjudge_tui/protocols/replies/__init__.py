"""From the text of a reply to its answers, or to the fault to name when the judge is asked again."""

from __future__ import annotations

import re

# the end of a reply that is searched for repetitions
_END = 6_000
_LEAST_REPEATED = 160
_SENTENCE = re.compile(r"[.!?;\n]+")


def repeats_itself(text: str) -> bool:
    """Whether a text that was cut off ends in a loop: one piece three times or more, or the same few sentences.

    Numbers count as equal, so that numbered lines of the same words are a loop too.
    """
    end = " ".join(re.sub(r"\d+", "0", text[-_END:].casefold()).split())[::-1]
    # the border of every prefix (Knuth, Morris and Pratt): the period of a prefix is its length without the border
    borders = [0]
    for place in range(1, len(end)):
        border = borders[-1]
        while border and end[place] != end[border]:
            border = borders[border - 1]
        borders.append(border + (end[place] == end[border]))
    if any(
        length >= max(_LEAST_REPEATED, 3 * (length - border))
        for length, border in enumerate(borders, start=1)
    ):
        return True
    sentences = [part for part in map(str.strip, _SENTENCE.split(end)) if len(part) > 10][:20]
    return len(sentences) >= 8 and len(set(sentences)) * 3 <= len(sentences)
