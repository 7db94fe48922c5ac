"""Holm's adjustment for several tests or several intervals, and the sign test."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def holm(p_values: Sequence[float | None], groups: int = 1) -> list[float | None]:
    """P values adjusted for multiple testing by Holm's step-down method (Holm 1979), in their order.

    The k-th smallest of m becomes max over j <= k of min(1, (m - j + 1) p_(j)): the chance of at least one false
    finding stays below the level, whatever the dependence between the tests. None (not tested) stays
    None and is not counted. If `groups` such families are examined, each p value is also multiplied by their number
    (Bonferroni). Raises ValueError for a value outside 0..1.
    """
    known = [(p, at) for at, p in enumerate(p_values) if p is not None]
    if any(not 0 <= p <= 1 for p, _ in known):
        raise ValueError("a p value lies between 0 and 1")
    out: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, at) in enumerate(sorted(known)):
        highest = max(highest, min(1.0, (len(known) - rank) * p * groups))
        out[at] = highest
    return out


def holm_claims(shown: Callable[[float], Sequence[bool | None]], level: float) -> list[bool]:
    """Which of several claims, each based on an interval, can be made together (Holm 1979).

    `shown(confidence)` says for each claim whether its interval at that confidence shows it, None if there is no interval.
    Of m claims with an interval the first must be shown at 1 - (1 - level) / m, the next ones at 1 - (1 - level) / (m - 1)
    and so on: the chance of at least one false claim stays below 1 - level, however the intervals depend on each other.
    """
    first = shown(level)
    left = sum(claim is not None for claim in first)
    made = [False] * len(first)
    # usually no claim is shown at the plain level, and nothing has to be computed again
    while left and any(claim and not already for claim, already in zip(first, made, strict=True)):
        again = first if left == 1 else shown(1 - (1 - level) / left)
        fresh = [bool(claim) and not already for claim, already in zip(again, made, strict=True)]
        if not any(fresh):
            break
        made = [already or new for already, new in zip(made, fresh, strict=True)]
        left -= sum(fresh)
    return made


def sign_test(positive: int, negative: int) -> float | None:
    """Two-sided exact sign test: the probability, if both signs are equally likely, of a split at least
    as uneven. Zeros must be left out beforehand (Dixon and Mood 1946). None without any sign.

    Raises ValueError for a negative count.
    """
    if min(positive, negative) < 0:
        raise ValueError("a count cannot be negative")
    if positive + negative == 0:
        return None
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(positive, negative), positive + negative, 0.5)))
