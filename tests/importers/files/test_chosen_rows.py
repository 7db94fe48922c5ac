"""`import --where COLUMN=VALUE`: only the rows that fit, counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recjudge_tui.domain.imports import ImportSummary
from recjudge_tui.errors import InputError, UsageError
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.importers.reader import parse_where
from recjudge_tui.store.database import Database

EXAMPLES = """query_id,query,product_id,product_locale,esci_label,split
1,red shoes,p1,us,E,train
2,zapatos,p2,es,S,test
3,fan,p3,us,E,test
4,ventilador,p4, es ,I,train
"""


def imported(db: Database, path: Path, kind: str, *conditions: str, **more: object) -> ImportSummary:
    (summary,) = import_paths(db, "p", [path], kind, where=parse_where(conditions), **more)  # type: ignore[arg-type]
    return summary


def users(db: Database) -> list[str]:
    return db.column("SELECT DISTINCT user_id FROM events ORDER BY 1")


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (("product_locale=us",), ["1", "3"]),
        (("product_locale=us", "split=test"), ["3"]),
        (("product_locale=us", "product_locale=es"), ["1", "2", "3", "4"]),
        (("product_locale = es",), ["2", "4"]),
        ((), ["1", "2", "3", "4"]),
    ],
)
def test_locale_and_split_of_esci(
    db: Database, tmp_path: Path, conditions: tuple[str, ...], expected: list[str]
) -> None:
    path = tmp_path / "examples.csv"
    path.write_text(EXAMPLES)
    summary = imported(db, path, "events", *conditions)
    assert users(db) == expected
    remark = f"{len(expected)} of 4 rows have"
    assert any(remark in line for line in summary.files[0].remarks) == bool(conditions)


def test_the_same_bytes_with_other_rows_are_another_import(db: Database, tmp_path: Path) -> None:
    path = tmp_path / "examples.csv"
    path.write_text(EXAMPLES)
    imported(db, path, "events", "split=test")
    assert imported(db, path, "events", "split=test").files[0].earlier is not None
    assert imported(db, path, "events", "split=train").files[0].earlier is None
    assert users(db) == ["1", "2", "3", "4"]


def test_plain_tables_json_and_mappings_by_either_name_of_a_column(db: Database, tmp_path: Path) -> None:
    rows = [{"userId": "u", "movie": m, "kind": k, "when": 1} for m, k in (("a", "click"), ("b", "view"))]
    lines = tmp_path / "rows.jsonl"
    lines.write_text("\n".join(map(json.dumps, rows)))
    mapping = tmp_path / "m.toml"
    mapping.write_text('[events]\nuser_id = "userId"\nitem_id = "movie"\ntype = "kind"\n')
    assert imported(db, lines, "events", "kind=view", mapping=mapping).stored == 1
    plain = tmp_path / "lists.csv"
    plain.write_text("User,system,item,rank\nu1,als,a,1\nu2,als,b,1\n")
    assert imported(db, plain, "lists", "User=u2").stored == 1
    assert imported(db, plain, "lists", "user_id=u1").stored == 1


def test_an_invalid_choice_gives_the_reason_and_stores_nothing(db: Database, tmp_path: Path) -> None:
    path = tmp_path / "examples.csv"
    path.write_text(EXAMPLES)
    with pytest.raises(InputError, match="has no column locale to choose rows by") as unknown:
        imported(db, path, "events", "locale=us")
    assert "product_locale" in unknown.value.cause
    with pytest.raises(InputError):
        imported(db, path, "events", "product_locale=jp")
    run = tmp_path / "behaviors.tsv"
    run.write_text("1\tu\t11/15/2019 8:55:22 AM\tN1\tN2-1\n")
    with pytest.raises(UsageError, match="--where does not apply"):
        imported(db, run, "events", "a=b")
    for condition in ("us", "=us", " "):
        with pytest.raises(UsageError, match="is not a condition"):
            parse_where([condition])
    assert db.value("SELECT count(*) FROM imports") == 0


@pytest.mark.parametrize("column", ["clicked", "is_click", "click"])
def test_a_column_that_says_what_was_not_done(db: Database, tmp_path: Path, column: str) -> None:
    path = tmp_path / "c.csv"
    path.write_text(f"user_id,item_id,{column},bought\nu,i,1,0\nv,i,0,0\n")
    with pytest.raises(InputError, match=f"c.csv:3: “{column}” is “0”.*--where {column}=1"):
        imported(db, path, "events", event_type="click")
    with pytest.raises(InputError, match=f"no row has {column}=2 .*“{column}=0”, “{column}=1”"):
        imported(db, path, "events", f"{column}=2", event_type="click")
    assert imported(db, path, "events", f"{column}=1", event_type="click").stored == 1
