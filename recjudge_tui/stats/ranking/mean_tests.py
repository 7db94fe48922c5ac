"""Tests whether the means of two systems differ: one exact test over users for every pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np

from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.stats.estimate import Estimate
from recjudge_tui.stats.resampling.intervals import Bounds, mean_estimate
from recjudge_tui.stats.resampling.multiplicity import holm
from recjudge_tui.stats.resampling.sign_flips import STEPS, sign_flip_test, user_means

NO_COMMON_USER = "no user has a value for both"
NO_DIFFERENCE = "all users have the same value for both"
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
        """The mean difference with its interval; computed on demand, because few of many pairs need it."""
        return mean_estimate(self.differences, np.arange(self.differences.size), self.reach)

    @property
    def apart(self) -> int:
        """How many users have a difference other than 0."""
        return int(np.count_nonzero(self.differences))

    @property
    def separable(self) -> bool:
        """Whether the difference shows that one of the two is higher.

        The interval of the difference, if there is one, must not contain 0 either: it takes the figure's bounds into
        account, which guards against rare large values when all users seen so far differ in one direction.
        """
        return self.p_holm is not None and self.p_holm < ALPHA and not self.interval_holds_0

    @cached_property
    def fragile(self) -> bool:
        """Whether one more user, who differs the other way as far as the bounds allow (without bounds, as far as the
        user who differs most), would undo `separable`.

        Few users often miss the rare large values of a figure. Two systems with equal means and very different shapes then
        differ by the test in up to half of the samples (hits of one in ten users against a metric with mean .1, six users);
        those that are not fragile differ in at most 3 %.
        """
        if not self.separable or self.p is None or self.p_holm is None:
            return False
        lead = float(np.sign(self.differences.sum()))
        farthest = self.reach[1] if self.reach else float(np.abs(self.differences).max())
        joined = np.append(self.differences, -lead * farthest)
        p = sign_flip_test(joined)
        return p is None or lead * float(joined.sum()) <= 0 or p * self.p_holm / self.p >= ALPHA

    @property
    def interval_holds_0(self) -> bool:
        low, high = self.difference.ci_low, self.difference.ci_high
        return low is not None and high is not None and low <= 0 <= high


def mean_tests(
    values: FloatArray, users: IntArray, bounds: Bounds | None = None, steps: int = STEPS
) -> dict[Pair, MeanTest]:
    """The test of every pair of systems, not adjusted yet.

    `values` (occasions, systems) of one figure, NaN where a system has none; `users` (occasions,) are the users of
    the occasions; `bounds` are the figure's lowest and highest value. Two systems are compared on the occasions that
    have both, and every user counts once. `steps` as in `sign_flip_test`.
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
    """The tests of several figures with p values adjusted by Holm's method over all pairs of all of them; `groups` is
    the number of such tables examined (Bonferroni).
    """
    p_values = iter(holm([test.p for tests in families for test in tests.values()], groups))
    return [
        {pair: replace(test, p_holm=next(p_values)) for pair, test in tests.items()} for tests in families
    ]


def ranked_pairs(order: Sequence[int], tests: Mapping[Pair, MeanTest]) -> list[tuple[int, int, MeanTest]]:
    """Each pair of neighbours in `order`, best first, with its test."""
    return [(upper, lower, tests[min(upper, lower), max(upper, lower)]) for upper, lower in pairwise(order)]
