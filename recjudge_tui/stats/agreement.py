"""Agreement of raters on the same items: every statistic of `registry` with its interval over users.

Rows with the same pair of values are one cell, and a statistic is a function of cell weights (m, cells) -> (m,), so one
implementation serves the figure, the figures by group, and the jackknife. NaN marks an undefined figure inside; callers see
None with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import permutations
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import (
    BoolArray,
    FloatArray,
    Ids,
    IntArray,
    as_floats,
    complete,
    encode,
    none_if_nan,
    ratio,
    rows_of,
)
from recjudge_tui.stats.defaults import LEVEL
from recjudge_tui.stats.estimate import Estimate, Interval, join_notes, undefined
from recjudge_tui.stats.intervals import (
    FISHER,
    IDENTITY,
    MOST_GROUPS,
    SHARE,
    Bounds,
    Scale,
    jackknife,
    mean_estimate,
    share_estimate,
    share_interval,
    sums_by_user,
)
from recjudge_tui.stats.ranking import ranks
from recjudge_tui.stats.registry import CORRELATIONS, MANY_RATERS, NO_ROWS, NO_SIDE, STATISTICS

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

TOO_FEW = "fewer than two items rated by both"
FEWEST_VARIED, FEWEST_DISAGREEING = 10, 4
FEW_VARIED = f"no interval: fewer than {FEWEST_VARIED} users have a value other than the most common one"
FEW_DISAGREEING = f"no interval: fewer than {FEWEST_DISAGREEING} users show a disagreement"
FEW_PER_LABEL = f"no interval: fewer than {FEWEST_VARIED} users have a label that one of the raters gave"
NO_ITEM = "no item rated by two raters"
_MEANS = ("percent", "bias", "concurrence")
# above this many cells Kendall's tau is computed by sorting, without an interval
_KENDALL_CELLS = 3000
MANY_CELLS = f"no interval: over {_KENDALL_CELLS:,} distinct pairs of values"
_FEWEST_GROUPS, _WORK, _CHUNK = 200, 30_000_000, 4_000_000
_PAIRWISE_UP_TO = 200


# ---- statistics of two raters as functions of cell weights ------------------------------------------------------------


@dataclass(frozen=True)
class Cells:
    """The distinct pairs of values (cells,) and the label set, if there is one, as sorted values."""

    a: FloatArray
    b: FloatArray
    labels: FloatArray | None = None

    @cached_property
    def levels(self) -> tuple[FloatArray, IntArray, IntArray]:
        """The values of both sides (k,), and the code of each cell's a and b."""
        levels, codes = np.unique(np.concatenate([self.a, self.b]), return_inverse=True)
        a, b = np.split(codes.reshape(-1).astype(np.int64), 2)
        return levels, a, b

    @cached_property
    def _members(self) -> tuple[csr_matrix, csr_matrix]:
        from scipy.sparse import csr_matrix

        levels, *sides = self.levels
        at, one = np.arange(self.a.size), np.ones(self.a.size)
        left, right = (csr_matrix((one, (side, at)), shape=(levels.size, at.size)) for side in sides)
        return left, right

    def margins(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The weight of each value on either side (m, k)."""
        left, right = ((side @ w.T).T for side in self._members)
        return left, right

    @cached_property
    def signs(self) -> npt.NDArray[np.float32]:
        """(cells, cells): 1 where two cells are concordant, -1 discordant, 0 tied on either side."""
        signs = np.sign(self.a[:, None] - self.a) * np.sign(self.b[:, None] - self.b)
        return signs.astype(np.float32)


CellFunction = Callable[[FloatArray, Cells], FloatArray]


def _row_values(stat: str, a: FloatArray, b: FloatArray) -> tuple[FloatArray, BoolArray]:
    """The values of rows whose mean is the statistic (_MEANS), and which rows count. `concurrence`, of signed preferences:
    whether a has the sign of b, where b has a direction (Liu et al., SIGIR 2026)."""
    if stat == "bias":
        return a - b, np.ones(a.size, dtype=np.bool_)
    if stat == "percent":
        return (a == b).astype(np.float64), np.ones(a.size, dtype=np.bool_)
    return (np.sign(a) == np.sign(b)).astype(np.float64), b != 0


def _mean(w: FloatArray, cells: Cells, stat: str) -> FloatArray:
    values, kept = _row_values(stat, cells.a, cells.b)
    return ratio(w @ (values * kept), w @ kept.astype(np.float64))


def _cost(levels: FloatArray, power: float) -> FloatArray:
    """Disagreement (k, k), at most 1: 0 or 1 for power 0, else |difference of values|^power; NaN: Gwet's ordinal weights, by
    the number of labels between."""
    if math.isnan(power):
        levels = np.arange(levels.size, dtype=np.float64)
    gap = np.abs(levels[:, None] - levels)
    cost: FloatArray = gap * (gap + 1) / 2
    if not math.isnan(power):
        cost = gap**power if power else (gap > 0).astype(np.float64)
    return cost / max(float(cost.max()), 1e-300)


def _kappa(w: FloatArray, cells: Cells, power: int) -> FloatArray:
    """Cohen's kappa (1960; weighted 1968): 1 - observed / expected disagreement, from the two margins. Undefined when
    the expected disagreement is 0."""
    levels, a, b = cells.levels
    cost, n = _cost(levels, power), w.sum(axis=1)
    left, right = cells.margins(w)
    expected = ratio(((left @ cost) * right).sum(axis=1), n**2)
    return 1 - ratio(ratio(w @ cost[a, b], n), expected)


def _gwet(w: FloatArray, cells: Cells, power: int) -> FloatArray:
    """Gwet's AC1 (power 0) and AC2 with quadratic weights (Handbook of Inter-Rater Reliability, 2014). (pa - pe) / (1
    - pe), pa the mean credit, pe = sum(credit) / (q(q-1)) · sum p_k(1-p_k), p_k the two raters' mean share of label
    k. All q labels of the set count, used or not. Unlike kappa it is defined (1) for constant equal ratings."""
    labels = cells.levels[0] if cells.labels is None else cells.labels
    cost, n = _cost(labels, power), w.sum(axis=1)
    at_a, at_b = (np.searchsorted(labels, side) for side in (cells.a, cells.b))
    shares = ratio(np.add(*cells.margins(w)) / 2, n[:, None])
    return _beyond_gwets_chance(ratio(w @ cost[at_a, at_b], n), shares, cost)


def _beyond_gwets_chance(disagreement: FloatArray, shares: FloatArray, cost: FloatArray) -> FloatArray:
    """Gwet's coefficient (m,) of a mean disagreement (m,) and shares of labels (m, k), with the costs (q, q) of all q."""
    q = len(cost)
    if q < 2:
        return np.full(len(disagreement), np.nan)
    by_chance = (1 - cost).sum() / (q * (q - 1)) * (shares * (1 - shares)).sum(axis=1)
    return 1 - ratio(disagreement, 1 - by_chance)


