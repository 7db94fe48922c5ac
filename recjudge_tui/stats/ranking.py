"""Systems ranked by wins, ties and losses: Q, win rate, and the strengths of Bradley and Terry with Davidson's ties.

An outcome is seen from the first system of its row: 1 win, 0 tie, -1 loss, NaN failed (left out).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, groupby, pairwise, product
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import BoolArray, FloatArray, Ids, IntArray, as_floats, encode, ratio, rows_of
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.stats.estimate import Interval
from recjudge_tui.stats.hypotheses import Pair, PairTest, adjusted, direct_test, holm, users_needed
from recjudge_tui.stats.intervals import ALL_EQUAL, ONE_USER, SHARE, UserSums, ratios, t_quantile

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Ties = Literal["davidson", "half"]
CountTies = Literal["win", "half", "none"]
Figure = Literal["q", "win_rate"]
SCALE = 400 / math.log(10)
MEAN = 1000.0
# with fewer users the sandwich variance is too small: neighbours are then tested by their direct battles
FEWEST_USERS = 10
_MOST_CELLS = 4_000_000
# the condition number of an information that tells parameters apart; an error in points that is a rounding error
_SINGULAR, _NO_ERROR = 1e12, 1e-9 * MEAN
NEVER_LOST = "never lost or tied: Q is not finite"
NO_CASES = "no cases"
ALL_TIES = "only ties, which are not counted"
NEVER_MET = "never compared, not even through other systems"
NO_PREFERENCE = "no user prefers either of them"
CONTRARY = "the lower one is ahead over all battles"
NO_VERDICTS = "no verdicts: no rating"
WON_ALL = "only won: no finite rating"
LOST_ALL = "only lost: no finite rating"
ABOVE = "no rated system beat it, even through others: no finite rating"
BELOW = "it beat no rated system, even through others: no finite rating"
APART = "not connected to the largest set of systems, even through others: no common rating"
EQUAL_ISLANDS = (
    "no rating: two equally large sets of systems never met, even through others, so neither is preferred"
)
EQUAL_SETS = (
    "no rating: another equally large set of systems cannot be rated with this one, so neither is preferred"
)
ONE_WAY = "all results go one way: no finite rating"
_NO_FIT = "Davidson's model has no finite fit (counting ties as half-wins gives one)"
TIES_ONLY = f"every verdict is a tie: {_NO_FIT}"
SEPARATED = "no rating: the controls alone decide who wins"
ENTANGLED = "no rating: the controls cannot be told from each other, or from the systems"
FEW_USERS = f"no interval: it needs at least {FEWEST_USERS} users"
TIES_CARRY = f"too few wins among many ties: {_NO_FIT}"


# ---- counts -----------------------------------------------------------------------------------------------------------


def tally(outcomes: npt.ArrayLike) -> dict[str, int]:
    """The numbers of `wins`, `ties`, `losses` and `failed` outcomes (1, 0, -1 and NaN), and `n` without failed ones. Raises
    ValueError for any other value."""
    array = as_floats(outcomes)
    wins, ties, losses = (int((array == value).sum()) for value in (1, 0, -1))
    failed, n = int(np.isnan(array).sum()), wins + ties + losses
    if n + failed != array.size:
        raise ValueError("an outcome is 1 (win), 0 (tie), -1 (loss) or missing")
    return {"wins": wins, "ties": ties, "losses": losses, "failed": failed, "n": n}


def _win_rate_parts(count_ties: CountTies) -> FloatArray:
    """What a win, a tie and a loss add above and below the line (2, 3)."""
    tie = {"win": (1.0, 1.0), "half": (0.5, 1.0), "none": (0.0, 0.0)}[count_ties]
    return np.array([[1.0, tie[0], 0.0], [1.0, tie[1], 1.0]])


# of s = (wins + ties) / (wins + 2 ties + losses), of which Q is s / (1 - s)
_Q_PARTS = np.array([[1.0, 1.0, 0.0], [1.0, 2.0, 1.0]])


def q_of(counts: FloatArray) -> FloatArray:
    """Q = (wins + ties) / (losses + ties) of counts or shares (..., 3), NaN if it is not finite: never lost or tied.
    Above 1 if the system wins more than it loses. Source: RecSys Arena."""
    return ratio(counts[..., 0] + counts[..., 1], counts[..., 2] + counts[..., 1])


def win_rate_of(counts: FloatArray, count_ties: CountTies = "half") -> FloatArray:
    """Wins over n of counts (..., 3), 0..1: a tie counts as half a win, as a win, or not at all (then neither in n). NaN
    without cases."""
    above, below = np.moveaxis(counts @ _win_rate_parts(count_ties).T, -1, 0)
    return ratio(above, below)


def ranks(scores: Sequence[float | None]) -> list[int | None]:
    """Places from 1 for the highest score; equal scores share a place and the next is skipped (1, 2, 2, 4). A score
    of None has no place."""
    known = sorted((score for score in scores if score is not None), reverse=True)
    return [None if score is None else known.index(score) + 1 for score in scores]


@dataclass(frozen=True)
class PairCounts:
    """The outcomes of each pair of systems that met: `counts` (pairs, 3) are wins, ties and losses of the system `first`,
    which has the lower number; `systems` is the number of systems."""

    systems: int
    first: IntArray
    second: IntArray
    counts: FloatArray

    def tallies(self) -> FloatArray:
        """Wins, ties and losses (systems, 3) of each system against all others."""
        out = np.zeros((self.systems, 3))
        np.add.at(out, self.first, self.counts)
        np.add.at(out, self.second, self.counts[:, ::-1])
        return out

    def among(self, members: IntArray) -> PairCounts:
        """The pairs among `members`, renumbered in the order of `members`."""
        number = np.full(self.systems, -1, dtype=np.int64)
        number[members] = np.arange(members.size)
        first, second = number[self.first], number[self.second]
        kept = (first >= 0) & (second >= 0)
        return PairCounts(members.size, first[kept], second[kept], self.counts[kept])


@dataclass(frozen=True)
class UserCounts:
    """The same counts for each user: `rows` (users, pairs * 3) is sparse."""

    total: PairCounts
    rows: csr_matrix

    @property
    def count(self) -> int:
        """The number of users."""
        return int(self.rows.shape[0])

    def of_systems(self) -> tuple[FloatArray, IntArray, IntArray]:
        """Wins, ties and losses (cells, 3) of each system with each user who judged it, the user and the system (cells,)."""
        table = self.rows.tocoo()
        pair, result = table.col.astype(np.int64) // 3, table.col % 3
        total = self.total
        system = np.concatenate([total.first[pair], total.second[pair]])
        user = np.concatenate([table.row, table.row]).astype(np.int64)
        return _cells(
            user, system, np.concatenate([result, 2 - result]), np.tile(table.data, 2), total.systems
        )

    def of_pairs(self) -> tuple[FloatArray, IntArray, IntArray]:
        """The same of each pair, from the view of its first system."""
        table = self.rows.tocoo()
        pair, user = table.col.astype(np.int64) // 3, table.row.astype(np.int64)
        return _cells(user, pair, table.col % 3, table.data, self.total.first.size)

    @cached_property
    def users_of_systems(self) -> IntArray:
        """How many users judged each system (systems,)."""
        return np.bincount(self.of_systems()[2], minlength=self.total.systems)

    @cached_property
    def users_of_pairs(self) -> IntArray:
        """How many users judged each pair (pairs,)."""
        return np.bincount(self.of_pairs()[2], minlength=self.total.first.size)

    @cached_property
    def covariances(self) -> dict[Ties, tuple[FloatArray, int]]:
        """What `rating_covariance` found, for the ranking and its tests."""
        return {}


def _cells(
    user: IntArray, thing: IntArray, result: npt.NDArray[np.integer], data: FloatArray, things: int
) -> tuple[FloatArray, IntArray, IntArray]:
    cell, count = encode(user * max(things, 1) + thing)
    record = np.bincount(cell * 3 + result, weights=data, minlength=count * 3).reshape(count, 3)
    owner, of = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    owner[cell], of[cell] = user, thing
    return record.astype(np.float64), owner, of


def user_counts(
    a: npt.ArrayLike, b: npt.ArrayLike, outcome: npt.ArrayLike, users: Ids, systems: int
) -> UserCounts:
    """Counts by pair and user from one row per battle; `a` and `b` are numbers of systems, 0..systems-1. Raises
    ValueError for a system against itself, a number out of range, or an outcome other than 1, 0, -1."""
    from scipy.sparse import csr_matrix

    left, right, value = np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64), as_floats(outcome)
    if not left.shape == right.shape == value.shape:
        raise ValueError(f"{left.size} and {right.size} systems for {value.size} outcomes")
    kept = ~np.isnan(value)
    left, right, value = left[kept], right[kept], value[kept]
    if (left == right).any():
        raise ValueError("a system cannot be compared with itself")
    if left.size and (min(left.min(), right.min()) < 0 or max(left.max(), right.max()) >= systems):
        raise ValueError(f"a system's number lies between 0 and {systems - 1}")
    if not np.isin(value, (1, 0, -1)).all():
        raise ValueError("an outcome is 1 (win), 0 (tie), -1 (loss) or missing")
    signed = value.astype(np.int64)
    cell = np.minimum(left, right) * systems + np.maximum(left, right)
    result = np.where(left < right, 1 - signed, 1 + signed)
    grid = np.bincount(cell * 3 + result, minlength=systems * systems * 3).reshape(-1, 3)
    met = np.flatnonzero(grid.any(axis=1))
    total = PairCounts(systems, met // systems, met % systems, grid[met].astype(np.float64))
    place = np.zeros(systems * systems, dtype=np.int64)
    place[met] = np.arange(met.size)
    codes, count = encode(rows_of(users, kept))
    table = csr_matrix((np.ones(cell.size), (codes, place[cell] * 3 + result)), shape=(count, 3 * met.size))
    table.sum_duplicates()
    return UserCounts(total, table)


# ---- Q and win rates --------------------------------------------------------------------------------------------------


def system_intervals(users: UserCounts, figure: Figure, count_ties: CountTies) -> list[Interval]:
    """The interval of each system's Q or win rate against all its opponents, over the users who judged it."""
    record, _, system = users.of_systems()
    return _intervals(record, system, users.total.systems, figure, count_ties)


