"""Agreement of two raters on the same items. Rows with a missing rating (NaN) are left out.

Every function returns None if the figure is undefined; `registry` holds the reasons.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.agreement import weighted_cells
from recjudge_tui.stats.agreement.weighted_cells import CellFunction, Cells, make_cells
from recjudge_tui.stats.arrays import FloatArray, IntArray, complete, none_if_nan

Labels = Sequence[float]


def label_array(labels: npt.ArrayLike) -> FloatArray:
    """The label set as an array. Raises ValueError unless it is strictly increasing."""
    array = np.asarray(labels, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or (np.diff(array) <= 0).any():
        raise ValueError("the label set must be sorted values, each once, such as (0, 1, 2)")
    return array


def figure(
    statistic: CellFunction, a: npt.ArrayLike, b: npt.ArrayLike, labels: npt.ArrayLike | None = None
) -> float | None:
    """A statistic of `cells` over all complete rows; None if there are none or it is undefined."""
    left, right, _ = complete(a, b)
    if left.size == 0:
        return None
    cells, codes = make_cells(left, right, None if labels is None else label_array(labels))
    counts = np.bincount(codes, minlength=cells.a.size).astype(np.float64)
    return none_if_nan(float(statistic(counts[None, :], cells)[0]))


def percent(a: npt.ArrayLike, b: npt.ArrayLike) -> float | None:
    """Share of rows with equal values, 0..1."""
    return figure(weighted_cells.percent, a, b)


def qwk(a: npt.ArrayLike, b: npt.ArrayLike, labels: Labels) -> float | None:
    """Quadratic weighted kappa (Cohen, 1968), disagreement = squared difference of label values.

    None when the expected disagreement is 0 (both raters gave the same single label throughout).
    Raises ValueError for a value outside the label set.
    """
    return figure(weighted_cells.qwk, a, b, labels)


def ac2(a: npt.ArrayLike, b: npt.ArrayLike, labels: Labels) -> float | None:
    """Gwet's AC2 (Handbook of Inter-Rater Reliability, 2014) with quadratic weights.

    (pa - pe) / (1 - pe), pa the mean credit w_ij = 1 - (i-j)²/(max-min)², and
    pe = sum(w) / (q(q-1)) · sum p_k(1-p_k), p_k the two raters' mean share of label k. All q labels
    of the set count, used or not. Unlike kappa it is defined (1) for constant equal ratings; None if q < 2.
    """
    return figure(weighted_cells.ac2, a, b, labels)


def confusion(a: npt.ArrayLike, b: npt.ArrayLike, labels: Labels) -> IntArray:
    """Counts (q, q): rows by a's label, columns by b's, in the order of the label set.

    Raises ValueError for a value outside the label set.
    """
    left, right, _ = complete(a, b)
    codes = Cells(left, right, label_array(labels)).onehot
    counts: IntArray = np.rint(codes[0].T @ codes[1]).astype(np.int64)
    return counts
