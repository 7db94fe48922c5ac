"""Garbage collection while a run is planned or works, and in the app."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG_OBJECTS = 20_000
# a plan makes many long-lived objects and hardly any cycles
YOUNG_OBJECTS_OF_A_PLAN = 20_000_000


@contextmanager
def few_collections(young: int = YOUNG_OBJECTS) -> Iterator[None]:
    """Collect garbage rarely, after every `young` new objects: cases and calls are many short-lived objects, and scanning
    them took a fifth of the time. In the app a search of the whole heap held up a key for up to 60 ms."""
    before = gc.get_threshold()
    # the caller chose a higher threshold, or another thread is also in this block
    if before[0] >= young:
        yield
        return
    gc.set_threshold(young, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