def pair_intervals(
    users: UserCounts, figure: Figure, count_ties: CountTies = "half"
) -> list[tuple[Interval, Interval]]:
    """The interval of each pair's figure, seen from the pair's first and from its second system."""
    record, _, pair = users.of_pairs()
    pairs = users.total.first.size
    sides = (_intervals(side, pair, pairs, figure, count_ties) for side in (record, record[:, ::-1]))
    return list(zip(*sides, strict=True))


def _intervals(
    record: FloatArray, thing: IntArray, things: int, figure: Figure, count_ties: CountTies
) -> list[Interval]:
    above, below = (_Q_PARTS if figure == "q" else _win_rate_parts(count_ties)) @ record.T
    some = below > 0
    shares = ratios(UserSums(above[some], below[some], below[some], thing[some]), things, SHARE)
    intervals = []
    for share in shares:
        low, high, note = share.ci_low, share.ci_high, share.note
        if figure == "q" and low is not None and high is not None:
            # Q = s / (1 - s)
            lost = high <= 1 - 1e-9
            low, high = (low / (1 - low), high / (1 - high)) if lost else (None, None)
            note = "" if lost else "no interval: never lost or tied"
        intervals.append(Interval(low, high, note))
    return intervals


# ---- which systems can be rated ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Connectivity:
    """`rated`: the largest set of systems (numbers) that can be rated together. `notes`: why a system cannot be
    rated, "" for the rated ones. `above[i, j]`: i certainly ranks above j, at no finite distance. `joined`: whether a
    system belongs to the largest set connected by battles, the only one that is ranked."""

    rated: IntArray
    notes: tuple[str, ...]
    above: BoolArray
    joined: BoolArray

    def places(self, rating: FloatArray) -> list[int | None]:
        """Ranks from 1 by `rating` (systems,; NaN if there is none), and by `above` where it decides. None for a
        system outside the largest connected set, or that cannot be compared with another system in it. Ratings equal
        within 1e-6 share a place."""
        known = ~np.isnan(rating)
        rounded = np.round(np.where(known, rating, 0.0), 6)
        both = known[:, None] & known[None, :]
        higher = self.above | (both & (rounded[:, None] > rounded[None, :]))
        comparable = higher | higher.T | (both & ~higher) | np.eye(rating.size, dtype=np.bool_) | ~self.joined
        placed = self.joined & comparable.all(axis=1)
        return [int(n) + 1 if ok else None for n, ok in zip(higher.sum(axis=0), placed, strict=True)]


