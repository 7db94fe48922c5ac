"""The rows of a long list, read a window at a time when they are first shown."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Row = TypeVar("Row")
# rows that are read at once
WINDOW = 128


class Windows(Generic[Row]):
    """`read(start, count)` gives the rows of a window, None for one that is gone. The `kept` windows used last stay."""

    def __init__(self, kept: int, read: Callable[[int, int], Sequence[Row | None]]) -> None:
        self._kept = kept
        self._read = read
        self._windows: OrderedDict[int, Sequence[Row | None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._windows)

    def row(self, place: int) -> Row | None:
        number, within = divmod(place, WINDOW)
        if number not in self._windows:
            self._windows[number] = self._read(number * WINDOW, WINDOW)
            while len(self._windows) > self._kept:
                self._windows.popitem(last=False)
        self._windows.move_to_end(number)
        window = self._windows[number]
        return window[within] if within < len(window) else None

    def clear(self) -> None:
        self._windows.clear()
