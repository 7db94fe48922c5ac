"""Two raters on the cases that both may have judged: aligned values, and the missing verdicts of each side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from recjudge_tui.domain.text import quantity
from recjudge_tui.reports.common.orientation import Orientation, labels_seen, orientation
from recjudge_tui.stats.agreement import agreement_estimates
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.stats.defaults import LEVEL
from recjudge_tui.stats.estimate import Estimate
from recjudge_tui.stats.registry import SHARE, STATISTICS
from recjudge_tui.store.verdicts.generations import Lifetimes, in_generation, newest_judged
from recjudge_tui.store.verdicts.ratings import CaseColumns, Rater, Verdicts, of_selection


@dataclass(frozen=True)
class MissingCounts:
    """How many verdicts each side lacks, among all cases that either rater was asked about. `earlier` and `later`
    count the cases of other generations of lists, which are not among those.
    """

    cases: int
    not_judged_a: int
    not_judged_b: int
    failed_a: int
    failed_b: int
    filled_a: int = 0
    filled_b: int = 0
    earlier: int = 0
    later: int = 0

    def notes(self, a: str, b: str) -> list[str]:
        def left_out(count: int) -> str:
            return f"{count:,} of {self.cases:,} cases ({count / self.cases:.1%})"

        notes = []
        for name, absent, failed, filled in (
            (a, self.not_judged_a, self.failed_a, self.filled_a),
            (b, self.not_judged_b, self.failed_b, self.filled_b),
        ):
            if absent:
                notes.append(f"{left_out(absent)} not judged by {name}: left out")
            if failed:
                notes.append(f"{left_out(failed)} where {name} failed: left out")
            if filled:
                notes.append(f"{left_out(filled)} missing from {name}: filled with the given value")
        return notes + generation_notes(self.earlier, self.later)


def generation_notes(earlier: int, later: int) -> list[str]:
    """How many cases are left out because their lists are not those that the figure is about."""
    notes = [f"{quantity(earlier, 'case')} of earlier lists left out"] if earlier else []
    return notes + (
        [f"{quantity(later, 'case')} of later lists, which not all of them judged, left out"] if later else []
    )


@dataclass(frozen=True)
class Comparison:
    """Rows in which both sides have a value; on pairs of lists `a` and `b` are oriented as `seen` says."""

    row: IntArray
    a: FloatArray
    b: FloatArray
    missing: MissingCounts
    seen: Orientation


@dataclass(frozen=True)
class Side:
    """One rater's verdicts; `fill` replaces missing ones, if set.

    A case that a judge was never asked about is not missing but outside its run, so for judges only failures are
    filled.
    """

    rater: Rater
    verdicts: Verdicts
    fill: float | None = None
    fill_absent: bool = False


def compare(cases: CaseColumns, left: Side, right: Side, within: BoolArray | None = None) -> Comparison:
    """Align two raters; `within` (a mask over cases) restricts the comparison to some of them."""
    met = align(cases, (left, right), within)
    (a, b), (status_a, status_b), (filled_a, filled_b) = met.values, met.status, met.filled
    both = met.included & ~np.isnan(a) & ~np.isnan(b)
    missing = MissingCounts(
        cases=int(met.included.sum()),
        not_judged_a=int((met.included & (status_a == 0) & np.isnan(a)).sum()),
        not_judged_b=int((met.included & (status_b == 0) & np.isnan(b)).sum()),
        failed_a=int((met.included & (status_a == 2) & np.isnan(a)).sum()),
        failed_b=int((met.included & (status_b == 2) & np.isnan(b)).sum()),
        filled_a=filled_a,
        filled_b=filled_b,
        earlier=met.earlier,
        later=met.later,
    )
    rows = np.flatnonzero(both)
    seen = orientation(cases, rows)
    # adding 0 turns -0 into 0
    return Comparison(rows, a[rows] * seen.turn + 0.0, b[rows] * seen.turn + 0.0, missing, seen)


@dataclass(frozen=True)
class AlignedVerdicts:
    """Several raters over all cases: values (raters, cases), NaN if missing, and a status for each: 0 (not judged), 1
    (ok) or 2 (failed).

    `included` marks the cases that at least one of them was asked about; `filled` counts by rater. They are aligned on the
    newest lists that they judged in common. `other` are the cases of other generations of lists, which are left out;
    `later` of them came after.
    """

    values: FloatArray
    status: IntArray
    included: BoolArray
    filled: tuple[int, ...]
    other: IntArray
    later: int = 0

    @property
    def earlier(self) -> int:
        return self.other.size - self.later

    @property
    def left_out(self) -> list[str]:
        """A sentence on how many cases are left out because of their lists."""
        return generation_notes(self.earlier, self.later)


def align(cases: CaseColumns, sides: Sequence[Side], within: BoolArray | None = None) -> AlignedVerdicts:
    """The sides over all cases, with missing values filled if a side has a `fill`."""
    values = np.full((len(sides), cases.ids.size), np.nan)
    status = np.zeros(values.shape, dtype=np.int64)
    for at, side in enumerate(sides):
        verdicts = side.verdicts
        values[at, verdicts.row] = verdicts.value
        status[at, verdicts.row] = np.where(np.isnan(verdicts.value), 2, 1)
    included: BoolArray = np.any(status > 0, axis=0)
    if within is not None:
        included &= within
    other, later = np.zeros(0, dtype=np.int64), 0
    if cases.lifetimes is not None:
        other, later = _one_generation(cases.lifetimes, values, status, included, cases.selected)
    if cases.selected is not None:
        included &= cases.selected
    filled = tuple(_fill(side, values[at], status[at], included) for at, side in enumerate(sides))
    return AlignedVerdicts(values, status, included, filled, other, later)


def _one_generation(
    lifetimes: Lifetimes,
    values: FloatArray,
    status: IntArray,
    included: BoolArray,
    selected: BoolArray | None,
) -> tuple[IntArray, int]:
    """Blank all verdicts that are not about the newest lists that most of the sides judged together.

    Returns a mask of the blanked cases, and how many of them are about later lists.
    """
    rows = np.flatnonzero(included)
    if not rows.size:
        return rows, 0
    sides = (status[:, rows] > 0).sum(axis=0)
    generation = newest_judged(lifetimes, rows[sides == sides.max()])
    other = rows[~in_generation(lifetimes, rows, generation)]
    values[:, other], status[:, other], included[other] = np.nan, 0, False
    if selected is not None:
        other = other[selected[other]]
    return other, int((lifetimes.since[other] > generation).sum())


def _fill(side: Side, values: FloatArray, status: IntArray, included: BoolArray) -> int:
    if side.fill is None:
        return 0
    holes = included & ((status == 2) | (side.fill_absent & (status == 0)))
    values[holes] = side.fill
    return int(holes.sum())


def parts(
    cases: CaseColumns, left: Verdicts, right: Verdicts, by_system: bool
) -> Iterator[tuple[str, BoolArray | None]]:
    """All cases (an empty name, no mask), or those of each system (pair of systems) that either side judged."""
    if not by_system:
        yield "", None
        return
    met = np.concatenate([of_selection(cases, side).row for side in (left, right)])
    code = cases.system_a * len(cases.systems) + np.where(cases.is_pair, cases.system_b, 0)
    for pair_code in np.unique(code[met]):
        mask = code == pair_code
        at = int(np.argmax(mask))
        name = cases.systems[cases.system_a[at]]
        if cases.is_pair[at]:
            name = f"{name} vs {cases.systems[cases.system_b[at]]}"
        yield name, mask


def estimates(
    cases: CaseColumns,
    compared: Comparison,
    labels: list[float] | None,
    stats: tuple[str, ...],
    level: str,
    *,
    resamples: int,
    seed: int,
    confidence: float = LEVEL,
) -> dict[str, Estimate]:
    """The statistics of one comparison at a level (dataset, user, pair); for a share, n is the number of cases that it
    counts."""
    groups = {"dataset": None, "user": cases.user, "pair": cases.pair}[level]
    by_stat = agreement_estimates(
        compared.a,
        compared.b,
        cases.user[compared.row],
        labels_seen(labels, compared.seen),
        stats,
        mirrored=compared.seen.mirrored,
        groups=None if groups is None else groups[compared.row],
        level=confidence,
    )
    for stat, estimate in by_stat.items():
        if STATISTICS[stat].bounds != SHARE:
            continue
        counted = compared.b != 0 if STATISTICS[stat].directed else np.ones(compared.b.size, dtype=np.bool_)
        n = int(counted.sum())
        by_stat[stat] = replace(estimate, n=n)
    return by_stat