def connectivity(pairs: PairCounts, ties: Ties = "davidson") -> Connectivity:
    """Which systems can be rated; a tie connects both ways. The maximum of the likelihood is finite if and only if every
    system beat every other one, directly or through others (Ford 1957). Only the largest set that met is ranked, and in it
    the largest strongly connected set rated; of equal sets the one with more battles, or none. With Davidson's ties it must
    also hold a cycle of results in which wins outnumber ties."""
    from scipy.sparse.csgraph import connected_components

    beats = np.zeros((pairs.systems, pairs.systems), dtype=np.bool_)
    wins, drawn, losses = (pairs.counts > 0).T
    beats[pairs.first, pairs.second], beats[pairs.second, pairs.first] = wins | drawn, losses | drawn
    reach = beats.copy()
    for middle in range(pairs.systems):
        reach |= reach[:, middle, None] & reach[None, middle, :]
    met = pairs.tallies()
    _, weak = connected_components(beats, directed=True, connection="weak")
    islands = _largest(np.bincount(weak), np.bincount(weak, weights=met.sum(axis=1)))
    joined: BoolArray = np.isin(weak, islands[:1] if len(islands) == 1 else []) & met.any(axis=1)
    _, strong = connected_components(beats, directed=True, connection="strong")
    sizes = np.bincount(strong, weights=joined).astype(np.int64)
    largest = _largest(sizes, np.bincount(strong, weights=met.sum(axis=1)))
    found = len(largest) == 1 and sizes[largest[0]] > 1
    core = np.flatnonzero(strong == largest[0]) if found else largest[:0]
    rivals = np.isin(strong, largest) & (len(largest) > 1) & (sizes[strong] > 1)
    trouble = _unbounded(pairs.among(core)) if core.size and ties == "davidson" else ""
    inside = set(core.tolist())
    notes = tuple(
        trouble if system in inside
        else EQUAL_SETS if rivals[system]
        else _reason(system, met[system], reach, joined, core)
        for system in range(pairs.systems)
    )  # fmt: skip
    return Connectivity(core[:0] if trouble else core, notes, reach & ~reach.T, joined)


