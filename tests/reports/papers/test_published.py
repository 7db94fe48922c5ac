"""The printed figures as shipped, and the rules by which a recomputed figure follows from them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from recjudge_tui.reports.papers.published import (
    CUT,
    PrintedFigure,
    Range,
    cut,
    exactly,
    follows,
    publication,
    rounded,
)

COUNTS = {"saer": 51, "arena": 296, "zhang2024": 305}
TYPED = {"saer": "saer2026", "arena": "arena2024", "zhang2024": "zhang2024"}


def printed(text: str) -> PrintedFigure:
    return PrintedFigure("1", {}, "Q", text)


def test_every_printed_figure_is_shipped_and_has_a_number() -> None:
    papers = {name: publication(name) for name in COUNTS}
    assert {name: len(paper.figures) for name, paper in papers.items()} == COUNTS
    assert sum(COUNTS.values()) == 652
    for paper in papers.values():
        assert all(figure.text.strip() == figure.text for figure in paper.figures)
        assert all(isinstance(figure.value, float) for figure in paper.figures)
        assert paper.remarks
        assert paper.statements
    places = [
        (name, f.table, tuple(f.where.items()), f.name)
        for name, paper in papers.items()
        for f in paper.figures
    ]
    assert len(set(places)) == 652


@pytest.mark.data
@pytest.mark.parametrize("paper", COUNTS)
def test_the_shipped_figures_are_those_typed_from_the_paper(paper: str) -> None:
    path = Path(os.environ["RECJUDGE_DATA"]) / "published" / f"{TYPED[paper]}.json"
    typed = json.loads(path.read_text(encoding="utf-8"))
    shipped = publication(paper)
    assert sorted((f.table, f.text) for f in shipped.figures) == sorted(
        (f["table"], f["value"]) for f in typed["figures"]
    )
    assert [(s.what, s.value) for s in shipped.statements] == [
        (s["what"], s["value"]) for s in typed["statements"]
    ]


@pytest.mark.parametrize(
    ("text", "value", "decimals"),
    [
        ("88.0% (176/200)", 88.0, 1),
        ("0.000364$", 0.000364, 6),
        ("-0.2661", -0.2661, 4),
        ("+18.4% (95% CI: [+17.6%, +19.1%])", 18.4, 1),
        ("17-point", 17.0, 0),
    ],
)
def test_a_figure_is_the_first_number_of_its_text(text: str, value: float, decimals: int) -> None:
    assert (printed(text).value, printed(text).decimals) == (value, decimals)


@pytest.mark.parametrize(
    ("text", "value", "result"),
    [
        ("1.9485", 1.94845, "follows"),  # half away from zero
        ("-2.16", -2.165, "follows"),  # half to even
        ("-2.17", -2.165, "follows"),
        ("1.9485", 1.94859, "does not follow"),
        ("0.58", 0.5899, "does not follow"),
        ("4", 4.4999, "follows"),
        ("0.00", -0.001, "follows"),
    ],
)
def test_a_figure_follows_if_it_is_the_rounded_one(text: str, value: float, result: str) -> None:
    assert follows(printed(text), exactly(value)).result == result


def test_a_figure_may_be_truncated_if_the_paper_truncates() -> None:
    verdict = follows(printed("1.9485"), exactly(1.94859), may_cut=True)
    assert (verdict.result, verdict.why) == ("follows", CUT)
    assert follows(printed("1.9484"), exactly(1.94859), may_cut=True).result == "does not follow"
    assert follows(printed("-1.23"), exactly(-1.239), may_cut=True).why == CUT
    assert (cut(-1.239, 2), rounded(-1.235, 2)) == (-1.23, -1.24)


def test_the_rounding_of_its_inputs_is_allowed_for() -> None:
    near = Range(16.6025, 16.5975, 16.6075)
    verdict = follows(printed("16.61"), near, "the four figures")
    assert verdict.result == "follows"
    assert "the four figures" in verdict.why
    assert follows(printed("16.62"), near).result == "does not follow"
    assert verdict.difference == pytest.approx(-0.0075)
