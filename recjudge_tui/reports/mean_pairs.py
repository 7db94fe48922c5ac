"""Compares the means of systems: a table of pairs, and sentences about neighbours in a ranking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.text import quantity
from recjudge_tui.reports.common.estimate_cells import interval_columns
from recjudge_tui.reports.common.table import Column, Note, Row, columns, definition
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.stats.hypotheses import MeanTest, Pair, mean_tests
from recjudge_tui.stats.intervals import Bounds

PAIR_COLUMNS = (
    Column("users", "Users", "int"), Column("users_apart", "Users apart", "int", minor=True),
    Column("difference", "Difference", "float"), *interval_columns(), Column("p_holm", "p (Holm)", "float", decimals=4),
    *columns("p?"), Column("separable", "Separable"), *columns("note"),
)  # fmt: skip
# of a table of pairs, what people read first
BRIEF_PAIRS = "system opponent rater aspect metric difference ci_low ci_high p_holm separable note"
_MOST_NAMED = 10
_TEST = (
    "above: the mean over the users who have both is higher, by sign flips of the users' means, each user counted once,"
    f" p < {ALPHA:g} after Holm's correction over the pairs of systems of one figure"
)


class SystemMeans(NamedTuple):
    """One figure of several systems on the same occasions. `values` (occasions, systems), NaN where a system has
    none; `users` (occasions,); `means`: the figures that rank the systems, None where there is none."""

    name: str
    systems: Sequence[str]
    values: FloatArray
    users: IntArray
    means: Sequence[float | None]
    bounds: Bounds | None


class MeasuredPairs(NamedTuple):
    """One figure: the ranked systems that have it, best first, and the tests of all pairs."""

    name: str
    systems: Sequence[str]
    order: list[int]
    tests: dict[Pair, MeanTest]


def occasions(rows: Sequence[tuple[IntArray, FloatArray]], owners: IntArray) -> FloatArray:
    """The mean value of each occasion for each system (occasions, systems), NaN where there is none; `rows` has for each
    system the occasions of its values and the values, `owners` the user of each occasion."""
    out = np.full((owners.size, len(rows)), np.nan)
    for column, (occasion, values) in enumerate(rows):
        known = ~np.isnan(values)
        count = np.bincount(occasion[known], minlength=owners.size)
        total = np.bincount(occasion[known], weights=values[known], minlength=owners.size)
        np.divide(total, count, out=out[:, column], where=count > 0)
    return out


def compared(measured: Sequence[SystemMeans], groups: int) -> list[MeasuredPairs]:
    """The tests of all pairs of systems, Holm-adjusted within each figure; `groups`: how many such tables are examined."""
    return [
        MeasuredPairs(m.name, m.systems, _order(m), mean_tests(m.values, m.users, m.bounds, groups))
        for m in measured
    ]


def _order(measured: SystemMeans) -> list[int]:
    known = [(-mean, measured.systems[at], at) for at, mean in enumerate(measured.means) if mean is not None]
    return [at for _, _, at in sorted(known)]


def pair_rows(pairs: MeasuredPairs) -> Iterator[Row]:
    """One row for each pair of systems, the one with the higher figure first."""
    for upper, lower in combinations(pairs.order, 2):
        test = pairs.tests[min(upper, lower), max(upper, lower)]
        gap = test.difference
        seen = (
            (gap.value, gap.ci_low, gap.ci_high)
            if upper == test.first
            else (gap.value, gap.ci_high, gap.ci_low)
        )
        turned = [None if x is None else x if upper == test.first else 0.0 - x for x in seen]
        yield {
            "system": pairs.systems[upper], "opponent": pairs.systems[lower], "users": gap.n, "users_apart": test.apart,
            **dict(zip(("difference", "ci_low", "ci_high"), turned, strict=True)), "p_holm": test.p_holm, "p": test.p,
            "separable": None if test.p_holm is None else test.separable, "note": test.note or gap.note,
        }  # fmt: skip


def pair_notes(measured: Sequence[MeasuredPairs]) -> list[Note]:
    """A sentence about the neighbours in the ranking by each figure, and the definition of the test."""
    lines = [Note(sentence) for pairs in measured if (sentence := pair_sentence(pairs))]
    return [*lines, definition(_TEST)] if lines else []


def pair_sentence(pairs: MeasuredPairs) -> str:
    """The neighbours in a ranking by one figure; "" with fewer than two systems."""
    words = [
        _words(
            pairs.systems[upper],
            pairs.systems[lower],
            pairs.tests[min(upper, lower), max(upper, lower)],
            upper,
        )
        for upper, lower in pairwise(pairs.order)
    ]
    more = len(words) - _MOST_NAMED
    named = words[:_MOST_NAMED] + ([f"{quantity(more, 'more pair')} of neighbours"] if more > 0 else [])
    return f"{pairs.name}: {'; '.join(named)}" if named else ""


def _words(upper: str, lower: str, test: MeanTest, first: int) -> str:
    if test.p_holm is None:
        return f"{upper} and {lower} cannot be compared, {test.note}"
    p = p_text(test.p_holm)
    if not test.separable:
        return f"{upper} and {lower} are not separable ({p})"
    if ((test.difference.value or 0.0) > 0) == (first == test.first):
        return f"{upper} above {lower} ({p})"
    return f"{lower} above {upper} among the users who have both ({p})"


def p_text(p: float) -> str:
    """`p = 0.03`, or that it is below the smallest that is printed."""
    return f"p = {p:.2g}" if p >= _SMALLEST else f"p < {_SMALLEST:g}"


_SMALLEST = 0.0001
