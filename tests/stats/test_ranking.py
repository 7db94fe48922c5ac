"""Rankings: against published figures, evalica and choix, and by what must hold of any."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import choix
import evalica
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import linprog
from scipy.stats import t

from recjudge_tui.stats import ranking as rk
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.estimate import Interval
from recjudge_tui.stats.hypotheses import sign_flip_test
from recjudge_tui.stats.intervals import clopper_pearson
from recjudge_tui.stats.ranking import (
    SCALE,
    PairCounts,
    Ties,
    UserCounts,
    bradley_terry,
    rating_intervals,
    user_counts,
)

Battle = tuple[int, int, int]


def pair_counts(a: Any, b: Any, outcome: Any, systems: int) -> PairCounts:
    return user_counts(a, b, outcome, np.arange(len(outcome)), systems).total


def counts(rows: list[Battle], systems: int) -> PairCounts:
    a, b, outcome = zip(*rows, strict=True) if rows else ((), (), ())
    return pair_counts(a, b, outcome, systems)


def battles_of(outcomes: dict[tuple[int, int], list[int]], systems: int) -> UserCounts:
    """One battle of each pair by each user 0, 1, ..."""
    rows = [(a, b, y, user) for (a, b), values in outcomes.items() for user, y in enumerate(values)]
    a, b, y, user = (np.array(column) for column in zip(*rows, strict=True))
    return user_counts(a, b, y, user, systems)


# ---- Q and win rates --------------------------------------------------------------------------------------------------


def one_system(outcomes: Any, figure: rk.Figure, users: Any = None, **options: Any) -> Interval:
    """The interval of a system against another, by default with a user for each battle."""
    number = np.arange(len(outcomes))
    found = user_counts(0 * number, 0 * number + 1, outcomes, number if users is None else users, 2)
    return rk.pair_intervals(found, figure, **options)[0][0]


@pytest.mark.parametrize(("shares", "printed"), [((61.1, 14.7, 24.2), 1.9485), ((71.9, 11.0, 17.1), 2.9501)])
def test_q_as_published_by_recsys_arena(shares: tuple[float, float, float], printed: float) -> None:
    """The paper cuts after four places instead of rounding."""
    assert np.floor(rk.q_of(np.array(shares)) * 10_000) / 10_000 == printed


def test_a_system_that_never_lost_and_failures() -> None:
    assert np.isnan(rk.q_of(np.array([5.0, 0, 0])))
    assert one_system([1, 1], "q") == Interval(None, None, "no interval: never lost or tied")
    assert one_system([1, 1, np.nan], "win_rate") == Interval(pytest.approx(0.025**0.5), 1)
    assert rk.tally([1, 0, -1, np.nan, 1]) == {"wins": 2, "ties": 1, "losses": 1, "failed": 1, "n": 4}
    with pytest.raises(ValueError, match="outcome"):
        rk.tally([2])


def test_ties_count_as_wins_as_halves_or_not_at_all() -> None:
    outcomes = [1] * 30 + [0] * 40 + [-1] * 10
    for how, rate in (("win", 7 / 8), ("half", 5 / 8), ("none", 3 / 4)):
        assert rk.win_rate_of(np.array([3.0, 4.0, 1.0]), how) == rate
        found = one_system(outcomes, "win_rate", count_ties=how)
        assert (found.low or 1) < rate < (found.high or 0)
    assert np.isnan(rk.win_rate_of(np.array([0.0, 5, 0]), "none"))


def test_a_win_rate_of_few_is_exact_and_q_follows_from_it() -> None:
    rate, q = (one_system([1] * 12 + [-1] * 8, figure) for figure in ("win_rate", "q"))
    low, high = rate.low or 0, rate.high or 0
    assert (low, high) == pytest.approx(tuple(clopper_pearson(12, 20).ends().values()))
    assert (q.low, q.high) == pytest.approx((low / (1 - low), high / (1 - high)))


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([1, 0, -1])), min_size=2, max_size=50))
def test_the_other_side_is_the_mirror(rows: list[tuple[int, int]]) -> None:
    users, outcomes = np.array(rows).T
    one, other = (one_system(side, "win_rate", users) for side in (outcomes, -outcomes))
    if one.low is not None:
        assert one.low == pytest.approx(1 - (other.high or 0), abs=1e-9)


def test_counts_are_seen_from_the_lower_number() -> None:
    users = ["u", "v", "v", "w", "w", "x"]
    found = user_counts([0, 1, 2, 0, 1, 0], [1, 0, 0, 2, 2, 1], [1, 1, 0, -1, 1, np.nan], users, 4)
    total = found.total
    assert list(zip(total.first.tolist(), total.second.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2)]
    assert total.counts.tolist() == [[1, 0, 1], [0, 1, 1], [1, 0, 0]]
    assert total.tallies().tolist() == [[1, 1, 2], [2, 0, 1], [1, 1, 1], [0, 0, 0]]
    assert (found.count, found.users_of_systems.tolist(), found.users_of_pairs.tolist()) == (
        3,
        [3, 3, 2, 0],
        [2, 2, 1],
    )
    none = user_counts([], [], [], [], 3)
    assert (none.count, none.users_of_systems.tolist()) == (0, [0, 0, 0])


@pytest.mark.parametrize(
    ("a", "b", "y", "words"),
    [([0], [0], [1], "itself"), ([0], [3], [1], "between 0 and 1"), ([0], [-1], [1], "between"),
     ([0], [1], [2], "outcome"), ([0], [1], [0.5], "outcome"), ([0, 1], [1], [1], "systems")],
)  # fmt: skip
def test_what_cannot_be_is_refused(a: list[int], b: list[int], y: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        pair_counts(a, b, y, 2)


# ---- Bradley and Terry ------------------------------------------------------------------------------------------------


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


def by_evalica(
    method: Callable[..., Any], a: IntArray, b: IntArray, outcome: IntArray
) -> tuple[FloatArray, Any]:
    """The logs of its scores around their mean, and all that it found."""
    found = method(a, b, [WINNERS[y] for y in outcome.tolist()], tolerance=1e-12, limit=5000)
    values = np.log(found.scores.sort_index().to_numpy())
    return values - values.mean(), found


def test_the_american_league_as_published() -> None:
    a, b = np.nonzero(LEAGUE)
    times = LEAGUE[a, b]
    found = bradley_terry(pair_counts(a.repeat(times), b.repeat(times), np.ones(times.sum()), 7))
    assert logs(found.ratings) - logs(found.ratings)[6] == pytest.approx(PRINTED, abs=6e-4)
    assert found.places() == [1, 2, 3, 4, 5, 6, 7]
    assert found.tie == 0


@pytest.mark.parametrize("systems", [2, 5, 20])
def test_half_wins_against_evalica(systems: int) -> None:
    a, b, outcome = drawn(400 * systems, systems, seed=systems)
    theirs, _ = by_evalica(evalica.bradley_terry, a, b, outcome)
    ours = bradley_terry(pair_counts(a, b, outcome, systems), "half")
    assert logs(ours.ratings) == pytest.approx(theirs, abs=1e-5)
    assert ours.tie is None


@pytest.mark.parametrize("systems", [2, 5, 20])
def test_davidsons_ties_against_newman_in_evalica(systems: int) -> None:
    """Newman (2023) writes the same model with half the tie parameter."""
    a, b, outcome = drawn(400 * systems, systems, seed=10 + systems, tie=0.8)
    theirs, found = by_evalica(evalica.newman, a, b, outcome)
    ours = bradley_terry(pair_counts(a, b, outcome, systems))
    assert logs(ours.ratings) == pytest.approx(theirs, abs=1e-5)
    assert ours.tie == pytest.approx(2 * found.v, abs=1e-5)


def test_without_ties_against_choix() -> None:
    a, b, outcome = drawn(3000, 8, seed=4, tie=0.0)
    battles = [(i, j) if y > 0 else (j, i) for i, j, y in zip(a, b, outcome, strict=True)]
    for ties in TIES:
        ours = bradley_terry(pair_counts(a, b, outcome, 8), ties)
        assert logs(ours.ratings) == pytest.approx(choix.ilsr_pairwise(8, battles, max_iter=500), abs=1e-6)


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


def test_the_interval_of_a_rating_is_that_of_theory() -> None:
    """Two systems, one battle a user: the variance of the log odds is 1/wins + 1/losses, half of it for each rating."""
    counts = user_counts([0] * 2000, [1] * 2000, [1] * 1200 + [-1] * 800, np.arange(2000), 2)
    ends = rating_intervals(counts, bradley_terry(counts.total))
    half = t.ppf(0.975, 1999) * SCALE / 2 * math.sqrt(1 / 1200 + 1 / 800)
    assert (ends[0].high - ends[0].low) / 2 == pytest.approx(half, rel=0.005)


@pytest.mark.parametrize("ties", TIES)
def test_the_sandwich_is_nearly_the_jackknife(ties: Ties) -> None:
    a, b, outcome = drawn(900, 4, seed=3)
    users = np.arange(900) // 3
    counts = user_counts(a, b, outcome, users, 4)
    fitted = bradley_terry(counts.total, ties)
    without = np.stack([
        bradley_terry(pair_counts(a[users != at], b[users != at], outcome[users != at], 4), ties).ratings
        for at in range(300)
    ])  # fmt: skip
    apart = without - without.mean(axis=0)
    assert rk.rating_covariance(counts, fitted)[0] == pytest.approx(
        299 / 300 * apart.T @ apart, rel=0.05, abs=2
    )


# ---- which systems can be rated ---------------------------------------------------------------------------------------


def test_only_won_only_lost_and_not_connected_are_refused_with_the_reason() -> None:
    cycle = [(0, 1, 1), (1, 2, 1), (2, 0, 1)]
    rows = [*cycle, (3, 0, 1), (3, 1, 1), (4, 0, -1), (4, 2, -1), (5, 6, 1), (6, 5, 1), (5, 6, 1)]
    found = bradley_terry(counts(rows, 8))
    assert found.connectivity.rated.tolist() == [0, 1, 2]
    assert found.connectivity.notes == (
        "", "", "", rk.WON_ALL, rk.LOST_ALL, rk.APART, rk.APART, rk.NO_VERDICTS,
    )  # fmt: skip
    assert found.ratings[:3] == pytest.approx([1000] * 3)
    assert np.isnan(found.ratings[3:]).all()


def test_one_that_only_lost_to_another_outside_the_set_is_below_it_and_one_that_also_tied_did_not_only_lose() -> (
    None
):
    cycle = [(0, 1, 1), (1, 2, 1), (2, 0, 1)]
    # 3 lost to the set and tied with 4, which also lost to it; 5 beat the set and tied with 6, which did too
    rows = [*cycle, (0, 3, 1), (3, 4, 0), (1, 4, 1), (5, 0, 1), (5, 6, 0), (6, 1, 1)]
    assert rk.connectivity(counts(rows, 7)).notes[3:] == (rk.BELOW, rk.BELOW, rk.ABOVE, rk.ABOVE)


def test_of_two_unconnected_sets_only_the_larger_is_ranked() -> None:
    found = bradley_terry(counts([(0, 1, 1), (1, 0, 1), (2, 3, 1), (3, 2, 1), (2, 3, 1)], 4))
    assert found.connectivity.rated.tolist() == [2, 3]
    assert found.connectivity.notes == (rk.APART, rk.APART, "", "")
    assert found.places() == [None, None, 1, 2]


def test_davidson_refuses_what_ties_alone_hold_together_and_half_wins_do_not() -> None:
    never_lost = counts([(0, 1, 1)] * 5 + [(0, 1, 0)] * 5, 2)
    assert bradley_terry(never_lost).connectivity.notes == (rk.TIES_CARRY, rk.TIES_CARRY)
    assert bradley_terry(never_lost, "half").ratings == pytest.approx([1095.42, 904.58], abs=0.01)
    only_ties = counts([(0, 1, 0)] * 5, 2)
    assert bradley_terry(only_ties).connectivity.notes == (rk.TIES_ONLY, rk.TIES_ONLY)
    assert bradley_terry(only_ties, "half").ratings == pytest.approx([1000, 1000])


battles = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([1, 0, -1])).filter(
        lambda r: r[0] != r[1]
    ),
    min_size=1,
    max_size=10,
)


@given(battles)
def test_davidsons_condition_is_that_of_a_linear_programme(rows: list[Battle]) -> None:
    """No direction in which no outcome seen loses probability, but some gains: all must stay equal."""
    pairs = counts(rows, 4)
    here = sorted({system for row in rows for system in row[:2]})
    members = pairs.among(np.array(here))
    if not (members.counts[:, 1] > 0).any():
        return
    limits = []
    for first, second, (wins, ties, losses) in zip(
        members.first, members.second, members.counts, strict=True
    ):
        values = {1: _row(first, None, 4), 0: (_row(first, second, 4)), -1: _row(second, None, 4)}
        for seen, count in ((1, wins), (0, ties), (-1, losses)):
            if count:
                limits += [values[other] - values[seen] for other in values if other != seen]
    rest = np.array(limits)
    # the largest total gain of the outcomes seen over the others, within a box
    gain = linprog(rest.sum(axis=0), A_ub=rest, b_ub=np.zeros(len(limits)), bounds=[(-1, 1)] * 5)
    bounded = gain.fun > -1e-9
    # islands are bounded, but nothing says how they stand to each other
    assert (rk.connectivity(members, "davidson").rated.size == members.systems) == (
        bounded and bool(rk.connectivity(members).joined.all())
    )


def _row(first: int, second: int | None, systems: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The log of an outcome's weight as a row over the strengths and the tie parameter."""
    row = np.zeros(systems + 1)
    if second is None:
        row[first] = 1
    else:
        row[[first, second]] = 0.5
        row[systems] = 1
    return row


