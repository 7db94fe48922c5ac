"""Tests whether two systems differ: one exact test over users for every pair, independent of the ranking method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.defaults import ALPHA, POWER
from recjudge_tui.stats.experiments.power import Discordance, units_needed
from recjudge_tui.stats.ranking.battles import UserCounts
from recjudge_tui.stats.resampling.multiplicity import holm, sign_test

# above this many cells of users and pairs, systems that never met are not compared through others
_MOST_CELLS = 5_000_000
NEVER_MET = "never compared, not even through another system for the same user"
NO_PREFERENCE = "no user prefers either of them"
CONTRARY = "more users prefer the lower system in direct comparisons"


@dataclass(frozen=True)
class PairTest:
    """The sign test over users of two systems, `first` < `second`.

    `users` compared them, of whom `users_for` prefer the first and `users_against` the second. `direct`: they met; else
    they are compared through the opponents that both met. `p` and `p_holm` are None if no user prefers either. `of_crowd`: p
    is the larger one of the test over users and the test over raters.
    """

    first: int
    second: int
    users: int
    users_for: int
    users_against: int
    direct: bool
    p: float | None
    p_holm: float | None
    of_crowd: bool = False


@dataclass(frozen=True)
class Neighbours:
    """Two systems next to each other in a ranking.

    `p` and `p_holm` are None, with the reason in `note`, if they could not be tested; `more`
    estimates how many more users are needed, None if the systems are separable or no number would help.
    """

    upper: int
    lower: int
    p: float | None
    p_holm: float | None
    separable: bool
    more: int | None
    note: str = ""


Pair = tuple[int, int]


def pair_tests(users: UserCounts, groups: int = 1) -> dict[Pair, PairTest]:
    """The test of every pair of systems (first < second) that some user compared, Holm-adjusted over all of them.

    A user prefers the system with more wins than losses against the other over all the user's verdicts; users with as
    many wins as losses prefer neither. Two systems that no user compared directly are compared by each user's mean
    outcomes against the opponents that both met there. If the two systems are equally good, either sign is as likely,
    so the exact sign test (Dixon and Mood 1946) errs in at most 5 % of rankings, with Holm's adjustment over all
    pairs. Every ranking and the matrix of pairs use these p values, so they cannot disagree. Where several raters
    judged (`crowd`), verdicts of one rater on different users are correlated, too: the same test is made over raters,
    each counted once, and the larger p is used.
    """
    counted = [*_direct(users), *_through_others(users)]
    p_values = [sign_test(test.users_for, test.users_against) for test in counted]
    if users.crowd is not None:
        raters = users.crowd.raters
        over_raters = {
            (test.first, test.second): sign_test(test.users_for, test.users_against)
            for test in (*_direct(raters), *_through_others(raters))
        }
        p_values = [
            None if p is None else max(p, over_raters.get((test.first, test.second)) or 1.0)
            for test, p in zip(counted, p_values, strict=True)
        ]
    return {
        (test.first, test.second): PairTest(
            test.first,
            test.second,
            test.users,
            test.users_for,
            test.users_against,
            test.direct,
            p,
            adjusted,
            users.crowd is not None,
        )
        for test, p, adjusted in zip(counted, p_values, holm(p_values, groups), strict=True)
    }


def _direct(users: UserCounts) -> Iterator[PairTest]:
    total, met = users.total, users.users_of_pairs()
    for at, (one, other) in enumerate(users.users_for_and_against().tolist()):
        yield PairTest(
            int(total.first[at]), int(total.second[at]), int(met[at]), one, other, True, None, None
        )


def _through_others(users: UserCounts) -> Iterator[PairTest]:
    total = users.total
    profiles, pairs = users.users.size, total.first.size
    if not pairs or profiles * pairs > _MOST_CELLS:
        return
    met = _mean_outcomes_against(users)
    for first, second in combinations(range(total.systems), 2):
        if second in met[first]:
            continue
        known = np.zeros(profiles, dtype=np.bool_)
        lead = np.zeros(profiles)
        for other in sorted(met[first].keys() & met[second].keys()):
            gap = met[first][other] - met[second][other]
            known |= ~np.isnan(gap)
            lead += np.nan_to_num(gap)
        if known.any():
            counts = [int(users.users[part].sum()) for part in (known, lead > 1e-9, lead < -1e-9)]
            yield PairTest(first, second, counts[0], counts[1], counts[2], False, None, None)


def _mean_outcomes_against(users: UserCounts) -> list[dict[int, FloatArray]]:
    """For each system, by the opponents that it met: each user's mean outcome (profiles,)."""
    total, outcomes = users.total, _mean_outcomes(users)
    met: list[dict[int, FloatArray]] = [{} for _ in range(total.systems)]
    for at, (a, b) in enumerate(zip(total.first.tolist(), total.second.tolist(), strict=True)):
        met[a][b], met[b][a] = outcomes[:, at], -outcomes[:, at]
    return met


def _mean_outcomes(users: UserCounts) -> FloatArray:
    """(profiles, pairs): mean of 1, 0, -1 over a user's verdicts on a pair, NaN where there are none."""
    table = users.rows.toarray().reshape(users.users.size, -1, 3)
    n = table.sum(axis=2)
    out = np.full(n.shape, np.nan)
    np.divide(table[:, :, 0] - table[:, :, 2], n, out=out, where=n > 0)
    return out


def neighbours(order: Sequence[int], tests: Mapping[Pair, PairTest], groups: int = 1) -> list[Neighbours]:
    """Each pair of neighbours in `order`, best first, by the `tests` of all pairs.

    They are separable if the adjusted p is below 5 % and more users prefer the upper one.
    """
    tested = sum(test.p is not None for test in tests.values()) * groups
    return [_neighbours(upper, lower, tests, tested) for upper, lower in pairwise(order)]


def _neighbours(upper: int, lower: int, tests: Mapping[Pair, PairTest], tested: int) -> Neighbours:
    test = tests.get((min(upper, lower), max(upper, lower)))
    if test is None:
        return Neighbours(upper, lower, None, None, False, None, NEVER_MET)
    if test.p is None or test.p_holm is None:
        return Neighbours(upper, lower, None, None, False, None, NO_PREFERENCE)
    lead = test.users_for - test.users_against
    lead = lead if upper == test.first else -lead
    if lead < 0:
        return Neighbours(upper, lower, test.p, test.p_holm, False, None, CONTRARY)
    separable = test.p_holm < ALPHA
    more = None if separable or test.of_crowd else _more(test, tested)
    return Neighbours(upper, lower, test.p, test.p_holm, separable, more)


def _more(test: PairTest, tested: int) -> int | None:
    """The number of additional users with which the test would reach the usual power at the strictest level that
    Holm's method may need, assuming that the observed shares are the true ones.
    """
    split = test.users_for + test.users_against
    shares = Discordance(split / test.users, abs(test.users_for - test.users_against) / test.users)
    needed = units_needed(shares, alpha=ALPHA / tested, power=POWER)
    return None if needed is None else max(1, needed - test.users)
