"""The line on shifts of a judge says what its p values say, at the level and beside it."""

from __future__ import annotations

import pytest

from recjudge_tui.reports.trend.drift import Drift, shift_notes


def drift(period: str, p: float | None, rater: str = "glm") -> Drift:
    return Drift({"rater": rater, "protocol": "pairwise", "aspect": "overall", "period": period}, p)


@pytest.mark.parametrize(("p", "shifted"), [(0.0499, True), (0.05, False), (0.0501, False), (1.0, False)])
def test_a_shift_is_said_below_the_level_only(p: float, shifted: bool) -> None:
    (note,) = shift_notes([drift("2026-01-02", p)])
    assert ("shifted in 2026-01-02" in note) is shifted
    assert ("no shift is shown" in note) is not shifted
    assert "1 test" in note


@pytest.mark.parametrize(("p", "shifted"), [(0.0249, True), (0.025, False), (0.04, False)])
def test_the_other_nights_and_questions_are_corrected_for(p: float, shifted: bool) -> None:
    notes = shift_notes([drift("2026-01-02", p), drift("2026-01-02", 0.9, "other")])
    assert ["shifted in" in note for note in notes] == [shifted, False]
    assert all("2 tests" in note for note in notes)


def test_what_was_not_tested_has_no_line_and_is_not_counted() -> None:
    assert shift_notes([]) == []
    assert shift_notes([drift("2026-01-02", None)]) == []
    (note,) = shift_notes([drift("2026-01-02", None), drift("2026-01-03", 0.04)])
    assert "shifted in 2026-01-03" in note
    assert "2026-01-02" not in note
    assert "1 test" in note
