"""Metrics as raters: texts against references, lists, pairs of lists."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.domain.roles import RaterKind
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.importers.load import import_files
from recjudge_tui.raters.metrics import NAMES, Metric, make_metric_raters, read_metric
from recjudge_tui.stats.retrieval import LIST_METRICS
from recjudge_tui.stats.text import TEXT_METRICS, Score, TextMetric, Tokens, text_metric
from recjudge_tui.store.cases import CaseKey, ensure_case
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.raters import ensure_rater
from recjudge_tui.store.schema import connect
from recjudge_tui.store.verdicts import filtered_ids
from tests.support.fork_server import ForkedProcess
from tests.support.runs import load, program
from tests.support.servers.process import ROOT
from tests.support.waiting import HANG_S

DOCUMENTED = (
    "bleu-1", "bleu-4", "rouge-1", "rouge-l",
    "auc", "ndcg", "ndcg_exp", "ndcg_explicit", "precision", "recall", "map", "map_min", "mrr", "hit_rate", "err",
    "rprec", "urd", "ild", "novelty", "popularity", "title_ild", "near_duplicates", "category_coverage",
)  # fmt: skip
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
    made = make_metric_raters(db, project_id(db, "films"), names, k=k)
    return [summary.lines() for summary in made]


def verdicts(db: Database, rater: str) -> dict[tuple[object, ...], tuple[object, ...]]:
    rows = db.rows(
        """SELECT c.kind, c.user_id, c.item_id, c.system_a, c.system_b, v.protocol, v.aspect, v.value, v.label
           FROM verdicts v JOIN cases c ON c.id = v.case_id JOIN raters r ON r.id = v.rater_id
           WHERE r.name = ? AND r.kind = 'metric' AND v.state = 'ok'""",
        (rater,),
    )
    return {tuple(part for part in row[:5] if part): tuple(row[5:]) for row in rows}


def test_the_names_are_the_documented_ones() -> None:
    assert NAMES == DOCUMENTED


@pytest.mark.parametrize(
    ("text", "metric", "rater"),
    [
        ("ndcg", Metric("ndcg", 7), "ndcg@7"),
        ("NDCG@5", Metric("ndcg", 5), "ndcg@5"),
        ("auc", Metric("auc"), "auc"),
        ("rouge-l", Metric("rouge-l", tokens="jieba"), "rouge-l@jieba"),
        ("rouge-l@auto", Metric("rouge-l", tokens="auto"), "rouge-l"),
        ("bleu-1@characters", Metric("bleu-1", tokens="characters"), "bleu-1@characters"),
    ],
)
def test_a_metric_is_read_from_its_name_or_its_rater(text: str, metric: Metric, rater: str) -> None:
    found = read_metric(text, 7, "jieba")
    assert (found, found.rater) == (metric, rater)
    assert read_metric(rater) == metric


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("blue-1", "bleu-1, bleu-4, rouge-1, rouge-l"),
        ("coverage", "ndcg_explicit"),
        ("", "no metric"),
        ("auc@5", "no cutoff"),
        ("rprec@5", "no cutoff"),
        ("ndcg@", "not a number"),
        ("ndcg@0", "a cutoff of at least 1"),
        ("ndcg@-1", "not a number"),
        ("ndcg@٣", "not a number"),
        ("rouge-l@5", "unknown tokens"),
    ],
)
def test_an_unknown_metric_is_reported(text: str, says: str) -> None:
    with pytest.raises(UsageError) as error:
        read_metric(text)
    assert says in str(error.value)


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


def test_another_cut_is_another_rater(texts: Database) -> None:
    make(texts, "rouge-1", "rouge-1@characters")
    key = ("explanation", "u2", "i2", "x")
    assert verdicts(texts, "rouge-1")[key][2] == pytest.approx(4 / 6)
    assert verdicts(texts, "rouge-1@characters")[key][2] == pytest.approx(8 / 11)


def test_labels_that_came_first_meet_the_metric(db: Database) -> None:
    load(db, "labels", [
        ("rater", "user_id", "item_id", "system", "aspect", "value"), ("user", "u1", "i1", "x", "accuracy", 4),
        ("user", "u9", "i9", "x", "accuracy", 4),
    ])  # fmt: skip
    load(db, "items", [("item_id", "title"), ("i1", "Heat"), ("i2", "Ronin")])
    load(db, "explanations", EXPLANATIONS)
    lines = make(db, "rouge-1")[0]
    assert "left out: 1 × explanation: the list or text was never imported" in lines
    cases = db.rows("SELECT case_id FROM verdicts GROUP BY case_id HAVING count(*) = 2")
    assert len(cases) == 1


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


def test_the_cutoff_decides(lists: Database) -> None:
    make(lists, "hit_rate@2", "hit_rate@3")
    pair = ("pair", "u1", "a", "b")
    assert verdicts(lists, "hit_rate@2")[pair][2:] == (1.0, "A")
    assert verdicts(lists, "hit_rate@3")[pair][2:] == (0.0, "Tie")


def test_equal_sums_in_another_order_are_a_tie(lists: Database) -> None:
    make(lists, "novelty", "urd", "ild", k=3)
    for rater in ("urd@3", "ild@3"):
        pairs = {key: value for key, value in verdicts(lists, rater).items() if key[0] == "pair"}
        assert [value[2:] for value in pairs.values()] == [(0.0, "Tie")] * 3


def test_a_metric_that_is_undefined_everywhere_is_reported_and_the_others_are_made(lists: Database) -> None:
    made = make(lists, "auc", "mrr", k=3)
    assert made[0][0] == "metric “auc” not created: it has nothing to judge"
    assert any("candidates without scores" in line for line in made[0][1:])
    assert made[1][0].startswith("metric “mrr@3” created")
    assert lists.value("SELECT count(*) FROM raters WHERE name = 'auc'") == 0


def test_every_metric_has_a_reason_where_it_is_undefined(db: Database) -> None:
    load(db, "items", [("item_id", "title"), ("i1", "Heat")])
    load(db, "lists", [("user_id", "system", "item_id", "rank"), ("u1", "a", "i1", 1)])
    made = dict(zip(LIST_METRICS, make(db, *LIST_METRICS), strict=True))
    defined = [name for name, lines in made.items() if len(lines) == 1]
    assert defined == ["near_duplicates"]
    assert all(line.startswith("left out: 1 × list: ") for lines in made.values() for line in lines[1:])


def test_again_changes_nothing(lists: Database) -> None:
    load(lists, "explanations", EXPLANATIONS)
    make(lists, *NAMES, k=3)
    before = [tuple(row) for row in lists.rows("SELECT * FROM verdicts ORDER BY id")]
    cases = lists.value("SELECT count(*) FROM cases")
    made = make(lists, *NAMES, k=3)
    assert sum("updated" in found[0] for found in made) == len(NAMES) - 1, "auc has no scores"
    assert [tuple(row) for row in lists.rows("SELECT * FROM verdicts ORDER BY id")] == before
    assert lists.value("SELECT count(*) FROM cases") == cases


def test_what_changed_is_brought_up_to_date(lists: Database) -> None:
    make(lists, "ndcg@3")
    load(lists, "events", [("user_id", "item_id", "type", "value"), ("u2", "i3", "heldout_click", "")])
    lists.execute("DELETE FROM events WHERE user_id = 'u1'")
    make(lists, "ndcg@3")
    found = verdicts(lists, "ndcg@3")
    assert found["pair", "u2", "a", "b"][2:] == (-1.0, "B")
    assert not any("u1" in key for key in found)


def test_an_older_list_of_a_case_keeps_its_verdict(lists: Database) -> None:
    make(lists, "ndcg@3")
    load(lists, "lists", [("user_id", "system", "item_id", "rank"), ("u1", "a", "i5", 1)])
    made = make(lists, "ndcg@3")
    assert made[0][0] == "metric “ndcg@3” updated: 5 list, 2 pair verdicts"


@pytest.mark.parametrize("kind", ["annotator", "ensemble", "reader"])
def test_a_name_that_is_taken_is_refused(texts: Database, kind: RaterKind) -> None:
    with texts.transaction():
        ensure_rater(texts, project_id(texts, "films"), "rouge-l", kind)
    with pytest.raises(UsageError) as error:
        make(texts, "rouge-1", "rouge-l")
    assert f"“rouge-l” is taken by a rater of kind {kind}" in error.value.title
    assert texts.value("SELECT count(*) FROM raters") == 1


def test_another_recipe_of_the_name_is_refused(texts: Database) -> None:
    with texts.transaction():
        ensure_rater(texts, project_id(texts, "films"), "rouge-l", "metric", {"metric": "rouge-l", "beta": 2})
    with pytest.raises(UsageError, match="a different metric"):
        make(texts, "rouge-l")


def test_without_names_they_are_listed(texts: Database) -> None:
    with pytest.raises(UsageError) as error:
        make(texts)
    assert all(name in error.value.cause for name in DOCUMENTED)


@pytest.mark.parametrize("name", ["rouge-l", "ndcg"])
def test_an_empty_project_has_nothing_to_judge(db: Database, name: str) -> None:
    load(db, "items", [("item_id", "title"), ("i1", "Heat")])
    with pytest.raises(RunError, match="these metrics have nothing to judge") as error:
        make(db, name)
    assert error.value.cause == f"The project has no {'explanations' if name == 'rouge-l' else 'lists'}."
    assert db.value("SELECT count(*) FROM raters") == 0


def test_nothing_is_kept_where_nothing_can_be_judged(texts: Database) -> None:
    texts.execute("UPDATE explanations SET reference = ''")
    with pytest.raises(RunError) as error:
        make(texts, "rouge-l")
    assert "5 × explanation: no reference was imported" in error.value.cause
    assert texts.value("SELECT count(*) FROM cases") == 0


def test_a_missing_package_leaves_nothing(texts: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rouge_score.rouge_scorer", None)
    with pytest.raises(RunError, match=r"recjudge\[text\]"):
        make(texts, "bleu-1", "rouge-l")
    assert texts.value("SELECT count(*) FROM raters") == 0


KILLED = """
import os, signal, sys
from pathlib import Path
from recjudge_tui.raters import metrics as metric_raters
from recjudge_tui.store.opening import connect
from recjudge_tui.store.projects.projects import project_id
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


