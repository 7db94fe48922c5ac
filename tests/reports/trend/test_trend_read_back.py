"""What a trend says in words and figures follows from the verdicts: computed again on any nights and any lists."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import product

import numpy as np
import pytest

from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.trend.trend import TrendOptions, trend_table
from recjudge_tui.store.cases.cases import CaseKey, ensure_case
from recjudge_tui.store.verdicts.anchors import anchor_name, move_anchor_verdicts
from tests.support.verdicts import Project, give, judge_lists, list_case, new_project

NIGHTS = ("2026-05-01", "2026-05-02", "2026-05-03", "2026-05-08")
# how far each judge moves on each night, and the share of its answers that are drawn again
JUDGES = {"steady": (0, 0, 0, 0), "noisy": (0, 0, 0, 0), "moved": (0, 0, -1, -1), "late": (0, 0, 0, 1)}
NOISE = {"steady": 0.0, "noisy": 0.4, "moved": 0.0, "late": 0.0}
Answers = dict[tuple[str, str], dict[int, float | None]]


class Nights:
    """The anchor cases of every judge, by user, and the answers of each judge on each night."""

    def __init__(self, project: Project) -> None:
        rng = np.random.default_rng(3)
        self.project = project
        self.users: dict[int, str] = {}
        self.answers: Answers = {}
        for judge, moves in JUDGES.items():
            cases = [
                list_case(project, f"{judge}-u{at:02}", system) for at in range(10) for system in ("x", "y")
            ]
            self.users |= {case: f"{at // 2}" for at, case in enumerate(cases)}
            # room to move, down or up
            usual = rng.integers(
                *((1, 3) if sum(moves) < 0 else (0, 2) if sum(moves) else (0, 3)), len(cases)
            )
            for night, move in zip(NIGHTS, moves, strict=True):
                drawn = np.where(rng.random(len(cases)) < NOISE[judge], rng.integers(0, 3, len(cases)), usual)
                said = [float(value) for value in np.clip(drawn + move, 0, 2)]
                answers = {c: None if rng.random() < 0.05 else v for c, v in zip(cases, said, strict=True)}
                self.answers[judge, night] = answers
                self._save(judge, night, answers)

    def _save(self, judge: str, night: str, answers: dict[int, float | None]) -> None:
        db = self.project.db
        run = judge_lists(self.project, anchor_name(judge), answers)
        db.execute(
            "UPDATE runs SET state = 'done', finished_at = ? WHERE id = ?", (f"{night}T23:00:00+00:00", run)
        )
        move_anchor_verdicts(db, db.value("SELECT rater_id FROM runs WHERE id = ?", (run,)))

    def differences(self, judge: str, night: str) -> dict[str, list[float]]:
        """By user, the answers of a night minus those of the first night, where both are known."""
        by_user: dict[str, list[float]] = defaultdict(list)
        for case, value in self.answers[judge, night].items():
            first = self.answers[judge, NIGHTS[0]][case]
            if value is not None and first is not None:
                by_user[self.users[case]].append(value - first)
        return by_user


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Nights:
    return Nights(new_project(tmp_path_factory.mktemp("trend") / "a.db"))


def _sign_flips(differences: dict[str, list[float]]) -> float:
    """Fisher's test over users, by all signs."""
    means = [np.mean(values) for values in differences.values()]
    sums = np.array(list(product((1, -1), repeat=len(means)))) @ np.abs(means)
    return float((np.abs(sums) >= abs(sum(means)) - 1e-9).mean())


