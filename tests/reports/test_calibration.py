"""What calibration and strictness say follows from verdicts, confidences and labels: computed again on any data."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.metrics import brier_score_loss

from recjudge_tui.project import Project as Opened
from recjudge_tui.reports.calibration import (
    Stated,
    error_table,
    reliability_table,
    stated_confidences,
)
from recjudge_tui.stats import calibration
from tests.support.verdicts import (
    Project,
    give,
    judge_lists,
    judge_pairs,
    list_case,
    pair_case,
)

Values = npt.NDArray[np.float64]


def stated(project: Project, rater: str = "llm", truth: str = "anna", **options: Any) -> list[Stated]:
    return stated_confidences(Opened(project.db, project.id, "films"), rater, truth, **options)


def set_confidence(project: Project, cases: list[int], sure: Values) -> None:
    rows = [(None if np.isnan(c) else c, case) for case, c in zip(cases, sure.tolist(), strict=True)]
    project.db.execute_many(
        "UPDATE verdicts SET confidence = ? WHERE case_id = ? AND run_id IS NOT NULL", rows
    )


def judged_lists(project: Project, users: int, draw: int) -> tuple[Values, Values, Values]:
    """A judge, too sure, not sure enough or right about it, and a person who labelled most users: what it said, how sure,
    and the labels."""
    rng = np.random.default_rng(draw)
    cases = [list_case(project, f"u{at:02}", name) for at in range(users) for name in ("x", "y")]
    sure = rng.uniform(0.35, 0.99, len(cases))
    truth = rng.integers(0, 3, sure.size).astype(float)
    hit = rng.random(sure.size) < sure ** (0.4, 1.0, 3.0)[draw % 3]
    said = np.where(hit, truth, (truth + rng.integers(1, 3, sure.size)) % 3)
    sure[rng.random(sure.size) < 0.1] = np.nan
    truth[np.arange(sure.size) >= 1.6 * users] = np.nan
    judge_lists(project, "llm", dict(zip(cases, said.tolist(), strict=True)))
    set_confidence(project, cases, sure)
    give(project, "anna", {c: v for c, v in zip(cases, truth.tolist(), strict=True) if v == v})
    return said, sure, truth


@pytest.mark.parametrize(("draw", "users"), list(enumerate((4, 9, 10, 25, 60))))
def test_calibration_says_what_the_confidences_show(project: Project, draw: int, users: int) -> None:
    said, sure, truth = judged_lists(project, users, draw)
    questions = stated(project)
    table = error_table(questions)
    labelled = ~np.isnan(truth)
    used = labelled & ~np.isnan(sure)
    right, given = (said == truth)[used].astype(float), sure[used]
    place = np.minimum((given * 10).astype(int), 9)
    bins = [place == b for b in np.unique(place)]
    expected = {
        "ece": sum(b.mean() * abs(right[b].mean() - given[b].mean()) for b in bins),
        "overconfidence": (given - right).mean(),
        "brier": brier_score_loss(right, given),
        "accuracy": right.mean(),
    }
    shown = {row["stat"]: row for row in table.rows if row["stage"] == "as given"}
    assert {stat: row["value"] for stat, row in shown.items()} == pytest.approx(expected)
    assert {row["n"] for row in shown.values()} == {used.sum()}
    untold = int((labelled & ~used).sum())
    left_out = [re.findall(r": (\d+) labelled verdicts? without", note) for note in table.notes]
    assert [found for found in left_out if found] == ([[str(untold)]] if untold else [])
    # not calibrated by labels of fewer than ten users
    few = np.unique(np.flatnonzero(used) // 2).size < calibration.FEWEST_USERS
    calibrated = [row for row in table.rows if row["stage"] == "calibrated"]
    assert all(row["note"] == calibration.FEW_USERS for row in calibrated) == few
    rows = [row for row in reliability_table(questions).rows if row["stage"] == "as given"]
    assert sum(int(str(row["n"])) for row in rows) == used.sum()
    for row, here in zip(rows, bins, strict=True):
        assert row["gap"] == pytest.approx(float((right - given)[here].mean()))


def test_what_is_left_out_of_calibration_is_counted(project: Project) -> None:
    cases = [pair_case(project, f"u{at:02}") for at in range(30)]
    judge_pairs(
        project, "llm", {c: (1.0, -1.0) if at % 10 == 9 else (1.0, 1.0) for at, c in enumerate(cases)}
    )
    labels = {case: -1.0 if at in (9, 19) else 1.0 for at, case in enumerate(cases[:20])}
    give(project, "anna", labels | {cases[0]: 0.5}, protocol_name="pairwise")
    set_confidence(project, cases, np.full(30, 0.9))
    (found,) = stated(project)
    assert (found.flipped.sum(), found.usable.sum(), found.off_scale) == (3, 17, 1)
    notes = error_table([found]).notes
    assert any("2 labelled verdicts left out because their two orders disagreed" in note for note in notes)
    assert any("1 label off the scale left out" in note for note in notes)
    project.db.execute(
        "UPDATE verdicts SET state = 'failed', value = NULL WHERE run_id IS NOT NULL AND case_id = ?",
        (cases[1],),
    )
    assert cases[1] not in stated(project)[0].case.tolist()
