"""The side from which a figure that pools pairs of lists sees them.

It never depends on which system's name sorts first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.store.verdicts.ratings import CaseColumns

# no pairs; one pair of systems; one system in every pair; several pairs without a common system
View = Literal["", "pair", "baseline", "both"]


@dataclass(frozen=True)
class Orientation:
    """The side from which the rows of a figure are seen. A value is a signed preference: above 0 for A, below 0 for B.

    `turn` (rows,) is 1, or -1 where the value as stored is seen from the other side. `pair`: all rows are about the same two
    systems, `a` and `b`. `baseline`: `b` is in every pair, A is the other system. `both`: no system is in every pair, so
    each row counts from both sides, half each.
    """

    view: View
    turn: FloatArray
    a: str = ""
    b: str = ""

    @property
    def mirrored(self) -> bool:
        """Whether each row counts from both sides."""
        return self.view == "both"

    def words(self) -> str:
        """A sentence on what A and B mean; empty if there are no pairs."""
        if self.view == "pair":
            return f"A is {self.a}, B is {self.b}"
        if self.view == "baseline":
            return f"B is {self.b}, which is in every pair; A is the other system"
        if self.view == "both":
            return "each pair counts from both sides, with each of its systems as A, so no figure depends on names"
        return ""


def orientation(cases: CaseColumns, rows: IntArray, counted: BoolArray | None = None) -> Orientation:
    """The orientation of a figure over these rows of `cases`, or over those that are `counted`.

    It depends on which systems met. Only if there are just two systems do their names decide which one is called A.
    """
    here = cases.is_pair[rows] if counted is None else cases.is_pair[rows] & counted
    return side_of_pairs(cases.system_a[rows], cases.system_b[rows], here, cases.systems)


def side_of_pairs(
    first: IntArray, second: IntArray, is_pair: BoolArray, systems: tuple[str, ...]
) -> Orientation:
    """The orientation of rows about the systems `first` and `second` (places in `systems`), which names put in order."""
    turn = np.ones(first.size)
    if not is_pair.any():
        return Orientation("", turn)
    met = np.unique(np.stack([first[is_pair], second[is_pair]]), axis=1)
    if met.shape[1] == 1:
        return Orientation("pair", turn, systems[met[0, 0]], systems[met[1, 0]])
    common = [int(code) for code in np.unique(met) if ((met == code).any(axis=0)).all()]
    if not common:
        return Orientation("both", turn)
    turn[is_pair & (first == common[0])] = -1.0
    return Orientation("baseline", turn, "", systems[common[0]])


def side_of_names(first: Sequence[str], second: Sequence[str]) -> Orientation:
    """The orientation by the systems' names, `first` < `second`; the second is empty if the row is not about a pair."""
    systems = tuple(sorted({*first, *second}))
    places = {name: place for place, name in enumerate(systems)}
    a, b = (np.array([places[name] for name in names], dtype=np.int64) for names in (first, second))
    return side_of_pairs(a, b, np.array([name != "" for name in second], dtype=np.bool_), systems)


def both_sides(values: FloatArray, how: Orientation) -> FloatArray:
    """The oriented values (..., rows). If rows count from both sides, each row is there twice, once from each side."""
    seen = values * how.turn + 0.0
    return np.concatenate([seen, 0.0 - seen], axis=-1) if how.mirrored else seen


def labels_seen(labels: list[float] | None, how: Orientation) -> list[float] | None:
    """The label set with the mirror of each label, on pairs."""
    if labels is None or not how.view:
        return labels
    return sorted({*labels, *(0.0 - label for label in labels)})


def sided(names: Mapping[float, str]) -> dict[float, str]:
    """The labels of pairs without a common side: a label and its mirror are one."""
    return {
        value: f"{name} or {names[-value]}" if -value in names and value else name
        for value, name in names.items()
        if value >= 0
    }


def orientation_notes(by_where: dict[str, Orientation]) -> list[str]:
    """One note for each orientation of the figures; `by_where` names the figures that have it."""
    wheres: dict[str, list[str]] = {}
    for where, how in by_where.items():
        if how.words():
            wheres.setdefault(how.words(), []).append(where)
    if len(wheres) == 1:
        return list(wheres)
    return [f"{', '.join(places)}: {words}" for words, places in wheres.items()]
