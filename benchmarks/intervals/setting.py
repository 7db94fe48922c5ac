"""A population and the figures that the tool shows with an interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from benchmarks.populations import Rng
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.estimate import Estimate, Interval

Shown = Estimate | Interval | None
RATINGS = (1.0, 2.0, 3.0, 4.0, 5.0)
SKEWED = (0.02, 0.03, 0.1, 0.25, 0.6)


class Setting(NamedTuple):
    """`draw(rng, users)` gives the intervals of one sample by the name of the figure; `truth` the true values."""

    name: str
    draw: Callable[[Rng, int], Mapping[str, Shown]]
    truth: Callable[[Rng], Mapping[str, float]]


def owners(users: int, rows: int) -> IntArray:
    """Users 0..users-1 with `rows` rows each."""
    return np.repeat(np.arange(users), rows)


def estimated(figures: Mapping[str, Estimate]) -> dict[str, float]:
    """The true values, from a sample so large that its error is small compared with the width of an interval."""
    return {name: float(estimate.value or 0.0) for name, estimate in figures.items()}


def labels_drawn(rng: Rng, size: int, shares: tuple[float, ...] = SKEWED) -> FloatArray:
    """Labels 1, 2, ... in the given shares."""
    return rng.choice(np.arange(1.0, len(shares) + 1), size, p=shares)
