"""Two raters on the cases both may have judged: aligned values, and what is missing of which side."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from recjudge_tui.stats.agreement_intervals import agreement_estimates
from recjudge_tui.stats.estimate import Estimate
from recjudge_tui.stats.intervals import share_estimate
from recjudge_tui.store.ratings import BoolArray, CaseColumns, FloatArray, IntArray, Rater, Verdicts

LEVELS = ("dataset", "user", "pair")


@dataclass(frozen=True)
class Missing:
    """Of all cases that either rater was asked about: how many one side lacks."""

    cases: int
    not_judged_a: int
    not_judged_b: int
    failed_a: int
    failed_b: int
    filled_a: int = 0
    filled_b: int = 0

    def notes(self, a: str, b: str) -> list[str]:
        found = []
        for name, absent, failed, filled in (
            (a, self.not_judged_a, self.failed_a, self.filled_a),
            (b, self.not_judged_b, self.failed_b, self.filled_b),
        ):
            if absent:
                found.append(f"{absent:,} of {self.cases:,} cases not judged by {name}: left out")
            if failed:
                found.append(f"{failed:,} of {self.cases:,} cases where {name} failed: left out")
            if filled:
                found.append(f"{filled:,} of {self.cases:,} cases missing by {name}: filled as asked")
        return found


@dataclass(frozen=True)
class Comparison:
    """Rows where both sides have a value."""

    row: IntArray
    a: FloatArray
    b: FloatArray
    missing: Missing


@dataclass(frozen=True)
class Side:
    """One rater's verdicts; `fill` stands for a missing one, where that is wanted.

    A judge's case that was never asked is not missing, it was not part of its run: only failures are filled.
    """

    rater: Rater
    verdicts: Verdicts
    fill: float | None = None
    fill_absent: bool = False


def compare(cases: CaseColumns, left: Side, right: Side, within: BoolArray | None = None) -> Comparison:
    """Align two raters; `within` (a mask over cases) restricts the comparison to some of them."""
    a, status_a = _dense(cases, left.verdicts)
    b, status_b = _dense(cases, right.verdicts)
    either = (status_a > 0) | (status_b > 0)
    if within is not None:
        either &= within
    filled_a = _fill(left, a, status_a, either)
    filled_b = _fill(right, b, status_b, either)
    both = either & ~np.isnan(a) & ~np.isnan(b)
    missing = Missing(
        cases=int(either.sum()),
        not_judged_a=int((either & (status_a == 0) & np.isnan(a)).sum()),
        not_judged_b=int((either & (status_b == 0) & np.isnan(b)).sum()),
        failed_a=int((either & (status_a == 2) & np.isnan(a)).sum()),
        failed_b=int((either & (status_b == 2) & np.isnan(b)).sum()),
        filled_a=filled_a,
        filled_b=filled_b,
    )
    return Comparison(np.flatnonzero(both), a[both], b[both], missing)


def _dense(cases: CaseColumns, verdicts: Verdicts) -> tuple[FloatArray, IntArray]:
    """Values over all cases, NaN where there is none, and 0 (not judged), 1 (ok) or 2 (failed)."""
    values = np.full(cases.ids.size, np.nan)
    status = np.zeros(cases.ids.size, dtype=np.int64)
    values[verdicts.row] = verdicts.value
    status[verdicts.row] = np.where(np.isnan(verdicts.value), 2, 1)
    return values, status


def _fill(side: Side, values: FloatArray, status: IntArray, either: BoolArray) -> int:
    if side.fill is None:
        return 0
    holes = either & ((status == 2) | (side.fill_absent & (status == 0)))
    values[holes] = side.fill
    return int(holes.sum())


def estimates(
    cases: CaseColumns,
    compared: Comparison,
    labels: list[float] | None,
    stats: tuple[str, ...],
    level: str,
    *,
    resamples: int,
    seed: int,
) -> dict[str, Estimate]:
    """The statistics of one comparison at one of LEVELS; n of `concurrence` counts what it rests on."""
    groups = {"dataset": None, "user": cases.user, "pair": cases.pair}[level]
    found = agreement_estimates(
        compared.a,
        compared.b,
        cases.user[compared.row],
        labels,
        stats,
        groups=None if groups is None else groups[compared.row],
        resamples=resamples,
        seed=seed,
    )
    users = cases.user[compared.row]
    hits = {"percent": compared.a == compared.b, "concurrence": compared.a * compared.b > 0}
    for stat in hits.keys() & found.keys():
        counted = compared.b != 0 if stat == "concurrence" else np.ones(compared.b.size, dtype=np.bool_)
        if level == "dataset" and found[stat].value in (0.0, 1.0):
            # no resample can differ from a figure of 0 or 1: Wilson's interval says what is known
            found[stat] = share_estimate(hits[stat][counted], users[counted])
        found[stat] = replace(found[stat], n=int(counted.sum()))
    return found
