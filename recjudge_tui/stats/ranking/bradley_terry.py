"""Strengths of systems from wins, ties and losses between them: Bradley and Terry, with Davidson's ties.

Bradley and Terry (1952): i beats j with probability p_i / (p_i + p_j). Davidson (1970): with a tie
parameter v, the outcomes "i wins", "tie" and "j wins" have the proportions p_i : v sqrt(p_i p_j) : p_j. Alternatively,
a tie counts as half a win for each. The rating is 1000 + 400 log10 of the strength, with a mean of 1000 over the rated
systems: a difference of 400 points means odds of 10:1 for a win.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.stats.defaults import LEVEL
from recjudge_tui.stats.estimate import Interval
from recjudge_tui.stats.ranking.battles import PairCounts, UserCounts, incidence
from recjudge_tui.stats.ranking.connectivity import (
    Connectivity,
    Ties,
    connectivity,
    subset,
)
from recjudge_tui.stats.ranking.outcome_intervals import SAME_RECORD, records_alike
from recjudge_tui.stats.resampling.intervals import FEWEST_USERS, student_interval
from recjudge_tui.stats.resampling.jackknife import Spread, spreads
from recjudge_tui.stats.resampling.two_way import enough_raters, two_way

SCALE = 400 / math.log(10)
MEAN = 1000.0
_STEPS = 100
_LONGEST_STEP = 4.0
_CLOSE = 1e-9


@dataclass(frozen=True)
class BradleyTerry:
    """`ratings` (systems,): NaN if there is none (never outside this package); `connectivity.notes` gives the reason.

    `tie` is Davidson's parameter v (0 without ties; None if no system is rated, or if ties are half-wins).
    """

    ratings: FloatArray
    connectivity: Connectivity
    tie: float | None

    def places(self) -> list[int | None]:
        """The place of each system from 1; a system that only won ranks above all rated ones."""
        return self.connectivity.places(self.ratings)


def bradley_terry(pairs: PairCounts, ties: Ties = "davidson") -> BradleyTerry:
    """Maximise the likelihood by Newton's method on the counts; the cost does not depend on the number of battles.

    Systems without a finite rating (only won, only lost, not connected) are left out of the fit, each
    with the reason. Raises RuntimeError if the maximum is not found, which should not happen with any data.
    """
    who = connectivity(pairs, ties)
    ratings = np.full(pairs.systems, np.nan)
    if not who.rated.size:
        return BradleyTerry(ratings, who, None)
    fit = _maximum(_single(subset(pairs, who.rated)), ties)
    if not fit.converged.all():
        raise RuntimeError("the Bradley-Terry likelihood was not maximised")
    ratings[who.rated] = MEAN + SCALE * fit.theta[0]
    return BradleyTerry(ratings, who, None if ties == "half" else float(math.exp(fit.tie[0])))


def rating_intervals(
    users: UserCounts, fitted: BradleyTerry, ties: Ties, level: float = LEVEL
) -> list[Interval]:
    """The interval of each system's rating, users taken as independent; none for a system without a rating.

    A user's influence on the ratings is the inverse of the information matrix times the user's term of the gradient
    (the infinitesimal jackknife, whose variance is the sandwich estimator clustered by user: Huber 1967; Liang and
    Zeger 1986). One matrix is inverted once, so 100 systems and 10,000 battles take less than a second.
    Battles with systems that have no rating are left out, as in the fit. A system whose record is the same for every user
    has no interval (`records_alike`).
    """
    rated = fitted.connectivity.rated
    out = [Interval(None, None, note) for note in fitted.connectivity.notes]
    if not rated.size:
        return out
    by_system = _spreads(users, fitted, ties)
    if users.crowd is not None:
        of_raters, of_cells = (
            _spreads(counts, fitted, ties) for counts in (users.crowd.raters, users.crowd.cells)
        )
        by_system = [_widened(two_way(*parts)) for parts in zip(by_system, of_raters, of_cells, strict=True)]
    alike = records_alike(users)
    if users.crowd is not None:
        alike &= records_alike(users.crowd.raters)
    for system, spread in zip(rated.tolist(), by_system, strict=True):
        interval = student_interval(float(fitted.ratings[system]), spread, level)
        if alike[system] and spread.users >= FEWEST_USERS:
            interval = Interval(None, None, SAME_RECORD)
        out[system] = interval if users.crowd is None else enough_raters(users.crowd.raters.count, interval)
    return out


def _widened(spread: Spread) -> Spread:
    """The spread with its variance times G / (G - 1), G the number of the scarcer clusters.

    The influence on a fit underestimates the change from leaving a cluster out by about this factor. With users
    alone, of whom there are more, the interval is wide enough without it (benchmarks/coverage.py).
    """
    return replace(spread, variance=spread.variance * spread.users / max(spread.users - 1, 1))


def _spreads(users: UserCounts, fitted: BradleyTerry, ties: Ties) -> list[Spread]:
    """The spread of the rating of each rated system."""
    rated = fitted.connectivity.rated
    inside = np.flatnonzero(np.isin(users.total.first, rated) & np.isin(users.total.second, rated))
    inner = _single(subset(users.total, rated))
    theta = (fitted.ratings[rated] - MEAN) / SCALE
    log_tie = np.array([math.log(fitted.tie) if fitted.tie else -np.inf])
    likelihood = _Likelihood(inner, ties)
    columns = (inside[:, None] * 3 + np.arange(3)).reshape(-1)
    rows = users.rows[:, columns]
    met = np.asarray(np.diff(rows.indptr) > 0)
    rows = rows[met]
    information = likelihood.derivatives(theta[None, :], log_tie, np.zeros(1, dtype=np.int64))[1][0]
    of_outcome = np.linalg.solve(information, likelihood.outcome_gradients(theta, log_tie).T)[: rated.size]
    of_outcome = SCALE * (of_outcome - of_outcome.mean(axis=0))
    moved, squares = rows @ of_outcome.T, rows @ (of_outcome**2).T
    repeated = np.repeat(np.arange(moved.shape[0]), users.users[met])
    group = np.zeros(repeated.size, dtype=np.int64)
    battles = np.asarray(rows.sum(axis=1), dtype=np.float64).reshape(-1)[repeated]
    every = battles.sum()
    return [
        spreads(
            repeated.size * moved[repeated, place],
            group,
            np.array([MEAN]),
            battles,
            every**2 * squares[repeated, place],
        )[0]
        for place in range(rated.size)
    ]


def _single(pairs: PairCounts) -> PairCounts:
    return PairCounts(pairs.systems, pairs.first, pairs.second, pairs.counts[None])


@dataclass(frozen=True)
class _Fit:
    """Logarithms of the strengths (r, systems), mean 0, and of the tie parameter (r,); -inf without ties."""

    theta: FloatArray
    tie: FloatArray
    converged: BoolArray


class _Likelihood:
    """The log-likelihood of r sets of counts at once.

    With d = log p_i - log p_j, s = wins + ties/2 and t = ties of the first system in n battles:
    sum over pairs of (s - n/2) d + t log v - n log(e^(d/2) + e^(-d/2) + v).
    """

    def __init__(self, pairs: PairCounts, ties: Ties) -> None:
        wins, drawn, losses = (pairs.counts[..., at] for at in range(3))
        self.n = wins + drawn + losses
        self.lead = (wins - losses) / 2
        self.drawn = drawn if ties == "davidson" else np.zeros_like(drawn)
        self.first, self.second = pairs.first, pairs.second
        self.plus, self.minus = (
            incidence(pairs.systems, pairs.first),
            incidence(pairs.systems, pairs.second),
        )
        self.tied: BoolArray = np.asarray(self.drawn.any(axis=-1))

    def value(self, theta: FloatArray, tie: FloatArray, rows: IntArray) -> FloatArray:
        d = theta[:, self.first] - theta[:, self.second]
        half = np.abs(d) / 2
        spread = half + np.log1p(np.exp(-2 * half) + np.exp(tie[:, None] - half))
        known = np.where(self.tied[rows], tie, 0.0)[:, None] * self.drawn[rows]
        total: FloatArray = (self.lead[rows] * d + known - self.n[rows] * spread).sum(axis=1)
        return total

    def step(self, theta: FloatArray, tie: FloatArray, rows: IntArray) -> FloatArray:
        """Newton's step (r, systems + 1): the solution of information x step = gradient."""
        gradient, information = self.derivatives(theta, tie, rows)
        return np.linalg.solve(information, gradient[..., None])[..., 0].astype(np.float64, copy=False)

    def derivatives(
        self, theta: FloatArray, tie: FloatArray, rows: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """The gradient (r, systems + 1) and the information (r, systems + 1, systems + 1); the tie comes last."""
        win, draw = self._chances(theta, tie)
        n, systems = self.n[rows], theta.shape[1]
        mean = win + draw / 2
        gap = self.lead[rows] - n * (mean - 0.5)
        gradient = np.empty((rows.size, systems + 1))
        gradient[:, :systems] = gap @ self.plus - gap @ self.minus
        gradient[:, systems] = (self.drawn[rows] - n * draw).sum(axis=1)
        cross = n * draw * (0.5 - mean)
        of_tie: FloatArray = (n * draw * (1 - draw)).sum(axis=1)
        information = self._information(n * (win + draw / 4 - mean * mean), cross, of_tie)
        without = ~self.tied[rows]
        information[without, systems, :] = information[without, :, systems] = 0
        information[without, systems, systems] = 1
        gradient[without, systems] = 0
        return gradient, information

    def outcome_gradients(self, theta: FloatArray, tie: FloatArray) -> FloatArray:
        """What one win, tie and loss of each pair add to the gradient: (pairs * 3, systems + 1)."""
        win, draw = self._chances(theta[None, :], tie)
        expected = win[0] + draw[0] / 2
        out = np.zeros((expected.size, 3, theta.size + 1))
        for at, score in enumerate((1.0, 0.5, 0.0)):
            out[:, at, :-1] = (score - expected)[:, None] * (self.plus - self.minus)
            out[:, at, -1] = (at == 1) - draw[0] if self.tied[0] else 0.0
        return out.reshape(-1, theta.size + 1)

    def _chances(self, theta: FloatArray, tie: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The probabilities (r, pairs) that the first system wins, and that the battle is a tie."""
        d = theta[:, self.first] - theta[:, self.second]
        half = np.abs(d) / 2
        parts = np.exp(d / 2 - half), np.exp(tie[:, None] - half), np.exp(-d / 2 - half)
        whole = parts[0] + parts[1] + parts[2]
        return parts[0] / whole, parts[1] / whole

    def _information(self, weight: FloatArray, cross: FloatArray, of_tie: FloatArray) -> FloatArray:
        systems = self.plus.shape[1]
        out = np.zeros((weight.shape[0], systems + 1, systems + 1))
        out[:, self.first, self.second] = out[:, self.second, self.first] = -weight
        own = weight @ (self.plus + self.minus)
        out[:, np.arange(systems), np.arange(systems)] = own
        # only differences matter: the mean is fixed at 0
        out[:, :systems, :systems] += (own.mean(axis=1) / systems)[:, None, None]
        out[:, systems, :systems] = out[:, :systems, systems] = cross @ (self.plus - self.minus)
        out[:, systems, systems] = of_tie
        return out


def _maximum(
    pairs: PairCounts, ties: Ties, start: FloatArray | None = None, tie: float | None = None
) -> _Fit:
    """Newton's method on r sets of counts together; a step that does not increase the likelihood is halved."""
    size = pairs.counts.shape[0]
    likelihood = _Likelihood(pairs, ties)
    theta = np.zeros((size, pairs.systems)) if start is None else np.tile(start, (size, 1))
    guess = math.log(tie) if tie else 0.0
    log_tie = np.where(likelihood.tied, guess, -np.inf)
    converged = np.zeros(size, dtype=np.bool_)
    for _ in range(_STEPS):
        rows = np.flatnonzero(~converged)
        if not rows.size:
            break
        step = likelihood.step(theta[rows], log_tie[rows], rows)
        longest = np.abs(step).max(axis=1)
        step *= np.minimum(1, _LONGEST_STEP / np.maximum(longest, _CLOSE))[:, None]
        size_taken = _rising(likelihood, theta, log_tie, step, rows)
        theta[rows] += size_taken[:, None] * step[:, :-1]
        log_tie[rows] += size_taken * step[:, -1]
        converged[rows] = longest < _CLOSE
    return _Fit(theta - theta.mean(axis=1, keepdims=True), log_tie, converged)


def _rising(
    likelihood: _Likelihood,
    theta: FloatArray,
    tie: FloatArray,
    step: FloatArray,
    rows: IntArray,
) -> FloatArray:
    """The fraction of each step to take: the first of 1, 1/2, 1/4, ... that does not lower the likelihood."""
    taken = np.ones(rows.size)
    before = likelihood.value(theta[rows], tie[rows], rows)
    slack = 1e-9 * (1 + np.abs(before))
    open_ = np.arange(rows.size)
    for _ in range(20):
        part = taken[open_]
        after = likelihood.value(
            theta[rows[open_]] + part[:, None] * step[open_, :-1],
            tie[rows[open_]] + part * step[open_, -1],
            rows[open_],
        )
        open_ = open_[after < before[open_] - slack[open_]]
        if not open_.size:
            break
        taken[open_] /= 2
    return taken
