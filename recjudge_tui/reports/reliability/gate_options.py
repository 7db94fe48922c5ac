"""The requirements of a gate: bounds on figures, and no change for the worse since an earlier run."""

from __future__ import annotations

import math
from dataclasses import dataclass

from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.pairing import AgreementOptions
from recjudge_tui.stats.defaults import LEVEL, RESAMPLES
from recjudge_tui.stats.registry import STATISTICS

FIGURES = (*STATISTICS, "win_rate", "failure_rate")
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Bound:
    """`name` of FIGURES must be at least (`least`) or at most `x`."""

    name: str
    x: float
    least: bool

    @property
    def demand(self) -> str:
        return f"{'at least' if self.least else 'at most'} {self.x:g}"

    def holds(self, value: float) -> bool:
        # a figure equal to its bound must not miss it because of a rounding error
        return value >= self.x - _ROUNDING if self.least else value <= self.x + _ROUNDING


@dataclass(frozen=True)
class GateOptions:
    """The requirements for a rater, or for one run (`run:15`). `certain`: the end of the interval must meet them, not
    only the figure.

    `against`: the rater of the earlier run, the run (`run:14`), or the rater itself: its newest run against the one
    before. `stats`: the figures whose change is tested; empty: agreement with the truth (qwk, else Pearson), the win
    rate if systems are named, and the failure rate.
    """

    rater: str
    bounds: tuple[Bound, ...] = ()
    against: str | None = None
    stats: tuple[str, ...] = ()
    truth: str | None = None
    systems: tuple[str, ...] = ()
    protocol: str | None = None
    aspect: str | None = None
    certain: bool = False
    level: float = LEVEL
    resamples: int = RESAMPLES
    seed: int = 0

    def agreement_of(self, rater: str) -> AgreementOptions:
        return AgreementOptions(
            protocol=self.protocol, aspect=self.aspect, raters=(rater,), truth=self.truth,
            resamples=self.resamples, seed=self.seed,
        )  # fmt: skip


def check_gate(options: GateOptions) -> None:
    """Raises UsageError for options that cannot be checked in any project."""
    if not options.bounds and options.against is None:
        raise UsageError("there is nothing to check", next_step="Give --at-least, --at-most or --against.")
    if options.stats and options.against is None:
        raise UsageError("a change needs an earlier run", next_step="Name its rater with --against.")
    named = [bound.name for bound in options.bounds] + list(options.stats)
    for name in named:
        if name not in FIGURES:
            raise UsageError(f"no figure “{name}”", f"Available: {', '.join(FIGURES)}.")
        if name in STATISTICS and options.truth is None:
            raise UsageError(f"{name} needs a reference to agree with", next_step="Name them with --truth.")
        if name == "win_rate" and not options.systems:
            raise UsageError("a win rate needs two systems", next_step="Name them with --systems A,B.")
    for name in options.stats:
        if name in STATISTICS and not STATISTICS[name].rising:
            raise UsageError(f"a change of {name} has no bad direction", next_step="Give a bound on it.")
    if options.systems and len(set(options.systems)) != 2:
        raise UsageError("two different systems are needed", next_step="Write --systems new,old.")
    if any(not math.isfinite(bound.x) for bound in options.bounds):
        raise UsageError("a bound is a finite number")
