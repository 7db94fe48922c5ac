"""Connectivity of the comparison graph: which systems can have a finite rating.

Ford's condition (1957): the maximum of the Bradley-Terry likelihood is finite if and only if every system beat
every other one, directly or through others, that is, if the graph "beat" is strongly connected. Davidson's ties need a
similar condition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.stats.ranking.battles import PairCounts

Ties = Literal["davidson", "half"]
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
TIES_ONLY = (
    "every verdict is a tie: Davidson's model has no finite fit (counting ties as half-wins gives one)"
)
TIES_CARRY = (
    "too few wins among many ties: Davidson's model has no finite fit (counting ties as half-wins gives one)"
)


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
        within 1e-6 share a place.
        """
        known = ~np.isnan(rating)
        rounded = np.round(np.where(known, rating, 0.0), 6)
        both = known[:, None] & known[None, :]
        higher = self.above | (both & (rounded[:, None] > rounded[None, :]))
        comparable = higher | higher.T | (both & ~higher) | np.eye(rating.size, dtype=np.bool_) | ~self.joined
        better: IntArray = higher.sum(axis=0)
        whole: BoolArray = self.joined & np.asarray(comparable.all(axis=1))
        return [
            int(count) + 1 if comparable else None for count, comparable in zip(better, whole, strict=True)
        ]


def connectivity(pairs: PairCounts, ties: Ties = "davidson") -> Connectivity:
    """Which systems can be rated. A tie counts as half a win of each, so it connects both ways.

    Sets of systems that never met, even through others, have no common ranking: only the largest is
    ranked. In it, the largest strongly connected set is rated without the other systems: in the limit, battles with them
    carry no information about it. Of sets of equal size, the one with more battles counts, and none if
    they have equally many.
    With Davidson's ties the set must also hold a cycle of results in which wins outnumber ties: otherwise the likelihood
    grows without bound as the tie parameter and the distances increase together.
    """
    from scipy.sparse.csgraph import connected_components

    beats, joined = _beats(pairs), in_largest_component(pairs)
    _, strong = connected_components(beats, directed=True, connection="strong")
    reach = _reach(beats)
    met = pairs.tallies()
    battles = np.bincount(strong, weights=met.sum(axis=1))
    sizes = np.bincount(strong, weights=joined).astype(np.int64)
    largest = _largest(sizes, battles)
    core = (
        np.flatnonzero(strong == largest[0]) if len(largest) == 1 and sizes[largest[0]] > 1 else largest[:0]
    )
    rivals = np.isin(strong, largest) & (len(largest) > 1) & (sizes[strong] > 1)
    trouble = _unbounded(subset(pairs, core)) if core.size and ties == "davidson" else ""
    notes = []
    for system in range(pairs.systems):
        inside = system in core
        reason = EQUAL_SETS if rivals[system] else _reason(system, met[system], reach, joined, core)
        notes.append(trouble if inside else reason)
    return Connectivity(core[:0] if trouble else core, tuple(notes), reach & ~reach.T, joined)


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
    if not core.size:
        return ONE_WAY
    if reach[system, core[0]]:
        return ABOVE
    return BELOW if reach[core[0], system] else ONE_WAY


def in_largest_component(pairs: PairCounts) -> BoolArray:
    """(systems,): whether a system belongs to the largest set connected by battles, regardless of who won.

    Of sets of equal size, the one with more battles counts; none if they have equally many.
    """
    from scipy.sparse.csgraph import connected_components

    _, part = connected_components(_beats(pairs), directed=True, connection="weak")
    sizes, battles = np.bincount(part), np.bincount(part, weights=pairs.tallies().sum(axis=1))
    largest = _largest(sizes, battles)
    return np.isin(part, largest[:1] if len(largest) == 1 else []) & np.asarray(pairs.tallies().any(axis=1))


def _largest(sizes: IntArray, battles: npt.NDArray[np.integer | np.floating]) -> IntArray:
    """The sets with the most systems, and of these those with the most battles; several if only names tell them apart."""
    most = np.flatnonzero(sizes == sizes.max(initial=0))
    largest: IntArray = most[battles[most] == battles[most].max(initial=0)]
    return largest


def subset(pairs: PairCounts, members: IntArray) -> PairCounts:
    """The pairs among `members`, renumbered in the order of `members`."""
    number = np.full(pairs.systems, -1, dtype=np.int64)
    number[members] = np.arange(members.size)
    first, second = number[pairs.first], number[pairs.second]
    kept = (first >= 0) & (second >= 0)
    return PairCounts(members.size, first[kept], second[kept], pairs.counts[..., kept, :])


def _beats(pairs: PairCounts) -> BoolArray:
    """[i, j]: i beat j or tied with it."""
    wins, ties, losses = (pairs.counts[:, at] > 0 for at in range(3))
    out = np.zeros((pairs.systems, pairs.systems), dtype=np.bool_)
    out[pairs.first, pairs.second] = wins | ties
    out[pairs.second, pairs.first] = losses | ties
    return out


def _reach(beats: BoolArray) -> BoolArray:
    """The closure of "beat": i reaches j by a chain of wins and ties."""
    reach = beats.copy()
    for middle in range(beats.shape[0]):
        reach |= reach[:, middle, None] & reach[None, middle, :]
    return reach


def _unbounded(pairs: PairCounts) -> str:
    """Why Davidson's likelihood has no maximum on a strongly connected set, "" if it has one.

    A direction (d, m) in which ratings and the logarithm of the tie parameter can grow without loss
    needs d_i - d_j >= 2m for every win of i over j and |d_i - d_j| <= 2m for every tie. With ties and
    m > 0 that is a set of difference constraints, which can be met if and only if no cycle of results has
    more wins than ties (Bellman and Ford: a negative cycle).
    """
    wins, ties, losses = (pairs.counts[:, at] > 0 for at in range(3))
    if not ties.any():
        return ""
    if not (wins | losses).any():
        return TIES_ONLY
    weight = np.full((pairs.systems, pairs.systems), np.inf)
    weight[pairs.first[ties], pairs.second[ties]] = 1
    weight[pairs.second[ties], pairs.first[ties]] = 1
    weight[pairs.first[wins], pairs.second[wins]] = -1
    weight[pairs.second[losses], pairs.first[losses]] = -1
    distance = np.zeros(pairs.systems)
    for _ in range(pairs.systems):
        shorter = np.minimum(distance, (distance[:, None] + weight).min(axis=0))
        if (shorter == distance).all():
            return TIES_CARRY
        distance = shorter
    return ""
