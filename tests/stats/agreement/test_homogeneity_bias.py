"""Whether a judge rates uniform lists higher than people do: the formula, and what its interval promises."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from recjudge_tui.stats.agreement.homogeneity_bias import HomogeneityBias, homogeneity_bias

Floats = npt.NDArray[np.float64]
NAN = np.nan


def simulated(
    seed: int, slope: float, users: int = 60, lists: int = 3, own: float = 0.7
) -> tuple[Floats, Floats, Floats, npt.NDArray[np.int64]]:
    """Lists of users whose leaning differs (`own`) around `slope`; judge and people share each list's quality."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(users), lists)
    u = rng.beta(2, 3, of.size)
    quality = rng.normal(1 - u, 0.5)
    people = quality + rng.normal(0, 0.4, of.size)
    leaning = (slope + rng.normal(0, own, users))[of]
    judge = 0.3 + quality + leaning * u + rng.normal(0, 0.4, of.size)
    return u, judge, people, of


def test_it_is_the_difference_of_two_slopes_and_of_two_rhos() -> None:
    u, judge, people, users = simulated(1, 0.8)
    found = homogeneity_bias(u, judge, people, users, resamples=0)
    slopes = [float(stats.linregress(u, side).slope) for side in (judge, people)]
    assert (found.slope_judge, found.slope_people) == pytest.approx(tuple(slopes))
    assert found.difference.value == pytest.approx(slopes[0] - slopes[1])
    rhos = [float(stats.spearmanr(u, side)[0]) for side in (judge, people)]
    assert found.rank.value == pytest.approx(rhos[0] - rhos[1])


def test_it_is_the_interaction_of_the_model_with_an_effect_for_every_list() -> None:
    u, judge, people, users = simulated(2, 0.5, users=12)
    n = u.size
    of_list = np.tile(np.eye(n), (2, 1))
    by_judge = np.repeat([1.0, 0.0], n)
    design = np.column_stack([of_list, by_judge, by_judge * np.tile(u, 2)])
    fitted = np.linalg.lstsq(design, np.concatenate([judge, people]), rcond=None)[0]
    found = homogeneity_bias(u, judge, people, users, resamples=0)
    assert found.difference.value == pytest.approx(fitted[-1])


def test_within_systems_nothing_that_sets_systems_apart_counts() -> None:
    """A judge who favours system 1, whose lists are more uniform, but leans to nothing within a system."""
    rng = np.random.default_rng(3)
    users, system = np.repeat(np.arange(100), 2), np.tile([0, 1], 100)
    u = 0.2 + 0.5 * system + rng.uniform(0, 0.2, 200)
    people = rng.normal(1, 0.3, 200)
    judge = people + system + rng.normal(0, 0.1, 200)
    overall = homogeneity_bias(u, judge, people, users, resamples=200)
    within = homogeneity_bias(u, judge, people, users, system, resamples=200)
    assert overall.difference.ci_low is not None
    assert overall.difference.ci_low > 1
    assert within.difference.value == pytest.approx(0, abs=0.4)
    # the same as taking each system's mean away by hand
    gap = judge - people
    centred = [side - np.array([side[system == s].mean() for s in (0, 1)])[system] for side in (u, gap)]
    expected = float((centred[0] * centred[1]).sum() / (centred[0] ** 2).sum())
    assert within.difference.value == pytest.approx(expected)


def covered(slope: float, seeds: range) -> tuple[float, float]:
    """How often the interval of the difference holds the planted slope, and how often it excludes 0."""
    holds = excludes = 0
    for seed in seeds:
        found = homogeneity_bias(*simulated(seed, slope), resamples=250, seed=seed).difference
        assert found.ci_low is not None
        assert found.ci_high is not None
        holds += found.ci_low <= slope <= found.ci_high
        excludes += not found.ci_low <= 0 <= found.ci_high
    return holds / len(seeds), excludes / len(seeds)


def test_coverage_and_error_rate_of_the_interval() -> None:
    """95 % intervals over 300 simulated projects, users with leanings of their own; the bounds are four standard
    errors of such a share away."""
    holds, wrong = covered(0.0, range(300))
    assert 0.90 <= holds <= 1.0
    assert wrong <= 0.10


def test_power_and_coverage_where_the_judge_leans() -> None:
    holds, found = covered(0.85, range(1000, 1150))
    assert holds >= 0.88
    assert found > 0.78


def test_the_rank_difference_finds_a_bias_only_if_there_is_one() -> None:
    wrong = right = 0
    for seed in range(60):
        none = homogeneity_bias(*simulated(seed, 0.0), resamples=200, seed=seed).rank
        some = homogeneity_bias(*simulated(seed, 1.5), resamples=200, seed=seed).rank
        assert none.ci_low is not None
        assert none.ci_high is not None
        assert some.ci_low is not None
        wrong += not none.ci_low <= 0 <= none.ci_high
        right += some.ci_low > 0
    assert wrong <= 8
    assert right >= 54


def test_a_rater_with_a_stretched_scale_has_another_slope_but_the_same_ranks() -> None:
    u, _, people, users = simulated(5, 0)
    found = homogeneity_bias(u, 3 * people + 1, people, users, resamples=50)
    assert found.difference.value == pytest.approx(2 * (found.slope_people or 0))
    assert found.rank.value == pytest.approx(0)


def undefined(found: HomogeneityBias) -> bool:
    return found.difference.value is None and found.rank.value is None


def test_undefined_figures_say_why() -> None:
    u, judge, people, users = simulated(6, 0, users=4)
    few = homogeneity_bias(u[:2], judge[:2], people[:2], users[:2])
    assert undefined(few)
    assert few.difference.note == "fewer than 3 lists"
    flat = homogeneity_bias(np.full(12, 0.3), judge, people, users)
    assert undefined(flat)
    assert flat.difference.note == "all lists are equally uniform"
    alone = homogeneity_bias(u, judge, people, np.zeros(12))
    assert alone.difference.ci_low is None
    assert "at least 5 users" in alone.rank.note
    constant = homogeneity_bias(u, judge, np.ones(12), users, resamples=50)
    assert constant.rank.value is None
    assert constant.slope_people == pytest.approx(0)
    by_list = homogeneity_bias(u, judge, people, users, np.arange(12))
    assert by_list.difference.note == "within each system all lists are equally uniform"
    with pytest.raises(ValueError, match="both ratings"):
        homogeneity_bias(u, judge[:3], people, users)


def test_missing_values_are_left_out_and_counted() -> None:
    u, judge, people, users = simulated(7, 0.5)
    holed = judge.copy()
    holed[:10] = NAN
    found = homogeneity_bias(u, holed, people, users, resamples=50)
    kept = homogeneity_bias(u[10:], judge[10:], people[10:], users[10:], resamples=50)
    assert found.difference.value == kept.difference.value
    assert found.difference.n == 170
    assert "10 of 180 lists left out" in found.difference.note
