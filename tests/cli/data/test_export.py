"""`recjudge export` of rows: what comes out goes in again, to files and to stdout."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import click
import pytest

from recjudge_tui.cli.options import put_page
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.reports.common.page import Page
from recjudge_tui.reports.common.stream import write_rows
from recjudge_tui.store.histories import lists_of, load_evaluation_data
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.schema import connect
from tests.support.commands import ran
from tests.support.drawn_project import drawn_project
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


def test_each_occasion_is_a_query(project_db: Path, capsys: Capture) -> None:
    with connect(project_db) as db:
        header = ("user_id", "system", "item_id", "rank", "context", "served_at")
        load(
            db,
            "lists",
            [
                header,
                ("u", "s", "a", 1, "home", ""),
                ("u", "s", "b", 1, "mail", "2024-05-01"),
                ("v", "s", "a", 1, "", ""),
            ],
        )
        load(
            db,
            "events",
            [
                ("user_id", "item_id", "type", "context"),
                ("u", "a", "heldout_click", ""),
                ("u", "b", "heldout_click", "mail"),
                ("w", "b", "heldout_click", ""),
            ],
        )
    run = json.loads(_out(project_db, capsys, "lists", "--format", "ranx")[0])
    mail = "u|mail|2024-05-01T00:00:00+00:00"
    assert run == {"u|home": {"a": 1.0}, mail: {"b": 1.0}, "v": {"a": 1.0}}
    qrels = json.loads(_out(project_db, capsys, "qrels", "--format", "ranx")[0])
    assert qrels == {"u|home": {"a": 1}, mail: {"b": 1}, "w": {"b": 1}}
    rows = list(csv.DictReader(io.StringIO(_out(project_db, capsys, "lists")[0])))
    assert [row["context"] for row in rows] == ["home", "mail", ""]


def test_qrels_are_what_the_metrics_measure_each_list_against(project_db: Path, capsys: Capture) -> None:
    times = ("", "2024-05-01", "2024-05-02")
    occasions = [(context, time) for context in ("", "home", "mail", "desk") for time in times]
    with connect(project_db) as db:
        header = ("user_id", "system", "item_id", "rank", "context", "served_at")
        load(db, "lists", [header, *(("u", "s", "a", 1, *occasion) for occasion in occasions)])
        named = [(f"i{n}", n, *occasion) for n, occasion in enumerate(occasions[:9])]
        valued = [("i0", 7, "", ""), ("i3", "", "home", ""), ("i4", 0, "home", times[1])]
        load(
            db,
            "events",
            [
                ("user_id", "item_id", "value", "context", "served_at", "type", "timestamp"),
                *(
                    ("u", *event, "heldout_rating", f"2024-06-{day:02d}")
                    for day, event in enumerate([*named, *valued], start=1)
                ),
            ],
        )
        project = project_id(db, "films")
        data = load_evaluation_data(db, project)
        gains = {
            "|".join(filter(None, ("u", ranked.context, ranked.served_at))): data.truth(ranked).gains
            for ranked in lists_of(db, project, "s")
        }
    assert len({tuple(documents) for documents in gains.values()}) == len(occasions)
    assert json.loads(_out(project_db, capsys, "qrels", "--format", "ranx")[0]) == gains


def test_rankings_that_a_file_cannot_hold_are_refused(films: Path, tmp_path: Path, capsys: Capture) -> None:
    with connect(films) as db:
        load(db, "lists", [("user_id", "system", "item_id", "rank"), ("u a", "s", "i1", 1)])
        load(db, "events", [("user_id", "item_id", "type", "value"), ("u00", "i1", "heldout_rating", 2.5)])
    path = tmp_path / "s.run"
    for words, code, says in (
        (("lists", "--systems", "s", "--format", "trec", "-o", str(path)), 1, "“u a” cannot be written"),
        (("lists", "--format", "trec"), 2, "Available: als, mf knn, pop, s."),
        (("lists", "--systems", "als,nope"), 1, "no system “nope” in this project"),
        (("qrels", "--format", "trec"), 1, "the value 2.5 of item “i1” for “u00” is not whole"),
        (("cases", "--format", "trec"), 2, "can only be used with lists and qrels"),
        (("cases", "--systems", "als"), 2, "--systems can only be used with “export lists”"),
    ):
        assert says in _out(films, capsys, *words, code=code)[1]
    assert list(tmp_path.glob("*.run*")) == []


def test_cases_come_with_their_lists(films: Path, capsys: Capture) -> None:
    rows = [json.loads(line) for line in _out(films, capsys, "cases", "--format", "jsonl")[0].splitlines()]
    lists = _lists(films, "films")
    assert [(row["user_id"], row["system_a"], row["system_b"]) for row in rows] == [
        ("u00", "als", "pop"),
        ("u01", "als", "pop"),
    ]
    for row in rows:
        for side in "ab":
            items = [item for item, _ in lists[row["user_id"], row[f"system_{side}"]]]
            assert row[f"items_{side}"] == items
            assert row[f"titles_{side}"] == [f"Film number {item[1:]}" for item in items]
    flat = list(csv.DictReader(io.StringIO(_out(films, capsys, "cases", "-o", "-")[0])))
    assert [json.loads(row["titles_b"]) for row in flat] == [row["titles_b"] for row in rows]


def test_cases_come_with_their_texts(project_db: Path, capsys: Capture) -> None:
    with connect(project_db) as db:
        make_project(db, users=1)
        load(
            db,
            "explanations",
            [("user_id", "item_id", "system", "text"), ("u00", "i1", "s", "You like space.")],
        )
        plan(db, protocol="explanation")
    [row] = json.loads(_out(project_db, capsys, "cases", "--format", "json")[0])
    assert (row["explanation"], row["items_a"], row["titles_b"]) == ("You like space.", None, None)


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


def test_a_report_as_parquet(films: Path, tmp_path: Path, capsys: Capture) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "imports.parquet"
    words = ("imports", "list", "-p", "films", "--db", str(films))
    code, out, err = ran(capsys, *words, "-o", str(path))
    assert (code, out, err) == (0, "", f"written to {path}\n")
    assert pq.read_table(path).to_pylist() == json.loads(ran(capsys, *words, "--format", "json")[1])["rows"]
    page = tmp_path / "a.parquet"
    with pytest.raises(click.UsageError, match="Parquet holds one table"):
        put_page(Page("two", (), ()), None, page)
    assert not page.exists()
    write_rows(("mixed", "none"), [(1, None), ("x", None), (None, None)], "parquet", path)
    assert pq.read_table(path).to_pylist() == [{"mixed": value, "none": None} for value in ("1", "x", None)]


def _texts(row: dict[str, Any]) -> dict[str, Any]:
    """The row with lists and objects as JSON text, as Parquet has them."""
    return {k: json.dumps(v, ensure_ascii=False) if isinstance(v, dict | list) else v for k, v in row.items()}


def test_every_report_goes_to_stdout_with_a_dash(films: Path, tmp_path: Path, capsys: Capture) -> None:
    plain = ran(capsys, "imports", "list", "-p", "films", "--db", str(films))
    assert ran(capsys, "imports", "list", "-p", "films", "--db", str(films), "-o", "-") == plain
    code, out, _ = ran(capsys, "report", "-p", "films", "--db", str(films), "--section", "about", "-o", "-")
    assert code == 0
    assert out.startswith("<!doctype html>")
    assert list(Path.cwd().glob("-")) == []


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


@pytest.mark.parametrize(
    "words",
    [("imports", "list", "-p", "films"), ("metrics", "-p", "films"), ("compare", "-p", "films", "a", "b")],
)
def test_an_ending_without_a_format_is_an_error(
    films: Path, tmp_path: Path, capsys: Capture, words: tuple[str, ...]
) -> None:
    with connect(films) as db:
        load(
            db,
            "labels",
            [("rater", "user_id", "system", "value"), *((r, "u00", "als", "Good Match") for r in "ab")],
        )
    path = tmp_path / "table.xlsx"
    code, out, err = ran(capsys, *words, "--db", str(films), "-o", str(path))
    assert (code, out, path.exists()) == (2, "", False)
    assert "no format for “table.xlsx”" in err
    assert "Use .csv .json .md .tex .html .txt .parquet, or --format." in err
    code, _, err = ran(capsys, *words, "--db", str(films), "-o", str(path), "--format", "csv")
    assert (code, path.exists()) == (0, True), err


def test_qrels_of_an_occasion(project_db: Path, capsys: Capture) -> None:
    with connect(project_db) as db:
        header = ("user_id", "system", "item_id", "rank", "context", "served_at")
        visits = (("home", "2024-05-01"), ("mail", "2024-05-02"), ("desk", ""))
        load(db, "lists", [header, *(("u", "s", "a", 1, *visit) for visit in visits)])
        events = [("u", "a", "heldout_click", "", ""), ("u", "b", "heldout_click", "mail", "2024-05-02")]
        load(db, "events", [("user_id", "item_id", "type", "context", "served_at"), *events])
    out, err = _out(project_db, capsys, "qrels", "--context", "mail")
    assert [row["item_id"] for row in csv.DictReader(io.StringIO(out))] == ["b"]
    assert "left out" not in err
    run, _ = _out(project_db, capsys, "qrels", "--format", "trec", "--context", "home")
    assert run == "u|home|2024-05-01T00:00:00+00:00 0 a 1\n"
    out, err = _out(project_db, capsys, "qrels", "--from", "2024-05-02")
    assert len(out.splitlines()) == 2
    assert "1 held-out event without served_at left out" in err
    out, err = _out(project_db, capsys, "qrels", "--format", "ranx", "--from", "2024-05-01")
    assert list(json.loads(out)) == [f"u|{context}|{day}T00:00:00+00:00" for context, day in visits[:2]]
    assert "1 list without served_at left out" in err


def test_a_figure_goes_to_stdout_with_a_dash(project_db: Path, capsys: Capture) -> None:
    drawn_project(project_db).db.close()
    out, err = _out(project_db, capsys, "--figure", "runs", "--truth", "anna", "-o", "-")
    assert "<svg" in out
    assert "written to" not in err
