"""The assumptions of a plan, and which of them cannot hold."""

from __future__ import annotations

import math
from dataclasses import dataclass

from recjudge_tui.domain.protocols import OVERALL, SAER, compares_lists, offered, protocol_facts
from recjudge_tui.errors import UsageError
from recjudge_tui.shapes import protocols_meeting
from recjudge_tui.stats.defaults import ALPHA, DIFFERENCES, POWER


@dataclass(frozen=True)
class PlanOptions:
    """The assumptions of the plan. None: as measured (in a project), else no ties, always consistent, a share of one
    half, no correlation, users with one case each."""

    protocol: str = SAER[1]
    differences: tuple[float, ...] = DIFFERENCES
    power: float = POWER
    alpha: float = ALPHA
    ties: float | None = None
    consistency: float | None = None
    share: float | None = None
    correlation: float | None = None
    cases_per_user: float | None = None
    icc: float | None = None
    systems: tuple[str, ...] = ()
    rater: str | None = None
    aspect: str = OVERALL

    @property
    def of_pairs(self) -> bool:
        return compares_lists(self.protocol)


def check_options(options: PlanOptions) -> None:
    """Raises UsageError for assumptions that contradict each other or the protocol."""
    protocols_meeting(options.protocol)
    if not protocol_facts(options.protocol).labels:
        labelled = [name for name in offered() if protocol_facts(name).labels]
        raise UsageError(
            f"{options.protocol} scores have no labels to count", next_step=f"Plan for {', '.join(labelled)}."
        )
    numbers = ("power", "alpha", "ties", "consistency", "share", "correlation", "cases_per_user", "icc")
    for name in numbers:
        value = getattr(options, name)
        if value is not None and not math.isfinite(value):
            raise UsageError(f"--{name.replace('_', '-')} {value} is outside the possible range")
    wrong = {True: ("share", "correlation"), False: ("ties", "consistency")}[options.of_pairs]
    for name in wrong:
        if getattr(options, name) is not None:
            raise UsageError(f"--{name} has no meaning for {options.protocol}")
    if options.systems and len(set(options.systems)) != 2:
        raise UsageError("two different systems are needed", next_step="Write --systems new,old.")
