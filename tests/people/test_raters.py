"""Raters made from others: joint labels, means, the likeliest label, and metrics."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.errors import RunError
from recjudge_tui.importers.load import import_files
from recjudge_tui.people.raters import combine, make_metric_raters
from recjudge_tui.stats.text import TEXT_METRICS
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from tests.support.fork_server import ForkedProcess
from tests.support.runs import load, program
from tests.support.servers.process import ROOT
from tests.support.verdicts import Project, cases_of, give, list_case, new_project, text_case
from tests.support.waiting import HANG_S

# ---- joint labels ---------------------------------------------------------------------------------------------------


@pytest.fixture
def project(project_db: Path) -> Project:
    return new_project(project_db)


def texts(project: Project, count: int) -> list[int]:
    return [text_case(project, f"u{at}", "i", "x") for at in range(count)]


def score(project: Project, rater: str, given: Mapping[int, float | None]) -> None:
    give(project, rater, given, protocol_name="explanation", aspect="accuracy", kind="judge")


def verdicts(project: Project, rater: str, columns: str = "") -> dict[int, Any]:
    """What the rater says of each case: the value, with these columns beside it."""
    rows = project.db.tuples(
        f"SELECT case_id, value{columns} FROM v_verdicts WHERE rater = ? AND state = 'ok'", (rater,)
    )
    return {case: said if columns else said[0] for case, *said in rows}


# ---- labels that are adjudicated ---------------------------------------------------------------------------------


def test_scales_are_not_mixed(project: Project) -> None:
    case = list_case(project, "u1")
    give(project, "anna", {case: 2.0})
    give(project, "llm", {case: 0.9}, protocol_name="absolute", kind="judge")
    with pytest.raises(RunError, match="no verdicts in common"):
        combine(project.db, project.id, "gold", "strict", ["anna", "llm"])
    assert project.db.value("SELECT count(*) FROM raters WHERE name = 'gold'") == 0


# ---- not everybody judged everything -----------------------------------------------------------------------------

# a column is a text, NaN where a person did not judge it
SCORES = {
    "anna": (1.0, 5.0, np.nan, 3.0, 2.0, np.nan),
    "ben": (2.0, np.nan, np.nan, 4.0, 2.0, 4.0),
    "cleo": (5.0, 3.0, 4.0, np.nan, 5.0, 4.0),
}


@pytest.mark.parametrize("quorum", [1, 2, 3])
def test_the_median_is_that_of_pandas(project: Project, quorum: int) -> None:
    cases, frame = texts(project, 6), pd.DataFrame(SCORES)
    for rater in SCORES:
        score(project, rater, {cases[at]: value for at, value in frame[rater].dropna().items()})
    summary = combine(project.db, project.id, "m", "median", list(SCORES), quorum)
    expected = frame.median(axis=1)[frame.count(axis=1) >= quorum]
    assert verdicts(project, "m") == {cases[at]: value for at, value in expected.items()}
    reason = f"fewer votes than the quorum of {quorum}" if quorum < 3 else "not judged by all raters"
    assert summary.left_out == ({reason: 6 - len(expected)} if len(expected) < 6 else {})
    assert summary.incomplete == int((frame.count(axis=1)[expected.index] < 3).sum())


def test_failures_are_no_votes(project: Project) -> None:
    one, two, three = (list_case(project, f"u{at}") for at in range(3))
    give(project, "anna", {one: 2.0, two: None, three: None})
    give(project, "ben", {one: 2.0, two: 1.0, three: None})
    give(project, "cleo", {one: None, two: 1.0, three: 0.0})
    summary = combine(project.db, project.id, "gold", "majority", ["anna", "ben", "cleo"], 2)
    assert verdicts(project, "gold") == {one: 2.0, two: 1.0}
    assert (summary.left_out, summary.incomplete) == ({"a rater's verdict failed": 1}, 2)


def test_a_median_of_two_loses_no_case(project: Project) -> None:
    """Good and Poor have Partial in the middle; of labels side by side the harsher, since nothing lies between them."""
    cases = [list_case(project, f"u{at}") for at in range(3)]
    give(project, "anna", cases_of(cases, (2.0, 2.0, 1.0)))
    give(project, "ben", cases_of(cases, (0.0, 1.0, 0.0)))
    combine(project.db, project.id, "middle", "median", ["anna", "ben"])
    assert list(verdicts(project, "middle").values()) == [1.0, 1.0, 0.0]


# ---- ensembles ---------------------------------------------------------------------------------------------------


def test_a_quorum_lets_members_be_missing_or_failed_and_counts_them(project: Project) -> None:
    cases = texts(project, 4)
    score(project, "one", cases_of(cases, (1.0, None, 5.0, None)))
    score(project, "two", cases_of(cases, (2.0, 4.0, None, None)))
    score(project, "six", cases_of(cases[:2], (4.0, 3.0)))
    summary = combine(project.db, project.id, "some", "mean", ["one", "two", "six"], quorum=2)
    assert verdicts(project, "some", ", note") == {
        cases[0]: [pytest.approx(7 / 3), "the raters differed"],
        cases[1]: [3.5, "the raters differed; 2 of 3 raters"],
    }
    assert (summary.made, summary.incomplete) == (2, 1)
    assert summary.left_out == {"a rater's verdict failed": 2}
    assert "made without all raters: 1" in summary.lines()


@pytest.mark.parametrize("labels", [(1.0, 5.0), (1.0, 2.0, 3.0, 4.0, 5.0)], ids=["two", "five"])
def test_dawid_and_skene_take_a_crowd_of_whom_nobody_judged_everything(
    project: Project, labels: tuple[float, ...]
) -> None:
    """Every case that somebody judged has a verdict, or is counted as a split vote; who is below chance is named."""
    rng = np.random.default_rng(5)
    cases = texts(project, 120)
    truth = rng.choice(labels, 120)
    judged: set[int] = set()
    for name in "abcdefg":
        said = np.where(rng.random(120) < (0.05 if name == "g" else 0.85), truth, rng.choice(labels, 120))
        some = sorted(rng.choice(120, 50, replace=False).tolist())
        judged |= set(some)
        score(project, name, cases_of([cases[at] for at in some], said[some].tolist()))
    summary = combine(project.db, project.id, "crowd", "dawid-skene", list("abcdefg"))
    found = verdicts(project, "crowd")
    assert len(found) + summary.left_out.get("a split vote", 0) == len(judged)
    assert set(summary.left_out) <= {"a split vote"}
    assert (
        np.mean([found[case] == true for case, true in zip(cases, truth, strict=True) if case in found])
        > 0.85
    )
    (note,) = summary.notes
    accuracy = {name: int(share) for name, share in re.findall(r"(\w) (\d+)%", note)}
    assert accuracy["g"] < min(share for name, share in accuracy.items() if name != "g")
    assert note in summary.lines()
    shares = project.db.column("SELECT confidence FROM verdicts WHERE rule LIKE 'dawid-skene%'")
    assert 1 / len(labels) < min(shares) < max(shares) <= 1


# ---- metrics --------------------------------------------------------------------------------------------------------


EXPLANATIONS = (
    ("user_id", "item_id", "system", "text", "reference"),
    ("u1", "i1", "x", "the cat sat on the mat", "the cat is on the mat"),
    ("u1", "i1", "y", "a dog", "the cat is on the mat"),
    ("u2", "i1", "x", "no reference here", ""),
    ("u2", "i2", "x", "这部电影很好看", "电影好看"),
    ("u3", "i2", "y", "hello", "!!!"),
)


@pytest.fixture
def referenced(db: Database) -> Database:
    load(db, "items", [("item_id", "title"), ("i1", "Heat"), ("i2", "Ronin")])
    load(db, "explanations", EXPLANATIONS)
    return db


def make(db: Database, *names: str, k: int = 10) -> list[list[str]]:
    return [summary.lines() for summary in make_metric_raters(db, project_id(db, "films"), names, k=k)]


def stored(db: Database, rater: str) -> dict[tuple[object, ...], tuple[object, ...]]:
    rows = db.rows(
        """SELECT c.kind, c.user_id, c.item_id, c.system_a, c.system_b, v.protocol, v.aspect, v.value, v.label
           FROM verdicts v JOIN cases c ON c.id = v.case_id JOIN raters r ON r.id = v.rater_id
           WHERE r.name = ? AND r.kind = 'metric' AND v.state = 'ok'""",
        (rater,),
    )
    return {tuple(part for part in row[:5] if part): tuple(row[5:]) for row in rows}


def test_texts_against_what_the_user_wrote(referenced: Database) -> None:
    assert make(referenced, "rouge-1") == [
        [
            "metric “rouge-1” created: 3 explanation verdicts",
            "left out: 1 × explanation: no reference was imported",
            "left out: 1 × explanation: the reference has no words",
        ]
    ]
    assert stored(referenced, "rouge-1") == {
        ("explanation", "u1", "i1", "x"): ("explanation", "overall", pytest.approx(5 / 6), ""),
        ("explanation", "u1", "i1", "y"): ("explanation", "overall", 0.0, ""),
        ("explanation", "u2", "i2", "x"): ("explanation", "overall", pytest.approx(4 / 6), ""),
    }
    assert referenced.value("SELECT recipe FROM raters") == '{"metric": "rouge-1", "tokens": "auto"}'


KILLED = """
import os, signal, sys
from pathlib import Path
from recjudge_tui.people import raters as metric_raters
from recjudge_tui.store.schema import connect
from recjudge_tui.store.projects import project_id
store = metric_raters.replace_verdicts
def killed(db, *rest):
    store(db, *rest)
    if db.value("SELECT count(DISTINCT rater_id) FROM verdicts") > 1:
        os.kill(os.getpid(), signal.SIGKILL)
