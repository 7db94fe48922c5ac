"""Offline metrics of a ranked list against a user's held-out items.

`ranked` holds item ids, best first. A repeated item counts at its first occurrence; repeats occupy
ranks but gain nothing. `k` cuts the list. A shorter list is not padded: its missing items count as
misses. None means undefined: no held-out item, no category, one class.
`offline_rows` has the same metrics for many lists at once.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.agreement import ranks_within
from recjudge_tui.stats.arrays import as_floats

MOST_EXPONENT = 1000.0


def _hits(ranked: Sequence[str], relevant: Collection[str], k: int) -> list[bool]:
    if k < 1:
        raise ValueError("k is at least 1")
    seen: set[str] = set()
    hits: list[bool] = []
    for item in ranked[:k]:
        hits.append(item in relevant and item not in seen)
        seen.add(item)
    return hits


def _gains(ranked: Sequence[str], gains: Mapping[str, float], k: int) -> list[float]:
    hits = _hits(ranked, gains, k)
    return [gains[item] if hit else 0.0 for item, hit in zip(ranked, hits, strict=False)]


def _dcg(gains: Iterable[float]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))


def ndcg(ranked: Sequence[str], gains: Mapping[str, float], k: int) -> float | None:
    """DCG@k / ideal DCG@k with linear gain: sum of gain / log2(rank + 1) over the first k.

    `gains` maps every held-out item to its gain: 1 for plain nDCG, the rating for the explicit one.
    The ideal list is the k highest gains. None when no gain is above 0; ValueError for one below 0.
    """
    if any(gain < 0 for gain in gains.values()):
        raise ValueError("a gain cannot be negative")
    ideal = _dcg(sorted(gains.values(), reverse=True)[:k])
    return _dcg(_gains(ranked, gains, k)) / ideal if ideal > 0 else None


def ndcg_exp(ranked: Sequence[str], gains: Mapping[str, float], k: int) -> float | None:
    """`ndcg` with gain 2^g - 1 (Burges et al., 2005). None also for a g above 1000, where 2^g has no float."""
    if max(gains.values(), default=0.0) > MOST_EXPONENT:
        return None
    return ndcg(ranked, {item: 2.0**gain - 1 for item, gain in gains.items()}, k)


def precision(ranked: Sequence[str], relevant: Collection[str], k: int) -> float | None:
    """Hits in the first k, divided by k (also for a shorter list, as trec_eval does)."""
    return sum(_hits(ranked, relevant, k)) / k if relevant else None


def recall(ranked: Sequence[str], relevant: Collection[str], k: int) -> float | None:
    """Hits in the first k, divided by all held-out items (not by min(k, items))."""
    return sum(_hits(ranked, relevant, k)) / len(set(relevant)) if relevant else None


def average_precision(ranked: Sequence[str], relevant: Collection[str], k: int) -> float | None:
    """AP@k: precision at each hit's rank, summed, divided by all held-out items (trec_eval's map_cut).

    Its mean over users is MAP.
    """
    if not relevant:
        return None
    hits, total = 0, 0.0
    for place, hit in enumerate(_hits(ranked, relevant, k), start=1):
        if hit:
            hits += 1
            total += hits / place
    return total / len(set(relevant))


def average_precision_min(ranked: Sequence[str], relevant: Collection[str], k: int) -> float | None:
    """AP@k divided by min(k, held-out items), so that a perfect list has 1 (Kaggle's MAP@k, Recommenders' `map_at_k`)."""
    value = average_precision(ranked, relevant, k)
    count = len(set(relevant))
    return None if value is None else value * count / min(k, count)


def reciprocal_rank(ranked: Sequence[str], relevant: Collection[str], k: int) -> float | None:
    """1 / rank of the first hit within k, 0 if there is none. Its mean over users is MRR."""
    if not relevant:
        return None
    hits = _hits(ranked, relevant, k)
    return 1 / (hits.index(True) + 1) if any(hits) else 0.0


def err(ranked: Sequence[str], gains: Mapping[str, float], highest: float, k: int) -> float | None:
    """Expected reciprocal rank of the item at which a user stops, who is satisfied by an item of gain g with probability
    (2^g - 1) / 2^highest, `highest` being the highest gain of all data. None if no gain is above 0.

    Source: Chapelle et al. 2009, CIKM, equation 4 and 5 (gdeval.pl has the fixed highest gain 4).
    """
    if max(gains.values(), default=0.0) <= 0:
        return None
    value, going_on = 0.0, 1.0
    for place, gain in enumerate(_gains(ranked, gains, k), start=1):
        satisfied = 2.0 ** (gain - highest) - 2.0**-highest
        value += going_on * satisfied / place
        going_on *= 1 - satisfied
    return value


def r_precision(ranked: Sequence[str], relevant: Collection[str]) -> float | None:
    """Precision in the first R of the whole list, with R held-out items (trec_eval's Rprec)."""
    return precision(ranked, relevant, len(set(relevant))) if relevant else None


def hit_rate(ranked: Sequence[str], relevant: Collection[str], k: int) -> float | None:
    """1 if any of the first k is held out, else 0."""
    return float(any(_hits(ranked, relevant, k))) if relevant else None


def auc(scores: npt.ArrayLike, relevant: npt.ArrayLike) -> float | None:
    """Share of (relevant, other) pairs of candidates in the right order, a tie counting half.

    Over ALL scored candidates, not the first k: `scores` (n,), higher is better; `relevant` (n,) true or
    false. None without both classes. Computed from mean ranks (Mann-Whitney). Raises ValueError for NaN scores.
    """
    values, wanted = as_floats(scores), np.asarray(relevant, dtype=np.bool_)
    if values.size != wanted.size or np.isnan(values).any():
        raise ValueError("every candidate needs one score and one class")
    good = int(wanted.sum())
    bad = values.size - good
    if good == 0 or bad == 0:
        return None
    ranks = ranks_within(values, np.zeros(values.size, dtype=np.int64))
    return float((ranks[wanted].sum() - good * (good + 1) / 2) / (good * bad))


def urd(ranked: Sequence[str], categories: Mapping[str, Collection[str]], k: int) -> float | None:
    """User recommendation diversity: Shannon entropy, in bits, of the categories in the first k.

    Each item spreads a weight of 1 evenly over its categories; items without any are left out.
    0 for a list of one category, log2(c) for c equally frequent ones. None if no item has a category.
    Not divided by its maximum, log2 of the number of categories, so a list's figure does not depend on the
    catalogue. RecSys Arena names URD without a formula; this definition is ours.
    """
    weights: dict[str, float] = {}
    known = [set(categories[item]) for item in ranked[:k] if categories.get(item)]
    for names in known:
        for name in names:
            weights[name] = weights.get(name, 0.0) + 1 / len(names)
    if not known:
        return None
    shares = (weight / len(known) for weight in weights.values())
    return max(0.0, -math.fsum(share * math.log2(share) for share in shares))


def ild(ranked: Sequence[str], categories: Mapping[str, Collection[str]], k: int) -> float | None:
    """Intra-list diversity, 0..1: mean over pairs in the first k of 1 - |A and B| / |A or B| of categories.

    Items without a category are left out; None with fewer than two others (Ziegler et al., 2005).
    """
    known = [set(categories[item]) for item in ranked[:k] if categories.get(item)]
    gaps = [1 - len(first & second) / len(first | second) for first, second in combinations(known, 2)]
    return math.fsum(gaps) / len(gaps) if gaps else None


def coverage(lists: Iterable[Sequence[str]], catalogue: Collection[str], k: int) -> float | None:
    """Share of the catalogue that appears in the first k of any user's list. None for an empty catalogue."""
    items = set(catalogue)
    shown = {item for ranked in lists for item in ranked[:k]}
    return len(shown & items) / len(items) if items else None


def novelty(
    ranked: Sequence[str], counts: Mapping[str, int], k: int, total: int | None = None
) -> float | None:
    """Mean self-information in bits, -log2(item's events / all events), of the first k.

    `counts` are training events by item, `total` their sum if the caller has it. Items without events would be
    infinitely novel and are left out; None if no item of the list has an event (after Zhou et al., 2010).
    """
    events = sum(counts.values()) if total is None else total
    known = [counts[item] for item in ranked[:k] if counts.get(item, 0) > 0]
    return math.fsum(math.log2(events / count) for count in known) / len(known) if known else None


def popularity(ranked: Sequence[str], counts: Mapping[str, int], k: int) -> float | None:
    """Mean number of training events of the first k items (0 for one never seen). None for an empty list."""
    first = ranked[:k]
    return sum(counts.get(item, 0) for item in first) / len(first) if first else None
