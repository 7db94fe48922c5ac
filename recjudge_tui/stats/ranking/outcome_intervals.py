"""Intervals of Q and of win rates, of every system and of every pair of systems, over users."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray, ratio
from recjudge_tui.stats.defaults import LEVEL
from recjudge_tui.stats.estimate import Interval
from recjudge_tui.stats.ranking.battles import UserCounts, incidence
from recjudge_tui.stats.resampling.intervals import ONE_USER, SHARE, count_interval, interval_of
from recjudge_tui.stats.resampling.jackknife import Spread, spreads
from recjudge_tui.stats.resampling.two_way import enough_raters, two_way
from recjudge_tui.stats.resampling.unseen import Distances, distances, with_unseen

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Figure = Literal["q", "win_rate"]
SAME_RECORD = "no interval: wins minus losses are the same for every user"


class _Sides(NamedTuple):
    """Wins, ties and losses (profiles, things), sparse."""

    wins: csr_matrix
    ties: csr_matrix
    losses: csr_matrix


def pair_intervals(
    users: UserCounts, figure: Figure, level: float = LEVEL
) -> list[tuple[Interval, Interval]]:
    """The interval of each pair's figure, seen from the pair's first and from its second system."""
    shares = _share_intervals(_pairs, users, users.total.first.size, figure, level)
    return [(_of_figure(share, figure), _of_figure(_turned(share), figure)) for share in shares]


def system_intervals(users: UserCounts, figure: Figure, level: float = LEVEL) -> list[Interval]:
    """The interval of each system's figure against all its opponents."""
    shares = _share_intervals(_systems, users, users.total.systems, figure, level)
    return [_of_figure(share, figure) for share in shares]


def records_alike(users: UserCounts) -> BoolArray:
    """(systems,): whether a system's wins minus losses are the same for every user who judged it, as for a system that
    every user puts in the middle.

    Leaving out a user then hardly changes the rating, although other users might: if one user in 25 puts the system
    elsewhere, only 34 to 60 % of the intervals of Bradley-Terry ratings contained the true value with 10 to 20
    users.
    """
    systems = users.total.systems
    shares = _shares(_systems(users), users, systems, "win_rate")
    lead = shares.above - shares.below / 2
    low, high = np.full(systems, np.inf), np.full(systems, -np.inf)
    np.minimum.at(low, shares.thing, lead)
    np.maximum.at(high, shares.thing, lead)
    alike: BoolArray = high <= low
    return alike


def _pairs(users: UserCounts) -> _Sides:
    return _Sides(*(users.rows[:, at::3] for at in range(3)))


def _systems(users: UserCounts) -> _Sides:
    from scipy.sparse import csr_matrix

    total, pairs = users.total, _pairs(users)
    first, second = (csr_matrix(incidence(total.systems, members)) for members in (total.first, total.second))
    return _Sides(
        pairs.wins @ first + pairs.losses @ second,
        pairs.ties @ (first + second),
        pairs.losses @ first + pairs.wins @ second,
    )


def _share_intervals(
    sides_of: Callable[[UserCounts], _Sides], users: UserCounts, things: int, figure: Figure, level: float
) -> list[Interval]:
    """The intervals of win rates, or of s = (wins + ties) / (wins + 2 ties + losses), of which Q is s / (1 - s)."""
    shares = _shares(sides_of(users), users, things, figure)
    if not shares.thing.size:
        return [Interval(None, None, ONE_USER)] * things
    if users.crowd is None:
        return _ratio_intervals(shares, level)
    raters, cells = (
        _shares(sides_of(counts), counts, things, figure)
        for counts in (users.crowd.raters, users.crowd.cells)
    )
    value = shares.value()
    together = map(two_way, shares.spreads(), raters.spreads(), cells.spreads())
    known = np.bincount(raters.thing, minlength=things)
    return [
        enough_raters(int(known[at]), interval_of(float(value[at]), spread, SHARE, level))
        for at, spread in enumerate(together)
    ]


# what a win, a tie and a loss add above and below the line of a share
_ABOVE: dict[Figure, FloatArray] = {"q": np.array([1.0, 1.0, 0.0]), "win_rate": np.array([1.0, 0.5, 0.0])}
_BELOW: dict[Figure, FloatArray] = {"q": np.array([1.0, 2.0, 1.0]), "win_rate": np.ones(3)}


