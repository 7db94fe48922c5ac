"""Many lists and their held-out items as arrays, from which the metrics of all lists are computed at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray

_SHIFT = 32
_Scalar = TypeVar("_Scalar", bound=np.generic)


class HeldOutArrays(NamedTuple):
    """Held-out items of truths 0..truths-1: `keys` ascending, from `key_of`; `ideal` in the order of truth, then gain."""

    keys: IntArray
    gains: FloatArray
    relevant: BoolArray
    ideal: FloatArray
    start: IntArray
    """Where a truth's rows begin in `keys` and in `ideal`; (truths + 1,)."""


class ListArrays(NamedTuple):
    """The items of lists 0..lists-1, list after list, best first.

    `truths` (lists,): the truth of each list, -1 if nothing is held out.
    """

    truths: IntArray
    start: IntArray
    codes: IntArray
    places: IntArray
    items: IntArray
    scores: FloatArray
    first: BoolArray
    """Whether this is the first occurrence of the item in its list."""


def key_of(truths: IntArray, items: IntArray) -> IntArray:
    """One integer for a truth and an item, both below 2^31."""
    return truths << _SHIFT | items


def held_out_arrays(
    truths: npt.ArrayLike, items: npt.ArrayLike, gains: npt.ArrayLike, relevant: npt.ArrayLike, count: int
) -> HeldOutArrays:
    """The arrays from one row per held-out item (truth, item, gain, relevant), in any order, each (truth, item) once."""
    owner = np.asarray(truths, dtype=np.int64)
    gain = np.asarray(gains, dtype=np.float64)
    keys = key_of(owner, np.asarray(items, dtype=np.int64))
    order = np.argsort(keys)
    start = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=count))]).astype(np.int64)
    return HeldOutArrays(
        keys[order],
        gain[order],
        np.asarray(relevant, dtype=np.bool_)[order],
        gain[np.lexsort((-gain, owner))],
        start,
    )


def list_arrays(
    truths: npt.ArrayLike, lengths: npt.ArrayLike, items: IntArray, scores: FloatArray
) -> ListArrays:
    """The arrays from the truth and length of each list, and the concatenated items and scores of all lists."""
    size = np.asarray(lengths, dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    codes = np.repeat(np.arange(size.size), size)
    places = np.arange(items.size) - start[codes]
    keys = key_of(codes, items)
    return ListArrays(np.asarray(truths, dtype=np.int64), start, codes, places, items, scores, _first(keys))


def _first(keys: IntArray) -> BoolArray:
    ordered = np.sort(keys)
    first = np.ones(keys.size, dtype=np.bool_)
    if (ordered[1:] == ordered[:-1]).any():
        first[:] = False
        first[np.unique(keys, return_index=True)[1]] = True
    return first


def coded(lists: Iterable[Sequence[str]], index: Mapping[str, int]) -> IntArray:
    """The code of each item of all lists, concatenated; an item not in `index` gets a new code above those of `index`."""
    new: dict[str, int] = {}
    known = len(index)
    return np.array(
        [
            index[item] if item in index else new.setdefault(item, known + len(new))
            for items in lists
            for item in items
        ],
        dtype=np.int64,
    )


def held_at(lists: ListArrays, held: HeldOutArrays) -> tuple[IntArray, BoolArray]:
    """For each item of the lists: its row in `held`, and whether it has one (a repeated item has none)."""
    if not held.keys.size:
        return np.zeros(lists.items.size, dtype=np.int64), np.zeros(lists.items.size, dtype=np.bool_)
    keys = key_of(np.repeat(lists.truths, np.diff(lists.start)), lists.items)
    at = np.minimum(np.searchsorted(held.keys, keys), held.keys.size - 1).astype(np.int64)
    is_held: BoolArray = (held.keys[at] == keys) & lists.first
    return at, is_held


def top(lists: ListArrays, values: npt.NDArray[_Scalar], k: int, fill: float) -> npt.NDArray[_Scalar]:
    """`values`, one for each item of the lists, as a matrix (lists, k); `fill` beyond a list's end."""
    rows = np.full((lists.truths.size, k), fill, dtype=values.dtype)
    within = lists.places < k
    rows[lists.codes[within], lists.places[within]] = values[within]
    return rows


def ideal_rows(lists: ListArrays, held: HeldOutArrays, k: int) -> FloatArray:
    """The k highest gains of each list's truth, descending, 0 where there are fewer: (lists, k)."""
    known = lists.truths >= 0
    begin = np.where(known, held.start[lists.truths], 0)
    size = np.where(known, held.start[lists.truths + 1] - begin, 0)
    columns = np.arange(k)
    at = np.minimum(begin[:, None] + columns, max(0, held.ideal.size - 1))
    if not held.ideal.size:
        return np.zeros(at.shape)
    return np.where(columns < size[:, None], held.ideal[at], 0.0)


def picked(values: npt.NDArray[_Scalar], codes: IntArray, missing: float) -> npt.NDArray[_Scalar]:
    """`values[codes]`, and `missing` where a code is negative or beyond the values."""
    padded = np.append(values, np.asarray(missing, dtype=values.dtype))
    return padded[np.where((codes >= 0) & (codes < values.size), codes, values.size)]
