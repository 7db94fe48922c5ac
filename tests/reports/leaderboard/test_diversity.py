"""Diversity beside relevance, and the test whether a judge leans to uniform lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from recjudge_tui.cli.results.diversity import diversity
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.leaderboard.diversity import diversity_table
from recjudge_tui.reports.reliability.homogeneity_bias import homogeneity_bias_table
from tests.support.runs import load
from tests.support.verdicts import Project, give, list_case, new_project

GENRES = tuple("abcdefgh")
USERS = tuple(f"u{n:02}" for n in range(40))


def films(project: Project, *, categories: bool = True) -> None:
    rows = [
        (f"{genre}{n}", f"Film {genre} {word}", genre if categories else "")
        for genre in GENRES
        for n, word in enumerate(("one", "two", "three", "four"))
    ]
    load(project.db, "items", [("item_id", "title", "category"), *rows])


def lists_of_kinds(project: Project) -> dict[tuple[str, str], float]:
    """System `mixed` shows from 3 to 4 genres, `same` 1 or 2, of 4 items each; the number of genres of each list."""
    rng = np.random.default_rng(1)
    rows: list[tuple[object, ...]] = [("user_id", "system", "item_id", "rank")]
    genres: dict[tuple[str, str], float] = {}
    for user in USERS:
        for system, low in (("mixed", 3), ("same", 1)):
            count = int(rng.integers(low, low + 2))
            chosen = rng.choice(GENRES, count, replace=False).tolist()
            genres[user, system] = count
            rows += [(user, system, f"{chosen[at % count]}{at // count}", at + 1) for at in range(4)]
    load(project.db, "lists", rows)
    return genres


@pytest.fixture
def project(project_db: Path) -> Project:
    """People rate by a list's quality; `judge` adds a point for every genre less, `fair` does not."""
    project = new_project(project_db)
    films(project)
    rng = np.random.default_rng(2)
    raters: dict[str, dict[int, float | None]] = {"people": {}, "judge": {}, "fair": {}}
    for (user, system), genres in lists_of_kinds(project).items():
        case = list_case(project, user, system)
        quality = rng.integers(0, 3)
        raters["people"][case] = float(quality)
        raters["fair"][case] = float(np.clip(quality + rng.integers(-1, 2), 0, 2))
        raters["judge"][case] = float(np.clip(quality + (2 - genres) * 0.5, 0, 2).round())
    for name, values in raters.items():
        give(project, name, values, kind="annotator" if name == "people" else "judge")
    return project


def row_of(table: Table, **wanted: object) -> Row:
    (found,) = [row for row in table.rows if all(row[name] == value for name, value in wanted.items())]
    return found


def test_measures_of_each_system_beside_its_ratings(project: Project) -> None:
    table = diversity_table(project.db, project.id, 4)
    mixed, same = (row_of(table, system=name, measure="ild") for name in ("mixed", "same"))
    assert isinstance(mixed["value"], float)
    assert isinstance(same["ci_high"], float)
    assert mixed["value"] > same["ci_high"]
    # 3 or 4 of 8 genres, and 1 or 2
    coverage = row_of(table, system="same", measure="category_coverage")
    assert coverage["value"] == pytest.approx(np.mean([genres / 8 for genres in genres_of(project, "same")]))
    # "Film a one" and "Film a two" have 2 of 4 words in common
    assert row_of(table, system="same", measure="near_duplicates")["value"] == 0
    shares = [row for row in table.rows if row["measure"] == "share" and row["rater"] == "people"]
    assert [(row["system"], row["label"]) for row in shares] == [
        (system, label) for system in ("mixed", "same") for label in ("Good", "Partial", "Poor")
    ]
    assert sum(float(str(row["value"])) for row in shares) == pytest.approx(2)
    assert [row["system"] for row in table.rows] == sorted(str(row["system"]) for row in table.rows)


def genres_of(project: Project, system: str) -> list[int]:
    rows = project.db.rows(
        """SELECT count(DISTINCT i.category) FROM v_current_slates c JOIN slate_items s ON s.slate_id = c.slate_id
           JOIN v_current_items i ON i.item_id = s.item_id WHERE c.system = ? GROUP BY c.user_id""",
        (system,),
    )
    return [row[0] for row in rows]


def test_near_duplicates_are_counted_and_an_empty_catalogue_leaves_little(project_db: Path) -> None:
    project = new_project(project_db)
    header = ("user_id", "system", "item_id", "rank")
    load(project.db, "lists", [header, *(("u", "x", item, at) for at, item in enumerate("abcd", start=1))])
    table = diversity_table(project.db, project.id)
    assert row_of(table, measure="near_duplicates")["value"] == 0
    ild = row_of(table, measure="ild")
    assert (ild["value"], ild["note"]) == (None, "for 1 list of 1: fewer than two items with categories")
    assert "no lists have been rated yet" in table.notes
    named = (
        ("a", "Rose Soap 100 ml", "Soap"),
        ("b", "Rose Soap 200 ml", "Soap"),
        ("c", "Rose Soap 200 ml", "Bath"),
    )
    load(project.db, "items", [("item_id", "title", "category"), *named])
    table = diversity_table(project.db, project.id)
    # b has 3 of 5 words in common with a; c, alike by name, is of another category
    assert row_of(table, measure="near_duplicates")["value"] == 1 / 4
    assert row_of(table, measure="title_ild")["value"] == pytest.approx((0.4 + 0.4 + 0) / 3)
    assert row_of(table, measure="category_coverage")["value"] == 1


