"""Metrics as raters: texts against references, lists, pairs of lists."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.importers.load import import_files
from recjudge_tui.people.raters import make_metric_raters
from recjudge_tui.stats.text import TEXT_METRICS
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from tests.support.fork_server import ForkedProcess
from tests.support.runs import load, program
from tests.support.servers.process import ROOT
from tests.support.waiting import HANG_S

EXPLANATIONS = (
    ("user_id", "item_id", "system", "text", "reference"),
    ("u1", "i1", "x", "the cat sat on the mat", "the cat is on the mat"),
    ("u1", "i1", "y", "a dog", "the cat is on the mat"),
    ("u2", "i1", "x", "no reference here", ""),
    ("u2", "i2", "x", "这部电影很好看", "电影好看"),
    ("u3", "i2", "y", "hello", "!!!"),
)


@pytest.fixture
def texts(db: Database) -> Database:
    load(db, "items", [("item_id", "title"), ("i1", "Heat"), ("i2", "Ronin")])
    load(db, "explanations", EXPLANATIONS)
    return db


@pytest.fixture
def lists(db: Database) -> Database:
    """u1 wants i1: a has it first, b third. u2 wants i9: neither has it. u3 wants nothing. u4 has a list by a only.

    Pairs of u1, u2 and u3 are cases; that of u4 is a label's, and so is one of systems without lists.
    """
    items = [(f"i{n}", f"Film {n}", "x|y" if n % 2 else "x") for n in range(1, 10)]
    load(db, "items", [("item_id", "title", "category"), *items])
    load(db, "events", [
        ("user_id", "item_id", "type", "value"),
        ("u1", "i1", "heldout_rating", 5), ("u2", "i9", "heldout_click", ""), ("u3", "i2", "click", ""),
    ])  # fmt: skip
    ranked = {"a": ("i1", "i2", "i3"), "b": ("i2", "i3", "i1")}
    rows: list[tuple[object, ...]] = [("user_id", "system", "item_id", "rank")]
    for user in ("u1", "u2", "u3", "u4"):
        for system, found in ranked.items():
            if (user, system) != ("u4", "b"):
                rows += [(user, system, item, rank + 1) for rank, item in enumerate(found)]
    load(db, "lists", rows)
    load(db, "labels", [
        ("rater", "user_id", "system_a", "system_b", "value"),
        ("anna", "u1", "a", "b", "B"), ("anna", "u2", "a", "b", "A"), ("anna", "u3", "a", "b", "A"),
        ("anna", "u4", "a", "b", "A"), ("anna", "u1", "p", "q", "A"),
    ])  # fmt: skip
    return db


def make(db: Database, *names: str, k: int = 10) -> list[list[str]]:
    return [summary.lines() for summary in make_metric_raters(db, project_id(db, "films"), names, k=k)]


def verdicts(db: Database, rater: str) -> dict[tuple[object, ...], tuple[object, ...]]:
    rows = db.rows(
        """SELECT c.kind, c.user_id, c.item_id, c.system_a, c.system_b, v.protocol, v.aspect, v.value, v.label
           FROM verdicts v JOIN cases c ON c.id = v.case_id JOIN raters r ON r.id = v.rater_id
           WHERE r.name = ? AND r.kind = 'metric' AND v.state = 'ok'""",
        (rater,),
    )
    return {tuple(part for part in row[:5] if part): tuple(row[5:]) for row in rows}


def test_texts_against_what_the_user_wrote(texts: Database) -> None:
    assert make(texts, "rouge-1") == [
        [
            "metric “rouge-1” created: 3 explanation verdicts",
            "left out: 1 × explanation: no reference was imported",
            "left out: 1 × explanation: the reference has no words",
        ]
    ]
    assert verdicts(texts, "rouge-1") == {
        ("explanation", "u1", "i1", "x"): ("explanation", "overall", pytest.approx(5 / 6), ""),
        ("explanation", "u1", "i1", "y"): ("explanation", "overall", 0.0, ""),
        ("explanation", "u2", "i2", "x"): ("explanation", "overall", pytest.approx(4 / 6), ""),
    }
    assert texts.value("SELECT recipe FROM raters") == '{"metric": "rouge-1", "tokens": "auto"}'


def test_lists_and_pairs(lists: Database) -> None:
    assert make(lists, "ndcg", k=3) == [
        [
            "metric “ndcg@3” created: 4 list, 2 pair verdicts",
            "left out: 3 × list: no relevant held-out item",
            "left out: 1 × pair: no relevant held-out item",
            "left out: 2 × pair: the list or text was never imported",
        ]
    ]
    assert verdicts(lists, "ndcg@3") == {
        ("list", "u1", "a"): ("absolute", "overall", 1.0, ""),
        ("list", "u1", "b"): ("absolute", "overall", pytest.approx(1 / 2), ""),
        ("list", "u2", "a"): ("absolute", "overall", 0.0, ""),
        ("list", "u2", "b"): ("absolute", "overall", 0.0, ""),
        ("pair", "u1", "a", "b"): ("pairwise", "overall", 1.0, "A"),
        ("pair", "u2", "a", "b"): ("pairwise", "overall", 0.0, "Tie"),
    }
    assert lists.value("SELECT recipe FROM raters WHERE name = 'ndcg@3'") == '{"metric": "ndcg", "k": 3}'


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


def test_killed_in_the_middle_nothing_is_there(texts: Database) -> None:
    process = ForkedProcess(
        program(), "-c", KILLED, str(texts.path), cwd=ROOT, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == -signal.SIGKILL, err
    for table in ("cases", "raters", "verdicts"):
        assert texts.value(f"SELECT count(*) FROM {table}") == 0
    make(texts, "bleu-1", "rouge-l")
    assert len(verdicts(texts, "rouge-l")) == 3


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