def _reason(system: int, met: FloatArray, reach: BoolArray, joined: BoolArray, core: IntArray) -> str:
    wins, ties, losses = met
    if not met.any():
        return NO_VERDICTS
    if not joined[system]:
        return APART if joined.any() else EQUAL_ISLANDS
    if ties == 0 and losses == 0:
        return WON_ALL
    if ties == 0 and wins == 0:
        return LOST_ALL
    if core.size and reach[system, core[0]]:
        return ABOVE
    return BELOW if core.size and reach[core[0], system] else ONE_WAY


def _largest(sizes: IntArray, battles: npt.NDArray[np.integer | np.floating]) -> IntArray:
    """The sets with the most systems, and of these those with the most battles; several if only names tell them apart."""
    most = np.flatnonzero(sizes == sizes.max(initial=0))
    largest: IntArray = most[battles[most] == battles[most].max(initial=0)]
    return largest


def _unbounded(pairs: PairCounts) -> str:
    """Why Davidson's likelihood has no maximum on a strongly connected set, "" if it has one. A direction (d, m) in
    which ratings and the logarithm of the tie parameter can grow without loss needs d_i - d_j >= 2m for every win of
    i over j and |d_i - d_j| <= 2m for every tie. With ties and m > 0 that is a set of difference constraints, which
    can be met if and only if no cycle of results has more wins than ties (Bellman and Ford: a negative cycle)."""
    wins, ties, losses = (pairs.counts > 0).T
    if not ties.any():
        return ""
    if not (wins | losses).any():
        return TIES_ONLY
    from scipy.sparse.csgraph import NegativeCycleError, bellman_ford

    weight = np.zeros((pairs.systems, pairs.systems))
    weight[pairs.first[ties], pairs.second[ties]] = weight[pairs.second[ties], pairs.first[ties]] = 1
    weight[pairs.first[wins], pairs.second[wins]] = -1
    weight[pairs.second[losses], pairs.first[losses]] = -1
    try:
        bellman_ford(weight, indices=[0])
    except NegativeCycleError:
        return ""
    return TIES_CARRY


# ---- Bradley and Terry ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BradleyTerry:
    """`ratings` (systems,): NaN if there is none (never outside `stats`); `connectivity.notes` gives the reason.
    `tie` is Davidson's parameter v (0 without ties; None if no system is rated, or if ties are half-wins)."""

    ratings: FloatArray
    connectivity: Connectivity
    tie: float | None
    ties: Ties

    def places(self) -> list[int | None]:
        """The place of each system from 1; a system that only won ranks above all rated ones."""
        return self.connectivity.places(self.ratings)


def bradley_terry(pairs: PairCounts, ties: Ties = "davidson") -> BradleyTerry:
    """Ratings of systems: 1000 + 400 log10 of the strength, mean 1000. Bradley and Terry (1952): i beats j with probability
    p_i / (p_i + p_j). Davidson (1970): "i wins", "tie", "j wins" have the proportions p_i : v sqrt(p_i p_j) : p_j; or a tie
    is half a win for each. Newton's method on the counts. Systems without a finite rating are left out, each with the
    reason. Raises RuntimeError if the maximum is not found, which should not happen with any data."""
    who = connectivity(pairs, ties)
    ratings = np.full(pairs.systems, np.nan)
    if not who.rated.size:
        return BradleyTerry(ratings, who, None, ties)
    model = _Model.of_pairs(pairs.among(who.rated), ties)
    at = model.maximum()
    if at is None:
        raise RuntimeError("the Bradley-Terry likelihood was not maximised")
    ratings[who.rated] = MEAN + SCALE * (at[:-1] - at[:-1].mean())
    tie = None if ties == "half" else float(math.exp(at[-1])) if model.tied else 0.0
    return BradleyTerry(ratings, who, tie, ties)


