"""Calibration on small databases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.reliability.calibration import (
    CalibrationOptions,
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
    new_project,
    pair_case,
    text_case,
)

OPTIONS = CalibrationOptions("llm", "anna", protocol="pointwise")


def lists(path: Path, users: int = 60, labelled: int = 40) -> tuple[Project, list[int]]:
    """A judge that says how sure it is, right as often as that; labels of the first users only."""
    project = new_project(path)
    rng = np.random.default_rng(7)
    cases = [list_case(project, f"u{at:02}", name) for at in range(users) for name in ("x", "y")]
    truth = rng.integers(0, 3, len(cases)).astype(float)
    sure = rng.choice([0.4, 0.6, 0.8, 0.95], len(cases))
    other = (truth + rng.integers(1, 3, len(cases))) % 3
    said = np.where(rng.random(len(cases)) < sure, truth, other)
    judge_lists(project, "llm", dict(zip(cases, said.tolist(), strict=True)))
    for case, confidence in zip(cases, sure.tolist(), strict=True):
        project.db.execute("UPDATE verdicts SET confidence = ? WHERE case_id = ?", (confidence, case))
        project.db.execute(
            "UPDATE answers SET confidence = ? WHERE call_id IN (SELECT id FROM calls WHERE case_id = ?)",
            (confidence, case),
        )
    give(project, "anna", dict(zip(cases[: 2 * labelled], truth.tolist(), strict=False)))
    return project, cases


def rows(table: Table, **wanted: object) -> list[Row]:
    return [row for row in table.rows if all(row[name] == value for name, value in wanted.items())]


def test_errors_before_and_after(project_db: Path) -> None:
    project, _ = lists(project_db)
    table = error_table(stated_confidences(project.db, project.id, OPTIONS), OPTIONS)
    assert [row["stat"] for row in table.rows] == ["ece", "overconfidence", "brier", "accuracy"] * 2
    (found,) = stated_confidences(project.db, project.id, OPTIONS)
    right = (found.value == found.truth)[found.usable]
    expected = calibration.calibration_error(found.confidence[found.usable], right, found.user[found.usable])
    (row,) = rows(table, stage="as given", stat="ece")
    assert (row["value"], row["ci_low"], row["n"]) == (expected.value, expected.ci_low, 80)
    (after,) = rows(table, stage="calibrated", stat="ece")
    assert after["n"] == 80
    assert isinstance(after["value"], float)


def test_reliability_rows_count_every_labelled_verdict(project_db: Path) -> None:
    project, _ = lists(project_db)
    table = reliability_table(stated_confidences(project.db, project.id, OPTIONS), OPTIONS)
    given = rows(table, stage="as given")
    assert [row["low"] for row in given] == [0.4, 0.6, 0.8, 0.9]
    assert sum(int(str(row["n"])) for row in given) == 80
    assert sum(int(str(row["n"])) for row in rows(table, stage="calibrated")) == 80
    for row in given:
        assert row["gap"] == pytest.approx(float(str(row["accuracy"])) - float(str(row["confidence"])))


def test_a_position_tie_is_left_out_of_calibration(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [pair_case(project, f"u{at:02}") for at in range(30)]
    answers = {case: (1.0, -1.0) if at % 10 == 9 else (1.0, 1.0) for at, case in enumerate(cases)}
    judge_pairs(project, "llm", answers)
    give(
        project, "anna", {case: -1.0 if at in (9, 19) else 1.0 for at, case in enumerate(cases[:20])},
        protocol_name="pairwise",
    )  # fmt: skip
    project.db.execute("UPDATE verdicts SET confidence = 0.9 WHERE run_id IS NOT NULL")
    options = CalibrationOptions("llm", "anna")
    (found,) = stated_confidences(project.db, project.id, options)
    assert found.flipped.sum() == 3
    assert found.usable.sum() == 18
    notes = error_table(stated_confidences(project.db, project.id, options), options).notes
    assert any("2 labelled verdicts left out because their two orders disagreed" in note for note in notes)


def test_without_confidences_there_is_no_figure_and_a_way_to_get_one(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [list_case(project, f"u{at:02}") for at in range(30)]
    truth = [float(at % 3) for at in range(30)]
    judge_lists(project, "llm", dict(zip(cases, truth, strict=True)))
    give(project, "anna", {case: 1.0 if at < 6 else truth[at] for at, case in enumerate(cases)})
    table = error_table(stated_confidences(project.db, project.id, OPTIONS), OPTIONS)
    assert [row["value"] for row in table.rows] == [None, None]
    assert all(row["note"] == calibration.NO_CONFIDENCE for row in table.rows)
    assert reliability_table(stated_confidences(project.db, project.id, OPTIONS), OPTIONS).rows == ()
    assert any("--repeats" in note for note in table.notes)


def test_too_few_labelled_users_are_not_calibrated(project_db: Path) -> None:
    project, _ = lists(project_db, users=20, labelled=8)
    errors = error_table(stated_confidences(project.db, project.id, OPTIONS), OPTIONS)
    assert rows(errors, stage="calibrated")[0]["note"] == calibration.FEW_USERS


def test_failed_verdicts_are_not_there_and_labels_off_the_scale_are_counted(project_db: Path) -> None:
    project, cases = lists(project_db)
    project.db.execute(
        "UPDATE verdicts SET state = 'failed', value = NULL WHERE run_id IS NOT NULL AND case_id = ?",
        (cases[0],),
    )
    project.db.execute("UPDATE verdicts SET value = 1.5 WHERE run_id IS NULL AND case_id = ?", (cases[1],))
    (found,) = stated_confidences(project.db, project.id, OPTIONS)
    assert cases[0] not in found.case.tolist()
    assert found.off_scale == 1
    assert found.usable.sum() == 78


def test_every_question_both_answered(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [text_case(project, f"u{at}", "i", "s") for at in range(12)]
    for name in ("llm", "anna"):
        for aspect in ("accuracy", "transparency"):
            values: dict[int, float | None] = {case: float(at % 5 + 1) for at, case in enumerate(cases)}
            give(project, name, values, protocol_name="explanation", aspect=aspect)
    found = stated_confidences(project.db, project.id, CalibrationOptions("llm", "anna"))
    assert [(one.protocol, one.aspect, one.labels) for one in found] == [
        ("explanation", aspect, (1.0, 2.0, 3.0, 4.0, 5.0)) for aspect in ("accuracy", "transparency")
    ]


def test_invalid_requests(project_db: Path) -> None:
    project, cases = lists(project_db, users=12, labelled=12)
    give(project, "rouge", {cases[0]: 0.5}, kind="metric", protocol_name="absolute")
    give(project, "scorer", dict.fromkeys(cases, 0.3), protocol_name="absolute")
    give(project, "ben", dict.fromkeys(cases, 0.4), protocol_name="absolute")
    for wrong in (
        CalibrationOptions("llm", "llm"),
        CalibrationOptions("llm", "rouge"),
        CalibrationOptions("llm", "scorer"),
        CalibrationOptions("ben", "scorer"),
        CalibrationOptions("llm", "anna", protocol="bogus"),
        CalibrationOptions("llm", "anna", aspect="bogus"),
        CalibrationOptions("llm", "anna", method="magic"),
    ):
        with pytest.raises(UsageError):
            stated_confidences(project.db, project.id, wrong)
    with pytest.raises(NotFoundError):
        stated_confidences(project.db, project.id, CalibrationOptions("nobody", "anna"))