def _holm(p: dict[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    highest, adjusted = 0.0, {}
    for rank, (key, value) in enumerate(sorted(p.items(), key=lambda entry: entry[1])):
        highest = max(highest, min(1.0, (len(p) - rank) * value))
        adjusted[key] = highest
    return adjusted


@pytest.mark.parametrize("since", ["", "2026-05-03"])
def test_the_nights_named_as_shifted_are_those_that_the_answers_show(nights: Nights, since: str) -> None:
    table = trend_table(nights.project.db, nights.project.id, TrendOptions(since=since, resamples=50))
    later = [night for night in NIGHTS[1:] if night >= since]
    adjusted = _holm({(j, n): _sign_flips(nights.differences(j, n)) for j in JUDGES for n in later})
    lines = {note.split(",")[0]: note for note in table.notes if "sign-flip" in note}
    assert lines.keys() == JUDGES.keys()
    for judge, line in lines.items():
        named = dict(re.findall(r"(2026-\d\d-\d\d) \(p = ([\d.e-]+)\)", line))
        shown = {n: p for (j, n), p in adjusted.items() if j == judge and p < 0.05}
        assert named == {night: f"{p:.2g}" for night, p in shown.items()}
        assert ("no shift is shown" in line) == (not shown)
        assert f"Holm's correction for {len(adjusted)} tests" in line
    assert "no shift" in lines["steady"]
    assert "no shift" in lines["noisy"]
    assert "shifted in 2026-05-03 (p = " in lines["moved"]
    assert "shifted in 2026-05-08 (p = " in lines["late"]


def test_the_figures_of_a_drift_are_those_of_the_answers(nights: Nights) -> None:
    table = trend_table(nights.project.db, nights.project.id, TrendOptions(resamples=50))
    rows = {(str(r["rater"]), str(r["period"]), str(r["figure"])): r for r in table.rows}
    assert len(rows) == len(table.rows) == 2 * len(JUDGES) * (len(NIGHTS) - 1)
    for (judge, night, figure), row in rows.items():
        changes = [value for values in nights.differences(judge, night).values() for value in values]
        expected = np.mean(changes) if figure == "anchor_shift" else np.mean(np.equal(changes, 0))
        assert row["value"] == pytest.approx(expected)
        assert (row["n"], row["failed"]) == (len(changes), len(nights.answers[judge, night]) - len(changes))
        if row["ci_low"] is not None:
            assert row["ci_low"] <= row["value"] <= row["ci_high"]  # type: ignore[operator]
    _counts_its_intervals(table)


def _counts_its_intervals(table: Table) -> None:
    shown = sum(row["ci_low"] is not None for row in table.rows)
    counted = [note for note in table.notes if "about one in 20, or fewer, misses" in note]
    assert [note.split(" ")[0] for note in counted] == ([str(shown)] if shown > 1 else [])


def test_periods_hold_the_verdicts_of_their_lists_and_the_others_are_counted(
    project_db_path: Project,
) -> None:
    project = project_db_path
    rng = np.random.default_rng(1)
    values: dict[int, float | None] = {}
    of: dict[int, tuple[str, str]] = {}
    with project.db.transaction():
        for at in range(60):
            day, system = ("", *NIGHTS)[rng.integers(0, 5)], ("x", "y")[at % 2]
            when = f"{day}T08:00:00+00:00" if day else ""
            case = ensure_case(project.db, project.id, CaseKey("list", f"u{at:02}", system, served_at=when))
            values[case] = None if rng.random() < 0.1 else float(rng.integers(0, 3))
            of[case] = day, system
    give(project, "llm", values, kind="judge")
    table = trend_table(project.db, project.id, TrendOptions(resamples=50))
    for row in table.rows:
        here = [values[case] for case, where in of.items() if where == (row["period"], row["system"])]
        known = [value for value in here if value is not None]
        assert row["value"] == pytest.approx(np.mean(np.equal(known, 2.0)))
        assert (row["n"], row["failed"]) == (len(known), len(here) - len(known))
    assert {(row["period"], row["system"]) for row in table.rows} == {w for w in of.values() if w[0]}
    undated = sum(not day for day, _ in of.values())
    assert any(f"{undated} of 60 verdicts left out: their lists have no served_at" in n for n in table.notes)
    _counts_its_intervals(table)


@pytest.fixture
def project_db_path(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return new_project(tmp_path_factory.mktemp("dated") / "a.db")


@pytest.mark.parametrize(("systems", "counted"), [(("x",), False), (("x", "y"), True)])
def test_one_interval_needs_no_warning(
    project_db_path: Project, systems: tuple[str, ...], counted: bool
) -> None:
    project = project_db_path
    with project.db.transaction():
        cases = [
            ensure_case(
                project.db, project.id,
                CaseKey("list", f"u{at}", system, served_at=f"{NIGHTS[0]}T08:00:00+00:00"),
            )
            for at in range(12)
            for system in systems
        ]  # fmt: skip
    give(project, "llm", {case: float(at % 3) for at, case in enumerate(cases)}, kind="judge")
    table = trend_table(project.db, project.id, TrendOptions(resamples=50))
    assert any("misses the true value" in note for note in table.notes) is counted
    _counts_its_intervals(table)