class _Model:
    """The log-likelihood of log strengths, effects of covariates, and the log tie parameter (the last of `at`). Each row of
    battles is alike: `design` (rows, k) gives d = design @ at, the log odds of winning against losing; `counts` (rows, 3)
    are its wins, ties and losses. With s = wins + ties/2 and t = ties of n battles: sum over rows of (s - n/2) d + t log v -
    n log(e^(d/2) + e^(-d/2) + v). The first `systems` columns are strengths, of which only differences matter."""

    def __init__(self, design: FloatArray, counts: FloatArray, ties: Ties, systems: int) -> None:
        wins, drawn, losses = counts.T
        self.design, self.systems, self.n = design, systems, wins + drawn + losses
        self.lead = (wins - losses) / 2
        self.drawn = drawn if ties == "davidson" else np.zeros_like(drawn)
        self.tied = bool(self.drawn.any())

    @classmethod
    def of_pairs(cls, pairs: PairCounts, ties: Ties) -> _Model:
        return cls(_sides(pairs.first, pairs.second, pairs.systems), pairs.counts, ties, pairs.systems)

    def maximum(self) -> FloatArray | None:
        """Where the likelihood is highest, by Newton's method; None if it has no finite maximum."""
        at: FloatArray = np.zeros(self.design.shape[1] + 1)
        value = self.likelihood(at)
        for _ in range(100):
            gradient, information = self.derivatives(at)
            if np.linalg.cond(information) > _SINGULAR:
                return None
            step = np.linalg.solve(information, gradient)
            longest = float(np.abs(step).max())
            step *= min(1.0, 4 / max(longest, 1e-9))
            part = 1.0
            # a step that lowers the likelihood is halved
            while (after := self.likelihood(at + part * step)) < value - 1e-9 * (
                1 + abs(value)
            ) and part > 1e-6:
                part /= 2
            at, value = at + part * step, after
            if longest < 1e-9:
                return at
        return None

    def likelihood(self, at: FloatArray) -> float:
        d = self.design @ at[:-1]
        half = np.abs(d) / 2
        tie = np.exp(at[-1] - half) if self.tied else 0.0
        spread = half + np.log1p(np.exp(-2 * half) + tie)
        return float((self.lead * d + self.drawn * at[-1] - self.n * spread).sum())

    def chances(self, at: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The probabilities (rows,) of a win and of a tie."""
        d = self.design @ at[:-1]
        half = np.abs(d) / 2
        win, loss = np.exp(d / 2 - half), np.exp(-d / 2 - half)
        tie = np.exp(at[-1] - half) if self.tied else np.zeros_like(half)
        whole = win + tie + loss
        return win / whole, tie / whole

    def weights(self, at: FloatArray) -> FloatArray:
        """What a battle of each row adds to the information: of d twice, of d and the tie, of the tie twice (3, rows)."""
        win, draw = self.chances(at)
        mean = win + draw / 2
        return np.stack([win + draw / 4 - mean * mean, draw * (0.5 - mean), draw * (1 - draw)])

    def derivatives(self, at: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The gradient (k + 1,) and the information (k + 1, k + 1)."""
        win, draw = self.chances(at)
        lead = (self.lead - self.n * (win + draw / 2 - 0.5)) @ self.design
        gradient = np.append(lead, (self.drawn - self.n * draw).sum() if self.tied else 0.0)
        own, cross, tie = self.n * self.weights(at)
        k = at.size - 1
        information = np.zeros((at.size, at.size))
        information[:k, :k] = (self.design * own[:, None]).T @ self.design
        # the mean of the strengths is fixed at 0
        information[: self.systems, : self.systems] += np.trace(information) / self.systems**2
        information[k, :k] = information[:k, k] = cross @ self.design
        information[k, k] = tie.sum() if self.tied else 1.0
        return gradient, information

    def influences(self, at: FloatArray, outcomes: csr_matrix) -> FloatArray:
        """What leaving out a user changes (users, k), from the `outcomes` (users, 3 * rows) of the users' battles: the sum
        of products over users is the covariance of the parameters but for the tie.

        The sandwich over users (Huber 1967; White 1980; Liang and Zeger 1986): the inverse of the information times the
        user's term of the gradient, times sqrt(G / (G - 1)) for G users. Where users times parameters² are no more than
        _MOST_CELLS, the information is that of the other users (Bell and McCaffrey's 2002 CR3, the one-step jackknife),
        since few users of unequal size make the plain sandwich too small."""
        from scipy.sparse import csr_matrix, hstack

        win, draw = self.chances(at)
        terms = np.zeros((self.n.size, 3, at.size))
        for place, score in enumerate((1.0, 0.5, 0.0)):
            terms[:, place, :-1] = (score - win - draw / 2)[:, None] * self.design
            terms[:, place, -1] = (place == 1) - draw if self.tied else 0.0
        gradients, information = outcomes @ terms.reshape(-1, at.size), self.derivatives(at)[1]
        count, k = outcomes.shape[0], at.size - 1
        if count * at.size**2 <= _MOST_CELLS:
            met = outcomes[:, 0::3] + outcomes[:, 1::3] + outcomes[:, 2::3]
            own, cross, tie = (met.multiply(weight).tocsr() for weight in self.weights(at))
            sides = csr_matrix(self.design)
            products = [csr_matrix(sides.multiply(self.design[:, [column]])) for column in range(k)]
            squares: csr_matrix = csr_matrix(hstack(products))
            theirs = np.zeros((count, at.size, at.size))
            theirs[:, :k, :k] = (own @ squares).toarray().reshape(count, k, k)
            theirs[:, k, :k] = theirs[:, :k, k] = cross @ self.design
            theirs[:, k, k] = np.asarray(tie.sum(axis=1)).reshape(-1)
            others = information - theirs + 1e-9 * np.eye(at.size)
            each = np.linalg.solve(others, gradients[:, :, None])[:, :k, 0]
            share = (count - 1) / count
        else:
            each = np.linalg.solve(information, gradients.T).T[:, :k]
            share = count / max(count - 1, 1)
        each[:, : self.systems] -= each[:, : self.systems].mean(axis=1, keepdims=True)
        scaled: FloatArray = math.sqrt(share) * (each - each.mean(axis=0))
        return scaled


def _sides(first: IntArray, second: IntArray, systems: int) -> FloatArray:
    """1 for the first and -1 for the second system of each row (rows, systems)."""
    return np.eye(systems)[first] - np.eye(systems)[second]


def rating_covariance(users: UserCounts, fitted: BradleyTerry) -> tuple[FloatArray, int]:
    """The covariance (rated, rated) of the ratings of the rated systems by the sandwich over users, and the number of
    these."""
    if fitted.ties in users.covariances:
        return users.covariances[fitted.ties]
    rated = fitted.connectivity.rated
    inside = np.flatnonzero(np.isin(users.total.first, rated) & np.isin(users.total.second, rated))
    model = _Model.of_pairs(users.total.among(rated), fitted.ties)
    at = np.append((fitted.ratings[rated] - MEAN) / SCALE, math.log(fitted.tie) if fitted.tie else 0.0)
    rows = users.rows[:, (inside[:, None] * 3 + np.arange(3)).reshape(-1)]
    rows = rows[np.diff(rows.indptr) > 0]
    each = SCALE * model.influences(at, rows)
    return users.covariances.setdefault(fitted.ties, (each.T @ each, rows.shape[0]))


def _wald(value: float, error: float, users: int) -> Interval:
    """Student's t with users - 1 degrees of freedom."""
    if users < FEWEST_USERS:
        return Interval(None, None, ONE_USER if users < 2 else FEW_USERS)
    if error <= _NO_ERROR:
        return Interval(None, None, ALL_EQUAL)
    half = float(t_quantile(users - 1)) * error
    return Interval(value - half, value + half)


def _wald_p(value: float, error: float, users: int) -> float | None:
    """Two-sided p of 0 by the same; None without an error."""
    from scipy.special import stdtr

    return 2 * float(stdtr(users - 1, -abs(value) / error)) if error > _NO_ERROR else None


def rating_intervals(users: UserCounts, fitted: BradleyTerry) -> list[Interval]:
    """The interval of each system's rating: Student's t with users - 1 degrees of freedom and the sandwich variance; none
    for a system without a rating."""
    out = [Interval(None, None, note) for note in fitted.connectivity.notes]
    rated = fitted.connectivity.rated
    if rated.size:
        covariance, count = rating_covariance(users, fitted)
        for system, variance in zip(rated.tolist(), np.diag(covariance).tolist(), strict=True):
            out[system] = _wald(float(fitted.ratings[system]), math.sqrt(variance), count)
    return out


# ---- which systems differ ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Neighbours:
    """Two systems next to each other in a ranking. `p` and `p_holm` are None, with the reason in `note`, if untested;
    `more` users are needed, None if they are separable or no number would help."""

    upper: int
    lower: int
    p: float | None
    p_holm: float | None
    separable: bool
    more: int | None
    note: str = ""


def pair_tests(users: UserCounts, groups: int = 1) -> dict[Pair, PairTest]:
    """The test of every pair of systems (first < second) that can be compared, Holm-adjusted over all. Two systems: sign
    flips of the users' mean outcomes. More: the contrast of their Bradley-Terry ratings (Davidson's ties, half-wins where
    these have no fit) by the sandwich over users (Wald), with Student's t. A system without a finite rating, and all with
    fewer than FEWEST_USERS users, by their direct battles as two systems are."""
    return adjusted(_direct_tests(users) if users.total.systems <= 2 else _rated_tests(users), groups)


def _direct_tests(users: UserCounts, without: frozenset[Pair] = frozenset()) -> list[PairTest]:
    record, _, pair = users.of_pairs()
    mean = (record[:, 0] - record[:, 2]) / record.sum(axis=1)
    met = zip(users.total.first.tolist(), users.total.second.tolist(), strict=True)
    by_pair = np.split(mean[np.argsort(pair, kind="stable")], np.cumsum(users.users_of_pairs)[:-1])
    return [
        direct_test(*both, lead, NO_PREFERENCE)
        for both, lead in zip(met, by_pair, strict=False)
        if both not in without
    ]


def _rated_tests(users: UserCounts) -> list[PairTest]:
    fitted = bradley_terry(users.total)
    if not fitted.connectivity.rated.size:
        fitted = bradley_terry(users.total, "half")
    rated = fitted.connectivity.rated
    if not rated.size:
        return _direct_tests(users)
    covariance, count = rating_covariance(users, fitted)
    if count < FEWEST_USERS:
        return _direct_tests(users)
    errors, tests = _contrast_errors(covariance), []
    for i, j in combinations(range(rated.size), 2):
        lead, error = float(fitted.ratings[rated[i]] - fitted.ratings[rated[j]]), float(errors[i, j])
        p = _wald_p(lead, error, count)
        note = ALL_EQUAL if p is None else ""
        tests.append(PairTest(int(rated[i]), int(rated[j]), count, lead, error, p, note=note))
    return [*tests, *_direct_tests(users, frozenset((test.first, test.second) for test in tests))]


def _contrast_errors(covariance: FloatArray) -> FloatArray:
    """The standard error of the difference of each two (k, k)."""
    variance = np.diag(covariance)
    return np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 0))


