"""Counts of battles by pair and by user."""

from __future__ import annotations

import numpy as np
import pytest

from recjudge_tui.stats.ranking.battles import pair_counts, user_counts

A, B, Y = [0, 1, 2, 0, 1, 0], [1, 0, 0, 2, 2, 1], [1, 1, 0, -1, 1, np.nan]


def test_counts_are_seen_from_the_lower_number() -> None:
    found = pair_counts(A, B, Y, 4)
    assert list(zip(found.first.tolist(), found.second.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2)]
    assert found.counts.tolist() == [[1, 0, 1], [0, 1, 1], [1, 0, 0]]
    assert found.tallies().tolist() == [[1, 1, 2], [2, 0, 1], [1, 1, 1], [0, 0, 0]]


@pytest.mark.parametrize(
    ("a", "b", "y", "words"),
    [
        ([0], [0], [1], "itself"),
        ([0], [3], [1], "between 0 and 1"),
        ([0], [-1], [1], "between"),
        ([0], [1], [2], "outcome"),
        ([0], [1], [0.5], "outcome"),
        ([0, 1], [1], [1], "systems"),
    ],
)
def test_what_cannot_be_is_refused(a: list[int], b: list[int], y: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        pair_counts(a, b, y, 2)


def test_no_battles() -> None:
    found = user_counts([], [], [], [], 3)
    assert found.total.counts.shape == (0, 3)
    assert found.count == 0
    assert found.users_of_systems().tolist() == [0, 0, 0]


def test_users_with_equal_rows_are_kept_once() -> None:
    users = ["u", "u", "v", "w", "w", "x"]
    found = user_counts([0, 0, 1, 0, 0, 2], [1, 1, 0, 1, 1, 0], [1, 0, 1, 0, 1, 1], users, 3)
    assert sorted(found.users.tolist()) == [1, 1, 2]
    weights = found.users[:, None]
    assert (
        np.asarray(found.rows.toarray() * weights).sum(axis=0).tolist() == found.total.counts.ravel().tolist()
    )
    assert found.users_of_systems().tolist() == [4, 3, 1]
    assert found.users_of_pairs().tolist() == [3, 1]
    assert found.users_for_and_against().tolist() == [[2, 1], [0, 1]]
