"""A claim that is false in every sample, and the sign test shared by several of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from benchmarks.populations import Rng
from recjudge_tui.stats.hypotheses import sign_test


class Claim(NamedTuple):
    """`made(rng, users)`: whether the claim is made about one sample in which it is false."""

    name: str
    made: Callable[[Rng, int], bool]


quick_sign_test = lru_cache(None)(sign_test)