@given(battles)
def test_strongly_connected_is_what_a_walk_over_wins_finds(rows: list[Battle]) -> None:
    beats: dict[int, set[int]] = {}
    for i, j, y in rows:
        if y >= 0:
            beats.setdefault(i, set()).add(j)
        if y <= 0:
            beats.setdefault(j, set()).add(i)
    here = sorted({system for row in rows for system in row[:2]})

    def reached(start: int) -> set[int]:
        seen, todo = {start}, [start]
        while todo:
            new = beats.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        return seen

    expected = all(reached(system) == set(here) for system in here)
    assert (
        rk.connectivity(counts(rows, 4).among(np.array(here)), "half").rated.size == len(here)
    ) == expected


# ---- which systems differ ---------------------------------------------------------------------------------------------


def test_two_systems_are_tested_by_sign_flips_of_users_means() -> None:
    found = battles_of({(0, 1): [1] * 9 + [-1, 0]}, 2)
    test = rk.pair_tests(found)[0, 1]
    assert (test.users, test.p) == (11, sign_flip_test([1] * 9 + [-1]))
    rows = np.repeat(np.arange(4), 50)
    alike = rk.pair_tests(user_counts(np.zeros(200), np.ones(200), np.ones(200), rows, 2))[0, 1]
    assert (alike.users, alike.p) == (4, 0.125)
    (few,) = rk.neighbours([0, 1], rk.pair_tests(battles_of({(0, 1): [1, 1, 1]}, 2)))
    assert (few.p, few.separable) == (0.25, False)


