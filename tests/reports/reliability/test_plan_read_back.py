"""What a plan says follows from the verdicts so far: measured and computed again on any data, at the edges too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from recjudge_tui.reports.reliability.plan_options import PlanOptions
from recjudge_tui.reports.reliability.sample_size import project_plan
from tests.support.verdicts import give, list_case, new_project

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