def test_mean_scores_of_absolute_judges_stand_beside_too(project: Project) -> None:
    cases = {list_case(project, user, "same"): 0.25 for user in USERS}
    give(
        project,
        "scorer",
        cases | {list_case(project, "u00", "same"): None},
        protocol_name="absolute",
        kind="judge",
    )
    give(project, "ndcg", cases, protocol_name="absolute", kind="metric")
    table = diversity_table(project.db, project.id)
    score = row_of(table, measure="score")
    assert (score["rater"], score["system"], score["value"], score["n"]) == ("scorer", "same", 0.25, 39)
    assert not [row for row in table.rows if row["rater"] == "ndcg"]
    alone = diversity_table(project.db, project.id, rater="people")
    assert {row["rater"] for row in alone.rows} == {"", "people"}
    with pytest.raises(NotFoundError):
        diversity_table(project.db, project.id, rater="nobody")


def test_nothing_there(project_db: Path) -> None:
    project = new_project(project_db)
    table = diversity_table(project.db, project.id)
    assert table.rows == ()
    assert table.notes[0].startswith("no lists yet")
    give(project, "anna", {list_case(project, "u"): 1.0})
    assert homogeneity_bias_table(project.db, project.id, "anna").notes == (
        "no other rater shares lists and scale with anna",
    )


def test_a_judge_who_favours_uniform_lists_is_found_and_a_fair_one_is_not(project: Project) -> None:
    table = homogeneity_bias_table(project.db, project.id, "people", k=4)
    assert [(row["rater"], row["over"]) for row in table.rows] == [
        (rater, over) for rater in ("fair", "judge") for over in ("all lists", "within systems")
    ]
    for over in ("all lists", "within systems"):
        biased, fair = (row_of(table, rater=name, over=over) for name in ("judge", "fair"))
        assert biased["finding"] == "judge favours uniform lists more than people"
        assert fair["finding"] == "no difference shown"
        assert biased["n"] == 80
        slopes = [float(str(biased[name])) for name in ("slope_rater", "slope_truth", "difference")]
        assert slopes[0] - slopes[1] == pytest.approx(slopes[2])
    rank = row_of(table, rater="judge", over="all lists")["rank_low"]
    assert isinstance(rank, float)
    assert rank > 0
    assert row_of(table, rater="judge", over="within systems")["note"] == "ranks are compared over all lists"


def test_titles_stand_in_for_categories_that_are_missing(project_db: Path) -> None:
    project = new_project(project_db)
    films(project, categories=False)
    kinds = lists_of_kinds(project)
    cases = {key: list_case(project, *key) for key in kinds}
    give(project, "people", dict.fromkeys(cases.values(), 1.0) | {cases["u00", "same"]: 2.0})
    give(project, "judge", {cases[key]: float(genres < 2) for key, genres in kinds.items()}, kind="judge")
    table = homogeneity_bias_table(project.db, project.id, "people", "judge", 4)
    assert table.settings["measure"] == "title_ild"
    assert row_of(table, over="all lists")["finding"] == "judge favours uniform lists more than people"


def test_lists_that_are_gone_are_left_out_and_counted(project: Project) -> None:
    give(project, "late", {list_case(project, "gone", "same"): 2.0} | dict.fromkeys(
        [list_case(project, user, "same") for user in USERS], 1.0), kind="judge")  # fmt: skip
    give(project, "other", {list_case(project, "gone", "same"): 2.0} | dict.fromkeys(
        [list_case(project, user, "same") for user in USERS], 0.0))  # fmt: skip
    (row,) = homogeneity_bias_table(project.db, project.id, "other", "late", 4).rows
    assert row["n"] == 40
    assert "1 of 41 lists left out" in str(row["note"])
    assert row["difference"] == pytest.approx(0)


def test_the_truth_is_somebody_else(project: Project) -> None:
    with pytest.raises(UsageError):
        homogeneity_bias_table(project.db, project.id, "people", "people")
    with pytest.raises(NotFoundError):
        homogeneity_bias_table(project.db, project.id, "nobody")


def test_the_command(project: Project) -> None:
    words = ["-p", "films", "--db", str(project.db.path), "--format", "json"]

    def rows(*more: str) -> list[dict[str, Any]]:
        done = CliRunner().invoke(diversity, [*words, *more])
        assert done.exit_code == 0, done.output
        found: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
        return found

    assert {row["measure"] for row in rows("--rater", "people")} == {
        "ild", "title_ild", "near_duplicates", "category_coverage", "share",
    }  # fmt: skip
    assert len(rows("--truth", "people", "--rater", "judge", "--k", "4")) == 2
