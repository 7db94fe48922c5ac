import numpy as np

from recjudge_tui.stats.agreement.consistency import position_consistency_estimate
from recjudge_tui.stats.intervals import clopper_pearson


def test_consistency_of_saer_table_2() -> None:
    """200 pairs, 24 answered differently when the lists were swapped: 88.0 %."""
    first = np.r_[np.ones(100), -np.ones(76), np.ones(24)]
    swapped = np.r_[np.ones(100), -np.ones(76), -np.ones(24)]
    estimate = position_consistency_estimate(first, swapped, np.arange(200))
    assert estimate.value == 0.88
    assert estimate == clopper_pearson(176, 200)


def test_a_judge_who_always_picks_set_1_is_never_consistent() -> None:
    assert position_consistency_estimate([1, 1, 1], [-1, -1, -1], ["u", "v", "w"]).value == 0


def test_failed_answers_are_left_out() -> None:
    estimate = position_consistency_estimate([1, np.nan, 0], [1, 1, 1], ["u", "v", "w"])
    assert (estimate.value, estimate.n) == (0.5, 2)
    assert position_consistency_estimate([np.nan], [1], ["u"]).value is None
