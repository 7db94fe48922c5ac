"""Whether the means of two systems differ: one exact test over users for every pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np

from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.estimate import Estimate
from recjudge_tui.stats.experiments.power import ALPHA
from recjudge_tui.stats.resampling.intervals import Bounds, mean_estimate
from recjudge_tui.stats.resampling.multiplicity import holm
from recjudge_tui.stats.resampling.sign_flips import STEPS, sign_flip_test, user_means

NO_COMMON_USER = "no user has a value of both"
NO_DIFFERENCE = "no user has a higher value of one of them"
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class MeanTest:
    """The sign-flip test over users of two systems, `first` < `second`.

    `differences` (users,): of each user with values of both, the mean of the first minus that of the second; `reach` are
    their lowest and highest value. `p` and `p_holm` are None, with the reason in `note`, if nothing could be tested.
    """

    first: int
    second: int
    differences: FloatArray
    reach: Bounds | None
    p: float | None
    p_holm: float | None
    note: str = ""

    @cached_property
    def difference(self) -> Estimate:
        """The mean difference with its interval; only few of many pairs are asked for it."""
        return mean_estimate(self.differences, np.arange(self.differences.size), self.reach)

    @property
    def apart(self) -> int:
        """How many users have a difference other than 0."""
        return int(np.count_nonzero(self.differences))

    @property
    def separable(self) -> bool:
        """Whether one of the two can be said to be higher.

        The interval of the difference, if there is one, must not hold 0 either: it knows the figure's bounds, so it guards
        against rare large values among users who differ all in one direction so far.
        """
        return self.p_holm is not None and self.p_holm < ALPHA and not self.interval_holds_0

    @property
    def interval_holds_0(self) -> bool:
        low, high = self.difference.ci_low, self.difference.ci_high
        return low is not None and high is not None and low <= 0 <= high


def mean_tests(
    values: FloatArray, users: IntArray, bounds: Bounds | None = None, steps: int = STEPS
) -> dict[Pair, MeanTest]:
    """The test of every pair of systems, not adjusted yet.

    `values` (occasions, systems) of one figure, NaN where a system has none; `users` (occasions,) says whose an occasion is;
    `bounds` are the figure's lowest and highest value. Two systems are compared on the occasions that have both, and every
    user counts once. `steps` as in `sign_flip_test`.
    """
    reach = None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])
    return {
        (first, second): _tested(first, second, values[:, first] - values[:, second], users, reach, steps)
        for first, second in combinations(range(values.shape[1]), 2)
    }


def _tested(
    first: int, second: int, gaps: FloatArray, users: IntArray, reach: Bounds | None, steps: int
) -> MeanTest:
    known = ~np.isnan(gaps)
    differences = user_means(gaps[known], users[known])
    p = sign_flip_test(differences, steps)
    note = "" if p is not None else NO_DIFFERENCE if differences.size else NO_COMMON_USER
    return MeanTest(first, second, differences, reach, p, None, note)


def adjusted(families: Sequence[Mapping[Pair, MeanTest]], groups: int = 1) -> list[dict[Pair, MeanTest]]:
    """The tests of several figures with p values adjusted by Holm's method over all pairs of all of them; `groups` such
    tables are looked at (Bonferroni)."""
    p_values = iter(holm([test.p for tests in families for test in tests.values()], groups))
    return [
        {pair: replace(test, p_holm=next(p_values)) for pair, test in tests.items()} for tests in families
    ]


def ranked_pairs(order: Sequence[int], tests: Mapping[Pair, MeanTest]) -> list[tuple[int, int, MeanTest]]:
    """Each pair of neighbours in `order`, best first, with its test."""
    return [(upper, lower, tests[min(upper, lower), max(upper, lower)]) for upper, lower in pairwise(order)]
