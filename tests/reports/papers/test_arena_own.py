"""One of the user's own raters in the form of RecSys Arena's tables, counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.errors import NotFoundError
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.papers.arena import P_VALUE, PEARSON, arena_table
from recjudge_tui.reports.papers.arena_own import OwnSystems, own_rows
from tests.support.verdicts import Project, give, new_project, pair_case

# wins, ties, losses against FM; "bert 4 rec" is not in the paper
OUTCOMES = {
    "nrms": (6, 2, 2),
    "Light-GCN": (5, 2, 3),
    "SASREC": (4, 3, 3),
    "deepfm": (2, 4, 4),
    "bert 4 rec": (1, 0, 0),
}


@pytest.fixture
def project(project_db: Path) -> Project:
    return new_project(project_db, "my arena")


def judged(project: Project, baseline: str = "FM", rater: str = "qwen") -> None:
    values: dict[int, float | None] = {}
    for system, counts in OUTCOMES.items():
        first, second = sorted((system, baseline))
        sign = 1.0 if first == system else -1.0
        outcomes = [
            value for value, count in zip((1.0, 0.0, -1.0), counts, strict=True) for _ in range(count)
        ]
        for user, outcome in enumerate(outcomes):
            values[pair_case(project, f"user {user}", first, second)] = sign * outcome
    give(project, rater, values, protocol_name="arena", kind="judge")


def own(project: Project, baseline: str = "", domain: str = "") -> OwnSystems:
    return OwnSystems(project.db, project.id, "my arena", baseline, domain)


def figures(rows: list[Row], figure: str) -> dict[object, Row]:
    return {row.get("system"): row for row in rows if row["figure"] == figure}


def test_shares_q_and_rank_against_the_baseline(project: Project) -> None:
    judged(project)
    rows = own_rows(own(project, domain="films"), ("qwen",))
    assert {name: row["recomputed"] for name, row in figures(rows, "Q").items()} == {
        "nrms": 2.0, "Light-GCN": pytest.approx(7 / 5), "SASREC": pytest.approx(7 / 6),
        "deepfm": pytest.approx(6 / 8), "bert 4 rec": None,
    }  # fmt: skip
    assert [figures(rows, name)["nrms"]["recomputed"] for name in ("win", "tie", "lose", "rank")] == [
        60,
        20,
        20,
        1,
    ]
    assert figures(rows, "rank")["deepfm"]["recomputed"] == 4
    assert figures(rows, "rank")["bert 4 rec"]["recomputed"] is None
    assert "GPT-4o on MovieLens 1.9485" in str(figures(rows, "Q")["nrms"]["note"])
    assert "never lost" in str(figures(rows, "Q")["bert 4 rec"]["note"])
    assert {row["judge"] for row in rows} == {"qwen"}
    # Q rises with the printed AUC over the four systems that the paper has
    (r,), (p,) = ([row for row in rows if row["figure"] == name] for name in (PEARSON, P_VALUE))
    assert r["n"] == p["n"] == 4
    assert float(str(r["recomputed"])) > 0.9
    assert "MovieLens" in str(r["note"])


def test_where_the_data_do_not_say_both_data_sets_are_compared(project: Project) -> None:
    judged(project)
    rows = [row for row in own_rows(own(project), ()) if row["figure"] == PEARSON]
    assert ["MovieLens" in str(row["note"]) for row in rows] == [True, False]


def test_the_rows_are_shown_below_the_printed_ones(project: Project) -> None:
    judged(project)
    table = arena_table(own=own_rows(own(project, domain="news"), ()))
    q = [row for row in table.rows if row["figure"] == "Q"]
    assert [row["judge"] for row in q[48:]] == ["qwen"] * 5
    assert all(row.get("printed") is None for row in q[48:])
    assert table.notes[0] == "296 printed figures"
    assert "Q: 45 follow, 3 do not" in table.notes


def test_another_baseline_is_named(project: Project) -> None:
    judged(project, baseline="popular")
    with pytest.raises(NotFoundError, match="a system called FM") as caught:
        own_rows(own(project), ("qwen",))
    assert "--baseline" in caught.value.next_step
    rows = own_rows(own(project, baseline="popular"), ("qwen",))
    assert figures(rows, "win")["nrms"]["recomputed"] == 60
    with pytest.raises(NotFoundError, match="“nobody” has compared no lists"):
        own_rows(own(project), ("nobody",))


def test_one_system_and_one_case(project: Project) -> None:
    give(project, "q", {pair_case(project, "u", "FM", "NRMS"): 0.0}, protocol_name="arena", kind="judge")
    rows = own_rows(own(project, domain="films"), ())
    assert figures(rows, "Q")["NRMS"]["recomputed"] == 1.0
    (r,) = (row for row in rows if row["figure"] == PEARSON)
    assert r["recomputed"] is None
    assert "three are needed" in str(r["note"])
