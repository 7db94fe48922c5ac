"""Bradley and Terry's ratings: against published figures, evalica and choix, and by what must hold of any."""

from __future__ import annotations

import math
from typing import Any

import choix
import evalica
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import minimize
from scipy.stats import t

from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.ranking.battles import PairCounts, pair_counts, user_counts
from recjudge_tui.stats.ranking.bradley_terry import SCALE, bradley_terry, rating_intervals
from recjudge_tui.stats.ranking.connectivity import Ties
from recjudge_tui.stats.ranking.outcome_intervals import SAME_RECORD
from recjudge_tui.stats.resampling.intervals import student_interval
from recjudge_tui.stats.resampling.jackknife import spread_of

Rows = tuple[IntArray, IntArray, IntArray]
TIES: tuple[Ties, ...] = ("davidson", "half")
WINNERS = {1: evalica.Winner.X, 0: evalica.Winner.Draw, -1: evalica.Winner.Y}

# the 1987 season of the American League, wins of the row over the column: Agresti, Categorical Data
# Analysis (2002), table 10.10; strengths against Baltimore as printed there
LEAGUE = np.array([
    [0, 7, 9, 7, 7, 9, 11], [6, 0, 7, 5, 11, 9, 9], [4, 6, 0, 7, 7, 8, 12], [6, 8, 6, 0, 6, 7, 10],
    [6, 2, 6, 7, 0, 7, 12], [4, 4, 5, 6, 6, 0, 6], [2, 4, 1, 3, 1, 7, 0],
])  # fmt: skip
PRINTED = (1.581, 1.436, 1.294, 1.248, 1.108, 0.684, 0.0)