def test_many_are_tested_by_the_contrast_of_ratings() -> None:
    a, b, outcome = drawn(1200, 4, seed=12)
    found = user_counts(a, b, outcome, np.arange(1200) // 12, 4)
    fitted = bradley_terry(found.total)
    covariance, users = rk.rating_covariance(found, fitted)
    tests = rk.pair_tests(found)
    for (i, j), test in tests.items():
        error = math.sqrt(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j])
        lead = fitted.ratings[i] - fitted.ratings[j]
        assert (test.lead, test.error, test.users) == (pytest.approx(lead), pytest.approx(error), users)
        assert test.p == pytest.approx(2 * t.sf(abs(lead) / error, 99))


def test_systems_that_never_met_are_compared_through_others() -> None:
    rng = np.random.default_rng(1)
    met = {(0, 2): rng.choice([1, 1, 1, -1], 60).tolist(), (1, 2): rng.choice([1, -1, -1, -1], 60).tolist()}
    tests = rk.pair_tests(battles_of(met, 3))
    assert (tests[0, 1].p or 1) < 1e-4
    apart = rk.pair_tests(battles_of({(0, 1): [1] * 8, (2, 3): [1] * 8}, 4))
    assert rk.neighbours([0, 2], apart)[0].note == rk.NEVER_MET


