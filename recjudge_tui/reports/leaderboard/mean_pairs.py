"""Compares the means of systems: a table of pairs, and sentences about neighbours in a ranking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from math import comb
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.text import quantity
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.table import Column, Row
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.stats.estimate import join_notes
from recjudge_tui.stats.ranking.mean_tests import MeanTest, Pair, adjusted, mean_tests, ranked_pairs
from recjudge_tui.stats.resampling.intervals import Bounds
from recjudge_tui.stats.resampling.sign_flips import STEPS

PAIR_COLUMNS = (
    Column("users", "Users", "int"),
    Column("users_apart", "Users apart", "int", minor=True),
    Column("difference", "Difference", "float"),
    *interval_columns(),
    Column("p_holm", "p (Holm)", "float", decimals=4),
    Column("p", "p", "float", minor=True, decimals=4),
    Column("separable", "Separable"),
    Column("note", "Note"),
)
_MOST_NAMED = 10
# with more pairs than this, p is computed on a coarser grid, in a tenth of the time
_MANY = 1000


class SystemMeans(NamedTuple):
    """One figure of several systems on the same occasions.

    `values` (occasions, systems), NaN where a system has none; `users` (occasions,); `means`: the figures that rank the
    systems, None where there is none.
    """

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
    """The tests of all pairs of systems of several figures, Holm-adjusted over all of them; `groups` is the number of
    such tables examined. 70,000 tests of 1,000 users take about 25 s.
    """
    many = sum(comb(len(m.systems), 2) for m in measured) > _MANY
    steps = STEPS // 8 if many else STEPS
    families = adjusted([mean_tests(m.values, m.users, m.bounds, steps) for m in measured], groups)
    return [
        MeasuredPairs(m.name, m.systems, _order(m), tests)
        for m, tests in zip(measured, families, strict=True)
    ]


def _order(measured: SystemMeans) -> list[int]:
    known = [(-mean, measured.systems[at], at) for at, mean in enumerate(measured.means) if mean is not None]
    return [at for _, _, at in sorted(known)]


def pair_rows(pairs: MeasuredPairs) -> Iterator[Row]:
    """One row for each pair of systems, the one with the higher figure first."""
    for upper, lower in combinations(pairs.order, 2):
        test = pairs.tests[min(upper, lower), max(upper, lower)]
        yield {
            "system": pairs.systems[upper],
            "opponent": pairs.systems[lower],
            "users": test.difference.n,
            "users_apart": test.apart,
            **_seen_from(test, upper),
            "p_holm": test.p_holm,
            "p": test.p,
            "separable": None if test.p_holm is None else test.separable,
            "note": join_notes(test.note or test.difference.note, _fragile(test)),
        }


def _seen_from(test: MeanTest, system: int) -> Row:
    cells = {"difference": test.difference.value} | interval_cells(test.difference)
    if system == test.first:
        return cells
    turned = {"difference": "difference", "ci_low": "ci_high", "ci_high": "ci_low"}
    numbers = {name: cells[source] for name, source in turned.items()}
    return {name: -number if isinstance(number, float) else None for name, number in numbers.items()}


def pair_notes(families: Sequence[Sequence[MeasuredPairs]], figures: str) -> list[str]:
    """A line about the neighbours in the ranking by each figure, then a line on the test; `figures` is the name of
    the figures.

    The p values of each family are adjusted together.
    """
    lines = [sentence for pairs in chain.from_iterable(families) if (sentence := pair_sentence(pairs))]
    counts = [
        sum(test.p is not None for pairs in family for test in pairs.tests.values()) for family in families
    ]
    if not lines or not any(counts):
        return lines
    most = f"{'up to ' if len({*counts}) > 1 else ''}{quantity(max(counts), 'pair')}"
    about = (
        "above: the mean over the users who have both is higher. Exact sign-flip test over users, each counted once,"
        f" p < {ALPHA:g} after Holm's correction for {most} of systems and {figures}, and the interval of "
        f"the difference does not contain 0"
    )
    return [*lines, about]


def unshown_pairs(pairs: MeasuredPairs) -> Iterator[tuple[str, str, str]]:
    """The neighbours whose order is not shown for certain, with the reason in a few words: "" if a test just does not
    separate them."""
    for upper, lower, test in ranked_pairs(pairs.order, pairs.tests):
        names = pairs.systems[upper], pairs.systems[lower]
        if not test.separable:
            yield (*names, "")
        elif not _leads(test, upper):
            yield (*names, f"{names[1]} is higher among users with both")
        elif test.fragile:
            yield (*names, "one more user would undo their order")


def pair_sentence(pairs: MeasuredPairs) -> str:
    """The note on the neighbours in a ranking by one figure; "" with fewer than two systems."""
    words = [
        _words(pairs.systems[upper], pairs.systems[lower], test, upper)
        for upper, lower, test in ranked_pairs(pairs.order, pairs.tests)
    ]
    more = [f"{len(words) - _MOST_NAMED} more pairs of neighbours: see the table of pairs"]
    named = words[:_MOST_NAMED] + (more if len(words) > _MOST_NAMED else [])
    return f"{pairs.name}: {'; '.join(named)}" if named else ""


def _words(upper: str, lower: str, test: MeanTest, first: int) -> str:
    if test.p_holm is None:
        return f"{upper} and {lower} cannot be compared, {test.note}"
    p = f"p = {test.p_holm:.2g}" if test.p_holm >= _SMALLEST else f"p < {_SMALLEST:g}"
    if not test.separable:
        why = ", but the interval of their difference contains 0" if test.p_holm < ALPHA else ""
        return f"{upper} and {lower} are not separable ({p}{why})"
    p = "; ".join(part for part in (p, _fragile(test)) if part)
    if _leads(test, first):
        return f"{upper} above {lower} ({p})"
    return f"{lower} above {upper} among the users who have both ({p})"


def _leads(test: MeanTest, system: int) -> bool:
    """Whether the mean of `system` over the users who have both is the higher one."""
    return ((test.difference.value or 0.0) > 0) == (system == test.first)


def _fragile(test: MeanTest) -> str:
    """Whether one more user would undo the claim; "" if not."""
    if not test.fragile:
        return ""
    where = "as far apart the other way" if test.reach is None else "at the other end of the scale"
    return f"one more user {where} would undo it"


_SMALLEST = 0.0001
