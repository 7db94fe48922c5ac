"""`recjudge export` of rows: what comes out goes in again, to files and to stdout."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.store.schema import connect
from tests.support.commands import ran
from tests.support.runs import load, make_project, plan, planned

Capture = pytest.CaptureFixture[str]
SCORED = [
    ("user_id", "system", "item_id", "rank", "score"),
    *(("u00", "mf knn", f"i{n}", n, 1 / n) for n in (1, 2, 3)),
    ("u01", "mf knn", "i9", 1, 0.5),
    ("u01", "mf knn", "i8", 2, 0.5),
]


@pytest.fixture
def films(project_db: Path) -> Path:
    """Lists of als and pop without scores, of `mf knn` with some that fall and some that do not; planned pairs."""
    with connect(project_db) as db:
        make_project(db, users=2)
        load(db, "lists", SCORED)
        plan(db, protocol="pairwise", systems=("als", "pop"))
    return project_db


def _out(films: Path, capsys: Capture, *words: str, code: int = 0) -> tuple[str, str]:
    done, out, err = ran(capsys, "export", "-p", "films", "--db", str(films), *words)
    assert done == code, err
    return out, err


def _lists(path: Path, project: str = "again") -> dict[tuple[str, str], list[tuple[str, float | None]]]:
    found: dict[tuple[str, str], list[tuple[str, float | None]]] = {}
    with connect(path) as db:
        for user, system, item, score in db.rows(
            """SELECT s.user_id, s.system, i.item_id, i.score FROM slates s JOIN slate_items i ON i.slate_id = s.id
               JOIN projects p ON p.id = s.project_id WHERE p.name = ? ORDER BY s.id, i.rank""",
            (project,),
        ):
            found.setdefault((user, system), []).append((item, score))
    return found


def _imported(capsys: Capture, films: Path, path: Path, *words: str) -> None:
    done, _, err = ran(capsys, "import", str(path), "-p", "again", "--db", str(films), *words)
    assert done == 0, err


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_lists_come_back(films: Path, tmp_path: Path, capsys: Capture, ending: str) -> None:
    path = tmp_path / f"lists.{ending}"
    _out(films, capsys, "lists", "-o", str(path))
    _imported(capsys, films, path, "--as", "lists")
    assert _lists(films) == _lists(films, "films")
    assert len(_lists(films)) == 6


def test_a_trec_run_keeps_the_order_of_the_lists(films: Path, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "mf.run"
    _, err = _out(films, capsys, "lists", "--systems", "mf knn", "--format", "trec", "-o", str(path))
    assert path.read_text().splitlines() == [
        "u00 Q0 i1 1 1.0 mf_knn",
        "u00 Q0 i2 2 0.5 mf_knn",
        f"u00 Q0 i3 3 {1 / 3!r} mf_knn",
        "u01 Q0 i9 1 2.0 mf_knn",
        "u01 Q0 i8 2 1.0 mf_knn",
    ]
    assert "5 rows written" in err
    assert "1 lists have no scores that decrease with the rank" in err
    assert "the run is named mf_knn" in err
    _imported(capsys, films, path)
    wanted = {user: items for (user, system), items in _lists(films, "films").items() if system == "mf knn"}
    found = {user: items for (user, _), items in _lists(films).items()}
    assert {u: [i for i, _ in items] for u, items in found.items()} == {
        u: [i for i, _ in items] for u, items in wanted.items()
    }


def test_a_ranx_run_and_qrels(films: Path, tmp_path: Path, capsys: Capture) -> None:
    out, _ = _out(films, capsys, "lists", "--systems", "als", "--format", "ranx", "-o", "-")
    run = json.loads(out)
    assert set(run) == {"u00", "u01"}
    assert list(run["u00"].values()) == [4.0, 3.0, 2.0, 1.0]
    path = tmp_path / "als.json"
    path.write_text(out)
    _imported(capsys, films, path)
    assert {user: [item for item, _ in items] for (user, _), items in _lists(films).items()} == {
        user: list(documents) for user, documents in run.items()
    }
    assert json.loads(_out(films, capsys, "qrels", "--format", "ranx")[0]) == {
        "u00": {"secret": 5},
        "u01": {"secret": 5},
    }
    assert _out(films, capsys, "qrels", "--format", "trec")[0] == "u00 0 secret 5\nu01 0 secret 5\n"
    rows = list(csv.DictReader(io.StringIO(_out(films, capsys, "qrels")[0])))
    assert [(row["user_id"], row["type"], row["value"]) for row in rows] == [
        ("u00", "heldout_rating", "5.0"),
        ("u01", "heldout_rating", "5.0"),
    ]


def test_parquet(films: Path, tmp_path: Path, capsys: Capture) -> None:
    import pyarrow.parquet as pq

    for what in ("lists", "cases", "verdicts", "calls"):
        path = tmp_path / f"{what}.parquet"
        _out(films, capsys, what, "-o", str(path))
        table = pq.read_table(path)
        text = _out(films, capsys, what, "--format", "jsonl")[0]
        wanted: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
        assert [_texts(row) for row in table.to_pylist()] == [_texts(row) for row in wanted]
    assert str(pq.read_schema(tmp_path / "lists.parquet").field("rank").type) == "int64"
    assert pq.read_table(tmp_path / "verdicts.parquet").num_rows == 0
    assert str(pq.read_schema(tmp_path / "verdicts.parquet").field("value").type) == "string"


def _texts(row: dict[str, Any]) -> dict[str, Any]:
    """The row with lists and objects as JSON text, as Parquet has them."""
    return {k: json.dumps(v, ensure_ascii=False) if isinstance(v, dict | list) else v for k, v in row.items()}


def test_a_batch_goes_to_stdout_with_a_dash(films: Path, tmp_path: Path, capsys: Capture) -> None:
    with connect(films) as db:
        run_id = planned(db, JudgeSpec(spec="openai:gpt-4o", api_key_env="NO_KEY_IS_NEEDED"))
    where = ["--db", str(films)]
    code, _, err = ran(capsys, "batch", "export", str(run_id), *where, "-o", str(tmp_path / "calls.jsonl"))
    assert code == 0, err
    code, out, err = ran(capsys, "batch", "export", str(run_id), *where, "-o", "-")
    assert (code, out) == (0, (tmp_path / "calls.jsonl").read_text())
    assert "calls exported in 1 files" in err
    assert [json.loads(line)["method"] for line in out.splitlines()] == ["POST"] * 6
