"""Claims that a judge has drifted, over the nights of a trend together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.trend.drift import NO_SIDE, SAME, SHIFT, Drift, drifts, shift_notes
from recjudge_tui.reports.trend.judged import Resampling
from recjudge_tui.store.verdicts.anchors import anchor_name, move_anchor_verdicts
from tests.support.verdicts import judge_pairs, new_project, pair_case

# the same users' answers of two nights, 1 for the first system of each pair
NIGHTS = (
    ("2026-05-01", (1.0, 0.0, -1.0, 1.0, -1.0, 0.0, 1.0, -1.0)),
    ("2026-05-02", (1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0)),
)
SHIFTED = 6 / 8


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


def anchored(path: Path, pairs: tuple[tuple[str, str], ...], names: Mapping[str, str]) -> dict[str, Row]:
    """The two figures of the second night, by figure, of the same answers about systems under these names."""
    project = new_project(path)
    met = [tuple(names.get(system, system) for system in pairs[at % len(pairs)]) for at in range(8)]
    cases = [pair_case(project, f"u{at}", *sorted(two)) for at, two in enumerate(met)]
    for day, answers in NIGHTS:
        values = [0.0 - value if two[0] > two[1] else value for two, value in zip(met, answers, strict=True)]
        run = judge_pairs(
            project,
            anchor_name("llm"),
            {case: (value, value) for case, value in zip(cases, values, strict=True)},
        )
        project.db.execute(
            "UPDATE runs SET state = 'done', finished_at = ? WHERE id = ?", (f"{day}T23:00:00+00:00", run)
        )
        move_anchor_verdicts(project.db, project.db.value("SELECT rater_id FROM runs WHERE id = ?", (run,)))
    rows = [drift.row for drift in drifts(project.db, project.id, "day", None, Resampling(20, 0))]
    assert [row["figure"] for row in rows] == [SAME, SHIFT]
    assert rows[0]["value"] == pytest.approx(4 / 8)
    return {str(row["figure"]): row for row in rows}


@pytest.mark.parametrize(
    ("names", "value", "side"),
    [
        ({}, SHIFTED, "A is als, B is cooc"),
        ({"als": "zeta"}, -SHIFTED, "A is cooc, B is zeta"),
        ({"cooc": "aaa"}, -SHIFTED, "A is aaa, B is als"),
        ({"als": "cooc", "cooc": "zeta"}, SHIFTED, "A is cooc, B is zeta"),
    ],
)
def test_a_shift_between_two_systems_names_its_sides(
    tmp_path: Path, names: Mapping[str, str], value: float, side: str
) -> None:
    """Towards A: whoever sorts first, the judge now prefers the same system more."""
    shift = anchored(tmp_path / "a.db", (("als", "cooc"),), names)[SHIFT]
    assert shift["value"] == pytest.approx(value)
    assert side in str(shift["note"])


@pytest.mark.parametrize("base", ["base", "aaa", "zzz"])
def test_a_shift_against_a_baseline_does_not_depend_on_its_name(tmp_path: Path, base: str) -> None:
    pairs = (("als", "base"), ("cooc", "base"))
    shift = anchored(tmp_path / "a.db", pairs, {"base": base})[SHIFT]
    assert shift["value"] == pytest.approx(SHIFTED)
    assert f"B is {base}, which is in every pair; A is the other system" in str(shift["note"])


@pytest.mark.parametrize("names", [{}, {"als": "zeta"}, {"text": "aaa"}])
def test_a_shift_without_a_common_side_is_undefined(tmp_path: Path, names: Mapping[str, str]) -> None:
    pairs = (("als", "cooc"), ("cooc", "text"), ("text", "als"))
    shift = anchored(tmp_path / "a.db", pairs, names)[SHIFT]
    assert (shift["value"], shift["n"], shift["note"]) == (None, 8, NO_SIDE)
