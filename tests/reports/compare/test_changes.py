"""What changed between two raters: counts by hand, the test that fits, users resampled, prompts side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.compare.changes import (
    ChangeOptions,
    Changes,
    compare_raters,
    offered_sides,
    usual_sides,
)
from recjudge_tui.reports.compare.run_differences import prompt_table
from recjudge_tui.reports.compare.tables import cases_table, direction_words, summary_table, transitions_table
from recjudge_tui.stats.hypotheses import bowker, stuart_maxwell
from recjudge_tui.stats.intervals import mean_estimate
from recjudge_tui.store.projects.projects import create_project
from recjudge_tui.store.prompts.prompts import prompt_text, read_prompt, store_prompt
from recjudge_tui.store.verdicts.changes import Cell
from tests.support.verdicts import (
    Project,
    give,
    judge_lists,
    judge_pairs,
    list_case,
    new_project,
    pair_case,
    text_case,
)

NAMES = {2.0: "Good", 1.0: "Partial", 0.0: "Poor"}


def compare(project: Project, first: str = "anna", second: str = "ben", **wishes: object) -> Changes:
    return compare_raters(project.db, project.id, ChangeOptions(first, second, **wishes))  # type: ignore[arg-type]


def only(changes: Changes) -> Row:
    (row,) = summary_table(changes).rows
    return row


def lists(project: Project, first: Sequence[float | None], second: Sequence[float | None]) -> list[int]:
    """Two people on the lists of as many users."""
    cases = [list_case(project, f"u{at}") for at in range(len(first))]
    for name, values in (("anna", first), ("ben", second)):
        give(project, name, dict(zip(cases, values, strict=True)))
    return cases


@pytest.fixture
def project(project_db: Path) -> Project:
    return new_project(project_db)


def test_counts_by_hand_and_what_stands_outside_n(project: Project) -> None:
    lists(project, [2, 2, 1, 0, None, 1, None, 2], [2, 0, 2, 1, 1, None, None, 1])
    give(project, "anna", {list_case(project, f"a{at}"): 1.0 for at in range(2)})
    give(project, "ben", {list_case(project, f"b{at}"): 1.0 for at in range(3)})
    row = only(compare(project))
    counted = [row[name] for name in ("n", "changed", "up", "down", "only_a", "only_b", "failed")]
    assert counted == [5, 4, 2, 2, 2, 3, 3]
    assert (row["share"], row["up_is"], row["down_is"]) == (0.8, "milder", "harsher")
    assert (row["mean_a"], row["mean_b"], row["difference"]) == pytest.approx((7 / 5, 6 / 5, -1 / 5))
    assert "only 4 cases changed" in str(row["note"])


def test_transitions_are_all_cells_and_lead_to_their_cases(project: Project) -> None:
    lists(project, [2, 2, 1, 0, 0, 2], [2, 0, 2, 1, 1, 0])
    changes = compare(project)
    rows = transitions_table(changes).rows
    assert [(row["from"], row["to"]) for row in rows] == [
        (a, b) for a in NAMES.values() for b in NAMES.values()
    ]
    met = {(row["from"], row["to"]): (row["count"], row["direction"]) for row in rows if row["count"]}
    assert met == {
        ("Good", "Good"): (1, ""), ("Good", "Poor"): (2, "harsher"), ("Partial", "Good"): (1, "milder"),
        ("Poor", "Partial"): (2, "milder"),
    }  # fmt: skip
    assert sum(float(str(row["share"])) for row in rows) == pytest.approx(1)
    listed = cases_table(project.db, changes).rows
    assert [(row["user"], row["from"], row["to"], row["direction"]) for row in listed] == [
        ("u1", "Good", "Poor", "harsher"), ("u2", "Partial", "Good", "milder"), ("u3", "Poor", "Partial", "milder"),
        ("u4", "Poor", "Partial", "milder"), ("u5", "Good", "Poor", "harsher"),
    ]  # fmt: skip
    cell = cases_table(project.db, changes, Cell(2, 2, 0, 0)).rows
    assert [row["user"] for row in cell] == ["u1", "u5"]
    assert [row["user"] for row in cases_table(project.db, changes, limit=1).rows] == ["u1"]


def test_three_labels_are_tested_by_their_margins(project: Project) -> None:
    rng = np.random.default_rng(5)
    first, second = rng.integers(0, 3, 90).astype(float), rng.choice(3, 90, p=[0.6, 0.3, 0.1]).astype(float)
    lists(project, first.tolist(), second.tolist())
    table = np.zeros((3, 3), dtype=int)
    np.add.at(table, (first.astype(int), second.astype(int)), 1)
    margins, symmetry = stuart_maxwell(table), bowker(table)
    row = only(compare(project))
    assert (row["test"], row["df"]) == ("Stuart-Maxwell", 2)
    assert row["statistic"] == pytest.approx(margins.statistic)
    assert row["p"] == row["p_holm"] == pytest.approx(margins.p)
    assert row["p_symmetry"] == pytest.approx(symmetry.p)
    assert row["note"] == ""
    back = only(compare(project, "ben", "anna"))
    assert (back["up"], back["down"], back["p"]) == (row["down"], row["up"], pytest.approx(margins.p))


@pytest.mark.parametrize("low", [0.0, 1.0])
def test_changes_between_two_labels_are_tested_exactly(project: Project, low: float) -> None:
    """Whichever two they are, and though a third was given and never changed."""
    changed = [(2.0, low)] * 9 + [(low, 2.0)] * 2 + [(2.0, 2.0)] * 5 + [(1.0 - low, 1.0 - low)] * 4
    lists(project, [a for a, _ in changed], [b for _, b in changed])
    row = only(compare(project))
    assert (row["test"], row["statistic"], row["df"]) == ("McNemar, exact", None, None)
    assert row["p"] == pytest.approx(binomtest(2, 11).pvalue)


def test_where_users_have_several_cases_each_user_counts_once(project: Project) -> None:
    """Ten users with four lists each: the changes of a user are alike, so forty changes are not forty tests."""
    cases = [list_case(project, f"u{at}", f"s{system}") for at in range(10) for system in range(4)]
    users = np.repeat(np.arange(10), 4)
    give(project, "anna", dict.fromkeys(cases, 1.0))
    give(project, "ben", dict(zip(cases, np.where(users < 3, 0.0, 2.0).tolist(), strict=True)))
    changes = compare(project)
    row = only(changes)
    assert (row["test"], row["up"], row["down"]) == ("sign over users, exact", 28, 12)
    assert (row["users_up"], row["users_down"], row["p_symmetry"]) == (7, 3, None)
    assert row["p"] == pytest.approx(binomtest(3, 10).pvalue)
    assert any("each user counts once" in note for note in summary_table(changes).notes)


def test_users_whose_changes_cancel_leave_nothing_to_test(project: Project) -> None:
    cases = [list_case(project, f"u{at}", system) for at in range(4) for system in ("x", "y")]
    give(project, "anna", dict.fromkeys(cases, 1.0))
    give(project, "ben", dict(zip(cases, [0.0, 2.0] * 4, strict=True)))
    row = only(compare(project))
    assert (row["changed"], row["p"], row["p_holm"]) == (8, None, None)
    assert "no user has more changes in one direction" in str(row["note"])


def test_scores_without_labels_are_tested_by_signs_and_shown_in_bands(project: Project) -> None:
    rng = np.random.default_rng(2)
    first = rng.random(60).round(3)
    second = np.clip(first + rng.choice([-0.1, 0.0, 0.2], 60), 0, 1).round(3)
    cases = [list_case(project, f"u{at}") for at in range(60)]
    for name, values in (("anna", first), ("ben", second)):
        give(project, name, dict(zip(cases, values.tolist(), strict=True)), protocol_name="absolute")
    changes = compare(project)
    row = only(changes)
    up, down = int((second > first).sum()), int((second < first).sum())
    assert [row[name] for name in ("n", "up", "down", "up_is", "down_is")] == [
        60,
        up,
        down,
        "higher",
        "lower",
    ]
    assert (row["test"], row["p"]) == ("sign, exact", pytest.approx(binomtest(up, up + down).pvalue))
    estimate = mean_estimate(second - first, [f"u{at}" for at in range(60)], (-1.0, 1.0))
    assert (row["difference"], row["ci_low"]) == pytest.approx((estimate.value, estimate.ci_low))
    transitions = transitions_table(changes).rows
    assert [row["to"] for row in transitions[:5]] == ["0.8-1", "0.6-0.8", "0.4-0.6", "0.2-0.4", "0-0.2"]
    for line in transitions:
        inside = [
            (first >= line["value_from"]) & (first < line["value_from"] + 0.2 + (line["from"] == "0.8-1")),  # type: ignore[operator]
            (second >= line["value_to"]) & (second < line["value_to"] + 0.2 + (line["to"] == "0.8-1")),  # type: ignore[operator]
        ]
        assert line["count"] == int((inside[0] & inside[1]).sum())
    part = changes.parts[0]
    for a, said in enumerate(part.levels):
        for b, now in enumerate(part.levels):
            cell = Cell(said.low, said.high, now.low, now.high)
            assert len(cases_table(project.db, changes, cell).rows) == part.tally.counts[a, b]


def test_means_of_an_ensemble_are_scores_among_labels(project: Project) -> None:
    cases = [text_case(project, f"u{at}", "i", "x") for at in range(4)]
    for name, values in (("anna", (1.0, 3.0, 5.0, 2.0)), ("ben", (1.5, 3.0, 4.5, 3.0))):
        given = dict(zip(cases, values, strict=True))
        give(project, name, dict(given), protocol_name="explanation", aspect="accuracy")
    changes = compare(project)
    assert only(changes)["test"] == "sign, exact"
    assert [level.name for level in changes.parts[0].levels] == ["5", "4.5", "4", "3", "2", "1.5", "1"]


def test_pairs_turn_towards_a_system_and_arena_meets_pairwise(project: Project) -> None:
    cases = [pair_case(project, f"u{at}") for at in range(6)]
    give(project, "anna", dict(zip(cases, [1, 1, 0, -1, -1, 0], strict=True)), protocol_name="pairwise")
    values: dict[int, float | None] = dict(zip(cases, [1.0, -1.0, -1.0, -1.0, 0.0, None], strict=True))
    give(project, "arena", values, protocol_name="arena", kind="judge")
    row = only(compare(project, "anna", "arena"))
    assert [row[name] for name in ("protocol", "n", "up", "down", "failed")] == ["pairwise", 5, 1, 2, 1]
    assert direction_words("arena") == ("towards A", "towards B")
    listed = cases_table(project.db, compare(project, "anna", "arena")).rows
    assert [(row["systems"], row["direction"]) for row in listed] == [
        ("a vs b", "towards b"), ("a vs b", "towards b"), ("a vs b", "towards a"),
    ]  # fmt: skip


def test_by_system_adds_up_and_several_tests_are_adjusted(project: Project) -> None:
    rng = np.random.default_rng(8)
    for system in ("als", "bpr"):
        cases = [list_case(project, f"u{at}", system) for at in range(40)]
        for name, shares in (("anna", [0.2, 0.3, 0.5]), ("ben", [0.6, 0.3, 0.1])):
            give(
                project,
                name,
                dict(zip(cases, rng.choice(3, 40, p=shares).astype(float).tolist(), strict=True)),
            )
    whole = only(compare(project))
    split = compare(project, by_system=True)
    rows = summary_table(split).rows
    assert [row["system"] for row in rows] == ["als", "bpr"]
    for name in ("n", "changed", "up", "down"):
        assert sum(int(str(row[name])) for row in rows) == whole[name]
    low, high = sorted(float(str(row["p"])) for row in rows)
    assert sorted(float(str(row["p_holm"])) for row in rows) == pytest.approx(
        [min(2 * low, 1), max(2 * low, high)]
    )
    low, high = sorted(float(str(row["p_symmetry"])) for row in rows)
    assert sorted(float(str(row["p_symmetry_holm"])) for row in rows) == pytest.approx(
        [min(2 * low, 1), min(1, max(2 * low, high))]
    )
    assert len(transitions_table(split).rows) == 18
    assert len(cases_table(project.db, split).rows) == whole["changed"]
    assert any("some users have several cases" in note for note in summary_table(split).notes) is False
    assert any("some users have several cases" in note for note in summary_table(compare(project)).notes)


def test_nothing_changed_nothing_in_common_and_scales_of_their_own(project: Project) -> None:
    cases = lists(project, [2, 1, 0], [2, 1, 0])
    row = only(compare(project))
    assert [row[name] for name in ("changed", "test", "p", "difference")] == [0, None, None, 0.0]
    assert "nothing to test" in str(row["note"])
    give(project, "carl", {list_case(project, "alone"): 1.0})
    row = only(compare(project, "anna", "carl"))
    assert [row[name] for name in ("n", "share", "p", "difference", "only_a", "only_b")] == [
        0,
        None,
        None,
        None,
        3,
        1,
    ]
    assert "no case has a verdict from both" in str(row["note"])
    give(project, "dora", dict.fromkeys(cases, 0.5), protocol_name="absolute")
    changes = compare(project, "anna", "dora")
    assert changes.parts == ()
    assert summary_table(changes).rows == ()
    assert "no question that both anna and dora answered" in summary_table(changes).notes
    text = text_case(project, "u", "i", "x")
    give(project, "anna", {text: 4.0}, protocol_name="explanation", aspect="accuracy")
    give(project, "rouge", {text: 0.3}, protocol_name="explanation", kind="metric")
    changes = compare(project, "rouge", "anna")
    row = only(changes)
    assert [row[name] for name in ("changed", "up", "p", "mean_a", "difference")] == [None] * 5
    assert "has its own scale" in str(row["note"])
    assert (transitions_table(changes).rows, cases_table(project.db, changes).rows) == ((), ())


def test_runs_by_number_with_prompts_and_settings(project: Project, tmp_path: Path) -> None:
    cases = [list_case(project, f"u{at}") for at in range(4)]
    first = judge_lists(project, "v1", dict.fromkeys(cases, 2.0))
    text = prompt_text(project.db, "pointwise-media")
    file = tmp_path / "mine.toml"
    file.write_text(
        text.replace("a Partial Match at best", "a Partial Match at the very best"), encoding="utf-8"
    )
    assert store_prompt(project.db, read_prompt(file)) == ("pointwise-media", 2)
    second = judge_lists(project, "v2", dict.fromkeys(cases, 1.0))
    more = judge_lists(project, "v2", {list_case(project, "later"): 0.0})
    project.db.execute("UPDATE runs SET judge = json_set(judge, '$.spec', 'random') WHERE id = ?", (second,))

    changes = compare(project, f"run:{first}", f"run:{second}")
    row = only(changes)
    assert (row["rater_a"], row["rater_b"]) == (f"v1 (run {first})", f"v2 (run {second})")
    assert (row["n"], row["down"], row["only_b"]) == (4, 4, 0)
    assert changes.differences == (
        "judge spec: rules -> random",
        "prompt: pointwise-media@1 -> pointwise-media@2",
    )
    assert any(note.startswith("the runs differ in judge spec") for note in summary_table(changes).notes)
    lines = changes.prompt.lines
    assert lines[:2] == ("--- pointwise-media@1", "+++ pointwise-media@2")
    signs = [line[0] for line in lines[2:]]
    assert (signs.count("-"), signs.count("+")) == (1, 1)
    table = prompt_table(changes.prompt)
    assert [row["line"] for row in table.rows if row["sign"] == "+"] == [
        line for line in file.read_text(encoding="utf-8").splitlines() if "the very best" in line
    ]
    assert only(compare(project, "v1", "v2"))["only_b"] == 1

    same = compare(project, f"run:{second}", "v1").prompt
    assert same.first == "pointwise-media@2"
    assert compare(project, "v1", f"run:{more}").parts[0].tally.n == 0
    give(project, "anna", dict.fromkeys(cases, 1.0))
    nobody = compare(project, "v1", "anna").prompt
    assert (nobody.lines, nobody.note) == ((), "anna has no run and therefore no prompt")


def test_a_note_of_the_rules_and_questions_of_a_run_alone(project: Project) -> None:
    listed = {list_case(project, f"u{at}"): 1.0 for at in range(3)}
    pairs = {pair_case(project, f"u{at}"): (1.0, 1.0) for at in range(3)}
    run = judge_lists(project, "rules", dict(listed), kind="rules")
    judge_pairs(project, "rules", dict(pairs), kind="rules")
    give(project, "anna", dict(listed))
    give(project, "anna", dict.fromkeys(pairs, 0.0), protocol_name="pairwise")
    both = summary_table(compare(project, "rules", "anna"))
    assert [row["protocol"] for row in both.rows] == ["pairwise", "pointwise"]
    assert any("not a language model" in note for note in both.notes)
    assert [row["protocol"] for row in summary_table(compare(project, f"run:{run}", "anna")).rows] == [
        "pointwise"
    ]
    assert only(compare(project, "rules", "anna", protocol="pairwise"))["protocol"] == "pairwise"


def test_who_can_be_compared_and_who_is_first(project: Project) -> None:
    assert (usual_sides(project.db, project.id), offered_sides(project.db, project.id)) == (None, ())
    cases = lists(project, [2, 1], [1, 1])
    assert usual_sides(project.db, project.id) == ("anna", "ben")
    old = judge_lists(project, "old", dict.fromkeys(cases, 1.0))
    assert usual_sides(project.db, project.id) == ("old", "anna")
    new = judge_lists(project, "new", dict.fromkeys(cases, 1.0))
    judge_pairs(project, "other", {pair_case(project, "u"): (1.0, 1.0)})
    assert usual_sides(project.db, project.id) == ("old", "new")
    words = [word for word, _ in offered_sides(project.db, project.id)]
    assert words == ["new", "old", "other", "anna", "ben", f"run:{new + 1}", f"run:{new}", f"run:{old}"]


def test_invalid_options(project: Project) -> None:
    cases = lists(project, [2, 1], [1, 1])
    run = judge_lists(project, "llm", dict.fromkeys(cases, 1.0))
    again = judge_lists(project, "llm", {list_case(project, "more"): 1.0})
    with pytest.raises(UsageError, match="with itself"):
        compare(project, "anna", "anna")
    apart = only(compare(project, f"run:{run}", f"run:{again}"))
    assert [apart[name] for name in ("n", "only_a", "only_b")] == [0, 2, 1]
    for word in ("run:x", "run:", "run:-1", "run:²"):
        with pytest.raises(UsageError, match="is not a run"):
            compare(project, word, "anna")
    with pytest.raises(NotFoundError, match="no run 999"):
        compare(project, "run:999", "anna")
    with pytest.raises(NotFoundError, match="no rater"):
        compare(project, "anna", "nobody")
    with pytest.raises(UsageError, match="no protocol"):
        compare(project, protocol="chess")
    with pytest.raises(UsageError, match="there are no verdicts on an aspect"):
        compare(project, aspect="taste")
    other = Project(project.db, create_project(project.db, "elsewhere"))
    give(other, "anna", {list_case(other, "u"): 1.0})
    with pytest.raises(NotFoundError, match="belongs to project films"):
        compare(other, "anna", f"run:{run}")
    # a rater may be called like a run
    give(project, f"run:{run}", dict.fromkeys(cases, 0.0))
    assert only(compare(project, "anna", f"run:{run}"))["rater_b"] == f"run:{run}"
