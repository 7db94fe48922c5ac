"""`recjudge flags` on lists whose flags are known: shares of lists, items and ranks, and agreement, counted by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.runs.engine import work
from recjudge_tui.stats.intervals import clopper_pearson
from recjudge_tui.store.schema import connect
from tests.builder import Built, project
from tests.support.runs import load, planned

# rater -> user -> the flags on the list of system x; the lists of system y have none
FLAGS = {
    "anna": {"u1": "a:off-category;b:already owned", "u2": "a:off-category", "u3": ""},
    "ben": {"u1": "a:off-category;c:Off-Category ", "u2": "a:already owned", "u3": "d:other"},
}


Cells = dict[Any, tuple[Any, ...]]


@pytest.fixture
def shop(project_db: Path) -> Built:
    """Lists of x and y for three users, whose plans are free, free and pro, with FLAGS on those of x."""
    lists = {(f"u{n}", system): items for n in (1, 2, 3) for system, items in (("x", "abcd"), ("y", "efgh"))}
    labels = [
        {
            "rater": rater,
            "user_id": user,
            "system": system,
            "value": "Partial",
            "flags": said if system == "x" else "",
        }
        for user, system in lists
        for rater, said in ((rater, flags[user]) for rater, flags in FLAGS.items())
    ]
    return project(
        project_db,
        items={name: f"Item {name}" for name in "abcdefgh"},
        users=[("user_id", "plan"), ("u1", "free"), ("u2", "free"), ("u3", "pro")],
        lists=lists,
        labels=labels,
    )


def add(shop: Built, kind: Any, *rows: tuple[object, ...]) -> None:
    with connect(shop.path) as database:
        load(database, kind, list(rows))


def judge(shop: Built, **options: Any) -> None:
    """A run of the built-in rules, which flag what the one user with a history bought."""
    add(shop, "events", ("user_id", "item_id", "type", "timestamp"), ("u1", "h", "purchase", "2024-05-01"))
    with connect(shop.path) as database:
        assert work(database.path, planned(database, rater="rules", **options)).state == "done"


def rows(shop: Built, words: str = "", **wanted: object) -> list[dict[str, Any]]:
    table = shop.table(f"flags -p films {words}")
    return [row for row in table["rows"] if all(row[name] == value for name, value in wanted.items())]


def counts(shop: Built, words: str = "", key: str = "issue", **wanted: object) -> Cells:
    return {row[key]: (row["count"], row["n"]) for row in rows(shop, words, **wanted)}


def test_lists_items_and_ranks_with_a_flag(shop: Built) -> None:
    assert counts(shop, rater="anna", system="x") == {
        "any": (2, 3), "off-category": (2, 3), "already owned": (1, 3), "other": (0, 3)
    }  # fmt: skip
    # one list has the same kind twice, spelled in two ways
    assert counts(shop, rater="ben", system="x") == {
        "any": (3, 3), "off-category": (1, 3), "already owned": (1, 3), "other": (1, 3)
    }  # fmt: skip
    assert {row["count"] for row in rows(shop, system="y")} == {0}
    (row,) = rows(shop, "--issue ANY", rater="anna", system="x")
    expected = clopper_pearson(2, 3)
    assert (row["share"], row["people"]) == (2 / 3, None)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((expected.ci_low, expected.ci_high))
    assert counts(shop, "--of items", rater="ben", system="x") == {
        "any": (4, 12), "off-category": (2, 12), "already owned": (1, 12), "other": (1, 12)
    }  # fmt: skip
    assert counts(shop, "--by rank", "rank", rater="anna", system="x") == {
        1: (2, 3), 2: (1, 3), 3: (0, 3), 4: (0, 3)
    }  # fmt: skip
    assert counts(shop, "--by rank --issue 'Already  Owned'", "rank", rater="anna", system="x")[2] == (1, 3)


def test_a_judge_beside_people_on_the_lists_it_judged(shop: Built) -> None:
    judge(shop)
    (row,) = rows(shop, rater="rules", system="x", issue="any")
    # only u1 has a history: anna and ben flagged something in that list
    assert (row["n"], row["people"], row["people_n"]) == (1, 1.0, 2)
    assert counts(shop, rater="rules", system="y")["already owned"] == (1, 1)
    assert "rules is not a language model" in shop.done("flags -p films")


def test_agreement_on_items(shop: Built) -> None:
    by_stat = {(row["issue"], row["stat"]): row for row in rows(shop, "--agreement")}
    # 24 items; anna flagged 3, ben 4, both 2
    chance = (24 * (2 + 19) - (3 * 4 + 21 * 20)) / (24 * 24 - (3 * 4 + 21 * 20))
    expected = {"precision": 2 / 3, "recall": 2 / 4, "f1": 4 / 7, "kappa": chance, "same_issue": 1 / 2}
    assert {stat: by_stat["any", stat]["value"] for stat in expected} == pytest.approx(expected)
    assert [by_stat["any", stat]["n"] for stat in expected] == [3, 4, 5, 24, 2]
    row = by_stat["any", "f1"]
    assert (row["flagged_a"], row["flagged_b"], row["both"], row["items"], row["users"]) == (3, 4, 2, 24, 3)
    assert (
        by_stat["off-category", "precision"]["value"] == by_stat["off-category", "recall"]["value"] == 1 / 2
    )
    assert (by_stat["other", "precision"]["value"], by_stat["other", "recall"]["value"]) == (None, 0)
    assert by_stat["other", "precision"]["note"]
    assert ("already owned", "same_issue") not in by_stat
    first = rows(shop, "--agreement --truth anna")[0]
    assert (first["rater_a"], first["rater_b"], first["value"]) == ("ben", "anna", 2 / 4)


def test_flags_that_the_data_refute_are_counted(shop: Built) -> None:
    judge(shop)
    with connect(shop.path) as database, database.transaction():
        flagged = "SELECT f.rowid FROM flags f JOIN calls k ON k.id = f.call_id ORDER BY f.rowid LIMIT 1"
        database.execute(f"UPDATE flags SET refuted = 'no event names it' WHERE rowid = ({flagged})")
    every = rows(shop, rater="rules", issue="any")
    assert sorted(row["refuted"] for row in every)[-1] == sum(row["refuted"] for row in every) == 1
    assert {row["refuted"] for row in rows(shop, "--by rank", rater="rules")} == {0, 1}
    assert any(note.startswith("rules: 1 of ") for note in shop.table("flags -p films")["notes"])
    assert {row["refuted"] for row in rows(shop, rater="anna")} == {0}
