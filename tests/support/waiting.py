"""Waiting for a state. Nothing here is a measure of speed: the limit is there so that a hang ends, and says what hung."""

from __future__ import annotations

import time
from collections.abc import Callable

HANG_S = 120.0


def wait_until(holds: Callable[[], object], what: str = "waited in vain") -> None:
    end = time.monotonic() + HANG_S
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.005)