def _alpha(w: FloatArray, cells: Cells, kind: str) -> FloatArray:
    """Krippendorff's alpha (Computing Krippendorff's Alpha-Reliability, 2011): 1 - observed / expected disagreement over
    pairs of ratings of an item: 1 for different values, or the squared difference of values, or of pooled mean ranks
    (ordinal)."""
    levels, a, b = cells.levels
    margin = np.add(*cells.margins(w))
    n = 2 * w.sum(axis=1)
    if kind == "nominal":
        observed, expected = 2 * (w @ (a != b).astype(np.float64)), n**2 - (margin**2).sum(axis=1)
    else:
        scores = _midranks(margin) if kind == "ordinal" else (levels - levels.mean())[None, :]
        observed = 2 * (w * (scores[:, a] - scores[:, b]) ** 2).sum(axis=1)
        expected = 2 * (n * (margin * scores**2).sum(axis=1) - (margin * scores).sum(axis=1) ** 2)
    return 1 - ratio(observed * (n - 1), np.where(_varied(margin), expected, 0.0))


def _midranks(margin: FloatArray) -> FloatArray:
    """The mean rank of each value (m, k), with a weighted mean of 0."""
    middle: FloatArray = np.cumsum(margin, axis=1) - (margin + margin.sum(axis=1, keepdims=True)) / 2
    return middle


def _correlation(w: FloatArray, cells: Cells, *, by_rank: bool) -> FloatArray:
    """Pearson's r, or Spearman's rho as Pearson's r of the mean ranks. Undefined where a side is constant."""
    levels, a, b = cells.levels
    left, right = cells.margins(w)
    if by_rank:
        x, y = _midranks(left), _midranks(right)
    else:
        x, y = (levels[None, :] - ratio(side @ levels, w.sum(axis=1))[:, None] for side in (left, right))
    spread = (left * x**2).sum(axis=1) * (right * y**2).sum(axis=1)
    r = np.clip(ratio((w * x[:, a] * y[:, b]).sum(axis=1), np.sqrt(spread)), -1, 1)
    return np.where(_varied(left) & _varied(right), r, np.nan)


def _varied(margin: FloatArray) -> BoolArray:
    varied: BoolArray = (margin > 0).sum(axis=1) > 1
    return varied


def _kendall(w: FloatArray, cells: Cells) -> FloatArray:
    """Kendall's tau-b: (concordant - discordant) / sqrt(pairs untied in a · pairs untied in b)."""
    # counts below 2^24 are exact in single precision, and nearly all the time is spent in the product
    exact = np.float32 if w.sum(axis=1).max(initial=0) < 2**24 else np.float64
    net = ((w.astype(exact) @ cells.signs.astype(exact)) * w).sum(axis=1)
    left, right = cells.margins(w)
    total = w.sum(axis=1) ** 2
    untied = (total - (left**2).sum(axis=1)) * (total - (right**2).sum(axis=1))
    tau = np.clip(ratio(net, np.sqrt(np.maximum(untied, 0))), -1, 1)
    return np.where(_varied(left) & _varied(right), tau, np.nan)


FUNCTIONS: dict[str, CellFunction] = {
    **{stat: partial(_mean, stat=stat) for stat in _MEANS}, "kendall": _kendall,
    **{stat: partial(_kappa, power=power) for power, stat in enumerate(("kappa", "kappa_linear", "qwk"))},
    **{f"alpha_{kind}": partial(_alpha, kind=kind) for kind in ("nominal", "ordinal", "interval")},
    "ac1": partial(_gwet, power=0), "ac2": partial(_gwet, power=2),
    "pearson": partial(_correlation, by_rank=False), "spearman": partial(_correlation, by_rank=True),
}  # fmt: skip