def sharing(order: Sequence[int], places: Sequence[int | None]) -> list[list[int]]:
    """The systems of a ranking, those that share a place together."""
    return [list(alike) for _, alike in groupby(order, key=lambda at: places[at])]


def beside(by_place: Sequence[Sequence[int]]) -> list[Pair]:
    """Every system of a place with every one of the next."""
    return [pair for uppers, lowers in pairwise(by_place) for pair in product(uppers, lowers)]


def neighbours(
    order: Sequence[int], tests: Mapping[Pair, PairTest], groups: int = 1, places: Sequence[int | None] = ()
) -> list[Neighbours]:
    """Each pair of neighbours in `order`, best first: those that share one of `places` are tested against all of the next
    place, and not against each other, so that no name decides who is tested. p is adjusted by Holm's method over these
    pairs. They are separable if it is below 5 % and the upper one is ahead."""
    by_place = sharing(order, places) if places else [[at] for at in order]
    pairs = [(*pair, tests.get((min(pair), max(pair)))) for pair in beside(by_place)]
    p_values = holm([test.p if test else None for _, _, test in pairs], groups)
    tested = sum(p is not None for p in p_values) * groups
    return [_compared(*pair, p, tested) for pair, p in zip(pairs, p_values, strict=True)]


def _compared(upper: int, lower: int, test: PairTest | None, p: float | None, tested: int) -> Neighbours:
    if test is None or test.p is None or p is None:
        return Neighbours(upper, lower, None, None, False, None, test.note if test else NEVER_MET)
    contrary = test.ahead(upper) < 0
    separable = p < ALPHA and not contrary
    needed = users_needed(test.lead, test.error * math.sqrt(test.users), alpha=ALPHA / tested)
    if needed is not None and test.differences is not None:
        # sign flips of n users who differ have a p of at least 2 / 2^n
        fewest = math.floor(math.log2(2 * tested / ALPHA)) + 1
        needed = max(needed, -(-fewest * test.users // test.apart))
    more = None if separable or contrary or needed is None else max(1, needed - test.users)
    return Neighbours(upper, lower, test.p, p, separable, more, CONTRARY if contrary else "")


def rank_ranges(
    order: Sequence[int], tests: Mapping[Pair, PairTest], groups: int = 1, places: Sequence[int | None] = ()
) -> dict[int, tuple[int, int]]:
    """The best and the worst rank of each system in `order` that the tests leave open, as in Chatbot Arena (Chiang et
    al. 2024): 1 + the number of systems significantly better, and k - the number significantly worse. A pair is
    significant by Holm's method over all pairs, or over the neighbours in `order`."""
    better = {
        (test.first, test.second) if test.lead > 0 else (test.second, test.first)
        for test in tests.values()
        if test.p_holm is not None and test.p_holm < ALPHA and test.lead != 0
    } | {(pair.upper, pair.lower) for pair in neighbours(order, tests, groups, places) if pair.separable}
    return {
        system: (
            1 + sum((other, system) in better for other in order),
            len(order) - sum((system, other) in better for other in order),
        )
        for system in order
    }


# ---- with what else differs held equal --------------------------------------------------------------------------------


@dataclass(frozen=True)
class ControlledRatings:
    """A Bradley-Terry model with covariates. `ratings` (systems,) with the covariates at 0, NaN with the reason in the
    interval's note; `effects` (k,) in points of the rating, NaN for one that never differs; the `intervals` of both, and
    each effect's two-sided p. `errors` (systems, systems) are those of differences of ratings, over `users`."""

    ratings: FloatArray
    intervals: list[Interval]
    effects: FloatArray
    effect_intervals: list[Interval]
    p: list[float | None]
    errors: FloatArray
    users: int = 0

    def difference_p(self, first: int, second: int) -> float | None:
        """Two-sided p of two systems' ratings being equal; None where it cannot be tested."""
        if self.users < FEWEST_USERS or np.isnan(self.errors[first, second]):
            return None
        lead = float(self.ratings[first] - self.ratings[second])
        return _wald_p(lead, float(self.errors[first, second]), self.users)


def controlled_ratings(
    first: IntArray, second: IntArray, outcomes: FloatArray, users: Ids, covariates: FloatArray, systems: int
) -> ControlledRatings:
    """Ratings with covariates x (n, k) of each battle, the first list's value less the second's: log odds of the first
    winning = (r_first - r_second) / SCALE + x b, a tie as half a win of each (style control, Chiang et al. 2024; Bradley
    and Terry 1952). `outcomes` are 1, 0 or -1; NaN, and rows with an unknown covariate, are left out. Systems without a
    finite rating, and a covariate that separates wins from losses, have none."""
    from scipy.sparse import csr_matrix

    kept = ~np.isnan(outcomes) & ~np.isnan(covariates).any(axis=1)
    met = user_counts(first[kept], second[kept], outcomes[kept], rows_of(users, kept), systems)
    connected = connectivity(met.total, "half")
    rated = connected.rated
    kept &= np.isin(first, rated) & np.isin(second, rated)
    x, place = covariates[kept], 1 - np.sign(outcomes[kept]).astype(np.int64)
    differs = (np.abs(x) > 1e-12).any(axis=0)
    never = [Interval(None, None, NO_VERDICTS if not place.size else "it never differs")] * x.shape[1]
    out = ControlledRatings(
        np.full(systems, np.nan),
        [Interval(None, None, note or NO_VERDICTS) for note in connected.notes],
        np.full(x.shape[1], np.nan),
        never,
        [None] * x.shape[1],
        np.full((systems, systems), np.nan),
    )
    if not place.size:
        return out
    a, b = (np.searchsorted(rated, side[kept]).astype(np.int64) for side in (first, second))
    design = np.concatenate([_sides(a, b, rated.size), x[:, differs]], axis=1)
    model = _Model(design, np.eye(3)[place], "half", rated.size)
    if np.linalg.cond(model.derivatives(np.zeros(design.shape[1] + 1))[1]) > _SINGULAR:
        return _without_ratings(out, ENTANGLED)
    at = model.maximum()
    if at is None:
        return _without_ratings(out, SEPARATED)
    codes, count = encode(rows_of(users, kept))
    cells = (np.ones(place.size), (codes, np.arange(place.size) * 3 + place))
    each = SCALE * model.influences(at, csr_matrix(cells, shape=(count, place.size * 3)))
    points, errors = SCALE * at[:-1], np.sqrt((each**2).sum(axis=0))
    points[: rated.size] += MEAN - points[: rated.size].mean()
    points[np.abs(points) < 1e-9] = 0.0
    ends = [_wald(value, error, count) for value, error in zip(points.tolist(), errors.tolist(), strict=True)]
    out.ratings[rated] = points[: rated.size]
    out.effects[differs] = points[rated.size :]
    ratings = each[:, : rated.size]
    out.errors[np.ix_(rated, rated)] = _contrast_errors(ratings.T @ ratings)
    for at_end, system in enumerate(rated.tolist()):
        out.intervals[system] = ends[at_end]
    for at_end, effect in enumerate(np.flatnonzero(differs).tolist(), rated.size):
        out.effect_intervals[effect] = ends[at_end]
        if ends[at_end].low is not None:
            out.p[effect] = _wald_p(float(points[at_end]), float(errors[at_end]), count)
    return replace(out, users=count)


def _without_ratings(out: ControlledRatings, reason: str) -> ControlledRatings:
    ends = Interval(None, None, reason)
    return replace(out, intervals=[ends] * out.ratings.size, effect_intervals=[ends] * out.effects.size)
