"""The tables of RecSys Arena from their printed figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.papers.arena import FIGURES, P_VALUE, PEARSON, SHARES, arena_table
from recjudge_tui.reports.papers.published import PrintedFigure, Publication, publication


def rows(figure: str, **who: str) -> list[Row]:
    return [
        row
        for row in arena_table().rows
        if row["figure"] == figure and all(row[name] == value for name, value in who.items())
    ]


def results(figure: str) -> list[object]:
    return [row["result"] for row in rows(figure)]


def test_every_figure_has_a_state() -> None:
    table = arena_table()
    assert len(table.rows) == 296
    assert {row["figure"] for row in table.rows} == set(FIGURES)
    assert {row["result"] for row in table.rows} == {"follows", "does not follow", "as printed"}
    for row in table.rows:
        compared = row["result"] != "as printed"
        assert (row.get("recomputed") is not None) == compared
        assert compared or row["note"]
        assert row["result"] == "follows" or row["note"]


def test_45_of_the_48_q_follow() -> None:
    assert [results("Q").count(result) for result in ("follows", "does not follow")] == [45, 3]
    failing = [(row["table"], row["judge"], row["system"]) for row in rows("Q") if row["result"] != "follows"]
    assert failing == [
        ("Table 2", "DeepSeek-V2.5", "DeepFM"),
        ("Table 4", "GPT-4o", "SASRec"),
        ("Table 6", "DeepSeek-V2.5", "DeepFM"),
    ]
    assert "Q: 45 follow, 3 do not" in arena_table().notes


@pytest.mark.parametrize(("dataset", "printed"), [("MovieLens", "1.9485"), ("MIND", "2.9501")])
def test_q_is_truncated_not_rounded(dataset: str, printed: str) -> None:
    (row,) = rows("Q", table="Table 2", dataset=dataset, judge="GPT-4o", system="NRMS")
    assert (row["printed"], row["result"]) == (printed, "follows")
    assert row["recomputed"] == pytest.approx(float(printed), abs=1e-4)
    assert "truncated" in str(row["note"])


@pytest.mark.parametrize(
    ("judge", "r", "p"),
    [
        ("GPT-4o", ("0.8972", 0.8843), ("0.1027", 0.1157)),
        ("DeepSeek-V2.5", ("0.9436", 0.9351), ("0.0563", 0.0649)),
        ("Llama3.1-8B", ("-0.2661", -0.3009), ("0.7338", 0.6991)),
    ],
)
def test_no_correlation_of_movielens_follows(judge: str, r: tuple[str, float], p: tuple[str, float]) -> None:
    for figure, (printed, computed) in ((PEARSON, r), (P_VALUE, p)):
        (row,) = rows(figure, dataset="MovieLens", judge=judge)
        assert (row["printed"], row["result"], row["n"]) == (printed, "does not follow", 4)
        assert round(float(str(row["recomputed"])), 4) == computed


def test_all_correlations_of_mind_follow() -> None:
    for figure in (PEARSON, P_VALUE):
        assert [row["result"] for row in rows(figure, dataset="MIND")] == ["follows"] * 3


def test_shares_and_ranks() -> None:
    assert results("rank") == ["follows"] * 48
    for share in SHARES:
        (failing,) = (row for row in rows(share) if row["result"] != "follows")
        assert (failing["table"], failing["judge"], failing["system"]) == ("Table 4", "GPT-4o", "SASRec")
        assert failing["note"] == "the three shares make 110.0"
    (row,) = rows("win", table="Table 2", dataset="MovieLens", judge="DeepSeek-V2.5", system="DeepFM")
    assert row["note"] == "the three shares are those of NRMS"


def changed(text: str, **place: str) -> Publication:
    """The publication with another text in one place."""
    paper = publication("arena")

    def edited(figure: PrintedFigure) -> PrintedFigure:
        where = {"table": figure.table, "name": figure.name, **figure.where}
        return replace(figure, text=text) if place.items() <= where.items() else figure

    return replace(paper, figures=tuple(map(edited, paper.figures)))


def test_another_printed_figure_has_another_state() -> None:
    place = {"table": "2", "dataset": "MIND", "judge": "GPT-4o", "system": "NRMS"}
    notes = arena_table(changed("1.9", name="Q", **place)).notes
    assert "Q: 44 follow, 4 do not" in notes
    assert f"{PEARSON}: 2 follow, 4 do not" in notes
    assert "rank: 45 follow, 3 do not" in notes


def test_a_system_that_never_lost_has_no_q() -> None:
    place = {"table": "4", "judge": "GPT-4o", "system": "NRMS"}
    paper = changed("0.0", name="tie", **place)
    none = replace(
        paper,
        figures=tuple(
            replace(f, text="0.0" if f.name == "lose" else "100.0")
            if f.name in ("win", "lose") and {"table": f.table, **f.where}.items() >= place.items()
            else f
            for f in paper.figures
        ),
    )
    found = [row for row in arena_table(none).rows if row["figure"] == "Q" and row["table"] == "Table 4"]
    (row,) = (row for row in found if (row["judge"], row["system"]) == ("GPT-4o", "NRMS"))
    assert (row.get("recomputed"), row["result"]) == (None, "as printed")
    assert "not finite" in str(row["note"])
