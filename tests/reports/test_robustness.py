"""The order of two lists, another user's list, prompts on the same pairs, planted faults: judges one can count by hand."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.made_lists import FAULT_KINDS
from recjudge_tui.domain.material import SlateView
from recjudge_tui.errors import NotFoundError
from recjudge_tui.judges.rules.issues import ISSUE_OF
from recjudge_tui.project import Project as Opened
from recjudge_tui.reports.common.rows import readable
from recjudge_tui.reports.common.table import FORMATS, Row, Table, render
from recjudge_tui.reports.declare import make
from recjudge_tui.runs.engine import work
from recjudge_tui.store.cases import PlantedFault
from recjudge_tui.store.database import Database
from tests.builder import Built
from tests.support.adversarial_project import (
    first_list,
    judged_pairs_run,
    make_taste_project,
    recorded,
)
from tests.support.planted_project import flagging_judge, judged_faults_run, make_shop
from tests.support.runs import planned
from tests.support.verdicts import Project, judge_pairs, new_project, pair_case


@pytest.fixture
def films(project_db: Path) -> Project:
    return new_project(project_db)


def report(db: Database, name: str, project: int = 1, **options: Any) -> Table:
    return make(Opened.numbered(db, project), f"robustness {name}", **options)


def rows_of(table: Table, **wanted: object) -> list[Row]:
    return [row for row in table.rows if all(row.get(name) == value for name, value in wanted.items())]


def notes_of(table: Table) -> str:
    return " | ".join(table.notes)


# ---- the order of the lists


def test_the_counts_that_saer_prints(films: Project) -> None:
    """Table of Liu et al.: 200 pairs, .88 consistent; 103 / 31 / 66 adjudicated, 228 / 18 / 154 in single calls."""
    a, b, tie = 1.0, -1.0, 0.0
    said = [((a, a), 103), ((b, b), 66), ((tie, tie), 7), ((a, b), 20), ((a, tie), 2), ((b, tie), 2)]
    answers = [both for both, times in said for _ in range(times)]
    cases = [pair_case(films, f"u{at:03}", "alpha", "beta") for at in range(200)]
    judge_pairs(films, "llm", dict(zip(cases, answers, strict=True)))
    table = report(films.db, "position")
    (row,) = table.rows
    assert (row["pairs"], row["consistent"], row["consistency"]) == (200, 176, 0.88)
    assert (row["position_ties"], row["true_ties"], row["set_1"], row["set_2"]) == (24, 7, 42, 2)
    assert row["set_1_share"] == pytest.approx(42 / 44)
    assert row["favoured"] == "Set 1"
    assert (row["first_share"], row["decided"]) == (pytest.approx((169 + 42) / 382), 382)
    assert table.answer.startswith(
        "llm: the first list wins 55 % of 382 answers (95 % CI 53.0 to 57.5): position matters;"
    )
    assert "176 of 200 pairs have the same answer in both orders (88 %" in table.answer
    verdicts, calls = report(films.db, "position", rater="llm", counts=True).rows
    counted = ("wins", "losses", "ties", "n")
    assert [verdicts[name] for name in (*counted, "true_ties", "position_ties")] == [103, 66, 31, 200, 7, 24]
    assert verdicts["consistency"] == 0.88
    assert [calls[name] for name in counted] == [228, 154, 18, 400]


# ---- another user's list


def counts(table: Table, **wanted: object) -> tuple[object, ...]:
    """How many pairs are correct, wrong and tie, for the one rater and kind of lists that is wanted."""
    found = {row["outcome"]: row["count"] for row in rows_of(table, system=None, **wanted)}
    return found["correct"], found["wrong"], found["tie"]


def test_a_judge_that_always_picks_the_first_list_is_half_right_and_told_so(
    db: Database, tmp_path: Path
) -> None:
    make_taste_project(db)
    judged_pairs_run(db, recorded(db, tmp_path / "first.jsonl", first_list))
    table = report(db, "adversarial")
    assert counts(table, lists="published") == (6, 6, 0)
    (row,) = rows_of(table, lists="published", outcome="correct")
    assert (row["own_first"], row["own_second"], row["own_first_n"]) == (1.0, 0.0, 6)
    assert "the first list wins 24 of 24: position decides" in table.answer


@pytest.mark.data
def test_the_baseline_on_real_lists(tmp_path: Path) -> None:
    """The built-in rules on MovieLens: what the foreign list gives away is worth forty points."""
    folder, built = Path(os.environ["RECJUDGE_DATA"]) / "ml100k", Built(tmp_path / "a.db", "films")
    for kind, pattern in (("items", "items.csv"), ("events", "events.csv"), ("lists", "lists_*.csv")):
        built.done(f"import -p films --as {kind}", *sorted(folder.glob(pattern)))
    found = built.table("robustness adversarial -p films --judge rules --sample 100 --top 10")["rows"]
    assert [row["count"] for row in found] == [66, 3, 31, 27, 7, 63]


# ---- prompts on the same pairs


def right_on_first(db: Database, tmp_path: Path, right: dict[str, int]) -> list[str]:
    """Raters that are right on the first so many of twelve users, each under a name of its own."""
    for name, many in right.items():
        seen: list[str] = []

        def choose(order: str, _: str, many: int = many, seen: list[str] = seen) -> str:
            seen.append(order)
            # both pairs of a user are asked in one order, one after the other
            return ("Set 1" if order == "ba" else "Set 2") if (len(seen) - 1) // 2 < many else "Tie"

        judged_pairs_run(db, recorded(db, tmp_path / f"{name}.jsonl", choose), rater=name)
    return list(right)


def test_the_best_prompt_is_named_with_those_it_beats(db: Database, tmp_path: Path) -> None:
    make_taste_project(db)
    names = right_on_first(db, tmp_path, {"generic": 3, "over": 9, "saer": 12})
    table = report(db, "ablation", raters=names)
    own = rows_of(table, lists="published", against=None)
    assert [(row["rater"], row["correct"], row["ties"], row["n"]) for row in own] == [
        ("generic", 3, 9, 12), ("over", 9, 3, 12), ("saer", 12, 0, 12),
    ]  # fmt: skip
    pairs = [row for row in rows_of(table, lists="published") if row["against"]]
    p = [binomtest(0, n).pvalue for n in (6, 9, 3)]
    assert [row["p"] for row in pairs] == pytest.approx(p)
    assert [row["p_holm"] for row in pairs] == pytest.approx([2 * p[0], 3 * p[1], p[2]])
    assert "preferred by saer in 12 of 12 pairs, over in 9 of 12 pairs, generic" in table.answer
    assert table.answer.endswith("saer beats generic.")
    for fmt in FORMATS:
        assert "generic" in render(readable(table)[0], fmt).text


# ---- planted faults


def row_of(table: Table, rater: str, fault: str, outcome: str, system: str | None = None) -> Row:
    (row,) = rows_of(table, rater=rater, fault=fault, outcome=outcome, system=system)
    return row


def everything_owned(_: PlantedFault, slate: SlateView) -> list[tuple[int, str]]:
    return [(place, "already owned") for place in range(1, len(slate.items) + 1)]


def test_what_is_detected_is_what_was_flagged(db: Database, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    flagged: list[tuple[str, str]] = []

    def choose(fault: PlantedFault, slate: SlateView) -> list[tuple[int, str]]:
        """The fault, another issue, both, or another item."""
        other = rng.choice([issue for kind, issue in ISSUE_OF.items() if kind != fault.kind])
        elsewhere = fault.rank % len(slate.items) + 1
        marks = [
            (fault.rank, ISSUE_OF[fault.kind]),
            (fault.rank, str(other)),
            (elsewhere, ISSUE_OF[fault.kind]),
        ]
        said = [mark for mark in marks if rng.random() < 0.4]
        outcome = "detected" if marks[0] in said else "other issue" if marks[1] in said else "missed"
        flagged.append((str(fault.kind), outcome))
        return said

    make_shop(db)
    judged_faults_run(db, flagging_judge(db, tmp_path / "some.jsonl", choose))
    table = report(db, "injected", by_system=True)
    assert {outcome for _, outcome in flagged} == {"detected", "other issue", "missed"}
    for row in table.rows:
        of_kind = [outcome for kind, outcome in flagged if row["fault"] in ("all", kind)]
        if row["system"] is None and row["outcome"] != "false alarm":
            assert (row["count"], row["n"]) == (of_kind.count(str(row["outcome"])), len(of_kind))
        elif row["outcome"] != "false alarm":
            assert row["n"] == len(of_kind) / 2
    found = row_of(table, str(table.rows[0]["rater"]), "all", "detected")
    assert f"flags {found['count']} of 20 planted faults for their issue" in table.answer
    assert re.search(r", \d+ false alarms in \d+ faultless items", table.answer)


def test_a_judge_that_calls_everything_owned_raises_false_alarms_and_the_baseline_does_not(
    db: Database, tmp_path: Path
) -> None:
    make_shop(db)
    assert "no list with a planted fault" in notes_of(report(db, "injected"))
    judged_faults_run(db, flagging_judge(db, tmp_path / "owned.jsonl", everything_owned))
    table = report(db, "injected")
    rater = str(table.rows[0]["rater"])
    assert row_of(table, rater, "owned", "detected")["share"] == 1
    assert row_of(table, rater, "durable", "other issue")["share"] == 1
    assert row_of(table, rater, "all", "missed")["count"] == 0
    # of the five items of each of twenty lists four are as they were, and none of these is like what the user has
    alarm = row_of(table, rater, "owned", "false alarm")
    assert (alarm["count"], alarm["n"]) == (80, 80)
    assert row_of(table, rater, "refill", "false alarm")["count"] == 0
    few = flagging_judge(db, tmp_path / "silent.jsonl", lambda *_: [], sample=2)
    judged_faults_run(db, few, sample=2, rater="silent")
    judged_faults_run(db)
    assert "judged different lists" in notes_of(report(db, "injected"))
    same = report(db, "injected", rater="silent")
    assert row_of(same, "rules", "all", "missed")["n"] == row_of(same, "silent", "all", "missed")["n"] == 10
    assert row_of(same, "rules", "owned", "detected")["share"] == 1
    assert same.answer.startswith("silent flags 0 of 10 planted faults")
    assert {row["fault"] for row in same.rows} == {"all", *FAULT_KINDS}
    with pytest.raises(NotFoundError):
        report(db, "injected", rater="nobody")


def test_made_lists_stay_out_of_reports_and_are_counted_on_the_newest_imports(db: Database) -> None:
    project = Opened.numbered(db, make_shop(db))
    assert work(db.path, planned(db, JudgeSpec(spec="rules"), top_k=5)).state == "done"
    board = make(project, "leaderboard", protocol="pointwise")
    judged_faults_run(db)
    assert make(project, "leaderboard", protocol="pointwise").rows == board.rows  # type: ignore[union-attr]
    before = report(db, "injected").rows
    make_shop(db, length=4)
    assert report(db, "injected").rows == before
    judged_faults_run(db, rater="later")
    table = report(db, "injected")
    assert {row["rater"] for row in table.rows} == {"later"}
    assert "20 lists made from earlier lists left out" in table.notes
