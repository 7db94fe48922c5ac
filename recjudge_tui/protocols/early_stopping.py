"""Compares the systems of a run that stops as soon as they differ clearly, and describes its progress."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from recjudge_tui.domain.prompt import LabelSpec, Prompt
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.protocols.registry import Protocol
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.planning import EVEN, StoppingRule, StoppingState, is_decided

Pair = tuple[str, str]
# the systems of a case (the second empty for a single list) -> the verdict's value, None where it has none
UserVerdicts = Mapping[Pair, float | None]


@dataclass(frozen=True)
class StoppingCriterion:
    """The pairs of systems to compare, and the stopping rule. `best` is the label whose share is compared for single
    lists. It is None for pairs of lists, which compare win rates with a tie as half a win."""

    pairs: tuple[Pair, ...]
    rule: StoppingRule
    best: LabelSpec | None


@dataclass(frozen=True)
class PairInterval:
    """One pair: `value` is the win rate of a, or the share of the best label of a less that of b, with its interval;
    `even` is the value of two equal systems."""

    system_a: str
    system_b: str
    users: int
    value: float | None
    low: float
    high: float
    even: float

    @property
    def above(self) -> str:
        """The system that is better according to the interval; empty if neither is."""
        return self.system_a if self.low >= self.even else self.system_b if self.high <= self.even else ""


@dataclass(frozen=True)
class StoppingStatus:
    """The state after `users` of `planned` users; `figure` names what is compared. `level` is for all pairs together."""

    users: int
    planned: int
    decided: bool
    figure: str
    level: float
    compared: tuple[PairInterval, ...]


def deciding_aspect(prompt: Prompt) -> str:
    """The aspect that is compared: `overall` if the prompt has it, else the first one."""
    names = [spec.name for spec in prompt.aspects]
    return OVERALL if OVERALL in names else names[0]


def stopping_criterion(
    protocol: Protocol, prompt: Prompt, settings: RunSettings, cases: Iterable[Pair]
) -> StoppingCriterion | None:
    """What a run over these `cases` (their systems, as in UserVerdicts) compares; None for fewer than two systems.
    `margin` is the width of the interval of the figure: of a difference of shares, twice that of its mean."""
    compared = sorted(set(cases))
    if protocol.facts.of_pairs:
        pairs, best, scale = compared, None, 1.0
    else:
        systems = sorted({a for a, _ in compared})
        pairs = [pair for pair in combinations(systems, 2) if settings.baseline in ("", *pair)]
        best, scale = max(prompt.labels_of(deciding_aspect(prompt)), key=lambda label: label.value), 2.0
    if not pairs:
        return None
    margin = None if settings.margin is None else settings.margin / scale
    return StoppingCriterion(tuple(pairs), StoppingRule(len(pairs), margin), best)


def user_outcomes(criterion: StoppingCriterion, users: Sequence[UserVerdicts]) -> FloatArray:
    """Rows are users, columns pairs. 0 (all for b) to 1 (all for a); NaN where a verdict is missing or failed."""
    rows = np.full((len(users), len(criterion.pairs)), np.nan)
    for row, verdicts in zip(rows, users, strict=True):
        for column, (a, b) in enumerate(criterion.pairs):
            if criterion.best is None:
                value = verdicts.get((a, b))
                row[column] = np.nan if value is None else (1 + value) / 2
            else:
                first, second = verdicts.get((a, "")), verdicts.get((b, ""))
                if first is not None and second is not None:
                    row[column] = (1 + (first == criterion.best.value) - (second == criterion.best.value)) / 2
    return rows


def stopping_status(criterion: StoppingCriterion, state: StoppingState, planned: int) -> StoppingStatus:
    figure = "win rate" if criterion.best is None else f"share of {criterion.best.name}"
    compared = []
    columns = (state.n.tolist(), state.total.tolist(), state.low.tolist(), state.high.tolist())
    for pair, n, total, low, high in zip(criterion.pairs, *columns, strict=True):
        mean, even = total / n if n else None, EVEN
        if criterion.best is not None:
            low, high, mean, even = 2 * low - 1, 2 * high - 1, None if mean is None else 2 * mean - 1, 0.0
        compared.append(PairInterval(*pair, n, mean, low, high, even))
    done = is_decided(criterion.rule, state)
    return StoppingStatus(state.users, planned, done, figure, criterion.rule.level, tuple(compared))


def status_text(status: StoppingStatus) -> str:
    """One sentence: `decided after 312 of 1,000 users: als above pop, win rate 0.610 [0.531, 0.690]`."""
    users = f"all {status.planned:,} users"
    if status.users < status.planned:
        users = f"{status.users:,} of {status.planned:,} users"
    start = f"{'decided' if status.decided else 'not decided'} after {users}: "
    return start + "; ".join(pair_text(status, pair) for pair in status.compared)


def pair_text(status: StoppingStatus, pair: PairInterval) -> str:
    """`als above pop, win rate 0.610 [0.531, 0.690]`; seen from the better system, else from the first by name."""
    a, b, low, value, high = pair.system_a, pair.system_b, pair.low, pair.value, pair.high
    if pair.above == b:
        a, b, low, high = b, a, 2 * pair.even - high, 2 * pair.even - low
        value = None if value is None else 2 * pair.even - value
    narrow = " narrow enough" if status.decided and not pair.above else ""
    words = f"{a} {'above' if pair.above else 'against'} {b}{narrow}, {status.figure} "
    if value is None:
        return f"{words}unknown: no user has verdicts for both"
    users = f" from {pair.users:,} users" if pair.users != status.users else ""
    by = "" if pair.even == EVEN else "higher by "
    return f"{words}{by}{value:.3f} [{low:.3f}, {high:.3f}]{users}"
