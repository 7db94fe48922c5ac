"""One rater's verdicts on pairs of systems as counts, with the test of each pair."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray, encode
from recjudge_tui.stats.ranking import PairTest, UserCounts, pair_tests, user_counts
from recjudge_tui.store.verdicts.ratings import Question, Ratings


@dataclass(frozen=True)
class Battles:
    """One question's verdicts on pairs, as counts. `counts` leaves failed ones out; `failed` and
    `position_ties` (systems, systems) count them and are symmetric. `groups` is the number of such tables examined.
    """

    question: Question
    systems: tuple[str, ...]
    counts: UserCounts
    failed: IntArray
    position_ties: IntArray
    groups: int

    @cached_property
    def tests(self) -> dict[tuple[int, int], PairTest]:
        """The test of every pair of systems, the same for all rankings and the matrix of pairs."""
        return pair_tests(self.counts, self.groups)

    @cached_property
    def grid(self) -> FloatArray:
        """Wins, ties and losses (systems, systems, 3) of one system against another."""
        total = self.counts.total
        out = np.zeros((total.systems, total.systems, 3))
        out[total.first, total.second] = total.counts
        out[total.second, total.first] = total.counts[:, ::-1]
        return out

    def met(self, system: int, opponent: int) -> bool:
        """Whether there is a verdict on the two systems, including a failed one."""
        return bool(self.grid[system, opponent].any() or self.failed[system, opponent])


def battles(ratings: Ratings, question: Question, groups: int = 1) -> Battles:
    """The verdicts of one question on pairs, or of a crowd; only the sign of a value counts.

    `groups`: how many such tables are examined; the p values are corrected for this number.
    """
    verdicts, cases = ratings.verdicts[question], ratings.cases
    order = (
        np.arange(verdicts.row.size)
        if (np.diff(verdicts.row) >= 0).all()
        else np.argsort(verdicts.row, kind="stable")
    )
    row, outcome, flipped = verdicts.row[order], np.sign(verdicts.value[order]), verdicts.flipped[order]
    both = np.concatenate([cases.system_a[row], cases.system_b[row]])
    codes, size = encode(both)
    names = tuple(cases.systems[place] for place in np.unique(both).tolist())
    a, b, user = codes[: row.size], codes[row.size :], cases.user[row]
    counts = user_counts(a, b, outcome, user, size)
    return Battles(
        question, names, counts,
        _meetings(a, b, np.isnan(outcome), size), _meetings(a, b, flipped & (outcome == 0), size), groups,
    )  # fmt: skip


def _meetings(a: IntArray, b: IntArray, here: BoolArray, size: int) -> IntArray:
    """For each pair of systems, how many of the marked rows are about it; symmetric."""
    counts = np.bincount(a[here] * size + b[here], minlength=size * size).reshape(size, size)
    both: IntArray = (counts + counts.T).astype(np.int64)
    return both