def test_the_figures_are_computed_without_the_write_lock(
    texts: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may write while texts are compared; it does so here from the metric itself."""
    from recjudge_tui.raters import metrics as metric_raters

    def writing(name: str, tokens: Tokens) -> TextMetric:
        metric = text_metric(name, tokens)

        def score(text: str, reference: str) -> Score:
            with connect(texts.path) as other, other.transaction():
                return metric(text, reference)

        return score

    monkeypatch.setattr(metric_raters, "text_metric", writing)
    assert make(texts, "rouge-1")[0][0].startswith("metric “rouge-1” created: 3")


def test_the_judge_prefers_the_list_that_the_metric_does_not(lists: Database) -> None:
    from recjudge_tui.domain.filters import parse_filter

    make(lists, "ndcg@3")
    project = project_id(lists, "films")
    ids = filtered_ids(lists, project, parse_filter("judge:anna disagree:ndcg@3"))
    users = [lists.value("SELECT user_id FROM v_verdicts WHERE verdict_id = ?", (key,)) for key in ids]
    assert users == ["u1"], "u2 is a tie of the metric, which prefers neither list"


def test_a_pair_of_lists_that_are_gone_is_no_pair(lists: Database) -> None:
    project = project_id(lists, "films")
    with lists.transaction():
        ensure_case(lists, project, CaseKey("pair", "u8", "a", "b"))
    lines = make(lists, "ndcg@3")[0]
    assert "left out: 3 × pair: the list or text was never imported" in lines


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
    rows = db.rows(
        """SELECT m.value, t.value FROM verdicts m JOIN raters r ON r.id = m.rater_id AND r.name = ?
           JOIN verdicts t ON t.case_id = m.case_id AND t.aspect = 'persuasiveness'
           JOIN raters u ON u.id = t.rater_id AND u.kind = 'ground_truth'""",
        (metric,),
    )
    assert len(rows) == 2533, "three scores of persuasiveness are empty"
    return float(np.corrcoef(np.array([tuple(row) for row in rows]).T)[0, 1])
