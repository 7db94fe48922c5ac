import numpy as np
import pytest

from recjudge_tui.stats.combining import Rule, joint

NAN = np.nan


def test_majority_gives_a_split_vote_to_nobody() -> None:
    ratings = np.array([[1, 1, 1, 0], [1, -1, -1, 0], [-1, -1, 0, NAN], [NAN, 1, 0, NAN]])
    np.testing.assert_array_equal(joint("majority", ratings).values, [1, NAN, NAN, 0])


def test_majority_needs_more_than_half_not_just_the_most() -> None:
    np.testing.assert_array_equal(joint("majority", [[1], [1], [0], [-1]]).values, [NAN])
    np.testing.assert_array_equal(joint("majority", [[1], [1], [1], [0]]).values, [1])


@pytest.mark.parametrize("rule", ["strict", "conservative", "majority", "mean"])
def test_quorum(rule: Rule) -> None:
    ratings = [[1, NAN, NAN], [NAN, 1, NAN]]
    np.testing.assert_array_equal(joint(rule, ratings).values, [NAN, NAN, NAN])
    np.testing.assert_array_equal(joint(rule, ratings, quorum=1).values, [1, 1, NAN])
    with pytest.raises(ValueError, match="at least one"):
        joint(rule, ratings, quorum=0)
    with pytest.raises(ValueError, match="raters, items"):
        joint(rule, [1, 2])
