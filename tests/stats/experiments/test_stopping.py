"""Stopping when every pair is decided: by whom, whatever the pieces in which users come."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.experiments.confidence_sequences import ConfidenceSequence, advance
from recjudge_tui.stats.experiments.stopping import (
    StoppingRule,
    StoppingState,
    initial_state,
    is_decided,
    update_state,
)
from tests.support.betting import log_wealth

ROWS = st.lists(st.tuples(*[st.sampled_from([0.0, 0.5, 1.0, math.nan])] * 2), max_size=60)


def rows(values: list[tuple[float, ...]]) -> FloatArray:
    return np.array(values, dtype=np.float64).reshape(-1, 2)


def seen(followed: StoppingState) -> list[tuple[int, float, float]]:
    return [(sequence.n, sequence.low, sequence.high) for sequence in followed.sequences]


def test_it_stops_at_the_user_by_whom_the_last_pair_is_decided() -> None:
    """Ten unanimous users decide one pair at 95 %; two pairs have 97.5 % each and need log(80)/log(1.5), 11."""
    rule = StoppingRule(2)
    outcomes = np.ones((40, 2))
    outcomes[:5, 1] = np.nan
    ended = update_state(rule, initial_state(rule), outcomes)
    assert (ended.users, is_decided(rule, ended)) == (16, True)
    assert [sequence.n for sequence in ended.sequences] == [16, 11]


def test_a_margin_decides_what_is_even() -> None:
    outcomes = np.full((400, 1), 0.5)
    assert not is_decided(
        StoppingRule(1), update_state(StoppingRule(1), initial_state(StoppingRule(1)), outcomes)
    )
    rule = StoppingRule(1, margin=0.2)
    ended = update_state(rule, initial_state(rule), outcomes)
    _, low, high = advance(ConfidenceSequence(), outcomes[:, 0])
    assert ended.users == int(np.flatnonzero(high - low <= 0.2 + 1e-12)[0]) + 1 < 400


def test_nothing_is_looked_at_after_the_deciding_user() -> None:
    rule = StoppingRule(1)
    ended = update_state(rule, initial_state(rule), np.ones((10, 1)))
    assert (ended.users, is_decided(rule, ended)) == (10, True)
    assert update_state(rule, ended, np.zeros((500, 1))) is ended


def test_a_pair_without_verdicts_is_never_decided() -> None:
    rule = StoppingRule(2)
    outcomes = np.column_stack([np.ones(200), np.full(200, np.nan)])
    ended = update_state(rule, initial_state(rule), outcomes)
    assert (ended.users, is_decided(rule, ended), ended.sequences[1].mean) == (200, False, None)


@given(ROWS, st.integers(1, 20), st.sampled_from([None, 0.4]))
def test_users_may_come_in_pieces(values: list[tuple[float, ...]], step: int, margin: float | None) -> None:
    rule, outcomes = StoppingRule(2, margin), rows(values)
    whole = update_state(rule, initial_state(rule), outcomes)
    pieces = initial_state(rule)
    for start in range(0, len(outcomes), step):
        pieces = update_state(rule, pieces, outcomes[start : start + step])
    assert pieces.users == whole.users
    assert seen(pieces) == seen(whole)


def test_every_pair_has_its_share_of_the_error() -> None:
    """Of 600 runs over three pairs of equal systems, watched for 400 users, at most 5 % ever call any pair."""
    rng = np.random.default_rng(31)
    rule = StoppingRule(3)
    level = initial_state(rule).sequences[0].level
    assert level == pytest.approx(1 - 0.05 / 3)
    wealth = log_wealth(rng.choice([0.0, 0.5, 1.0], size=(600, 3, 400)), 0.5, level)
    called = wealth.max(axis=(1, 2)) >= math.log(1 / (1 - level))
    assert called.mean() <= 0.05
    outcomes = rng.choice([0.0, 0.5, 1.0], size=(300, 1), p=(0.1, 0.2, 0.7))
    crossed = np.flatnonzero(log_wealth(outcomes[:, 0], 0.5) >= math.log(20))
    assert update_state(StoppingRule(1), initial_state(StoppingRule(1)), outcomes).users == crossed[0] + 1


def test_no_pair_is_no_rule() -> None:
    with pytest.raises(ValueError, match="nothing"):
        initial_state(StoppingRule(0))