def drawn(n: int, systems: int, seed: int, tie: float = 0.5) -> Rows:
    """Battles from Davidson's own model."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, 0.8, systems)
    a = rng.integers(0, systems, n)
    b = (a + rng.integers(1, systems, n)) % systems
    win, lose = np.exp((strength[a] - strength[b]) / 2), np.exp((strength[b] - strength[a]) / 2)
    at = rng.random(n) * (win + lose + tie)
    return a, b, np.where(at < win, 1, np.where(at < win + tie, 0, -1))


def logs(ratings: FloatArray) -> FloatArray:
    centred: FloatArray = (ratings - ratings.mean()) / SCALE
    return centred


def of_evalica(scores: Any) -> FloatArray:
    values = np.log(scores.sort_index().to_numpy())
    centred: FloatArray = values - values.mean()
    return centred


def test_the_american_league_as_published() -> None:
    a, b = np.nonzero(LEAGUE)
    times = LEAGUE[a, b]
    found = bradley_terry(pair_counts(a.repeat(times), b.repeat(times), np.ones(times.sum()), 7))
    assert logs(found.ratings) - logs(found.ratings)[6] == pytest.approx(PRINTED, abs=6e-4)
    assert found.places() == [1, 2, 3, 4, 5, 6, 7]
    assert found.tie == 0


def test_400_points_are_odds_of_ten_and_the_mean_is_1000() -> None:
    found = bradley_terry(pair_counts([0] * 11, [1] * 11, [1] * 10 + [-1], 2))
    assert found.ratings == pytest.approx([1200, 800])


@pytest.mark.parametrize("systems", [2, 5, 20])
def test_half_wins_against_evalica(systems: int) -> None:
    a, b, outcome = drawn(400 * systems, systems, seed=systems)
    theirs = evalica.bradley_terry(
        a,
        b,
        [WINNERS[y] for y in outcome.tolist()],
        tolerance=1e-12,
        limit=5000,
    )
    ours = bradley_terry(pair_counts(a, b, outcome, systems), "half")
    assert logs(ours.ratings) == pytest.approx(of_evalica(theirs.scores), abs=1e-5)
    assert ours.tie is None


@pytest.mark.parametrize("systems", [2, 5, 20])
def test_davidsons_ties_against_newman_in_evalica(systems: int) -> None:
    """Newman (2023) writes the same model with half the tie parameter."""
    a, b, outcome = drawn(400 * systems, systems, seed=10 + systems, tie=0.8)
    theirs = evalica.newman(
        a,
        b,
        [WINNERS[y] for y in outcome.tolist()],
        tolerance=1e-12,
        limit=5000,
    )
    ours = bradley_terry(pair_counts(a, b, outcome, systems))
    assert logs(ours.ratings) == pytest.approx(of_evalica(theirs.scores), abs=1e-5)
    assert ours.tie == pytest.approx(2 * theirs.v, abs=1e-5)


def test_without_ties_against_choix() -> None:
    a, b, outcome = drawn(3000, 8, seed=4, tie=0.0)
    battles = [(i, j) if y > 0 else (j, i) for i, j, y in zip(a, b, outcome, strict=True)]
    for ties in TIES:
        ours = bradley_terry(pair_counts(a, b, outcome, 8), ties)
        assert logs(ours.ratings) == pytest.approx(choix.ilsr_pairwise(8, battles, max_iter=500), abs=1e-6)


def test_davidsons_maximum_against_a_general_optimiser() -> None:
    a, b, outcome = drawn(300, 4, seed=8)

    def loss(x: FloatArray) -> float:
        gap = np.r_[0, x[:3]][a] - np.r_[0, x[:3]][b]
        parts = np.stack([np.exp(gap / 2), np.full(a.size, math.exp(x[3])), np.exp(-gap / 2)])
        return -float(np.log(parts[1 - outcome, np.arange(a.size)] / parts.sum(axis=0)).sum())

    best = minimize(loss, np.zeros(4), method="BFGS")
    found = bradley_terry(pair_counts(a, b, outcome, 4))
    assert logs(found.ratings) - logs(found.ratings)[0] == pytest.approx(np.r_[0, best.x[:3]], abs=1e-4)
    assert found.tie == pytest.approx(math.exp(best.x[3]), rel=1e-4)


@st.composite
def connected(draw: st.DrawFn) -> tuple[Rows, int]:
    """Battles in which every system beat every other one at least once."""
    systems = draw(st.integers(2, 5))
    pairs = [(i, j) for i in range(systems) for j in range(systems) if i != j]
    more = draw(st.lists(st.tuples(st.sampled_from(pairs), st.sampled_from([1, 0, -1])), max_size=60))
    rows = [(i, j, 1) for i, j in pairs] + [(i, j, y) for (i, j), y in more]
    a, b, outcome = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    return (a, b, outcome), systems


@given(connected(), st.sampled_from(TIES), st.integers(0, 2**32))
def test_names_order_and_sides_do_not_matter(data: tuple[Rows, int], ties: Ties, seed: int) -> None:
    (a, b, outcome), systems = data
    rng = np.random.default_rng(seed)
    plain = bradley_terry(pair_counts(a, b, outcome, systems), ties).ratings
    name, order = rng.permutation(systems), rng.permutation(a.size)
    renamed = bradley_terry(pair_counts(name[a], name[b], outcome, systems), ties).ratings
    assert renamed[name] == pytest.approx(plain, abs=1e-6)
    shuffled = bradley_terry(pair_counts(a[order], b[order], outcome[order], systems), ties).ratings
    assert shuffled == pytest.approx(plain, abs=1e-9)
    seen_from_b = bradley_terry(pair_counts(b, a, -outcome, systems), ties).ratings
    assert seen_from_b == pytest.approx(plain, abs=1e-9)
    reversed_ = bradley_terry(pair_counts(a, b, -outcome, systems), ties).ratings
    assert reversed_ == pytest.approx(2000 - plain, abs=1e-6)


@given(connected(), st.sampled_from(TIES))
def test_the_fit_gives_back_what_each_system_won(data: tuple[Rows, int], ties: Ties) -> None:
    """At the maximum, expected wins + ties/2 of every system are those observed, and so are the ties."""
    (a, b, outcome), systems = data
    pairs = pair_counts(a, b, outcome, systems)
    found = bradley_terry(pairs, ties)
    gap = (found.ratings[pairs.first] - found.ratings[pairs.second]) / SCALE
    tie = found.tie or 0.0
    whole = np.exp(gap / 2) + np.exp(-gap / 2) + tie
    n = pairs.counts.sum(axis=1)
    expected = np.stack([n * np.exp(gap / 2) / whole, n * tie / whole, n * np.exp(-gap / 2) / whole], axis=1)
    model = PairCounts(systems, pairs.first, pairs.second, expected).tallies()
    seen = pairs.tallies()
    assert model[:, 0] + model[:, 1] / 2 == pytest.approx(seen[:, 0] + seen[:, 1] / 2, abs=1e-6)
    if ties == "davidson":
        assert model[:, 1].sum() == pytest.approx(seen[:, 1].sum(), abs=1e-6)


@given(st.integers(2, 6), st.integers(1, 9), st.integers(0, 9), st.sampled_from(TIES))
def test_symmetric_results_rate_all_alike(systems: int, wins: int, draws: int, ties: Ties) -> None:
    pairs = [(i, j) for i in range(systems) for j in range(systems) if i != j]
    rows = [(i, j, y) for i, j in pairs for y in [1] * wins + [0] * draws]
    a, b, outcome = zip(*rows, strict=True)
    found = bradley_terry(pair_counts(a, b, outcome, systems), ties)
    assert found.ratings == pytest.approx([1000.0] * systems, abs=1e-6)
    assert found.places() == [1] * systems


def test_extreme_results_still_have_a_maximum() -> None:
    found = bradley_terry(pair_counts([0] * 100_001, [1] * 100_001, [1] * 100_000 + [-1], 2))
    assert found.ratings[0] - found.ratings[1] == pytest.approx(400 * 5)


def test_the_interval_of_a_rating_is_that_of_theory() -> None:
    """Two systems, one battle a user: the variance of the log odds is 1/wins + 1/losses, half of it for each rating."""
    counts = user_counts([0] * 2000, [1] * 2000, [1] * 1200 + [-1] * 800, np.arange(2000), 2)
    ends = rating_intervals(counts, bradley_terry(counts.total), "davidson")
    half = t.ppf(0.975, 1999) * SCALE / 2 * math.sqrt(1 / 1200 + 1 / 800)
    assert ends[0].low is not None
    assert ends[0].high is not None
    assert (ends[0].high - ends[0].low) / 2 == pytest.approx(half, rel=0.005)


@pytest.mark.parametrize("ties", TIES)
def test_the_influence_of_a_user_is_what_leaving_them_out_changes(ties: Ties) -> None:
    a, b, outcome = drawn(900, 4, seed=3)
    users = np.arange(900) // 3
    counts = user_counts(a, b, outcome, users, 4)
    ends = rating_intervals(counts, bradley_terry(counts.total, ties), ties)
    whole = bradley_terry(counts.total, ties).ratings
    without = np.stack(
        [
            bradley_terry(pair_counts(a[users != at], b[users != at], outcome[users != at], 4), ties).ratings
            for at in range(300)
        ]
    )
    for system, end in enumerate(ends):
        jackknife = student_interval(whole[system], spread_of(whole[system], without[:, system]))
        assert (end.low, end.high) == pytest.approx((jackknife.low, jackknife.high), abs=0.6)


def test_a_system_without_a_win_takes_no_interval_from_the_others() -> None:
    a, b, outcome = drawn(600, 3, seed=5)
    loses = np.tile([0, 1, 2], 200)
    counts = user_counts(
        np.r_[a, loses], np.r_[b, np.full(600, 3)], np.r_[outcome, np.ones(600)],
        np.r_[np.arange(600), np.arange(600)], 4,
    )  # fmt: skip
    ends = rating_intervals(counts, bradley_terry(counts.total), "davidson")
    alone = user_counts(a, b, outcome, np.arange(600), 3)
    assert [end.low is None for end in ends] == [False, False, False, True]
    assert "only lost" in ends[3].note
    for end, same in zip(
        ends[:3], rating_intervals(alone, bradley_terry(alone.total), "davidson"), strict=True
    ):
        assert (end.low, end.high) == pytest.approx((same.low, same.high), rel=1e-6)


def test_few_users_have_no_interval() -> None:
    counts = user_counts([0, 0, 0], [1, 1, 1], [1, 1, -1], [1, 2, 3], 2)
    ends = rating_intervals(counts, bradley_terry(counts.total), "davidson")
    assert [end.low for end in ends] == [None, None]
    assert "at least 5 users" in ends[0].note


def test_a_system_that_every_user_puts_third_of_four_has_no_interval() -> None:
    """The others' ratings move its own a little, which says nothing of users who would put it elsewhere."""
    first, second = np.triu_indices(4, 1)
    places = np.array(
        [[0, 1, 2, 3], [3, 0, 2, 1], [1, 3, 2, 0], [1, 0, 2, 3], [0, 3, 2, 1], [3, 1, 2, 0], [0, 1, 2, 3]]
    )
    users = np.repeat(np.arange(7), 6)

    def notes() -> list[str]:
        won = np.sign(places[:, second] - places[:, first]).ravel()
        counts = user_counts(np.tile(first, 7), np.tile(second, 7), won, users, 4)
        return [end.note for end in rating_intervals(counts, bradley_terry(counts.total), "davidson")]

    assert notes() == ["", "", SAME_RECORD, ""]
    places[0] = 1, 2, 0, 3
    assert notes() == ["", "", "", ""]


def test_a_hundred_systems_have_intervals() -> None:
    rng = np.random.default_rng(9)
    a = rng.integers(0, 100, 10_000)
    b = (a + rng.integers(1, 100, 10_000)) % 100
    outcome = np.sign(rng.normal(0, 1, 10_000) + (b - a) / 50).astype(np.int64)
    counts = user_counts(a, b, outcome, rng.integers(0, 2000, 10_000), 100)
    ends = rating_intervals(counts, bradley_terry(counts.total), "davidson")
    assert sum(end.low is not None for end in ends) > 90