@dataclass(frozen=True)
class _Table:
    """The cells of paired rows, and the weight of each cell for each unit, a user or a group of rows (units, cells)."""

    cells: Cells
    weights: csr_matrix

    @property
    def total(self) -> FloatArray:
        return np.asarray(self.weights.sum(axis=0), dtype=np.float64).reshape(1, -1)

    def figures(self, stat: str, weights: FloatArray | csr_matrix) -> FloatArray:
        """A statistic for each row of weights (m, cells), computed in parts that fit into memory."""
        step = max(1, _CHUNK // max(self.cells.a.size, 1))
        parts = (weights[at : at + step] for at in range(0, weights.shape[0], step))
        dense = [part if isinstance(part, np.ndarray) else part.toarray() for part in parts]
        return np.concatenate([FUNCTIONS[stat](part, self.cells) for part in dense] or [np.zeros(0)])


def _table(
    a: FloatArray,
    b: FloatArray,
    units: IntArray,
    count: int,
    labels: FloatArray | None,
    *,
    mirrored: bool = False,
) -> _Table:
    """`mirrored`: signed preferences without a first side; each row counts half as it is and half negated."""
    from scipy.sparse import csr_matrix

    weight = np.ones(a.size)
    if mirrored:
        a, b, units = np.concatenate([a, -a]), np.concatenate([b, -b]), np.tile(units, 2)
        weight = np.full(a.size, 0.5)
    levels, of = np.unique(np.concatenate([a, b]), return_inverse=True)
    code_a, code_b = np.split(of.reshape(-1).astype(np.int64), 2)
    codes, cells = encode(code_a * max(levels.size, 1) + code_b)
    first = np.zeros(cells, dtype=np.int64)
    first[codes] = np.arange(codes.size)
    table = csr_matrix((weight, (units, codes)), shape=(count, cells))
    return _Table(Cells(a[first], b[first], labels), table)


def _jackknifed(
    tables: Sequence[_Table],
    figure: Callable[[list[FloatArray]], FloatArray],
    scale: Scale,
    level: float = LEVEL,
) -> Interval:
    """The interval of a figure of several tables of the same users, from the weights of the cells of each (m, cells)."""
    from scipy.sparse import hstack

    ends = np.cumsum([table.cells.a.size for table in tables])[:-1]
    beside = hstack([table.weights for table in tables]).tocsr()
    return jackknife(beside, lambda w: figure(np.split(w, ends, axis=1)), scale, level)


def label_array(labels: npt.ArrayLike) -> FloatArray:
    """The label set as an array. Raises ValueError unless it is strictly increasing."""
    array = np.asarray(labels, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or (np.diff(array) <= 0).any():
        raise ValueError("the label set must be sorted values, each once, such as (0, 1, 2)")
    return array


def figure(
    stat: str, a: npt.ArrayLike, b: npt.ArrayLike, labels: npt.ArrayLike | None = None
) -> float | None:
    """A statistic over all complete rows; None if there are none or it is undefined. Raises ValueError for a value
    outside the label set."""
    left, right, _ = complete(a, b)
    if left.size == 0 or (left.size < 2 and stat in CORRELATIONS):
        return None
    known = None if labels is None else label_array(labels)
    if known is not None:
        _check_labels(np.concatenate([left, right]), known)
    if stat == "kendall":
        return none_if_nan(float(grouped_kendall(left, right, np.zeros(left.size, dtype=np.int64), 1)[0]))
    table = _table(left, right, np.zeros(left.size, dtype=np.int64), 1, known)
    return none_if_nan(float(table.figures(stat, table.total)[0]))


percent, ac2 = partial(figure, "percent"), partial(figure, "ac2")
pearson, spearman, kendall = (partial(figure, stat) for stat in CORRELATIONS)


def _check_labels(values: FloatArray, labels: FloatArray) -> None:
    strange = np.setdiff1d(values, labels)
    if strange.size:
        raise ValueError(f"{strange[0]:g} is not in the label set")


# ---- correlations inside groups ---------------------------------------------------------------------------------------


def group_mean(method: str, a: npt.ArrayLike, b: npt.ArrayLike, groups: Ids) -> float | None:
    """Mean over groups, users or (user, item) pairs, of `method` (pearson, spearman, kendall) inside each; None if no group
    has one. Groups with a constant side or fewer than two rows are left out. Source: Zhang et al., LLMs as Evaluators for
    Recommendation Explanations, 2024. Raises KeyError for an unknown method."""
    left, right, kept = complete(a, b)
    values = GROUPED[method](left, right, *encode(rows_of(groups, kept)))
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else None


def grouped_pearson(a: FloatArray, b: FloatArray, codes: IntArray, groups: int) -> FloatArray:
    """Pearson's r of each group (groups,), NaN where undefined. `codes` in 0..groups-1, no NaN in a, b."""
    size = np.bincount(codes, minlength=groups).astype(np.float64)

    def total(column: FloatArray) -> FloatArray:
        return np.bincount(codes, weights=column, minlength=groups).astype(np.float64)

    left, right = (side - ratio(total(side), size)[codes] for side in (a, b))
    r = np.clip(ratio(total(left * right), np.sqrt(total(left * left) * total(right * right))), -1, 1)
    return np.where(_varied_groups(a, codes, groups) & _varied_groups(b, codes, groups), r, np.nan)


def _varied_groups(values: FloatArray, codes: IntArray, groups: int) -> BoolArray:
    """Whether a group contains two different values. Exact, unlike a variance, which may be a rounding error."""
    sample = np.zeros(groups)
    sample[codes] = values
    varied: BoolArray = np.bincount(codes[values != sample[codes]], minlength=groups) > 0
    return varied


def ranks_within(values: FloatArray, codes: IntArray) -> FloatArray:
    """Mean rank of each row among its group's rows, counted from 1."""
    levels, count = encode(values)
    alike, _ = encode(codes * max(count, 1) + levels)
    ties, size = np.bincount(alike), np.bincount(codes)
    middle = np.cumsum(ties) - (ties - 1) / 2
    ranked: FloatArray = middle[alike] - (np.cumsum(size) - size)[codes]
    return ranked


def grouped_kendall(a: FloatArray, b: FloatArray, codes: IntArray, groups: int) -> FloatArray:
    """Kendall's tau-b of each group; arguments and result as for `grouped_pearson`. Small groups of the same size are
    compared pair by pair, all at once; large ones go to SciPy, O(n log n)."""
    out = np.full(groups, np.nan)
    order = np.argsort(codes, kind="stable")
    size = np.bincount(codes, minlength=groups)
    start = np.cumsum(size) - size
    varied = _varied_groups(a, codes, groups) & _varied_groups(b, codes, groups)
    for length in np.unique(size[varied]).tolist():
        alike = np.flatnonzero(varied & (size == length))
        step = 1 if length > _PAIRWISE_UP_TO else max(1, _CHUNK // (2 * length**2))
        for members in np.split(alike, range(step, alike.size, step)):
            rows = order[start[members][:, None] + np.arange(length)]
            if length > _PAIRWISE_UP_TO:
                from scipy.stats import kendalltau

                out[members] = float(kendalltau(a[rows[0]], b[rows[0]]).statistic)
                continue
            left, right = (np.sign(x[rows][:, :, None] - x[rows][:, None, :]).astype(np.int8) for x in (a, b))
            net = (left * right).sum(axis=(1, 2), dtype=np.int64).astype(np.float64)
            untied = [np.count_nonzero(side, axis=(1, 2)).astype(np.float64) for side in (left, right)]
            out[members] = np.clip(ratio(net, np.sqrt(untied[0] * untied[1])), -1, 1)
    return out


GROUPED: dict[str, Callable[[FloatArray, FloatArray, IntArray, int], FloatArray]] = {
    "pearson": grouped_pearson,
    "spearman": lambda a, b, codes, groups: grouped_pearson(
        ranks_within(a, codes), ranks_within(b, codes), codes, groups
    ),
    "kendall": grouped_kendall,
}


# ---- estimates of two raters ------------------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """Complete rows with coded users."""

    a: FloatArray
    b: FloatArray
    users: IntArray
    user_count: int
    labels: FloatArray | None
    level: float
    mirrored: bool

    def table(self) -> _Table:
        return _table(self.a, self.b, self.users, self.user_count, self.labels, mirrored=self.mirrored)


def agreement_estimates(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    users: Ids,
    labels: npt.ArrayLike | None,
    stats: Sequence[str] = tuple(STATISTICS),
    *,
    groups: Ids | None = None,
    mirrored: bool = False,
    level: float = LEVEL,
) -> dict[str, Estimate]:
    """The named statistics of two raters with intervals over users: delete-one jackknife, on Fisher's scale. `a`, `b`: one
    value a row, NaN if missing (left out and counted in the note). `labels`: the label set as sorted values, or None for
    values that are no categories; percent, kappas, AC and concurrence then are undefined, as for a value outside it.
    `groups`: the mean over the groups that have a figure; all rows of a group belong to one user. `mirrored`: signed
    preferences without a common first side: each row counts half as it is and half negated. Kappas and alphas have no
    interval where fewer than FEWEST_VARIED users carry anything but the commonest value, these and AC where fewer than
    FEWEST_DISAGREEING show a disagreement. Raises KeyError for an unknown statistic, ValueError for unpaired or unordered
    input."""
    for stat in stats:
        if stat not in STATISTICS:
            raise KeyError(f"unknown statistic {stat!r}; there are {', '.join(STATISTICS)}")
    left, right, kept = complete(a, b)
    known = None if labels is None else label_array(labels)
    codes, count = encode(rows_of(users, kept))
    rows = _Rows(left, right, codes, count, known, level, mirrored)
    left_out = int((~kept).sum())
    missing = f"{left_out} of {kept.size} rows left out: a rating is missing" if left_out else ""
    of_rows = None if groups is None else encode(rows_of(groups, kept))
    table: _Table | None = None
    out: dict[str, Estimate] = {}
    for stat in stats:
        if reason := _blocked(stat, rows):
            estimate = undefined(reason, left.size)
        elif of_rows is not None:
            estimate = _grouped(rows, stat, *of_rows)
        elif stat in _MEANS:
            estimate = _of_rows(rows, stat)
        else:
            table = table or rows.table()
            estimate = _overall(rows, table, stat)
        out[stat] = replace(estimate, note=join_notes(estimate.note, missing))
    return out


def _blocked(stat: str, rows: _Rows) -> str:
    """Why a statistic cannot be computed on these rows at all; empty if it can."""
    if rows.a.size == 0:
        return NO_ROWS
    if rows.a.size < 2 and stat in CORRELATIONS:
        return TOO_FEW
    if rows.mirrored and stat == "bias":
        return NO_SIDE
    if not STATISTICS[stat].labels:
        return ""
    if rows.labels is None:
        return "needs a label set"
    strange = np.setdiff1d(np.concatenate([rows.a, rows.b]), rows.labels)
    if strange.size:
        fractions = strange[strange != np.rint(strange)]
        if fractions.size:
            return f"values between the labels, such as {fractions[0]:.3g}: use a correlation"
        return f"{strange[0]:g} is none of the labels ({rows.labels[0]:g} to {rows.labels[-1]:g})"
    if STATISTICS[stat].directed and not rows.labels[0] < 0 < rows.labels[-1]:
        return "the labels have no direction"
    return ""


def _overall(rows: _Rows, table: _Table, stat: str) -> Estimate:
    n = rows.a.size
    if stat == "kendall" and table.cells.a.size > _KENDALL_CELLS:
        turns = (1, -1) if rows.mirrored else (1,)
        tau = figure(stat, *(np.concatenate([turn * side for turn in turns]) for side in (rows.a, rows.b)))
        return (
            undefined(STATISTICS[stat].undefined, n)
            if tau is None
            else Estimate(tau, None, None, n, note=MANY_CELLS)
        )
    value = float(table.figures(stat, table.total)[0])
    if np.isnan(value):
        return undefined(STATISTICS[stat].undefined, n)
    disagree = rows.a != rows.b
    reason = _withheld(stat, np.stack([rows.a, rows.b]), rows.users, rows.users[disagree])
    ends = Interval(None, None, reason)
    if not reason:
        # with very many cells users are left out in fewer groups
        most = min(MOST_GROUPS, max(_FEWEST_GROUPS, _WORK // table.cells.a.size))
        ends = jackknife(table.weights, lambda w: table.figures(stat, w), FISHER, rows.level, most)
    return Estimate(value, ends.low, ends.high, n, note=ends.note)


def _withheld(stat: str, values: FloatArray, users: IntArray, disagreeing: IntArray) -> str:
    """Why a figure corrected for chance has no interval; empty if it has one. `values` (raters, n), NaN where missing."""
    chance = STATISTICS[stat].by_chance if stat in STATISTICS else MANY_RATERS[stat].by_chance
    if chance:
        known, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        varied = (~np.isnan(values) & (values != known[np.argmax(counts)])).any(axis=0)
        if np.unique(users[varied]).size < FEWEST_VARIED:
            return FEW_VARIED
    few = (chance or stat.startswith("ac")) and np.unique(disagreeing).size < FEWEST_DISAGREEING
    return FEW_DISAGREEING if few else ""


def _of_rows(rows: _Rows, stat: str) -> Estimate:
    """A statistic that is a mean over rows: shares and the mean difference."""
    values, kept = _row_values(stat, rows.a, rows.b)
    width = 0.0 if rows.labels is None else float(rows.labels[-1] - rows.labels[0])
    bounds = STATISTICS[stat].bounds or ((-width, width) if width else None)
    if not kept.any():
        return undefined(STATISTICS[stat].undefined, rows.a.size)
    estimate = mean_estimate(values[kept], rows.users[kept], bounds, level=rows.level)
    return replace(estimate, n=rows.a.size)


def _grouped(rows: _Rows, stat: str, codes: IntArray, count: int) -> Estimate:
    """Mean over groups that have a figure, with its interval over the users of these groups."""
    owner = np.zeros(count, dtype=np.int64)
    owner[codes] = rows.users
    if (owner[codes] != rows.users).any():
        raise ValueError("a group must lie within one user")
    if stat in GROUPED:
        turns = (1, -1) if rows.mirrored else (1,)
        a, b = (np.concatenate([turn * side for turn in turns]) for side in (rows.a, rows.b))
        values = GROUPED[stat](a, b, np.tile(codes, len(turns)), count)
        values[np.bincount(codes, minlength=count) < 2] = np.nan
    else:
        table = _table(rows.a, rows.b, codes, count, rows.labels, mirrored=rows.mirrored)
        values = table.figures(stat, table.weights)
    some = ~np.isnan(values)
    n, left_out = rows.a.size, int(count - some.sum())
    if not some.any():
        lone = stat in GROUPED and n == count
        reason = f"undefined in every group: {TOO_FEW if lone else STATISTICS[stat].undefined}"
        return Estimate(None, None, None, n, count, left_out, reason)
    limits = STATISTICS[stat].limits
    if limits is None or limits == SHARE:
        found = mean_estimate(values[some], owner[some], limits, level=rows.level)
        ends = Interval(found.ci_low, found.ci_high, found.note)
    else:
        of_user, users = encode(owner[some])
        sums = sums_by_user(np.stack([values[some], np.ones(int(some.sum()))]), of_user, users)
        ends = jackknife(sums, lambda s: ratio(s[:, 0], s[:, 1]), FISHER, rows.level)
    return Estimate(float(values[some].mean()), ends.low, ends.high, n, count, left_out, ends.note)


class RatedPair(NamedTuple):
    """The values of two raters, or of a run and the truth, on the same cases (n,), and the users of these."""

    a: FloatArray
    b: FloatArray
    users: IntArray


def pairs_interval(
    pairs: Sequence[RatedPair], labels: Sequence[float] | None, stat: str, *, mirrored: bool = False
) -> Interval:
    """The interval of the mean of a statistic over pairs of raters, weighted by their cases; every pair must have a value.
    Each user is left out of all pairs at once. None, with the reason, as for a statistic of two raters."""
    codes, count = encode(np.concatenate([pair.users for pair in pairs]))
    a, b = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    if reason := _withheld(stat, np.stack([a, b]), codes, codes[a != b]):
        return Interval(None, None, reason)
    known = None if labels is None else label_array(labels)
    if len(pairs) == 1 or stat in ("percent", "bias"):
        # of one pair, or a mean over all rows: as of two raters
        rows = _Rows(a, b, codes, count, known, LEVEL, mirrored)
        found = _of_rows(rows, stat) if stat in _MEANS else _overall(rows, rows.table(), stat)
        return Interval(found.ci_low, found.ci_high, found.note)
    owners = np.split(codes, np.cumsum([pair.users.size for pair in pairs])[:-1])
    tables = [
        _table(pair.a, pair.b, owner, count, known, mirrored=mirrored)
        for pair, owner in zip(pairs, owners, strict=True)
    ]
    if stat == "kendall" and max(table.cells.a.size for table in tables) > _KENDALL_CELLS:
        return Interval(None, None, MANY_CELLS)

    def mean(sides: list[FloatArray]) -> FloatArray:
        values = [table.figures(stat, w) for table, w in zip(tables, sides, strict=True)]
        size = np.stack([w.sum(axis=1) for w in sides])
        return ratio((size * np.stack(values)).sum(axis=0), size.sum(axis=0))

    limits = STATISTICS[stat].limits
    return _jackknifed(tables, mean, Scale.between(SHARE) if limits == SHARE else FISHER)


@dataclass(frozen=True)
class Change:
    """A figure of the later and of the earlier run on the same cases, and later - earlier with its interval."""

    later: float | None
    earlier: float | None
    change: Estimate


def agreement_change(
    later: RatedPair,
    earlier: RatedPair,
    labels: npt.ArrayLike | None,
    stat: str,
    *,
    mirrored: bool = False,
    level: float = LEVEL,
) -> Change:
    """stat(later, truth) - stat(earlier, truth), on rows where value and truth are known; the two runs may have
    different rows. Each user is left out of both figures at once, so that what is common to both runs cancels.
    `labels`, `mirrored`: as in `agreement_estimates`. Undefined, with the reason, if either figure is. Raises
    KeyError for an unknown statistic, ValueError for unpaired input."""
    sides = [complete(side.a, side.b) for side in (later, earlier)]
    n = min(int(kept.sum()) for _, _, kept in sides)
    if n == 0:
        return Change(None, None, undefined("no case on which both runs and the truth have a verdict"))
    owners = [rows_of(side.users, kept) for side, (_, _, kept) in zip((later, earlier), sides, strict=True)]
    codes, count = encode(np.concatenate(owners))
    known = None if labels is None else label_array(labels)
    tables, values = [], []
    for run, (a, b, _), owner in zip(
        ("later", "earlier"), sides, np.split(codes, [owners[0].size]), strict=True
    ):
        rows = _Rows(a, b, owner, count, known, level, mirrored)
        tables.append(rows.table())
        reason = _blocked(stat, rows)
        value = None if reason else none_if_nan(float(tables[-1].figures(stat, tables[-1].total)[0]))
        values.append((value, f"undefined for the {run} run: {reason or STATISTICS[stat].undefined}"))
    (now, why_now), (before, why_before) = values
    if now is None or before is None:
        return Change(now, before, undefined(why_now if now is None else why_before, n))

    def change(sides: list[FloatArray]) -> FloatArray:
        one, other = (table.figures(stat, w) for table, w in zip(tables, sides, strict=True))
        return one - other

    limits = STATISTICS[stat].bounds
    scale = IDENTITY if limits is None else Scale.between((limits[0] - limits[1], limits[1] - limits[0]))
    found = _jackknifed(tables, change, scale, level)
    return Change(now, before, Estimate(now - before, found.low, found.high, n, note=found.note))


def mean_change(
    new: npt.ArrayLike, old: npt.ArrayLike, users: Ids, bounds: Bounds | None = None, *, level: float = LEVEL
) -> Change:
    """mean(new) - mean(old) on rows where both have a value: the mean of the differences. `bounds`: the lowest and
    the highest value of a row. Undefined without such rows. Raises ValueError for unpaired input."""
    a, b, kept = complete(new, old)
    if a.size == 0:
        return Change(None, None, undefined("no case that both runs were asked about"))
    between = None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])
    change = mean_estimate(a - b, rows_of(users, kept), between, level=level)
    return Change(float(a.mean()), float(b.mean()), change)


# ---- marks and labels against a reference -----------------------------------------------------------------------------


def detection_estimates(marked: npt.ArrayLike, reference: npt.ArrayLike, users: Ids) -> dict[str, Estimate]:
    """`precision`, `recall`, `f1` and `kappa` of the marks of one rater against a reference, one row per thing (n,).
    precision = both / marked, recall = both / reference, F1 = 2 both / (marked + reference) (van Rijsbergen 1979); n counts
    the rows divided by, for F1 those that either marked. Undefined with the reason where that is 0. Raises ValueError for
    values other than 0 and 1, or unpaired rows."""
    a, b = (np.asarray(values, dtype=np.float64) for values in (marked, reference))
    if a.shape != b.shape:
        raise ValueError(f"the two raters have {a.size} and {b.size} rows; they must be paired")
    if not (np.isin(a, (0.0, 1.0)).all() and np.isin(b, (0.0, 1.0)).all()):
        raise ValueError("a mark is 0 or 1")
    kappa = agreement_estimates(a, b, users, (0.0, 1.0), ("kappa",))["kappa"]
    if a.size and np.unique([a, b]).size == 1:
        what = "everything" if a[0] else "nothing"
        kappa = undefined(f"both marked {what}, so no disagreement is expected by chance", kappa.n)
    reasons = (
        "the first rater marked nothing",
        "the reference marked nothing",
        "neither rater marked anything",
    )
    return _overlap(a == 1, b == 1, users, reasons) | {"kappa": kappa}


def _overlap(by_a: BoolArray, by_b: BoolArray, users: Ids, reasons: Sequence[str]) -> dict[str, Estimate]:
    """Precision, recall and F1 from masks (n,) of the rows that each rater marked. F1 rises with J = both / either, as
    2 J / (1 + J), so its interval is that of the share J."""
    either, both = by_a | by_b, by_a & by_b
    masks = {"precision": by_a, "recall": by_b, "f1": either}
    out = {}
    for (name, mask), reason in zip(masks.items(), reasons, strict=True):
        share = share_estimate(both[mask], rows_of(users, mask))
        out[name] = share if mask.any() else undefined(reason)
    f1 = out["f1"]
    dice = [None if j is None else 2 * j / (1 + j) for j in (f1.value, f1.ci_low, f1.ci_high)]
    return out | {"f1": replace(f1, value=dice[0], ci_low=dice[1], ci_high=dice[2])}


LABEL_STATISTICS = ("precision", "recall", "f1")
AVERAGES = ("macro", "weighted")
_NEVER = (
    "the rater never gave this label",
    "the reference never gave this label",
    "neither rater gave this label",
)


class LabelScores(NamedTuple):
    """LABEL_STATISTICS by label, and by the name of the average."""

    by_label: dict[float, dict[str, Estimate]]
    averages: dict[str, dict[str, Estimate]]


def label_scores(
    a: npt.ArrayLike, reference: npt.ArrayLike, users: Ids, labels: npt.ArrayLike
) -> LabelScores:
    """How well the labels `a` (n,) match those of a reference (n,), with intervals over users; NaN rows are left out. Of
    label k: precision = rows where both gave k / rows where `a` did, recall = both / the reference's, F1 = 2 both / the sum
    of the two. `macro`: the mean over labels; `weighted`: by the reference's rows of each. A label without a value is left
    out of both means and named in the note. As scikit-learn with `zero_division=nan`, but weighted precision is undefined
    if `a` gave none of the reference's labels. Raises ValueError for a value outside the label set, or unpaired rows."""
    left, right, kept = complete(a, reference)
    owner, known = rows_of(users, kept), label_array(labels)
    _check_labels(np.concatenate([left, right]), known)
    by_label = {float(label): _overlap(left == label, right == label, owner, _NEVER) for label in known}
    if left.size == 0:
        nothing = dict.fromkeys(LABEL_STATISTICS, undefined(NO_ROWS))
        return LabelScores(by_label, dict.fromkeys(AVERAGES, nothing))
    codes, count = encode(owner)
    mine, true = ((side[:, None] == known).astype(np.float64) for side in (left, right))
    per_user = sums_by_user(np.concatenate([mine * true, mine, true], axis=1).T, codes, count)
    averages = {
        average: {stat: _average(per_user, left.size, stat, average) for stat in LABEL_STATISTICS}
        for average in AVERAGES
    }
    return LabelScores(by_label, averages)


def _average(per_user: FloatArray, n: int, stat: str, average: str) -> Estimate:
    """An average over labels from each user's rows where both, the rater, the reference gave a label (users, 3 labels)."""

    def below(given: FloatArray, true: FloatArray) -> FloatArray:
        return {"precision": given, "recall": true, "f1": (given + true) / 2}[stat]

    def mean(sums: FloatArray) -> FloatArray:
        both, given, true = np.split(sums, 3, axis=1)
        values = ratio(both, below(given, true))
        weights = np.where(np.isnan(values), 0.0, true if average == "weighted" else 1.0)
        return ratio((np.nan_to_num(values) * weights).sum(axis=1), weights.sum(axis=1))

    whole = per_user.sum(axis=0)
    value = float(mean(whole[None, :])[0])
    if np.isnan(value):
        return undefined("the rater never gave a label of the reference", n)
    _, given, true = np.split(whole, 3)
    empty = below(given, true) == 0
    left_out = empty & (true > 0) if average == "weighted" else empty
    note = f"over {empty.size - int(left_out.sum())} of {empty.size} labels" if left_out.any() else ""
    users = (below(*np.split(per_user, 3, axis=1)[1:]) > 0).sum(axis=0)
    if average == "macro" and (users[given + true > 0] < FEWEST_VARIED).any():
        return Estimate(value, None, None, n, note=join_notes(FEW_PER_LABEL, note))
    ends = share_interval(value, mean(whole - per_user), n)
    return Estimate(value, ends.low, ends.high, n, note=join_notes(ends.note, note))


# ---- any number of raters ---------------------------------------------------------------------------------------------


def many_raters_estimates(
    values: npt.ArrayLike,
    items: Ids,
    users: Ids,
    labels: npt.ArrayLike,
    stats: Sequence[str] = tuple(MANY_RATERS),
    *,
    mirrored: bool = False,
) -> dict[str, Estimate]:
    """MANY_RATERS of ratings (n,), one row per rater and item; NaN rows are left out, n counts items with two ratings.
    `users` (n,) are those of the items; intervals as in `agreement_estimates`. `labels`: the label set, rising. `mirrored`:
    signed preferences without a first side: each item counts half as it is and half negated. Alpha (Krippendorff 2011)
    leaves out items with one rating; Fleiss' kappa (1971) and AC1, AC2 (Gwet 2014, chapters 2 to 5) take the agreement from
    items with two ratings or more, the shares of labels from all. Raises KeyError for an unknown statistic, ValueError for
    a value outside the label set or an item of two users."""
    for stat in stats:
        if stat not in MANY_RATERS:
            raise KeyError(f"unknown statistic {stat!r}; there are {', '.join(MANY_RATERS)}")
    ratings, known = as_floats(values), label_array(labels)
    kept = ~np.isnan(ratings)
    ratings = ratings[kept]
    _check_labels(ratings, known)
    item, item_count = encode(rows_of(items, kept))
    user, user_count = encode(rows_of(users, kept))
    owner = np.zeros(item_count, dtype=np.int64)
    owner[item] = user
    if (owner[item] != user).any():
        raise ValueError("an item must belong to one user")
    flat = np.bincount(item * known.size + np.searchsorted(known, ratings), minlength=item_count * known.size)
    counts = flat.reshape(item_count, known.size).astype(np.float64)
    n = int((counts.sum(axis=1) >= 2).sum())
    if n == 0:
        return {stat: undefined(NO_ITEM) for stat in stats}
    per_user = sums_by_user(_columns(counts, known, mirrored), owner, user_count)
    disagreeing = owner[(counts > 0).sum(axis=1) > 1]
    out = {}
    for stat in stats:
        value = float(_of_sums(stat, per_user.sum(axis=0)[None, :], known)[0])
        if np.isnan(value):
            out[stat] = undefined(MANY_RATERS[stat].undefined, n)
            continue
        reason = _withheld(stat, ratings[None, :], user, disagreeing)
        ends = Interval(None, None, reason)
        if not reason:
            ends = jackknife(per_user, partial(_of_sums, stat, labels=known), FISHER)
        out[stat] = Estimate(value, ends.low, ends.high, n, note=ends.note)
    return out


def _columns(counts: FloatArray, labels: FloatArray, mirrored: bool) -> FloatArray:
    """The sums over items that all statistics need, as terms of each item (columns, items), from its counts of labels
    (items, q): ordered pairs of ratings by label over the ratings less 1 (Krippendorff's coincidences, q²), the same over
    the number of pairs, so that an item counts as 1 (q²), the shares of labels (q), and 1."""
    if mirrored:
        if not np.array_equal(labels, -labels[::-1]):
            raise ValueError("labels without a first side need the mirror of each label")
        return (_columns(counts, labels, False) + _columns(counts[:, ::-1], labels, False)) / 2
    ratings = counts.sum(axis=1)[:, None]
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(labels.size)
    coincidences = pairs.reshape(counts.shape[0], -1) / np.maximum(ratings - 1, 1)
    return np.concatenate(
        [coincidences, coincidences / ratings, counts / ratings, np.ones_like(ratings)], axis=1
    ).T


def _of_sums(stat: str, sums: FloatArray, labels: FloatArray) -> FloatArray:
    """A statistic (m,) of MANY_RATERS from the sums of `_columns` (m, 2 q² + q + 1)."""
    q = labels.size
    coincidences, pairs, shares, items = np.split(sums, [q * q, 2 * q * q, 2 * q * q + q], axis=1)
    square = (len(sums), q, q)
    if stat.startswith("alpha"):
        coincidences = coincidences.reshape(square)
        totals = coincidences.sum(axis=2)
        places = labels[None, :] if stat == "alpha_interval" else np.cumsum(totals, axis=1) - totals / 2
        distances = (places[:, :, None] - places[:, None, :]) ** 2
        if stat == "alpha_nominal":
            distances = (labels[:, None] != labels).astype(np.float64)[None]
        n = totals.sum(axis=1)
        expected = (totals[:, :, None] * totals[:, None, :] * distances).sum(axis=(1, 2))
        return 1 - ratio((coincidences * distances).sum(axis=(1, 2)) * (n - 1), expected)
    cost = _cost(labels, _POWERS.get(stat.partition("_")[2], 2 if stat == "ac2" else 0))
    observed = ratio((pairs.reshape(square) * cost).sum(axis=(1, 2)), pairs.sum(axis=1))
    shares = ratio(shares, items)
    if stat.startswith("fleiss"):
        expected = ((shares @ cost) * shares).sum(axis=1)
        return 1 - ratio(observed, np.where(_varied(shares), expected, 0.0))
    return _beyond_gwets_chance(observed, shares, cost)


# of the name of a statistic of many raters
_POWERS = {"linear": 1, "quadratic": 2, "ordinal": math.nan}


# ---- two figures over the same few systems ----------------------------------------------------------------------------

FEWEST = 3
# up to this many systems all orders are counted, above it some are drawn
_ENUMERATED, _DRAWN = 8, 9999
_ROUNDING = 1e-9
Figures = Sequence[float | None]


class Association(NamedTuple):
    """Pearson's r over `n` systems with its two-sided permutation p, or None with the reason in `note`. `p_normal`:
    Student's p, as papers print it."""

    value: float | None
    p: float | None
    p_normal: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    note: str = ""


def association(a: Figures, b: Figures) -> Association:
    """Pearson's r of two figures over the systems that have both. p: permutation test (Pitman 1937), the share of all ways
    to assign the second figure to the systems in which r is at least as far from 0; above 8 systems 9,999 random ones.
    `p_normal`: Student's t with n - 2 degrees of freedom. Interval, from four systems on and where |r| < 1: Fisher (1915),
    z ± z(1 - a/2) / sqrt(n - 3). Undefined with fewer than three systems, or if one figure never varies. Raises ValueError
    unless both sides have one figure per system."""
    pairs = _both(a, b)
    n = len(pairs)
    if n < FEWEST:
        have = "1 system has" if n == 1 else f"{n} systems have"
        return Association(None, None, None, None, None, n, f"{have} both figures: three are needed")
    r = figure("pearson", *zip(*pairs, strict=True))
    if r is None:
        note = "one of the two figures is the same for all systems"
        return Association(None, None, None, None, None, n, note)
    from scipy.special import stdtr

    slack = 1 - r * r
    p_normal = 0.0 if slack <= 0 else float(2 * stdtr(n - 2, -abs(r) * math.sqrt((n - 2) / slack)))
    low = high = None
    if n > 3 and slack > _ROUNDING:
        half = NormalDist().inv_cdf(0.5 + LEVEL / 2) / math.sqrt(n - 3)
        low, high = math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)
    # in an order that depends on the values alone
    ordered = np.array(sorted(pairs))
    first, second = (ordered - ordered.mean(axis=0)).T
    sums = np.abs(second[_assignments(n)] @ first)
    # the same sum in another order differs in its last digits
    seen = abs(float(first @ second)) - _ROUNDING * float(np.linalg.norm(first) * np.linalg.norm(second))
    return Association(r, float((sums >= seen).mean()), p_normal, low, high, n)


@lru_cache(maxsize=4)
def _assignments(n: int) -> npt.NDArray[np.int32]:
    """All orders of n systems, or the given one and random ones (orders, n)."""
    if n <= _ENUMERATED:
        return np.array(list(permutations(range(n))), dtype=np.int32)
    given = np.arange(n, dtype=np.int32)
    drawn = np.random.default_rng(0).permuted(np.tile(given, (_DRAWN, 1)), axis=1)
    return np.concatenate([given[None, :], drawn])


def orders_agree(a: Figures, b: Figures) -> bool | None:
    """Whether both figures rank the systems that have both in the same order; equal figures share a rank. None with
    fewer than two systems."""
    pairs = _both(a, b)
    if len(pairs) < 2:
        return None
    left, right = zip(*pairs, strict=True)
    return ranks(left) == ranks(right)


def _both(a: Figures, b: Figures) -> list[tuple[float, float]]:
    return [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]


def min_max(values: Figures) -> list[float | None]:
    """Each figure rescaled so that the lowest is 0 and the highest 1. None stays None; all are None if fewer than
    three are known or all known ones are equal."""
    known = np.array([value for value in values if value is not None])
    if known.size < FEWEST or known.min() == known.max():
        return [None] * len(values)
    low, width = float(known.min()), float(known.max() - known.min())
    return [None if value is None else (value - low) / width for value in values]
