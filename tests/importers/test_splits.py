"""Files that are named as the held-out part of a split, in every layout of events."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.importers.load import import_files
from recjudge_tui.importers.reader import is_test_split
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import undo_import

RATINGS = "user_id,item_id,rating,timestamp\nu,i,4,2024-05-01\n"
MAPPING = '[events]\nuser_id = "who"\nitem_id = "what"\ntype = { value = "purchase" }\n'


@pytest.mark.parametrize(
    "name",
    [
        *("u1.test", "u5.test", "ua.test", "ub.test.gz", "r1.test", "ml-100k.test.inter", "ml-100k.valid.inter"),
        *("All_Beauty.test.csv", "test.csv", "TEST.CSV", "ratings_test.tsv", "test-00000-of-00001.parquet", "u1test.csv"),
        *("validation.jsonl", "x_val.csv", "test2.csv", "holdout.csv", "held_out.csv", "heldout_events.csv"),
        "ml-1m.test.rating",
    ],
)  # fmt: skip
def test_held_out_by_its_name(name: str) -> None:
    assert is_test_split(Path("any/test") / name)


def types(db: Database) -> list[str]:
    return db.column("SELECT type FROM events ORDER BY id")


def test_events_of_a_test_file_are_held_out_and_it_is_said(db: Database, tmp_path: Path) -> None:
    path = tmp_path / "ratings_test.csv"
    path.write_text(RATINGS)
    remarks = import_files(db, "p", [path], "events").files[0].remarks
    assert types(db) == ["heldout_rating"]
    assert any("the name says that this is the test part of a split" in remark for remark in remarks)
    assert import_files(db, "p", [path], "events").files[0].earlier == 1


def test_a_mapping_for_both_parts_keeps_them_apart(db: Database, tmp_path: Path) -> None:
    mapping = tmp_path / "shop.toml"
    mapping.write_text(MAPPING)
    for name in ("train.csv", "test.csv"):
        (tmp_path / name).write_text(f"who,what\nu,{name}\n")
        import_files(db, "p", [tmp_path / name], "events", mapping=mapping)
    assert types(db) == ["purchase", "heldout_purchase"]


def test_the_same_bytes_under_both_names_are_two_imports(db: Database, tmp_path: Path) -> None:
    for name in ("all.csv", "test.csv"):
        (tmp_path / name).write_text(RATINGS)
    for _ in range(2):
        for name in ("all.csv", "test.csv"):
            import_files(db, "p", [tmp_path / name], "events")
    assert types(db) == ["rating", "heldout_rating"]
    undo_import(db, 2)
    import_files(db, "p", [tmp_path / "test.csv"], "events")
    assert types(db) == ["rating", "heldout_rating"]


def test_a_file_that_was_history_for_an_older_version_is_held_out_when_it_comes_again(
    db: Database, tmp_path: Path
) -> None:
    path = tmp_path / "test.csv"
    path.write_text(RATINGS)
    import_files(db, "p", [path], "events")
    db.execute("UPDATE events SET type = 'rating'")
    summary = import_files(db, "p", [path], "events")
    assert types(db) == ["rating", "heldout_rating"]
    assert "1 event is a copy" in summary.notes[0]
