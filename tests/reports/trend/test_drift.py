"""Claims that a judge has drifted, over the nights of a trend together."""

from __future__ import annotations

import pytest

from recjudge_tui.reports.trend.drift import Drift, shift_notes


def night(period: str, p: float | None, rater: str = "llm") -> Drift:
    return Drift({"rater": rater, "protocol": "pointwise", "aspect": "overall", "period": period}, p)


def test_a_shift_must_stand_against_all_nights_looked_at() -> None:
    nights = [night(f"2026-05-{day:02}", 0.5) for day in range(1, 20)]
    (note,) = shift_notes([*nights, night("2026-05-20", 0.01)])
    assert note.startswith("llm, pointwise overall: no shift is shown; ")
    assert "Holm's correction for 20 tests" in note
    (note,) = shift_notes([*nights, night("2026-05-20", 0.001)])
    assert note.startswith("llm, pointwise overall: shifted in 2026-05-20 (p = 0.02); ")
    (alone,) = shift_notes([night("2026-05-20", 0.01)])
    assert alone.startswith("llm, pointwise overall: shifted in 2026-05-20 (p = 0.01); ")


def test_judges_are_counted_together_and_told_apart() -> None:
    first, second = shift_notes([night("1", 0.04), night("1", 0.001, "other"), night("2", None)])
    assert "llm, pointwise overall: shifted in 1 (p = 0.04)" in first
    assert "other, pointwise overall: shifted in 1 (p = 0.002)" in second
    assert shift_notes([night("1", None)]) == []


@pytest.mark.parametrize("p", [0.05, 1.0])
def test_a_p_of_the_level_is_no_shift(p: float) -> None:
    assert "no shift is shown" in shift_notes([night("1", p)])[0]
