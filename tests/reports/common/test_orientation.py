"""From which side pairs are seen follows from which systems met."""

from __future__ import annotations

import numpy as np
import pytest

from recjudge_tui.reports.common.orientation import both_sides, labels_seen, orientation_notes, side_of_names
from recjudge_tui.stats.agreement import agreement_estimates, qwk
from recjudge_tui.stats.registry import STATISTICS

LABELS = [-1.0, 0.0, 1.0]


def test_two_systems_are_seen_from_either_as_named() -> None:
    seen = side_of_names(["als", "als"], ["pop", "pop"])
    assert (seen.view, seen.words()) == ("pair", "A is als, B is pop")
    assert seen.turn.tolist() == [1, 1]


def test_a_system_in_every_pair_is_the_other_side() -> None:
    seen = side_of_names(["als", "pop", "pop"], ["pop", "text", "zero"])
    assert seen.turn.tolist() == [1, -1, -1]
    assert seen.words() == "B is pop, which is in every pair; A is the other system"
    assert both_sides(np.array([1.0, 1.0, 0.0]), seen).tolist() == [1, -1, 0]


def test_without_a_common_system_a_pair_counts_from_both_sides() -> None:
    seen = side_of_names(["als", "als", "pop"], ["pop", "text", "text"])
    assert seen.mirrored
    assert both_sides(np.array([1.0, 0.0, -1.0]), seen).tolist() == [1, 0, -1, -1, 0, 1]
    assert orientation_notes({"pairwise, overall": seen}) == [seen.words()]


def test_single_lists_have_no_side() -> None:
    seen = side_of_names(["als", "pop"], ["", ""])
    assert (seen.view, seen.words(), orientation_notes({"pointwise": seen})) == ("", "", [])
    assert labels_seen([0.0, 1.0, 2.0], seen) == [0, 1, 2]
    assert labels_seen([0.0, 1.0], side_of_names(["als"], ["pop"])) == [-1, 0, 1]


@pytest.mark.parametrize("stat", [stat for stat in STATISTICS if stat != "bias"])
@pytest.mark.parametrize("grouped", [False, True])
def test_mirrored_figures_are_those_of_the_rows_doubled(stat: str, grouped: bool) -> None:
    """Whichever side a row is given from; alpha corrects for n, which is that of the rows."""
    rng = np.random.default_rng(4)
    users = np.repeat(np.arange(10), 4)
    a = rng.choice(LABELS, 40, p=[0.6, 0.1, 0.3])
    b = np.where(rng.random(40) < 0.6, a, rng.choice(LABELS, 40))
    groups = users if grouped else None
    turn = rng.choice([1.0, -1.0], 40)
    as_given, turned = (
        agreement_estimates(a * way, b * way, users, LABELS, (stat,), groups=groups, mirrored=True)[stat]
        for way in (np.ones(40), turn)
    )
    assert as_given.value == pytest.approx(turned.value, abs=1e-12)
    assert as_given.ci_low == pytest.approx(turned.ci_low, abs=1e-9)
    assert as_given.n == 40
    twice = agreement_estimates(
        np.concatenate([a, -a]), np.concatenate([b, -b]), np.tile(users, 2), LABELS, (stat,),
        groups=None if groups is None else np.tile(groups, 2),
    )[stat]  # fmt: skip
    close = 0.05 if stat.startswith("alpha") else 1e-9
    assert as_given.value == pytest.approx(twice.value, abs=close)


def test_mirrored_kappa_by_hand() -> None:
    """1 - mean (a - b)² / (mean a² + mean b²), since either side's mean is 0."""
    a, b = np.array([1.0, 1.0, 0.0, -1.0]), np.array([1.0, -1.0, 0.0, 0.0])
    estimate = agreement_estimates(a, b, np.arange(4), LABELS, ("qwk",), mirrored=True)["qwk"]
    assert estimate.value == pytest.approx(1 - (5 / 4) / (3 / 4 + 2 / 4))
    assert estimate.value == pytest.approx(qwk([*a, *-a], [*b, *-b], LABELS))


def test_a_mean_difference_needs_a_side() -> None:
    estimate = agreement_estimates([1.0, 0.0], [0.0, 0.0], [1, 2], LABELS, ("bias",), mirrored=True)["bias"]
    assert estimate.value is None
    assert "no direction" in estimate.note


def test_one_pair_has_no_correlation_from_both_sides_either() -> None:
    by_user = agreement_estimates(
        [1.0, 1.0, -1.0], [1.0, 1.0, -1.0], [1, 2, 2], LABELS, ("pearson",), groups=[1, 2, 2], mirrored=True
    )["pearson"]
    assert (by_user.groups, by_user.groups_undefined) == (2, 1)