def test_neighbours_say_why_they_are_not_separable_and_ranges_follow() -> None:
    tests = rk.pair_tests(battles_of({(0, 1): [0] * 9, (1, 2): [-1] * 9}, 3))
    even, turned = rk.neighbours([0, 1, 2], tests)
    assert (even.p, even.note, even.more) == (None, rk.NO_PREFERENCE, None)
    assert (turned.separable, turned.note) == (False, rk.CONTRARY)
    assert rk.neighbours([0], tests) == []
    assert rk.rank_ranges([0, 2, 1], tests) == {0: (1, 3), 2: (1, 2), 1: (2, 3)}
    several = rk.neighbours([2, 1], tests, groups=20)[0]
    assert (several.separable, several.more is None) == (False, False)


def test_more_users_reach_the_power() -> None:
    """12 of 20 users: with the users asked for, about four of five tests find a true share of .6."""
    (found,) = rk.neighbours([0, 1], rk.pair_tests(battles_of({(0, 1): [1] * 12 + [-1] * 8}, 2)))
    n = 20 + found.more
    wins = np.random.default_rng(1).binomial(n, 0.6, 300)
    p = [sign_flip_test(np.repeat([1.0, -1.0], [won, n - won])) or 1 for won in wins.tolist()]
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.8, abs=0.06)


