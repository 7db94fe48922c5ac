"""Array types, and the small helpers that all statistics share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Ids = npt.ArrayLike
"""One id per row: integers (fastest) or texts; equal ids mean the same user, group or cell."""


def as_floats(values: npt.ArrayLike) -> FloatArray:
    """Values as a flat float array; NaN stands for a missing rating. Raises ValueError if the values are not
    one-dimensional or hold an infinity."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"expected one value per row, got an array of {array.ndim} dimensions")
    if np.isinf(array).any():
        raise ValueError("a rating cannot be infinite")
    return array


def encode(ids: Ids) -> tuple[IntArray, int]:
    """Codes 0..m-1 in the order of the sorted ids, and m. Integers from a narrow range are coded by counting, others
    by sorting."""
    array: npt.NDArray[Any] = np.asarray(ids)
    if array.ndim != 1:
        raise ValueError(f"expected one id per row, got an array of {array.ndim} dimensions")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64), 0
    if array.dtype.kind in "iu":
        low, high = int(array.min()), int(array.max())
        if high - low <= 4 * array.size + 1000:
            shifted = (array - low).astype(np.int64)
            present = np.bincount(shifted, minlength=high - low + 1) > 0
            position = np.cumsum(present) - 1
            return position[shifted].astype(np.int64), int(present.sum())
    levels, codes = np.unique(array, return_inverse=True)
    return codes.astype(np.int64).reshape(-1), int(levels.size)


def rows_of(ids: Ids, kept: BoolArray) -> npt.NDArray[Any]:
    """The ids of the kept rows. Raises ValueError unless there is one id per row."""
    array: npt.NDArray[Any] = np.asarray(ids)
    if array.shape != kept.shape:
        raise ValueError(f"{array.size} ids for {kept.size} rows")
    return array[kept]


def complete(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Both sides as floats without rows that have a missing value, and the mask of kept rows. Raises ValueError if
    the sides differ in length."""
    left, right = as_floats(a), as_floats(b)
    if left.size != right.size:
        raise ValueError(f"the two raters have {left.size} and {right.size} rows; they must be paired")
    kept: BoolArray = ~(np.isnan(left) | np.isnan(right))
    return left[kept], right[kept], kept


def none_if_nan(value: float) -> float | None:
    """The value, or None if it is NaN (undefined)."""
    return None if np.isnan(value) else float(value)


def ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Element by element; NaN (undefined; never leaves this package) if the denominator is 0."""
    out = np.full(np.broadcast(numerator, denominator).shape, np.nan)
    np.divide(numerator, denominator, out=out, where=denominator != 0)
    return out
