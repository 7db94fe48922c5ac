"""Whether labelled cases are a random sample: by hand, by Fisher's exact test, and whatever the order of rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import fisher_exact

from recjudge_tui.stats.experiments import prediction_powered as pp
from recjudge_tui.stats.experiments.balance import balance_p


def table(labelled: tuple[int, int], others: tuple[int, int]) -> tuple[list[float], list[bool]]:
    """(right, wrong) of the labelled users and of the others, as scores and labels."""
    scores = [1.0] * labelled[0] + [0.0] * labelled[1] + [1.0] * others[0] + [0.0] * others[1]
    return scores, [True] * sum(labelled) + [False] * sum(others)


@pytest.mark.parametrize(
    ("labelled", "others"), [((18, 7), (11, 14)), ((30, 20), (20, 30)), ((6, 6), (5, 7))]
)
def test_one_case_a_user_with_halves_of_one_size_is_fishers_exact_test(
    labelled: tuple[int, int], others: tuple[int, int]
) -> None:
    scores, here = table(labelled, others)
    expected = fisher_exact([labelled, others]).pvalue
    # four standard errors of 1,999 assignments
    found = balance_p(np.array(scores), np.arange(len(here)), np.array(here))
    assert found == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 1999) + 5e-4)


def test_users_count_and_not_their_cases() -> None:
    """Twenty users, labelled as a whole, ten cases each that are alike: the same p as with one case each."""
    scores, here = np.arange(20) % 3 == 0, np.arange(20) % 2 == 0
    one = balance_p(scores.astype(float), np.arange(20), here)
    ten = balance_p(np.repeat(scores, 10).astype(float), np.repeat(np.arange(20), 10), np.repeat(here, 10))
    assert ten == one


def test_labelled_cases_within_users() -> None:
    """Of each user the better half is labelled; nothing differs between users."""
    scores, users = np.tile([1.0, 1.0, 0.0, 0.0], 12), np.repeat(np.arange(12), 4)
    assert balance_p(scores, users, scores == 1) == pytest.approx(1 / 2000)
    assert balance_p(scores, users, np.tile([True, False, True, False], 12)) == 1.0


def test_neither_the_order_of_rows_nor_the_numbers_of_users_matter() -> None:
    rng = np.random.default_rng(3)
    users = rng.integers(0, 15, 60)
    scores, here = rng.random(60), rng.random(60) < 0.4
    moved, renamed = rng.permutation(60), rng.permutation(15)
    assert balance_p(scores[moved], renamed[users][moved], here[moved]) == balance_p(scores, users, here)


@pytest.mark.parametrize("labelled", [True, False])
def test_all_or_none_labelled_is_refused(labelled: bool) -> None:
    with pytest.raises(ValueError, match="some cases must be labelled"):
        balance_p(np.arange(3.0), np.arange(3), np.full(3, labelled))


def test_a_gap_that_only_students_test_finds_makes_no_claim() -> None:
    """5.6 % of samples look like this one or worse: Student gives .049, Fisher's exact test .066."""
    scores, here = table((55, 45), (41, 59))
    human = np.where(here, 1.0, np.nan)
    found = pp.prediction_powered_mean(human, scores, np.arange(200)).balance_p
    assert found is not None
    assert found == pytest.approx(fisher_exact([(55, 45), (41, 59)]).pvalue, abs=0.02)
    assert found > 0.05
