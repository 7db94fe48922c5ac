"""Words and short phrases that tell two sets of texts apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np

from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.text import plain_words, resolve

LONGEST = 3
# a phrase is left out if a longer one stands in this share of its texts
_SAID_LONGER = 0.9
_SHORTEST_WORD = 3


def phrases(text: str, stop: Collection[str], longest: int = LONGEST) -> set[str]:
    """The phrases of 1 to `longest` neighbouring words of a text without punctuation inside, in lower case. None begins
    or ends with a word of `stop` or with a number; a single word has at least three letters (two in scripts without
    spaces)."""
    words = plain_words(text, resolve("auto", text))
    edge = [word in stop or not any(map(str.isalpha, word)) for word in words]
    found = set()
    for start, word in enumerate(words):
        if edge[start]:
            continue
        if len(word) >= (_SHORTEST_WORD if word.isascii() else 2):
            found.add(word)
        for end in range(start + 1, min(start + longest, len(words))):
            if not edge[end]:
                found.add(" ".join(words[start : end + 1]))
    return found


def telling(texts: Sequence[Collection[str]], fewest: int) -> list[str]:
    """The phrases of at least `fewest` texts, by name, without those that nearly always stand in one longer phrase."""
    counts = Counter(phrase for text in texts for phrase in text)
    common = {phrase for phrase, count in counts.items() if count >= fewest}
    within: Counter[str] = Counter()
    for phrase in common:
        words = phrase.split()
        for size in range(1, len(words)):
            for start in range(len(words) - size + 1):
                part = " ".join(words[start : start + size])
                within[part] = max(within[part], counts[phrase])
    return sorted(phrase for phrase in common if within[phrase] < _SAID_LONGER * counts[phrase])


def log_odds(first: IntArray, second: IntArray, background: IntArray) -> tuple[FloatArray, FloatArray]:
    """Of each phrase (n,) the log-odds ratio with an informative Dirichlet prior, and its z: above 0 in the first set.

    With y the counts in a set, N their sum, and the prior a = A p, where p is the phrase's share of `background` (one more
    count is for phrases not seen) and A a hundredth of all counts, at least 1: delta = log((y1 + a) / (N1 + A - y1 - a)) -
    log((y2 + a) / (N2 + A - y2 - a)), z = delta / sqrt(1 / (y1 + a) + 1 / (y2 + a)) (Monroe, Colaresi and Quinn 2008,
    equations 16, 18 and 19). Every phrase has a count in `background`."""
    y = np.stack([first, second]).astype(np.float64)
    weight = max(1.0, float(y.sum()) / 100)
    prior = weight * background / (int(background.sum()) + 1)
    n = y.sum(axis=1, keepdims=True)
    odds = np.log(y + prior) - np.log(n + weight - y - prior)
    delta = odds[0] - odds[1]
    return delta, delta / np.sqrt((1.0 / (y + prior)).sum(axis=0))


def fisher_exact(first: IntArray, first_n: int, second: IntArray, second_n: int) -> FloatArray:
    """Of each row (n,) the two-sided p of `first` of `first_n` against `second` of `second_n`, twice the smaller tail of
    the hypergeometric distribution and at most 1 (Fisher 1935)."""
    from scipy.stats import hypergeom

    drawn = (first_n + second_n, first + second, first_n)
    low, high = hypergeom.cdf(first, *drawn), hypergeom.sf(first - 1, *drawn)
    return np.asarray(np.minimum(1.0, 2.0 * np.minimum(low, high)), dtype=np.float64)
