"""The cells of two raters' answers with one user left out at a time, and the range of a figure."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from recjudge_tui.stats.agreement import weighted_cells
from recjudge_tui.stats.agreement.registry import CORRELATIONS, STATISTICS
from recjudge_tui.stats.agreement.weighted_cells import DISAGREEMENTS, Cells
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.intervals import SHARE, Bounds

# above these sizes users are left out in fewer groups
_WORK = 150_000_000
_FEWEST_GROUPS = 200
_CHUNK = 4_000_000
PERFECT = "no interval: the correlation is perfect in this sample"
OPPOSITE: Bounds = (-1.0, 1.0)


def user_groups(users: IntArray, count: int, width: int, resamples: int, seed: int) -> tuple[IntArray, int]:
    """The group of users of each row, and the number of groups: every user alone if there are few enough for the
    `width` of one computation, else groups drawn at random and evenly."""
    groups = min(resamples, max(_FEWEST_GROUPS, _WORK // max(width, 1)))
    if count <= groups:
        return users, count
    of_user = np.empty(count, dtype=np.int64)
    of_user[np.random.default_rng(seed).permutation(count)] = np.arange(count) % groups
    return of_user[users], groups


def fewer_groups(users: int, groups: int) -> str:
    """The note on an interval for which users were left out in groups."""
    return "" if users <= groups else f"users left out in {groups:,} groups"


def left_out_weights(cells: int, of_row: IntArray, groups: IntArray, count: int) -> Iterator[FloatArray]:
    """The weights (r, cells) of all rows, then of all rows without group 0, 1, ...; count + 1 rows in all."""
    whole = np.bincount(of_row, minlength=cells).astype(np.float64)
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups, minlength=count))
    step = max(1, _CHUNK // max(cells, 1))
    yield whole[None, :]
    for first in range(0, count, step):
        last = min(first + step, count)
        here = order[0 if first == 0 else ends[first - 1] : ends[last - 1]]
        flat = (groups[here] - first) * cells + of_row[here]
        size = (last - first) * cells
        yield whole - np.bincount(flat, minlength=size).reshape(last - first, cells)


def reachable(stat: str, weights: FloatArray, cells: Cells, *, mirrored: bool = False) -> Bounds | None:
    """The lowest and the highest value of a statistic; None if there is none.

    A figure corrected for chance is 1 - observed / expected disagreement. It is 1 without any disagreement and
    1 - 1 / expected with the largest, both as shares of the largest disagreement.
    """
    if stat in DISAGREEMENTS:
        disagreement = DISAGREEMENTS[stat]
        seen = weighted_cells.mirrored(lambda w, both: disagreement(w, both).expected) if mirrored else None
        expected = float((seen(weights, cells) if seen else disagreement(weights, cells).expected)[0])
        return None if not expected > 0 else (1 - 1 / expected, 1.0)
    if stat in CORRELATIONS:
        return OPPOSITE
    if STATISTICS[stat].bounds == SHARE:
        return SHARE
    if cells.labels is None:
        return None
    width = float(cells.labels[-1] - cells.labels[0])
    return (-width, width) if width > 0 else None
