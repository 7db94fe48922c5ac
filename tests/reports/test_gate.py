"""Bounds and changes on small databases whose figures are known, and what machines make of a gate."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.gate import written
from recjudge_tui.store.cases import CaseKey, ensure_case
from tests import builder
from tests.support.verdicts import (
    Project,
    give,
    judge_lists,
    judge_pairs,
    list_case,
    pair_case,
    table,
    text_case,
)

USERS = 80
LABELS = (0.0, 1.0, 2.0)
MONDAY, TUESDAY = "2026-05-04T08:00:00Z", "2026-05-05T08:00:00Z"
OTHER_TIMES = "by user: lists of other times, averaged by context"
Wins = Mapping[tuple[str, str], float]


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


def gate(project: Project, rater: str, *least: str, **more: object) -> Table:
    return table(project, "gate", **{"rater": rater, "at_least": least, "truth": "people", **more})


def only(found: Table, figure: str) -> Row:
    (row,) = [row for row in found.rows if row["figure"] == figure]
    return row


def test_a_bound_is_on_the_cell_of_the_figures_own_report(project: Project) -> None:
    judged(project, "llm", *labelled(project), 0.7, 2)
    (told,) = table(project, "agreement", raters=("llm",), truth="people", stat=("qwk",)).rows
    value, low = told["value"], told["ci_low"]
    row = gate(project, "llm", f"qwk={value!r}").rows[0]
    assert (row["value"], row["ci_low"], row["ci_high"]) == (value, low, told["ci_high"])
    assert (row["state"], row["demand"]) == ("met", f"at least {value:g}")
    assert gate(project, "llm", f"qwk={value + 1e-6!r}").rows[0]["state"] == "not met"
    assert gate(project, "llm", at_most=(f"qwk={value - 1e-6!r}",)).rows[0]["state"] == "not met"
    assert gate(project, "llm", f"qwk={low!r}", certain=True).rows[0]["state"] == "met"
    short = gate(project, "llm", f"qwk={low + 1e-6!r}", certain=True).rows[0]
    assert (short["state"], short["note"]) == (
        "not met",
        "the figure meets the bound, but its interval does not",
    )


def test_a_win_rate_is_the_leaderboards_seen_from_the_first_system(project: Project) -> None:
    cases = [pair_case(project, f"u{at}") for at in range(10)]
    judge_pairs(project, "llm", dict(zip(cases, [(1.0, 1.0)] * 6 + [(0.0, 0.0)] * 4, strict=True)))
    board = table(project, "leaderboard", protocol="pairwise").rows
    for systems, value in ((("a", "b"), 0.8), (("b", "a"), 0.2)):
        (row,) = gate(project, "llm", "win_rate=0.5", systems=systems, truth=None).rows
        own = next(cell for cell in board if cell["system"] == systems[0])
        assert (row["value"], row["ci_low"]) == pytest.approx((own["win_rate"], own["ci_low"]))
        assert (row["value"], row["reference"]) == (pytest.approx(value), " over ".join(systems))
        assert row["state"] == ("met" if value > 0.5 else "not met")


def test_the_reason_of_a_figure_that_is_undefined_is_shown(tmp_path: Path) -> None:
    labels = {name: {(f"u{n}", "x"): "Good Match" for n in range(12)} for name in ("anna", "ben")}
    built = builder.project(tmp_path / "alike.db", labels=labels)
    gate = built.run("gate -p films --rater anna --truth ben --at-least qwk=.5").output
    assert "[1] both raters gave the same single label throughout" in gate
    every = built.run("agreement -p films --stat percent,kappa,pearson").output
    assert "[1] Cohen's κ: both raters gave the same single label" in every
    assert "; Pearson's r: one side is constant" in every
    unknown = "Nothing could be measured: no judged case has a known length"
    assert built.table("biases --rater anna")["answer"].startswith(unknown)


def test_failures(project: Project) -> None:
    cases, truth = labelled(project)
    judge_lists(project, "llm", dict(zip(cases, [None, None, *truth[2:]], strict=True)))
    for most, certain, state in ((0.02, False, "not met"), (0.025, False, "met"), (0.025, True, "not met")):
        (row,) = gate(project, "llm", at_most=(f"failure_rate={most}",), certain=certain).rows
        assert (row["value"], row["n"], row["state"]) == (2 / USERS, USERS, state)


def test_a_missing_figure_does_not_meet_a_bound(project: Project) -> None:
    judged(project, "llm", *labelled(project), 0.7, 2)
    give(project, "elsewhere", {list_case(project, "far", "z"): 1.0})
    give(
        project,
        "texts",
        {text_case(project, "u", "i", "x"): 3.0},
        protocol_name="explanation",
        aspect="accuracy",
    )
    assert gate(project, "llm", "qwk=-1", truth="elsewhere").rows[0]["state"] == "not met"
    (row,) = gate(project, "llm", "qwk=-1", truth="texts").rows
    assert (row["state"], row["note"]) == ("not met", "no question that both llm and texts answered")
    (row,) = gate(project, "llm", "win_rate=0", systems=("x", "z")).rows
    assert "has not compared" in str(row["note"])


def test_a_run_that_only_varies_passes_and_a_worse_one_does_not(project: Project) -> None:
    cases, truth = labelled(project)
    for rater, right, seed in (("may", 0.7, 2), ("june", 0.7, 3), ("july", 0.2, 4)):
        judged(project, rater, cases, truth, right, seed)
    same, worse = (gate(project, rater, against="may") for rater in ("june", "july"))
    assert [(row["figure"], row["state"]) for row in same.rows] == [("qwk", "met"), ("failure_rate", "met")]
    assert same.answer == "Gate met: 2 checks."
    fall = only(worse, "qwk")
    assert fall["state"] == "not met"
    assert float(str(fall["ci_high"])) < 0
    better = only(gate(project, "may", against="july"), "qwk")
    assert (better["state"], better["value"], better["earlier"]) == ("met", fall["earlier"], fall["value"])
    # a run beside itself under another name: nothing changed
    judged(project, "copy", cases, truth, 0.7, 2)
    assert only(gate(project, "copy", against="may"), "qwk")["state"] == "met"


def test_more_failures_and_fewer_wins_are_changes_for_the_worse(project: Project) -> None:
    pairs = [pair_case(project, f"u{at}") for at in range(30)]
    judge_pairs(project, "may", dict.fromkeys(pairs, (1.0, 1.0)))
    judge_pairs(project, "june", dict(zip(pairs, [(1.0, 1.0), (-1.0, -1.0)] * 15, strict=True)))
    failed = [(None, None)] * 12 + [(1.0, 1.0)] * 18
    judge_pairs(project, "july", dict(zip(pairs, failed, strict=True)))
    for systems, state, change in ((("a", "b"), "not met", -0.5), (("b", "a"), "met", 0.5)):
        found = gate(project, "june", against="may", systems=systems, truth=None)
        assert [row["figure"] for row in found.rows] == ["win_rate", "failure_rate"]
        row = only(found, "win_rate")
        assert (row["state"], row["change"]) == (state, pytest.approx(change))
    row = only(gate(project, "july", against="may", truth=None), "failure_rate")
    assert (row["value"], row["earlier"], row["change"], row["state"]) == (
        0.4,
        0.0,
        pytest.approx(0.4),
        "not met",
    )
    assert only(gate(project, "may", against="july", truth=None), "failure_rate")["state"] == "met"


def test_the_served_model_changed_only_where_both_replied_and_differ(project: Project) -> None:
    cases, truth = labelled(project)
    first, second = (judged(project, name, cases, truth, 0.7, 2) for name in ("may", "june"))
    found = gate(project, "june", against="may")
    assert found.settings["served_changed"] is None
    assert any("unknown whether the served model changed" in note for note in found.notes)
    for run, digest in ((first, "aaaa" * 10), (second, "bbbb" * 10)):
        identity = json.dumps({"name": "qwen:4b", "digest": digest})
        project.db.execute("UPDATE runs SET identity = ? WHERE id = ?", (identity, run))
    found = gate(project, "june", against="may")
    assert found.settings["served_changed"] is True
    assert "served model changed: qwen:4b@bbbbbbbbbbbb, before qwen:4b@aaaaaaaaaaaa" in found.notes
    assert json.loads(json.dumps(found.settings))["served_before"][0]["digest"] == "aaaa" * 10
    project.db.execute("CREATE TEMP TABLE kept AS SELECT * FROM calls WHERE run_id = 1")
    project.db.execute("DELETE FROM calls WHERE run_id = 1")
    assert gate(project, "june", against="may").settings["served_changed"] is None
    project.db.execute("INSERT INTO calls SELECT * FROM kept")
    project.db.execute("UPDATE runs SET identity = (SELECT identity FROM runs WHERE id = 1)")
    assert gate(project, "june", against="may").settings["served_changed"] is False


def test_a_set_that_was_not_frozen_and_answers_from_the_cache_are_told(project: Project) -> None:
    cases, truth = labelled(project)
    for name in ("may", "june"):
        judged(project, name, cases, truth, 0.7, 2)
    assert not any("frozen" in n or "cache" in n for n in gate(project, "june", against="may").notes)
    project.db.execute("UPDATE calls SET content_hash = 'other' WHERE run_id = 2 AND case_id <= 3")
    project.db.execute("UPDATE calls SET cached_from = 1 WHERE run_id = 2 AND case_id <= 5")
    notes = gate(project, "june", against="may").notes
    assert f"3 of {USERS} shared calls had a different prompt text, so the set was not frozen" in notes
    assert any(note.startswith(f"5 of {USERS} calls of june came from the cache") for note in notes)


def test_where_some_bounds_are_not_met_the_others_are_so_only_after_correction(project: Project) -> None:
    judge_pairs(project, "llm", {pair_case(project, f"u{at}"): (1.0, 1.0) for at in range(6)})
    wins, few = {"at_least": ("win_rate=0.5",)}, {"at_most": ("failure_rate=0.1",)}

    def states(**bounds: object) -> list[object]:
        found = gate(project, "llm", **{"systems": ("a", "b"), "certain": True, "truth": None, **bounds})
        return [row["state"] for row in found.rows]

    assert states(**wins) == ["met"]
    # all are met, so none needs a correction
    assert states(at_least=("win_rate=0.5", "win_rate=0.52")) == ["met", "met"]
    assert states(**wins, **few) == ["not met", "not met"]
    judge_pairs(project, "llm", {pair_case(project, f"u{at}"): (1.0, 1.0) for at in range(6, 10)})
    assert states(**wins, **few) == ["met", "not met"]


# ---- one night against another ---------------------------------------------------------------------------------------


def night(project: Project, served_at: str, wins: Wins, rater: str = "nightly") -> int:
    """A run on two lists for each (user, context), served at a time: 1 a wins, -1 b wins."""
    with project.db.transaction():
        keys = {key: CaseKey("pair", key[0], "a", "b", context=key[1], served_at=served_at) for key in wins}
        cases = {ensure_case(project.db, project.id, keys[key]): value for key, value in wins.items()}
    return judge_pairs(project, rater, {case: (value, value) for case, value in cases.items()})


def of_users(values: Sequence[float], first: int = 0) -> Wins:
    return {(f"u{at:02d}", ""): value for at, value in enumerate(values, first)}


def change(
    project: Project, rater: str = "nightly", against: str = "nightly", **more: object
) -> tuple[Row, Table]:
    options = {"systems": ("a", "b"), "stat": ("win_rate",), "truth": None, **more}
    found = gate(project, rater, against=against, **options)
    (row,) = found.rows
    return row, found


def test_a_night_against_the_night_before(project: Project) -> None:
    first = night(project, MONDAY, of_users([1.0] * 20))
    second = night(project, TUESDAY, of_users([1.0, -1.0] * 10))
    row, found = change(project)
    assert (row["value"], row["earlier"], row["change"], row["state"]) == (0.5, 1.0, -0.5, "not met")
    assert (row["paired"], row["paired_users"], row["left_out"]) == (OTHER_TIMES, 20, 0)
    assert f"paired {OTHER_TIMES}: 20 users paired, 20 cases with 20 before; left out: none" in found.notes
    assert change(project, f"run:{second}", f"run:{first}")[0] == row
    back, _ = change(project, f"run:{first}", f"run:{second}")
    assert (back["change"], back["state"]) == (0.5, "met")
    night(project, "2026-05-06T08:00:00Z", of_users([-1.0, 1.0] * 10))
    third, _ = change(project)
    assert (third["value"], third["earlier"], third["change"], third["state"]) == (0.5, 0.5, 0.0, "met")


# ---- for machines ----------------------------------------------------------------------------------------------------


def check(state: str, **more: object) -> Row:
    return {
        "check": "bound", "figure": "qwk", "protocol": "pairwise", "aspect": "overall", "reference": "people",
        "demand": "at least 0.6", "value": 0.5, "ci_low": 0.4, "ci_high": 0.61, "n": 30, "state": state, "note": "",
    } | more  # fmt: skip


def made(*rows: Row) -> Table:
    return Table("Gate: rules", tuple(Column(name, name) for name in check("met")), rows, ("a note",))


def junit(table: Table) -> str:
    text = written(table, "junit", True)
    assert text is not None
    return text


GATE = made(
    check("met"),
    check("not met", note="short & <small>"),
    check("unknown", figure="win_rate", reference="new over old", value=None),
)


def test_junit_counts_failures_and_errors() -> None:
    (suite,) = ElementTree.fromstring(junit(GATE))
    assert {key: suite.get(key) for key in ("name", "tests", "failures", "errors")} == {
        "name": "Gate: rules", "tests": "3", "failures": "1", "errors": "1",
    }  # fmt: skip
    met, failed, unknown = suite.findall("testcase")
    assert (met.get("classname"), met.get("name")) == (
        "gate.pairwise.overall",
        "qwk against people, at least 0.6",
    )
    assert (list(met), failed[0].tag, unknown[0].tag) == ([], "failure", "error")
    assert failed[0].get("message") == "not met: value 0.5, interval 0.4 to 0.61, n 30, short & <small>"
    assert suite.findtext("system-out") == "a note"


@pytest.mark.parametrize("hostile", ['"]]><x/>', "\x1b[31mred\x00", "a\ufffe\udc80b", "two\nlines"])
def test_junit_stays_well_formed(hostile: str) -> None:
    root = ElementTree.fromstring(junit(made(check("not met", reference=hostile, note=hostile))).encode())
    assert len(root.findall("./testsuite/testcase/failure")) == 1
