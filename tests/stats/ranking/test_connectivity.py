"""Who can be rated: strong connectivity, and its like for Davidson's ties against a linear programme."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import linprog

from recjudge_tui.stats.ranking import connectivity as sd
from recjudge_tui.stats.ranking.battles import PairCounts, pair_counts
from recjudge_tui.stats.ranking.bradley_terry import bradley_terry

Battle = tuple[int, int, int]


def counts(rows: list[Battle], systems: int) -> PairCounts:
    a, b, outcome = zip(*rows, strict=True) if rows else ((), (), ())
    return pair_counts(a, b, outcome, systems)


def test_only_won_only_lost_and_not_connected_are_refused_with_the_reason() -> None:
    cycle = [(0, 1, 1), (1, 2, 1), (2, 0, 1)]
    rows = [*cycle, (3, 0, 1), (3, 1, 1), (4, 0, -1), (4, 2, -1), (5, 6, 1), (6, 5, 1), (5, 6, 1)]
    found = bradley_terry(counts(rows, 8))
    assert found.connectivity.rated.tolist() == [0, 1, 2]
    assert found.connectivity.notes == (
        "", "", "", sd.WON_ALL, sd.LOST_ALL, sd.APART, sd.APART, sd.NO_VERDICTS,
    )  # fmt: skip
    assert found.ratings[:3] == pytest.approx([1000] * 3)
    assert np.isnan(found.ratings[3:]).all()


def test_above_and_below_without_winning_or_losing_all() -> None:
    """3 lost to 4 only, 5 beat 6 only; both stand in a chain above and below the rated."""
    cycle = [(0, 1, 1), (1, 2, 1), (2, 0, 1)]
    found = sd.connectivity(counts([*cycle, (4, 3, 1), (3, 0, 1), (0, 5, 1), (5, 6, 1)], 7))
    assert found.notes == ("", "", "", sd.ABOVE, sd.WON_ALL, sd.BELOW, sd.LOST_ALL)
    assert found.places(np.array([1001.0, 1000, 999, *[np.nan] * 4])) == [3, 4, 5, 2, 1, 6, 7]


def test_a_chain_of_wins_has_places_but_no_ratings() -> None:
    found = bradley_terry(counts([(0, 1, 1), (1, 2, 1)], 3))
    assert found.connectivity.notes == (sd.WON_ALL, sd.ONE_WAY, sd.LOST_ALL)
    assert np.isnan(found.ratings).all()
    assert found.places() == [1, 2, 3]
    assert found.tie is None


def test_of_two_unconnected_sets_only_the_larger_is_ranked() -> None:
    found = bradley_terry(counts([(0, 1, 1), (1, 0, 1), (2, 3, 1), (3, 2, 1), (2, 3, 1)], 4))
    assert found.connectivity.rated.tolist() == [2, 3]
    assert found.connectivity.notes == (sd.APART, sd.APART, "", "")
    assert found.places() == [None, None, 1, 2]


def test_the_larger_set_is_ranked_even_if_only_the_smaller_could_be_rated() -> None:
    found = bradley_terry(counts([(0, 1, 1), (1, 2, 1), (3, 4, 1), (4, 3, 1)], 6))
    assert found.connectivity.notes == (
        sd.WON_ALL, sd.ONE_WAY, sd.LOST_ALL, sd.APART, sd.APART, sd.NO_VERDICTS,
    )  # fmt: skip
    assert found.places() == [1, 2, 3, None, None, None]


def test_the_rated_are_fitted_as_if_the_others_had_not_been_there() -> None:
    inner = [(0, 1, 1), (0, 1, 1), (1, 0, 1), (1, 2, 1), (2, 1, 1), (2, 0, 1)]
    alone = bradley_terry(counts(inner, 3)).ratings
    with_more = bradley_terry(counts([*inner, (3, 0, 1), (3, 2, 1)], 4)).ratings
    assert with_more[:3] == pytest.approx(alone)


def test_davidson_refuses_what_ties_alone_hold_together_and_half_wins_do_not() -> None:
    never_lost = counts([(0, 1, 1)] * 5 + [(0, 1, 0)] * 5, 2)
    assert bradley_terry(never_lost).connectivity.notes == (sd.TIES_CARRY, sd.TIES_CARRY)
    assert bradley_terry(never_lost, "half").ratings == pytest.approx([1095.42, 904.58], abs=0.01)
    only_ties = counts([(0, 1, 0)] * 5, 2)
    assert bradley_terry(only_ties).connectivity.notes == (sd.TIES_ONLY, sd.TIES_ONLY)
    assert bradley_terry(only_ties, "half").ratings == pytest.approx([1000, 1000])


def test_ties_may_close_a_cycle_in_which_wins_outnumber_them() -> None:
    found = bradley_terry(counts([(0, 1, 1), (1, 2, 1), (2, 0, 0)], 3))
    assert found.connectivity.notes == ("", "", "")
    assert found.ratings[0] - found.ratings[2] > 0


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
    members = sd.subset(pairs, np.array(here))
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
    assert gain.fun is not None
    bounded = gain.fun > -1e-9
    # islands are bounded, but nothing says how they stand to each other
    assert (sd.connectivity(members, "davidson").rated.size == members.systems) == (
        bounded and bool(sd.in_largest_component(members).all())
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
        sd.connectivity(sd.subset(counts(rows, 4), np.array(here)), "half").rated.size == len(here)
    ) == expected


def test_connectivity_finds_the_largest_connected_set() -> None:
    assert (
        sd.in_largest_component(counts([(0, 1, 1), (1, 2, 1), (3, 4, 0)], 6)).tolist()
        == [True] * 3 + [False] * 3
    )


ISLANDS = [(0, 1, 1), (1, 0, 1), (2, 3, 1), (3, 2, 1)]


def test_of_two_equally_large_unconnected_sets_neither_is_rated() -> None:
    found = bradley_terry(counts(ISLANDS, 4))
    assert found.connectivity.notes == (sd.EQUAL_ISLANDS,) * 4
    assert found.places() == [None] * 4
    assert np.isnan(found.ratings).all()
    assert not sd.in_largest_component(counts(ISLANDS, 4)).any()


def test_of_two_equal_strongly_connected_sets_neither_is_rated() -> None:
    """Both sets lost to the same system, so nothing says how they stand to each other."""
    found = bradley_terry(counts([*ISLANDS, (4, 0, 1), (4, 2, 1)], 5))
    assert found.connectivity.notes == (*(sd.EQUAL_SETS,) * 4, sd.WON_ALL)
    assert found.places() == [None] * 4 + [1]


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([1, 0, -1])), max_size=9),
    st.permutations(range(6)),
)
def test_who_is_rated_does_not_depend_on_the_numbers_of_systems(
    rows: list[Battle], numbers: list[int]
) -> None:
    battles = [(a, b, outcome) for a, b, outcome in rows if a != b]
    renamed = [(numbers[a], numbers[b], outcome) for a, b, outcome in battles]
    before, after = counts(battles, 6), counts(renamed, 6)
    for ties in ("davidson", "half"):
        one, other = sd.connectivity(before, ties), sd.connectivity(after, ties)  # type: ignore[arg-type]
        assert sorted(numbers[at] for at in one.rated) == other.rated.tolist()
        assert [one.notes[at] for at in range(6)] == [other.notes[numbers[at]] for at in range(6)]
        placed = one.places(np.full(6, np.nan))
        assert all(placed[at] is None for at in range(6) if not one.joined[at])
    joined, again = sd.in_largest_component(before), sd.in_largest_component(after)
    assert [bool(joined[at]) for at in range(6)] == [bool(again[numbers[at]]) for at in range(6)]
