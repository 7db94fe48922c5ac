"""Bounds and drift on small databases whose figures are known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.reports.agreement.agreement import AgreementOptions, agreement_table
from recjudge_tui.reports.common.table import Row, Screen, Table, render
from recjudge_tui.reports.reliability.gate import gate_table
from recjudge_tui.reports.reliability.gate_options import Bound, GateOptions
from recjudge_tui.stats.hypotheses import sign_test
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

USERS = 80
LABELS = (0.0, 1.0, 2.0)


@pytest.fixture
def project(project_db: Path) -> Project:
    return new_project(project_db)


def labelled(project: Project) -> tuple[list[int], list[float]]:
    """Cases of which `people` know the label."""
    truth = [float(v) for v in np.random.default_rng(1).choice(LABELS, USERS)]
    cases = [list_case(project, f"u{at}") for at in range(USERS)]
    give(project, "people", dict(zip(cases, truth, strict=True)))
    return cases, truth


def judged(
    project: Project, rater: str, cases: list[int], truth: list[float], right: float, seed: int
) -> int:
    rng = np.random.default_rng(seed)
    values = [t if rng.random() < right else float(rng.choice(LABELS)) for t in truth]
    return judge_lists(project, rater, dict(zip(cases, values, strict=True)))


def check(project: Project, rater: str, *bounds: Bound, **more: object) -> Table:
    options = GateOptions(rater, bounds, truth="people")
    return gate_table(project.db, project.id, GateOptions(**{**options.__dict__, **more}))


def only(table: Table, figure: str) -> Row:
    (row,) = [row for row in table.rows if row["figure"] == figure]
    return row


def test_a_bound_on_agreement_checks_the_figure_of_the_agreement_report(project: Project) -> None:
    judged(project, "llm", *labelled(project), 0.7, 2)
    options = AgreementOptions(raters=("llm",), truth="people", stats=("qwk",))
    (told,) = agreement_table(project.db, project.id, options).rows
    value, low = told["value"], told["ci_low"]
    assert isinstance(value, float)
    assert isinstance(low, float)
    row = check(project, "llm", Bound("qwk", value, True)).rows[0]
    assert (row["value"], row["ci_low"], row["ci_high"]) == (value, low, told["ci_high"])
    assert (row["state"], row["demand"]) == ("met", f"at least {value:g}")
    assert check(project, "llm", Bound("qwk", value + 1e-6, True)).rows[0]["state"] == "not met"
    assert check(project, "llm", Bound("qwk", value - 1e-6, False)).rows[0]["state"] == "not met"
    assert check(project, "llm", Bound("qwk", low, True), certain=True).rows[0]["state"] == "met"
    short = check(project, "llm", Bound("qwk", low + 1e-6, True), certain=True).rows[0]
    assert (short["state"], short["note"]) == (
        "not met",
        "the figure meets the bound, but its interval does not",
    )


def test_the_level_is_that_of_the_interval(project: Project) -> None:
    judged(project, "llm", *labelled(project), 0.7, 2)
    for name in ("qwk", "percent", "failure_rate"):
        narrow, wide = (
            check(project, "llm", Bound(name, 0, True), level=level).rows[0] for level in (0.8, 0.99)
        )
        for row in (narrow, wide):
            assert isinstance(row["ci_low"], float)
            assert isinstance(row["ci_high"], float)
        assert float(str(narrow["ci_high"])) < float(str(wide["ci_high"])), name


def test_the_heading_of_the_intervals_has_their_level(project: Project) -> None:
    cases, truth = labelled(project)
    judged(project, "llm", cases, truth, 0.8, 2)
    for level, heading in ((0.9, "90 % CI"), (0.995, "99.5 % CI")):
        table = check(project, "llm", Bound("qwk", 0, True), level=level)
        text = render(table, "text", Screen(200)).text.replace("\u00a0", " ")
        assert heading in text
        assert "95 %" not in text
        assert heading.replace("%", r"\%") in render(table, "latex").text


def test_failures(project: Project) -> None:
    cases, truth = labelled(project)
    judge_lists(project, "llm", dict(zip(cases, [None, None, *truth[2:]], strict=True)))
    row = check(project, "llm", Bound("failure_rate", 0.02, False)).rows[0]
    assert (row["value"], row["n"], row["state"]) == (2 / USERS, USERS, "not met")
    assert check(project, "llm", Bound("failure_rate", 0.025, False)).rows[0]["state"] == "met"
    assert (
        check(project, "llm", Bound("failure_rate", 0.025, False), certain=True).rows[0]["state"] == "not met"
    )


def test_a_win_rate_is_that_of_the_first_system(project: Project) -> None:
    cases = [pair_case(project, f"u{at}") for at in range(10)]
    judge_pairs(project, "llm", dict(zip(cases, [(1.0, 1.0)] * 6 + [(0.0, 0.0)] * 4, strict=True)))
    for systems, value in ((("a", "b"), 0.8), (("b", "a"), 0.2)):
        options = GateOptions("llm", (Bound("win_rate", 0.5, True),), systems=systems)
        (row,) = gate_table(project.db, project.id, options).rows
        assert row["value"] == pytest.approx(value)
        assert row["state"] == ("met" if value > 0.5 else "not met")
        assert row["reference"] == " over ".join(systems)


def test_a_missing_figure_does_not_meet_a_bound(project: Project) -> None:
    cases, truth = labelled(project)
    judged(project, "llm", cases, truth, 0.7, 2)
    give(project, "elsewhere", {list_case(project, "far", "z"): 1.0})
    row = check(project, "llm", Bound("qwk", -1, True), truth="elsewhere").rows[0]
    assert (row["value"], row["state"]) == (None, "not met")
    give(
        project,
        "texts",
        {text_case(project, "u", "i", "x"): 3.0},
        protocol_name="explanation",
        aspect="accuracy",
    )
    row = check(project, "llm", Bound("qwk", -1, True), truth="texts").rows[0]
    assert (row["state"], row["note"]) == ("not met", "no question that both llm and texts answered")
    options = GateOptions("llm", (Bound("win_rate", 0, True),), systems=("x", "z"))
    assert "has not compared" in str(gate_table(project.db, project.id, options).rows[0]["note"])


def test_every_aspect_must_meet_it(project: Project) -> None:
    for aspect, values in (("accuracy", (1.0, 2.0, 5.0)), ("transparency", (5.0, 2.0, 1.0))):
        cases = [text_case(project, f"u{at}", "i", "x") for at in range(3)]
        judge = dict(zip(cases, (1.0, 2.0, 5.0), strict=True))
        give(project, "llm", judge, protocol_name="explanation", aspect=aspect, kind="judge")
        truth = dict(zip(cases, values, strict=True))
        give(project, "people", truth, protocol_name="explanation", aspect=aspect)
    table = check(project, "llm", Bound("qwk", 0.5, True))
    assert {row["aspect"]: row["state"] for row in table.rows} == {
        "accuracy": "met",
        "transparency": "not met",
    }
    table = check(project, "llm", Bound("qwk", 0.5, True), aspect="accuracy")
    assert [row["aspect"] for row in table.rows] == ["accuracy"]


def test_a_run_that_only_varies_passes_and_a_worse_one_does_not(project: Project) -> None:
    cases, truth = labelled(project)
    judged(project, "may", cases, truth, 0.7, 2)
    judged(project, "june", cases, truth, 0.7, 3)
    judged(project, "july", cases, truth, 0.2, 4)
    same, worse = (check(project, rater, against="may") for rater in ("june", "july"))
    assert [row["figure"] for row in same.rows] == ["qwk", "failure_rate"]
    assert [row["state"] for row in same.rows] == ["met", "met"]
    fall = only(worse, "qwk")
    assert fall["state"] == "not met"
    assert isinstance(fall["ci_high"], float)
    assert fall["ci_high"] < 0
    better = only(check(project, "may", against="july"), "qwk")
    assert (better["state"], better["value"], better["earlier"]) == ("met", fall["earlier"], fall["value"])


def test_more_failures_are_a_change_for_the_worse(project: Project) -> None:
    cases, truth = labelled(project)
    judged(project, "may", cases, truth, 0.7, 2)
    some = [*[None] * 12, *truth[12:]]
    judge_lists(project, "june", dict(zip(cases, some, strict=True)))
    row = only(check(project, "june", against="may"), "failure_rate")
    assert (row["value"], row["earlier"], row["change"], row["state"]) == (
        0.15,
        0.0,
        pytest.approx(0.15),
        "not met",
    )
    assert only(check(project, "may", against="june"), "failure_rate")["state"] == "met"
    few = [None, *truth[1:]]
    judge_lists(project, "august", dict(zip(cases, few, strict=True)))
    assert only(check(project, "august", against="may"), "failure_rate")["state"] == "met"


def test_a_win_rate_that_falls(project: Project) -> None:
    cases = [pair_case(project, f"u{at}") for at in range(30)]
    judge_pairs(project, "may", dict.fromkeys(cases, (1.0, 1.0)))
    judge_pairs(project, "june", dict(zip(cases, [(1.0, 1.0), (-1.0, -1.0)] * 15, strict=True)))
    for systems, state in ((("a", "b"), "not met"), (("b", "a"), "met")):
        options = GateOptions("june", against="may", systems=systems)
        table = gate_table(project.db, project.id, options)
        assert [row["figure"] for row in table.rows] == ["win_rate", "failure_rate"]
        assert only(table, "win_rate")["state"] == state
    assert only(table, "win_rate")["change"] == pytest.approx(0.5)


def test_an_unknown_check_is_neither_met_nor_failed(project: Project) -> None:
    cases, truth = labelled(project)
    judged(project, "may", cases, truth, 0.7, 2)
    judge_lists(project, "june", dict.fromkeys(cases, 1.0))
    row = only(check(project, "june", against="may", stats=("pearson",)), "pearson")
    assert row["state"] == "unknown"
    assert "undefined for the later run" in str(row["note"])
    judge_lists(project, "far", {list_case(project, "elsewhere"): 1.0})
    assert (
        only(check(project, "may", against="far", stats=("failure_rate",)), "failure_rate")["state"]
        == "unknown"
    )
    judge_pairs(project, "pairs", {pair_case(project, "u1"): (1.0, 1.0)})
    row = only(check(project, "may", against="pairs", stats=("qwk",)), "qwk")
    assert (row["state"], row["note"]) == ("unknown", "pairs did not answer this")


def test_the_served_models_are_shown(project: Project) -> None:
    cases, truth = labelled(project)
    first, second = (judged(project, name, cases, truth, 0.7, 2) for name in ("may", "june"))
    table = check(project, "june", against="may")
    assert table.settings["served_changed"] is None
    assert any("unknown" in note for note in table.notes)
    for run, digest in ((first, "aaaa" * 10), (second, "bbbb" * 10)):
        identity = json.dumps({"name": "qwen:4b", "digest": digest})
        project.db.execute("UPDATE runs SET identity = ? WHERE id = ?", (identity, run))
    table = check(project, "june", against="may")
    assert table.settings["served_changed"] is True
    assert "the served model CHANGED" in table.notes
    assert any(note.startswith("june was answered by qwen:4b@bbbbbbbbbbbb (run 2") for note in table.notes)
    assert json.loads(json.dumps(table.settings))["served_before"][0]["digest"] == "aaaa" * 10
    project.db.execute("UPDATE runs SET identity = (SELECT identity FROM runs WHERE id = 1)")
    assert check(project, "june", against="may").settings["served_changed"] is False
    project.db.execute("UPDATE calls SET model = 'qwen:4b-0625' WHERE run_id = 2")
    table = check(project, "june", against="may")
    assert table.settings["served_changed"] is True
    assert any("replies from qwen:4b-0625" in note for note in table.notes)


def test_a_set_that_was_not_frozen_and_answers_from_the_cache_are_told(project: Project) -> None:
    cases, truth = labelled(project)
    for name in ("may", "june"):
        judged(project, name, cases, truth, 0.7, 2)
    assert not any("frozen" in n or "cache" in n for n in check(project, "june", against="may").notes)
    project.db.execute("UPDATE calls SET content_hash = 'other' WHERE run_id = 2 AND case_id <= 3")
    project.db.execute("UPDATE calls SET cached_from = 1 WHERE run_id = 2 AND case_id <= 5")
    notes = check(project, "june", against="may").notes
    assert f"3 of {USERS} shared calls had a different prompt text, so the set was not frozen" in notes
    assert any(note.startswith(f"5 of {USERS} calls of june came from the cache") for note in notes)


@pytest.mark.parametrize(
    ("rater", "more", "error"),
    [
        ("llm", {}, UsageError),
        ("llm", {"stats": ("qwk",)}, UsageError),
        ("llm", {"against": "llm"}, UsageError),
        ("llm", {"against": "people"}, UsageError),
        ("people", {"against": "llm"}, UsageError),
        ("llm", {"against": "ghost"}, NotFoundError),
        ("ghost", {"bounds": (Bound("qwk", 0, True),)}, NotFoundError),
        ("llm", {"bounds": (Bound("qwk", 0, True),), "truth": "ghost"}, NotFoundError),
        ("llm", {"bounds": (Bound("qwk", 0, True),), "truth": None}, UsageError),
        ("llm", {"bounds": (Bound("vibes", 0, True),)}, UsageError),
        ("llm", {"bounds": (Bound("win_rate", 0, True),)}, UsageError),
        ("llm", {"bounds": (Bound("win_rate", 0, True),), "systems": ("x",)}, UsageError),
        ("llm", {"bounds": (Bound("win_rate", 0, True),), "systems": ("x", "ghost")}, NotFoundError),
        ("llm", {"bounds": (Bound("qwk", float("nan"), True),)}, UsageError),
        ("llm", {"bounds": (Bound("qwk", 0, True),), "protocol": "arena"}, NotFoundError),
        ("llm", {"bounds": (Bound("qwk", 0, True),), "aspect": "bogus"}, UsageError),
        ("llm", {"against": "other", "stats": ("bias",)}, UsageError),
    ],
)  # fmt: skip
def test_words_that_do_not_fit(
    project: Project, rater: str, more: dict[str, object], error: type[Exception]
) -> None:
    cases, truth = labelled(project)
    for name in ("llm", "other"):
        judged(project, name, cases[:5], truth[:5], 0.7, 2)
    with pytest.raises(error):
        check(project, rater, **more)


@pytest.mark.parametrize(
    ("n", "state"), [(1, "not met"), (2, "not met"), (5, "not met"), (6, "met"), (10, "met")]
)
def test_unanimous_battles_pass_with_certainty_only_where_the_sign_test_would(
    project: Project, n: int, state: str
) -> None:
    judge_pairs(project, "llm", {pair_case(project, f"u{at}"): (1.0, 1.0) for at in range(n)})
    wins = GateOptions("llm", (Bound("win_rate", 0.5, True),), systems=("a", "b"), certain=True)
    table = gate_table(project.db, project.id, wins)
    assert (only(table, "win_rate")["value"], only(table, "win_rate")["state"]) == (1.0, state)
    assert (state == "met") == ((sign_test(n, 0) or 1.0) < 0.05)
    # none of ten failed: the upper end is 31 %
    table = gate_table(project.db, project.id, replace(wins, bounds=(Bound("failure_rate", 0.1, False),)))
    assert only(table, "failure_rate")["state"] == "not met"


def test_where_some_bounds_are_not_met_the_others_are_so_only_after_correction(project: Project) -> None:
    judge_pairs(project, "llm", {pair_case(project, f"u{at}"): (1.0, 1.0) for at in range(6)})
    wins, few = Bound("win_rate", 0.5, True), Bound("failure_rate", 0.1, False)

    def states(*bounds: Bound, n: int = 6) -> list[object]:
        judge_pairs(project, "llm", {pair_case(project, f"u{at}"): (1.0, 1.0) for at in range(6, n)})
        options = GateOptions("llm", bounds, systems=("a", "b"), certain=True)
        table = gate_table(project.db, project.id, options)
        assert any(f"{len(bounds)} bounds were compared" in note for note in table.notes) == (len(bounds) > 1)
        return [row["state"] for row in table.rows]

    assert states(wins) == ["met"]
    # all are met, so none needs a correction
    assert states(wins, Bound("win_rate", 0.52, True)) == ["met", "met"]
    assert states(wins, few) == ["not met", "not met"]
    assert states(wins, few, n=10) == ["met", "not met"]


@pytest.mark.parametrize("n", [2, 5, 10])
def test_unanimous_labels_have_no_kappa_and_few_perfect_ones_no_certain_one(project: Project, n: int) -> None:
    cases = [list_case(project, f"u{at}") for at in range(n)]
    bounds = (Bound("qwk", 0.5, True), Bound("ac2", 0.5, True), Bound("percent", 0.7, True))
    for labels in ([2.0] * n, [LABELS[at % 3] for at in range(n)]):
        give(project, "people", dict(zip(cases, labels, strict=True)))
        give(project, "other", dict(zip(cases, labels, strict=True)), kind="judge")
        assert {row["state"] for row in check(project, "other", *bounds, certain=True).rows} == {"not met"}
        project.db.execute("DELETE FROM verdicts")
