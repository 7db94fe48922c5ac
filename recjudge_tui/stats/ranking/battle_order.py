"""An order of battles that depends on who won what for whom, and not on the systems' names or on the order of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recjudge_tui.stats.arrays import FloatArray, IntArray

# larger groups of systems that only their numbers tell apart are taken in the order of these
_MOST_COMPARED = 8
_Records = list[tuple[int, bytes]]


@dataclass(frozen=True)
class RecordOrder:
    """`order` (n,): the rows sorted by what they say; `classes` (systems,): the same for systems with equal records."""

    order: IntArray
    classes: IntArray


def order_by_record(
    first: IntArray, second: IntArray, score: FloatArray, users: IntArray, systems: int
) -> RecordOrder:
    """The rows (n,) in an order that depends neither on their own order nor on the systems' numbers 0..systems-1.

    `score` is 1, 1/2 or 0 from the view of `first`. Systems are told apart by their battles: for whom, against which
    class of system, with what score. All begin in one class, and classes are divided until nothing changes (colour
    refinement, Weisfeiler and Leman 1968). Where systems remain together, each is set apart in turn, and the one that
    gives the smallest records comes first; if they are the same, the systems can change places. Rows are then sorted
    by systems, score and user.
    """
    battles = _Battles(first, second, score, users, systems)
    classes, _ = battles.divided(np.zeros(systems, dtype=np.int64))
    places = classes
    while (together := battles.together(places)).size:
        choices = [
            battles.divided(2 * places - (np.arange(systems) == one))
            for one in together[:_MOST_COMPARED].tolist()
        ]
        places = min(choices if together.size <= _MOST_COMPARED else choices[:1], key=lambda c: c[1])[0]
    turned = places[first] > places[second]
    low, high = np.where(turned, second, first), np.where(turned, first, second)
    result = np.where(turned, 1 - score, score)
    return RecordOrder(np.lexsort((users, result, places[high], places[low])), classes)


class _Battles:
    """The battles from the view of both systems, sorted by system."""

    def __init__(
        self, first: IntArray, second: IntArray, score: FloatArray, users: IntArray, systems: int
    ) -> None:
        own = np.concatenate([first, second])
        result = np.concatenate([2 * score, 2 - 2 * score]).astype(np.int64)
        self._opponent = np.concatenate([second, first])
        self._rest = np.concatenate([users, users]) * 3 + result
        self._own = own
        self._sizes = np.bincount(own, minlength=systems)

    def divided(self, classes: IntArray) -> tuple[IntArray, _Records]:
        """Classes (systems,) numbered in the order of their records, divided until nothing changes; the records, sorted."""
        _, classes = np.unique(classes, return_inverse=True)
        while True:
            columns = np.stack([self._rest, classes[self._opponent]], axis=1)
            by_system = columns[np.lexsort((columns[:, 1], columns[:, 0], self._own))]
            parts = np.split(by_system, np.cumsum(self._sizes)[:-1])
            records = [(old, part.tobytes()) for old, part in zip(classes.tolist(), parts, strict=True)]
            numbers = {record: number for number, record in enumerate(sorted(set(records)))}
            before = int(classes.max(initial=0))
            classes = np.array([numbers[record] for record in records], dtype=np.int64)
            if classes.max(initial=0) == before:
                return classes, sorted(records)

    def together(self, classes: IntArray) -> IntArray:
        """The systems of the first class that has several with battles; none if there is no such class."""
        fought = np.flatnonzero(self._sizes)
        counts = np.bincount(classes[fought], minlength=1)
        several = np.flatnonzero(counts > 1)
        return fought[classes[fought] == several[0]] if several.size else fought[:0]
