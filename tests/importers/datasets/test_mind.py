"""MIND: news, impressions and predictions, in samples of our own making."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.imports import ImportSummary
from recjudge_tui.errors import InputError
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.importers.load import import_files
from recjudge_tui.project import Project
from recjudge_tui.reports.declare import table_of
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import read_history
from tests.support import samples
from tests.support.importing import rows_of

EVENTS = "SELECT user_id, type, item_id, timestamp FROM events ORDER BY id"
LISTS = """SELECT s.user_id, s.system, group_concat(i.item_id, ' '), group_concat(round(i.score, 3), ' ')
    FROM slates s JOIN (SELECT * FROM slate_items ORDER BY slate_id, rank) i ON i.slate_id = s.id
    GROUP BY s.id ORDER BY s.user_id, s.id"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "MINDtiny_dev"
    found.mkdir()
    (found / "news.tsv").write_text(samples.NEWS)
    (found / "behaviors.tsv").write_text(samples.BEHAVIORS)
    (found / "prediction.txt").write_text(samples.PREDICTION)
    (found / "entity_embedding.vec").write_text("Q1\t0.1\t0.2\n")
    return found


def _lists(db: Database, path: Path, **options: Any) -> ImportSummary:
    return import_files(db, "p", [path], "lists", system="nrms", **options)


def test_news(db: Database, folder: Path) -> None:
    assert import_files(db, "p", [folder / "news.tsv"], "items").stored == 4
    found = rows_of(db, "SELECT item_id, title, category, attributes FROM items ORDER BY item_id")
    assert found[0] == (
        "N1", 'A 6" lead, lost', "sports", '{"abstract": "How it went.", "subcategory": "tennis"}',
    )  # fmt: skip
    assert found[1] == ("N2", "Talks go on", "news", '{"subcategory": "world"}')


def test_every_impression_is_a_context(db: Database, folder: Path) -> None:
    summary = import_files(db, "p", [folder / "behaviors.tsv"], "events")
    assert rows_of(db, EVENTS.replace("timestamp", "timestamp, context")) == [
        ("U1", "heldout_click", "N4", "2019-11-15T12:05:00+00:00", "1"),
        ("U2", "heldout_click", "N1", "2019-11-15T00:30:00+00:00", "2"),
        ("U1", "click", "N1", "", ""),
        ("U1", "heldout_click", "N3", "2019-11-15T09:00:01+00:00", "3"),
    ]
    assert summary.warning_kinds == {"changing history": 1}
    assert "behaviors.tsv:1: the history of user “U1” differs between impressions" in summary.warnings[0]
    project = db.value("SELECT id FROM projects")
    shown = read_history(db, project, "U1").within("", "", 10)
    assert [event.item.item_id for event in shown if event.item] == ["N1"]


def test_a_training_log(db: Database, folder: Path) -> None:
    import_files(db, "p", [folder / "behaviors.tsv"], "events", layout="mind-train")
    assert rows_of(db, EVENTS) == [
        ("U1", "click", "N4", "2019-11-15T12:05:00+00:00"),
        ("U2", "click", "N1", "2019-11-15T00:30:00+00:00"),
        ("U1", "click", "N1", ""),
        ("U1", "click", "N3", "2019-11-15T09:00:01+00:00"),
    ]


def test_the_test_set_does_not_say_what_was_clicked(db: Database, folder: Path) -> None:
    path = folder / "behaviors.tsv"
    path.write_text(samples.BEHAVIORS.replace("-0", "").replace("-1", ""))
    summary = import_files(db, "p", [path], "events")
    assert [row[:3] for row in rows_of(db, EVENTS)] == [("U1", "click", "N1")]
    assert summary.warning_kinds["clicks not given"] == 3
    assert _lists(db, folder / "prediction.txt").stored == 7


def test_predictions_are_ranks(db: Database, folder: Path) -> None:
    summary = _lists(db, folder / "prediction.txt")
    assert rows_of(db, LISTS) == [
        ("U1", "nrms", "N4 N2 N3", "1.0 0.5 0.333"),
        ("U1", "nrms", "N3 N4", "1.0 0.5"),
        ("U2", "nrms", "N1 N4", "1.0 0.5"),
    ]
    assert (summary.stored, summary.skipped) == (7, 0)
    assert rows_of(db, "SELECT user_id, context, served_at FROM v_current_slates ORDER BY context") == [
        ("U1", "1", "2019-11-15T12:05:00+00:00"),
        ("U2", "2", "2019-11-15T00:30:00+00:00"),
        ("U1", "3", "2019-11-15T09:00:01+00:00"),
    ]


def test_offline_metrics_of_a_folder(db: Database, folder: Path) -> None:
    summaries = import_paths(db, "p", [folder], None, system="nrms")
    assert [(s.kind, s.stored) for s in summaries] == [("items", 4), ("events", 4), ("lists", 7)]
    project = db.value("SELECT id FROM projects")
    table = table_of(Project.numbered(db, project), "metrics", k=5)
    figures = {row["metric"]: row["value"] for row in table.rows}
    assert figures["auc"] == 1.0
    assert figures["mrr"] == 1.0


