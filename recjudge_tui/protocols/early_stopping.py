"""Compares the systems of a run that stops as soon as they differ clearly, decides, and describes its progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Any, NamedTuple

import numpy as np

from recjudge_tui.domain.prompt import LabelSpec, Prompt
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.protocols.registry import Protocol
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.planning import EVEN, StoppingRule, initial_state, is_decided, update_state

Pair = tuple[str, str]
# the systems of a case (the second empty for a single list) -> the verdict's value, None where it has none
UserVerdicts = Mapping[Pair, float | None]
# the ids of cases -> the values that are stored for them
CaseValues = Callable[[list[int]], Mapping[int, float | None]]


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


class RunDecision:
    """Whether a run is decided, by what is stored of its `cases` and by every call that ends. The decision is updated after
    each finished user, in the order of the plan. Only the users before the first unfinished one count. How fast a reply
    comes may depend on what it says, so the decision must not depend on which users finish first. It is the same at any
    concurrency, and for a run that was interrupted."""

    def __init__(self, criterion: StoppingCriterion, cases: Sequence[Any], values: CaseValues) -> None:
        self._criterion, self._values = criterion, values
        # of each user, in the order of the plan: case id -> its two systems
        self._users: list[dict[int, Pair]] = []
        self._open: list[int] = []
        self._user_of: dict[int, int] = {}
        for _, group in groupby(cases, key=lambda case: case.user_id):
            mine = list(group)
            self._user_of.update((case.case_id, len(self._users)) for case in mine)
            self._users.append({case.case_id: (case.system_a, case.system_b) for case in mine})
            self._open.append(sum(case.open for case in mine))
        self._next = 0
        self.decided = False
        self._state = initial_state(criterion.rule)
        self._advance({case.case_id: case.value for case in cases})

    def call_ended(self, case_id: int) -> bool:
        """Note that a call of the case has ended and is stored. True if the run is decided now."""
        user = self._user_of[case_id]
        self._open[user] -= 1
        if user == self._next and self._open[user] <= 0 and not self.decided:
            self._advance(None)
        return self.decided

    @property
    def status(self) -> StoppingStatus:
        """After the users so far. A pair is seen from the better system, else from the first by name; the figure of shares
        is that of the one less that of the other."""
        criterion, state, planned = self._criterion, self._state, len(self._users)
        users = f"{state.users:,} of {planned:,}" if state.users < planned else f"all {planned:,}"
        columns = (state.n.tolist(), state.total.tolist(), state.low.tolist(), state.high.tolist())
        compared = []
        for (a, b), n, total, low, high in zip(criterion.pairs, *columns, strict=True):
            if high <= EVEN and low < EVEN:
                a, b, low, high, total = b, a, 1 - high, 1 - low, n - total
            narrow = " narrow enough" if self.decided and low < EVEN else ""
            words, figure = f"{a} {'above' if low >= EVEN else 'against'} {b}{narrow}", "win rate"
            value, by = total / n if n else 0.0, ""
            if criterion.best is not None:
                figure, by = f"share of {criterion.best.name}", "higher by "
                low, high, value = 2 * low - 1, 2 * high - 1, 2 * value - 1
            known = f"{by}{value:.3f} [{low:.3f}, {high:.3f}]"
            known += f" from {n:,} users" if n != state.users else ""
            compared.append(f"{words}, {figure} {known if n else 'unknown: no user has verdicts for both'}")
        progress = f"{'decided' if self.decided else 'not decided'} after {users} users"
        return StoppingStatus(self.decided, criterion.rule.level, progress, tuple(compared))

    def _advance(self, known: Mapping[int, float | None] | None) -> None:
        """Continue with the users who are finished now, with the `known` values or those that are stored."""
        ready: list[UserVerdicts] = []
        while self._next < len(self._users) and self._open[self._next] <= 0:
            cases = self._users[self._next]
            values = known or self._values(list(cases))
            ready.append({pair: values.get(case) for case, pair in cases.items()})
            self._next += 1
        if ready:
            outcomes = user_outcomes(self._criterion, ready)
            self._state = update_state(self._criterion.rule, self._state, outcomes)
            self.decided = is_decided(self._criterion.rule, self._state)


def run_decision(
    protocol: Protocol, prompt: Prompt, settings: RunSettings, cases: Sequence[Any], values: CaseValues
) -> RunDecision | None:
    """The decision of a run that stops when it is decided, up to date with the stored statuses of its `cases` for the
    aspect that decides; None where it has none."""
    criterion = stopping_criterion(protocol, prompt, settings, ((c.system_a, c.system_b) for c in cases))
    return None if criterion is None else RunDecision(criterion, cases, values)
