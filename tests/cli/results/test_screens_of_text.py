"""What people read of a report: its answer first, a screen at most, everything with --all."""

from __future__ import annotations

import pytest

from recjudge_tui.reports.declare import REPORTS
from tests.builder import Built
from tests.golden.projects import demo

SHOP = "-p synthetic-shop"
LEADERBOARD = f"leaderboard {SHOP} --protocol pairwise"
REPORTS_OF_THE_SHOP = (
    *(f"leaderboard {SHOP} --protocol {name}" for name in ("pointwise", "pairwise", "arena", "absolute", "explanation")),
    *(f"{LEADERBOARD} --table {table}" for table in ("matrix", "metrics", "side-by-side")),
    f"leaderboard {SHOP} --protocol explanation --table pairs", f"{LEADERBOARD} --by activity",
    f"agreement {SHOP}", f"agreement {SHOP} --confusion", f"agreement {SHOP} --by-label", f"agreement {SHOP} --together",
    f"agreement {SHOP} --truth user --ensembles", f"agreement {SHOP} --benchmark", f"flags {SHOP}",
    f"flags {SHOP} --by rank", f"flags {SHOP} --agreement", f"biases {SHOP}", f"metrics {SHOP}",
    f"metrics {SHOP} --table pairs", f"metrics {SHOP} --by activity", f"robustness position {SHOP}",
    f"robustness adversarial {SHOP}", f"trend {SHOP} --over import", f"plan {SHOP}", f"plan {SHOP} --protocol pointwise",
    f"cost {SHOP}", f"outcome show {SHOP}", f"outcome show {SHOP} --judges", f"compare {SHOP} annotator_1 annotator_2",
    f"compare {SHOP} annotator_1 annotator_2 --table transitions",
    f"estimate {SHOP} --protocol pairwise --rater rules --truth annotator_1",
    f"rater list {SHOP}", f"cases list {SHOP}", f"verdicts list {SHOP}", f"verdicts log {SHOP}",
)  # fmt: skip


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return demo(tmp_path_factory.mktemp("shop") / "recjudge.db")


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("line", REPORTS_OF_THE_SHOP)
def test_a_report_is_a_screen_at_most_with_three_notes(shop: Built, line: str) -> None:
    lines = shop.run(line).output.splitlines()
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    assert sum(text.startswith("- ") for text in lines) <= 3 + sum(
        text.startswith(("- more:", "- columns hidden")) or text.endswith(" rows") for text in lines
    )


def test_the_groups_answer_first(shop: Built) -> None:
    first = shop.done(f"{LEADERBOARD} --by activity").splitlines()[0]
    assert first.startswith("2 to 49 events: cooccurrence leads, ahead of text on 15 users")
    answer = shop.table(f"metrics {SHOP} --by activity")["answer"]
    assert [group in answer for group in ("2 to 49 events: ", "51 to 58 events: ", "60 to 70 events: ")] == [
        True
    ] * 3


def test_all_shows_every_column_however_narrow(shop: Built) -> None:
    for line in (LEADERBOARD, f"{LEADERBOARD} --table side-by-side", f"metrics {SHOP} --table pairs"):
        text = shop.done(f"{line} --all")
        assert "columns hidden" not in text
        table = shop.table(line)
        filled = [
            c for c in table["columns"] if any(row.get(c["name"]) not in (None, "") for row in table["rows"])
        ]
        words = text.split()
        # an interval is one column; a rater may head its rows, and an aspect stand above the table
        ends = {"ci_low", "ci_high", "note", "rater", "aspect"}
        assert [
            c["label"] for c in filled if c["name"] not in ends and c["label"].split()[0] not in words
        ] == []


def test_periods_of_lists_without_times(shop: Built) -> None:
    assert "not split by week: no case has a time when it was served" in shop.done(
        f"agreement {SHOP} --over week"
    )


def test_what_cannot_be_computed_is_a_reason_alone(shop: Built) -> None:
    text = shop.done(f"agreement {SHOP} --protocol pairwise --level system")
    assert text.startswith("No agreement can be computed: needs three systems")
    assert "Agreement with" not in text
    assert shop.table(f"agreement {SHOP} --protocol pairwise --level system")["rows"]


def test_a_withheld_interval_has_its_reason(shop: Built) -> None:
    line = f"agreement {SHOP} --protocol pointwise --truth annotator_1 --raters rules --by activity"
    withheld = [row for row in shop.table(line)["rows"] if row["value"] is not None and row["ci_low"] is None]
    assert withheld
    assert "no interval: fewer than 10 users have a value other than the most common one" in " ".join(
        shop.done(line).split()
    )


def test_raters_of_one_kind_share_a_note(shop: Built) -> None:
    notes = shop.table(f"outcome show {SHOP}")["notes"]
    assert sum("made from other raters" in note for note in notes) == 1
    assert sum("language model" in note for note in notes) == 1


def test_no_note_or_answer_names_an_option(shop: Built) -> None:
    for line in REPORTS_OF_THE_SHOP:
        table = shop.table(line)
        assert not [
            text for text in (table["answer"], *table["notes"]) if " --" in text or text.startswith("--")
        ]


def test_help_of_each_report_has_an_example(shop: Built) -> None:
    for name in REPORTS:
        assert f"recjudge {name}" in shop.run(f"{name} --help").output
