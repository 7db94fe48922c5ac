"""The interval of an agreement figure averaged over pairs of raters who share users and cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from recjudge_tui.stats.agreement.coefficients import label_array
from recjudge_tui.stats.agreement.intervals import (
    KENDALL_CELLS,
    KENDALL_SLOW,
    cases_seen,
    cell_function,
    cell_kinds,
    figure_interval,
    too_alike,
)
from recjudge_tui.stats.agreement.left_out import fewer_groups, left_out_weights, reachable, user_groups
from recjudge_tui.stats.agreement.many_raters import few_by_chance
from recjudge_tui.stats.agreement.registry import STATISTICS
from recjudge_tui.stats.agreement.weighted_cells import make_cells
from recjudge_tui.stats.arrays import FloatArray, IntArray, encode, ratio
from recjudge_tui.stats.defaults import LEVEL, RESAMPLES
from recjudge_tui.stats.estimate import Interval, join_notes
from recjudge_tui.stats.intervals import Bounds
from recjudge_tui.stats.resampling.intervals import FEW_USERS, FEWEST_USERS, NOT_REQUESTED
from recjudge_tui.stats.resampling.jackknife import spread_of


class RatedPair(NamedTuple):
    """The values of two raters on the cases (n,) that both have judged, and the users of these."""

    a: FloatArray
    b: FloatArray
    users: IntArray


def pairs_interval(
    pairs: Sequence[RatedPair],
    labels: Sequence[float] | None,
    stat: str,
    *,
    mirrored: bool = False,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> Interval:
    """The interval of the mean of a statistic over pairs of raters, weighted by their cases; every pair must have a value.

    Each user is left out of all pairs at once, so that the user counts once, no matter how many people judged their
    cases. None, with the reason, as for a statistic of two raters, or, of several pairs, of many raters.
    """
    if not resamples:
        return Interval(None, None, NOT_REQUESTED)
    codes, count = encode(np.concatenate([pair.users for pair in pairs]))
    if count < FEWEST_USERS:
        return Interval(None, None, FEW_USERS)
    sides = [np.concatenate([pair[at] for pair in pairs]) for at in (0, 1)]
    if stat != "ac2" and (reason := too_alike(sides[0], sides[1], codes)):
        return Interval(None, None, reason)
    if len(pairs) > 1 and STATISTICS[stat].by_chance and (reason := few_by_chance(sides[0], sides[1], codes)):
        return Interval(None, None, reason)
    known = None if labels is None else label_array(labels)
    cells = [make_cells(pair.a, pair.b, known) for pair in pairs]
    width = max(of_pair.a.size for of_pair, _ in cells)
    if stat == "kendall" and width > KENDALL_CELLS:
        return Interval(None, None, KENDALL_SLOW)
    groups, left_out = user_groups(codes, count, width, resamples, seed)
    statistic = cell_function(stat, mirrored=mirrored)
    total, size = np.zeros(left_out + 1), np.zeros(left_out + 1)
    reach: list[Bounds | None] = []
    seen = 1
    ends = np.cumsum([pair.users.size for pair in pairs])
    parts = zip(cells, np.split(groups, ends[:-1]), np.split(codes, ends[:-1]), strict=True)
    for (of_pair, of_row), here, owners in parts:
        weights = list(left_out_weights(of_pair.a.size, of_row, here, left_out))
        n = np.concatenate([part.sum(axis=1) for part in weights])
        total += n * np.concatenate([statistic(part, of_pair) for part in weights])
        size += n
        seen = max(seen, cases_seen(owners, cell_kinds(of_pair, mirrored=mirrored)[of_row]))
        reach.append(reachable(stat, weights[0], of_pair, mirrored=mirrored))
    means = ratio(total, size)
    value = float(means[0])
    spread = spread_of(value, means[1:], np.bincount(codes))
    shown = figure_interval(stat, value, spread, _between(reach, np.diff(ends, prepend=0)), level, seen)
    return replace(shown, note=join_notes(shown.note, fewer_groups(count, left_out)))


def _between(reach: Sequence[Bounds | None], cases: IntArray) -> Bounds | None:
    known = [bounds for bounds in reach if bounds is not None]
    if len(known) < len(reach):
        return None
    low, high = np.average(np.array(known), axis=0, weights=cases).tolist()
    return low, high