@dataclass(frozen=True)
class _Shares:
    """sum(above) / sum(below) of each thing, from a record (3,) of wins, ties and losses for each user of the thing."""

    record: FloatArray
    figure: Figure
    thing: IntArray
    things: int

    @property
    def above(self) -> FloatArray:
        return self.record @ _ABOVE[self.figure]

    @property
    def below(self) -> FloatArray:
        return self.record @ _BELOW[self.figure]

    def sums(self) -> tuple[FloatArray, FloatArray]:
        total, size = (
            np.bincount(self.thing, weights=part, minlength=self.things).astype(np.float64)
            for part in (self.above, self.below)
        )
        return total, size

    def value(self) -> FloatArray:
        return np.nan_to_num(ratio(*self.sums()))

    def distances(self) -> Distances:
        """Of the rows that the share is the mean of: a win is 1, a loss 0, a tie half, or for Q one of each."""
        halves = self.figure == "win_rate"
        wins, ties, losses = self.record.T
        rows = (wins, ties, losses) if halves else (wins + ties, np.zeros(wins.size), losses + ties)
        values = np.repeat([1.0, 0.5, 0.0], wins.size)
        return distances(values, np.tile(self.thing, 3), self.things, np.concatenate(rows))

    def spreads(self) -> list[Spread]:
        thing, users = self.thing, np.bincount(self.thing, minlength=self.things)
        (total, size), value = self.sums(), self.value()
        without = ratio(total[thing] - self.above, size[thing] - self.below)
        influence = np.where(users[thing] > 1, (users[thing] - 1) * (value[thing] - without), 0.0)
        met = self.record.sum(axis=1)
        every = np.bincount(thing, weights=met, minlength=self.things).astype(np.float64)
        error = _ABOVE[self.figure] - value[thing][:, None] * _BELOW[self.figure]
        squares = (self.record * error**2).sum(axis=1) * ratio(every, size)[thing] ** 2
        return spreads(influence, thing, value, met, squares)


def _shares(sides: _Sides, users: UserCounts, things: int, figure: Figure) -> _Shares:
    met = (sides.wins + sides.ties + sides.losses).tocoo()
    filled = met.data > 0
    profile, thing = met.row[filled], met.col[filled].astype(np.int64)
    if not profile.size:
        return _Shares(np.zeros((0, 3)), figure, thing, things)
    record = np.stack(
        [np.asarray(side[profile, thing], dtype=np.float64).reshape(-1) for side in sides], axis=1
    )
    repeated = np.repeat(np.arange(profile.size), users.users[profile])
    return _Shares(record[repeated], figure, thing[repeated], things)


def _ratio_intervals(shares: _Shares, level: float) -> list[Interval]:
    above, below, thing, things = shares.above, shares.below, shares.thing, shares.things
    users, (_, size), value, spread = (
        np.bincount(thing, minlength=things),
        shares.sums(),
        shares.value(),
        shares.spreads(),
    )
    away = shares.distances()
    one_way = (shares.record[:, 1] == 0) & ((above == 0) | (above == below))
    counts = np.bincount(thing[one_way], minlength=things)
    largest = np.zeros(things)
    np.maximum.at(largest, thing, below)
    even = largest * users == size
    return [
        count_interval(int(users[at]), float(value[at]), SHARE, level)
        if users[at] > 1 and counts[at] == users[at] and even[at]
        else with_unseen(
            interval_of(float(value[at]), spread[at], SHARE, level), away, at, int(users[at]), level
        )
        for at in range(things)
    ]


def _turned(share: Interval) -> Interval:
    """The interval of the other side's share."""
    if share.low is None or share.high is None:
        return share
    return Interval(1 - share.high, 1 - share.low)


def _of_figure(interval: Interval, figure: Figure) -> Interval:
    if figure != "q" or interval.low is None or interval.high is None:
        return interval
    if interval.high >= 1:
        return Interval(None, None, "no interval: never lost or tied")
    return Interval(interval.low / (1 - interval.low), interval.high / (1 - interval.high))