def test_predictions_in_another_order_and_another_folder(db: Database, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "lightgcn.prediction.txt"
    path.write_text("3 [2, 1]\n\n1 [3,1,2]\n")
    with pytest.raises(InputError, match=r"needs its behaviors.tsv .*Give both to the command"):
        import_files(db, "p", [path], "lists")
    for given in ([path, folder / "behaviors.tsv"], [folder / "behaviors.tsv", path]):
        summary = import_paths(db, f"p{given[0].name}", given, "lists")[0]
        assert [file.path for file in summary.files] == [str(path)]
        assert summary.warning_kinds["impressions without a prediction"] == 1
    assert {row[:3] for row in rows_of(db, LISTS)} == {
        ("U1", "lightgcn", "N4 N2 N3"),
        ("U1", "lightgcn", "N3 N4"),
    }


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("1 [3,1,2]\n2 [1,1]\n", r"prediction.txt:2: rank 1 occurs twice Impression “2” .*behaviors.tsv:2. has 2"),
        ("1 [0,1,2]\n", r"prediction.txt:1: rank 0 of 3"),
        ("1 [1,2,4]\n", r"prediction.txt:1: rank 4 of 3 .*each number from 1 to 3 once"),
        ("1 [1,2]\n", r"prediction.txt:1: 2 ranks for 3 candidates"),
        ("3 [1,2,3]\n", r"prediction.txt:1: 3 ranks for 2 candidates"),
        ("1 [3,1,2]\n9 [1,2]\n", r"prediction.txt:2: no impression “9” for this prediction in .*behaviors.tsv"),
        ("1 [3,1,2]\n1 [3,1,2]\n", r"prediction.txt:2: no impression “1” for .*an earlier line has a prediction"),
        ("1 [3,1,2]\n2 1,2\n", r"prediction.txt:2: not a prediction: “2 1,2”"),
    ],
)  # fmt: skip
def test_predictions_that_do_not_fit(db: Database, folder: Path, content: str, says: str) -> None:
    (folder / "prediction.txt").write_text(content)
    with pytest.raises(InputError, match=says):
        _lists(db, folder / "prediction.txt", layout="mind")
    assert db.value("SELECT count(*) FROM projects") == 0


def test_a_prediction_of_nobody(db: Database, folder: Path) -> None:
    with pytest.raises(InputError, match=r"does not name the system of its predictions .*--system"):
        import_files(db, "p", [folder / "prediction.txt"], "lists")


def test_two_sets_of_impressions(db: Database, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "nrms_prediction.txt"
    path.write_text(samples.PREDICTION)
    second = tmp_path / "other"
    second.mkdir()
    (second / "behaviors.tsv").write_text(samples.BEHAVIORS)
    with pytest.raises(InputError, match=r"may belong to any of .*one behaviors.tsv only"):
        import_paths(db, "p", [path, folder / "behaviors.tsv", second / "behaviors.tsv"], "lists")
    train = second.rename(tmp_path / "MINDtiny_train")
    given = [path, folder / "behaviors.tsv", train / "behaviors.tsv"]
    assert import_paths(db, "p", given, "lists")[0].stored == 7


@pytest.mark.parametrize(
    ("row", "kind", "says"),
    [
        ("4\tU3\t11/15/2019 9:00:01 AM\tN1\n", "wrong number of fields", "4 fields instead of 5"),
        ("4\tU3\t13/15/2019 9:00:01 AM\tN1\tN2-1\n", "bad time", "“13/15/2019 9:00:01 AM” is not written as"),
        ("4\t\t11/15/2019 9:00:01 AM\tN1\tN2-1\n", "no user id", "the user id is empty"),
    ],
)  # fmt: skip
def test_impressions_that_cannot_be_used(db: Database, folder: Path, row: str, kind: str, says: str) -> None:
    path = folder / "behaviors.tsv"
    rest = "".join(f"{n}\tV{n}\t11/15/2019 9:00:01 AM\t\tN2-1 N1-0\n" for n in range(20))
    path.write_text(samples.BEHAVIORS + row + rest)
    summary = import_files(db, "p", [path], "events")
    assert summary.warning_kinds[kind] == 1
    assert any(says in text and "behaviors.tsv:4: " in text for text in summary.warnings)
    assert summary.stored == 24


def test_repeated_candidates_keep_the_better_rank(db: Database, folder: Path) -> None:
    (folder / "behaviors.tsv").write_text("1\tU1\t11/15/2019 12:05:00 PM\t\tN3-0 N4-1 N3-0\n")
    (folder / "prediction.txt").write_text("1 [1,2,3]\n")
    _lists(db, folder / "prediction.txt")
    assert rows_of(db, LISTS)[0][2] == "N3 N4"
