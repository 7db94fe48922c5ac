"""What a plan says follows from the verdicts so far: measured and computed again on any data, at the edges too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from recjudge_tui.reports.reliability.plan_options import PlanOptions
from recjudge_tui.reports.reliability.sample_size import assumed_table, project_plan
from tests.support.verdicts import give, judge_pairs, list_case, new_project, pair_case

FEW = "so only approximate"
TOO_FEW = "too few cases for any difference"


def _power(users: int, psi: float, delta: float, alpha: float = 0.05) -> float:
    """The chance that the exact two-sided sign test shows the better one, over the numbers of users who favour one."""
    power = 0.0
    for decided in range(users + 1):
        k = np.arange(decided + 1)
        p = np.minimum(1, 2 * binom.cdf(np.minimum(k, decided - k), decided, 0.5)) if decided else np.ones(1)
        won = binom.pmf(k, decided, (psi + delta) / (2 * psi))
        power += float(binom.pmf(decided, users, psi)) * float(won[(p < alpha) & (2 * k > decided)].sum())
    return power


@pytest.mark.parametrize(("ties", "consistency"), [(0.0, 1.0), (0.2, 1.0), (0.3, 0.7)])
def test_the_number_planned_for_is_the_first_from_which_the_power_stays(
    ties: float, consistency: float
) -> None:
    options = PlanOptions(differences=(0.3, 0.2), ties=ties, consistency=consistency)
    for row in assumed_table(options).rows:
        psi = consistency * (1 - ties)
        delta = consistency * 2 * float(str(row["difference"]))
        needed = int(str(row["needed"]))
        assert row["calls_needed"] == 2 * needed
        assert _power(needed - 1, psi, delta) < 0.8
        assert all(_power(needed + more, psi, delta) >= 0.8 for more in range(6))


@pytest.mark.parametrize("draw", range(8))
def test_a_plan_measures_the_verdicts_so_far(project_db: Path, draw: int) -> None:
    """Pairs in both orders, one of a user: ties, consistency and what was seen; the power of the users at hand."""
    rng = np.random.default_rng(draw)
    users = (3, 6, 12, 29, 30, 40, 60, 25)[draw]
    made = new_project(project_db)
    said = rng.choice((1.0, 0.0, -1.0), (users, 2), p=((0.5, 0.2, 0.3), (0.9, 0.0, 0.1))[draw % 2])
    steady = rng.random(users) < (0.6, 1.0)[draw % 2]
    said[steady, 1] = said[steady, 0]
    answers = [None if rng.random() < 0.05 else both for both in said.tolist()]
    cases = [pair_case(made, f"u{at:02}", "als", "pop") for at in range(users)]
    judge_pairs(
        made, "llm", {c: (None, None) if a is None else tuple(a) for c, a in zip(cases, answers, strict=True)}
    )  # type: ignore[misc]
    (row,) = project_plan(made.db, made.id, PlanOptions("pairwise", (0.2,))).rows
    known = [both for both in answers if both is not None]
    alike = [a for a, b in known if a == b]
    ties = float(np.mean(np.equal(alike, 0.0))) if alike else 0.0
    assert (row["n"], row["users"], row["cases_per_user"]) == (len(known), len(known), 1.0)
    assert row["consistency"] == pytest.approx(len(alike) / len(known))
    assert row["ties"] == pytest.approx(ties)
    assert row["seen"] == (pytest.approx(np.mean(alike) / 2) if alike else None)
    note = str(row["note"])
    assert (f"few users ({len(known)}), {FEW}" in note) == (len(known) < 30)
    psi = len(alike) / len(known) * (1 - ties)
    best = _power(len(known), psi, psi)
    assert (TOO_FEW in note) == (best < 0.8)
    assert (row["detectable"] is None) == (best < 0.8)
    possible = 1 - ties >= 0.4
    assert (row["power_at_hand"] is not None) == possible == (row["needed"] is not None)
    if possible:
        assert row["power_at_hand"] == pytest.approx(
            _power(len(known), psi, 0.4 * len(alike) / len(known)), abs=1e-4
        )
    if row["detectable"] is not None:
        reach = float(str(row["detectable"])) * 2 * len(alike) / len(known)
        assert _power(len(known), psi, min(psi, reach + 1e-3)) >= 0.8
        assert _power(len(known), psi, max(0.0, reach - 0.02)) < 0.8


@pytest.mark.parametrize(("users", "few"), [(29, True), (30, False)])
def test_a_plan_is_approximate_below_thirty_users(project_db: Path, users: int, few: bool) -> None:
    made = new_project(project_db)
    rng = np.random.default_rng(2)
    labels = {}
    for system in ("als", "pop"):
        cases = [list_case(made, f"u{at:02}", system) for at in range(users)]
        labels[system] = rng.integers(0, 3, users).astype(float)
        give(made, "llm", dict(zip(cases, labels[system].tolist(), strict=True)), kind="judge")
    (row,) = project_plan(made.db, made.id, PlanOptions("pointwise", (0.2,))).rows
    assert (FEW in str(row["note"])) is few
    good = {system: values == 2.0 for system, values in labels.items()}
    assert row["share"] == pytest.approx(good["pop"].mean())
    assert row["seen"] == pytest.approx(good["als"].mean() - good["pop"].mean())
    assert row["correlation"] == pytest.approx(np.corrcoef(good["als"], good["pop"])[0, 1])
