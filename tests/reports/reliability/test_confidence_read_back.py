"""What calibration says follows from verdicts, confidences and labels: computed again on any data."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize_scalar
from sklearn.metrics import brier_score_loss

from recjudge_tui.reports.reliability.calibration import (
    CalibrationOptions,
    error_table,
    reliability_table,
    stated_confidences,
)
from tests.support.verdicts import Project, give, judge_lists, list_case, new_project

Values = npt.NDArray[np.float64]
SIZES = (4, 9, 10, 25, 60)
_GIVEN: dict[int, tuple[Values, Values, Values]] = {}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """For each draw a judge, too sure, not sure enough or right about it, and a person who labelled some of the users."""
    made = new_project(tmp_path_factory.mktemp("read") / "a.db")
    for draw, users in enumerate(SIZES):
        rng = np.random.default_rng(draw)
        cases = [list_case(made, f"d{draw}-u{at:02}", name) for at in range(users) for name in ("x", "y")]
        sure = rng.uniform(0.35, 0.99, len(cases))
        hit = sure ** (0.4, 1.0, 3.0)[draw % 3]
        truth = rng.integers(0, 3, sure.size).astype(float)
        said = np.where(rng.random(sure.size) < hit, truth, (truth + rng.integers(1, 3, sure.size)) % 3)
        sure[rng.random(sure.size) < 0.1] = np.nan
        truth[np.arange(sure.size) >= 1.6 * users] = np.nan
        judge_lists(made, f"llm{draw}", dict(zip(cases, said.tolist(), strict=True)))
        _set_confidence(made, cases, sure)
        give(made, f"anna{draw}", {c: v for c, v in zip(cases, truth.tolist(), strict=True) if v == v})
        _GIVEN[draw] = said, sure, truth
    return made


def _set_confidence(made: Project, cases: list[int], sure: Values) -> None:
    rows = [(None if np.isnan(c) else c, case) for case, c in zip(cases, sure.tolist(), strict=True)]
    made.db.execute_many("UPDATE verdicts SET confidence = ? WHERE case_id = ? AND run_id IS NOT NULL", rows)
    made.db.execute_many(
        "UPDATE answers SET confidence = ? WHERE call_id IN (SELECT id FROM calls WHERE case_id = ?)", rows
    )


def _ece(sure: Values, right: Values) -> float:
    place = np.minimum((sure * 10).astype(int), 9)
    return sum(
        float((place == b).mean()) * abs(float(right[place == b].mean() - sure[place == b].mean()))
        for b in np.unique(place)
    )


def _scaled(sure: Values, heat: float) -> Values:
    own, others = sure ** (1 / heat), 2 * ((1 - sure) / 2) ** (1 / heat)
    return own / (own + others)


def _temperature(sure: Values, right: Values) -> float:
    """The T of the highest likelihood, by search."""

    def loss(log_heat: float) -> float:
        chance = np.clip(_scaled(sure, np.exp(log_heat)), 1e-12, 1 - 1e-12)
        return -float((right * np.log(chance) + (1 - right) * np.log(1 - chance)).sum())

    return float(np.exp(minimize_scalar(loss, bounds=(-4, 4), method="bounded").x))


@pytest.mark.parametrize("draw", range(len(SIZES)))
def test_calibration_says_what_the_confidences_show(project: Project, draw: int) -> None:
    said, sure, truth = _GIVEN[draw]
    options = CalibrationOptions(f"llm{draw}", f"anna{draw}", "pointwise", method="temperature")
    questions = stated_confidences(project.db, project.id, options)
    table = error_table(questions, options)
    labelled = ~np.isnan(truth)
    used = labelled & ~np.isnan(sure)
    right, given = (said == truth)[used].astype(float), sure[used]
    expected = {
        "ece": _ece(given, right), "overconfidence": float((given - right).mean()),
        "brier": brier_score_loss(right, given), "accuracy": float(right.mean()),
    }  # fmt: skip
    for row in table.rows:
        if row["stage"] == "as given":
            assert (row["value"], row["n"]) == (pytest.approx(expected[str(row["stat"])]), used.sum())
    untold = int((labelled & ~used).sum())
    left_out = [note for note in table.notes if "without a confidence left out" in note]
    assert [re.findall(r": (\d+) labelled verdicts?", note) for note in left_out] == (
        [[str(untold)]] if untold else []
    )
    heats = [note for note in table.notes if "temperature" in note]
    # not calibrated by labels of fewer than ten users
    assert bool(heats) == (np.unique(np.flatnonzero(used) // 2).size >= 10)
    for note in heats:
        heat = _temperature(given, right)
        shown = re.search(
            r"temperature ([\d.]+): calibrated confidences are (nearer to|further from) chance", note
        )
        assert shown
        assert float(shown.group(1)) == pytest.approx(heat, rel=0.01)
        nearer = float(np.abs(_scaled(given, heat) - 1 / 3).mean()) < float(np.abs(given - 1 / 3).mean())
        assert (shown.group(2) == "nearer to") == nearer
        assert "(1 in 3)" in note
    for row in reliability_table(questions, options).rows:
        if row["stage"] == "as given":
            here = (given >= row["low"]) & (given < row["high"])  # type: ignore[operator]
            assert (row["n"], row["gap"]) == (here.sum(), pytest.approx(float((right - given)[here].mean())))


@pytest.mark.parametrize(
    ("exponent", "words"), [(0.25, "further from chance"), (1.0, "those given"), (2.0, "nearer to chance")]
)
def test_a_temperature_is_explained_by_what_it_does(project_db: Path, exponent: float, words: str) -> None:
    """A judge right in exactly the share that a temperature of 1/4, 1 or 2 makes of its confidence."""
    made = new_project(project_db)
    cases = [list_case(made, f"u{at:03}") for at in range(200)]
    stated = float(_scaled(np.array([0.8]), 1 / exponent)[0])
    right = np.arange(200) % 5 != 0
    judge_lists(made, "llm", dict.fromkeys(cases, 2.0))
    give(made, "anna", {case: 2.0 if hit else 0.0 for case, hit in zip(cases, right.tolist(), strict=True)})
    _set_confidence(made, cases, np.full(200, stated))
    options = CalibrationOptions("llm", "anna", "pointwise", method="temperature")
    (note,) = (
        n
        for n in error_table(stated_confidences(made.db, made.id, options), options).notes
        if "temperature" in n
    )
    assert f"temperature {exponent:g}: calibrated confidences are {words}" in note
