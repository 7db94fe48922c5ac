"""What people read of a report: its answer first, a screen at most, everything with --all."""

from __future__ import annotations

import pytest

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
    assert first.startswith("2 to 49 events: By rules, cooccurrence leads, ahead of text on 15 users")
    answer = shop.table(f"metrics {SHOP} --by activity")["answer"]
    assert [group in answer for group in ("2 to 49 events: ", "51 to 58 events: ", "60 to 70 events: ")] == [
        True
    ] * 3


def test_a_withheld_interval_has_its_reason(shop: Built) -> None:
    line = f"agreement {SHOP} --protocol pointwise --truth annotator_1 --raters rules --by activity"
    withheld = [row for row in shop.table(line)["rows"] if row["value"] is not None and row["ci_low"] is None]
    assert withheld
    assert "no interval: fewer than 10 users have a value other than the most common one" in " ".join(
        shop.done(line).split()
    )


def test_no_note_or_answer_names_an_option(shop: Built) -> None:
    for line in REPORTS_OF_THE_SHOP:
        table = shop.table(line)
        assert not [
            text for text in (table["answer"], *table["notes"]) if " --" in text or text.startswith("--")
        ]