@pytest.mark.parametrize(("users", "rows"), [(2, 1), (5, 1), (20, 3)])
def test_equal_systems_are_seldom_called_separable(users: int, rows: int) -> None:
    """Three equal systems, users with tastes of their own: at most one ranking of twenty has a false claim."""
    rng = np.random.default_rng([users, rows])
    pairs = np.tile(np.array(list(combinations(range(3), 2))), (users * rows, 1))
    owner: IntArray = np.repeat(np.arange(users), 3 * rows)
    claimed = 0
    for _ in range(100):
        taste = rng.normal(0, 1, (users, 3))
        lead = taste[owner, pairs[:, 0]] - taste[owner, pairs[:, 1]] + rng.logistic(size=owner.size)
        found = user_counts(pairs[:, 0], pairs[:, 1], np.sign(np.trunc(2 * lead)), owner, 3)
        tallies = found.total.tallies()
        order = np.argsort(tallies[:, 2] - tallies[:, 0]).tolist()
        claimed += any(pair.separable for pair in rk.neighbours(order, rk.pair_tests(found)))
    assert claimed / 100 <= 0.05


@given(st.integers(0, 2**32))
def test_names_and_order_change_no_test(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b, outcome = drawn(150, 4, seed % 1000)
    users, name, order = np.arange(150) // 10, rng.permutation(4), rng.permutation(150)
    plain = rk.pair_tests(user_counts(a, b, outcome, users, 4))
    turned = rk.pair_tests(user_counts(name[a][order], name[b][order], outcome[order], -users[order], 4))
    for (i, j), test in plain.items():
        other = turned[min(name[i], name[j]), max(name[i], name[j])]
        assert (other.p, other.users) == (pytest.approx(test.p, rel=1e-4), test.users)