metric_raters.replace_verdicts = killed
with connect(Path(sys.argv[1])) as db:
    metric_raters.make_metric_raters(db, project_id(db, "films"), ["bleu-1", "bleu-4"])
"""


def test_killed_in_the_middle_nothing_is_there(referenced: Database) -> None:
    process = ForkedProcess(
        program(), "-c", KILLED, str(referenced.path), cwd=ROOT, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == -signal.SIGKILL, err
    for table in ("cases", "raters", "verdicts"):
        assert referenced.value(f"SELECT count(*) FROM {table}") == 0
    make(referenced, "bleu-1", "rouge-l")
    assert len(stored(referenced, "rouge-l")) == 3


@pytest.mark.data
def test_the_texts_of_the_paper(db: Database, tmp_path: Path) -> None:
    """2,536 explanations with the users' own texts, by the mapping that docs/mapping.md shows."""
    source = Path(os.environ["RECJUDGE_DATA"]) / "zhang2024" / "explanations.csv"
    shown = (ROOT / "docs" / "mapping.md").read_text(encoding="utf-8").split("## A worked example")[1]
    mapping = tmp_path / "zhang.toml"
    mapping.write_text(shown.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    kinds: tuple[ImportKind, ...] = ("items", "explanations", "labels")
    for kind in kinds:
        import_files(db, "films", [source], kind, mapping=mapping)
    made = make(db, *TEXT_METRICS)
    assert [lines[0] for lines in made] == [
        f"metric “{n}” created: 2,536 explanation verdicts" for n in TEXT_METRICS
    ]
    found = {name: pearson(db, name) for name in TEXT_METRICS}
    assert found == pytest.approx(
        {"bleu-1": 0.1434, "bleu-4": 0.0958, "rouge-1": 0.0813, "rouge-l": 0.0614}, abs=0.0005
    )


def pearson(db: Database, metric: str) -> float:
    rows = db.tuples(
        """SELECT m.value, t.value FROM verdicts m JOIN raters r ON r.id = m.rater_id AND r.name = ?
           JOIN verdicts t ON t.case_id = m.case_id AND t.aspect = 'persuasiveness'
           JOIN raters u ON u.id = t.rater_id AND u.kind = 'ground_truth'""",
        (metric,),
    )
    pairs = np.array(list(rows))
    assert len(pairs) == 2533, "three scores of persuasiveness are empty"
    return float(np.corrcoef(pairs.T)[0, 1])
