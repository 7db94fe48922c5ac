"""`recjudge rater metric` as a process of its own."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from recjudge_tui.cli.people.raters import metric
from recjudge_tui.raters.metrics import NAMES
from recjudge_tui.stats.text import TOKENS
from recjudge_tui.store.database import Database
from recjudge_tui.store.opening import connect
from tests.support.runs import load, ran


@pytest.fixture
def db(project_db: Path) -> Path:
    with connect(project_db) as database:
        fill(database)
    return project_db


def fill(db: Database) -> None:
    load(db, "items", [("item_id", "title"), ("i1", "Heat")])
    rows = [("user_id", "item_id", "system", "text", "reference"), ("u1", "i1", "x", "so good", "good")]
    load(db, "explanations", rows)
    load(db, "events", [("user_id", "item_id", "type"), ("u1", "i1", "heldout_click")])
    load(db, "lists", [("user_id", "system", "item_id", "rank"), ("u1", "a", "i1", 1)])


def test_the_raters_are_reported_on_stderr_and_listed(db: Path) -> None:
    code, out, err = ran("rater", "metric", "bleu-1", "ndcg", "--k", 5, "-p", "films", "--db", db)
    assert (code, out) == (0, "")
    assert err.splitlines() == [
        "metric “bleu-1” created: 1 explanation verdicts",
        "metric “ndcg@5” created: 1 list verdicts",
    ]
    code, out, _ = ran("rater", "list", "-p", "films", "--db", db, "--format", "csv")
    assert code == 0
    assert [line.split(",")[0] for line in out.splitlines()[1:]] == ["bleu-1", "ndcg@5"]


def test_again_it_is_brought_up_to_date(db: Path) -> None:
    words = ("rater", "metric", "rouge-l", "--tokens", "characters", "-p", "films", "--db", db)
    assert "“rouge-l@characters” created" in ran(*words)[2]
    assert "“rouge-l@characters” updated" in ran(*words)[2]


def test_without_a_name_they_are_listed(db: Path) -> None:
    code, out, err = ran("rater", "metric", "-p", "films", "--db", db)
    assert (code, out) == (2, "")
    assert all(name in err for name in NAMES)


@pytest.mark.parametrize("words", [("nccg",), ("ndcg", "--k", "0"), ("rouge-l", "--tokens", "letters")])
def test_invalid_options_exit_with_2(db: Path, words: tuple[str, ...]) -> None:
    assert ran("rater", "metric", *words, "-p", "films", "--db", db)[0] == 2


def test_the_help_names_every_metric_and_way_of_cutting() -> None:
    described = metric.get_help(click.Context(metric))
    assert all(name in described for name in NAMES)
    choice = next(option.type for option in metric.params if option.name == "tokens")
    assert isinstance(choice, click.Choice)
    assert tuple(choice.choices) == TOKENS
