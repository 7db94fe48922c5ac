"""Correct, wrong and tie of adversarial pairs, and prompts compared on the same pairs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.importers.load import import_files
from recjudge_tui.reports.common.table import FORMATS, Row, Table, render
from recjudge_tui.reports.reliability.ablation import ablation_table
from recjudge_tui.reports.reliability.adversarial import AdversarialOptions, adversarial_table
from recjudge_tui.runs.engine.engine import work
from recjudge_tui.stats.hypotheses import share_difference, sign_test
from recjudge_tui.stats.intervals import clopper_pearson
from recjudge_tui.store.database import Database
from recjudge_tui.store.opening import connect
from recjudge_tui.store.projects.projects import project_id
from tests.support.adversarial_project import (
    first_list,
    judged_pairs_run,
    keys_of,
    make_taste_project,
    own_list,
    planned_pairs,
    recorded,
)
from tests.support.runs import load, server_judge
from tests.support.servers.process import ServerProcess

RANDOM = JudgeSpec(spec="random")


@pytest.fixture
def db(project_db: Path) -> Iterator[Database]:
    with connect(project_db) as database:
        yield database


def rows_of(table: Table, **wanted: object) -> list[Row]:
    return [row for row in table.rows if all(row.get(name) == value for name, value in wanted.items())]


def counts(table: Table, **wanted: object) -> dict[str, object]:
    """correct, wrong and tie of the one rater and kind of lists that is wanted, over all systems."""
    found = rows_of(table, system=None, **wanted)
    assert [row["outcome"] for row in found] == ["correct", "wrong", "tie"]
    return {str(row["outcome"]): row["count"] for row in found}


def test_a_judge_that_always_picks_the_own_list_is_always_correct(db: Database, tmp_path: Path) -> None:
    project = make_taste_project(db)
    oracle = recorded(db, tmp_path / "oracle.jsonl", own_list)
    judged_pairs_run(db, oracle)
    table = adversarial_table(db, project, AdversarialOptions(by_system=True))
    for lists in ("published", "unseen"):
        assert counts(table, lists=lists) == {"correct": 12, "wrong": 0, "tie": 0}
        (row,) = rows_of(table, lists=lists, outcome="correct", system=None)
        bound = clopper_pearson(12, 12)
        assert (row["share"], row["ci_low"], row["ci_high"], row["n"]) == (1.0, bound.ci_low, 1.0, 12)
        assert [r["count"] for r in rows_of(table, lists=lists, outcome="correct")] == [12, 6, 6]


def test_a_judge_that_always_picks_the_first_list_is_half_right(db: Database, tmp_path: Path) -> None:
    project = make_taste_project(db)
    judged_pairs_run(db, recorded(db, tmp_path / "first.jsonl", first_list))
    table = adversarial_table(db, project)
    assert counts(table, lists="published") == {"correct": 6, "wrong": 6, "tie": 0}
    (row,) = rows_of(table, lists="published", outcome="correct")
    assert (row["own_first"], row["own_second"], row["own_first_n"]) == (1.0, 0.0, 6)


def test_people_stand_beside_on_the_same_pairs(db: Database) -> None:
    project = make_taste_project(db)
    shown = keys_of(db, judged_pairs_run(db, sample=6))
    header = ("rater", "user_id", "system_a", "system_b", "value")
    published = [key for key, _ in shown if key.system_a.startswith("foreign:")]
    # anna: right in four, wrong in one, a tie in one, her pairs written with the own list first
    values = ["A"] * 4 + ["B", "Tie"]
    rows = [("anna", k.user_id, k.system_b, k.system_a, v) for k, v in zip(published, values, strict=True)]
    load(db, "labels", [header, *rows])
    table = adversarial_table(db, project)
    assert counts(table, lists="published", rater="anna") == {"correct": 4, "wrong": 1, "tie": 1}
    (row,) = rows_of(table, lists="published", rater="anna", outcome="correct")
    bound = clopper_pearson(4, 6)
    assert (row["share"], row["ci_low"], row["ci_high"]) == pytest.approx(
        (bound.value, bound.ci_low, bound.ci_high)
    )
    assert (row["own_first"], row["own_first_n"]) == (None, None)
    assert not rows_of(table, lists="unseen", rater="anna")
    # judges before people
    assert [row["rater"] for row in rows_of(table, lists="published", outcome="tie")] == ["rules", "anna"]


def test_with_a_rater_everybody_is_counted_on_its_pairs(db: Database) -> None:
    project = make_taste_project(db)
    judged_pairs_run(db, sample=12)
    judged_pairs_run(db, RANDOM, sample=4)
    both = adversarial_table(db, project)
    assert any("--rater R" in note for note in both.notes)
    few = adversarial_table(db, project, AdversarialOptions(rater="random"))
    assert {row["n"] for row in rows_of(few, lists="published")} == {4}
    assert {row["rater"] for row in few.rows} == {"random", "rules"}
    assert not any("--rater R" in note for note in few.notes)
    with pytest.raises(NotFoundError):
        adversarial_table(db, project, AdversarialOptions(rater="nobody"))


def test_the_notes_say_how_far_lists_give_themselves_away_and_what_the_paper_found(db: Database) -> None:
    project = make_taste_project(db)
    judged_pairs_run(db)
    notes = " | ".join(adversarial_table(db, project).notes)
    assert "of 12 foreign lists show something that the user already" in notes
    assert "78 / 21 / 1 and 73 / 18 / 9" in notes
    assert "rules is not a language model" in notes
    assert "one system" not in notes


def test_lists_of_one_system_are_said_to_be_so(db: Database) -> None:
    project = make_taste_project(db)
    judged_pairs_run(db, systems=("pop",))
    assert any("from one system" in note for note in adversarial_table(db, project).notes)


def test_failed_calls_are_counted_apart(db: Database, tmp_path: Path) -> None:
    project = make_taste_project(db)
    judge = recorded(db, tmp_path / "some.jsonl", own_list, sample=6)
    # twelve users asked, six of them recorded: the other calls fail
    run_id = planned_pairs(db, judge).run_id
    assert run_id is not None
    work(db.path, run_id)
    (row,) = rows_of(adversarial_table(db, project), lists="published", outcome="correct")
    assert (row["count"], row["n"], row["failed"]) == (6, 6, 6)


def test_without_runs_the_table_says_what_to_do(db: Database) -> None:
    project = make_taste_project(db)
    table = adversarial_table(db, project)
    assert table.rows == ()
    assert "recjudge robustness adversarial" in table.notes[0]


def test_over_a_real_server_every_pair_is_asked_once_and_counted(
    db: Database,
    openai_server: ServerProcess,
) -> None:
    project = make_taste_project(db)
    run_id = judged_pairs_run(db, server_judge(openai_server.url))
    table = adversarial_table(db, project)
    assert sum(int(str(n)) for n in counts(table, lists="published").values()) == 12
    asked = db.rows(
        "SELECT case_id, count(*) FROM calls WHERE run_id = ? AND state = 'done' GROUP BY 1", (run_id,)
    )
    assert {row[1] for row in asked} == {1}


def compared(db: Database, tmp_path: Path, right: dict[str, int]) -> list[str]:
    """Raters that are right on the first so many of twelve users, each with a rater name of its own."""
    names = []
    for name, many in right.items():
        seen: dict[str, int] = {}

        def choose(order: str, _: str, many: int = many, seen: dict[str, int] = seen) -> str:
            seen[order] = seen.get(order, 0) + 1
            # both pairs of a user are asked in one order, one after the other
            place = sum(seen.values()) - 1
            correct = "Set 1" if order == "ba" else "Set 2"
            return correct if place // 2 < many else "Tie"

        judge = recorded(db, tmp_path / f"{name}.jsonl", choose)
        judged_pairs_run(db, judge, rater=name)
        names.append(name)
    return names


def test_prompts_are_compared_on_the_same_pairs(db: Database, tmp_path: Path) -> None:
    project = make_taste_project(db)
    names = compared(db, tmp_path, {"generic": 3, "over": 9, "saer": 12})
    table = ablation_table(db, project, names)
    own = rows_of(table, lists="published", against=None)
    assert [(row["rater"], row["correct"], row["ties"], row["n"]) for row in own] == [
        ("generic", 3, 9, 12), ("over", 9, 3, 12), ("saer", 12, 0, 12),
    ]  # fmt: skip
    pairs = [row for row in rows_of(table, lists="published") if row.get("against")]
    assert [(row["rater"], row["against"], row["only_first"], row["only_second"]) for row in pairs] == [
        ("generic", "over", 0, 6), ("generic", "saer", 0, 9), ("over", "saer", 0, 3),
    ]  # fmt: skip
    expected = share_difference([1] * 3 + [0] * 9, [1] * 9 + [0] * 3, range(12))
    assert (pairs[0]["share"], pairs[0]["ci_low"]) == (expected.value, expected.ci_low)
    p = [sign_test(0, n) for n in (6, 9, 3)]
    assert [row["p"] for row in pairs] == p
    assert p[1] is not None
    assert p[0] is not None
    assert [row["p_holm"] for row in pairs] == pytest.approx([2 * p[0], 3 * p[1], p[2]])


def test_two_prompts_that_agree_everywhere_have_nothing_to_test(db: Database, tmp_path: Path) -> None:
    project = make_taste_project(db)
    names = compared(db, tmp_path, {"one": 5, "two": 5})
    (row,) = [
        r for r in ablation_table(db, project, names).rows if r.get("against") and r["lists"] == "unseen"
    ]
    assert (row["p"], row["p_holm"], row["share"]) == (None, None, 0.0)
    assert "nothing to test" in str(row["note"])


def test_an_ablation_needs_two_raters_that_exist(db: Database) -> None:
    project = make_taste_project(db)
    judged_pairs_run(db)
    with pytest.raises(UsageError):
        ablation_table(db, project, ["rules"])
    with pytest.raises(NotFoundError):
        ablation_table(db, project, ["rules", "nobody"])


def test_a_rater_without_pairs_is_named(db: Database) -> None:
    project = make_taste_project(db)
    judged_pairs_run(db)
    load(
        db,
        "labels",
        [("rater", "user_id", "system_a", "system_b", "value"), ("anna", "u01", "als", "pop", "A")],
    )
    table = ablation_table(db, project, ["rules", "anna"])
    assert "nothing judged by anna" in table.notes
    assert {row["rater"] for row in table.rows} == {"rules"}


def test_the_cost_of_a_prompt_counts_calls_from_the_cache_at_their_price(
    db: Database,
    openai_server: ServerProcess,
) -> None:
    project = make_taste_project(db)
    judge = server_judge(openai_server.url)
    judged_pairs_run(db, judge, rater="first")
    db.execute("UPDATE calls SET cost_usd = 0.002")
    db.connection.commit()
    judged_pairs_run(db, judge, rater="again")
    table = ablation_table(db, project, ["first", "again"])
    first, again = rows_of(table, lists="published", against=None)
    # ten of the 24 requests are equal to another one of the same run; two in flight at once are both asked
    assert first["asked"] >= 14
    assert first["asked"] + first["cached"] == 24
    assert first["cost_usd"] == pytest.approx(0.002 * first["asked"])
    assert (again["asked"], again["cached"], again["cost_usd"]) == (0, 24, None)
    assert first["cost_per_1000"] == again["cost_per_1000"] == pytest.approx(2.0)
    assert first["tokens_in"] == again["tokens_in"]


@pytest.mark.parametrize("fmt", FORMATS)
def test_both_tables_are_written_in_every_format(db: Database, tmp_path: Path, fmt: str) -> None:
    project = make_taste_project(db)
    names = compared(db, tmp_path, {"one": 5, "two": 9})
    for table in (adversarial_table(db, project), ablation_table(db, project, names)):
        assert "one" in render(table, fmt).text


@pytest.mark.data
def test_the_baseline_on_real_lists(db: Database) -> None:
    """The built-in rules on MovieLens: what the foreign list gives away is worth forty points."""
    folder = Path(os.environ["RECJUDGE_DATA"]) / "ml100k"
    files: dict[ImportKind, str] = {"items": "items.csv", "events": "events.csv", "lists": "lists_*.csv"}
    for kind, pattern in files.items():
        import_files(db, "films", sorted(folder.glob(pattern)), kind)
    judged_pairs_run(db, sample=100, top_k=10)
    table = adversarial_table(db, project_id(db, "films"))
    assert counts(table, lists="published") == {"correct": 66, "wrong": 3, "tie": 31}
    assert counts(table, lists="unseen") == {"correct": 27, "wrong": 7, "tie": 63}
