"""Compares the systems of a run that stops as soon as they differ clearly, and describes its progress."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

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


class StoppingStatus(NamedTuple):
    """The state of a run: `progress` (`decided after 312 of 1,000 users`), and what is known of each pair (`als above pop,
    win rate 0.610 [0.531, 0.690]`). `level` is for all pairs together."""

    decided: bool
    level: float
    progress: str
    compared: tuple[str, ...]

    def sentence(self) -> str:
        return f"{self.progress}: {'; '.join(self.compared)}"


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
    """The status after the users in `state`, of `planned` users. A pair is seen from the better system, else from the first
    by name; the figure of shares is that of the one less that of the other."""
    decided = is_decided(criterion.rule, state)
    users = f"{state.users:,} of {planned:,}" if state.users < planned else f"all {planned:,}"
    columns = (state.n.tolist(), state.total.tolist(), state.low.tolist(), state.high.tolist())
    compared = []
    for (a, b), n, total, low, high in zip(criterion.pairs, *columns, strict=True):
        if high <= EVEN and low < EVEN:
            a, b, low, high, total = b, a, 1 - high, 1 - low, n - total
        narrow = " narrow enough" if decided and low < EVEN else ""
        words, figure = f"{a} {'above' if low >= EVEN else 'against'} {b}{narrow}", "win rate"
        value, by = total / n if n else 0.0, ""
        if criterion.best is not None:
            figure, by = f"share of {criterion.best.name}", "higher by "
            low, high, value = 2 * low - 1, 2 * high - 1, 2 * value - 1
        known = f"{by}{value:.3f} [{low:.3f}, {high:.3f}]"
        known += f" from {n:,} users" if n != state.users else ""
        compared.append(f"{words}, {figure} {known if n else 'unknown: no user has verdicts for both'}")
    progress = f"{'decided' if decided else 'not decided'} after {users} users"
    return StoppingStatus(decided, criterion.rule.level, progress, tuple(compared))
