"""The tables of SAER from labels rebuilt from their printed counts."""

from __future__ import annotations

import csv
from collections import Counter
from io import StringIO

import pytest

from recjudge_tui.cli.results.reproduce import saer_printed
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.papers.saer_rebuilt import (
    PAIRS,
    PROJECTS,
    people_on_lists,
    rebuilt_answers,
    rebuilt_labels,
)


@pytest.fixture(scope="module")
def table() -> Table:
    return saer_printed()


def row_of(table: Table, row: str, figure: str = "") -> Row:
    (found,) = (r for r in table.rows if (r["row"], r["figure"]) == (row, figure))
    return found


def test_every_figure_has_a_state(table: Table) -> None:
    tables = [row for row in table.rows if row["table"] != "text"]
    assert Counter(row["table"] for row in tables) == {"Table 1": 22, "Table 2": 14, "Table 3": 15}
    assert all(row["result"] == "follows" or row["note"] for row in table.rows)
    assert Counter(row["result"] for row in tables) == {"follows": 47, "not determined": 4}


@pytest.mark.parametrize(
    ("row", "figure", "printed", "computed", "n"),
    [
        ("SAER-Human merged", "agreement", "49.0%", 49.0, 200),
        ("SAER-Human merged", "weighted kappa", "0.43", 0.426, 200),
        ("Human-Human", "agreement", "44.5%", 44.5, 200),
        ("SAER", "position consistency", "88.0% (176/200)", 88.0, 200),
        ("Human Merged (N=200)", "Tie", "58.0%", 58.0, 200),
        ("SAER concurs where humans agreed on a direction", "", "82.1%", 82.143, 84),
        ("humans favour co-occurrence over embedding", "", "1.6×", 1.625, 84),
        ("relative lift", "", "+18.4% (95% CI: [+17.6%, +19.1%], p < 0.0001)", 18.356, None),
        ("relative lift", "CI low", "+17.6%", 17.617, None),
        ("relative lift", "CI high", "+19.1%", 19.099, None),
        ("gain over generic", "", "17-point", 17, 100),
        ("SAER Refined Prompt (v3)", "Correct", "91.0%", 91.0, 100),
        ("Co-occurrence, Poor Match", "Human B", "12.5%", 12.5, 200),
    ],
)
def test_figures_that_follow(
    table: Table, row: str, figure: str, printed: str, computed: float, n: int | None
) -> None:
    found = row_of(table, row, figure)
    assert (found["printed"], found["result"], found["n"] if n else None) == (printed, "follows", n)
    assert found["recomputed"] == pytest.approx(computed, abs=6e-4)


def test_what_is_not_determined_says_why(table: Table) -> None:
    people = row_of(table, "Human–Human", "weighted kappa")
    assert (people["result"], people["n"]) == ("not determined", 400)
    assert people["recomputed"] == pytest.approx(0.383, abs=5e-4)
    assert "exactly 5 of the 120 disagreements" in str(people["note"])
    assert "3 give 0.41, 7 give 0.36" in str(people["note"])
    pairs = row_of(table, "Human-Human", "weighted kappa")
    assert (pairs["printed"], pairs.get("recomputed"), pairs["result"]) == ("0.13", None, "not determined")
    assert "-0.15 if all are opposite wins and 0.60" in str(pairs["note"])
    assert "not printed" in str(row_of(table, "SAER–Human (strict adjudication)", "weighted kappa")["note"])
    assert "69 of 84" in str(row_of(table, "SAER concurs where humans agreed on a direction")["note"])
    assert "24 position ties and 7 true ones" in str(row_of(table, "SAER Adjudicated (N=200)", "Tie")["note"])


def test_costs_and_rates_are_given_with_what_they_imply(table: Table) -> None:
    assert "3.5 cents for each of 800 calls" in str(row_of(table, "cost")["note"])
    assert "about 38 million" in str(row_of(table, "client CTR co-occurrence")["note"])
    assert "about 32 million" in str(row_of(table, "client CTR embedding")["note"])
    assert "+16.4% to +20.3%" in str(row_of(table, "impressions")["note"])
    assert row_of(table, "crowdsourced evaluation")["result"] == "as printed"


def test_the_answers_have_the_printed_counts() -> None:
    first, swapped = rebuilt_answers()
    assert Counter([*first, *swapped]) == {1.0: 228, -1.0: 154, 0.0: 18}
    assert sum(a == b for a, b in zip(first, swapped, strict=True)) == 176


def test_people_on_lists_have_the_printed_shares_and_agreement() -> None:
    for clashes in (1, 5, 11):
        joints = people_on_lists(clashes)
        together = Counter[tuple[float, float]]()
        for joint in joints:
            together.update(joint)
        assert sum(together.values()) == 400
        assert sum(together[value, value] for value in (0.0, 1.0, 2.0)) == 280
        assert together[2.0, 0.0] + together[0.0, 2.0] == clashes
    # the shares leave only odd numbers
    with pytest.raises(ValueError, match="4 clashes"):
        people_on_lists(4)


def test_the_labels_are_tables_that_import_reads() -> None:
    sizes = {name: len(list(csv.DictReader(StringIO(rebuilt_labels(name))))) for name in PROJECTS}
    assert sizes == {"pairs": 600, "lists": 1200, "foreign lists": 500}
    judged = Counter(
        row["value"] for row in csv.DictReader(StringIO(rebuilt_labels(PAIRS))) if row["rater"] == "SAER"
    )
    assert judged == {"A": 103, "B": 66, "Tie": 31}
