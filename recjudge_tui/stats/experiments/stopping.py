"""Early stopping: pairs of systems are compared user by user until every confidence sequence is decisive."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recjudge_tui.stats.arrays import BoolArray, FloatArray
from recjudge_tui.stats.defaults import LEVEL
from recjudge_tui.stats.experiments.confidence_sequences import ConfidenceSequence, advance

EVEN = 0.5


@dataclass(frozen=True)
class StoppingRule:
    """Stop when each of `pairs` comparisons is decided.

    A comparison is the mean of values between 0 and 1. It is decided once its interval lies on one side of one
    half, or is no wider than `margin` (None: no such limit). All intervals hold together, at every look, with
    probability `level`: each has the level 1 - (1 - level) / pairs (Bonferroni).
    """

    pairs: int
    margin: float | None = None
    level: float = LEVEL


@dataclass(frozen=True)
class StoppingState:
    """The comparisons after `users` users: one confidence sequence per pair."""

    users: int
    sequences: tuple[ConfidenceSequence, ...]


def initial_state(rule: StoppingRule) -> StoppingState:
    """The state before the first user. Raises ValueError for a rule without pairs."""
    if rule.pairs < 1:
        raise ValueError("nothing is compared")
    return StoppingState(0, (ConfidenceSequence(level=1 - (1 - rule.level) / rule.pairs),) * rule.pairs)


def is_decided(rule: StoppingRule, state: StoppingState) -> bool:
    """Whether every comparison is decided."""
    return all(_is_pair_decided(rule, sequence) for sequence in state.sequences)


def update_state(rule: StoppingRule, state: StoppingState, outcomes: FloatArray) -> StoppingState:
    """The state after `outcomes` (users, pairs), NaN where a user has no value for a pair.

    Stops at the user who decides the last comparison and ignores the users after that one, so the same users in
    the same order stop at the same user however they are split over calls. A decided comparison stays decided,
    because intervals never widen.
    """
    if is_decided(rule, state) or not len(outcomes):
        return state
    after, deciding = _after_users(rule, state, outcomes)
    last = max(deciding) + 1
    if last < len(outcomes):
        after, _ = _after_users(rule, state, outcomes[:last])
    return after


def _after_users(
    rule: StoppingRule, state: StoppingState, outcomes: FloatArray
) -> tuple[StoppingState, list[int]]:
    """The state after all these users, and the row of the user who decides each pair (an index past the end if none
    does).
    """
    sequences, deciding = [], []
    for sequence, column in zip(state.sequences, outcomes.T, strict=True):
        rows = np.flatnonzero(~np.isnan(column))
        after, low, high = advance(sequence, column[rows])
        decided = np.flatnonzero(_decided(rule, low, high))
        first = int(rows[decided[0]]) if decided.size else len(outcomes)
        deciding.append(0 if _is_pair_decided(rule, sequence) else first)
        sequences.append(after)
    return StoppingState(state.users + len(outcomes), tuple(sequences)), deciding


def _is_pair_decided(rule: StoppingRule, sequence: ConfidenceSequence) -> bool:
    return bool(_decided(rule, np.array([sequence.low]), np.array([sequence.high]))[0])


def _decided(rule: StoppingRule, low: FloatArray, high: FloatArray) -> BoolArray:
    # an end is itself rejected, so an end at one half decides
    decided: BoolArray = (low >= EVEN) | (high <= EVEN)
    if rule.margin is not None:
        decided |= high - low <= rule.margin + 1e-12
    return decided
